//! The history of the heap block that a memory error is about.
//!
//! Allocations and frees are not recorded with their stacks while tests are explored. A memory error contains the
//! numbers of these events, and executing the same schedule once more shows where they were.

use crate::execution::Execution;
use crate::machine::MachineError;
use crate::observe::heap_probe::{HeapProbe, ProbeHit};
use crate::replay::replay;
use crate::results::{BlockHistory, PastEvent};
use crate::trace::Trace;

/// Replays `trace`, the trace of the iteration that the execution has just ended. `None` if the bug is not about a
/// block.
pub fn of(execution: &mut Execution, trace: &Trace) -> Result<Option<BlockHistory>, MachineError> {
    let Some(blame) = execution.machine().scheduler().blame else { return Ok(None) };
    let events: Vec<u32> = [Some(blame.allocated), blame.freed].into_iter().flatten().collect();
    let (probe, hits) = HeapProbe::new(events);
    super::watched(execution, Box::new(probe), |execution| replay(execution, trace, false))?;
    let event = |number: u32| {
        let ProbeHit { worker, step, stack } = hits.of(number)?;
        Some(PastEvent { title: execution.runtime().title(worker), step, stack })
    };
    Ok(Some(BlockHistory {
        address: blame.address,
        bytes: blame.bytes,
        allocated: event(blame.allocated),
        freed: blame.freed.and_then(event),
    }))
}
