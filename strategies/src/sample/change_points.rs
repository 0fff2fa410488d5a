//! Steps at which a strategy changes its behaviour, drawn at random before an iteration.
//!
//! Only concurrent steps are counted: those made while at least two workers have not ended. Counting steps
//! with a choice among enabled workers would be wrong: if workers block each other, a random walk has far
//! fewer of them than a schedule in which one worker runs ahead, and the profiling run is a random walk.

use crate::rng::ChoiceRng;
use crate::{Event, Profile, View};

/// No point is further away: unfair iterations end before, however long a fair profiling run was.
const STEPS_MAX: u64 = 10_000;

/// Points among the concurrent steps of an iteration, and the number of those executed so far.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangePoints {
    /// Steps, counted from 0, and the position in which each was drawn; ascending.
    points: Vec<(u64, u32)>,
    /// Index of the first point that is not passed.
    next: usize,
    /// Concurrent steps passed.
    passed: u64,
    /// Workers that have ended.
    ended: usize,
    /// Concurrent steps of the profiling run, if there was one.
    steps: Option<u64>,
}

impl ChangePoints {
    pub fn prepare(&mut self, profile: &Profile) {
        self.steps = Some(profile.concurrent_steps.min(STEPS_MAX));
    }

    /// The number of concurrent steps that an iteration is assumed to have. Without a profiling run it is a
    /// guess, a new one for each iteration: a power of two from 8 to 8192. At least one guess in eleven is
    /// then within a factor of two of the true number, for programs in that range.
    pub fn steps(&self, rng: &mut ChoiceRng) -> u64 {
        self.steps.unwrap_or_else(|| 8 << rng.below(11))
    }

    /// Begins an iteration with `count` different points among the first `steps`, or with all of these if
    /// there are fewer. Every tuple of places is equally likely.
    pub fn draw_distinct(&mut self, count: u32, steps: u64, rng: &mut ChoiceRng) {
        self.restart();
        for place in 0..u64::from(count).min(steps) {
            // Draws the number of a free step, then skips the steps that are taken.
            let mut point = rng.below(steps - place);
            let mut at = 0;
            while at < self.points.len() && self.points[at].0 <= point {
                point += 1;
                at += 1;
            }
            self.points.insert(at, (point, place as u32));
        }
    }

    /// Begins an iteration with `count` points among the first `steps`; several points may be the same step.
    pub fn draw(&mut self, count: u32, steps: u64, rng: &mut ChoiceRng) {
        self.restart();
        if steps > 0 {
            self.points.extend((0..count).map(|place| (rng.below(steps), place)));
            self.points.sort_unstable();
        }
    }

    /// Begins an iteration with given points; for planted faults.
    pub fn set(&mut self, points: impl Iterator<Item = u64>) {
        self.restart();
        self.points.extend(points.zip(0..));
        self.points.sort_unstable();
    }

    fn restart(&mut self) {
        self.points.clear();
        self.next = 0;
        self.passed = 0;
        self.ended = 0;
    }

    /// Must be called with every event.
    pub fn observe(&mut self, event: Event) {
        self.ended += usize::from(matches!(event, Event::Ended(_)));
    }

    /// Passes a step. If it is a point, returns the position in which the point was drawn.
    #[inline]
    pub fn pass(&mut self, view: &View) -> Option<u32> {
        if view.workers.len() <= self.ended + 1 {
            return None;
        }
        self.passed += 1;
        self.more()
    }

    /// Passes several steps, none of which is a point: see [`ChangePoints::ahead`].
    pub fn skip(&mut self, steps: u64, view: &View) {
        if view.workers.len() > self.ended + 1 {
            self.passed += steps;
        }
    }

    /// How many of the next steps are no points, provided that no worker is created or ends.
    pub fn ahead(&self, view: &View) -> u64 {
        if view.workers.len() <= self.ended + 1 {
            return u64::MAX;
        }
        self.points.get(self.next).map_or(u64::MAX, |(step, _)| step.saturating_sub(self.passed))
    }

    /// Another point at the step that was passed last, if there is one.
    #[inline]
    pub fn more(&mut self) -> Option<u32> {
        match self.points.get(self.next) {
            Some((step, place)) if step + 1 == self.passed => {
                self.next += 1;
                Some(*place)
            }
            _ => None,
        }
    }
}
