//! The remaining work of each worker, as counted in a profiling run.

use crate::profile::with_descendants;
use crate::rng::ChoiceRng;
use crate::{Event, Paths, WorkerId, WorkerPath};
use std::collections::BTreeMap;

/// By worker, including the work of its future descendants.
#[derive(Clone, Debug, Default)]
pub(super) struct Weights {
    paths: Paths,
    left: Vec<u64>,
}

impl Weights {
    pub fn restart(&mut self, counts: &BTreeMap<WorkerPath, u64>) {
        self.paths.reset();
        self.left.clear();
        self.left.push(with_descendants(counts, &WorkerPath::default()));
    }

    /// Adds workers that no worker created. Their paths are children of the first one's, so their counts are
    /// subtracted from its.
    pub fn cover(&mut self, count: usize, counts: &BTreeMap<WorkerPath, u64>) {
        while self.left.len() < count {
            let path = self.paths.path(WorkerId(self.left.len() as u32));
            let own = with_descendants(counts, &path);
            self.left[0] = self.left[0].saturating_sub(own);
            self.left.push(own);
        }
    }

    /// Whether this many workers are known.
    pub fn covers(&self, count: usize) -> bool {
        self.left.len() >= count
    }

    /// Moves the child's share from its parent's count to its own, and returns it.
    pub fn spawned(&mut self, event: Event, counts: &BTreeMap<WorkerPath, u64>) -> u64 {
        let Event::Spawned { parent, child } = event else { return 0 };
        self.cover(child.index(), counts);
        self.paths.observe(event);
        let share = with_descendants(counts, &self.paths.path(child));
        let parents = &mut self.left[parent.index()];
        *parents = parents.saturating_sub(share);
        self.left.push(share);
        share
    }

    pub fn done(&mut self, worker: WorkerId) {
        let left = &mut self.left[worker.index()];
        *left = left.saturating_sub(1);
    }

    pub fn of(&self, worker: WorkerId) -> u64 {
        self.left[worker.index()]
    }
}

/// Draws a worker in proportion to the weights; `None` if all are 0.
pub(super) fn draw(
    among: impl Iterator<Item = WorkerId> + Clone,
    weight: impl Fn(WorkerId) -> u64,
    rng: &mut ChoiceRng,
) -> Option<WorkerId> {
    let sum: u64 = among.clone().map(&weight).sum();
    if sum == 0 {
        return None;
    }
    let mut at = rng.below(sum);
    for worker in among {
        match at.checked_sub(weight(worker)) {
            Some(rest) => at = rest,
            None => return Some(worker),
        }
    }
    None
}
