//! A condition under a mutex. Broken: it is tested without the mutex.

use parking_lot::{Condvar, Mutex};
use std::thread;

fn main() {
    let (ready, changed) = (Mutex::new(false), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            *ready.lock() = true;
            changed.notify_one();
        });
        if published::broken() {
            if !*ready.lock() {
                changed.wait(&mut ready.lock());
            }
        } else {
            let mut ready = ready.lock();
            while !*ready {
                changed.wait(&mut ready);
            }
        }
    });
}
