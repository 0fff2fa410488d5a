//! Indices of a history's steps, where timeouts are steps too, by choices and by numbers of steps.

use crate::trace::Decision;

/// See the module's documentation.
pub struct StepIndex {
    /// Indices by decision.
    decisions: Vec<usize>,
    /// Indices by number, from 1.
    numbers: Vec<usize>,
}

impl StepIndex {
    /// The indices for the choices of a trace.
    pub fn of(choices: &[Decision]) -> StepIndex {
        let (mut decisions, mut numbers, mut next) = (Vec::new(), Vec::new(), 0_usize);
        for decision in choices {
            match decision {
                Decision::Step { .. } => {
                    numbers.push(next);
                    next += 1;
                }
                Decision::Timeout { .. } => next += 1,
                // A value belongs to the step before it.
                Decision::Value { .. } => {}
            }
            decisions.push(next.saturating_sub(1));
        }
        StepIndex { decisions, numbers }
    }

    /// The index of the step that a choice is, or that it is a value of.
    pub fn of_decision(&self, decision: usize) -> usize {
        self.decisions.get(decision).copied().unwrap_or(self.len())
    }

    /// The index of the step with this number, from 1; for 0 that of the first step.
    pub fn of_number(&self, number: u64) -> usize {
        let at = (number as usize).checked_sub(1);
        at.map_or(0, |at| self.numbers.get(at).copied().unwrap_or(self.len()))
    }

    /// One more than the last index.
    fn len(&self) -> usize {
        self.decisions.last().map_or(0, |last| last + 1)
    }
}
