//! The results of a sweep of faults, by the places where faults may happen.

use crate::plural::counted;
use coyote_instrumenter::Location;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The plan and the results of a sweep of faults. See [`coyote_strategies::sample::sweep`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// The classes and fault points, as given with `--fault-sweep`.
    pub faults: Vec<String>,
    /// The number of schedules that a strategy chooses after each fault, in addition to the default one.
    pub samples: u64,
    /// Whether the default schedule, without a fault, ends by itself and without a bug. If it does not, nothing was
    /// swept.
    pub baseline_passes: bool,
    /// The number of ways in which faults can happen at an opportunity, beyond the first [`WAYS_MAX`], that were left
    /// out.
    pub left_out: u64,
    /// The sites, in the order in which the default schedule first reaches them.
    pub sites: Vec<SweptSite>,
}

/// The maximum number of ways that are tried for an opportunity.
pub const WAYS_MAX: u64 = 16;

/// Opportunities of one class or fault point with the same stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptSite {
    /// The class, or the fault point with the prefix `point.`.
    pub fault: String,
    /// The stack of the worker at the opportunity, innermost frame first.
    pub stack: Vec<Location>,
    /// The number of opportunities in the default schedule.
    pub opportunities: u64,
    /// The number of planned executions with a fault.
    pub planned: u64,
    /// The results of these executions.
    #[serde(flatten)]
    pub swept: Swept,
}

/// The results of executions with faults at some place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// The number of executions in which the fault happened.
    pub tried: u64,
    /// The number of executions that ended with a bug.
    pub failed: u64,
    /// The number of tried executions that the bound on steps cut off.
    pub unfinished: u64,
    /// The bugs, by [`BugIdentity::short`](super::BugIdentity::short).
    pub bugs: BTreeSet<String>,
}

/// The result of one execution of a sweep.
#[derive(Clone, Debug)]
pub struct SweptExecution {
    /// Whether the fault happened.
    pub struck: bool,
    /// Whether the bound on steps cut it off.
    pub unfinished: bool,
    /// The short identity of the bug, if there was one.
    pub bug: Option<String>,
}

impl Swept {
    fn absorb(&mut self, execution: SweptExecution) {
        self.tried += u64::from(execution.struck);
        self.unfinished += u64::from(execution.struck && execution.unfinished);
        // A bug that is found before the fault happens counts as well.
        self.failed += u64::from(execution.bug.is_some());
        self.bugs.extend(execution.bug);
    }

    /// Adds the results of other executions.
    pub fn merge(&mut self, other: &Swept) {
        self.tried += other.tried;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.bugs.extend(other.bugs.iter().cloned());
    }
}

impl Sweep {
    /// The number of opportunities in the default schedule.
    pub fn opportunities(&self) -> u64 {
        self.sites.iter().map(|site| site.opportunities).sum()
    }

    /// The number of planned executions with a fault.
    pub fn planned(&self) -> u64 {
        self.sites.iter().map(|site| site.planned).sum()
    }

    /// The number of executions in which the fault happened.
    pub fn tried(&self) -> u64 {
        self.sites.iter().map(|site| site.swept.tried).sum()
    }

    /// The number of executions that the bound on steps cut off.
    pub fn unfinished(&self) -> u64 {
        self.sites.iter().map(|site| site.swept.unfinished).sum()
    }

    /// Whether everything was tried and came to an end.
    pub fn is_complete(&self) -> bool {
        self.baseline_passes && self.left_out == 0 && self.tried() == self.planned() && self.unfinished() == 0
    }

    /// The extent of the sweep, as a fragment.
    pub fn extent(&self) -> String {
        let planned = counted(self.planned(), "execution");
        let unfinished = self.unfinished();
        match self.is_complete() {
            true => format!("all {planned} of the sweep"),
            false => format!("{} of {planned} of the sweep, {unfinished} unfinished", self.tried()),
        }
    }

    /// Counts an execution with a fault planned at this site.
    pub fn count(&mut self, site: usize, execution: SweptExecution) {
        self.sites[site].swept.absorb(execution);
    }

    /// Whether both sweeps have the same plan, so that their results can be added.
    pub fn has_plan_of(&self, other: &Sweep) -> bool {
        let untried = |sweep: &Sweep| {
            let mut sweep = sweep.clone();
            sweep.sites.iter_mut().for_each(|site| site.swept = Swept::default());
            sweep
        };
        untried(self) == untried(other)
    }

    /// Adds the results of another part of the same sweep. Both must have the same plan.
    pub(super) fn merge(&mut self, other: &Sweep) {
        for (site, other) in self.sites.iter_mut().zip(&other.sites) {
            site.swept.merge(&other.swept);
        }
    }
}
