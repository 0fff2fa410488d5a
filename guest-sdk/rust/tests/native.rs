//! Tests of a guest as `cargo test` runs them outside of wasm: what a program may end with, and what fails one.
//!
//! Each of them is run a few times, which shows what goes wrong often; that their programs are right is what exploration is
//! for.

use coyote::actor::{self, Actor, ActorRef, Context, States};
use coyote::monitor::Monitor;
use coyote::sync::{Barrier, Condvar, Mutex, RwLock, Semaphore, futex};
use coyote::task;
use coyote::thread;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

#[coyote::test]
fn a_mutex_excludes() {
    let balance = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let before = *balance.lock();
                    let mut now = balance.lock();
                    *now += i32::from(before >= 0);
                }
            });
        }
    });
    assert_eq!(*balance.lock(), 1600);
}

/// An attempt that fails leaves the lock as it is.
#[coyote::test]
fn a_held_mutex_is_not_taken() {
    let mutex = Mutex::new(0);
    let guard = mutex.lock();
    thread::scope(|scope| {
        scope.spawn(|| assert!(mutex.try_lock().is_none()));
    });
    assert!(mutex.try_lock().is_none());
    drop(guard);
    *mutex.try_lock().unwrap() += 1;
    assert_eq!(*mutex.lock(), 1);
}

#[coyote::test]
fn writers_are_alone() {
    let (lock, inside) = (RwLock::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let mut value = lock.write();
                    assert_eq!(inside.fetch_add(100, SeqCst), 0);
                    *value += 1;
                    inside.fetch_sub(100, SeqCst);
                }
            });
            scope.spawn(|| {
                for _ in 0..100 {
                    let _value = lock.read();
                    assert!(inside.fetch_add(1, SeqCst) < 100);
                    inside.fetch_sub(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(*lock.read(), 400);
}

#[coyote::test]
fn a_buffer_is_handed_over() {
    const ITEMS: u32 = 300;
    let (buffer, changed) = (Mutex::new(Vec::new()), Condvar::new());
    let sum = thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut sum = 0;
                    for _ in 0..ITEMS {
                        let mut items = changed.wait_while(buffer.lock(), |items| items.is_empty());
                        sum += items.pop().expect("there is one");
                        changed.notify_all();
                    }
                    sum
                })
            })
            .collect();
        for item in 0..3 * ITEMS {
            let mut items = changed.wait_while(buffer.lock(), |items| items.len() == 2);
            items.push(item);
            changed.notify_all();
        }
        readers.into_iter().map(|reader| reader.join()).sum::<u32>()
    });
    assert_eq!(sum, (0..3 * ITEMS).sum());
}

#[coyote::test]
fn a_barrier_lets_all_go_and_has_one_leader() {
    let (barrier, leaders, arrived) = (Barrier::new(4), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 1..=50 {
                    arrived.fetch_add(1, SeqCst);
                    leaders.fetch_add(usize::from(barrier.wait().is_leader()), SeqCst);
                    assert!(arrived.load(SeqCst) >= 4 * round);
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), 50);
}

#[coyote::test]
fn a_futex_is_not_missed() {
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while word.load(SeqCst) == 0 {
                futex::wait(&word, 0);
            }
        });
        word.store(1, SeqCst);
        futex::notify(&word, 1);
    });
}

#[coyote::test]
fn times_are_in_order_and_take_none() {
    let (start, real) = (coyote::now(), Instant::now());
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for hours in [3, 1, 2] {
            let order = &order;
            scope.spawn(move || {
                thread::sleep(Duration::from_secs(hours * 3600));
                order.lock().push(hours);
            });
        }
    });
    assert_eq!(*order.lock(), [1, 2, 3]);
    assert!(coyote::now() - start >= Duration::from_secs(3 * 3600));
    assert!(real.elapsed() < Duration::from_secs(60));
    assert!(!Semaphore::new(0).acquire_timeout(Duration::from_secs(10)));
}

#[coyote::test]
fn tasks_share_a_channel() {
    let sum = task::block_on(async {
        let (sender, mut receiver) = task::sync::mpsc::channel(2);
        for task in 0..10_u64 {
            let sender = sender.clone();
            task::spawn(async move {
                for item in 0..20 {
                    sender.send(task * 20 + item).await.expect("somebody receives");
                }
            });
        }
        drop(sender);
        let mut sum = 0;
        while let Some(item) = receiver.recv().await {
            sum += item;
        }
        sum
    });
    assert_eq!(sum, (0..200).sum());
}

#[coyote::test]
fn many_tasks_end() {
    let tasks: Vec<_> = (0..200_u64).map(|n| task::spawn(async move { n })).collect();
    let all = task::block_on(async {
        let mut sum = 0;
        for task in tasks {
            sum += task.await.expect("nobody aborts it");
        }
        sum
    });
    assert_eq!(all, (0..200).sum());
}

#[coyote::test]
fn time_passes_while_a_task_yields() {
    task::block_on(async {
        let yields = async {
            loop {
                task::yield_now().await;
            }
        };
        let slept = task::select(task::sleep(Duration::from_millis(20)), yields).await;
        assert!(matches!(slept, task::Either::Left(())));
    });
}

