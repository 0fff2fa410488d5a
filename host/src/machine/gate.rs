//! The host's side of the gate: gives leases and settles them.
//!
//! When an access was executed on the spot, the strategy is asked for how many steps it is certain to pick the running
//! worker again ([`coyote_strategies::Strategy::quiet`]). For these the gate in the guest
//! (`instrumenter/src/suspend/gate.rs`) lets accesses pass and writes them down. Whatever the guest calls next, the
//! first thing that the host does is to *settle*: what was written down becomes steps, which the strategy accounts for
//! and which are recorded and counted ([`Scheduler::leased_steps`]). So a lease changes only the time at which this is
//! done: the same seed makes the same choices with leases, without, and with some of them refused.
//!
//! The checks of accesses are not left out: see [`super::lease`]. While an observer wants every access, no lease is
//! given.

use super::host::Host;
use super::lease::{Checks, get};
use super::scheduler::Scheduler;
use coyote_abi::rt::lease::STEPS_MAX;
use wasmtime::Caller;

/// Settles the lease and returns the host. Every import calls this before anything else.
#[inline]
pub fn settled<'a>(caller: &'a mut Caller<'_, Host>) -> &'a mut Host {
    settle(caller);
    caller.data_mut()
}

/// Settles the lease, if one is out: see [`settled`].
#[inline]
pub fn settle(caller: &mut Caller<'_, Host>) {
    if caller.data().lease.is_out()
        && let Some(memory) = caller.data().lease.memory
    {
        let (table, host) = memory.data_and_store_mut(caller);
        host.settle(table);
    }
}

/// Gives the running worker, which has just executed an access, a lease if it can have one.
#[inline]
pub fn grant(caller: &mut Caller<'_, Host>) {
    let Some(memory) = caller.data().lease.memory else { return };
    let host = caller.data_mut();
    let Some(steps) = host.scheduler.lease(STEPS_MAX) else { return };
    let steps = host.lease.given(steps);
    if steps > 0 {
        let (table, Host { lease, scheduler, .. }) = memory.data_and_store_mut(caller);
        lease.give(table, steps, &scheduler.watched, &checks(scheduler));
    }
}

fn checks(scheduler: &Scheduler) -> Checks<'_> {
    let Scheduler { runtime, bounds, .. } = scheduler;
    Checks { heap: &runtime.heap, bounds: *bounds, own_word: runtime.worker_local_word() }
}

impl Host {
    /// Turns the accesses that were made under the lease into steps.
    pub fn settle(&mut self, table: &mut [u8]) {
        let steps = self.lease.take_back(table);
        if steps.is_empty() {
            return;
        }
        let mut operations = std::mem::take(&mut self.lease.operations);
        operations.clear();
        for step in table[steps].chunks_exact(8) {
            let (site, address) = (get(step, 0), get(step, 4));
            self.order_site(site);
            operations.push(self.operation(site, address.into()));
        }
        self.scheduler.leased_steps(&operations);
        self.lease.operations = operations;
    }

    /// See [`super::Machine::lease_differs_at`].
    pub fn table_differs_at(&mut self, table: &mut [u8]) -> Option<u32> {
        self.lease.differs_at(table, &checks(&self.scheduler))
    }
}
