//! The random walk: every enabled worker is equally likely at every choice.
//!
//! Finds bugs that need few specific choices among many harmless ones. It practically never finds a bug that
//! needs one worker to run far ahead of the others. Fair: the probability that an enabled worker is passed
//! over n times falls exponentially in n.

use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Iteration, Operation, Pick, Strategy, View, WorkerId};

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct RandomWalk {
    rng: ChoiceRng,
}

/// Picks one of the enabled workers, each with the same probability.
#[inline]
pub(super) fn uniform(view: &View, rng: &mut ChoiceRng) -> Pick {
    let n = view.enabled.len();
    let i = if n == 1 { 0 } else { rng.below(n as u64) as usize };
    Pick::Step(view.enabled[i])
}

impl Strategy for RandomWalk {
    fn name(&self) -> String {
        "random".into()
    }

    fn fair(&self) -> bool {
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
    }

    #[inline]
    fn pick(&mut self, view: &View) -> Option<Pick> {
        timeout::fires(view, &mut self.rng).or_else(|| Some(uniform(view, &mut self.rng)))
    }

    /// It draws at every choice.
    #[inline]
    fn quiet(&self, _worker: WorkerId, view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        if view.enabled.len() == 1 { u64::MAX } else { 0 }
    }

    fn goes_on(&mut self, _worker: WorkerId, _operations: &[Operation], _view: &View) -> bool {
        // The worker is the only enabled one, so nothing is drawn.
        true
    }

    #[inline]
    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
