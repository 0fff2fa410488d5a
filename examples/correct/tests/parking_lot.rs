//! parking_lot: every lock, condition variables, `Once`.

use correct::Place;
use parking_lot::{
    Condvar, FairMutex, Mutex, MutexGuard, Once, ReentrantMutex, RwLock, RwLockUpgradableReadGuard,
};
use parking_lot::{RwLockWriteGuard, const_mutex};
use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[test]
fn mutex() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| *total.lock() += 1);
        }
    });
    assert_eq!(total.into_inner(), 3);
}

#[test]
fn mutex_tries_and_timeouts() {
    static TOTAL: Mutex<u32> = const_mutex(0);
    thread::scope(|scope| {
        let tried = scope.spawn(|| TOTAL.try_lock().map(|mut total| *total += 1).is_some());
        let timed = scope
            .spawn(|| TOTAL.try_lock_for(Duration::from_millis(1)).map(|mut total| *total += 1).is_some());
        let before = {
            let mut total = TOTAL.lock();
            *total += 1;
            *total
        };
        assert!(before <= 3);
        let more = u32::from(tried.join().unwrap()) + u32::from(timed.join().unwrap());
        let mut total = TOTAL.lock();
        assert_eq!(*total % 1000, 1 + more);
        *total = 0;
    });
}

#[test]
fn mutex_given_fairly() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut guard = total.lock();
                *guard += 1;
                MutexGuard::bump(&mut guard);
                *guard += 1;
                MutexGuard::unlock_fair(guard);
            });
        }
    });
    assert_eq!(total.into_inner(), 4);
}

#[test]
fn fair_mutex() {
    let total = FairMutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                *total.lock() += 1;
                *total.lock() += 1;
            });
        }
    });
    assert_eq!(total.into_inner(), 4);
}

#[test]
fn reentrant_mutex() {
    let total = ReentrantMutex::new(Cell::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let outer = total.lock();
                let inner = total.lock();
                inner.set(inner.get() + 1);
                drop(inner);
                outer.set(outer.get() + 1);
            });
        }
    });
    assert_eq!(total.into_inner().get(), 4);
}

#[test]
fn rwlock() {
    let pair = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut pair = pair.write();
            pair.0 += 1;
            pair.1 += 1;
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let pair = pair.read();
                assert_eq!(pair.0, pair.1);
            });
        }
    });
}

#[test]
fn rwlock_up_and_down() {
    let number = RwLock::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let upgradable = number.upgradable_read();
                let before = *upgradable;
                let mut writing = RwLockUpgradableReadGuard::upgrade(upgradable);
                assert_eq!(*writing, before);
                *writing += 1;
                let reading = RwLockWriteGuard::downgrade(writing);
                assert_eq!(*reading, before + 1);
            });
        }
        scope.spawn(|| assert!(*number.read() <= 2));
    });
    assert_eq!(number.into_inner(), 2);
}

#[test]
fn rwlock_tries_and_timeouts() {
    let number = RwLock::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(mut number) = number.try_write_for(Duration::from_millis(1)) {
                *number += 1;
            }
        });
        scope.spawn(|| {
            if let Some(mut number) = number.try_write() {
                *number += 1;
            }
        });
        if let Some(number) = number.try_read_for(Duration::from_millis(1)) {
            assert!(*number <= 2);
        }
        let read = number.try_read_recursive().map(|number| *number);
        assert!(read.is_none_or(|number| number <= 2));
    });
}

#[test]
fn condvar() {
    let (queue, changed) = (Mutex::new(Vec::new()), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut queue = queue.lock();
                changed.wait_while(&mut queue, |queue: &mut Vec<u32>| queue.is_empty());
                queue.pop().unwrap();
            });
        }
        queue.lock().push(1);
        changed.notify_one();
        queue.lock().push(2);
        changed.notify_one();
    });
    assert!(queue.into_inner().is_empty());
}

#[test]
fn condvar_wakes_all() {
    let (open, opened) = (Mutex::new(false), Condvar::new());
    let seen = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut open = open.lock();
                while !*open {
                    opened.wait(&mut open);
                }
                *seen.lock() += 1;
            });
        }
        let mut open = open.lock();
        *open = true;
        opened.notify_all();
    });
    assert_eq!(seen.into_inner(), 2);
}

#[test]
fn condvar_with_a_timeout() {
    let state = Arc::new((Mutex::new(0), Condvar::new()));
    let other = thread::spawn({
        let state = state.clone();
        move || {
            *state.0.lock() = 1;
            state.1.notify_one();
        }
    });
    let mut number = state.0.lock();
    while *number == 0 {
        if state.1.wait_for(&mut number, Duration::from_millis(1)).timed_out() {
            break;
        }
    }
    drop(number);
    other.join().unwrap();
    assert_eq!(*state.0.lock(), 1);
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
