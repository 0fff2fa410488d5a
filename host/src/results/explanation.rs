//! The results of experiments on a bug, as plain data. Indices are those of the trace's decisions.

use crate::symbols::SourceFrame;
use crate::trace::Trace;
use coyote_strategies::{Weight, WorkerPath};
use serde::{Deserialize, Serialize};

/// All results; each part is present if the experiment was made and had a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// How the trace was shortened.
    pub shrinking: Option<Shrinking>,
    /// The choice that made the bug likely.
    pub decisive: Option<Decisive>,
    /// The same schedule with another choice, without the bug.
    pub passing: Option<Passing>,
    /// The frequency of the bug.
    pub findability: Option<Findability>,
    /// Whether what made the bug likely was looked for, but not found out in time.
    #[serde(default)]
    pub out_of_time: bool,
    /// Whether no choice comes before the bug, so that every execution ends with it. Nothing else is known then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unavoidable: bool,
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
    /// The share of executions with the bug, from 0 to 1; 0 if there were no executions.
    pub fn share(self) -> f64 {
        self.bugs as f64 / self.of.max(1) as f64
    }
}

/// The choice that increased the likelihood of the bug most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisive {
    /// Index of the decision.
    pub decision: usize,
    /// The number, from 1, of the step that the decision is or is a value of; for a timeout the number of the step
    /// before it.
    pub step: u64,
    /// What the value decides, if the decision is one of a value that the guest did not ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Meaning>,
    /// The random continuations from just before and just after the choice that had the bug.
    pub before: Rate,
    /// See [`Decisive::before`].
    pub after: Rate,
    /// The same from before other decisions, by their indices, for those that were examined.
    pub curve: Vec<(usize, Rate)>,
}

/// What a value decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meaning {
    /// Which worker a notification wakes: the one at this index.
    Wakes {
        /// The workers by the names that reports show.
        titles: Vec<String>,
    },
    /// Whether a fault happens: 0 is none, and other values are ways in which it can.
    Fault {
        /// The name of its class, or of its point.
        name: String,
    },
}

/// The number of standard errors by which a share must have grown. A growth that is the largest of many by chance
/// seldom reaches it.
const STANDARD_ERRORS: f64 = 3.0;

/// The least growth of a decisive choice after which the bug is not certain. Where several choices each add a part, none of
/// them decides.
const GROWTH_MIN: f64 = 0.3;

impl Decisive {
    /// Whether the growth is large, and larger than repeated sampling would show by chance, by the test of two proportions.
    pub fn is_clear(&self) -> bool {
        let (before, after) = (self.before, self.after);
        let of = |rate: Rate| rate.of.max(1) as f64;
        let common = (before.bugs + after.bugs) as f64 / (of(before) + of(after));
        let error = (common * (1.0 - common) * (1.0 / of(before) + 1.0 / of(after))).sqrt();
        let growth = after.share() - before.share();
        growth > STANDARD_ERRORS * error && (growth >= GROWTH_MIN || after.bugs == after.of)
    }
}

/// The schedule with another choice instead of the decisive one, which passes. It was executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passing {
    /// The other choice.
    pub instead: Instead,
    /// The number of the step in which it is made, as [`Decisive::step`]; 0 in results of older versions.
    #[serde(default)]
    pub step: u64,
    /// The place of that step in the guest's own source, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceFrame>,
    /// Whether the schedule passes with the default end (see `coyote_strategies::sample::guided`); if not, there is a
    /// random end with which it does.
    pub certain: bool,
    /// The random continuations after that choice that still had the bug.
    pub after: Rate,
    /// The first thing that the failing worker then reads otherwise, as a clause, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The execution that passed.
    pub trace: Trace,
}

/// Another choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instead {
    /// This worker makes the step; the rest then follows unchanged as far as possible.
    Step {
        /// The worker as in traces.
        worker: WorkerPath,
        /// The worker by the name that reports show.
        title: String,
    },
    /// This worker continues until it has to wait or ends; then the rest follows.
    RunsOn {
        /// The worker as in traces.
        worker: WorkerPath,
        /// The worker by the name that reports show.
        title: String,
    },
    /// This worker's timeout fires.
    Timeout {
        /// The worker as in traces.
        worker: WorkerPath,
        /// The worker by the name that reports show.
        title: String,
    },
    /// This value is chosen instead of the one in the trace.
    Value {
        /// The value that passes.
        value: u64,
        /// The upper bound of the values, exclusive.
        bound: u64,
        /// The value in the trace.
        was: u64,
    },
}

/// The frequency of the bug, which determines how many iterations without it make a fix believable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findability {
    /// The iterations with the bug, and all iterations.
    pub rate: Rate,
    /// Whether iterations were executed to measure this; otherwise they are those of the exploration up to the bug.
    pub fresh: bool,
    /// Whether the strategy makes later iterations otherwise than earlier ones: then only as many as were measured say
    /// anything.
    #[serde(default)]
    pub grows: bool,
}

/// The confidence that a bug is gone that was not met in [`Findability::iterations`].
pub const CONFIDENCE: f64 = 0.95;

impl Findability {
    /// The number of iterations of which at least one has the bug with a probability of [`CONFIDENCE`].
    pub fn iterations(self) -> u64 {
        let iterations = match self.rate.share() {
            share if share >= 1.0 => 1,
            share if share > 0.0 => ((1.0 - CONFIDENCE).ln() / (-share).ln_1p()).ceil() as u64,
            _ => u64::MAX,
        };
        if self.grows { iterations.max(self.rate.of) } else { iterations }
    }
}

/// How a trace was minimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shrinking {
    /// The weight of the trace as it was found.
    pub before: Weight,
    /// The weight of the trace as it is now.
    pub after: Weight,
    /// The number of executions with fewer preemptions that were tried, if these were all that exist.
    pub fewer_preemptions_tried: Option<u64>,
    /// The number of cheaper executions, with any number of steps, that were tried, if these were all that exist.
    pub cheaper_tried: Option<u64>,
    /// The number of schedules that were executed.
    pub attempts: u64,
    /// Whether it ended early because the time was up.
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
            Decisive { decision: 0, step: 1, meaning: None, before, after, curve: Vec::new() }.is_clear()
        };
        for (before, after) in
            [((2, 20), (6, 20)), ((0, 20), (2, 20)), ((54, 200), (84, 200)), ((3, 3), (3, 3))]
        {
            assert!(!is_clear(before, after), "{before:?} {after:?}");
        }
        for (before, after) in
            [((89, 200), (200, 200)), ((0, 20), (10, 20)), ((97, 200), (160, 200)), ((170, 200), (200, 200))]
        {
            assert!(is_clear(before, after), "{before:?} {after:?}");
        }
        assert!(!is_clear((6, 20), (2, 20)), "it fell");
    }
}
