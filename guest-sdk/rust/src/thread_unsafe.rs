//! Values that several workers must not use at once: see [`ThreadUnsafe`].
#![allow(unsafe_code)] // The value is handed out without a lock.

use crate::report::fail;
use crate::sys;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// A value that is not thread-safe, like most containers of other languages. If the uses of two workers
/// overlap and one of them writes, an assertion fails.
///
/// It is no lock: no worker waits for it, and it does not order accesses, so it hides no data race. The
/// program must ensure that uses do not overlap, for example by a lock; the test checks that it does.
///
/// ```no_run
/// let cache = coyote::ThreadUnsafe::new(Vec::new());
/// cache.write().push(1);
/// assert_eq!(cache.read().len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct ThreadUnsafe<T> {
    /// The number of readers, or -1 - the handle of the worker that writes.
    users: AtomicI32,
    value: UnsafeCell<T>,
}

// SAFETY: a guard is made only while no conflicting guard exists; otherwise the iteration ends.
unsafe impl<T: Send + Sync> Sync for ThreadUnsafe<T> {}

impl<T> ThreadUnsafe<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> ThreadUnsafe<T> {
        ThreadUnsafe { users: AtomicI32::new(0), value: UnsafeCell::new(value) }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Begins a use that only reads, until the guard is dropped.
    pub fn read(&self) -> Reading<'_, T> {
        let mut users = self.users.load(Relaxed);
        loop {
            if users < 0 {
                self.refuse("is read", users);
            }
            match self.users.compare_exchange(users, users + 1, Relaxed, Relaxed) {
                Ok(_) => return Reading(self),
                Err(now) => users = now,
            }
        }
    }

    /// Begins a use that may change the value, until the guard is dropped.
    pub fn write(&self) -> Writing<'_, T> {
        match self.users.compare_exchange(0, -1 - sys::current(), Relaxed, Relaxed) {
            Ok(_) => Writing(self),
            Err(users) => self.refuse("is written", users),
        }
    }

    fn refuse(&self, how: &str, users: i32) -> ! {
        let other = match users {
            own if own == -1 - sys::current() => "the same worker writes it",
            ..0 => "another worker writes it",
            _ => "it is read",
        };
        fail(&format!("`{}`, which is not thread-safe, {how} while {other}", std::any::type_name::<T>()))
    }
}

/// A use of a [`ThreadUnsafe`] value that only reads.
#[derive(Debug)]
pub struct Reading<'a, T>(&'a ThreadUnsafe<T>);

/// A use of a [`ThreadUnsafe`] value that may change it.
#[derive(Debug)]
pub struct Writing<'a, T>(&'a ThreadUnsafe<T>);

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as long as this guard exists, `users` is above 0, and there is no guard to write.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for Reading<'_, T> {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Relaxed);
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as long as this guard exists, `users` is negative, and nobody gets another guard.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        self.0.users.store(0, Relaxed);
    }
}
