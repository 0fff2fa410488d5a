//! Several readers or one writer. Same shape as `tokio::sync::RwLock`.
#![allow(unsafe_code)] // The lock guards the cell.

use super::TryLockError;
use super::permits::Permits;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The permits that a writer takes: more than there are tasks.
const ALL: usize = (u32::MAX >> 3) as usize;

/// A value that several tasks can read or one can change, also while they await something else.
///
/// **Fair:** the lock is handed over in the order of the first polls: a reader that arrives after a waiting
/// writer waits behind it, so a task that holds a read lock and asks for another one may wait for itself.
/// **Cancellation:** as with [`Mutex`](super::Mutex).
pub struct RwLock<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through guards: one that writes or several that read.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; `T: Send` because a writer has `&mut T`, `T: Sync` because readers share `&T`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// A free lock.
    #[track_caller]
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { permits: Permits::new(ALL, "rwlock"), value: UnsafeCell::new(value) }
    }

    /// The value of a lock that is no longer shared.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading as soon as it is this task's turn.
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        self.take(1).await;
        RwLockReadGuard { lock: self }
    }

    /// Takes the lock for writing as soon as it is this task's turn.
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.take(ALL).await;
        RwLockWriteGuard { lock: self }
    }

    async fn take(&self, permits: usize) {
        let Ok(()) = self.permits.acquire(permits).await else { unreachable!("nobody closes it") };
    }

    /// Takes the lock for reading if no task writes or waits.
    ///
    /// # Errors
    /// A task does.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.permits.try_acquire(1).map_err(|_| TryLockError(()))?;
        Ok(RwLockReadGuard { lock: self })
    }

    /// Takes the lock for writing if no task reads, writes or waits.
    ///
    /// # Errors
    /// A task does.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.permits.try_acquire(ALL).map_err(|_| TryLockError(()))?;
        Ok(RwLockWriteGuard { lock: self })
    }

    /// The value, without locking: the exclusive borrow proves that no task holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    /// Does not show the value: to lock for it would be a scheduling point.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

/// A lock held for reading; dropping it releases the lock.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// A lock held for writing; dropping it releases the lock.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: nobody writes as long as the guard lives, and `self` is borrowed.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: nobody else has the lock as long as the guard lives, and `self` is borrowed.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `self` is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.permits.release(1);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.permits.release(ALL);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}
