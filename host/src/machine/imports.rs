//! What the guest calls, translated into operations of the runtime.

use super::host::{Host, Stopped, announce, next, split, with_memory};
use super::owners::Touch;
use crate::outcome::{BugKind, Outcome};
use crate::runtime::{Request, Start, Stream};
use coyote_abi::{OpKind, guest, rt};
use coyote_strategies::Event;
use wasmtime::{Caller, Linker, Result};

type Guest<'a> = Caller<'a, Host>;

/// Defines every import of an instrumented module except WASI's plain functions.
pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    memory(linker)?;
    control(linker)?;
    workers(linker)?;
    objects(linker)?;
    values(linker)?;
    reports(linker)
}

/// A timeout of the guest's: negative means none.
fn span(nanoseconds: i64) -> Option<u64> {
    u64::try_from(nanoseconds).ok()
}

fn memory(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::POINT, |mut guest: Guest, site: i32, address: i32| {
        guest.data_mut().point(site as u32, address as u32)
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::POINT_BULK,
        |mut guest: Guest, site: i32, destination: i32, source: i32, length: i32| {
            let host = guest.data_mut();
            let mut operation = host.operation(site as u32, u64::from(destination as u32));
            operation.size = length as u32;
            let source_end = u64::from(source as u32) + u64::from(length as u32);
            if operation.kind == OpKind::Copy && source_end > host.conductor.memory_bytes {
                // An operation has one range: make this one fail its check.
                operation.size = u32::MAX;
            }
            if let Some(worker) = host.conductor.running {
                host.conductor.runtime.set_copy_source(worker, source as u32);
            }
            i32::from(host.conductor.access(operation) == super::conductor::Answer::Unwind)
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::TICK, |mut guest: Guest, site: i32| {
        guest.data_mut().point(site as u32, 0)
    })?;
    linker.func_wrap(rt::MODULE, rt::ATOMIC_ENTER, |mut guest: Guest| {
        guest.data_mut().conductor.atomic_enter();
    })?;
    linker.func_wrap(rt::MODULE, rt::ATOMIC_EXIT, |mut guest: Guest| {
        guest.data_mut().conductor.atomic_exit();
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::TOUCH,
        |mut guest: Guest, address: i32, bytes: i32, write: i32| -> i32 {
            let touch = Touch { address: address as u32, bytes: bytes as u32, write: write != 0 };
            with_owners(&mut guest, |table, host| host.touch(table, touch).into())
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::ALLOCATOR_ENTER, |mut guest: Guest| {
        guest.data_mut().allocator_enter();
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::ALLOCATOR_EXIT,
        |mut guest: Guest, old: i32, new: i32, bytes: i32| {
            let change = (old as u32, new as u32, bytes as u32);
            with_owners(&mut guest, |table, host| host.allocator_exit(table, change));
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        "futex_wait",
        |mut guest: Guest, address: i32, expected: i32, timeout: i64, site: i32| {
            let address = address as u32;
            let expected = u64::from(expected as u32);
            let request = Request::FutexWait { address, expected, bytes: 4, span_ns: span(timeout) };
            announce(&mut guest, site, address.into(), request)
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        "futex_wait64",
        |mut guest: Guest, address: i32, expected: i64, timeout: i64, site: i32| {
            let address = address as u32;
            let expected = expected as u64;
            let request = Request::FutexWait { address, expected, bytes: 8, span_ns: span(timeout) };
            announce(&mut guest, site, address.into(), request)
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        "futex_notify",
        |mut guest: Guest, address: i32, count: i32, site: i32| {
            let address = address as u32;
            let request = Request::FutexNotify { address, count: count as u32 };
            announce(&mut guest, site, address.into(), request)
        },
    )?;
    Ok(())
}

/// Runs a host function on the owner table.
fn with_owners<R>(guest: &mut Guest, function: impl FnOnce(&mut [u8], &mut Host) -> R) -> R {
    match guest.data().owner_table {
        Some(table) => {
            let (table, host) = table.data_and_store_mut(guest);
            function(table, host)
        }
        // The start function: the table is not known yet, nor does any worker run.
        None => function(&mut [], guest.data_mut()),
    }
}

fn control(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::MEMORY_GROWN, |mut guest: Guest, pages: i32| -> i32 {
        i32::from(guest.data_mut().memory_grown(pages as u32))
    })?;
    linker
        .func_wrap(rt::MODULE, rt::NEXT, |mut guest: Guest, frames_end: i32| next(&mut guest, frames_end))?;
    linker.func_wrap(rt::MODULE, rt::STACK_OVERFLOW, |mut guest: Guest| -> Result<()> {
        Err(guest.data_mut().stop(BugKind::StackOverflow, "the worker's stack is too small".into()).into())
    })?;
    linker.func_wrap(rt::MODULE, rt::FRAMES_OVERFLOW, |mut guest: Guest| -> Result<()> {
        let bound = Outcome::Bound(crate::outcome::Bound::Frames);
        guest.data_mut().conductor.outcome.get_or_insert(bound);
        Err(Stopped.into())
    })?;
    Ok(())
}

fn workers(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        rt::MODULE,
        "spawn",
        |mut guest: Guest, entry: i32, argument: i32, low: i32, high: i32, site: i32| {
            let table = &guest.data().table.entries;
            let number = table.iter().position(|e| *e == coyote_instrumenter::Entry::Table);
            let start = Start {
                entry: number.expect("a module that spawns has a table entry") as u32,
                a: entry,
                b: argument,
                stack: Some((low as u32, high as u32)),
            };
            announce(&mut guest, site, 0, Request::Spawn(start))
        },
    )?;
    linker.func_wrap(rt::MODULE, "thread_spawn", |mut guest: Guest, argument: i32, site: i32| {
        let table = &guest.data().table.entries;
        let number = table.iter().position(|e| *e == coyote_instrumenter::Entry::WasiThread);
        let start = Start {
            entry: number.expect("a module that imports thread-spawn exports wasi_thread_start") as u32,
            a: 0,
            b: argument,
            stack: None,
        };
        announce(&mut guest, site, 0, Request::Spawn(start))
    })?;
    linker.func_wrap(rt::MODULE, "join", |mut guest: Guest, worker: i32, site: i32| {
        let handle = worker as u32;
        announce(&mut guest, site, handle.into(), Request::Join { handle }).1
    })?;
    linker.func_wrap(rt::MODULE, "exit", |mut guest: Guest, site: i32| {
        announce(&mut guest, site, 0, Request::Exit).1
    })?;
    linker.func_wrap(rt::MODULE, "yield", |mut guest: Guest, site: i32| {
        announce(&mut guest, site, 0, Request::Step).1
    })?;
    linker.func_wrap(rt::MODULE, "sleep", |mut guest: Guest, nanoseconds: i64, site: i32| {
        let span_ns = nanoseconds.max(0) as u64;
        announce(&mut guest, site, 0, Request::Sleep { span_ns }).1
    })?;
    linker.func_wrap(guest::MODULE, "detach", |mut guest: Guest, worker: i32| {
        guest.data_mut().conductor.runtime.detach(worker as u32);
    })?;
    linker.func_wrap(guest::MODULE, "current", |guest: Guest| -> i32 {
        guest.data().conductor.running.map_or(0, |w| w.0 as i32)
    })?;
    linker.func_wrap(
        guest::MODULE,
        "set_name",
        |mut guest: Guest, worker: i32, text: i32, length: i32| -> Result<()> {
            let name = text_at(&mut guest, text, length)?;
            guest.data_mut().conductor.runtime.set_name(worker as u32, name);
            Ok(())
        },
    )?;
    linker.func_wrap(guest::MODULE, "now", |mut guest: Guest| -> i64 {
        let conductor = &mut guest.data_mut().conductor;
        conductor.running.map_or(0, |w| conductor.runtime.read_clock_ns(w) as i64)
    })?;
    Ok(())
}

fn objects(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, "mutex_lock", |mut guest: Guest, mutex: i32, site: i32| {
        let mutex = mutex as u32;
        announce(&mut guest, site, mutex.into(), Request::Lock { mutex }).1
    })?;
    linker.func_wrap(rt::MODULE, "mutex_try_lock", |mut guest: Guest, mutex: i32, site: i32| {
        let mutex = mutex as u32;
        announce(&mut guest, site, mutex.into(), Request::TryLock { mutex })
    })?;
    linker.func_wrap(rt::MODULE, "mutex_unlock", |mut guest: Guest, mutex: i32, site: i32| {
        let mutex = mutex as u32;
        announce(&mut guest, site, mutex.into(), Request::Unlock { mutex }).1
    })?;
    linker.func_wrap(
        rt::MODULE,
        "condvar_wait",
        |mut guest: Guest, condvar: i32, mutex: i32, site: i32| {
            let (condvar, mutex) = (condvar as u32, mutex as u32);
            let request = Request::Wait { condvar, mutex, span_ns: None };
            announce(&mut guest, site, condvar.into(), request).1
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        "condvar_wait_timeout",
        |mut guest: Guest, condvar: i32, mutex: i32, nanoseconds: i64, site: i32| {
            let (condvar, mutex) = (condvar as u32, mutex as u32);
            let request = Request::Wait { condvar, mutex, span_ns: Some(nanoseconds.max(0) as u64) };
            announce(&mut guest, site, condvar.into(), request)
        },
    )?;
    linker.func_wrap(rt::MODULE, "condvar_signal", |mut guest: Guest, condvar: i32, site: i32| {
        let condvar = condvar as u32;
        announce(&mut guest, site, condvar.into(), Request::Signal { condvar }).1
    })?;
    linker.func_wrap(rt::MODULE, "condvar_broadcast", |mut guest: Guest, condvar: i32, site: i32| {
        let condvar = condvar as u32;
        announce(&mut guest, site, condvar.into(), Request::Broadcast { condvar }).1
    })?;
    Ok(())
}

fn values(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, "choose_bool", |mut guest: Guest, site: i32| {
        announce(&mut guest, site, 0, Request::ChooseBool)
    })?;
    linker.func_wrap(rt::MODULE, "choose_int", |mut guest: Guest, bound: i32, site: i32| {
        announce(&mut guest, site, 0, Request::ChooseInt { bound: bound as u32 })
    })?;
    Ok(())
}

fn reports(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, "assume", |mut guest: Guest, condition: i32, site: i32| {
        if condition != 0 {
            return 0;
        }
        announce(&mut guest, site, 0, Request::Assume).1
    })?;
    linker.func_wrap(guest::MODULE, "hint", |mut guest: Guest, value: i64| {
        let conductor = &mut guest.data_mut().conductor;
        if let Some(worker) = conductor.running {
            conductor.runtime.events.push(Event::Hint { worker, value: value as u64 });
        }
    })?;
    linker.func_wrap(guest::MODULE, "fail", |mut guest: Guest, text: i32, length: i32| -> Result<()> {
        let message = text_at(&mut guest, text, length)?;
        Err(guest.data_mut().stop(BugKind::Assertion, message).into())
    })?;
    linker.func_wrap(guest::MODULE, "log", |mut guest: Guest, text: i32, length: i32| -> Result<()> {
        let message = text_at(&mut guest, text, length)?;
        let conductor = &mut guest.data_mut().conductor;
        if let Some(worker) = conductor.running {
            conductor.runtime.print(worker, Stream::Log, message.into_bytes());
        }
        Ok(())
    })?;
    Ok(())
}

/// A text argument of a guest's call. Outside of memory it is the guest's bug.
fn text_at(guest: &mut Guest, address: i32, length: i32) -> Result<String> {
    let bytes =
        with_memory(guest, |memory, _, _| memory.read(address as u32, length as u32).map(<[u8]>::to_vec));
    match bytes {
        Ok(bytes) => Ok(String::from_utf8(bytes)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())),
        Err(_) => {
            let message = format!("a text of {length} bytes at {address:#x} lies outside of memory");
            Err(split(guest).1.stop(BugKind::Misuse, message).into())
        }
    }
}
