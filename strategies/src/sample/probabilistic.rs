//! A random walk that seldom switches: the last worker continues unless all of `b` coin flips say otherwise.
//!
//! As in Coyote (`probabilistic`, 3 flips by default), a switch has probability 2^-b, and then every enabled
//! worker is equally likely, including the last one. With b = 0 it is the random walk. Finds bugs in which
//! workers run for some steps undisturbed. Fair, as the random walk is.

use super::{random, timeout};
use crate::rng::ChoiceRng;
use crate::{Iteration, Pick, Strategy, View};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Probabilistic {
    flips: u32,
    rng: ChoiceRng,
}

impl Probabilistic {
    /// Switches once in 2^`flips` choices; at most 63.
    pub fn new(flips: u32) -> Probabilistic {
        assert!(flips < 64);
        Probabilistic { flips, rng: ChoiceRng::default() }
    }
}

impl Strategy for Probabilistic {
    fn name(&self) -> String {
        format!("probabilistic:{}", self.flips)
    }

    fn fair(&self) -> bool {
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        match view.current {
            Some(current) if view.can_step(current) && !self.rng.one_in(1 << self.flips) => {
                Some(Pick::Step(current))
            }
            _ => Some(random::uniform(view, &mut self.rng)),
        }
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
