//! What a hand-made runtime needs: scheduling points, waits, and scopes without scheduling points.
//!
//! ```no_run
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! /// A lock that the tool does not know.
//! struct Lock(AtomicBool);
//!
//! impl Lock {
//!     fn lock(&self) {
//!         coyote::wait_until(|| !self.0.swap(true, Ordering::Acquire));
//!     }
//!     fn unlock(&self) {
//!         self.0.store(false, Ordering::Release);
//!     }
//! }
//! ```

use crate::sys;

/// A scheduling point: another worker may run next. It has no other effect, and says nothing about who should run;
/// [`thread::yield_now`](crate::thread::yield_now) also asks that another worker runs, for loops that wait.
///
/// Every access of memory that other workers may see is a scheduling point anyway: see [`point`](crate::point) for
/// state that is not in memory.
pub fn interleave() {
    sys::interleave();
}

/// Blocks the calling worker until the predicate holds.
///
/// The worker evaluates the predicate, as one step in which no other worker runs. If it is false, the worker is blocked
/// until another worker has changed memory that the evaluation accessed, or has executed a
/// [`point::write`](crate::point::write) of an object of which the predicate executed a
/// [`point::read`](crate::point::read). Then it evaluates again. So nothing spins, and a predicate that nobody makes true
/// is a deadlock.
///
/// Where the predicate holds, it may also change memory, for example take a lock by a compare-exchange: that is part of
/// the same step. Where it does not hold, it must leave everything as it was, since it is not said how often it is
/// evaluated. It must depend on nothing else than memory and read points: not on the time, on chosen values or on
/// `try_lock` of an object of this crate. A predicate that locks a [`Mutex`](crate::sync::Mutex) may depend on what the
/// mutex protects.
///
/// The wait orders no accesses of memory by itself: plain memory that a predicate reads needs a lock or atomics, as
/// everywhere.
///
/// Outside of wasm, the predicate is evaluated again and again.
pub fn wait_until(mut predicate: impl FnMut() -> bool) {
    loop {
        sys::wait_until();
        let holds = predicate();
        sys::evaluated(i32::from(holds));
        if holds {
            return;
        }
    }
}

/// Begins a scope without scheduling points, which ends when the result is dropped. Scopes can be nested.
///
/// The scope begins with a scheduling point. From there to its end, other workers run only while this one is blocked, or
/// when it calls [`thread::yield_now`](crate::thread::yield_now). A program that suppresses scheduling points is explored
/// without the schedules in which other workers run there, so a proof states this as an assumption.
#[must_use = "the scope ends when this is dropped"]
pub fn suppress() -> Suppressed {
    sys::interleave();
    sys::suppress();
    Suppressed(std::marker::PhantomData)
}

/// A scope without scheduling points: see [`suppress`]. It belongs to the worker that began it.
#[derive(Debug)]
pub struct Suppressed(std::marker::PhantomData<*const ()>);

impl Drop for Suppressed {
    fn drop(&mut self) {
        sys::resume();
    }
}
