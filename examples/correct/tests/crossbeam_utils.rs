//! crossbeam-utils: parking, groups, locks, cells, backoff, scopes.

use correct::Place;
use crossbeam_utils::Backoff;
use crossbeam_utils::atomic::AtomicCell;
use crossbeam_utils::sync::{Parker, ShardedLock, WaitGroup};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

#[test]
fn parker() {
    let (place, parker) = (Place::default(), Parker::new());
    let unparker = parker.unparker().clone();
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            unparker.unpark();
        });
        parker.park();
        assert_eq!(place.read(), 1);
    });
}

#[test]
fn wait_group() {
    let (places, group) = ([Place::default(), Place::default()], WaitGroup::new());
    thread::scope(|scope| {
        for place in &places {
            let group = group.clone();
            scope.spawn(move || {
                place.write(1);
                drop(group);
            });
        }
        group.wait();
        assert_eq!(places[0].read() + places[1].read(), 2);
    });
}

#[test]
fn sharded_lock() {
    let pair = ShardedLock::new((0, 0));
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
fn atomic_cell_with_atomics() {
    let cell = AtomicCell::new(0u32);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| cell.fetch_add(1));
        }
        assert!(cell.load() <= 2);
    });
    assert_eq!(cell.into_inner(), 2);
}

#[test]
fn atomic_cell_with_locks() {
    let cell = AtomicCell::new([0u32; 4]);
    thread::scope(|scope| {
        for number in [1, 2] {
            let cell = &cell;
            scope.spawn(move || cell.store([number; 4]));
        }
        let numbers = cell.load();
        assert!(numbers.iter().all(|number| *number == numbers[0]));
        let before = cell.swap([3; 4]);
        assert!(before.iter().all(|number| *number == before[0]));
    });
}

#[test]
fn backoff() {
    let (place, ready) = (Place::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            place.write(1);
            ready.store(true, Release);
        });
        let backoff = Backoff::new();
        while !ready.load(Acquire) {
            backoff.snooze();
        }
        assert_eq!(place.read(), 1);
    });
}

#[test]
fn scoped_threads() {
    let place = Place::default();
    crossbeam_utils::thread::scope(|scope| {
        scope.spawn(|scope| {
            scope.spawn(|_| place.write(1)).join().unwrap();
            place.add(1);
        });
    })
    .unwrap();
    assert_eq!(place.read(), 2);
}
