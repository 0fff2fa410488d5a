//! Iterations that are interrupted before their end, to look for livelocks and lassos.

use super::prove_livelock::{self, Effort};
use super::{Execution, MachineError, prove_lasso};
use crate::lasso::Given;
use crate::machine::scheduler::Looks;
use crate::outcome::{Bug, BugKind, Outcome};
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::{Decision, Iteration};

impl Execution {
    /// Lets the guest run to the end of the iteration. Where the scheduler interrupts it to be looked at, a livelock or
    /// a lasso ends it.
    pub(super) fn run_and_look(&mut self) -> Result<(), MachineError> {
        loop {
            self.machine.run()?;
            let scheduler = self.machine.scheduler();
            if !scheduler.looking || scheduler.outcome.is_some() {
                return Ok(());
            }
            let steps = scheduler.runtime.steps();
            let for_lasso = match self.looks {
                Looks::AfterRound(_) => true,
                Looks::WhenSuspicious => scheduler.lasso_at.is_some_and(|step| steps >= step),
                _ => false,
            };
            if for_lasso {
                self.look_for_lasso(steps)?;
            }
            // At the bound, it looks for a livelock, too.
            let scheduler = self.machine.scheduler();
            let round = matches!(self.looks, Looks::AfterRound(_));
            if scheduler.outcome.is_none() && !(for_lasso && (round || steps < scheduler.steps_max())) {
                self.look_for_livelock(steps)?;
            }
            let scheduler = self.machine.scheduler_mut();
            if scheduler.outcome.is_none() {
                scheduler.go_on();
            }
            if scheduler.outcome.is_some() {
                self.machine.end_iteration();
                return Ok(());
            }
        }
    }

    fn look_for_lasso(&mut self, steps: u64) -> Result<(), MachineError> {
        self.lasso = match &self.given.clone().filter(|_| matches!(self.looks, Looks::AfterRound(_))) {
            Some(given) => prove_lasso::confirm(self, given)?,
            None => prove_lasso::prove(self, self.lassos)?,
        };
        let next = self.lasso_looks.iter().find(|step| **step > steps).copied();
        let scheduler = self.machine.scheduler_mut();
        scheduler.lasso_at = next;
        scheduler.outcome = self.lasso.as_ref().map(|lasso| Outcome::Bug(lasso.bug()));
        Ok(())
    }

    fn look_for_livelock(&mut self, steps: u64) -> Result<(), MachineError> {
        // An iteration that is only suspicious is not worth much effort: it is looked at again at twice as
        // many steps.
        let walk_max = match self.looks {
            Looks::After(_) => self.livelock_states_max,
            _ => usize::try_from(steps / 16).unwrap_or(usize::MAX).clamp(64, 2_048),
        };
        let effort = Effort { states_max: self.livelock_states_max, walk_max };
        self.livelock = prove_livelock::prove(self, effort)?;
        let outcome = self.livelock.as_ref().map(|livelock| Outcome::Bug(livelock.bug()));
        self.machine.scheduler_mut().outcome = outcome;
        Ok(())
    }

    /// Executes the iteration that has just ended with this bug again, if it is a livelock or a lasso, and ends it as
    /// early as that can be proved. Returns the bug at that point.
    ///
    /// # Errors
    /// As [`Execution::run`]; also if it cannot be proved again, which is a bug in this tool.
    pub(crate) fn shorten(&mut self, bug: &Bug) -> Result<Bug, MachineError> {
        match bug.kind {
            BugKind::Livelock => prove_livelock::shorten(self),
            _ if self.lasso.is_some() => prove_lasso::shorten(self),
            _ => Ok(bug.clone()),
        }
    }

    /// Executes these choices, and nothing more. The outcome is a livelock if they lead into one.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub(crate) fn run_into_livelock(
        &mut self,
        path: &[Decision],
        fair: bool,
    ) -> Result<Outcome, MachineError> {
        self.run_to_look(path, fair, Looks::After(path.len()))
    }

    /// [`Execution::run_into_livelock`] for choices that have led to a lasso; `given`: its round, if it is known.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub(crate) fn run_into_round(
        &mut self,
        path: &[Decision],
        fair: bool,
        given: Option<Given>,
    ) -> Result<Outcome, MachineError> {
        self.going_round(given, |execution| execution.run_to_look(path, fair, Looks::AfterRound(path.len())))
    }

    /// Calls `function`, which executes a path to a round, with the round that is to be confirmed there; `None`: it is
    /// searched for.
    pub(crate) fn going_round<R>(
        &mut self,
        given: Option<Given>,
        function: impl FnOnce(&mut Execution) -> R,
    ) -> R {
        self.given = given;
        let result = function(self);
        self.given = None;
        result
    }

    fn run_to_look(&mut self, path: &[Decision], fair: bool, looks: Looks) -> Result<Outcome, MachineError> {
        let follow = Box::new(Follow::new(path.to_vec(), fair));
        let iteration = Iteration { seed: 0, index: 0 };
        Ok(self.looking(looks, |execution| execution.run(follow, iteration))?.0)
    }
}
