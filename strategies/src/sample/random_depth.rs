//! Iterative random depth bounding: a growing number of preemptions, at random places.
//!
//! The baseline of the Q-learning paper (Mukherjee et al., OOPSLA 2020), as in P#. A worker runs until it
//! blocks or ends, then any other one; at D steps drawn at random, or at the next choice after each, another
//! worker is picked. D grows: simple bugs are found first, with few switches to read. In P#, D grew when a
//! hundred iterations had seen no new state; here it grows after a fixed number of iterations, from 0 on, so
//! that an iteration depends only on its number. Not fair.

use super::change_points::ChangePoints;
use super::{random, timeout};
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Pick, Profile, Strategy, View};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct RandomDepth {
    /// Iterations at each depth.
    period: u64,
    rng: ChoiceRng,
    points: ChangePoints,
    /// Whether a preemption is due at the next choice.
    owed: bool,
}

impl RandomDepth {
    /// Adds one preemption after each `period` iterations, at least 1.
    pub fn new(period: u64) -> RandomDepth {
        assert!(period > 0);
        RandomDepth { period, rng: ChoiceRng::default(), points: ChangePoints::default(), owed: false }
    }
}

impl Strategy for RandomDepth {
    fn name(&self) -> String {
        format!("random-depth:{}", self.period)
    }

    fn fair(&self) -> bool {
        false
    }

    fn grows(&self) -> bool {
        true
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn prepare(&mut self, profile: &Profile) {
        self.points.prepare(profile);
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.owed = false;
        let steps = self.points.steps(&mut self.rng);
        let depth = (iteration.index / self.period).min(u64::from(u32::MAX)) as u32;
        self.points.draw_distinct(depth.min(1_000), steps, &mut self.rng);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        let several = view.enabled.len() > 1;
        self.owed |= self.points.pass(view).is_some();
        let preempted = several && self.owed;
        self.owed &= !several;
        match view.current {
            Some(current) if view.can_step(current) && !preempted => Some(Pick::Step(current)),
            Some(current) if several && view.can_step(current) => {
                // Any worker other than the current one.
                let nth = self.rng.below(view.enabled.len() as u64 - 1) as usize;
                view.enabled.iter().filter(|w| **w != current).nth(nth).map(|w| Pick::Step(*w))
            }
            _ => Some(random::uniform(view, &mut self.rng)),
        }
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }

    fn observe(&mut self, event: Event) {
        self.points.observe(event);
    }
}
