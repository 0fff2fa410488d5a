//! The end of an iteration: checks whether it has ended, and with which outcome.

use super::{Context, Scheduler};
use crate::observe::Event;
use crate::outcome::Outcome;
use crate::runtime::Progress;

impl Scheduler {
    /// Checks whether the iteration has ended. The context can be left out while a worker runs: that worker can go on,
    /// and circles of waiting workers were searched for after the last step.
    pub fn check_end(&mut self, mut context: Option<&mut Context>) {
        if let Some(context) = context.as_deref_mut() {
            self.find_circle(context);
        }
        self.find_end(context.as_deref_mut());
        if let Some(context) = context {
            self.call_deadlock(context);
        }
    }

    fn find_end(&mut self, mut context: Option<&mut Context>) {
        if !self.runtime.events.is_empty() && self.strategy.is_some() {
            self.tell();
        }
        if self.outcome.is_none() && self.runtime.steps() >= self.look_up_at && self.is_cancelled() {
            self.cancelled = true;
            self.outcome = Some(Outcome::Abandoned);
        }
        if self.outcome.is_some() {
            return;
        }
        match self.runtime.progress() {
            Progress::Ready => {}
            Progress::Over { left_blocked } => {
                self.left_blocked = left_blocked;
                self.outcome = Some(Outcome::Passed);
            }
            Progress::AssumedAway => self.outcome = Some(Outcome::Abandoned),
            Progress::Deadlock => {
                self.runtime.stream.push(Event::Stuck);
                self.deliver(context.as_deref_mut().expect("the running worker can go on"));
                // The detector of deadlocks, which is always present, has set the outcome. Without it, there
                // is no verdict.
                self.outcome.get_or_insert(Outcome::Abandoned);
            }
        }
        if self.runtime.steps() >= self.look_up_at && self.outcome.is_none() {
            self.look_up();
        }
        if let Some(deadline) = self.runtime.monitors.deadline().filter(|_| !self.closing && !self.looking) {
            self.overheat(deadline, context);
        }
    }
}
