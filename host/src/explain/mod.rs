//! Why a bug happens, found out by experiment: what comes of its schedule with one choice changed, and of random
//! continuations from its states.
//!
//! - `likelihood`: which choice made the bug likely.
//! - `passing`: what would have had to happen instead there.
//! - `bug`: all of it for a found bug, which is shrunk first.
//! - `findability`: how often the bug is met, and so how many iterations without it make a fix believable.
//!
//! All of it is bounded by counts, and its random numbers have fixed seeds, so that a trace has the same explanation
//! everywhere. Where that would take too long, there is none, and the report says so ([`Explanation::out_of_time`]). What comes of it is [`Explanation`], plain data. "Likely" means: under a random walk, which
//! is not how the bug was found.
//!
//! After "bug likelihood over time" and "findability" of Antithesis, and the nearest passing schedule of Choi and
//! Zeller (2002). Zeller's delta debugging narrows two schedules; here the decisive choice is known, so that one
//! change is tried, and the rest of the schedule stays as it was.

mod bug;
mod findability;
mod likelihood;
mod meaning;
mod passing;
mod states;

use crate::diagnose::SourceLines;
use crate::execution::Execution;
use crate::explore::alarm;
use crate::machine::MachineError;
use crate::outcome::Outcome;
use crate::record;
use crate::replay::replay;
use crate::results::{BugIdentity, Decisive, Explanation, Passing};
use crate::trace::Trace;
use coyote_strategies::Decision;
use states::States;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use bug::{EXPERIMENTS_TIME, How, SHRINK_TIME, explain};
pub use findability::measure as findability;

/// What ends experiments that are on their way.
#[derive(Clone, Copy)]
pub struct Allowance<'a> {
    /// From their beginning.
    pub time: Duration,
    /// Raised when the user has had enough.
    pub interrupted: &'a AtomicBool,
}

impl Allowance<'static> {
    /// Of time alone.
    pub fn of(time: Duration) -> Allowance<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Allowance { time, interrupted: &NEVER }
    }
}

/// Why experiments end without a result.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("there was no more time")]
    OutOfTime,
}

/// The flag that is raised when the time of experiments is up.
#[derive(Clone, Copy)]
struct Time<'a>(&'a AtomicBool);

impl Time<'_> {
    /// To be asked after each execution, since one that was cut says nothing.
    fn check(self) -> Result<(), Ended> {
        if self.0.load(Ordering::Relaxed) { Err(Ended::OutOfTime) } else { Ok(()) }
    }
}

/// Makes experiments; `None` if they did not come to their end in time, or the user interrupted them.
fn in_time<R>(
    execution: &mut Execution,
    allowance: Allowance,
    body: impl FnOnce(&mut Execution, Time) -> Result<R, Ended>,
) -> Result<Option<R>, MachineError> {
    let result = alarm::with(Some(allowance.time), allowance.interrupted, |stop: &Arc<AtomicBool>| {
        execution.cancel_by(Some(stop.clone()));
        let result = body(execution, Time(stop));
        execution.cancel_by(None);
        result
    });
    match result {
        Ok(result) => Ok(Some(result)),
        Err(Ended::OutOfTime) => Ok(None),
        Err(Ended::Machine(error)) => Err(error),
    }
}

/// A bug and the schedule that shows it.
struct Subject<'a> {
    identity: &'a BugIdentity,
    lines: &'a Mutex<SourceLines>,
    /// The choices, by numbers of workers.
    path: Vec<Decision>,
    trace: &'a Trace,
}

impl Subject<'_> {
    /// Whether an execution ended with the same bug. Where a block of the heap was allocated is not looked at, which
    /// would need another execution.
    fn is_met(&self, execution: &Execution, outcome: &Outcome) -> bool {
        let Outcome::Bug(bug) = outcome else { return false };
        if bug.kind != self.identity.kind {
            return false;
        }
        let places = record::identity(execution, bug);
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let met = lines.identity(bug.kind, &places, None);
        met.detail == self.identity.detail && met.stacks == self.identity.stacks
    }
}

/// Adds to the explanation what experiments on the states of a trace say. Nothing if the program cannot be snapshotted.
///
/// # Errors
/// The machine's: of ours or of the environment.
pub fn experiments(
    execution: &mut Execution,
    trace: &Trace,
    identity: &BugIdentity,
    lines: &Mutex<SourceLines>,
    allowance: Allowance,
    explanation: &mut Explanation,
) -> Result<(), MachineError> {
    use coyote_strategies::System;
    if !execution.can_snapshot() {
        return Ok(());
    }
    replay(execution, trace, false)?;
    let path = execution.decisions();
    let subject = Subject { identity, lines, path, trace };
    let usual = execution.bound();
    execution.set_bound(Some(STEPS_FACTOR * execution.runtime().steps() + STEPS_MORE));
    let result = in_time(execution, allowance, |execution, time| experiments_on(execution, &subject, time));
    execution.set_bound(usual);
    let result = result?;
    explanation.out_of_time |= result.is_none();
    if let Some(Some((decisive, passing))) = result {
        explanation.passing = passing;
        // What chance may have made is not called decisive.
        explanation.decisive = decisive.is_clear().then_some(decisive);
    }
    Ok(())
}

/// A continuation may take this many times the steps of the trace and [`STEPS_MORE`] more. Beyond, it counts as
/// without the bug.
const STEPS_FACTOR: u64 = 4;
const STEPS_MORE: u64 = 1_000;

fn experiments_on(
    execution: &mut Execution,
    subject: &Subject,
    time: Time,
) -> Result<Option<(Decisive, Option<Passing>)>, Ended> {
    let mut states = States::new(execution, &subject.path, time)?;
    let Some(decisive) = likelihood::decisive(execution, subject, &mut states)? else { return Ok(None) };
    let passing = passing::nearest(execution, subject, &mut states, decisive.decision)?;
    Ok(Some((decisive, passing)))
}
