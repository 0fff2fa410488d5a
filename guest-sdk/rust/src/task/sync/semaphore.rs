//! A semaphore for tasks. Same shape as `tokio::sync::Semaphore`.

use super::permits::{Permits, Refused};
use std::fmt;
use std::sync::Arc;

/// Permits that tasks take and give back.
///
/// **Fair:** waiting tasks get permits in the order of the first polls, even if a task that asks for many
/// makes those behind it wait that ask for few. Permits that become free are the first waiter's, also if it needs more.
/// **Cancellation:** a future that is dropped loses its place, and gives back what it was given. **Close:** a waiter fails
/// unless it was given its permits and polled before.
pub struct Semaphore {
    permits: Permits,
}

/// The error of a semaphore that was closed: it hands out no more permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireError(());

/// The error of [`Semaphore::try_acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few, or others wait for them.
    NoPermits,
}

impl Semaphore {
    /// A semaphore with this number of permits.
    #[track_caller]
    pub const fn new(permits: usize) -> Semaphore {
        Semaphore { permits: Permits::new(permits, "semaphore") }
    }

    /// Takes a permit as soon as there is one.
    ///
    /// # Errors
    /// The semaphore is closed.
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_many(1).await
    }

    /// Takes this number of permits as soon as there are enough. To take none need not wait.
    ///
    /// # Errors
    /// The semaphore is closed.
    pub async fn acquire_many(&self, permits: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let permits = permits as usize;
        self.permits.acquire(permits).await.map_err(|_| AcquireError(()))?;
        Ok(SemaphorePermit { semaphore: self, permits })
    }

    /// As [`Semaphore::acquire`], with a permit that keeps the semaphore.
    ///
    /// # Errors
    /// The semaphore is closed.
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire(1).await.map_err(|_| AcquireError(()))?;
        Ok(OwnedSemaphorePermit { semaphore: self, permits: 1 })
    }

    /// Takes a permit if there is one and no task waits.
    ///
    /// # Errors
    /// There is none, or the semaphore is closed.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        match self.permits.try_acquire(1) {
            Ok(()) => Ok(SemaphorePermit { semaphore: self, permits: 1 }),
            Err(Refused::Closed) => Err(TryAcquireError::Closed),
            Err(Refused::None) => Err(TryAcquireError::NoPermits),
        }
    }

    /// Adds permits.
    ///
    /// # Panics
    /// If the new number does not fit into a `usize`.
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        self.permits.release(permits);
    }

    /// Removes at most this number of free permits, and returns how many. None are free while a task waits.
    pub fn forget_permits(&self, permits: usize) -> usize {
        self.permits.forget(permits)
    }

    /// The number of permits that are free at this moment.
    pub fn available_permits(&self) -> usize {
        self.permits.free()
    }

    /// Closes the semaphore: waiting and later requests for permits fail, also of tasks that were given permits and have
    /// not been polled since.
    pub fn close(&self) {
        self.permits.close();
    }

    /// Whether the semaphore is closed.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}

/// Permits that are given back when this is dropped.
#[must_use = "the permit is given back at once if it is not kept"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl SemaphorePermit<'_> {
    /// Never gives the permits back.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// The number of permits.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        if self.permits > 0 {
            self.semaphore.add_permits(self.permits);
        }
    }
}

/// A permit that keeps its semaphore, and is given back when this is dropped.
#[must_use = "the permit is given back at once if it is not kept"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl OwnedSemaphorePermit {
    /// Never gives the permit back.
    pub fn forget(mut self) {
        self.permits = 0;
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        if self.permits > 0 {
            self.semaphore.add_permits(self.permits);
        }
    }
}

impl fmt::Debug for Semaphore {
    /// Does not show the permits: reading them would be a scheduling point.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("SemaphorePermit").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl fmt::Debug for OwnedSemaphorePermit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("OwnedSemaphorePermit").field("permits", &self.permits).finish_non_exhaustive()
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl std::error::Error for AcquireError {}
impl std::error::Error for TryAcquireError {}
