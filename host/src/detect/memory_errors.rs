//! Accesses that the guest must not make: of null, beyond memory, of freed blocks and behind blocks; and frees of
//! addresses that are no blocks.
//!
//! An access is checked when its worker is picked, not when it announces the access: other workers may free the block
//! in between. Exempt are an allocator's accesses of its own heap, and a worker's accesses of its own freed stack:
//! thread libraries free the stack of a thread that has announced its end, while its last instructions still run on it.
//!
//! docs/memory-errors.md lists what is not found. Without `Options::memory_errors`, nothing is known of blocks, and
//! only null and the end of memory are checked. Cost: the detector is asked only about accesses that the map of the
//! heap does not plainly allow (`observe/filter.rs`), which is a test of a byte for each access.

use crate::evidence::{Block, Evidence, HeapAccess, Trap};
use crate::observe::{Attempt, Detector, Finding, GuestState, Interest, uses_object};
use crate::outcome::{Bug, BugKind};
use crate::runtime::heap::{BlockRef, HeapError};
use crate::runtime::{Request, Runtime};
use coyote_strategies::{Access, Effect, OpKind, Operation, WorkerId};

/// See the module's documentation. It has no state: the heap belongs to the runtime.
pub struct MemoryErrors;

impl Detector for MemoryErrors {
    fn interest(&self) -> Interest {
        Interest::empty()
    }

    fn veto(&self, state: &GuestState<'_>, worker: WorkerId, attempt: &Attempt<'_>) -> Option<Finding> {
        match *attempt {
            Attempt::Operation(operation) => forbidden_operation(state, worker, operation),
            Attempt::Unannounced(access) => forbidden(state, worker, range_of(access), unannounced(access)),
            Attempt::Host(access) => forbidden_to_host(state, worker, access),
            Attempt::Object { address } => freed_object(state.runtime, worker, address.into(), USE_OF_OBJECT),
            Attempt::Free { address } => {
                let block = state.runtime.heap.free_error(worker, address)?;
                let evidence = Evidence::Free { address, block: described(&block) };
                Some(of_block(worker, block, evidence))
            }
        }
    }
}

/// A range of guest memory that an operation touches.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub address: u64,
    pub bytes: u32,
    write: bool,
}

fn range_of(access: &Access) -> Range {
    Range { address: access.object, bytes: access.size, write: access.effect == Effect::Write }
}

/// The ranges of memory that a worker's announced operation accesses, except for sync objects.
pub(super) fn touched(
    state: &GuestState<'_>,
    worker: WorkerId,
    operation: &Operation,
) -> impl Iterator<Item = Range> {
    let range = |address: u64, bytes: u32, write: bool| Range { address, bytes, write };
    let mut ranges = [None, None];
    let doer = state.runtime.worker(worker);
    match operation.kind {
        OpKind::FutexWait => {
            // A worker that was woken has already read the value, and the worker that woke it may have freed
            // the memory.
            if let Request::FutexWait { address, bytes, .. } = doer.request
                && !doer.waiting
            {
                ranges[0] = Some(range(address.into(), bytes.into(), false));
            }
        }
        OpKind::Copy => {
            ranges[0] = Some(range(operation.object, operation.size, true));
            ranges[1] = Some(range(doer.copy_source.into(), operation.size, false));
        }
        kind if kind.accesses_memory() => {
            ranges[0] = Some(range(operation.object, operation.size, kind.writes()));
        }
        _ => {}
    }
    ranges.into_iter().flatten()
}

/// The finding if the worker must not execute its announced operation.
fn forbidden_operation(state: &GuestState<'_>, worker: WorkerId, operation: &Operation) -> Option<Finding> {
    let Operation { kind, object, .. } = *operation;
    if uses_object(kind) {
        // The worker that ends a wait may free the object of the wait.
        if state.runtime.worker(worker).waiting {
            return None;
        }
        return freed_object(state.runtime, worker, object, kind.name());
    }
    touched(state, worker, operation).find_map(|r| forbidden(state, worker, r, kind.name()))
}

