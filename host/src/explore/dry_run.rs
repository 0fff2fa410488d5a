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

/// Executes the dry run.
pub fn dry_run(plan: &Plan) -> Result<DryRun, ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let profiler = Profiler::default();
    let profile = profiler.result();
    let iteration = Iteration { seed: plan.seed, index: 0 };
    let (outcome, _) = execution.run(Box::new(profiler), iteration)?;
    let found = match &outcome {
        Outcome::Bug(bug) => Some(found(plan, &execution, bug, "random".into(), 0, Some(LABEL.into()))?),
        _ => None,
    };
    let profile = profile.lock().expect("the run is over").clone();
    Ok(DryRun { profile, record: execution.record(true), notes: Notes::of(&execution, &outcome), found })
}
