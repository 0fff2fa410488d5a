//! What the value decides that an operation needs next.

use crate::execution::Execution;
use crate::results::Meaning;

/// `None` if the guest asked for a number.
pub fn of_next_value(execution: &Execution) -> Option<Meaning> {
    let (runtime, scheduler) = (execution.runtime(), execution.machine().scheduler());
    if let Some(name) = runtime.fault_asked() {
        return Some(Meaning::Fault { name });
    }
    let unfinished = scheduler.unfinished()?;
    let waiting = runtime.wakeable(unfinished.worker, &unfinished.values)?;
    Some(Meaning::Wakes { titles: waiting.into_iter().map(|id| runtime.title(id)).collect() })
}
