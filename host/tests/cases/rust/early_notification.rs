//! A notification reaches a thread that has registered with a condvar of std and does not sleep yet.
//! run: -s random --iteration 8
//! exit: 2
//! line: why: the last notification of `CHANGED`, in step
//! line: ends a wait of worker 0.0 before it sleeps, and worker 0.0 waits again
//! run: -s random --iteration 14
//! exit: 2
//! line: ends a wait of worker 0.0 before it sleeps, and worker 0.0 waits again
//! absent: no worker waits for it
use std::sync::{Condvar, Mutex, atomic::{AtomicBool, Ordering::SeqCst}};
use std::thread;
static LOCK: Mutex<u32> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();
static READY: AtomicBool = AtomicBool::new(false);
fn main() {
    let t = thread::spawn(move || {
        let g = LOCK.lock().unwrap();
        READY.store(true, SeqCst);
        let g = CHANGED.wait(g).unwrap();
        let g = CHANGED.wait(g).unwrap();
        drop(g);
    });
    while !READY.load(SeqCst) { thread::yield_now(); }
    drop(LOCK.lock().unwrap());
    CHANGED.notify_one();
    t.join().unwrap();
}
