//! Shrinking: makes the trace of a found bug as short to read as possible, by finding the same bug in another schedule.
//!
//! A schedule is a *preference* (`coyote_strategies::sample::guided`), so that every edit of one can be executed. An
//! edit is kept if the execution ends with the same bug (of the same kind, at the same places, see
//! [`BugIdentity`](crate::results::BugIdentity)) and weighs less: fewer preemptions, else fewer switches, else smaller
//! values (faults are values, too), else fewer steps, else a lower worker earlier. The next edit begins with the
//! choices that were executed, so the resulting trace is exact, and it is replayed before it is shown.
//!
//! - `attempt`: executes a preference and determines whether the bug is the same.
//! - `edits`: the edits.
//! - `descend`: tries edits until none helps; [`Shrinking::after`] is then a local minimum.
//! - `cheapest`: searches executions in the order of their costs, within limits. If one of them has the bug, it
//!   replaces the local minimum, and those that were tried before it are known not to have the bug.
//! - `contended`: objects that several workers use, so that `cheapest` first tries operations that are likely to
//!   matter.
//!
//! Everything is bounded by counts, so the result depends only on the program and the trace, unless the time limit is
//! reached ([`Shrinking::stopped`]).
//!
//! Not shrunk are: livelocks, whose traces already end at the earliest proof; bounds on steps that the user declared to
//! be bugs, since every attempt would take that long; limits of this tool; traces with directories of the host, whose
//! answers belong to one schedule.
//!
//! Sources: Zeller and Hildebrandt (2002) for the removal of parts, Lockstep and SimTrace for schedules, CHESS
//! (Musuvathi and Qadeer 2007) for the order by preemptions. Unlike SimTrace, neighbours are not swapped according to
//! their footprints but by trial, since modules that report footprints are slower, and differ from those that were
//! tested.

mod attempt;
mod cheapest;
mod contended;
mod descend;
mod edits;

use crate::diagnose::{self, SourceLines};
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::record::{self, Origin};
use crate::replay;
use crate::results::Shrinking;
use crate::trace::Trace;
use attempt::{Attempt, Attempts};
use contended::Contended;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

/// Limits of the effort.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The maximum number of steps of all attempts together.
    pub attempt_steps_max: u64,
    /// The maximum number of steps of each search for cheaper executions.
    pub search_steps_max: u64,
    /// The maximum number of states that the search may keep.
    pub search_states_max: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { attempt_steps_max: 20_000_000, search_steps_max: 200_000, search_states_max: 50_000 }
    }
}

/// The result of shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The minimised trace, which replays.
    pub trace: Trace,
    /// The bug with which the execution has just ended under the minimised trace.
    pub bug: Bug,
    pub shrinking: Shrinking,
}

/// Why a trace is not shrunk, as a fragment; `None` if it can be.
pub fn refused(execution: &Execution, trace: &Trace) -> Option<&'static str> {
    if record::number(trace, record::FAIR_FROM).is_some() {
        return Some("a monitor is too hot only in a long and fair execution");
    }
    if record::number(trace, record::ROUND).is_some() {
        return Some("the trace ends where a round of steps begins that can be repeated for ever");
    }
    match BugKind::ALL.into_iter().find(|kind| kind.name() == trace.header.outcome) {
        None => Some("it ends without a bug"),
        Some(BugKind::Livelock) => Some("a livelock's trace ends where it can be proved first"),
        Some(BugKind::MaxSteps) => Some("every attempt would run up to the bound on steps"),
        Some(BugKind::Limit) => Some("it ends at a limit of this tool, not at a bug"),
        Some(_) if execution.machine().directories().any() => {
            Some("answers of a directory of the host belong to one schedule")
        }
        Some(_) => None,
    }
}

/// Minimises a trace, which must not be [`refused`]. `stop` ends it early, with the best trace so far. Afterwards, the
/// execution has just ended with the bug, under the new trace. `None`: the trace does not end with a bug any more, or
/// the bug does not replay from the new trace.
///
/// # Errors
/// The machine's: internal errors, or errors of the environment.
pub fn shrink(
    execution: &mut Execution,
    trace: &Trace,
    effort: Effort,
    stop: &Arc<AtomicBool>,
    lines: &Mutex<SourceLines>,
) -> Result<Option<Shrunk>, MachineError> {
    let replayed = replay::replay(execution, trace, false)?;
    let Outcome::Bug(bug) = &replayed.outcome else { return Ok(None) };
    if replayed.divergence.is_some() {
        return Ok(None);
    }
    let bug = bug.clone();
    let schedule = record::schedule(trace, &execution.machine().artifact().table);
    let target = diagnose::identity(execution, &bug, lines)?;
    let usual = execution.bound();
    let mut attempts = Attempts::new(execution, lines, target, effort, stop.clone());
    let result = attempts.base(&schedule).and_then(|base| match base {
        Some(base) => minimum(&mut attempts, base, effort).map(Some),
        None => Ok(None),
    });
    attempts.finish();
    execution.set_bound(usual);
    let Some((best, shrinking)) = result? else { return Ok(None) };
    settle(execution, trace, &best, shrinking)
}

/// The lightest attempt that is found, and facts about the way to it.
fn minimum(
    attempts: &mut Attempts,
    base: Attempt,
    effort: Effort,
) -> Result<(Attempt, Shrinking), MachineError> {
    let before = base.weight;
    let mut best = descend::to_local_minimum(attempts, base.clone())?;
    // Lowering values first results in another execution, and often in another minimum.
    if best.weight.values > 0
        && let Some(other) = descend::with_smaller_values(attempts, &base)?
    {
        let other = descend::to_local_minimum(attempts, other)?;
        best = if other < best { other } else { best };
    }
    let contended = Contended::of(attempts, &[&base, &best])?;
    let searched = cheapest::search(attempts, &best, &contended, effort)?;
    if let Some(found) = &searched.found {
        // It does not cost more. It depends less on the original trace, so it is taken even if it has more steps.
        best = descend::to_local_minimum(attempts, found.clone())?;
    }
    let shrinking = Shrinking {
        before,
        after: best.weight,
        fewer_preemptions_tried: searched.all_below(best.weight.preemptions),
        cheaper_tried: searched.all_cheaper(&best.weight),
        attempts: attempts.executed,
        stopped: attempts.stopped(),
    };
    Ok((best, shrinking))
}

/// Executes the best attempt once more, and makes it a trace that replays.
fn settle(
    execution: &mut Execution,
    original: &Trace,
    best: &Attempt,
    shrinking: Shrinking,
) -> Result<Option<Shrunk>, MachineError> {
    let outcome = attempt::execute(execution, &best.preference)?;
    let Outcome::Bug(bug) = &outcome else { return Ok(None) };
    let header = &original.header;
    let mut options = header.options.clone();
    options.retain(|(name, _)| name != record::BOUND && name != record::SWITCHES_BEFORE);
    options.extend(record::bounds(execution));
    options.push((record::SWITCHES_BEFORE.into(), shrinking.before.switches.to_string()));
    let origin =
        Origin { strategy: header.strategy.clone(), seed: header.seed, iteration: header.iteration, options };
    let trace = record::trace(execution, &outcome, origin);
    let replayed = replay::replay(execution, &trace, false)?;
    let bug = bug.clone();
    Ok(replayed.reproduces(&trace).then_some(Shrunk { trace, bug, shrinking }))
}

/// Locks shared data, also after a panic of another holder.
fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
