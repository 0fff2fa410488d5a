//! The profiling run: the first iteration of the random walk, which tells strategies how long executions are and what
//! each worker does. It is an iteration like any other: a bug that it meets is reported.

use super::{Cut, ExploreError, Finder, Plan, bounds, compared, first_output, found, notes, passage};
use crate::diagnose::SourceLines;
use crate::epochs::{self, Epochs, Ran};
use crate::execution::Execution;
use crate::machine::scheduler::Limits;
use crate::outcome::Outcome;
use crate::results::{IterationNotes, IterationResult};
use coyote_strategies::Profiler;
use coyote_strategies::{Iteration, Profile};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The profiling run's name in reports.
pub const LABEL: &str = "the profiling run";

/// The result of the profiling run.
pub struct ProfilingRun {
    pub profile: Profile,
    pub result: IterationResult,
    /// The bounds on steps of later iterations.
    pub limits: Limits,
}

/// Executes the profiling run before all iterations, which begin with what it discovers about sharing. `first_of`: the
/// strategy whose first iteration it counts as, if any; `is_iteration`: whether it is iteration 0 in any case. It ends
/// without a result when `cancel` is raised.
pub fn profiling_run(
    plan: &Plan,
    first_of: Option<&str>,
    epochs: &Epochs,
    is_iteration: bool,
    cancel: &Arc<AtomicBool>,
    lines: &Mutex<SourceLines>,
) -> Result<Result<ProfilingRun, Cut>, ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let profiler = Profiler::default();
    let profile = profiler.result();
    let iteration = Iteration { seed: plan.seed, index: 0 };
    let known = epochs.known();
    let limits = plan.settings.limits;
    let steps_max = bounds::profiling_steps_max(&plan.budget, &limits);
    execution.set_bound(steps_max);
    if steps_max.is_some() && plan.settings.detectors.hot_steps_max.is_none() {
        execution.set_any_heat();
    }
    execution.cancel_by(Some(cancel.clone()));
    let ran = epochs::run(&mut execution, Box::new(profiler), iteration, &known)?;
    let executed = execution.executed().map(Box::new);
    execution.cancel_by(None);
    if execution.cancelled() {
        return Ok(Err(Cut::of(&execution)));
    }
    match is_iteration {
        true => epochs.leave(&ran),
        false => epochs.add(&ran.grown),
    }
    let Ran { outcome, grown, repeats, .. } = ran;
    let index = first_of.map(|_| iteration.index);
    let record = execution.record(true);
    let passage = plan.budget.explore.then(|| Box::new(passage::of(&execution)));
    let limits = match steps_max {
        Some(steps_max) if !record.hit_max_steps => {
            bounds::raised(limits, record.steps, steps_max, plan.artifact.table.libtest)
        }
        _ => limits,
    };
    let notes =
        IterationNotes { first_output: Some(first_output(&execution, index)), ..notes(&execution, &outcome) };
    let bug = match &outcome {
        Outcome::Bug(bug) => {
            let by = if first_of.is_some() { "random" } else { LABEL };
            let strategy = first_of.unwrap_or("random").to_string();
            let finder = Finder { strategy, iteration: 0, index, by: Some(by.into()) };
            Some(Box::new(found(plan, &mut execution, bug, finder, lines)?))
        }
        _ => None,
    };
    let profile = profile.lock().expect("the run is over").clone();
    let states_compared = compared(plan, &mut execution, &outcome, true, iteration)?;
    let result = IterationResult {
        index,
        record,
        bug,
        notes,
        shared: grown,
        repeats,
        states_compared,
        progress: None,
        passage,
        executed,
    };
    Ok(Ok(ProfilingRun { profile, result, limits }))
}
