//! arc-swap: values that are replaced while others read them.

use arc_swap::{ArcSwap, ArcSwapOption, Cache};
use correct::message;
use std::sync::Arc;
use std::thread;

#[test]
fn replaced_while_read() {
    let current = ArcSwap::from_pointee(message(0));
    thread::scope(|scope| {
        scope.spawn(|| current.store(Arc::new(message(1))));
        scope.spawn(|| assert!(***current.load() <= 2));
        let old = current.swap(Arc::new(message(2)));
        assert!(**old <= 1);
    });
}

#[test]
fn updated() {
    let current = ArcSwap::from_pointee(message(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| current.rcu(|old| message(***old + 1)));
        }
    });
    assert_eq!(***current.load(), 2);
}

#[test]
fn guard_that_is_kept() {
    let current = ArcSwap::from_pointee(message(0));
    thread::scope(|scope| {
        let guard = current.load();
        scope.spawn(|| current.store(Arc::new(message(1))));
        assert_eq!(***guard, 0);
        let full = current.load_full();
        drop(guard);
        assert!(**full <= 1);
    });
}

#[test]
fn option_and_cache() {
    let current = ArcSwapOption::<Box<u32>>::empty();
    thread::scope(|scope| {
        scope.spawn(|| current.store(Some(Arc::new(message(1)))));
        let mut cache = Cache::new(&current);
        for _ in 0..2 {
            assert!(cache.load().as_ref().is_none_or(|number| ***number == 1));
        }
    });
}
