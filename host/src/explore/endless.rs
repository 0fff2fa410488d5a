//! Executions without an end that a search has found in its graph of states: they are executed and proved from the start.

use super::pool::Pool;
use super::{ExploreError, Finder, Plan, found, internal};
use crate::execution::Execution;
use crate::lasso::Given;
use crate::outcome::{Bug, BugKind, Outcome};
use coyote_strategies::search::Search;
use coyote_strategies::search::rounds::Wanted;
use coyote_strategies::system::decide;
use coyote_strategies::{Decision, Status, System};

/// The rounds of steps that a search looks for: those that are bugs. None if states cannot be compared byte for byte.
pub(super) fn wanted(plan: &Plan) -> Wanted {
    let complete = !plan.artifact.table.changes_tables && plan.settings.world.directories.is_empty();
    if complete { plan.settings.detectors.lassos() } else { Wanted::default() }
}

/// Processes a livelock that the search has found.
pub(super) fn livelock(plan: &Plan, search: &dyn Search<Execution>, pool: &Pool) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let usual = execution.livelock_states_max;
    let states = pool.lock().counts().states.max(search.counts().states);
    execution.livelock_states_max = usize::try_from(states).unwrap_or(usize::MAX).max(usual);
    let path = completed(&mut execution, search.path());
    let bug = match execution.run_into_livelock(&path, false)? {
        // Workers that wait in a circle are noticed earlier.
        Outcome::Bug(bug) if matches!(bug.kind, BugKind::Livelock | BugKind::Deadlock) => bug,
        other => {
            return Err(internal(&format!("the search saw a livelock, the same choices end with {other:?}")));
        }
    };
    report(plan, search, pool, execution, &bug)
}

/// Processes a round of steps that the search has found.
pub(super) fn round(plan: &Plan, search: &dyn Search<Execution>, pool: &Pool) -> Result<(), ExploreError> {
    let round = search.round().ok_or_else(|| internal("a round was announced and is not there"))?;
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    execution.restart();
    search.path().iter().for_each(|decision| decide(&mut execution, *decision));
    let workers = execution.runtime().workers();
    let steps = round.steps.iter().map(|id| workers[id.index()].path.clone()).collect();
    let given = Given { kind: round.kind, steps };
    let path = execution.decisions();
    let bug = match execution.run_into_round(&path, false, Some(given))? {
        Outcome::Bug(bug) if execution.lasso().is_some() || bug.kind == BugKind::Deadlock => bug,
        other => {
            return Err(internal(&format!("the search saw a round, the same choices end with {other:?}")));
        }
    };
    report(plan, search, pool, execution, &bug)
}

/// Adds the bug with which the execution has just ended to the result.
fn report(
    plan: &Plan,
    search: &dyn Search<Execution>,
    pool: &Pool,
    mut execution: Execution,
    bug: &Bug,
) -> Result<(), ExploreError> {
    let number = {
        let mut state = pool.lock();
        state.ended += 1;
        let workers = execution.runtime().workers().len() as u32;
        state.result.workers_max = state.result.workers_max.max(workers);
        state.ended
    };
    let decisions = execution.machine().scheduler().decisions;
    let finder = Finder { strategy: search.name(), iteration: number, index: Some(number), by: None };
    let found = found(plan, &mut execution, bug, finder, &pool.lines)?;
    pool.lock().result.any_choice |= decisions > 0;
    pool.add(plan, found)
}

/// Maximum number of steps of a worker that is alone in a test harness before there is another one.
const ALONE_STEPS_MAX: usize = 10_000;

/// Completes a path that may end within a step, or while a worker is alone in a test harness, where a livelock cannot be
/// proved again: whichever decisions are made, a livelock stays one.
fn completed(execution: &mut Execution, path: &[Decision]) -> Vec<Decision> {
    execution.restart();
    path.iter().for_each(|decision| decide(execution, *decision));
    for _ in 0..ALONE_STEPS_MAX {
        while let Status::Choosing { .. } = execution.status() {
            execution.choose(0);
        }
        let alone = execution.runtime().alone_in_harness() && execution.status() == Status::Ready;
        let Some(pick) = execution.view().picks().next().filter(|_| alone) else { break };
        decide(execution, Decision::Pick(pick));
    }
    execution.decisions()
}
