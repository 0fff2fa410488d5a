//! What needs no question: the one test that an access passes on the fast path.

use super::MemoryBounds;
use crate::runtime::heap::Heap;
use coyote_strategies::{OpKind, Operation};

/// Whether an operation is beyond doubt: detectors are not asked about it, unless one wants to be.
#[inline]
pub fn plainly_allowed(heap: &Heap, bounds: MemoryBounds, operation: &Operation) -> bool {
    if !operation.kind.accesses_memory() {
        return !uses_object(operation.kind) || heap.clean(operation.object, 1);
    }
    operation.size > 0
        && operation.object >= bounds.null_bytes
        && operation.object + u64::from(operation.size) <= bounds.memory_bytes
        && heap.clean(operation.object, operation.size)
        && operation.kind != OpKind::Copy
}

/// Whether an operation is about the sync object at an address, in memory that must not be freed. Not the
/// second half of a wait for a condvar: what it waits for is the mutex.
pub fn uses_object(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(
        kind,
        Lock | TryLock
            | Unlock
            | Wait
            | Signal
            | Broadcast
            | Init
            | Destroy
            | ReadLock
            | TryReadLock
            | WriteLock
            | TryWriteLock
            | RwUnlock
            | SemaphoreWait
            | SemaphoreTryWait
            | SemaphorePost
            | SemaphoreValue
            | BarrierWait
    )
}
