//! Properties of a test beside its assertions: what must always hold, and what must hold sometimes.
//!
//! ```no_run
//! use coyote::property::{always, invariant, sometimes};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//!
//! let (free, used) = (Arc::new(AtomicU32::new(8)), Arc::new(AtomicU32::new(0)));
//! let _watched = invariant("at most 8 are in use", {
//!     let used = used.clone();
//!     move || used.load(Relaxed) <= 8
//! });
//! // ... workers take and give back.
//! sometimes(free.load(Relaxed) == 0, "all are in use");
//! always(free.load(Relaxed) + used.load(Relaxed) == 8, "none is lost");
//! ```
//!
//! What must *eventually* hold is a [monitor](crate::monitor).
#![allow(unsafe_code)] // Texts are passed as address and length.

use crate::sys;

/// Asserts that the condition holds whenever a worker comes here. As `assert!`, but with a name instead of a message.
#[track_caller]
pub fn always(condition: bool, name: &str) {
    assert!(condition, "`{name}` does not hold");
}

/// Says that the condition should hold in at least one of the evaluations of all iterations: that a test comes to the
/// situation for which it was written. Where it never does, the report says so, whatever the verdict. It is no scheduling
/// point. Outside of wasm, it does nothing.
pub fn sometimes(condition: bool, name: &str) {
    // SAFETY: address and length of a `str`.
    sys::with_text(name, |text, length| unsafe { sys::sometimes(text, length, i32::from(condition)) });
}

/// Watches a condition until the result is dropped: it must hold at the beginning and after each step of each worker.
///
/// The condition is evaluated by a worker of its own while all other workers are suspended. It must only read memory,
/// since it is not said how often it is evaluated: only after steps that changed memory which the last evaluation read.
/// It needs no lock, and what it reads takes part in no data race. But without the lock that protects what it reads, it
/// also sees what the lock's holder has half done. If it takes the lock, it is evaluated as soon as the lock is free; it
/// must then not be begun or ended by a worker that holds the lock.
///
/// Strategies that draw schedules, such as the default, evaluate the condition immediately after such a step. For searches
/// the evaluation is a step like any other, so they try it at all times; bounded ones count the switch to it as a
/// preemption.
///
/// Outside of wasm, the condition is evaluated at the beginning and at the end only.
pub fn invariant(name: &str, holds: impl Fn() -> bool + Send + 'static) -> Invariant {
    Invariant { watch: watch::Watch::begin(name, holds) }
}

/// A condition that is watched: see [`invariant`].
#[must_use = "the condition is watched until this is dropped"]
pub struct Invariant {
    watch: watch::Watch,
}

impl Drop for Invariant {
    fn drop(&mut self) {
        self.watch.end();
    }
}

impl std::fmt::Debug for Invariant {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Invariant").finish_non_exhaustive()
    }
}

fn message(name: &str) -> String {
    format!("the invariant `{name}` does not hold")
}

#[cfg(target_family = "wasm")]
mod watch {
    use crate::sync::Semaphore;
    use crate::thread::{Builder, JoinHandle};
    use crate::{report, sys};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    /// The worker that watches.
    pub struct Watch {
        ended: Arc<AtomicBool>,
        worker: Option<JoinHandle<()>>,
    }

    impl Watch {
        pub fn begin(name: &str, holds: impl Fn() -> bool + Send + 'static) -> Watch {
            let ended = Arc::new(AtomicBool::new(false));
            let begun = Arc::new(Semaphore::new(0));
            let message = super::message(name);
            let main = {
                let (ended, begun) = (ended.clone(), begun.clone());
                move || watch(&ended, &begun, &holds, &message)
            };
            let worker = Builder::new().name(format!("invariant {name}")).spawn(main);
            begun.acquire();
            Watch { ended, worker: Some(worker) }
        }

        pub fn end(&mut self) {
            self.ended.store(true, SeqCst);
            self.worker.take().into_iter().for_each(JoinHandle::join);
        }
    }

    fn watch(ended: &AtomicBool, begun: &Semaphore, holds: &dyn Fn() -> bool, message: &str) {
        let mut is_first = true;
        loop {
            sys::watch();
            // Up to the end of the evaluation, no other worker runs.
            let over = ended.load(SeqCst);
            if !over && !holds() {
                report::fail(message);
            }
            sys::evaluated(i32::from(over));
            if over {
                return;
            }
            if std::mem::take(&mut is_first) {
                begun.release();
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
mod watch {
    /// The condition.
    pub struct Watch(Box<dyn Fn() + Send>);

    impl Watch {
        pub fn begin(name: &str, holds: impl Fn() -> bool + Send + 'static) -> Watch {
            let message = super::message(name);
            let watch = Watch(Box::new(move || assert!(holds(), "{message}")));
            (watch.0)();
            watch
        }

        pub fn end(&mut self) {
            if !std::thread::panicking() {
                (self.0)();
            }
        }
    }
}
