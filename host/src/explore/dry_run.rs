//! The dry run: the first iteration of the random walk, which tells strategies how long executions are
//! and who does what. It is an iteration like any other: a bug that it finds is found.

use super::{ExploreError, Found, Notes, Plan, found};
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::statistics::IterationRecord;
use coyote_strategies::profile::Profiler;
use coyote_strategies::{Iteration, Profile};

/// How reports name it.
pub const LABEL: &str = "the dry run";

/// What came of it.
pub struct DryRun {
    pub profile: Profile,
    pub(super) record: IterationRecord,
    pub(super) notes: Notes,
    pub(super) found: Option<Found>,
}

/// Executes the dry run. `first_of` names the strategy whose first iteration it is, if it is one.
pub fn dry_run(plan: &Plan, first_of: Option<&str>) -> Result<DryRun, ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let profiler = Profiler::default();
    let profile = profiler.result();
    let iteration = Iteration { seed: plan.seed, index: 0 };
    let (outcome, _) = execution.run(Box::new(profiler), iteration)?;
    let found = match &outcome {
        Outcome::Bug(bug) => {
            let by = if first_of.is_some() { "random" } else { LABEL };
            let strategy = first_of.unwrap_or("random").to_string();
            Some(found(plan, &execution, bug, strategy, 0, Some(by.into()))?)
        }
        _ => None,
    };
    let profile = profile.lock().expect("the run is over").clone();
    Ok(DryRun { profile, record: execution.record(true), notes: Notes::of(&execution, &outcome), found })
}
