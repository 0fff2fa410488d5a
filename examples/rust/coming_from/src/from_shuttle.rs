//! A consumer that looks for a message under the lock, gives the lock back, and waits.

use coyote::sync::{Condvar, Mutex};
use coyote::thread;
use std::sync::Arc;

/// The message and its notification come between the look and the wait.
#[coyote::test]
fn from_shuttle() {
    let slot = Arc::new((Mutex::new(None), Condvar::new()));
    let producer = slot.clone();
    let producer = thread::spawn(move || {
        *producer.0.lock() = Some("message");
        producer.1.notify_one();
    });
    let empty = slot.0.lock().is_none();
    if empty {
        let _message = slot.1.wait(slot.0.lock());
    }
    producer.join();
}
