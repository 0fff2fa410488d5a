//! The dry run: the first iteration of the random walk, which tells strategies how long executions are
//! and who does what. It is an iteration like any other: a bug that it finds is found.

use super::{Cut, ExploreError, Found, Notes, Plan, compared, found};
use crate::epochs::{self, Epochs, Ran};
use crate::execution::Execution;
use crate::granules::Granules;
use crate::outcome::Outcome;
use crate::statistics::IterationRecord;
use coyote_strategies::profile::Profiler;
use coyote_strategies::{Iteration, Profile};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How reports name it.
pub const LABEL: &str = "the dry run";

/// What came of it.
pub struct DryRun {
    pub profile: Profile,
    pub(super) record: IterationRecord,
    pub(super) notes: Notes,
    pub(super) found: Option<Found>,
    pub(super) grown: Granules,
    pub(super) repeats: u32,
    pub(super) states_compared: u64,
}

/// Executes the dry run, before all iterations: they begin with what it finds out. `first_of` names the
/// strategy whose first iteration it is to count as, if any; `is_iteration`: whether it stands for
/// iteration 0 in any case. It is given up when somebody raises `cancel`: nothing came of it then.
pub fn dry_run(
    plan: &Plan,
    first_of: Option<&str>,
    epochs: &Epochs,
    is_iteration: bool,
    cancel: &Arc<AtomicBool>,
) -> Result<Result<DryRun, Cut>, ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let profiler = Profiler::default();
    let profile = profiler.result();
    let iteration = Iteration { seed: plan.seed, index: 0 };
    let known = epochs.known();
    execution.cancel_by(Some(cancel.clone()));
    let ran = epochs::run(&mut execution, Box::new(profiler), iteration, &known)?;
    execution.cancel_by(None);
    if execution.cancelled() {
        return Ok(Err(Cut::of(&execution)));
    }
    match is_iteration {
        true => epochs.leave(&ran),
        false => epochs.add(&ran.grown),
    }
    let Ran { outcome, grown, repeats, .. } = ran;
    let (record, notes) = (execution.record(true), Notes::of(&execution, &outcome, true));
    let found = match &outcome {
        Outcome::Bug(bug) => {
            let by = if first_of.is_some() { "random" } else { LABEL };
            let strategy = first_of.unwrap_or("random").to_string();
            Some(found(plan, &mut execution, bug, strategy, 0, Some(by.into()))?)
        }
        _ => None,
    };
    let profile = profile.lock().expect("the run is over").clone();
    let states_compared = compared(plan, &mut execution, &outcome, true, iteration)?;
    Ok(Ok(DryRun { profile, record, notes, found, grown, repeats, states_compared }))
}
