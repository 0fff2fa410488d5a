//! A lock whose guard may be kept over an `await`. Same shape as `tokio::sync::Mutex`.
#![allow(unsafe_code)] // The lock guards the cell.

use super::TryLockError;
use super::permits::Permits;
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that one task at a time can use, also while it awaits something else.
///
/// **Fair:** the lock is handed over in the order of the first polls; nobody overtakes. **Cancellation:** a
/// future of [`Mutex::lock`] that is dropped loses its place, and gives back the lock if it was given it.
pub struct Mutex<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard, of which there is one at a time.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above; `T: Send` because a guard hands out `&mut T` in any task.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[track_caller]
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { permits: Permits::new(1, "mutex"), value: UnsafeCell::new(value) }
    }

    /// The value of a mutex that is no longer shared.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock as soon as it is this task's turn.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.take().await;
        MutexGuard { mutex: self }
    }

    /// As [`Mutex::lock`], with a guard that keeps the mutex.
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.take().await;
        OwnedMutexGuard { mutex: self }
    }

    async fn take(&self) {
        let Ok(()) = self.permits.acquire(1).await else { unreachable!("nobody closes it") };
    }

    /// Takes the lock if it is free and no task waits.
    ///
    /// # Errors
    /// The lock is held, or a task waits for it.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.permits.try_acquire(1).map_err(|_| TryLockError(()))?;
        Ok(MutexGuard { mutex: self })
    }

    /// The value, without locking: the exclusive borrow proves that no task holds the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    /// Does not show the value: to lock for it would be a scheduling point.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// A held lock; dropping it releases the lock.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
}

/// A held lock that keeps its mutex; dropping it releases the lock.
#[must_use = "the lock is released at once if its guard is not kept"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

macro_rules! guard {
    ($guard:ty, $($generics:tt)*) => {
        impl<$($generics)*> Deref for $guard {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: nobody else has a guard as long as this one lives, and `self` is borrowed.
                unsafe { &*self.mutex.value.get() }
            }
        }

        impl<$($generics)*> DerefMut for $guard {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: as in `deref`; `self` is borrowed exclusively.
                unsafe { &mut *self.mutex.value.get() }
            }
        }

        impl<$($generics)*> Drop for $guard {
            fn drop(&mut self) {
                self.mutex.permits.release(1);
            }
        }
    };
}

guard!(MutexGuard<'_, T>, T: ?Sized);
guard!(OwnedMutexGuard<T>, T: ?Sized);

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}
