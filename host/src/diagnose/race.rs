//! Where the first access of a data race was.
//!
//! A detector keeps the step of an access and not its stack: the same schedule, executed once more, shows it.

use crate::evidence::Evidence;
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::observe::step_probe::StepProbe;
use crate::outcome::Bug;
use crate::replay::replay;
use crate::results::PastEvent;
use crate::trace::Trace;

/// Executes once more what the execution has just ended with; the trace is of that. `None` if the bug is no race.
pub fn first_access(
    execution: &mut Execution,
    bug: &Bug,
    trace: &Trace,
) -> Result<Option<PastEvent>, MachineError> {
    let Evidence::Race { first, .. } = &bug.evidence else { return Ok(None) };
    let (probe, stack) = StepProbe::new(first.step);
    super::watched(execution, Box::new(probe), |execution| replay(execution, trace, false))?;
    let (title, step) = (first.title.clone(), first.step);
    // Of an access that is no scheduling point, the place is known, and not how the worker came there.
    let stack = stack.take().filter(|stack| first.location.is_none_or(|at| stack.first() == Some(&at)));
    let stack = stack.unwrap_or_else(|| first.location.into_iter().collect());
    Ok(Some(PastEvent { title, step, stack }))
}
