//! Workers that wait in a circle while others can go on.

use super::{Context, Scheduler};
use crate::observe::Event;
use crate::outcome::{BugKind, Outcome};

impl Scheduler {
    /// Ends the iteration as soon as workers wait in a circle. If that is deferred, the runtime keeps the mark that
    /// there may be a circle.
    #[inline]
    pub(super) fn find_circle(&mut self, context: &mut Context) {
        if !self.defers
            && !self.closing
            && self.outcome.is_none()
            && self.runtime.take_may_circle()
            && !self.runtime.circle().is_empty()
        {
            self.runtime.stream.push(Event::Stuck);
            self.deliver(context);
        }
    }

    /// Replaces the outcome of an iteration in which that was deferred by a deadlock, if workers wait in a circle.
    #[inline]
    pub(super) fn call_deadlock(&mut self, context: &mut Context) {
        let deferred = self.defers || self.closing;
        if deferred && self.runtime.may_circle() && self.outcome.is_some() && !self.cancelled {
            self.mask(context);
        }
    }

    #[cold]
    fn mask(&mut self, context: &mut Context) {
        let is_one = matches!(&self.outcome, Some(Outcome::Bug(bug)) if bug.kind == BugKind::Deadlock);
        if is_one || self.runtime.circle().is_empty() {
            return;
        }
        let outcome = self.outcome.take();
        self.runtime.stream.push(Event::Stuck);
        self.deliver(context);
        match self.outcome {
            Some(_) => self.masked = outcome,
            None => self.outcome = outcome,
        }
    }
}
