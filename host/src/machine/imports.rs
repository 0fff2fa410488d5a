//! The imports of an instrumented module: translates the guest's calls into operations of the runtime.

use super::atomics;
use super::calls::{announce, next, with_memory};
use super::fault_hooks;
use super::gate::{grant, settled};
use super::host::{Host, Stopped, original_stack, split};
use super::missing_part::need;
use super::observed::{accessed, ask_detectors, deliver, thrown};
use super::operations;
use super::owners::Touch;
use super::references::function_index;
use super::scheduler::AccessResult;
use super::thread_names::name_at;
use crate::evidence::{Evidence, Misuse};
use crate::observe::{Attempt, SyncKind};
use crate::outcome::{BugKind, Outcome};
use crate::runtime::awaits::Awaited;
use crate::runtime::monitors::Heat;
use crate::runtime::{Request, Runtime, Start, Stream};
use coyote_abi::{OpKind, guest, rt};
use coyote_strategies::{Access, Class, Effect, WorkerId};
use wasmtime::{Caller, Extern, Func, Linker, Result, Val, WasmBacktrace};

type Guest<'a> = Caller<'a, Host>;

/// Defines every import of an instrumented module except WASI's plain functions.
pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    memory(linker)?;
    control(linker)?;
    workers(linker)?;
    harness(linker)?;
    properties(linker)?;
    sections(linker)?;
    operations::define(linker)?;
    fault_hooks::define(linker)?;
    atomics::define(linker)?;
    reports(linker)
}

