//! Why a bug happens, found out by experiment: what comes of its schedule with one choice changed, and of random
//! continuations from its states.
//!
//! - `likelihood`: which choice made the bug likely.
//! - `passing`: what would have had to happen instead there.
//! - `bug`: all of it for a found bug, which is shrunk first.
//! - `findability`: how often the bug is met, and so how many iterations without it make a fix believable.
//!
//! All of it is bounded by counts and not by time, and its random numbers have fixed seeds, so that a trace has the same
//! explanation everywhere. What comes of it is [`Explanation`], plain data. "Likely" means: under a random walk, which
//! is not how the bug was found.
//!
//! After "bug likelihood over time" and "findability" of Antithesis, and the nearest passing schedule of Choi and
//! Zeller (2002). Zeller's delta debugging narrows two schedules; here the decisive choice is known, so that one
//! change is tried, and the rest of the schedule stays as it was.

mod bug;
mod findability;
mod likelihood;
mod passing;
mod states;

use crate::diagnose::SourceLines;
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::outcome::Outcome;
use crate::record;
use crate::replay::replay;
use crate::results::{BugIdentity, Explanation};
use crate::trace::Trace;
use coyote_strategies::Decision;
use states::States;
use std::sync::{Mutex, PoisonError};

pub use bug::{How, SHRINK_TIME, explain};
pub use findability::measure as findability;

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
    explanation: &mut Explanation,
) -> Result<(), MachineError> {
    use coyote_strategies::System;
    if !execution.can_snapshot() {
        return Ok(());
    }
    replay(execution, trace, false)?;
    let path: Vec<Decision> = execution.choices().iter().map(|choice| Decision::from(*choice)).collect();
    let subject = Subject { identity, lines, path, trace };
    let usual = execution.bound();
    execution.set_bound(Some(STEPS_FACTOR * execution.runtime().steps() + STEPS_MORE));
    let result = experiments_on(execution, &subject, explanation);
    execution.set_bound(usual);
    result
}

/// A continuation may take this many times the steps of the trace and [`STEPS_MORE`] more. Beyond, it counts as
/// without the bug.
const STEPS_FACTOR: u64 = 4;
const STEPS_MORE: u64 = 1_000;

fn experiments_on(
    execution: &mut Execution,
    subject: &Subject,
    explanation: &mut Explanation,
) -> Result<(), MachineError> {
    let mut states = States::new(execution, &subject.path)?;
    let Some(decisive) = likelihood::decisive(execution, subject, &mut states)? else { return Ok(()) };
    explanation.passing = passing::nearest(execution, subject, &mut states, decisive.decision)?;
    // What chance may have made is not called decisive.
    explanation.decisive = decisive.is_clear().then_some(decisive);
    Ok(())
}
