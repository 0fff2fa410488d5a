//! Locks, semaphores and channels for tasks, with the meaning of tokio's. Each says how it treats those that wait, and
//! what becomes of an operation whose future is dropped.
//!
//! An operation that need not wait is one step, and so is each part of one that waits: to begin, to be woken, to end.

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
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard};
pub use notify::{Notified, Notify};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};

use std::fmt;

/// A lock could not be taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryLockError(());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("operation would block")
    }
}

impl std::error::Error for TryLockError {}
