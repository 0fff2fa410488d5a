//! The parts of std that threads share.

use correct::{Place, message};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*, fence};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError, Weak};
use std::thread;
use std::time::Duration;

#[test]
fn mutex() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| *total.lock().unwrap() += 1);
        }
    });
    assert_eq!(total.into_inner().unwrap(), 3);
}

#[test]
fn mutex_tried() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| match total.try_lock() {
                Ok(mut total) => *total += 1,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Poisoned(_)) => unreachable!(),
            });
        }
        *total.lock().unwrap() += 1;
    });
    assert!((1..4).contains(&total.into_inner().unwrap()));
}

#[test]
fn two_locks_in_one_order() {
    let (first, second) = (Mutex::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut first = first.lock().unwrap();
                *second.lock().unwrap() += 1;
                *first += 1;
            });
        }
    });
    assert_eq!(first.into_inner().unwrap() + second.into_inner().unwrap(), 4);
}

#[test]
fn rwlock() {
    let pair = RwLock::new((0, 0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let pair = pair.read().unwrap();
                assert_eq!(pair.0, pair.1);
            });
        }
        let mut pair = pair.write().unwrap();
        pair.0 += 1;
        pair.1 += 1;
    });
}

#[test]
fn rwlock_two_writers_and_tries() {
    let number = RwLock::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *number.write().unwrap() += 1);
        }
        if let Ok(number) = number.try_read() {
            assert!(*number <= 2);
        }
        if let Ok(mut number) = number.try_write() {
            *number += 1;
        }
    });
    assert!((2..4).contains(&number.into_inner().unwrap()));
}

#[test]
fn condvar() {
    let (queue, changed) = (Mutex::new(Vec::new()), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut queue = changed.wait_while(queue.lock().unwrap(), |queue| queue.is_empty()).unwrap();
                queue.pop().unwrap();
            });
        }
        for number in [1, 2] {
            queue.lock().unwrap().push(number);
            changed.notify_one();
        }
    });
}

#[test]
fn condvar_with_a_timeout() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_all();
        });
        let guard = ready.lock().unwrap();
        let (guard, waited) =
            changed.wait_timeout_while(guard, Duration::from_millis(1), |ready| !*ready).unwrap();
        assert!(*guard || waited.timed_out());
    });
}

#[test]
fn once() {
    let (once, place) = (Once::new(), Place::default());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                once.call_once(|| place.write(1));
                assert_eq!(place.read(), 1);
            });
        }
    });
}

#[test]
fn once_lock() {
    let lock = OnceLock::new();
    thread::scope(|scope| {
        for number in [1, 2] {
            let lock = &lock;
            scope.spawn(move || {
                let first = **lock.get_or_init(|| message(number));
                assert_eq!(first, **lock.get().unwrap());
            });
        }
        if let Some(number) = lock.get() {
            assert!(**number == 1 || **number == 2);
        }
    });
}

#[test]
fn once_lock_that_is_set_and_waited_for() {
    let lock = OnceLock::new();
    thread::scope(|scope| {
        scope.spawn(|| lock.set(message(3)).unwrap());
        assert_eq!(**lock.wait(), 3);
    });
}

#[test]
fn lazy_lock() {
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2]);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(LAZY[1], 2));
        }
    });
}

#[test]
fn barrier() {
    let (barrier, places) = (Barrier::new(2), [Place::default(), Place::default()]);
    thread::scope(|scope| {
        let leaders: Vec<_> = [0, 1]
            .map(|own| {
                let (barrier, places) = (&barrier, &places);
                scope.spawn(move || {
                    places[own].write(1);
                    let first = barrier.wait().is_leader();
                    assert_eq!(places[1 - own].read(), 1);
                    let second = barrier.wait().is_leader();
                    places[1 - own].write(2);
                    u32::from(first) + u32::from(second)
                })
            })
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(leaders.iter().sum::<u32>(), 2);
    });
}

#[test]
fn channel_with_two_senders() {
    let (outbox, inbox) = channel();
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.send(message(number)).unwrap());
        }
        drop(outbox);
        assert_eq!(inbox.iter().map(|number| *number).sum::<u32>(), 3);
    });
}

#[test]
fn channel_across_blocks() {
    let (outbox, inbox) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..33 {
                outbox.send(message(number)).unwrap();
            }
        });
        let sum: u32 = inbox.iter().map(|number| *number).sum();
        assert_eq!(sum, 32 * 33 / 2);
    });
}

#[test]
fn channel_whose_receiver_leaves() {
    let (outbox, inbox) = channel();
    thread::scope(|scope| {
        scope.spawn(move || while outbox.send(message(1)).is_ok() {});
        assert_eq!(*inbox.recv().unwrap(), 1);
        drop(inbox);
    });
}

#[test]
fn channel_of_one() {
    let (outbox, inbox) = sync_channel(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..3 {
                outbox.send(message(number)).unwrap();
            }
        });
        assert_eq!(inbox.iter().map(|number| *number).collect::<Vec<_>>(), [0, 1, 2]);
    });
}

