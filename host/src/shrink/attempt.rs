//! One attempt: executes a preference from the start, and determines whether the bug is the same, and the weight.

use super::{Effort, lock};
use crate::diagnose::{self, SourceLines};
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::machine::scheduler::Looks;
use crate::outcome::Outcome;
use crate::results::BugIdentity;
use coyote_strategies::{Guided, Iteration, Preference, Recorded, Strategy, Weight};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// An execution that ended with the bug. A smaller attempt is easier to read; the preference makes the order total.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    pub weight: Weight,
    /// The executed preference.
    pub preference: Arc<Preference>,
}

/// Executes attempts, until their steps are used up or `stop` is raised.
pub struct Attempts<'a> {
    pub execution: &'a mut Execution,
    lines: &'a Mutex<SourceLines>,
    /// The identity of the bug.
    target: BugIdentity,
    stop: Arc<AtomicBool>,
    steps_left: u64,
    /// The hashes of preferences that were tried.
    tried: BTreeSet<u64>,
    pub executed: u64,
    cancelled: bool,
}

/// The maximum number of steps of an attempt is this multiple of the original's, plus [`STEPS_MORE`]; a longer one is
/// of no use.
const STEPS_FACTOR: u64 = 2;
const STEPS_MORE: u64 = 1_000;

impl<'a> Attempts<'a> {
    pub fn new(
        execution: &'a mut Execution,
        lines: &'a Mutex<SourceLines>,
        target: BugIdentity,
        effort: Effort,
        stop: Arc<AtomicBool>,
    ) -> Attempts<'a> {
        let steps_max = execution.runtime().steps() * STEPS_FACTOR + STEPS_MORE;
        execution.set_bound(Some(steps_max));
        execution.cancel_by(Some(stop.clone()));
        Attempts {
            execution,
            lines,
            target,
            stop,
            steps_left: effort.attempt_steps_max,
            tried: BTreeSet::new(),
            executed: 0,
            cancelled: false,
        }
    }

    /// Ends the attempts.
    pub fn finish(self) {
        self.execution.cancel_by(None);
    }

    /// Whether a limit was reached before everything was tried.
    pub fn stopped(&self) -> bool {
        self.cancelled || self.steps_left == 0
    }

    /// Whether the limits allow more attempts.
    pub fn may_go_on(&mut self) -> bool {
        self.cancelled |= self.stop.load(Ordering::Relaxed);
        !self.stopped()
    }

    /// Executes the schedule of the found trace as the first attempt.
    pub fn base(&mut self, schedule: &[Recorded]) -> Result<Option<Attempt>, MachineError> {
        self.run(Guided::new(Arc::new(Preference::of(schedule))), 0)
    }

    /// Executes an edit of the best attempt, unless the same preference was tried before. `None` also if it is no
    /// smaller attempt than the best one.
    pub fn try_edit(&mut self, edited: Preference, best: &Attempt) -> Result<Option<Attempt>, MachineError> {
        let mut hasher = DefaultHasher::new();
        edited.hash(&mut hasher);
        if !self.tried.insert(hasher.finish()) {
            return Ok(None);
        }
        self.run_below(Guided::new(Arc::new(edited)), 0, Some(best))
    }

    /// Executes a schedule; `number` selects one of its random ends. `None`: it does not end with the bug, or a limit is
    /// reached.
    pub fn run(&mut self, guided: Guided, number: u64) -> Result<Option<Attempt>, MachineError> {
        self.run_below(guided, number, None)
    }

    /// As [`Attempts::run`]. `None` also if it is no smaller attempt than the best one.
    fn run_below(
        &mut self,
        guided: Guided,
        number: u64,
        best: Option<&Attempt>,
    ) -> Result<Option<Attempt>, MachineError> {
        if !self.may_go_on() {
            return Ok(None);
        }
        self.executed += 1;
        let guided = match best {
            Some(best) => guided.up_to(best.weight),
            None => guided,
        };
        let weight = guided.weight();
        let outcome = run(self.execution, Box::new(guided), number)?;
        self.steps_left = self.steps_left.saturating_sub(self.execution.runtime().steps().max(1));
        self.cancelled |= self.execution.cancelled();
        let Outcome::Bug(bug) = outcome else { return Ok(None) };
        if bug.kind != self.target.kind || bug.evidence.detail() != self.target.detail {
            return Ok(None);
        }
        let preference = Arc::new(Preference::of(&self.execution.recorded()));
        let attempt = Attempt { weight: *lock(&weight), preference };
        if best.is_some_and(|best| attempt >= *best) {
            return Ok(None);
        }
        let is_same = diagnose::identity(self.execution, &bug, self.lines)? == self.target;
        Ok(is_same.then_some(attempt))
    }
}

/// Executes a preference.
pub fn execute(execution: &mut Execution, preference: &Arc<Preference>) -> Result<Outcome, MachineError> {
    run(execution, Box::new(Guided::new(preference.clone())), 0)
}

fn run(execution: &mut Execution, strategy: Box<dyn Strategy>, number: u64) -> Result<Outcome, MachineError> {
    let iteration = Iteration { seed: 0, index: number };
    Ok(execution.looking(Looks::Never, |execution| execution.run(strategy, iteration))?.0)
}
