//! A configuration is replaced while others read it. Broken: read, change and store are three steps.

use arc_swap::ArcSwap;
use std::sync::Arc;
use std::thread;

fn main() {
    let count = ArcSwap::from_pointee(0);
    let add = || match published::broken() {
        false => drop(count.rcu(|n| **n + 1)),
        true => count.store(Arc::new(**count.load() + 1)),
    };
    thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(**count.load(), 2, "a change is lost");
}
