//! The uniform random walk (Zhao et al., ASPLOS 2025).
//!
//! The random walk is far from uniform over schedules: a worker with many steps left should be picked more
//! often than one with few. Here the weight of each worker is the number of steps that it and its future
//! descendants have left, as counted in a profiling run. In a program without blocking whose workers always
//! do the same, every schedule is then equally likely. Without a profiling run all weights are 1, which gives
//! the random walk. Fair: weights fall to 1 in the end.

use super::timeout;
use super::weights::{Weights, draw};
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Pick, Profile, Strategy, View, WorkerPath};
use std::collections::BTreeMap;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Urw {
    rng: ChoiceRng,
    weights: Weights,
    steps: BTreeMap<WorkerPath, u64>,
}

impl Strategy for Urw {
    fn name(&self) -> String {
        "urw".into()
    }

    fn fair(&self) -> bool {
        true
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn prepare(&mut self, profile: &Profile) {
        self.steps = profile.workers.clone();
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.weights.restart(&self.steps);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.weights.cover(view.workers.len(), &self.steps);
        let worker = match view.enabled {
            [only] => *only,
            // A worker that has not ended has at least one step left.
            several => {
                let weight = |w| self.weights.of(w).max(1);
                draw(several.iter().copied(), weight, &mut self.rng)?
            }
        };
        self.weights.done(worker);
        Some(Pick::Step(worker))
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }

    fn observe(&mut self, event: Event) {
        self.weights.spawned(event, &self.steps);
    }
}
