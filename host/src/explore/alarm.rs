//! Time limits and interruptions for executions that have begun.
//!
//! An exploration checks the time between two executions. A single execution can take longer than the whole time
//! (100,000 steps that each copy 100 MB), so its [`Scheduler`](crate::machine::scheduler::Scheduler) checks a flag
//! every few steps. An execution that was cut off says nothing about its test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);

/// Ends the watching thread, also if the watched function panics.
struct Over<'a>(&'a AtomicBool, std::thread::Thread);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

/// Calls a function with a flag that is raised when the time is up or the user interrupts.
pub fn with<R>(
    timeout: Option<Duration>,
    interrupted: &AtomicBool,
    body: impl FnOnce(&Arc<AtomicBool>) -> R,
) -> R {
    let (raised, over) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let started = Instant::now();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let late = timeout.is_some_and(|timeout| started.elapsed() >= timeout);
                if late || interrupted.load(Ordering::Relaxed) {
                    raised.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(POLL);
            }
        });
        let _over = Over(&over, watcher.thread().clone());
        body(&raised)
    })
}
