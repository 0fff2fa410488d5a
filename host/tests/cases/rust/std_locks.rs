//! The holder of a std mutex follows from its word; a condvar has none.
//! run: -i 10000 --no-shrink -- opposite
//! exit: 2
//! line: bug in test main: deadlock:
//! line: and each of these is held by the next one, as far as the locks' words tell
//! line: which worker 0.0 holds since step
//! line: inferred from the lock's word
//! run: -i 10 --no-shrink -- itself
//! exit: 2
//! line: which it holds itself since step
//! run: -i 100 -- joined
//! exit: 2
//! line: why: worker 0 waits for the end of worker 0.0, and worker 0.0 waits for
//! line: , which worker 0 holds since step
//! absent: never notified
//! run: -i 100 -- receives
//! exit: 2
//! line: why: worker 0 waits for a message
//! line: ; worker 0.0 waits for
//! line: , which worker 0 holds since step
//! absent: never notified
//! run: -i 10000 --no-shrink -- lost
//! exit: 2
//! line: who waits: worker 0 to be woken
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

fn main() {
    let both = Arc::new((Mutex::new(1), Mutex::new(2), Condvar::new()));
    let other = both.clone();
    match std::env::args().nth(1).as_deref() {
        Some("joined") => {
            let held = both.0.lock().unwrap();
            let thread = thread::spawn(move || *other.0.lock().unwrap() += 1);
            thread.join().unwrap();
            drop(held);
        }
        Some("receives") => {
            let (sender, receiver) = std::sync::mpsc::channel();
            let held = both.0.lock().unwrap();
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() += 1;
                sender.send(()).unwrap();
            });
            receiver.recv().unwrap();
            drop(held);
            thread.join().unwrap();
        }
        Some("opposite") => {
            let thread = thread::spawn(move || {
                let first = other.1.lock().unwrap();
                let second = other.0.lock().unwrap();
                drop((first, second));
            });
            let first = both.0.lock().unwrap();
            let second = both.1.lock().unwrap();
            drop((first, second));
            thread.join().unwrap();
        }
        Some("itself") => {
            thread::spawn(|| ()).join().unwrap();
            let first = both.0.lock().unwrap();
            let second = both.0.lock().unwrap();
            drop((first, second));
        }
        _ => {
            let thread = thread::spawn(move || other.2.notify_one());
            let first = both.0.lock().unwrap();
            drop(both.2.wait(first).unwrap());
            thread.join().unwrap();
        }
    }
}
