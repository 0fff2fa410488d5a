//! An execution that is driven from outside: picks and values are given, one at a time.

use super::{Context, Scheduler, Unfinished};
use crate::outcome::{Bound, Outcome};
use coyote_strategies::{Pick, Status, WorkerId};

impl Scheduler {
    /// The step that waits for a value; it is part of the program's state.
    pub fn unfinished(&self) -> Option<Unfinished> {
        let (worker, bound) = self.choosing?;
        Some(Unfinished { worker, bound, values: self.values.clone() })
    }

    /// Restores a saved step that waits for a value.
    pub fn resume_unfinished(&mut self, unfinished: &Unfinished) {
        self.choosing = Some((unfinished.worker, unfinished.bound));
        self.values.clone_from(&unfinished.values);
    }

    /// The status of the execution, which shows what it needs from its driver.
    pub fn status(&self) -> Status {
        if let Some((_, bound)) = self.choosing {
            return Status::Choosing { bound };
        }
        match &self.outcome {
            None => Status::Ready,
            Some(Outcome::Passed) => Status::Passed,
            Some(Outcome::Bug(_)) => Status::Bug,
            Some(Outcome::Bound(Bound::Steps(_))) => Status::Unfinished,
            Some(Outcome::Bound(_) | Outcome::Abandoned) => Status::Abandoned,
        }
    }

    /// The worker that waits to be put in place.
    pub fn planned(&self) -> Option<WorkerId> {
        self.planned.map(|(worker, _)| worker)
    }

    /// Executes a pick from outside. Returns whether a worker now waits to be put in place.
    pub fn step(&mut self, pick: Pick, context: &mut Context) -> bool {
        self.runtime.footprint.clear();
        let view = self.runtime.view();
        self.decisions += u64::from(view.choices() > 1);
        self.concurrency = self.concurrency.max(view.enabled.len() as u32);
        self.record(pick);
        self.planned = self.execute(pick, context);
        self.planned.is_some()
    }

    /// Gives the value that [`Status::Choosing`] asks for. Returns the same as [`Scheduler::step`].
    pub fn choose(&mut self, value: u64, context: &mut Context) -> bool {
        let (worker, bound) = self.choosing.take().expect("a value was asked for");
        self.value(value, bound);
        self.planned = self.perform(worker, context).map(|result| (worker, result));
        self.planned.is_some()
    }
}
