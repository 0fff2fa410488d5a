//! A second read of a lock by one thread waits behind a writer, which waits for the first one.
//!
//! run: -i 1000
//! exit: 2
//! line: and no reader passes worker 0.0, which waits to write
//! line: who waits: worker 0 for a lock, which it holds itself since step
//! absent: `own`
//! absent: `lock`
use std::sync::{Arc, RwLock};

fn main() {
    let lock = Arc::new(RwLock::new(0));
    let own = lock.clone();
    let writer = std::thread::spawn(move || *own.write().unwrap() += 1);
    let first = lock.read().unwrap();
    let second = lock.read().unwrap();
    assert!(*first == *second);
    drop((first, second));
    writer.join().unwrap();
}
