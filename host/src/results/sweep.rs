//! What came of a sweep of faults, by the places where they may happen.

use crate::plural::counted;
use coyote_instrumenter::Location;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a sweep of faults was to try, and what came of it. See [`coyote_strategies::sample::sweep`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The classes and fault points, as `--fault-sweep` names them.
    pub faults: Vec<String>,
    /// Schedules that a strategy chooses after each fault, beside the default one.
    pub samples: u64,
    /// Whether the default schedule ends by itself, without a fault and without a bug. If not, nothing was swept.
    pub baseline_passes: bool,
    /// Ways in which faults can happen at an opportunity, behind the first [`WAYS_MAX`], that were left out.
    pub left_out: u64,
    /// In the order in which the default schedule comes there first.
    pub sites: Vec<SweptSite>,
}

/// Ways of an opportunity that are tried.
pub const WAYS_MAX: u64 = 16;

/// Opportunities of one class or fault point, with one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptSite {
    /// The class, or the fault point behind `point.`.
    pub fault: String,
    /// Where the worker is that meets it, innermost first.
    pub stack: Vec<Location>,
    /// How often the default schedule comes there.
    pub opportunities: u64,
    /// Executions with a fault that are to be made.
    pub planned: u64,
    /// What came of them.
    #[serde(flatten)]
    pub swept: Swept,
}

/// What came of the executions with faults at some place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// Executions that were made and in which the fault struck.
    pub tried: u64,
    /// Of these, those that ended with a bug.
    pub failed: u64,
    /// Of those that were tried, how many the bound on steps cut off.
    pub unfinished: u64,
    /// The bugs, by [`BugIdentity::short`](super::BugIdentity::short).
    pub bugs: BTreeSet<String>,
}

/// What one execution of a sweep says.
#[derive(Clone, Debug)]
pub struct SweptExecution {
    /// Whether a fault struck.
    pub struck: bool,
    /// Whether the bound on steps cut it off.
    pub unfinished: bool,
    /// The bug, by its short identity.
    pub bug: Option<String>,
}

impl Swept {
    fn absorb(&mut self, execution: SweptExecution) {
        self.tried += u64::from(execution.struck);
        self.unfinished += u64::from(execution.struck && execution.unfinished);
        // A bug before the fault is one all the same.
        self.failed += u64::from(execution.bug.is_some());
        self.bugs.extend(execution.bug);
    }

    /// Adds what came of other executions.
    pub fn merge(&mut self, other: &Swept) {
        self.tried += other.tried;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.bugs.extend(other.bugs.iter().cloned());
    }
}

impl Sweep {
    /// Opportunities of the default schedule.
    pub fn opportunities(&self) -> u64 {
        self.sites.iter().map(|site| site.opportunities).sum()
    }

    /// Executions with a fault that are to be made.
    pub fn planned(&self) -> u64 {
        self.sites.iter().map(|site| site.planned).sum()
    }

    /// Executions that were made and in which the fault struck.
    pub fn tried(&self) -> u64 {
        self.sites.iter().map(|site| site.swept.tried).sum()
    }

    /// Executions that the bound on steps cut off.
    pub fn unfinished(&self) -> u64 {
        self.sites.iter().map(|site| site.swept.unfinished).sum()
    }

    /// Whether everything was tried, and came to an end.
    pub fn is_complete(&self) -> bool {
        self.baseline_passes && self.left_out == 0 && self.tried() == self.planned() && self.unfinished() == 0
    }

    /// How far it came, as a fragment.
    pub fn extent(&self) -> String {
        let planned = counted(self.planned(), "execution");
        let unfinished = self.unfinished();
        match self.is_complete() {
            true => format!("all {planned} of the sweep"),
            false => format!("{} of {planned} of the sweep, {unfinished} unfinished", self.tried()),
        }
    }

    /// Counts an execution that was to strike at this site.
    pub fn count(&mut self, site: usize, execution: SweptExecution) {
        self.sites[site].swept.absorb(execution);
    }

    /// Whether both are to try the same, so that their parts add up.
    pub fn has_plan_of(&self, other: &Sweep) -> bool {
        let untried = |sweep: &Sweep| {
            let mut sweep = sweep.clone();
            sweep.sites.iter_mut().for_each(|site| site.swept = Swept::default());
            sweep
        };
        untried(self) == untried(other)
    }

    /// Adds what another part of the same sweep came to. Both have the same plan.
    pub(super) fn merge(&mut self, other: &Sweep) {
        for (site, other) in self.sites.iter_mut().zip(&other.sites) {
            site.swept.merge(&other.swept);
        }
    }
}
