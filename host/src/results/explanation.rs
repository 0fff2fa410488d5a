//! What was found out about a bug by experiment, as plain data: the indices are those of the trace's decisions.

use crate::trace::Trace;
use coyote_strategies::{Weight, WorkerPath};
use serde::{Deserialize, Serialize};

/// Everything; each part is there if the experiment was made and said something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// How the trace became shorter.
    pub shrinking: Option<Shrinking>,
    /// The choice that made the bug likely.
    pub decisive: Option<Decisive>,
    /// The same schedule with another choice, without the bug.
    pub passing: Option<Passing>,
    /// How often the bug is met.
    pub findability: Option<Findability>,
    /// Whether what made the bug likely was looked for, but not found out in time.
    #[serde(default)]
    pub out_of_time: bool,
}

/// A number of executions, and how many of them had the bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Executions with the bug.
    pub bugs: u64,
    /// All executions.
    pub of: u64,
}

impl Rate {
    /// From 0 to 1; 0 if there were none.
    pub fn share(self) -> f64 {
        self.bugs as f64 / self.of.max(1) as f64
    }
}

/// The choice with which the bug became more likely than with any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisive {
    /// Index of the decision.
    pub decision: usize,
    /// The number of the step that it is or that it is a value of, from 1; of a timeout, that of the step before.
    pub step: u64,
    /// How many random continuations had the bug, just before it and just after it.
    pub before: Rate,
    /// See [`Decisive::before`].
    pub after: Rate,
    /// The same before other decisions, by index: as many as were looked at.
    pub curve: Vec<(usize, Rate)>,
}

/// Standard errors by which a share must have grown: a growth that is the largest of many by chance seldom reaches them.
const STANDARD_ERRORS: f64 = 3.0;

impl Decisive {
    /// Whether the growth is more than what continuations drawn anew would show by chance: the test of two proportions.
    pub fn is_clear(&self) -> bool {
        let (before, after) = (self.before, self.after);
        let of = |rate: Rate| rate.of.max(1) as f64;
        let common = (before.bugs + after.bugs) as f64 / (of(before) + of(after));
        let error = (common * (1.0 - common) * (1.0 / of(before) + 1.0 / of(after))).sqrt();
        after.share() - before.share() > STANDARD_ERRORS * error
    }
}

/// The schedule with another decisive choice, which passes. It was executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// The other choice.
    pub instead: Instead,
    /// Whether the schedule passes with the default end (see `coyote_strategies::sample::guided`); if not, there is a
    /// random end with which it does.
    pub certain: bool,
    /// How many random continuations still had the bug after that choice.
    pub after: Rate,
    /// The execution that passed.
    pub trace: Trace,
}

/// Another choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instead {
    /// This worker makes the step, and then the rest follows as it was, as far as possible.
    Step {
        /// The worker, as traces name it.
        worker: WorkerPath,
        /// The worker, as reports name it.
        title: String,
    },
    /// This worker goes on until it has to wait or ends, and then the rest follows.
    RunsOn {
        /// The worker, as traces name it.
        worker: WorkerPath,
        /// The worker, as reports name it.
        title: String,
    },
    /// This worker's timeout fires.
    Timeout {
        /// The worker, as traces name it.
        worker: WorkerPath,
        /// The worker, as reports name it.
        title: String,
    },
    /// This value instead of the one in the trace.
    Value {
        /// The value that passes.
        value: u64,
        /// The values are below it.
        bound: u64,
        /// The value in the trace.
        was: u64,
    },
}

/// How often the bug is met, and so how many iterations without it make a fix believable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findability {
    /// Iterations with the bug, of how many.
    pub rate: Rate,
    /// Whether all iterations were executed to find this out; else those of the exploration are among them.
    pub fresh: bool,
}

/// How sure one is that a bug is gone which was not met in [`Findability::iterations`].
pub const CONFIDENCE: f64 = 0.95;

impl Findability {
    /// Iterations of which at least one has the bug with a probability of [`CONFIDENCE`].
    pub fn iterations(self) -> u64 {
        match self.rate.share() {
            share if share >= 1.0 => 1,
            share if share > 0.0 => ((1.0 - CONFIDENCE).ln() / (-share).ln_1p()).ceil() as u64,
            _ => u64::MAX,
        }
    }
}

/// How a trace was minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shrinking {
    /// The weight of the trace as it was found.
    pub before: Weight,
    /// The weight of the trace as it is now.
    pub after: Weight,
    /// How many executions with fewer preemptions were tried, if these were all there are.
    pub fewer_preemptions_tried: Option<u64>,
    /// How many executions were tried that cost less, whatever their steps, if these were all there are.
    pub cheaper_tried: Option<u64>,
    /// Schedules that were executed.
    pub attempts: u64,
    /// Whether it ended before nothing more helped, since there was no more time.
    pub stopped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growth_by_chance_is_not_decisive() {
        let is_clear = |before: (u64, u64), after: (u64, u64)| {
            let rate = |(bugs, of)| Rate { bugs, of };
            let (before, after) = (rate(before), rate(after));
            Decisive { decision: 0, step: 1, before, after, curve: Vec::new() }.is_clear()
        };
        for (before, after) in
            [((2, 20), (6, 20)), ((0, 20), (2, 20)), ((100, 200), (110, 200)), ((3, 3), (3, 3))]
        {
            assert!(!is_clear(before, after), "{before:?} {after:?}");
        }
        for (before, after) in [((89, 200), (200, 200)), ((0, 20), (10, 20)), ((97, 200), (160, 200))] {
            assert!(is_clear(before, after), "{before:?} {after:?}");
        }
        assert!(!is_clear((6, 20), (2, 20)), "it fell");
    }
}
