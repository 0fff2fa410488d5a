//! The filter before all detectors: the one test that an access passes on the fast path.

use super::MemoryBounds;
use crate::runtime::Runtime;
use crate::runtime::heap::Heap;
use coyote_strategies::{Class, OpKind, Operation, WorkerId};

/// Whether the announced operation of a worker is certainly no error: detectors are not asked about it,
/// unless one wants to be.
#[inline]
pub fn plainly_allowed(
    runtime: &Runtime,
    bounds: MemoryBounds,
    worker: WorkerId,
    operation: &Operation,
) -> bool {
    if !operation.kind.accesses_memory() {
        return !uses_object(operation.kind) || runtime.heap.clean(operation.object, 1);
    }
    is_plain(&runtime.heap, bounds, operation.object, operation.size)
        && (operation.kind != OpKind::Copy
            || is_plain(&runtime.heap, bounds, runtime.worker(worker).copy_source.into(), operation.size))
}

/// Whether an access of these bytes is certainly no error.
#[inline]
pub fn is_plain(heap: &Heap, bounds: MemoryBounds, address: u64, bytes: u32) -> bool {
    bytes > 0
        && address >= bounds.null_bytes
        && address + u64::from(bytes) <= bounds.memory_bytes
        && heap.clean(address, bytes)
}

/// Whether an operation uses the sync object at an address, in memory that must not be freed. The second half
/// of a wait for a condvar does not: it waits for the mutex.
pub fn uses_object(kind: OpKind) -> bool {
    match kind {
        OpKind::Init | OpKind::Destroy => true,
        OpKind::Relock | OpKind::FutexWait | OpKind::FutexNotify => false,
        _ => Class::of_sync_object(kind).is_some(),
    }
}
