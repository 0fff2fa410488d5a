//! All that std has for threads, in a program that prints the same whatever the schedule.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    show("mutex and condvar", queue());
    show("rwlock", readers_and_writers());
    show("mpsc", channels());
    show("barrier", phases());
    show("once", initialised_once());
    show("scope", scoped());
    show("atomics", atomics());
    show("thread-locals", thread_locals());
    show("park", parked());
    show("sleep", slept());
    show("collections", collections());
    show("results of threads", results());
}

fn show(part: &str, result: impl std::fmt::Debug) {
    println!("{part}: {result:?}");
}

/// Jobs through a queue of two places: the sum of what the consumers took.
fn queue() -> (u64, usize) {
    const PLACES: usize = 2;
    struct Queue {
        jobs: Mutex<Vec<u64>>,
        changed: Condvar,
    }
    let queue = Arc::new(Queue { jobs: Mutex::new(Vec::new()), changed: Condvar::new() });
    let consumers: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut sum = 0;
                loop {
                    let jobs = queue.jobs.lock().unwrap();
                    let mut jobs = queue.changed.wait_while(jobs, |jobs| jobs.is_empty()).unwrap();
                    let job = jobs.remove(0);
                    drop(jobs);
                    queue.changed.notify_all();
                    if job == 0 {
                        return sum;
                    }
                    sum += job;
                }
            })
        })
        .collect();
    for job in [3, 1, 4, 1, 5, 9, 0, 0] {
        let jobs = queue.jobs.lock().unwrap();
        let mut jobs = queue.changed.wait_while(jobs, |jobs| jobs.len() >= PLACES).unwrap();
        jobs.push(job);
        drop(jobs);
        queue.changed.notify_all();
    }
    let sum = consumers.into_iter().map(|c| c.join().unwrap()).sum();
    (sum, queue.jobs.lock().unwrap().len())
}

/// Two numbers that writers change together: no reader sees them apart.
fn readers_and_writers() -> ((u32, u32), usize) {
    let pair = RwLock::new((0, 0));
    let apart = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let mut pair = pair.write().unwrap();
                    pair.0 += 1;
                    pair.1 += 2;
                }
            });
            scope.spawn(|| {
                for _ in 0..3 {
                    let pair = pair.read().unwrap();
                    apart.fetch_add(usize::from(pair.1 != 2 * pair.0), Ordering::Relaxed);
                }
            });
        }
    });
    (pair.into_inner().unwrap(), apart.into_inner())
}

/// Texts from three senders over a channel with a bound, and answers over one without.
fn channels() -> (Vec<String>, usize) {
    let (sender, receiver) = mpsc::sync_channel::<(String, mpsc::Sender<usize>)>(1);
    let senders: Vec<_> = (0..3)
        .map(|n| {
            let sender = sender.clone();
            thread::Builder::new()
                .name(format!("sender {n}"))
                .spawn(move || {
                    let (answer, answers) = mpsc::channel();
                    let name = thread::current().name().unwrap_or("nobody").to_string();
                    sender.send((format!("{name} says {:.2}", f64::from(n) / 3.0), answer)).unwrap();
                    answers.recv().unwrap()
                })
                .unwrap()
        })
        .collect();
    drop(sender);
    let mut texts: Vec<String> = receiver
        .iter()
        .map(|(text, answer)| {
            answer.send(text.len()).unwrap();
            text
        })
        .collect();
    texts.sort();
    (texts, senders.into_iter().map(|s| s.join().unwrap()).sum())
}

/// Three threads in step: everybody sees all of the last phase. One leads in each phase.
fn phases() -> (usize, usize) {
    const THREADS: usize = 3;
    const PHASES: usize = 3;
    let barrier = Barrier::new(THREADS);
    let arrivals = AtomicUsize::new(0);
    let leads = AtomicUsize::new(0);
    let late = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for phase in 1..=PHASES {
                    arrivals.fetch_add(1, Ordering::SeqCst);
                    leads.fetch_add(usize::from(barrier.wait().is_leader()), Ordering::SeqCst);
                    let early = arrivals.load(Ordering::SeqCst) < phase * THREADS;
                    late.fetch_add(usize::from(early), Ordering::SeqCst);
                }
            });
        }
    });
    (leads.into_inner(), late.into_inner())
}

/// Three kinds of things that happen once, though three threads ask.
fn initialised_once() -> (usize, u32, usize) {
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u32> = OnceLock::new();
    static LAZY: LazyLock<String> = LazyLock::new(|| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        "lazy".repeat(3)
    });
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            thread::spawn(|| {
                ONCE.call_once(|| {
                    RUNS.fetch_add(1, Ordering::Relaxed);
                });
                let value = *CELL.get_or_init(|| {
                    RUNS.fetch_add(1, Ordering::Relaxed);
                    7
                });
                value + LAZY.len() as u32
            })
        })
        .collect();
    let sum = threads.into_iter().map(|t| t.join().unwrap()).sum();
    (RUNS.load(Ordering::Relaxed), sum, LAZY.len())
}

