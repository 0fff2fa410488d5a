//! Schedules that are steered towards the deadlocks that an exploration without a bug has shown to be possible.

use super::{ExploreError, Finder, Plan, found, keep};
use crate::diagnose::SourceLines;
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::results::{Stop, TestResult};
use coyote_strategies::Iteration;
use coyote_strategies::sample::steered::Steered;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// The number of schedules that are tried for each inversion, and the number of inversions that are tried.
const SCHEDULES: u64 = 100;
const INVERSIONS: usize = 16;

/// Tries to confirm the inversions of a result that has no bug. A bug that is met is added to the result, as if it had
/// been found in the iteration that showed the inversion. The tried schedules depend only on the result and the seed.
///
/// # Errors
/// The machine's: internal errors, or errors of the environment.
pub(super) fn confirm(
    plan: &Plan,
    result: &mut TestResult,
    cancel: &Arc<AtomicBool>,
) -> Result<(), ExploreError> {
    if result.inversions.is_empty() || !result.bugs.is_empty() || result.stop == Stop::Interrupted {
        return Ok(());
    }
    let lines = Mutex::new(SourceLines::new(plan.artifact));
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    for at in 0..result.inversions.len().min(INVERSIONS) {
        let seen = &result.inversions[at];
        let (places, first) = (seen.inversion.sides.iter().map(|side| side.site).collect(), seen.iteration);
        let mut strategy: Box<dyn coyote_strategies::Strategy> = Box::new(Steered::new(places));
        for number in 0..SCHEDULES {
            execution.cancel_by(Some(cancel.clone()));
            let (outcome, used) = execution.run(strategy, Iteration { seed: plan.seed, index: number })?;
            strategy = used;
            execution.cancel_by(None);
            if execution.cancelled() {
                return Ok(());
            }
            result.inversions[at].tried += 1;
            if let Outcome::Bug(bug) = &outcome
                && outcome.is_bug()
            {
                let (iteration, by) = (first.unwrap_or(0), Some(LABEL.into()));
                let finder =
                    Finder { strategy: result.subject.strategy.clone(), iteration, index: first, by };
                // The iteration that showed one inversion may have shown others.
                let mut stem = plan.trace_stem.clone().into_os_string();
                stem.push(format!("-{LABEL}-{}", at + 1));
                let named = Plan { trace_stem: stem.into(), ..plan.clone() };
                let bug = found(&named, &mut execution, bug, finder, &lines)?;
                keep(result, bug)?;
                result.inversions[at].confirmed = true;
                break;
            }
        }
        let enough = if plan.budget.explore { plan.budget.bugs_max } else { 1 };
        if result.distinct_bugs() >= enough {
            result.stop = Stop::Bug;
            return Ok(());
        }
    }
    Ok(())
}

/// The label of a bug that was found in this way.
const LABEL: &str = "steered";
