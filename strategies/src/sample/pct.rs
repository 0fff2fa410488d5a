//! Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).
//!
//! Every worker gets a random priority, the enabled worker of the highest one runs, and at `d - 1`
//! change points the running worker's priority falls below all others. A bug of depth d (one that d
//! ordering constraints suffice for) in a program of n workers and k steps is found by each
//! iteration with probability at least 1 / (n k^(d-1)).
//!
//! `d` is the paper's depth: with d = 1 there is no change point. Coyote's bound and the d of the Coyote
//! paper (TACAS 2023) count change points and so are smaller by one. Coyote also draws between one and d of
//! them, and none in its first iteration; this implementation always draws exactly d - 1.
//!
//! The change points are distinct and drawn among the k concurrent steps of a profiling run: those made while
//! at least two workers had not ended. Before such a step, the priority of the worker that would make it is
//! lowered; as in the paper, the i-th point *drawn*, not the i-th in time, gives the i-th lowest priority. A
//! yield changes no priority.
//!
//! Not fair: use `fair-pct`, or `+chess-fair` for programs that spin.

use super::change_points::ChangePoints;
use super::priorities::Priorities;
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, OpKind, Operation, Pick, Profile, Strategy, View, WorkerId};

/// A planted mistake, one that other implementations have made: shows that the tests of the distribution can
/// fail.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Change points from a shuffle that draws partners from the whole list.
    BiasedShuffle,
    /// No change points before a first iteration has shown the number of steps.
    FirstWithoutPoints,
    /// The last step is never a change point.
    OffByOne,
    /// Workers keep their priorities between iterations.
    PrioritiesKept,
    /// A yield gives up the worker's priority.
    YieldLowers,
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Pct {
    depth: u32,
    rng: ChoiceRng,
    priorities: Priorities,
    points: ChangePoints,
    mutant: Option<Mutant>,
}

impl Pct {
    /// Searches for bugs of this depth, which is at least 1.
    pub fn new(depth: u32) -> Pct {
        assert!(depth > 0);
        let (rng, priorities, points) = Default::default();
        Pct { depth, rng, priorities, points, mutant: None }
    }

    #[doc(hidden)]
    pub fn with_mutant(depth: u32, mutant: Mutant) -> Pct {
        Pct { mutant: Some(mutant), ..Pct::new(depth) }
    }

    fn draw_mutant(&mut self, mutant: Mutant, iteration: Iteration, steps: u64) {
        let count = self.depth - 1;
        match mutant {
            Mutant::BiasedShuffle => {
                let mut all: Vec<u64> = (0..steps).collect();
                for i in 0..all.len() {
                    all.swap(i, self.rng.below(steps) as usize);
                }
                self.points.set(all.into_iter().take(count as usize));
            }
            Mutant::FirstWithoutPoints if iteration.index == 0 => self.points.set(std::iter::empty()),
            Mutant::OffByOne => self.points.draw_distinct(count, steps.saturating_sub(1), &mut self.rng),
            _ => self.points.draw_distinct(count, steps, &mut self.rng),
        }
    }
}

impl Strategy for Pct {
    fn name(&self) -> String {
        format!("pct:{}", self.depth)
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
        if self.mutant != Some(Mutant::PrioritiesKept) {
            self.priorities.clear();
        }
        let steps = self.points.steps(&mut self.rng);
        match self.mutant {
            None => self.points.draw_distinct(self.depth - 1, steps, &mut self.rng),
            Some(mutant) => self.draw_mutant(mutant, iteration, steps),
        }
    }

    #[inline]
    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.priorities.cover(view.workers.len(), &mut self.rng);
        let mut worker = self.priorities.highest(view.enabled);
        if let Some(place) = self.points.pass(view) {
            self.priorities.lower(worker.index(), place);
            worker = self.priorities.highest(view.enabled);
        }
        if self.mutant == Some(Mutant::YieldLowers)
            && view.workers[worker.index()].operation.kind == OpKind::Yield
        {
            self.priorities.lower(worker.index(), 0);
        }
        Some(Pick::Step(worker))
    }

    fn quiet(&self, worker: WorkerId, view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        let leads = self.mutant.is_none() && self.priorities.leads(worker, view.enabled, view.workers.len());
        if leads { self.points.ahead(view) } else { 0 }
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
