//! Steers towards a deadlock that another execution showed to be possible (DeadlockFuzzer, Joshi et al., PLDI
//! 2009): a worker that reaches one of some places with a lock waits there as long as others are enabled, so
//! that these reach theirs.
//!
//! Otherwise it is a random walk. Deviations from the paper: places also identify workers and locks, since
//! both may differ in another execution; one time in eight no worker waits, so that a place in a loop can be
//! passed.

use super::random::uniform;
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Iteration, Pick, Strategy, View, WorkerId};
use std::collections::BTreeSet;

/// A worker passes a place without waiting there one time in this many.
const PASSES_ONE_IN: u64 = 8;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Steered {
    /// Sites of operations before which workers wait.
    places: BTreeSet<u32>,
    rng: ChoiceRng,
    /// By worker: whether it may pass its present place.
    passes: Vec<Option<bool>>,
}

impl Steered {
    /// Steers towards a state in which workers are at these places.
    pub fn new(places: BTreeSet<u32>) -> Steered {
        Steered { places, ..Steered::default() }
    }

    /// Whether an enabled worker waits for others.
    fn waits(&mut self, view: &View, worker: WorkerId) -> bool {
        if self.passes.len() <= worker.index() {
            self.passes.resize(worker.index() + 1, None);
        }
        let passes = &mut self.passes[worker.index()];
        if !self.places.contains(&view.workers[worker.index()].operation.site) {
            *passes = None;
            return false;
        }
        !*passes.get_or_insert_with(|| self.rng.one_in(PASSES_ONE_IN))
    }
}

impl Strategy for Steered {
    fn name(&self) -> String {
        "steered".into()
    }

    /// A worker that waits for one that spins waits for ever.
    fn fair(&self) -> bool {
        false
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.passes.clear();
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(timeout) = timeout::fires(view, &mut self.rng) {
            return Some(timeout);
        }
        let enabled: Vec<WorkerId> =
            view.enabled.iter().copied().filter(|worker| !self.waits(view, *worker)).collect();
        let pick = match enabled.as_slice() {
            // All wait, so one of them is picked.
            [] => uniform(view, &mut self.rng),
            all => Pick::Step(all[self.rng.below(all.len() as u64) as usize]),
        };
        if let Some(passes) = self.passes.get_mut(pick.worker().index()) {
            *passes = None;
        }
        Some(pick)
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
