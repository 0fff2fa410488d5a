//! Barriers for workers. Same shape as `std::sync::Barrier`.

use super::Place;
use crate::sys;
use std::fmt;

/// A point that a number of workers pass together.
pub struct Barrier {
    /// On the heap: the host knows the count by the address, and the barrier itself may be moved.
    place: Box<Place>,
}

/// The result of [`Barrier::wait`]: whether the worker is the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for exactly one of the workers that passed together.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier for this number of workers. With 0 or 1, each worker passes alone.
    pub fn new(workers: usize) -> Barrier {
        let place = Box::new(Place::new());
        sys::barrier_init(place.address(), workers.max(1) as u32 as i32);
        Barrier { place }
    }

    /// Blocks until all workers have arrived. The barrier can be used again at once.
    pub fn wait(&self) -> BarrierWaitResult {
        BarrierWaitResult(sys::barrier_wait(self.place.address()) != 0)
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        sys::barrier_destroy(self.place.address());
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
