//! Atomic accesses with weak memory: chooses which of the possible stores an access reads. See [`super::weak`].

use super::weak::{AtomicAccess, Orders};
use super::{FaultClass, Performed, Runtime};
use coyote_strategies::{OpKind, Operation, WorkerId};

impl Runtime {
    /// Executes the atomic access, or the fence, that the worker announced.
    pub(super) fn atomic(
        &mut self,
        id: WorkerId,
        expected: u64,
        orders: Orders,
        values: &[u64],
        read: &mut dyn FnMut(u32, u8) -> Option<u64>,
    ) -> Performed {
        let operation = self.pending[id.index()].operation;
        let access = self.atomic_access(id, operation, expected, orders);
        let weak = self.weak.as_mut().expect("memory is weak");
        if operation.kind == OpKind::Fence {
            weak.fence(id, orders.success);
        } else if let Some((access, value)) =
            access.and_then(|access| Some((access, read(access.address, access.bytes as u8)?)))
        {
            let ways = weak.ways(&access, value);
            let mut chosen = 0;
            // If the allocator is not known, the memory may have been reused unnoticed.
            if ways > 1 && self.may_fail(FaultClass::Stale) && self.heap.is_known() {
                match self.fault(FaultClass::Stale, ways - 1, values) {
                    Ok(value) => chosen = value,
                    Err(bound) => {
                        if operation.kind == OpKind::AtomicStore {
                            self.fault_asked = Some(FaultClass::STALE_STORE);
                        }
                        return Performed::NeedsValue(bound);
                    }
                }
            }
            self.weak.as_mut().expect("memory is weak").begin(access, chosen);
        }
        self.touch_plainly(id);
        Performed::Continue(0)
    }

    /// Prepares an atomic access, or a fence, of the running worker that is no scheduling point: it uses the newest
    /// store.
    pub fn atomic_newest(
        &mut self,
        id: WorkerId,
        operation: Operation,
        (expected, orders): (u64, Orders),
        read: &mut dyn FnMut(u32, u8) -> Option<u64>,
    ) {
        let access = self.atomic_access(id, operation, expected, orders);
        let Some(weak) = &mut self.weak else { return };
        if operation.kind == OpKind::Fence {
            return weak.fence(id, orders.success);
        }
        let Some(access) = access else { return };
        let Some(value) = read(access.address, access.bytes as u8) else { return };
        weak.ways(&access, value);
        weak.begin(access, 0);
    }

    /// An operation as an access; `None` if it traps.
    fn atomic_access(
        &self,
        worker: WorkerId,
        operation: Operation,
        expected: u64,
        orders: Orders,
    ) -> Option<AtomicAccess> {
        let (address, bytes) = (u32::try_from(operation.object).ok()?, operation.size);
        let step = self.steps + 1;
        // The instruction compares only as many bytes as its location has.
        let expected = expected & u64::MAX.checked_shr(64 - 8 * bytes.min(8)).unwrap_or(0);
        let access = AtomicAccess { worker, kind: operation.kind, address, bytes, expected, orders, step };
        (bytes > 0 && address % bytes == 0).then_some(access)
    }
}
