//! Where a worker was at a step: for the report of a data race, whose schedule is executed once more with this observer.

use super::{Event, GuestState, Interest, Observer};
use coyote_instrumenter::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// The stack with which a step begins.
pub struct StepProbe {
    /// The number of the step, from 1.
    step: u64,
    stack: Stack,
}

/// What it has found out so far.
#[derive(Clone, Default)]
pub struct Stack(Arc<Mutex<Option<Vec<Location>>>>);

impl Stack {
    /// Innermost first; `None` if there was no such step.
    pub fn take(&self) -> Option<Vec<Location>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl StepProbe {
    /// A probe of the step of this number, from 1, and where it puts what it finds out.
    pub fn new(step: u64) -> (StepProbe, Stack) {
        let stack = Stack::default();
        (StepProbe { step, stack: stack.clone() }, stack)
    }
}

impl Observer for StepProbe {
    fn interest(&self) -> Interest {
        Interest::STEPS | Interest::STACKS
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let Event::Step(step) = event else { return };
        if step.number + 1 == self.step {
            *self.stack.0.lock().unwrap_or_else(PoisonError::into_inner) = state.stack(step.pick.worker());
        }
    }
}
