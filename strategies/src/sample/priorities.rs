//! Random priorities of workers, events or chains.

use crate::WorkerId;
use crate::rng::ChoiceRng;

/// Lowered priorities are below all drawn ones, which have this bit.
const DRAWN: u64 = 1 << 63;

/// Priorities by number. Two drawn ones are equal with probability 2^-63; nothing depends on this.
#[derive(Clone, Debug, Default)]
pub(super) struct Priorities(Vec<u64>);

impl Priorities {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Draws the priorities of all numbers below `count` that have none yet: each position among those drawn
    /// before is equally likely.
    #[inline]
    pub fn cover(&mut self, count: usize, rng: &mut ChoiceRng) {
        while self.0.len() < count {
            self.0.push(DRAWN | rng.below(DRAWN));
        }
    }

    #[inline]
    pub fn redraw(&mut self, which: usize, rng: &mut ChoiceRng) {
        self.0[which] = DRAWN | rng.below(DRAWN);
    }

    /// Draws the priority again, this many times.
    pub fn redraw_times(&mut self, which: usize, times: usize, rng: &mut ChoiceRng) {
        for _ in 0..times {
            self.redraw(which, rng);
        }
    }

    /// Puts it below all that were not lowered, and at `rank` among the lowered ones.
    pub fn lower(&mut self, which: usize, rank: u32) {
        self.0[which] = u64::from(rank);
    }

    #[inline]
    pub fn of(&self, which: usize) -> u64 {
        self.0[which]
    }

    /// Whether this many workers have a priority.
    pub fn covers(&self, count: usize) -> bool {
        self.0.len() >= count
    }

    /// Whether all `count` workers have a priority, and this worker has the highest of the enabled ones.
    pub fn leads(&self, worker: WorkerId, enabled: &[WorkerId], count: usize) -> bool {
        self.covers(count) && self.highest(enabled) == worker
    }

    /// How often a worker stays above all `others`, if its priority is drawn again after each time and theirs
    /// do not change; at most `most` times.
    pub fn stays(
        &self,
        worker: WorkerId,
        others: impl Iterator<Item = WorkerId>,
        most: u64,
        rng: &ChoiceRng,
    ) -> u64 {
        let highest = others.map(|w| self.0[w.index()]).max();
        let (Some(highest), mut rng) = (highest, rng.clone()) else { return most };
        let (mut priority, mut times) = (self.0[worker.index()], 0);
        while priority > highest && times < most {
            times += 1;
            priority = DRAWN | rng.below(DRAWN);
        }
        times
    }

    /// The enabled worker with the highest priority; at least one is enabled.
    #[inline]
    pub fn highest(&self, enabled: &[WorkerId]) -> WorkerId {
        let (mut best, mut highest) = (enabled[0], self.0[enabled[0].index()]);
        for worker in &enabled[1..] {
            // Without a branch, which would be mispredicted.
            let priority = self.0[worker.index()];
            best = if priority > highest { *worker } else { best };
            highest = highest.max(priority);
        }
        best
    }
}