/// A player that sends a ball back and forth, and halts after a number of balls.
struct Player {
    other: ActorRef,
    halted: &'static AtomicU32,
}

struct Ball(u32);

impl Player {
    fn hit(&mut self, ctx: &mut Context<Player>, Ball(count): Ball) {
        ctx.send(&self.other, Ball(count + 1));
        if count >= 50 {
            ctx.halt();
        }
    }
}

impl Actor for Player {
    type State = ();

    fn states(states: &mut States<Player>) {
        states.start(()).on(Player::hit);
    }

    fn on_halt(&mut self, _: &mut Context<Player>) {
        self.halted.fetch_add(1, SeqCst);
    }
}

/// At ball 50, player a halts after its answer; b answers that with a ball that is dropped, and halts.
#[coyote::test]
fn actors_play() {
    static HALTED: AtomicU32 = AtomicU32::new(0);
    HALTED.store(0, SeqCst);
    let (a, b) = (actor::named("a"), actor::named("b"));
    a.create(Player { other: b.clone(), halted: &HALTED });
    b.create(Player { other: a.clone(), halted: &HALTED });
    a.send(Ball(0));
    a.join();
    b.join();
    assert_eq!(HALTED.load(SeqCst), 2);
}

/// An actor that has nothing to do may wait for ever.
#[coyote::test]
fn an_idle_actor_is_no_deadlock() {
    let a = actor::named("a");
    static HALTED: AtomicU32 = AtomicU32::new(0);
    a.create(Player { other: a.clone(), halted: &HALTED });
}

#[coyote::test]
#[should_panic(expected = "deadlock: every worker waits for another one")]
fn opposite_orders_are_a_deadlock() {
    let (a, b, both) = (Mutex::new(()), Mutex::new(()), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _a = a.lock();
            both.wait();
            let _b = b.lock();
        });
        scope.spawn(|| {
            let _b = b.lock();
            both.wait();
            let _a = a.lock();
        });
    });
}

#[coyote::test]
#[should_panic(expected = "on purpose")]
fn a_panic_of_any_worker_fails_the_test() {
    let never = Semaphore::new(0);
    thread::scope(|scope| {
        scope.spawn(|| never.acquire());
        scope.spawn(|| panic!("on purpose"));
    });
}

#[coyote::test]
#[should_panic(expected = "on purpose")]
fn a_panic_of_a_detached_worker_fails_the_test() {
    drop(thread::spawn(|| {
        thread::sleep(Duration::from_secs(1));
        panic!("on purpose");
    }));
}

#[coyote::test]
#[should_panic(expected = "the monitor `an answer` is hot at the end")]
fn a_hot_monitor_fails_the_test() {
    static ANSWER: Monitor = Monitor::new("an answer");
    ANSWER.hot();
}

/// An assumption that does not hold is no failure, and nothing that follows is one.
#[coyote::test]
fn what_is_assumed_away_fails_nothing() {
    let never = Semaphore::new(0);
    thread::scope(|scope| {
        scope.spawn(|| never.acquire());
        scope.spawn(|| coyote::assume(false));
    });
    unreachable!("the test is over");
}

/// Threads that the program starts by other means take part.
#[coyote::test]
fn threads_of_std_count() {
    let permits = Semaphore::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            permits.release();
            permits.release();
        });
        scope.spawn(|| permits.acquire());
        permits.acquire();
    });
}

#[coyote::test]
fn values_are_chosen_within_their_bounds() {
    for _ in 0..1_000 {
        assert!((3..7).contains(&coyote::nondet::int(3..7)));
    }
    assert!(!coyote::fault::point("nothing goes wrong"));
}

#[coyote::test]
fn a_predicate_makes_a_lock() {
    let (lock, count) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    coyote::wait_until(|| lock.swap(1, SeqCst) == 0);
                    let before = count.load(SeqCst);
                    coyote::interleave();
                    count.store(before + 1, SeqCst);
                    lock.store(0, SeqCst);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 200);
}

/// What a predicate waits for may be under a lock of the SDK, and come after a sleep.
#[coyote::test]
fn a_predicate_may_lock() {
    let items = Mutex::new(Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(3600));
            items.lock().push(1);
        });
        coyote::wait_until(|| items.lock().pop().is_some());
    });
}

#[coyote::test]
#[should_panic(expected = "deadlock: every worker waits for another one")]
fn predicates_that_nobody_makes_true_are_a_deadlock() {
    let (flag, mutex) = (AtomicU32::new(0), Mutex::new(()));
    thread::scope(|scope| {
        let _held = mutex.lock();
        scope.spawn(|| coyote::wait_until(|| flag.load(SeqCst) == 1));
        scope.spawn(|| coyote::wait_until(|| flag.load(SeqCst) == 2));
        scope.spawn(|| drop(mutex.lock()));
        coyote::wait_until(|| flag.load(SeqCst) == 3);
    });
}

#[coyote::test]
fn scopes_without_points_exclude_each_other() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for object in 0..4 {
            let count = &count;
            scope.spawn(move || {
                for _ in 0..50 {
                    coyote::point::read(object);
                    let _outer = coyote::suppress();
                    let _inner = coyote::suppress();
                    let before = count.load(SeqCst);
                    coyote::point::write(object);
                    count.store(before + 1, SeqCst);
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 200);
}