/// Threads that borrow: each sorts its own part.
fn scoped() -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..24).map(|n| n * 37 % 101).collect();
    thread::scope(|scope| {
        for part in numbers.chunks_mut(8) {
            scope.spawn(|| part.sort_unstable());
        }
    });
    numbers.chunks(8).map(|part| part[0] * 1000 + part[7]).collect()
}

/// A stack without a lock, a spin lock, and counters.
fn atomics() -> (u64, u64, u32) {
    let counter = AtomicU64::new(0);
    let highest = AtomicU32::new(0);
    let lock = AtomicBool::new(false);
    let guarded = Cell::new(0u64);
    struct Shared<'a>(&'a Cell<u64>);
    // SAFETY: the cell is used by the owner of the spin lock alone.
    unsafe impl Sync for Shared<'_> {}
    let shared = Shared(&guarded);
    thread::scope(|scope| {
        for n in 1..=3u32 {
            let (counter, highest, lock, shared) = (&counter, &highest, &lock, &shared);
            scope.spawn(move || {
                let shared: &Shared = shared;
                for round in 0..3 {
                    counter.fetch_add(1 << 32 | u64::from(n), Ordering::Relaxed);
                    highest.fetch_max(n * 10 + round, Ordering::AcqRel);
                    while lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
                        thread::yield_now();
                    }
                    shared.0.set(shared.0.get() + u64::from(n));
                    fence(Ordering::SeqCst);
                    lock.store(false, Ordering::Release);
                }
            });
        }
    });
    (counter.into_inner(), guarded.get(), highest.into_inner())
}

/// Each thread has its own; what it leaves is dropped when it ends.
fn thread_locals() -> (Vec<usize>, usize) {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counted(Vec<usize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(self.0.len(), Ordering::SeqCst);
        }
    }
    thread_local! {
        static OWN: RefCell<Counted> = const { RefCell::new(Counted(Vec::new())) };
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }
    fn push(n: usize) -> usize {
        CALLS.set(CALLS.get() + 1);
        OWN.with_borrow_mut(|own| {
            own.0.push(n);
            own.0.len() * 100 + CALLS.get()
        })
    }
    let threads: Vec<_> = (1..=3).map(|n| thread::spawn(move || (0..n).map(push).last().unwrap())).collect();
    let lengths = threads.into_iter().map(|t| t.join().unwrap()).collect();
    // A thread is joined only after its destructors.
    (lengths, DROPPED.load(Ordering::SeqCst))
}

/// A thread that waits for a flag without a lock.
fn parked() -> u32 {
    let flag = Arc::new(AtomicU32::new(0));
    let waiter = thread::spawn({
        let flag = flag.clone();
        move || {
            while flag.load(Ordering::Acquire) == 0 {
                thread::park();
            }
            flag.load(Ordering::Acquire)
        }
    });
    flag.store(42, Ordering::Release);
    waiter.thread().unpark();
    waiter.join().unwrap()
}

/// Sleeping takes at least its time; a wait for nobody times out.
fn slept() -> (bool, bool, bool) {
    let start = Instant::now();
    let sleeper = thread::spawn(|| thread::sleep(Duration::from_millis(3)));
    thread::sleep(Duration::from_millis(2));
    sleeper.join().unwrap();
    let long = start.elapsed() >= Duration::from_millis(3);
    let nobody = (Mutex::new(()), Condvar::new());
    let guard = nobody.0.lock().unwrap();
    let (guard, result) = nobody.1.wait_timeout_while(guard, Duration::from_millis(1), |()| true).unwrap();
    drop(guard);
    let (sender, receiver) = mpsc::channel::<()>();
    let nothing = receiver.recv_timeout(Duration::from_micros(500)).is_err();
    drop(sender);
    (long, result.timed_out(), nothing)
}

/// Tables and vectors that grow while others allocate too.
fn collections() -> (usize, usize, String) {
    let words = Mutex::new(HashMap::<String, Vec<usize>>::new());
    let seen = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for n in 0..2usize {
            let (words, seen) = (&words, &seen);
            scope.spawn(move || {
                for i in 0..6 {
                    let key = format!("key {:>03}", (i * 7 + n) % 5);
                    words.lock().unwrap().entry(key).or_default().push(i * 10 + n);
                    seen.lock().unwrap().insert(vec![i; n + 1]);
                }
            });
        }
    });
    let words = words.into_inner().unwrap();
    let sorted: BTreeMap<_, _> = words.iter().map(|(key, list)| (key, list.iter().sum::<usize>())).collect();
    (words.values().map(Vec::len).sum(), seen.into_inner().unwrap().len(), format!("{sorted:?}"))
}

/// What threads return, an error among it.
fn results() -> Vec<Result<i32, String>> {
    let texts = ["17", "x7", "-3"];
    let threads = texts.map(|text| thread::spawn(move || text.parse::<i32>().map_err(|e| e.to_string())));
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}
