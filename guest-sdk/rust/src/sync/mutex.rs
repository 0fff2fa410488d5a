//! Mutual exclusion. Same shape as `std::sync::Mutex`, without poisoning.
#![allow(unsafe_code)] // The lock guards the cell.

use super::Place;
use crate::sys;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A value that one worker at a time can use.
///
/// There is no poisoning: a panic of a holder ends the iteration as a bug, so no worker ever finds a
/// poisoned lock. Locking it twice in one worker is a deadlock.
pub struct Mutex<T: ?Sized> {
    place: Place,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard, and the host gives the lock to one worker at a time.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above; `T: Send` because a guard hands out `&mut T` in any worker.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { place: Place::new(), value: UnsafeCell::new(value) }
    }

    /// The value of a mutex that is no longer shared.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Blocks until the lock is free and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        sys::mutex_lock(self.place.address(), sys::FOREVER);
        MutexGuard { mutex: self, not_send: PhantomData }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        // A guard exists only if the lock was taken: the end of any guard unlocks.
        match sys::mutex_try_lock(self.place.address()) {
            0 => Some(MutexGuard { mutex: self, not_send: PhantomData }),
            _ => None,
        }
    }

    /// The value, without locking: the exclusive borrow proves that no worker holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    /// Does not show the value: to lock for it would be a scheduling point.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// A held lock; dropping it releases the lock. It stays in the worker that took it.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// The host reports an unlock by another worker as a bug.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// The address by which the host knows the lock.
    pub(super) fn address(&self) -> i32 {
        self.mutex.place.address()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this worker holds the lock as long as the guard lives, and `self` is borrowed.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `self` is borrowed exclusively.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        sys::mutex_unlock(self.address());
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}
