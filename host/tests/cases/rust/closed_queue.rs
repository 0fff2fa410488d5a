//! A flag that is set without the lock: a thread that has looked at it, and does not wait yet, misses the notification. The
//! report tells the look and the change.
//! run: -i 3000
//! exit: 2
//! line: why: worker 0.0 looks in step
//! line: what it saw there; worker 0 notifies `READY` in step
//! line: notifies all of `READY`: no worker waits
//! line: worker 0 for the threads of its scope; worker 0.0 to be woken at `READY`
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Condvar, Mutex};
use std::thread;

static JOBS: Mutex<VecDeque<u32>> = Mutex::new(VecDeque::new());
static READY: Condvar = Condvar::new();
static CLOSED: AtomicBool = AtomicBool::new(false);

fn pop() -> Option<u32> {
    let mut jobs = JOBS.lock().unwrap();
    loop {
        if let Some(job) = jobs.pop_front() {
            return Some(job);
        }
        if CLOSED.load(Acquire) {
            return None;
        }
        jobs = READY.wait(jobs).unwrap();
    }
}

fn main() {
    thread::scope(|scope| {
        scope.spawn(|| while pop().is_some() {});
        JOBS.lock().unwrap().push_back(1);
        READY.notify_one();
        CLOSED.store(true, Release);
        READY.notify_all();
    });
}
