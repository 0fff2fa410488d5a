//! spin: locks that wait by spinning.

use correct::Place;
use spin::{Barrier, LazyLock, Mutex, Once, RwLock, mutex::TicketMutex};
use std::thread;

#[test]
fn mutex() {
    let total = Mutex::<_>::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *total.lock() += 1);
        }
        if let Some(mut total) = total.try_lock() {
            *total += 1;
        }
    });
    assert!((2..4).contains(&total.into_inner()));
}

#[test]
fn ticket_mutex() {
    let total = TicketMutex::<_>::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *total.lock() += 1);
        }
    });
    assert_eq!(total.into_inner(), 2);
}

#[test]
fn rwlock() {
    let pair = RwLock::<_>::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut pair = pair.write();
            pair.0 += 1;
            pair.1 += 1;
        });
        scope.spawn(|| {
            let reading = pair.upgradeable_read();
            let before = *reading;
            let mut writing = reading.upgrade();
            assert_eq!(*writing, before);
            *writing = (3, 3);
        });
        let pair = pair.read();
        assert_eq!(pair.0, pair.1);
    });
}

#[test]
fn once() {
    let (once, place) = (Once::<u32>::new(), Place::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let value = *once.call_once(|| {
                    place.write(1);
                    7
                });
                assert_eq!((value, place.read()), (7, 1));
            });
        }
        if let Some(value) = once.get() {
            assert_eq!((*value, place.read()), (7, 1));
        }
    });
}

#[test]
fn lazy() {
    let lazy: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1]);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(lazy[0], 1));
        }
    });
}

#[test]
fn barrier() {
    let (barrier, place) = (Barrier::new(2), Place::default());
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            barrier.wait();
        });
        barrier.wait();
        assert_eq!(place.read(), 1);
    });
}