fn memory(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::POINT, |mut guest: Guest, site: i32, address: i32| {
        let result = settled(&mut guest).point(site as u32, address as u32);
        if result == AccessResult::Execute {
            grant(&mut guest);
            return 0;
        }
        accessed(&mut guest, result, |host| host.operation(site as u32, u64::from(address as u32)))
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::POINT_BULK,
        |mut guest: Guest, site: i32, destination: i32, source: i32, length: i32| {
            let host = settled(&mut guest);
            let mut operation = host.operation(site as u32, u64::from(destination as u32));
            operation.size = length as u32;
            let source_end = u64::from(source as u32) + u64::from(length as u32);
            if operation.kind == OpKind::Copy && source_end > host.scheduler.bounds.memory_bytes {
                // An operation has one range: make this one fail its check.
                operation.size = u32::MAX;
            }
            if let Some(worker) = host.scheduler.running {
                host.scheduler.runtime.set_copy_source(worker, source as u32);
            }
            let result = host.scheduler.access(operation);
            accessed(&mut guest, result, |_| operation)
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::TICK, |mut guest: Guest, site: i32| {
        let result = settled(&mut guest).point(site as u32, 0);
        accessed(&mut guest, result, |host| host.operation(site as u32, 0))
    })?;
    linker.func_wrap(rt::MODULE, rt::ATOMIC_ENTER, |mut guest: Guest| {
        settled(&mut guest).scheduler.within_section(Runtime::atomic_enter);
    })?;
    linker.func_wrap(rt::MODULE, rt::ATOMIC_EXIT, |mut guest: Guest| {
        settled(&mut guest).scheduler.within_section(Runtime::atomic_exit);
    })?;
    linker.func_wrap(rt::MODULE, rt::SEEN, |mut guest: Guest, what: i32, object: i32, size: i32| {
        settled(&mut guest).seen(what, object as u32, size as u32);
        deliver(&mut guest);
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::CHECK,
        |mut guest: Guest, address: i32, bytes: i32, write: i32| -> Result<()> {
            let effect = if write != 0 { Effect::Write } else { Effect::Read };
            let access =
                Access { class: Class::Memory, effect, object: address as u32 as u64, size: bytes as u32 };
            if guest.data().scheduler.asks_about(&[access]) {
                settled(&mut guest);
                ask_detectors(&mut guest, &Attempt::Unannounced(&access))?;
            }
            Ok(())
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::FUNCTION_INDEX, |mut guest: Guest, function: Option<Func>| -> i32 {
        let table = guest.get_export(rt::FUNCTIONS).and_then(Extern::into_table);
        function_index(guest, table.expect("a module that asks has one"), function)
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::TOUCH,
        |mut guest: Guest, address: i32, bytes: i32, write: i32| -> i32 {
            let touch = Touch { address: address as u32, bytes: bytes as u32, write: write != 0 };
            with_owners(&mut guest, |table, host| host.touch(table, touch).into())
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::ALLOCATOR_ENTER, |mut guest: Guest, old: i32| -> Result<()> {
        let address = old as u32;
        if settled(&mut guest).allocator_enter(address) {
            ask_detectors(&mut guest, &Attempt::Free { address })?;
        }
        Ok(())
    })?;
    linker.func_wrap(
        rt::MODULE,
        rt::ALLOCATOR_EXIT,
        |mut guest: Guest, old: i32, new: i32, bytes: i32| {
            let change = (old as u32, new as u32, bytes as u32);
            with_owners(&mut guest, |table, host| host.allocator_exit(table, change));
            deliver(&mut guest);
        },
    )?;
    Ok(())
}

/// Runs a host function on the owner table.
fn with_owners<R>(guest: &mut Guest, function: impl FnOnce(&mut [u8], &mut Host) -> R) -> R {
    match settled(guest).owner_table {
        Some(table) => {
            let (table, host) = table.data_and_store_mut(guest);
            function(table, host)
        }
        // Within the start function, the table is not known yet, and no worker runs.
        None => function(&mut [], guest.data_mut()),
    }
}

fn control(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::MEMORY_GROWN, |mut guest: Guest, pages: i32| -> i32 {
        i32::from(settled(&mut guest).memory_grown(pages as u32))
    })?;
    linker
        .func_wrap(rt::MODULE, rt::NEXT, |mut guest: Guest, frames_end: i32| next(&mut guest, frames_end))?;
    linker.func_wrap(
        rt::MODULE,
        rt::STACK_OVERFLOW,
        |mut guest: Guest, stack_pointer: i32| -> Result<()> {
            if let Some(low) = settled(&mut guest).learn_stack(stack_pointer as u32)
                && let Some(global) = settled(&mut guest).stack_low
            {
                return global.set(&mut guest, Val::I32(low as i32));
            }
            Err(settled(&mut guest).stop(BugKind::StackOverflow, Evidence::StackTooSmall).into())
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::FRAMES_OVERFLOW, |mut guest: Guest| -> Result<()> {
        let bound = Outcome::Bound(crate::outcome::Bound::Frames);
        settled(&mut guest).scheduler.outcome.get_or_insert(bound);
        Err(Stopped.into())
    })?;
    linker.func_wrap(rt::MODULE, rt::NEED, |mut guest: Guest, function: i32| {
        need(&mut guest, function as u32)
    })?;
    Ok(())
}

fn workers(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        rt::MODULE,
        "spawn",
        |mut guest: Guest, entry: i32, argument: i32, low: i32, high: i32, site: i32| {
            let table = &settled(&mut guest).table.entries;
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
        let table = &settled(&mut guest).table.entries;
        let number = table.iter().position(|e| *e == coyote_instrumenter::Entry::WasiThread);
        let start = Start {
            entry: number.expect("a module that imports thread-spawn exports wasi_thread_start") as u32,
            a: 0,
            b: argument,
            stack: None,
        };
        announce(&mut guest, site, 0, Request::Spawn(start))
    })?;
    linker.func_wrap(rt::MODULE, rt::THREAD_NAME, |mut guest: Guest, name: i32| {
        with_memory(&mut guest, |memory, scheduler, _| {
            if let Some(worker) = scheduler.running {
                scheduler.runtime.set_next_name(worker, name_at(memory, name as u32));
            }
        });
    })?;
    linker.func_wrap(
        guest::MODULE,
        "set_name",
        |mut guest: Guest, worker: i32, text: i32, length: i32| -> Result<()> {
            let name = text_at(&mut guest, text, length)?;
            settled(&mut guest).scheduler.runtime.set_name(worker as u32, name);
            Ok(())
        },
    )?;
    linker.func_wrap(guest::MODULE, "current", |mut guest: Guest| -> i32 {
        let scheduler = &settled(&mut guest).scheduler;
        scheduler.running.map_or(0, |w| scheduler.runtime.worker(w).handle as i32)
    })?;
    linker.func_wrap(guest::MODULE, "detach", |mut guest: Guest, worker: i32| {
        settled(&mut guest).scheduler.runtime.detach(worker as u32);
    })?;
    linker.func_wrap(
        guest::MODULE,
        "node",
        |mut guest: Guest, semaphore: i32, name: i32, length: i32| -> Result<()> {
            let name = text_at(&mut guest, name, length)?;
            let join = |runtime: &mut Runtime, worker| match semaphore {
                0 => runtime.leave_node(worker),
                _ => runtime.enter_node(worker, semaphore as u32, name),
            };
            settled(&mut guest).scheduler.within_section(join);
            Ok(())
        },
    )?;
    linker.func_wrap(rt::MODULE, rt::DRIVER_TURN, |mut guest: Guest, all_known: i32| {
        let scheduler = &mut settled(&mut guest).scheduler;
        if let Some(worker) = scheduler.running {
            scheduler.runtime.turn_driver(worker, all_known != 0);
        }
    })?;
    linker.func_wrap(rt::MODULE, rt::DRIVER_WAKE, |mut guest: Guest| {
        let scheduler = &mut settled(&mut guest).scheduler;
        if let Some(worker) = scheduler.running {
            scheduler.runtime.wake_drivers(worker);
        }
    })?;
    linker.func_wrap(
        guest::MODULE,
        "awaits",
        |mut guest: Guest,
         semaphore: i32,
         what: i32,
         length: i32,
         file: i32,
         file_length: i32,
         line: i32,
         object: i32,
         more: i32|
         -> Result<()> {
            let Some(worker) = settled(&mut guest).scheduler.running else { return Ok(()) };
            let texts = match length {
                0 => None,
                _ => Some((text_at(&mut guest, what, length)?, text_at(&mut guest, file, file_length)?)),
            };
            if !guest.data().takes_awaits {
                guest.data_mut().scheduler.runtime.awaits_untold(worker, semaphore as u32);
                return Ok(());
            }
            let what =
                texts.map_or(String::new(), |(what, file)| format!("{what} made at {file}:{}", line as u32));
            let stack = original_stack(&WasmBacktrace::force_capture(&guest), guest.data());
            let awaited = Awaited { what: what.into(), object: object as u32, stack: stack.into() };
            settled(&mut guest).scheduler.runtime.awaits(worker, semaphore as u32, awaited, more != 0);
            Ok(())
        },
    )?;
    Ok(())
}

fn harness(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::TEST_BEGIN, |mut guest: Guest, site: i32| {
        border(&mut guest, site, Runtime::enter_test, Request::Step)
    })?;
    linker.func_wrap(rt::MODULE, rt::TEST_END, |mut guest: Guest, site: i32| {
        border(&mut guest, site, Runtime::leave_test, Request::TestEnd { unwound: false })
    })?;
    linker.func_wrap(rt::MODULE, rt::TEST_UNWOUND, |mut guest: Guest, site: i32| {
        border(&mut guest, site, Runtime::leave_test, Request::TestEnd { unwound: true })
    })?;
    linker.func_wrap(rt::MODULE, rt::THROWN, |mut guest: Guest| thrown(&mut guest))?;
    Ok(())
}

fn properties(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        guest::MODULE,
        "monitor",
        |mut guest: Guest, name: i32, length: i32, number: i32, heat: i32| -> Result<()> {
            let name = given_name(&mut guest, name, length)?;
            let Some(heat) = Heat::of(heat as u32) else {
                let wrong = Evidence::Misuse(Misuse::Heat { heat: heat as u32 });
                return Err(split(&mut guest).1.stop(BugKind::Misuse, wrong).into());
            };
            settled(&mut guest).scheduler.set_monitor(name, number as u32, heat);
            Ok(())
        },
    )?;
    linker.func_wrap(
        guest::MODULE,
        "sometimes",
        |mut guest: Guest, name: i32, length: i32, holds: i32| -> Result<()> {
            let name = given_name(&mut guest, name, length)?;
            settled(&mut guest).scheduler.runtime.sometimes.count(&name).add(holds != 0);
            Ok(())
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        "fault",
        |mut guest: Guest, name: i32, length: i32, ways: i32, site: i32| -> Result<(i32, i32)> {
            let name = given_name(&mut guest, name, length)?;
            let scheduler = &mut settled(&mut guest).scheduler;
            let by = scheduler.running;
            Ok(match by.and_then(|by| scheduler.runtime.fault_point(by, &name, ways as u32)) {
                Some((request, object)) => announce(&mut guest, site, object, request),
                None => (0, 0),
            })
        },
    )?;
    // Without a budget it is no operation.
    linker.func_wrap(rt::MODULE, "fault_stop", |mut guest: Guest, site: i32| {
        match settled(&mut guest).scheduler.runtime.faults().any() {
            true => announce(&mut guest, site, 0, Request::StopFaults).1,
            false => 0,
        }
    })?;
    Ok(())
}

fn sections(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(guest::MODULE, "atomic_begin", |mut guest: Guest| {
        settled(&mut guest).scheduler.within_section(Runtime::atomic_enter);
    })?;
    linker.func_wrap(guest::MODULE, "atomic_end", |mut guest: Guest| {
        settled(&mut guest).scheduler.within_section(Runtime::atomic_exit);
    })?;
    linker.func_wrap(guest::MODULE, "suppress", |mut guest: Guest| {
        let scheduler = &mut settled(&mut guest).scheduler;
        scheduler.within_section(Runtime::suppress);
    })?;
    linker.func_wrap(guest::MODULE, "resume", |mut guest: Guest| -> Result<()> {
        let host = settled(&mut guest);
        match host.scheduler.within_section(Runtime::resume) {
            Some(false) => Err(host.stop(BugKind::Misuse, Evidence::Misuse(Misuse::Resume)).into()),
            _ => Ok(()),
        }
    })?;
    linker.func_wrap(guest::MODULE, "evaluated", |mut guest: Guest, holds: i32| {
        let scheduler = &mut settled(&mut guest).scheduler;
        scheduler.within_section(|runtime, worker| runtime.end_evaluation(worker, holds != 0));
    })?;
    linker.func_wrap(guest::MODULE, "mutex_kind", |mut guest: Guest, mutex: i32, kind: i32| {
        settled(&mut guest).scheduler.runtime.mutex_kind(mutex as u32, kind as u32);
    })?;
    linker.func_wrap(guest::MODULE, "own_word", |mut guest: Guest, address: i32| {
        settled(&mut guest).scheduler.runtime.set_worker_local_word(address as u32);
    })?;
    // Modules call it by the second name where a look at the clock is a scheduling point.
    for module in [guest::MODULE, rt::MODULE] {
        linker.func_wrap(module, "now", |mut guest: Guest| -> i64 {
            let scheduler = &mut settled(&mut guest).scheduler;
            scheduler.running.map_or(0, |w| scheduler.runtime.read_clock_ns(w) as i64)
        })?;
    }
    Ok(())
}

/// Announces the request if the running worker crosses the border between a harness and its test.
fn border(guest: &mut Guest, site: i32, cross: fn(&mut Runtime, WorkerId) -> bool, request: Request) -> i32 {
    let scheduler = &mut settled(guest).scheduler;
    match scheduler.running.is_some_and(|worker| cross(&mut scheduler.runtime, worker)) {
        true => announce(guest, site, 0, request).1,
        false => 0,
    }
}

fn reports(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(guest::MODULE, "hint", |mut guest: Guest, value: i64| {
        let scheduler = &mut settled(&mut guest).scheduler;
        if let Some(worker) = scheduler.running {
            scheduler.runtime.hint(worker, value as u64);
        }
        deliver(&mut guest);
    })?;
    let edges = [("happens_before", SyncKind::Release), ("happens_after", SyncKind::Acquire)];
    for (name, kind) in edges {
        linker.func_wrap(guest::MODULE, name, move |mut guest: Guest, object: i32| {
            settled(&mut guest).scheduler.runtime.annotate(object as u32, kind);
            deliver(&mut guest);
        })?;
    }
    linker.func_wrap(guest::MODULE, "fail", |mut guest: Guest, text: i32, length: i32| -> Result<()> {
        let message = text_at(&mut guest, text, length)?;
        Err(settled(&mut guest).stop(BugKind::Assertion, message).into())
    })?;
    linker.func_wrap(
        guest::MODULE,
        "misuse",
        |mut guest: Guest, object: i32, text: i32, length: i32| -> Result<()> {
            let address = object as u32;
            let told = Misuse::Told { what: text_at(&mut guest, text, length)?, object: address };
            // The library may have read what others have written there since.
            settled(&mut guest);
            // 0: it is about no object.
            if address != 0 {
                ask_detectors(&mut guest, &Attempt::Object { address })?;
            }
            Err(settled(&mut guest).stop(BugKind::Misuse, Evidence::Misuse(told)).into())
        },
    )?;
    linker.func_wrap(
        guest::MODULE,
        "unsupported",
        |mut guest: Guest, text: i32, length: i32| -> Result<()> {
            let what = text_at(&mut guest, text, length)?;
            let message = format!("the guest asks for {what}, which cannot be had here");
            Err(settled(&mut guest).stop(BugKind::Limit, message).into())
        },
    )?;
    linker.func_wrap(guest::MODULE, "log", |mut guest: Guest, text: i32, length: i32| -> Result<()> {
        let message = text_at(&mut guest, text, length)?;
        let scheduler = &mut settled(&mut guest).scheduler;
        if let Some(worker) = scheduler.running {
            scheduler.runtime.print(worker, Stream::Log, message.into_bytes());
        }
        deliver(&mut guest);
        Ok(())
    })?;
    Ok(())
}

/// Reads a name: one of length -1 ends at a zero byte.
fn given_name(guest: &mut Guest, address: i32, length: i32) -> Result<String> {
    if length != -1 {
        return text_at(guest, address, length);
    }
    let (bytes, _) = split(guest);
    let text = bytes.get(address as u32 as usize..).unwrap_or_default();
    // Without a zero byte: -1, a length that no memory has.
    let length = text.iter().position(|byte| *byte == 0).map_or(-1, |length| length as i32);
    text_at(guest, address, length)
}

/// Reads a text argument of a guest's call. A text outside of memory is a bug of the guest.
fn text_at(guest: &mut Guest, address: i32, length: i32) -> Result<String> {
    let bytes =
        with_memory(guest, |memory, _, _| memory.read(address as u32, length as u32).map(<[u8]>::to_vec));
    match bytes {
        Ok(bytes) => Ok(String::from_utf8(bytes)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())),
        Err(_) => {
            let outside = Misuse::TextOutside { address: address as u32, bytes: length as u32 };
            Err(split(guest).1.stop(BugKind::Misuse, Evidence::Misuse(outside)).into())
        }
    }
}
