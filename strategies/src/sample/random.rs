//! The random walk: every enabled worker is equally likely at every choice.
//!
//! Finds bugs that need few specific choices among many harmless ones; a bug that needs one worker
//! to run far ahead of the others it practically never finds. Fair: an enabled worker is passed over
//! n times with a probability that falls exponentially in n.

use crate::rng::ChoiceRng;
use crate::{Iteration, Pick, Strategy, View};

/// While other workers can run, a pending timeout fires at one choice in so many. A timeout is meant
/// to be the exception, yet a race against it should come up within some tens of iterations.
const TIMEOUT_ONE_IN: u64 = 16;

#[derive(Clone, Debug)]
pub struct RandomWalk {
    rng: ChoiceRng,
}

impl Default for RandomWalk {
    fn default() -> RandomWalk {
        RandomWalk { rng: ChoiceRng::new(Iteration { seed: 0, index: 0 }) }
    }
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
        if let Some(worker) = view.timeout
            && (view.enabled.is_empty() || self.rng.one_in(TIMEOUT_ONE_IN))
        {
            return Some(Pick::Timeout(worker));
        }
        let n = view.enabled.len();
        let i = if n == 1 { 0 } else { self.rng.below(n as u64) as usize };
        Some(Pick::Step(view.enabled[i]))
    }

    #[inline]
    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
