//! The benchmark programs on Shuttle: the same work as the guests that `cargo bench -p coyote-wasm`
//! runs, timed in the same run by `cargo xtask bench`. Prints one JSON object a line. Arguments: the programs, if not
//! all.

use shuttle::future::{
    self,
    batch_semaphore::{BatchSemaphore, Fairness},
};
use shuttle::scheduler::{RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{Config, Runner, thread};
use std::sync::atomic::{AtomicU64, Ordering as StdOrdering};
use std::time::Instant;

/// Shuttle's random scheduler, counting how often it is asked.
struct Counting {
    inner: RandomScheduler,
    decisions: std::sync::Arc<AtomicU64>,
}

impl Scheduler for Counting {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.inner.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yielding: bool) -> Option<TaskId> {
        self.decisions.fetch_add(1, StdOrdering::Relaxed);
        self.inner.next_task(runnable, current, yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}

fn measure(name: &str, iterations: usize, program: fn()) {
    let mut programs = std::env::args().skip(1).peekable();
    if programs.peek().is_some() && programs.all(|program| program != name) {
        return;
    }
    let run = |iterations, seed| {
        let decisions = std::sync::Arc::new(AtomicU64::new(0));
        let inner = RandomScheduler::new_from_seed(seed, iterations);
        let mut config = Config::new();
        config.failure_persistence = shuttle::FailurePersistence::None;
        let runner = Runner::new(Counting { inner, decisions: decisions.clone() }, config);
        let started = Instant::now();
        runner.run(program);
        (started.elapsed().as_secs_f64(), decisions.load(StdOrdering::Relaxed))
    };
    run(iterations / 10, 0);
    // The best of some runs: what the machine can do when nobody disturbs it.
    let (seconds, decisions) =
        (1..=5).map(|seed| run(iterations, seed)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let line = serde_json::json!({
        "engine": "shuttle",
        "name": name,
        "schedules_per_second": iterations as f64 / seconds,
        "decisions_per_schedule": decisions as f64 / iterations as f64,
        "ns_per_decision": seconds * 1e9 / decisions as f64,
    });
    println!("{line}");
}

/// Cargill's buffer with notify_all: 1 slot, 2 readers x 5, 1 writer x 10.
fn bounded_buffer() {
    struct Buffer {
        slot: Mutex<Option<u32>>,
        changed: Condvar,
    }
    impl Buffer {
        fn put(&self, value: u32) {
            let mut slot = self.slot.lock().unwrap();
            while slot.is_some() {
                slot = self.changed.wait(slot).unwrap();
            }
            *slot = Some(value);
            self.changed.notify_all();
        }
        fn take(&self) -> u32 {
            let mut slot = self.slot.lock().unwrap();
            loop {
                if let Some(value) = slot.take() {
                    self.changed.notify_all();
                    return value;
                }
                slot = self.changed.wait(slot).unwrap();
            }
        }
    }
    let buffer = Arc::new(Buffer { slot: Mutex::new(None), changed: Condvar::new() });
    let mut workers = Vec::new();
    for _ in 0..2 {
        let buffer = buffer.clone();
        workers.push(thread::spawn(move || {
            for _ in 0..5 {
                buffer.take();
            }
        }));
    }
    let writer = buffer.clone();
    workers.push(thread::spawn(move || (0..10).for_each(|i| writer.put(i))));
    workers.into_iter().for_each(|w| w.join().unwrap());
}

/// Two workers, each 100 times a load and a store of one variable.
fn load_store() {
    let variable = Arc::new(AtomicU32::new(0));
    let work = |variable: Arc<AtomicU32>| {
        move || {
            for _ in 0..100 {
                let value = variable.load(Ordering::SeqCst);
                variable.store(value + 1, Ordering::SeqCst);
            }
        }
    };
    let workers = [thread::spawn(work(variable.clone())), thread::spawn(work(variable))];
    workers.into_iter().for_each(|w| w.join().unwrap());
}

const WORKERS: u32 = 4;
const ROUNDS: u32 = 25;

fn add(sum: &AtomicU32) {
    sum.store(sum.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
}

/// Runs tasks, and waits for all of them.
fn tasks<F: Future<Output = ()> + Send + 'static>(task: impl Fn() -> F + Send + Sync + 'static) {
    future::block_on(async move {
        let tasks: Vec<_> = (0..WORKERS).map(|_| future::spawn(task())).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// `permits_of_tasks` of examples/rust/tasks/src/measured.rs.
fn permits_of_tasks() {
    let shared = Arc::new((BatchSemaphore::new(1, Fairness::StrictlyFair), AtomicU32::new(0)));
    tasks(move || {
        let shared = shared.clone();
        async move {
            for _ in 0..ROUNDS {
                shared.0.acquire(1).await.unwrap();
                add(&shared.1);
                shared.0.release(1);
            }
        }
    });
}

/// `permits_of_threads` there.
fn permits_of_threads() {
    let shared = Arc::new((BatchSemaphore::new(1, Fairness::Unfair), AtomicU32::new(0)));
    let start = |_| {
        let shared = shared.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                shared.0.acquire_blocking(1).unwrap();
                add(&shared.1);
                shared.0.release(1);
            }
        })
    };
    let threads: Vec<_> = (0..WORKERS).map(start).collect();
    threads.into_iter().for_each(|w| w.join().unwrap());
}

/// `yields_of_tasks` there.
fn yields_of_tasks() {
    let sum = Arc::new(AtomicU32::new(0));
    tasks(move || {
        let sum = sum.clone();
        async move {
            for _ in 0..ROUNDS {
                sum.fetch_add(1, Ordering::SeqCst);
                future::yield_now().await;
            }
        }
    });
}

/// `yields_of_threads` there.
fn yields_of_threads() {
    let sum = Arc::new(AtomicU32::new(0));
    let start = |_| {
        let sum = sum.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                sum.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
            }
        })
    };
    let threads: Vec<_> = (0..WORKERS).map(start).collect();
    threads.into_iter().for_each(|w| w.join().unwrap());
}

fn main() {
    measure("bounded buffer", 20_000, bounded_buffer);
    measure("load store", 10_000, load_store);
    measure("permits_of_tasks", 4_000, permits_of_tasks);
    measure("permits_of_threads", 4_000, permits_of_threads);
    measure("yields_of_tasks", 4_000, yields_of_tasks);
    measure("yields_of_threads", 4_000, yields_of_threads);
}
