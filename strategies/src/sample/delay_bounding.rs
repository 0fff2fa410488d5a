//! Random delay bounding (after Emmi, Qadeer and Rakamaric, POPL 2011).
//!
//! Workers run in the order of creation, each until it blocks or ends, and `d` times an iteration the
//! next worker runs instead. A bug that needs d delays of this deterministic schedule is found with
//! probability at least 1 / k^d in a program of k decisions, however many workers there are.
//!
//! As in Coyote the delays fall on decisions drawn uniformly, several of them perhaps on the same one;
//! unlike there, it is always exactly d, the number of decisions comes from a dry run, and a worker
//! that is enabled again does not interrupt the one that runs. Not fair.

use super::change_points::ChangePoints;
use super::round_robin::{after, first_from};
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Iteration, Pick, Profile, Strategy, View, WorkerId};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct DelayBounding {
    delays: u32,
    rng: ChoiceRng,
    points: ChangePoints,
    /// Who runs until it cannot.
    turn: WorkerId,
}

impl DelayBounding {
    /// With so many delays in each iteration.
    pub fn new(delays: u32) -> DelayBounding {
        let (rng, points) = Default::default();
        DelayBounding { delays, rng, points, turn: WorkerId(0) }
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
        let decisions = self.points.decisions(&mut self.rng);
        self.points.draw(self.delays, decisions, &mut self.rng);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.turn = first_from(view.enabled, self.turn);
        if view.enabled.len() > 1 {
            let mut point = self.points.pass();
            while point.is_some() {
                self.turn = first_from(view.enabled, after(self.turn));
                point = self.points.more();
            }
        }
        Some(Pick::Step(self.turn))
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
