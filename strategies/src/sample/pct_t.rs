//! PCT with priorities for chains of tasks instead of workers (PCT-t: Deligiannis et al., TACAS 2023;
//! after PCTCP: Ozkan et al., OOPSLA 2018).
//!
//! In a program of tasks and messages many workers are short, and most of them only continue what others
//! began: with a priority for each worker, PCT would be a random walk. A new worker begins a new chain. A
//! worker that waits and is woken joins the chain of the worker that completed what it waited for, and then
//! has its priority. With w chains instead of n workers, a bug of depth d is found with probability at least
//! 1 / (w k^(d-1)), as long as each chain is sequential.
//!
//! As in Coyote and unlike in PCTCP, a chain can contain workers that run at the same time (the waker
//! continues too); each of these is equally likely. For programs whose workers never wake each other it
//! equals [`super::pct`], whose change points it uses, but for timeouts: in half of the iterations they wait until no
//! worker is enabled, for as many steps as an execution has. A program of tasks often sleeps until all of them wait, and
//! only who waits can be woken and continue a chain.

use super::change_points::ChangePoints;
use super::priorities::Priorities;
use super::timeout::Patience;
use crate::rng::ChoiceRng;
use crate::{Event, Iteration, Operation, Pick, Profile, Strategy, View, WorkerId};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct PctT {
    depth: u32,
    rng: ChoiceRng,
    /// Chain of each worker. Chains have the number of the worker that began them.
    chains: Vec<u32>,
    /// By chain.
    priorities: Priorities,
    points: ChangePoints,
    /// Steps of the profiling run, if there was one.
    steps: Option<u64>,
    patience: Patience,
}

impl PctT {
    /// Searches for bugs of this depth, which is at least 1.
    pub fn new(depth: u32) -> PctT {
        assert!(depth > 0);
        let (rng, chains, priorities, points, patience) = Default::default();
        PctT { depth, rng, chains, priorities, points, steps: None, patience }
    }

    fn cover(&mut self, count: usize) {
        self.chains.extend(self.chains.len() as u32..count as u32);
    }

    fn chain(&self, worker: WorkerId) -> usize {
        self.chains[worker.index()] as usize
    }

    /// The enabled chain with the highest priority, and how many of its workers are enabled.
    fn highest(&self, enabled: &[WorkerId]) -> (usize, u64) {
        let (mut best, mut members) = (self.chain(enabled[0]), 1);
        for worker in &enabled[1..] {
            let chain = self.chain(*worker);
            if chain == best {
                members += 1;
            } else if self.priorities.of(chain) > self.priorities.of(best) {
                (best, members) = (chain, 1);
            }
        }
        (best, members)
    }
}

impl Strategy for PctT {
    fn name(&self) -> String {
        format!("pct-t:{}", self.depth)
    }

    fn fair(&self) -> bool {
        false
    }

    fn timeouts_from(&self) -> u64 {
        self.patience.until()
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn prepare(&mut self, profile: &Profile) {
        self.points.prepare(profile);
        self.steps = Some(profile.steps);
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.chains.clear();
        self.priorities.clear();
        let steps = self.points.steps(&mut self.rng);
        self.points.draw_distinct(self.depth - 1, steps, &mut self.rng);
        self.patience = Patience::draw(iteration, self.steps.unwrap_or(steps));
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = self.patience.fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.cover(view.workers.len());
        self.priorities.cover(view.workers.len(), &mut self.rng);
        let (mut chain, mut members) = self.highest(view.enabled);
        if let Some(place) = self.points.pass(view) {
            self.priorities.lower(chain, place);
            (chain, members) = self.highest(view.enabled);
        }
        let nth = if members == 1 { 0 } else { self.rng.below(members) };
        let mut of_chain = view.enabled.iter().filter(|w| self.chain(**w) == chain);
        of_chain.nth(nth as usize).map(|worker| Pick::Step(*worker))
    }

    fn quiet(&self, worker: WorkerId, view: &View, _watched: &mut Vec<(u64, u32)>) -> u64 {
        let count = view.workers.len();
        if !self.priorities.covers(count) || self.chains.len() < count {
            return 0;
        }
        let leads = self.highest(view.enabled) == (self.chain(worker), 1);
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
        if let Event::Woken { by, worker } = event {
            self.cover(by.index().max(worker.index()) + 1);
            self.chains[worker.index()] = self.chains[by.index()];
        }
    }
}
