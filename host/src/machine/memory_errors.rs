//! Accesses that the guest must not make: of null, beyond memory, of freed blocks and behind blocks.
//!
//! An access is looked at when its worker was picked, not when it announced it: others may free the block
//! in between. Nobody minds what an allocator does to its own heap, nor what a worker does on its own
//! stack after somebody freed that: libraries that create threads take the stack of a thread back that
//! has said its last word, while it still has instructions to execute that return from there.

use super::scheduler::Scheduler;
use crate::evidence::{Block, Evidence, HeapAccess, Trap};
use crate::outcome::{Bug, BugKind};
use crate::runtime::Request;
use crate::runtime::heap::{BlockRef, HeapError, LiveBlock};
use coyote_strategies::{Access, Effect, OpKind, Operation, WorkerId};

/// Why a worker must not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub bug: Bug,
    /// The block concerned, if it is one of the heap.
    pub blame: Option<BlockRef>,
}

/// A range of guest memory that an operation touches.
#[derive(Clone, Copy)]
struct Range {
    address: u64,
    bytes: u32,
    write: bool,
}

/// Whether an operation is about the sync object at an address, in memory that must not be freed. Not the
/// second half of a wait for a condvar: what it waits for is the mutex.
fn concerns_object(kind: OpKind) -> bool {
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

impl Scheduler {
    /// Whether an operation is beyond doubt.
    #[inline]
    fn plainly_allowed(&self, operation: &Operation) -> bool {
        if !operation.kind.accesses_memory() {
            return !concerns_object(operation.kind) || self.runtime.heap.clean(operation.object, 1);
        }
        operation.size > 0
            && operation.object >= self.null_bytes
            && operation.object + u64::from(operation.size) <= self.memory_bytes
            && self.runtime.heap.clean(operation.object, operation.size)
            && operation.kind != OpKind::Copy
    }

    /// Why the worker must not do what it announced, if it must not.
    #[inline]
    pub fn violation(&self, worker: WorkerId, operation: &Operation) -> Option<Finding> {
        if self.plainly_allowed(operation) { None } else { self.looked_into(worker, operation) }
    }

    /// The same, with all that can excuse an operation that is not beyond doubt.
    #[cold]
    fn looked_into(&self, worker: WorkerId, operation: &Operation) -> Option<Finding> {
        let range = |address: u64, bytes: u32, write: bool| Range { address, bytes, write };
        let mut ranges = [None, None];
        let state = self.runtime.worker(worker);
        match operation.kind {
            OpKind::FutexWait => {
                // Woken, it has read already; and whoever woke it may have freed the memory.
                if let Request::FutexWait { address, bytes, .. } = state.request
                    && !state.waiting
                {
                    ranges[0] = Some(range(address.into(), bytes.into(), false));
                }
            }
            OpKind::Copy => {
                ranges[0] = Some(range(operation.object, operation.size, true));
                ranges[1] = Some(range(state.copy_source.into(), operation.size, false));
            }
            kind if kind.accesses_memory() => {
                ranges[0] = Some(range(operation.object, operation.size, kind.writes()));
            }
            // Whoever ends a wait may free what was waited for.
            kind if concerns_object(kind) && state.waiting => return None,
            kind if concerns_object(kind) => {
                let wrong = self.freed(worker, range(operation.object, 1, false))?;
                return Some(self.heap_violation(worker, wrong, operation.kind.name(), operation.object, 0));
            }
            _ => return None,
        }
        ranges.into_iter().flatten().find_map(|r| self.forbidden(worker, r, operation.kind.name()))
    }

    /// Why the worker must not let the host make these accesses.
    pub fn violation_by_host(&self, worker: WorkerId, accesses: &[Access]) -> Option<Finding> {
        accesses.iter().find_map(|access| {
            let write = access.effect == Effect::Write;
            let what = if write { "write by the host" } else { "read by the host" };
            let range = Range { address: access.object, bytes: access.size, write };
            // Beyond memory it is an error that the guest is told.
            let within = access.object + u64::from(access.size) <= self.memory_bytes;
            if within { self.forbidden(worker, range, what) } else { None }
        })
    }

    fn forbidden(&self, worker: WorkerId, range: Range, what: &'static str) -> Option<Finding> {
        let Range { address, bytes, write } = range;
        if bytes == 0 && address <= self.memory_bytes {
            return None;
        }
        let trap = |trap: Trap| {
            let bug = Bug { kind: BugKind::Trap, evidence: Evidence::Trap(trap), worker: Some(worker) };
            Some(Finding { bug, blame: None })
        };
        if address < self.null_bytes {
            return trap(Trap::NullPointer { address });
        }
        if address + u64::from(bytes) > self.memory_bytes {
            return trap(Trap::Memory);
        }
        if self.runtime.heap.clean(address, bytes) || self.runtime.heap.allocating(worker) {
            return None;
        }
        let wrong = match self.freed(worker, range) {
            Some(wrong) => wrong,
            None => match self.runtime.heap.wrong(address as u32, bytes, write)? {
                HeapError::Freed(_) => return None,
                beyond => beyond,
            },
        };
        Some(self.heap_violation(worker, wrong, what, address, bytes))
    }

    /// Whether a range was freed, and is not a part of the worker's own stack.
    fn freed(&self, worker: WorkerId, range: Range) -> Option<HeapError> {
        let wrong = self.runtime.heap.wrong(range.address as u32, range.bytes, range.write)?;
        let HeapError::Freed(freed) = wrong else { return None };
        let stack = self.runtime.worker(worker).start.stack;
        let own = stack.is_some_and(|(low, high)| {
            let (start, end) = (freed.block.address, freed.block.address.saturating_add(freed.block.bytes));
            (start..=end).contains(&low) && (start..=end).contains(&high)
        });
        if own { None } else { Some(wrong) }
    }

    fn heap_violation(
        &self,
        worker: WorkerId,
        wrong: HeapError,
        what: &'static str,
        address: u64,
        bytes: u32,
    ) -> Finding {
        let blame = wrong.blame();
        let access = HeapAccess { what: what.into(), address, bytes, block: block(&blame) };
        of_block(Some(worker), blame, Evidence::HeapAccess(access))
    }

    /// What is wrong with giving the block at an address back to the allocator.
    pub fn free_violation(&self, worker: WorkerId, address: u32, blame: BlockRef) -> Finding {
        of_block(Some(worker), blame, Evidence::Free { address, block: block(&blame) })
    }
}

fn block(blame: &BlockRef) -> Block {
    let BlockRef { kind, address, bytes, freed, .. } = *blame;
    Block { kind, address, bytes, freed: freed.is_some() }
}

fn of_block(worker: Option<WorkerId>, blame: BlockRef, evidence: Evidence) -> Finding {
    Finding { bug: Bug { kind: blame.kind, evidence, worker }, blame: Some(blame) }
}

/// Blocks that were lost, as one error.
pub fn leak(leaks: &[LiveBlock]) -> Option<Finding> {
    let first = leaks.first()?;
    let bytes = leaks.iter().map(|l| u64::from(l.bytes)).sum();
    let evidence = Evidence::Leak { blocks: leaks.len(), bytes, first_bytes: first.bytes };
    Some(of_block(None, BlockRef::new(BugKind::Leak, *first, None), evidence))
}
