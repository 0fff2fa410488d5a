//! Partial order sampling (Yuan, Yang and Gu, CAV 2018).
//!
//! Every pending operation has a random priority, the enabled one with the highest priority is executed, and
//! the priorities of all pending operations that race with it are drawn again. The random walk prefers
//! partial orders that many schedules have; POS spreads over partial orders much more evenly. Without
//! redrawing (`basic-pos`, the paper's baseline), the loser of one race is a likely loser of the next.
//!
//! Races are taken from announcements: overlapping memory with at least one write, or the same sync object.
//! Not fair: a worker waits for ever with probability zero, but the expected wait has no bound.

use super::priorities::Priorities;
use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Iteration, Operation, Pending, Pick, Strategy, View, WorkerId};

/// Limits of memory that is watched for a few steps.
const WATCHED_MAX: usize = 16;
const WATCHED_BYTES_MAX: u32 = 64;
/// How many draws are predicted.
pub(super) const LOOK_AHEAD: u64 = 64;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Pos {
    redraws: bool,
    rng: ChoiceRng,
    /// Priorities of pending operations, by worker.
    priorities: Priorities,
}

impl Pos {
    /// The paper's algorithm, `pos`.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Pos {
        let (rng, priorities) = Default::default();
        Pos { redraws: true, rng, priorities }
    }

    /// The baseline `basic-pos`, which does not redraw the priorities of races.
    pub fn basic() -> Pos {
        Pos { redraws: false, ..Pos::new() }
    }

    /// Draws priorities again for those of at most 64 workers, from number `first` on, that race with the
    /// operation that `own` executed.
    #[inline]
    fn redraw_races(&mut self, executed: &Operation, workers: &[Pending], first: usize, own: usize) {
        // Few operations overlap: this is tested for all without a branch; whether they race is tested for
        // those only.
        let meets = |i: usize| executed.overlaps(&workers[i].operation) & (first + i != own);
        let mut all = (0..workers.len()).fold(0u64, |all, i| all | u64::from(meets(i)) << i);
        while all != 0 {
            let i = all.trailing_zeros() as usize;
            if executed.dependent(&workers[i].operation) {
                self.priorities.redraw(first + i, &mut self.rng);
            }
            all &= all - 1;
        }
    }
}

impl Strategy for Pos {
    fn name(&self) -> String {
        if self.redraws { "pos" } else { "basic-pos" }.into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.priorities.clear();
    }

    #[inline]
    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.priorities.cover(view.workers.len(), &mut self.rng);
        let worker = self.priorities.highest(view.enabled);
        if self.redraws {
            let executed = &view.workers[worker.index()].operation;
            for (i, workers) in view.workers.chunks(64).enumerate() {
                self.redraw_races(executed, workers, i * 64, worker.index());
            }
        }
        // The priority of the worker's next operation.
        self.priorities.redraw(worker.index(), &mut self.rng);
        Some(Pick::Step(worker))
    }

    fn quiet(&self, worker: WorkerId, view: &View, watched: &mut Vec<(u64, u32)>) -> u64 {
        if !self.priorities.leads(worker, view.enabled, view.workers.len()) {
            return 0;
        }
        let others = |w: &WorkerId| *w != worker;
        if self.redraws {
            // A worker that races with a step gets another priority.
            let all = view.workers.iter().enumerate().filter(|(i, _)| others(&WorkerId(*i as u32)));
            let pending = all.map(|(_, pending)| &pending.operation).filter(|o| o.kind.accesses_memory());
            watched.extend(pending.map(|operation| (operation.object, operation.size)));
            if watched.len() > WATCHED_MAX || watched.iter().any(|(_, bytes)| *bytes > WATCHED_BYTES_MAX) {
                return 0;
            }
        }
        let others = view.enabled.iter().copied().filter(others);
        self.priorities.stays(worker, others, LOOK_AHEAD, &self.rng)
    }

    fn goes_on(&mut self, worker: WorkerId, operations: &[Operation], _view: &View) -> bool {
        self.priorities.redraw_times(worker.index(), operations.len(), &mut self.rng);
        true
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
