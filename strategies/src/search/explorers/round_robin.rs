//! Round robin, and its probabilistic form.

use super::{Explorer, turns::Turns};
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Pick, View, WorkerId};

/// Cycles through the workers in the order of their creation: a worker continues until it blocks, ends or is
/// delayed. Good for bugs that need few preemptions.
///
/// In the probabilistic form, a new worker is inserted at a random place instead of last, so that the
/// creation order, which is the same in all strata, is not preferred. The generator is part of the state, so
/// that an execution depends only on its seed and its delays.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    turns: Turns,
    rng: Option<ChoiceRng>,
}

impl RoundRobin {
    /// The probabilistic form, whose random places depend on `seed` alone.
    pub fn probabilistic(seed: u64) -> RoundRobin {
        RoundRobin { rng: Some(ChoiceRng::new(Iteration { seed, index: 0 })), ..RoundRobin::default() }
    }

    fn settle(&mut self, view: &View) {
        for worker in self.turns.settle(view) {
            // Timeouts stay last.
            let last = self.turns.workers().count() as u64;
            let at = self.rng.as_mut().map_or(last, |rng| rng.below(last + 1));
            self.turns.insert(WorkerId(worker), at as usize);
        }
    }
}

impl Explorer for RoundRobin {
    fn name(&self) -> String {
        let name = if self.rng.is_some() { "probabilistic-round-robin" } else { "round-robin" };
        name.into()
    }

    fn begin(&mut self, view: &View) {
        self.turns.begin();
        self.settle(view);
    }

    fn next(&self, view: &View) -> Option<Pick> {
        self.turns.next(view)
    }

    fn step(&mut self, pick: Pick, _events: &[Event], view: &View) {
        if let Pick::Step(worker) = pick {
            self.turns.turn_to(worker);
        }
        self.settle(view);
    }

    fn delay(&mut self, view: &View) {
        self.turns.delay(view);
    }
}
