//! Decisions at which a strategy does something special, drawn at random before an iteration.

use crate::Profile;
use crate::rng::ChoiceRng;

/// No point lies further away: unfair iterations end before, whatever a fair dry run did.
const DECISIONS_MAX: u64 = 10_000;

/// Points among the decisions of an iteration, and how far it is. A decision is a choice among at
/// least two enabled workers.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangePoints {
    /// Decisions, counted from 0, and in which place each was drawn; ascending.
    points: Vec<(u64, u32)>,
    /// The first point that lies ahead.
    next: usize,
    /// Decisions passed.
    passed: u64,
    /// Decisions of the dry run, if there was one.
    decisions: Option<u64>,
}

impl ChangePoints {
    pub fn prepare(&mut self, profile: &Profile) {
        self.decisions = Some(profile.decisions.min(DECISIONS_MAX));
    }

    /// How many decisions an iteration is taken to have. Without a dry run this is a guess, anew for
    /// each iteration: a power of two from 8 to 8192. At least one guess in eleven is then within a
    /// factor of two of the truth, for programs in that range.
    pub fn decisions(&self, rng: &mut ChoiceRng) -> u64 {
        self.decisions.unwrap_or_else(|| 8 << rng.below(11))
    }

    /// Begins an iteration with `count` different points among the first `decisions`, or all of them if
    /// there are less. Every tuple of places is equally likely.
    pub fn draw_distinct(&mut self, count: u32, decisions: u64, rng: &mut ChoiceRng) {
        self.restart();
        for place in 0..u64::from(count).min(decisions) {
            // The number of a free decision, then its place past those that are taken.
            let mut point = rng.below(decisions - place);
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
    pub fn draw(&mut self, count: u32, decisions: u64, rng: &mut ChoiceRng) {
        self.restart();
        if decisions > 0 {
            self.points.extend((0..count).map(|place| (rng.below(decisions), place)));
            self.points.sort_unstable();
        }
    }

    /// Begins an iteration with given decisions; for planted faults.
    pub fn set(&mut self, points: impl Iterator<Item = u64>) {
        self.restart();
        self.points.extend(points.zip(0..));
        self.points.sort_unstable();
    }

    fn restart(&mut self) {
        self.points.clear();
        self.next = 0;
        self.passed = 0;
    }

    /// Passes a decision: in which place the next of its points was drawn.
    #[inline]
    pub fn pass(&mut self) -> Option<u32> {
        self.passed += 1;
        self.more()
    }

    /// The next point of the decision that was passed last.
    #[inline]
    pub fn more(&mut self) -> Option<u32> {
        match self.points.get(self.next) {
            Some((decision, place)) if decision + 1 == self.passed => {
                self.next += 1;
                Some(*place)
            }
            _ => None,
        }
    }
}
