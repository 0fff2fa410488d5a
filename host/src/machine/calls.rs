//! The way of a guest's call from its import to the scheduler and back.

use super::gate::{settle, settled};
use super::guest_memory::GuestMemory;
use super::host::{Host, split};
use super::observed::{deliver, forbid_to_host};
use super::scheduler::{PointResult, Scheduler};
use super::stack::SavedWorker;
use crate::observe::AccessSource;
use crate::runtime::Request;
use crate::world::World;
use coyote_abi::rt::{self, Action};
use coyote_instrumenter::Entry;
use coyote_strategies::{Access, Class, Effect};
use wasmtime::{Caller, Val};

/// Runs a host function on guest memory.
pub fn with_memory<R>(
    caller: &mut Caller<'_, Host>,
    function: impl FnOnce(&mut GuestMemory, &mut Scheduler, &World) -> R,
) -> R {
    settle(caller);
    let (bytes, host) = split(caller);
    let footprint = host.scheduler.runtime.footprint.recording;
    // Memory may be larger than the guest sees. Before the start function ends, the bounds do not hold its
    // size yet.
    let seen = match host.scheduler.bounds.memory_bytes as usize {
        0 => bytes.len(),
        seen => seen.min(bytes.len()),
    };
    let mut memory = GuestMemory::new(&mut bytes[..seen], &mut host.dirty_memory.host_written);
    let result = function(&mut memory, &mut host.scheduler, &host.world);
    let touched = memory.into_touched();
    if let Some(worker) = host.scheduler.running {
        for access in &touched {
            host.scheduler.runtime.record_for_predicate(worker, access.object, access.size);
            host.scheduler.runtime.observe_access(worker, access, AccessSource::Host, false);
        }
        if host.scheduler.asks_about(&touched) {
            forbid_to_host(caller, worker, &touched);
        }
        if let Some(table) = caller.data().owner_table {
            let (table, host) = table.data_and_store_mut(&mut *caller);
            host.owners.touch_by_host(table, &host.scheduler.runtime, worker, &touched);
        }
    }
    if footprint {
        caller.data_mut().scheduler.runtime.footprint.extend(touched);
    }
    deliver(caller);
    result
}

/// Announces an operation of the running worker: `(result, unwind flag)`.
pub fn announce(caller: &mut Caller<'_, Host>, site: i32, object: u64, request: Request) -> (i32, i32) {
    settle(caller);
    match request {
        Request::FutexWait { address, bytes, .. } => {
            // The value is read when the operation is performed, for this worker.
            let read = Access {
                class: Class::Memory,
                effect: Effect::Read,
                object: address.into(),
                size: bytes.into(),
            };
            if let Some(worker) = caller.data().scheduler.running
                && let Some(table) = caller.data().owner_table
            {
                let (table, host) = table.data_and_store_mut(&mut *caller);
                host.owners.touch_by_host(table, &host.scheduler.runtime, worker, &[read]);
            }
        }
        Request::Join { handle } => {
            if let Some(worker) = caller.data().scheduler.running {
                let host = caller.data_mut();
                if let Some(ended) = host.scheduler.runtime.worker_of(handle) {
                    host.owners.joined(worker, ended);
                }
            }
        }
        Request::Spawn(_) => {
            // The creator does nothing more before the new worker exists.
            let host = caller.data_mut();
            if let (Some(worker), Some(global)) = (host.scheduler.running, host.me) {
                let children = host.scheduler.runtime.worker(worker).children;
                let me = host.owners.begin_segment(worker, children + 1);
                global.set(&mut *caller, Val::I32(me as i32)).expect("it is a mutable i32");
            }
        }
        _ => {}
    }
    let (bytes, host) = split(caller);
    let operation = host.operation(site as u32, object);
    let running = host.scheduler.running;
    let (scheduler, mut context) = host.context(bytes, running);
    match scheduler.announce(operation, request, &mut context) {
        PointResult::Return(result) => (result as i32, 0),
        PointResult::Unwind => (0, 1),
    }
}

/// The results of `next`: see [`coyote_abi::rt`].
pub type Next = (i32, i32, i64, i32, i32, i32);

/// Saves the worker that just left and puts the next one in place.
pub fn next(caller: &mut Caller<'_, Host>, frames_end: i32) -> Next {
    let frames = settled(caller).frames.expect("set before the guest runs");
    if let Some(worker) = caller.data().scheduler.running {
        let (bytes, host) = split(caller);
        host.put_own_word_away(bytes, worker);
        if frames_end == 0 {
            caller.data_mut().scheduler.returned();
            caller.data_mut().image(worker).bytes.clear();
        } else {
            let (bytes, host) = frames.data_and_store_mut(&mut *caller);
            let image = host.image(worker);
            image.bytes.clear();
            image.bytes.extend_from_slice(&bytes[..frames_end as usize]);
        }
    }
    let (bytes, host) = split(caller);
    let (scheduler, mut context) = host.context(bytes, None);
    let Some((worker, result)) = scheduler.next(&mut context) else {
        return (Action::Leave as i32, 0, 0, 0, 0, 0);
    };
    host.bring_own_word_back(bytes, worker);
    let start = host.scheduler.runtime.worker(worker).start;
    let action = if host.image(worker).started {
        Action::Resume
    } else {
        let mut bytes = std::mem::take(&mut host.image(worker).bytes);
        host.write_fresh_globals(worker, &mut bytes);
        *host.image(worker) = SavedWorker { bytes, started: true };
        if host.table.changes_tables && host.table.entries[start.entry as usize] == Entry::Table {
            // The worker begins with a function of the first table, of which its creator passed the index.
            host.scheduler.runtime.footprint.seen((rt::Seen::TableRead, 0), start.a as u32, 1);
        }
        Action::Start
    };
    let a = match host.table.entries[start.entry as usize] {
        Entry::WasiThread => host.scheduler.runtime.worker(worker).handle as i32,
        _ => start.a,
    };
    let (bytes, host) = frames.data_and_store_mut(&mut *caller);
    let image = &host.saved_workers[worker.index()].bytes;
    bytes[..image.len()].copy_from_slice(image);
    (action as i32, image.len() as i32, result, start.entry as i32, a, start.b)
}
