//! Random priorities of workers, events or chains.

use crate::WorkerId;
use crate::rng::ChoiceRng;

/// Those that were lowered are below all that were drawn.
const DRAWN: u64 = 1 << 63;

/// By number. Two drawn priorities are equal with probability 2^-63, which nothing depends on.
#[derive(Clone, Debug, Default)]
pub(super) struct Priorities(Vec<u64>);

impl Priorities {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Draws the priorities of all below `count` that have none yet: each is equally likely to come
    /// anywhere among those drawn before.
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

    /// Draws it anew for each of so many times.
    pub fn redraw_times(&mut self, which: usize, times: usize, rng: &mut ChoiceRng) {
        for _ in 0..times {
            self.redraw(which, rng);
        }
    }

    /// Puts it below all that were not lowered, and at `rank` among those that were.
    pub fn lower(&mut self, which: usize, rank: u32) {
        self.0[which] = u64::from(rank);
    }

    #[inline]
    pub fn of(&self, which: usize) -> u64 {
        self.0[which]
    }

    /// Whether all of so many workers have a priority.
    pub fn covers(&self, count: usize) -> bool {
        self.0.len() >= count
    }

    /// Whether all workers, `count` in number, have a priority, and this one that of the highest among those enabled.
    pub fn leads(&self, worker: WorkerId, enabled: &[WorkerId], count: usize) -> bool {
        self.covers(count) && self.highest(enabled) == worker
    }

    /// How often a worker stays above all others, if its priority is drawn anew after each time; at most `most`
    /// times. None of the others' changes.
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

    /// The worker of the highest priority; at least one is enabled.
    #[inline]
    pub fn highest(&self, enabled: &[WorkerId]) -> WorkerId {
        let (mut best, mut highest) = (enabled[0], self.0[enabled[0].index()]);
        for worker in &enabled[1..] {
            // Without a branch: who is highest cannot be predicted.
            let priority = self.0[worker.index()];
            best = if priority > highest { *worker } else { best };
            highest = highest.max(priority);
        }
        best
    }
}
