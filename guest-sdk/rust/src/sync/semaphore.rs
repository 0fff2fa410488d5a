//! A counting semaphore for workers. std has none; the shape is that of POSIX.

use super::Place;
use crate::sys;
use std::fmt;
use std::time::Duration;

/// A number of permits. A worker that takes one when there is none waits until one is added.
///
/// An added permit is not handed over to a particular worker: any waiter or newcomer may take it.
pub struct Semaphore {
    /// On the heap: the host knows the value by the address, and the semaphore itself may be moved.
    place: Box<Place>,
}

impl Semaphore {
    /// A semaphore with this number of permits, at most 2^31 - 1.
    #[track_caller]
    pub fn new(permits: u32) -> Semaphore {
        let place = Box::new(Place::new());
        let error = sys::semaphore_init(place.address(), permits as i32);
        assert!(error == 0, "a semaphore of {permits} permits: it can have 2147483647");
        Semaphore { place }
    }

    /// The address by which the host knows it.
    pub(crate) fn address(&self) -> i32 {
        self.place.address()
    }

    /// Blocks until there is a permit, and takes it.
    pub fn acquire(&self) {
        sys::semaphore_wait(self.place.address(), sys::FOREVER);
    }

    /// Takes a permit if there is one. Returns whether there was.
    #[must_use = "there may have been no permit"]
    pub fn try_acquire(&self) -> bool {
        sys::semaphore_try_wait(self.place.address()) == 0
    }

    /// Blocks for a permit for a span of virtual time at most. Returns whether it took one.
    #[must_use = "the time may have been up"]
    pub fn acquire_timeout(&self, span: Duration) -> bool {
        sys::semaphore_wait(self.place.address(), sys::span_ns(span)) == 0
    }

    /// Adds a permit.
    #[track_caller]
    pub fn release(&self) {
        let error = sys::semaphore_post(self.place.address());
        assert!(error == 0, "a semaphore has 2147483647 permits already");
    }

    /// The number of permits at this moment.
    pub fn permits(&self) -> u32 {
        sys::semaphore_value(self.place.address()) as u32
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        sys::semaphore_destroy(self.place.address());
    }
}

impl fmt::Debug for Semaphore {
    /// Does not show the permits: reading them would be a scheduling point.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}