/// The use of a sync object that a library finds wrong, as a part of a sentence.
pub(super) const USE_OF_OBJECT: &str = "use of a sync object";

/// An access by the host, as a part of a sentence.
pub(super) fn by_host(access: &Access) -> &'static str {
    if access.effect == Effect::Write { "write by the host" } else { "read by the host" }
}

/// An access that is no scheduling point, as a part of a sentence.
pub(super) fn unannounced(access: &Access) -> &'static str {
    if access.effect == Effect::Write { OpKind::Store.name() } else { OpKind::Load.name() }
}

/// The finding if the worker must not let the host make this access.
fn forbidden_to_host(state: &GuestState<'_>, worker: WorkerId, access: &Access) -> Option<Finding> {
    // An access beyond memory is an error that the call returns to the guest.
    let within = access.object + u64::from(access.size) <= state.bounds.memory_bytes;
    if within { forbidden(state, worker, range_of(access), by_host(access)) } else { None }
}

fn forbidden(state: &GuestState<'_>, worker: WorkerId, range: Range, what: &'static str) -> Option<Finding> {
    let Range { address, bytes, write } = range;
    let heap = &state.runtime.heap;
    if bytes == 0 && address <= state.bounds.memory_bytes {
        return None;
    }
    let trap = |trap: Trap| {
        let bug = Bug { kind: BugKind::Trap, evidence: Evidence::Trap(trap), worker: Some(worker) };
        Some(bug.into())
    };
    if address < state.bounds.null_bytes {
        return trap(Trap::NullPointer { address });
    }
    if address + u64::from(bytes) > state.bounds.memory_bytes {
        return trap(Trap::Memory);
    }
    if heap.clean(address, bytes) || heap.allocating(worker) {
        return None;
    }
    let wrong = match freed(state.runtime, worker, range) {
        Some(wrong) => wrong,
        None => match heap.wrong(address as u32, bytes, write)? {
            HeapError::Freed(_) => return None,
            beyond => beyond,
        },
    };
    Some(heap_error(worker, wrong, what, address, bytes))
}

/// The finding if a sync object that a worker uses lies in a block that was freed.
fn freed_object(runtime: &Runtime, worker: WorkerId, object: u64, what: &'static str) -> Option<Finding> {
    let wrong = freed(runtime, worker, Range { address: object, bytes: 1, write: false })?;
    Some(heap_error(worker, wrong, what, object, 0))
}

/// The error if a range was freed, and is not a part of the worker's own stack.
fn freed(runtime: &Runtime, worker: WorkerId, range: Range) -> Option<HeapError> {
    let wrong = runtime.heap.wrong(range.address as u32, range.bytes, range.write)?;
    let HeapError::Freed(freed) = wrong else { return None };
    let stack = runtime.worker(worker).start.stack;
    let own = stack.is_some_and(|(low, high)| {
        let (start, end) = (freed.block.address, freed.block.address.saturating_add(freed.block.bytes));
        (start..=end).contains(&low) && (start..=end).contains(&high)
    });
    if own { None } else { Some(wrong) }
}

fn heap_error(worker: WorkerId, wrong: HeapError, what: &'static str, address: u64, bytes: u32) -> Finding {
    let block = wrong.blame();
    let access = HeapAccess { what: what.into(), address, bytes, block: described(&block) };
    of_block(worker, block, Evidence::HeapAccess(access))
}

fn of_block(worker: WorkerId, block: BlockRef, evidence: Evidence) -> Finding {
    Finding { bug: Bug { kind: block.kind, evidence, worker: Some(worker) }, block: Some(block) }
}

fn described(block: &BlockRef) -> Block {
    let BlockRef { kind, address, bytes, freed, .. } = *block;
    Block { kind, address, bytes, freed: freed.is_some() }
}
