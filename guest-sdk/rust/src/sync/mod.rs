//! Locks, condition variables, semaphores and barriers that the tool schedules.
//!
//! An object is known to the tool by its address, and its state lives outside of the guest's memory.
//! So an object may be moved or freed while nobody holds it or waits for it, and not otherwise; the
//! borrow checker sees to that unless a guard is leaked with `mem::forget`.
//!
//! A lock that is released is not handed over: whoever comes first takes it, waiter or newcomer.

mod barrier;
mod condvar;
pub mod futex;
mod mutex;
mod rwlock;
mod semaphore;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use semaphore::Semaphore;

use crate::sys;
use std::sync::atomic::AtomicU8;

/// The place whose address identifies a sync object. It is never read or written: its type only has
/// to have a size, and interior mutability, so that the compiler does not merge two of them.
struct Place(AtomicU8);

impl Place {
    const fn new() -> Place {
        Place(AtomicU8::new(0))
    }

    fn address(&self) -> i32 {
        sys::address(&self.0)
    }
}
