//! What orders accesses of plain memory in std, and what only seems to: each way right, and without one part of it. No assertion
//! could notice the difference.
//! run: --races bug --detect lassos,starvation -i 40 -- arc
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- unwrap
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- downgrade
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- rendezvous
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- closed
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- oncelock
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- lazy
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- local
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- finished
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- park
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- seqlock
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- handoff
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- condvar
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- timeout
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- barrier
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- trylock
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- spin
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- ticket
//! exit: 0
//! run: --races bug --detect lassos,starvation -i 40 -- peterson
//! exit: 0
//! run: --races bug -i 500 --no-shrink -- arc wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- downgrade wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- rendezvous wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- closed wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- oncelock wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- lazy wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- local wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- finished wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- park wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- seqlock wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- handoff wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- condvar wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- timeout wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- barrier wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- trylock wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- spin wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- ticket wrong
//! exit: 2
//! line: bug in test main: data-race
//! run: --races bug -i 500 --no-shrink -- peterson wrong
//! exit: 2
//! line: bug in test main: data-race
use std::cell::{RefCell, UnsafeCell};
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*, fence};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, OnceLock, RwLock, RwLockWriteGuard};
use std::thread::{self, scope, spawn};
use std::time::Duration;

/// Memory that only something else orders.
struct Plain(UnsafeCell<u32>);
unsafe impl Sync for Plain {}

impl Plain {
    #[inline(never)]
    fn get(&self) -> u32 {
        black_box(unsafe { *self.0.get() })
    }
    fn set(&self, value: u32) {
        unsafe { *self.0.get() = value }
    }
    fn add(&self) {
        self.set(self.get() + 1)
    }
}

static DATA: Plain = Plain(UnsafeCell::new(0));
static MORE: Plain = Plain(UnsafeCell::new(0));