#[test]
fn channel_of_none() {
    let (outbox, inbox) = sync_channel(0);
    thread::scope(|scope| {
        for number in [1, 2] {
            let outbox = outbox.clone();
            scope.spawn(move || outbox.send(message(number)).unwrap());
        }
        drop(outbox);
        assert_eq!(inbox.iter().map(|number| *number).sum::<u32>(), 3);
    });
}

#[test]
fn channel_tries_and_timeouts() {
    let (outbox, inbox) = sync_channel(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = outbox.try_send(message(1));
            let _ = outbox.try_send(message(2));
        });
        loop {
            match inbox.try_recv() {
                Ok(number) => assert!(*number == 1 || *number == 2),
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => match inbox.recv_timeout(Duration::from_millis(1)) {
                    Ok(number) => assert!(*number == 1 || *number == 2),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                },
            }
        }
    });
}

#[test]
fn scope_and_results() {
    let mut numbers = vec![1, 2, 3, 4];
    let sum = thread::scope(|scope| {
        let (left, right) = numbers.split_at_mut(2);
        let other = scope.spawn(move || {
            left[0] += 1;
            left.iter().sum::<i32>()
        });
        right[0] += 1;
        right.iter().sum::<i32>() + other.join().unwrap()
    });
    assert_eq!(sum, 12);
    assert_eq!(numbers, [2, 2, 4, 4]);
}

#[test]
fn scope_ends_by_itself() {
    let place = Place::default();
    thread::scope(|scope| {
        scope.spawn(|| place.write(7));
    });
    assert_eq!(place.read(), 7);
}

#[test]
fn park() {
    let (place, ready) = (Place::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            while !ready.load(Acquire) {
                thread::park();
            }
            assert_eq!(place.read(), 1);
        });
        place.write(1);
        ready.store(true, Release);
        waiter.thread().unpark();
    });
}

/// What precedes `unpark` is visible to the thread whose `park` consumes the token (documentation of `park`), and
/// without faults `park` returns by a token only.
#[test]
fn park_orders() {
    let place = Place::default();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            thread::park();
            assert_eq!(place.read(), 1);
        });
        place.write(1);
        waiter.thread().unpark();
    });
}

#[test]
fn arc_and_weak() {
    struct Counts<'a>(Place, &'a AtomicU32);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            assert!(self.0.read() <= 2);
            self.1.fetch_add(1, Relaxed);
        }
    }
    let dropped = AtomicU32::new(0);
    thread::scope(|scope| {
        let counts = Arc::new(Counts(Place::default(), &dropped));
        let weak: Weak<_> = Arc::downgrade(&counts);
        scope.spawn({
            let counts = counts.clone();
            move || {
                counts.0.read();
                drop(counts);
            }
        });
        scope.spawn(move || {
            if let Some(counts) = weak.upgrade() {
                counts.0.read();
            }
        });
        drop(counts);
    });
    assert_eq!(dropped.into_inner(), 1);
}

#[test]
fn arc_that_becomes_unique() {
    let mut number = Arc::new(1);
    let other = thread::spawn({
        let number = number.clone();
        move || *number
    });
    let before = *number;
    *Arc::make_mut(&mut number) += 1;
    if let Some(number) = Arc::get_mut(&mut number) {
        *number += 1;
    }
    assert_eq!(other.join().unwrap(), before);
    assert_eq!(Arc::try_unwrap(number), Ok(3));
}

#[test]
fn arc_unwrapped_by_one() {
    let number = Arc::new(message(5));
    let other = thread::spawn({
        let number = number.clone();
        move || Arc::into_inner(number).is_some()
    });
    let here = Arc::into_inner(number).is_some();
    assert!(here != other.join().unwrap());
}

#[test]
fn thread_locals() {
    struct Counts(u32);
    static ENDED: AtomicU32 = AtomicU32::new(0);
    impl Drop for Counts {
        fn drop(&mut self) {
            ENDED.fetch_add(self.0, Relaxed);
        }
    }
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
        static COUNTS: RefCell<Counts> = RefCell::new(Counts(0));
    }
    let before = ENDED.load(Relaxed);
    let threads = [1, 2].map(|number| {
        thread::spawn(move || {
            NUMBER.set(number);
            COUNTS.with_borrow_mut(|counts| counts.0 += number);
            assert_eq!(NUMBER.get(), number);
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(ENDED.load(Relaxed) - before, 3);
}

#[test]
fn atomics_pass_messages() {
    let (place, flag) = (Place::default(), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            flag.store(1, Release);
        });
        scope.spawn(|| {
            // A read-modify-write continues the release sequence.
            let _ = flag.compare_exchange(1, 2, Relaxed, Relaxed);
        });
        if flag.load(Acquire) > 0 {
            assert_eq!(place.read(), 1);
        }
    });
}

#[test]
fn fences_pass_messages() {
    let (place, flag) = (Place::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            fence(Release);
            flag.store(true, Relaxed);
        });
        if flag.load(Relaxed) {
            fence(Acquire);
            assert_eq!(place.read(), 1);
        }
    });
}

#[test]
fn a_lock_of_atomics() {
    let (held, place) = (AtomicBool::new(false), Place::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while held.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                    thread::yield_now();
                }
                place.add(1);
                held.store(false, Release);
            });
        }
    });
    assert_eq!(place.read(), 2);
}
