//! Locks, condition variables, semaphores and barriers that the tool schedules.
//!
//! The tool identifies an object by its address, and keeps its state outside of the guest's memory. So
//! an object may be moved or freed only while no worker holds it or waits for it; the borrow checker
//! ensures that, unless a guard is leaked with `mem::forget`.
//!
//! The types rule out what is misuse in C: an object is initialised as long as it exists, a guard stays with the worker
//! that locked, and a worker is joined once. Waiting for one condvar with guards of two mutexes is not ruled out, and is a
//! bug of the kind `misuse`.
//!
//! A released lock is not handed over to a particular worker: any waiter or newcomer may take it.

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
