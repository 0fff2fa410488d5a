//! Imports of modules that are instrumented for faults: they decide whether the call that follows fails.

use super::calls::{announce, with_memory};
use super::gate::settled;
use super::host::Host;
use super::observed::accessed;
use super::wasi::failures;
use crate::runtime::files::Errno;
use crate::runtime::{BudgetId, FaultClass, Jumps, Request, of_site};
use coyote_abi::file;
use coyote_abi::rt::{self, FaultHook};
use coyote_strategies::{Class, Effect};
use wasmtime::{Caller, Linker, Result};

/// Number of alternative streams of random bytes for a worker: few, so that a search can visit them.
const STREAMS: u32 = 15;

type Guest<'a> = Caller<'a, Host>;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        rt::MODULE,
        rt::FAULT_HOOK,
        |mut guest: Guest, object: i32, hook: i32, what: i32, site: i32| -> (i32, i32) {
            let hook = FaultHook::from_argument(hook).expect("it comes from our instrumenter");
            if hook == FaultHook::File {
                return file_call(&mut guest, object as u32, what as u32, site);
            }
            let opportunity = opportunity(settled(&mut guest), hook, object as u32, what as u32);
            if let Some((class, ways)) = opportunity {
                let request = Request::Fault { budget: BudgetId::Class(class), ways, point: 0 };
                return announce(&mut guest, site, of_site(class as u32), request);
            }
            (0, 0)
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::ALLOCATION_FAILED, |mut guest: Guest| {
        with_memory(&mut guest, |memory, scheduler, _| {
            if let Some(address) = scheduler.runtime.worker_local_word() {
                // The errno of a C library without threads; one with threads keeps it at a place of its own.
                let _ = memory.write(address, &u32::from(Errno::NOMEM.0).to_le_bytes());
            }
        });
    })?;
    Ok(())
}

/// Announces a call of the function with this number on a file, which may fail.
pub fn file_call(guest: &mut Guest, descriptor: u32, what: u32, site: i32) -> (i32, i32) {
    if let Some((class, ways)) = opportunity(settled(guest), FaultHook::File, descriptor, what) {
        let request = Request::Fault { budget: BudgetId::Class(class), ways, point: 0 };
        return announce(guest, site, descriptor.into(), request);
    }
    // The same announcement as without faults.
    let result = guest.data_mut().call_point(site as u32, descriptor);
    (0, accessed(guest, result, |host| host.operation(site as u32, descriptor.into())))
}

/// The class of the fault that may happen now, and the number of its ways.
fn opportunity(host: &mut Host, hook: FaultHook, object: u32, what: u32) -> Option<(FaultClass, u32)> {
    let worker = host.scheduler.running?;
    let runtime = &mut host.scheduler.runtime;
    if hook == FaultHook::File {
        runtime.footprint.touch(Class::Descriptor, Effect::Read, object.into());
    }
    let (class, ways) = match hook {
        // A call on a closed descriptor fails by itself; sockets have faults of their own.
        FaultHook::File if !runtime.files.is_file(object) => return None,
        FaultHook::File => (FaultClass::Io, failures::ways(file::CALLS[what as usize].name).len() as u32),
        FaultHook::Clock => (FaultClass::Clock, Jumps::ways(object)),
        FaultHook::Random if runtime.look_at_budget(FaultClass::Random) > 0 => (FaultClass::Random, 2),
        FaultHook::Random if runtime.may_fail(FaultClass::Seed) => (FaultClass::Seed, STREAMS),
        FaultHook::Random => (FaultClass::Random, 2),
        // An atomic section does not wait for other workers.
        FaultHook::Poll if runtime.worker(worker).atomic_depth > 0 => return None,
        FaultHook::Poll => (FaultClass::Poll, 1),
        // The number of ways is known only when the operation is performed.
        FaultHook::Crash if runtime.worker(worker).node.is_some() => (FaultClass::CrashNode, 1),
        FaultHook::Crash => (FaultClass::Crash, 1),
        // No fault for a nested call of an allocator, which is part of the outer call, nor within other atomic code,
        // which must not be left in its middle; nor for a request of 0 bytes, which may be answered with null anyway.
        FaultHook::Allocation if object == 0 || runtime.worker(worker).atomic_depth > 0 => return None,
        FaultHook::Allocation if what == 0 => (FaultClass::Alloc, 1),
        FaultHook::Allocation => (FaultClass::AllocRust, 1),
    };
    (ways > 0 && runtime.may_fail(class)).then_some((class, ways))
}
