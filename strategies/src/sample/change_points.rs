//! Steps at which a strategy does something special, drawn at random before an iteration.
//!
//! What is counted are concurrent steps: those made while at least two workers have not ended. Steps
//! with a choice among enabled workers would not do: where workers block each other, a random walk has
//! far fewer of them than a schedule in which one worker runs ahead, and the profiling run is a random walk.

use crate::rng::ChoiceRng;
use crate::{Event, Profile, View};

/// No point lies further away: unfair iterations end before, whatever a fair profiling run did.
const STEPS_MAX: u64 = 10_000;

/// Points among the concurrent steps of an iteration, and how far it is.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangePoints {
    /// Steps, counted from 0, and in which place each was drawn; ascending.
    points: Vec<(u64, u32)>,
    /// The first point that lies ahead.
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

    /// How many concurrent steps an iteration is taken to have. Without a profiling run this is a guess, anew for
    /// each iteration: a power of two from 8 to 8192. At least one guess in eleven is then within a
    /// factor of two of the truth, for programs in that range.
    pub fn steps(&self, rng: &mut ChoiceRng) -> u64 {
        self.steps.unwrap_or_else(|| 8 << rng.below(11))
    }

    /// Begins an iteration with `count` different points among the first `steps`, or all of them if
    /// there are less. Every tuple of places is equally likely.
    pub fn draw_distinct(&mut self, count: u32, steps: u64, rng: &mut ChoiceRng) {
        self.restart();
        for place in 0..u64::from(count).min(steps) {
            // The number of a free step, then its place past those that are taken.
            let mut point = rng.below(steps - place);
            let mut at = 0;
            while at < self.points.len() && self.points[at].0 <= point {
                point += 1;
                at += 1;
            }
            self.points.insert(at, (point, place as u32));
        }
    }

    /// Begins an iteration with `count` points among the first `decisions`, several of which may fall
    /// together.
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

    /// To be told of every event.
    pub fn observe(&mut self, event: Event) {
        self.ended += usize::from(matches!(event, Event::Ended(_)));
    }

    /// Passes a step: in which place the next of its points was drawn.
    #[inline]
    pub fn pass(&mut self, view: &View) -> Option<u32> {
        if view.workers.len() <= self.ended + 1 {
            return None;
        }
        self.passed += 1;
        self.more()
    }

    /// Passes steps none of which is a point: see [`ChangePoints::ahead`].
    pub fn skip(&mut self, steps: u64, view: &View) {
        if view.workers.len() > self.ended + 1 {
            self.passed += steps;
        }
    }

    /// How many of the next steps are no points, if only steps are made until then.
    pub fn ahead(&self, view: &View) -> u64 {
        if view.workers.len() <= self.ended + 1 {
            return u64::MAX;
        }
        self.points.get(self.next).map_or(u64::MAX, |(step, _)| step.saturating_sub(self.passed))
    }

    /// The next point of the step that was passed last.
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
