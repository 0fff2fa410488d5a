//! What a Rust guest of coyote-wasm links against: tests, workers, locks and choices that the tool
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
//! those inside of `Arc`, into a plain load and a plain store, and the tool would report races of a
//! program that nobody wrote. `wasm32-wasip1-threads` has the feature by itself.
//!
//! # What differs from std
//! - A panic ends the iteration as a bug, wherever it happens. So locks are never poisoned:
//!   [`sync::Mutex::lock`] returns the guard, and [`thread::JoinHandle::join`] returns the value.
//!   The report is made by a panic hook, so a panic that `catch_unwind` would catch is a bug as well.
//! - On `wasm32-unknown-unknown` and `wasm32-wasip1`, `thread_local!` is shared by all workers, and
//!   the locks of `std::sync` panic instead of blocking. Use [`sync`] there.
//!
//! # Outside of wasm
//! On any other target a test is one of `cargo test` and runs on threads of the operating system, once, or as often as
//! the variable `COYOTE_ROUNDS` says. Nothing is explored: the operating system schedules, values are chosen by chance, and
//! no fault happens. A panic of any worker fails the test, and so does a deadlock of workers that all wait for objects of this crate, or a monitor
//! that is hot at the end. Time is that of the clock, unless all workers wait for it: then it leaps.
//!
//! - [`thread`]: starting workers and waiting for them.
//! - [`sync`]: locks, condition variables, semaphores and barriers.
//! - [`task`]: futures that are workers, and what they share.
//! - [`actor`]: state machines that send each other events.
//! - [`ThreadUnsafe`]: what several workers must not use at once.
//! - [`nondet`]: values that the tool chooses.
//! - [`net`]: a network of nodes within the guest, which the tool can disturb.
//! - [`fault`]: points where something may go wrong.
//! - [`linearize`]: whether what workers saw can be explained one operation after the other.
//! - [`monitor`]: what must eventually come about.
//! - [`report`]: what a guest tells the tool.

pub mod actor;
pub mod fault;
pub mod linearize;
pub mod monitor;
#[cfg(not(target_family = "wasm"))]
mod native;
pub mod net;
pub mod nondet;
pub mod report;
pub mod sync;
mod sys;
pub mod task;
pub mod thread;
mod thread_unsafe;
mod worker;

pub use coyote_macros::{recover, setup, test};
pub use report::{assume, happens_after, happens_before, hint};
pub use thread_unsafe::{Reading, ThreadUnsafe, Writing};

/// What the expansion of our macros calls. Not part of the interface.
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
