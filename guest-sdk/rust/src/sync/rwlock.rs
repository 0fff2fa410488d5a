//! Several readers or one writer. Same shape as `std::sync::RwLock`, without poisoning.
#![allow(unsafe_code)] // The lock guards the cell.

use super::Place;
use crate::sys;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A value that several workers can read or one can change.
///
/// Neither readers nor writers have priority: a reader may get the lock while a writer waits. A worker
/// may hold several read locks. A worker that asks to write while it holds the lock, or to read while it
/// writes, would wait for itself: that fails the test.
pub struct RwLock<T: ?Sized> {
    place: Place,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard, and the host gives the lock to one writer or to readers.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; `T: Send` because a writer has `&mut T`, `T: Sync` because readers share `&T`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// A free lock.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { place: Place::new(), value: UnsafeCell::new(value) }
    }

    /// The value of a lock that is no longer shared.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Blocks until no worker writes, and takes the lock for reading.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let error = sys::rwlock_read(self.place.address(), sys::FOREVER);
        assert!(error == 0, "a worker that writes wants to read under the same lock");
        RwLockReadGuard { lock: self, not_send: PhantomData }
    }

    /// Takes the lock for reading if no worker writes.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let locked = sys::rwlock_try_read(self.place.address()) == 0;
        locked.then(|| RwLockReadGuard { lock: self, not_send: PhantomData })
    }

    /// Blocks until the lock is free, and takes it for writing.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let error = sys::rwlock_write(self.place.address(), sys::FOREVER);
        assert!(error == 0, "a worker that writes wants to write again");
        RwLockWriteGuard { lock: self, not_send: PhantomData }
    }

    /// Takes the lock for writing if it is free.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let locked = sys::rwlock_try_write(self.place.address()) == 0;
        locked.then(|| RwLockWriteGuard { lock: self, not_send: PhantomData })
    }

    /// The value, without locking: the exclusive borrow proves that no worker holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    /// Does not show the value: to lock for it would be a scheduling point.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

/// A lock held for reading; dropping it releases the lock. It stays in the worker that took it.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// The host reports an unlock by another worker as a bug.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: nobody writes as long as the guard lives, and `self` is borrowed.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        sys::rwlock_unlock(self.lock.place.address());
    }
}

/// A lock held for writing; dropping it releases the lock. It stays in the worker that took it.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// As in a read guard.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this worker alone has the lock as long as the guard lives, and `self` is borrowed.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `self` is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        sys::rwlock_unlock(self.lock.place.address());
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
