//! Imports of modules that are instrumented for weak memory: what atomic accesses read.

use super::calls::announce;
use super::host::{Host, split};
use super::observed::accessed;
use super::scheduler::{number, put};
use crate::orderings::{Atomicity, Ordering};
use crate::runtime::Request;
use crate::runtime::weak::Orders;
use coyote_abi::rt;
use wasmtime::{Caller, Linker, Result};

type Guest<'a> = Caller<'a, Host>;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        rt::MODULE,
        rt::ATOMIC_POINT,
        |mut guest: Guest, site: i32, address: i32, expected: i64| -> i32 {
            point(&mut guest, site as u32, address as u32, expected as u64)
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        rt::ATOMIC_INSIDE,
        |mut guest: Guest, site: i32, address: i32, expected: i64| {
            newest(&mut guest, site as u32, address as u32, expected as u64);
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::ATOMIC_DONE, |mut guest: Guest| {
        let (bytes, host) = split(&mut guest);
        let Some(weak) = &mut host.scheduler.runtime.weak else { return };
        let Some((address, size)) = weak.planned() else { return };
        let Some(value) = number(bytes, address, size as u8) else { return };
        if let Some(before) = weak.done(value) {
            put(bytes, &mut host.dirty_memory.host_written, (address, size, before));
        }
    })?;
    Ok(())
}

/// Announces an atomic access or a fence. Returns whether to unwind, as 0 or 1.
fn point(guest: &mut Guest, site: u32, address: u32, expected: u64) -> i32 {
    let host = guest.data_mut();
    let Some(worker) = host.scheduler.running else { return 0 };
    let runtime = &host.scheduler.runtime;
    let operation = host.operation(site, address.into());
    let is_no_point = runtime.worker(worker).atomic_depth > 0
        || runtime.alone_in_harness()
        || runtime.is_worker_local(operation.object, operation.size);
    if is_no_point || runtime.weak.is_none() {
        let result = host.point(site, address);
        let unwinds = accessed(guest, result, |_| operation);
        if unwinds == 0 {
            newest(guest, site, address, expected);
        }
        return unwinds;
    }
    let orders = orders(host, site);
    host.order_site(site);
    announce(guest, site as i32, address.into(), Request::Atomic { expected, orders }).1
}

/// Tells the runtime about an atomic access or a fence that is no scheduling point.
fn newest(guest: &mut Guest, site: u32, address: u32, expected: u64) {
    let (bytes, host) = split(guest);
    let Some(worker) = host.scheduler.running.filter(|_| host.scheduler.runtime.weak.is_some()) else {
        return;
    };
    let orders = orders(host, site);
    let operation = host.operation(site, address.into());
    let read = &mut |address, size| number(bytes, address, size);
    host.scheduler.runtime.atomic_newest(worker, operation, (expected, orders), read);
}

/// The orderings of a site. An unknown ordering counts as sequentially consistent, and so does every ordering of a
/// module whose fences left no instructions.
fn orders(host: &Host, site: u32) -> Orders {
    let orderings = host.orderings.get();
    let (success, failure) = match orderings.of(site) {
        _ if orderings.fences_are_lost() => (Ordering::SeqCst, Ordering::SeqCst),
        Atomicity::Atomic(Some(orders)) => (orders.success, orders.failure),
        Atomicity::Fence(Some(ordering)) => (ordering, ordering),
        _ => (Ordering::SeqCst, Ordering::SeqCst),
    };
    Orders { success, failure, newest: host.orderings.validates(site) }
}
