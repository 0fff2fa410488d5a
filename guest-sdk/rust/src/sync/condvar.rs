//! Waiting for a condition. Same shape as `std::sync::Condvar`, without poisoning.

use super::{MutexGuard, Place};
use crate::sys;
use std::fmt;
use std::time::Duration;

/// A condition variable: workers wait for it until another worker notifies it.
///
/// A notification without a waiter is lost. Which waiter [`Condvar::notify_one`] wakes is a
/// choice of the tool's: code that relies on their order is wrong on every platform.
pub struct Condvar {
    place: Place,
}

/// The result of [`Condvar::wait_timeout`]: whether the wait timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out before a notification came.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable without waiters.
    pub const fn new() -> Condvar {
        Condvar { place: Place::new() }
    }

    /// Releases the lock, waits for a notification, and takes the lock again. The condition may no
    /// longer hold by then: wait in a loop, or use [`Condvar::wait_while`].
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        sys::condvar_wait(self.place.address(), guard.address(), sys::FOREVER);
        guard
    }

    /// Waits as long as the condition is true.
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// As [`Condvar::wait`], for a span of virtual time at most. When the time is up is a choice of
    /// the tool's as well: the wait may time out although a notification is on its way.
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        span: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let error = sys::condvar_wait(self.place.address(), guard.address(), sys::span_ns(span));
        (guard, WaitTimeoutResult(error != 0))
    }

    /// Wakes one waiter, if any.
    pub fn notify_one(&self) {
        sys::condvar_signal(self.place.address());
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        sys::condvar_broadcast(self.place.address());
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
