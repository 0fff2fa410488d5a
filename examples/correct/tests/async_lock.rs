//! async-lock, by threads that run futures.

use async_lock::{Barrier, Mutex, OnceCell, RwLock, RwLockUpgradableReadGuard, Semaphore};
use correct::{Place, block_on, message};
use std::thread;

#[test]
fn mutex() {
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| block_on(async { *total.lock().await += 1 }));
        }
    });
    assert_eq!(total.into_inner(), 3);
}

#[test]
fn rwlock() {
    let pair = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async {
                let mut pair = pair.write().await;
                pair.0 += 1;
                pair.1 += 1;
            });
        });
        scope.spawn(|| {
            block_on(async {
                let reading = pair.upgradable_read().await;
                let before = *reading;
                let mut writing = RwLockUpgradableReadGuard::upgrade(reading).await;
                assert_eq!(*writing, before);
                *writing = (3, 3);
            });
        });
        let pair = block_on(pair.read());
        assert_eq!(pair.0, pair.1);
    });
}

#[test]
fn semaphore() {
    let (permits, place) = (Semaphore::new(1), Place::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _permit = block_on(permits.acquire());
                place.add(1);
            });
        }
    });
    assert_eq!(place.read(), 2);
}

#[test]
fn once_cell() {
    let cell = OnceCell::new();
    thread::scope(|scope| {
        let threads = [1, 2].map(|number| {
            let cell = &cell;
            scope.spawn(move || **block_on(cell.get_or_init(async || message(number))))
        });
        let [first, second] = threads.map(|thread| thread.join().unwrap());
        assert_eq!(first, second);
    });
}

#[test]
fn barrier() {
    let (barrier, place) = (Barrier::new(2), Place::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            block_on(barrier.wait());
        });
        block_on(barrier.wait());
        assert_eq!(place.read(), 1);
    });
}
