//! Random delay bounding (after Emmi, Qadeer and Rakamaric, POPL 2011).
//!
//! Workers run in the order of creation, each until it blocks or ends, and `d` times an iteration the
//! next worker runs instead. A bug that needs d delays of this deterministic schedule is found with
//! probability at least 1 / k^d in a program of k steps, however many workers there are.
//!
//! As in Coyote the delays are at steps drawn uniformly, possibly several at the same one, and a delay waits
//! until there is a choice. Unlike in Coyote, there are always exactly d delays, the number of steps comes
//! from a profiling run (see `change_points.rs`), and a worker that is enabled again does not interrupt the
//! running one. Not fair.

use super::change_points::ChangePoints;
use super::round_robin::{after, first_from};
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Operation, Pick, Profile, Strategy, View, WorkerId};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct DelayBounding {
    delays: u32,
    rng: ChoiceRng,
    points: ChangePoints,
    /// The worker that runs as long as it is enabled.
    turn: WorkerId,
    /// Delays whose step has passed without a choice.
    owed: u32,
}

impl DelayBounding {
    /// Makes `delays` delays in each iteration.
    pub fn new(delays: u32) -> DelayBounding {
        let (rng, points) = Default::default();
        DelayBounding { delays, rng, points, turn: WorkerId(0), owed: 0 }
    }
}

impl Strategy for DelayBounding {
    fn name(&self) -> String {
        format!("delay:{}", self.delays)
    }

    fn fair(&self) -> bool {
        false
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn prepare(&mut self, profile: &Profile) {
        self.points.prepare(profile);
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.turn = WorkerId(0);
        self.owed = 0;
        let steps = self.points.steps(&mut self.rng);
        self.points.draw(self.delays, steps, &mut self.rng);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.turn = first_from(view.enabled, self.turn);
        let mut point = self.points.pass(view);
        while point.is_some() {
            self.owed += 1;
            point = self.points.more();
        }
        while self.owed > 0 && view.enabled.len() > 1 {
            self.turn = first_from(view.enabled, after(self.turn));
            self.owed -= 1;
        }
        Some(Pick::Step(self.turn))
    }

    fn quiet(&self, worker: WorkerId, view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        if self.turn == worker && self.owed == 0 { self.points.ahead(view) } else { 0 }
    }

    fn goes_on(&mut self, _worker: WorkerId, operations: &[Operation], view: &View) -> bool {
        self.points.skip(operations.len() as u64, view);
        true
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }

    fn observe(&mut self, event: Event) {
        self.points.observe(event);
    }
}
