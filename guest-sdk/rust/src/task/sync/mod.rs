//! Locks, semaphores and channels for tasks, with the semantics of tokio's. The documentation of each says in which
//! order it serves waiting tasks (fairness), and what happens if the future of an operation is dropped (cancellation).
//!
//! An operation that does not wait is one step. One that waits has a step to begin, to be woken and to end.

/// The ends of a channel, whose messages are not shown: to look would be a scheduling point.
macro_rules! opaque {
    ($($end:ident)*) => {$(
        impl<T> std::fmt::Debug for $end<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.debug_struct(stringify!($end)).finish_non_exhaustive()
            }
        }
    )*};
}

mod barrier;
pub mod broadcast;
pub mod mpsc;
mod mutex;
mod notify;
pub mod oneshot;
mod permits;
pub(crate) mod queue;
mod rwlock;
mod semaphore;
mod send_error;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard};
pub use notify::{Notified, Notify};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};

use std::fmt;

/// The error of a lock that could not be acquired at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryLockError(());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("operation would block")
    }
}

impl std::error::Error for TryLockError {}