struct AtEnd;
impl Drop for AtEnd {
    fn drop(&mut self) {
        DATA.add()
    }
}
thread_local! {
    static LOCAL: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

static LAZY: LazyLock<u32> = LazyLock::new(|| {
    DATA.set(5);
    1
});
static CELL: OnceLock<u32> = OnceLock::new();
static NUMBER: AtomicU32 = AtomicU32::new(0);
static TURN: AtomicU32 = AtomicU32::new(0);
static LOCK: AtomicBool = AtomicBool::new(false);
static BOX: AtomicPtr<u32> = AtomicPtr::new(null_mut());
static WANTS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
static LAST: AtomicUsize = AtomicUsize::new(0);

/// Two threads that do the same.
fn twice(what: impl Fn(usize) + Sync) {
    let what = &what;
    scope(|s| (0..2).for_each(|number| drop(s.spawn(move || what(number)))));
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let how = arguments.next().unwrap();
    let wrong = arguments.next().is_some();
    let (flag, changed) = (Mutex::new(false), Condvar::new());
    let set = || {
        DATA.set(1);
        *flag.lock().unwrap() = true;
        changed.notify_one();
    };
    match how.as_str() {
        "arc" => {
            let mut mine = Arc::new(Plain(UnsafeCell::new(0)));
            let other = mine.clone();
            let thread = spawn(move || other.set(1));
            if wrong {
                // A relaxed load.
                if Arc::strong_count(&mine) == 1 {
                    mine.add();
                }
            } else if let Some(only) = Arc::get_mut(&mut mine) {
                only.add();
            }
            thread.join().unwrap();
        }
        "unwrap" => {
            let shared = Arc::new(Plain(UnsafeCell::new(0)));
            let use_it = |shared: Arc<Plain>| {
                shared.get();
                if let Ok(only) = Arc::try_unwrap(shared) {
                    only.set(3)
                }
            };
            let other = shared.clone();
            let thread = spawn(move || use_it(other));
            use_it(shared);
            thread.join().unwrap();
        }
        "downgrade" => {
            let lock = RwLock::new(());
            scope(|s| {
                s.spawn(|| {
                    let write = lock.write().unwrap();
                    DATA.add();
                    let _read = RwLockWriteGuard::downgrade(write);
                    DATA.get();
                    if wrong {
                        DATA.add()
                    }
                });
                s.spawn(|| {
                    let _read = lock.read().unwrap();
                    DATA.get()
                });
                let _write = lock.write().unwrap();
                DATA.add();
            });
        }
        "rendezvous" => {
            let (sender, receiver) = sync_channel(0);
            let thread = spawn(move || {
                DATA.set(1);
                sender.send(()).unwrap();
                // The receiver took it, and what it did before is known.
                MORE.get();
            });
            if !wrong {
                MORE.set(1);
            }
            receiver.recv().unwrap();
            DATA.get();
            if wrong {
                MORE.set(1);
            }
            thread.join().unwrap();
        }
        "closed" => {
            let (sender, receiver) = channel();
            let other = sender.clone();
            let first = spawn(move || {
                if !wrong {
                    DATA.set(1);
                }
                sender.send(Box::new(1)).unwrap();
                if wrong {
                    // Orders nothing: that senders are gone is seen by a relaxed load.
                    DATA.set(1);
                }
            });
            let second = spawn(move || other.send(Box::new(2)).unwrap());
            assert_eq!(receiver.iter().map(|number| *number).sum::<i32>(), 3);
            DATA.get();
            first.join().unwrap();
            second.join().unwrap();
        }
        "oncelock" => scope(|s| {
            s.spawn(|| {
                DATA.set(1);
                CELL.set(1).unwrap();
            });
            s.spawn(|| {
                if CELL.get().is_some() || wrong {
                    DATA.get();
                }
            });
            CELL.wait();
            DATA.get();
        }),
        "lazy" => twice(|_| {
            if !wrong {
                assert_eq!(*LAZY, 1);
            }
            DATA.get();
            assert_eq!(*LAZY, 1);
        }),
        "local" => {
            // Destructors of thread-local values run before a thread can be joined, but maybe after a scope has ended.
            let with_local = || LOCAL.with_borrow_mut(|local| *local = Some(AtEnd));
            match wrong {
                false => spawn(with_local).join().unwrap(),
                true => scope(|s| drop(s.spawn(with_local))),
            }
            DATA.add();
        }
        "finished" => {
            let thread = spawn(|| DATA.set(1));
            while !thread.is_finished() {
                thread::yield_now()
            }
            if wrong {
                DATA.get();
            }
            thread.join().unwrap();
            DATA.get();
        }
        "park" => {
            let main = thread::current();
            let thread = spawn(move || {
                DATA.set(1);
                NUMBER.store(1, Relaxed);
                main.unpark();
            });
            match wrong {
                false => thread::park(),
                true => thread::park_timeout(Duration::from_millis(1)),
            }
            if NUMBER.load(Relaxed) == 1 {
                DATA.get();
            }
            thread.join().unwrap();
        }
        "seqlock" => {
            static PARTS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
            scope(|s| {
                s.spawn(|| {
                    NUMBER.store(1, Relaxed);
                    fence(Release);
                    PARTS.iter().for_each(|part| part.store(1, Relaxed));
                    if wrong {
                        DATA.set(1);
                    }
                    NUMBER.store(2, Release);
                });
                let number = NUMBER.load(Acquire);
                let [first, second] = PARTS.each_ref().map(|part| part.load(Relaxed));
                if wrong {
                    DATA.get();
                }
                fence(Acquire);
                if NUMBER.load(Relaxed) == number && number % 2 == 0 {
                    assert_eq!(first, second);
                }
            });
        }
        "handoff" => {
            let order = if wrong { Relaxed } else { AcqRel };
            twice(|number| {
                let old = BOX.swap(Box::into_raw(Box::new(number as u32)), order);
                if !old.is_null() {
                    assert!(*unsafe { Box::from_raw(old) } < 2);
                }
            });
            drop(unsafe { Box::from_raw(BOX.load(Acquire)) });
        }
        "condvar" => scope(|s| {
            s.spawn(set);
            drop(changed.wait_while(flag.lock().unwrap(), |set| !*set && !wrong).unwrap());
            DATA.get();
        }),
        "timeout" => scope(|s| {
            s.spawn(set);
            let span = Duration::from_millis(5);
            let (set, _) = changed.wait_timeout_while(flag.lock().unwrap(), span, |set| !*set).unwrap();
            let is_set = *set;
            drop(set);
            if is_set || wrong {
                DATA.get();
            }
        }),
        "barrier" => {
            let barrier = Barrier::new(2);
            twice(|_| {
                for _ in 0..2 {
                    if barrier.wait().is_leader() {
                        DATA.add()
                    }
                    if !wrong {
                        barrier.wait();
                    }
                    DATA.get();
                    barrier.wait();
                }
            });
        }
        "trylock" => twice(|_| {
            let guard = flag.try_lock();
            if guard.is_ok() || wrong {
                DATA.add()
            }
        }),
        "spin" => twice(|_| {
            let order = if wrong { Relaxed } else { Acquire };
            while LOCK.compare_exchange_weak(false, true, order, Relaxed).is_err() {
                std::hint::spin_loop();
            }
            DATA.add();
            LOCK.store(false, Release);
        }),
        "ticket" => twice(|_| {
            let order = if wrong { Relaxed } else { Acquire };
            let mine = NUMBER.fetch_add(1, Relaxed);
            while TURN.load(order) != mine {
                thread::yield_now()
            }
            DATA.add();
            TURN.store(mine + 1, Release);
        }),
        "peterson" => twice(|me| {
            WANTS[me].store(true, SeqCst);
            LAST.store(me, SeqCst);
            while WANTS[1 - me].load(SeqCst) && LAST.load(SeqCst) == me {
                thread::yield_now()
            }
            DATA.add();
            WANTS[me].store(false, if wrong { Relaxed } else { Release });
        }),
        _ => panic!("{how}"),
    }
}
