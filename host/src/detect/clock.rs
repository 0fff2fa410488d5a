//! Vector clocks: how much of each worker happened before an event.

use crate::observe::Join;
use coyote_strategies::WorkerId;
use smallvec::SmallVec;

/// For each worker, the number of its epochs that are known; 0 for a worker that is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clock(SmallVec<[u32; 8]>);

impl Clock {
    #[inline]
    pub fn of(&self, worker: WorkerId) -> u32 {
        self.0.get(worker.index()).copied().unwrap_or(0)
    }

    /// Begins the worker's next epoch.
    pub fn advance(&mut self, worker: WorkerId) {
        if self.0.len() <= worker.index() {
            self.0.resize(worker.index() + 1, 0);
        }
        self.0[worker.index()] += 1;
    }
}

impl Join for Clock {
    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }
}
