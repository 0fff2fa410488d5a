//! The stacks with which tasks reported what they await: see [`crate::runtime::awaits`].
//!
//! Taking such a stack costs more than anything else of an `await` that waits, and only the report of a bug shows it. So the
//! iterations of an exploration take none. An iteration that ends with a bug while a task waits is executed once more, with
//! the same choices and with stacks, before anybody looks at it. From then on, this execution takes them at once.

use super::{Execution, MachineError};
use crate::machine::scheduler::{Choice, Looks};
use crate::observe::Observers;
use crate::outcome::Outcome;
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::{Decision, Iteration, Strategy};

impl Execution {
    /// Lets iterations of [`Execution::run`] take stacks of awaits only if they end with a bug. What drives the execution in
    /// other ways takes none either. No effect if executing an iteration twice could be noticed: in directories of the
    /// host, or in counts of executed instructions.
    pub fn take_awaits_of_bugs(&mut self) {
        let at_once = self.machine.directories().any() || self.machine.counts_anything();
        self.machine.take_awaits(at_once);
    }

    /// Executes the iteration that has just ended with this bug once more, if stacks of awaits are missing.
    pub(super) fn take_missing_awaits(&mut self, bug: &Outcome, fair: bool) -> Result<(), MachineError> {
        if !self.runtime().misses_awaits() {
            return Ok(());
        }
        self.machine.take_awaits(true);
        let course = |execution: &Execution| {
            let scheduler = execution.machine.scheduler();
            (scheduler.choices.clone(), scheduler.decisions, scheduler.concurrency)
        };
        let (choices, decisions, concurrency) = course(self);
        // Observers have seen this iteration.
        let observers = self.machine.set_observers(Observers::mute);
        let again = self.follow(&choices, fair);
        self.machine.set_observers(|all| all.unmute(observers));
        again?;
        let scheduler = self.machine.scheduler_mut();
        if scheduler.cancelled {
            return Ok(());
        }
        // What only a look at the state has shown is not found again: there the choices end.
        if scheduler.outcome == Some(Outcome::Abandoned) {
            scheduler.outcome = Some(bug.clone());
        }
        if scheduler.outcome.as_ref() != Some(bug) || course(self) != (choices, decisions, concurrency) {
            let why = format!("the choices that led to {bug:?} led elsewhere when they were made again");
            return Err(MachineError::Internal(why));
        }
        Ok(())
    }

    /// Makes these choices from the start, and no others.
    fn follow(&mut self, choices: &[Choice], fair: bool) -> Result<(), MachineError> {
        let path = choices.iter().map(|choice| Decision::from(*choice)).collect();
        let mut follow = Box::new(Follow::new(path, fair));
        follow.begin(Iteration { seed: 0, index: 0 });
        self.machine.scheduler_mut().looks = Looks::Never;
        self.machine.begin()?;
        self.machine.scheduler_mut().strategy = Some(follow);
        let result = self.machine.run();
        self.machine.scheduler_mut().strategy = None;
        result
    }
}
