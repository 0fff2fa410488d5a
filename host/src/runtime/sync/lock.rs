//! What mutexes, rwlocks and semaphores have in common: availability, acquisition, release.
//!
//! A released lock is not handed over. Any worker that can go on when a lock is free may take it, waiter or
//! newcomer, and readers may overtake a waiting writer as well as the other way round: POSIX leaves this
//! open, so all of these orders are possible.

use coyote_strategies::WorkerId;

/// Whether a worker can take a lock now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Free,
    /// The worker holds it already and can take it once more, which no other worker notices.
    Again,
    /// Other workers must release it first.
    Busy,
    /// The call returns this error number: waiting would not help.
    Refused(i32),
}

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Other workers may take it now.
    Free,
    /// A reader has released it; other readers may be left.
    Shared,
    /// The worker still holds it, which no other worker notices.
    Still,
    /// Nothing changed: the call returns this error number.
    Refused(i32),
    /// Nothing changed: the worker does not hold it, which POSIX leaves undefined.
    Misuse,
}

/// A worker that holds a lock, and how many times.
pub type Held = (WorkerId, u32);
