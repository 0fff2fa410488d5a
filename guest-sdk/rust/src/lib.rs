//! The Rust SDK for guests of coyote-wasm: tests, workers, locks and choices that the tool
//! controls.
//!
//! ```no_run
//! use coyote::sync::Mutex;
//!
//! #[coyote::test]
//! fn two_deposits() {
//!     let balance = Mutex::new(0);
//!     coyote::thread::scope(|scope| {
//!         scope.spawn(|| *balance.lock() += 1);
//!         scope.spawn(|| *balance.lock() += 1);
//!     });
//!     assert_eq!(*balance.lock(), 2);
//! }
//! ```
//!
//! A guest is a `cdylib` for `wasm32-unknown-unknown`, or a program for `wasm32-wasip1` or
//! `wasm32-wasip1-threads`. Programs for the last one need this crate only for what std lacks, such as
//! [`nondet`].
//!
//! Guests must be built with `-C target-feature=+atomics`. Without it LLVM turns every atomic, also
//! those inside of `Arc`, into a plain load and a plain store, and the tool would report races that
//! are not in the source. `wasm32-wasip1-threads` has the feature by default.
//!
//! # What differs from std
//! - A panic ends the iteration as a bug, wherever it happens. So locks are never poisoned:
//!   [`sync::Mutex::lock`] returns the guard, and [`thread::JoinHandle::join`] returns the value.
//!   The report is made by a panic hook, so a panic that `catch_unwind` would catch is a bug as well.
//! - On `wasm32-unknown-unknown` and `wasm32-wasip1`, `thread_local!` is shared by all workers, and
//!   the locks of `std::sync` panic instead of blocking. Use [`sync`] there.
//!
//! # Outside of wasm
//! On any other target, `cargo test` runs a test on threads of the operating system, once, or as often as the
//! variable `COYOTE_ROUNDS` says. Nothing is explored: the operating system schedules, values are random, no fault
//! happens. A test fails if a worker panics, if all workers wait for objects of this crate (a deadlock), or if a
//! monitor is hot at the end. Time is that of the clock, but when all workers wait, it leaps to the next timeout.
//!
//! - [`thread`]: starting workers and waiting for them.
//! - [`sync`]: locks, condition variables, semaphores and barriers.
//! - [`task`]: futures that run as workers, with locks and channels for them.
//! - [`actor`]: state machines that send each other events.
//! - [`ThreadUnsafe`]: values that several workers must not use at once.
//! - [`nondet`]: values that the tool chooses.
//! - [`net`]: a network of nodes within the guest, in which the tool can inject faults.
//! - [`fault`]: fault points, where the tool can inject faults.
//! - [`linearize`]: checks that the histories of workers are linearizable.
//! - [`property`]: what must always hold, and sometimes.
//! - [`monitor`]: liveness properties: what must eventually happen.
//! - [`runtime`] and [`point`]: explicit scheduling points and waits for a predicate, for hand-made runtimes.
//! - [`report`]: failures, assumptions, hints, and the log.

pub mod actor;
pub mod fault;
pub mod linearize;
pub mod monitor;
#[cfg(not(target_family = "wasm"))]
mod native;
pub mod net;
pub mod nondet;
pub mod point;
pub mod property;
pub mod report;
pub mod runtime;
pub mod sync;
mod sys;
pub mod task;
pub mod thread;
mod thread_unsafe;
mod worker;

pub use coyote_macros::{recover, setup, test};
pub use property::{Invariant, always, invariant, sometimes};
pub use report::{assume, happens_after, happens_before, hint};
pub use runtime::{Suppressed, interleave, suppress, wait_until};
pub use thread_unsafe::{Reading, ThreadUnsafe, Writing};

/// Functions that the expansion of the SDK's macros calls. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::report::{enter, log};

    /// Runs a test outside of wasm.
    #[cfg(not(target_family = "wasm"))]
    pub fn run(test: fn()) {
        crate::native::run(test, crate::actor::forget_all);
    }
}

use std::time::Duration;

/// Virtual time since the start of the test. Reading it is no scheduling point.
pub fn now() -> Duration {
    Duration::from_nanos(sys::now() as u64)
}
