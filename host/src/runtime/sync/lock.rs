//! What mutexes, rwlocks and semaphores have in common: availability, acquisition, release.
//!
//! Nothing is handed over. Any worker that can go on when a lock is free may take it, waiter or newcomer, and
//! readers may overtake a writer that waits as well as the other way round: POSIX leaves it open, so all
//! of it can happen.

use coyote_strategies::WorkerId;

/// Whether a worker can take something now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Free,
    /// The worker has it already and can take it once more, which no other worker notices.
    Again,
    /// Others have to give it back first.
    Busy,
    /// The call returns this error number: waiting would not help.
    Refused(i32),
}

/// What giving back did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Others may take it now.
    Free,
    /// A reader is gone, others may be left.
    Shared,
    /// The worker still has it, which no other worker notices.
    Still,
    /// Nothing: the call returns this error number.
    Refused(i32),
    /// Nothing: the worker does not have it, which POSIX leaves undefined.
    Misuse,
}

/// A worker that has a lock, and how many times.
pub type Held = (WorkerId, u32);
