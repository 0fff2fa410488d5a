//! Waits for sockets: the announcements of calls and polls that may have to wait, and connections of the simulated peer.
//! Polls of drivers wait here too, also without sockets.

use super::calls::announce;
use super::fault_hooks::file_call;
use super::gate::settled;
use super::host::Host;
use super::scheduler::Scheduler;
use super::wasi::failures;
use super::wasi::poll::{Subscription, subscriptions, write_events};
use super::wasi::{BadAddress, Guest, aligned, on_memory};
use crate::outcome::BugKind;
use crate::runtime::files::Errno;
use crate::runtime::sockets::TIMED_OUT;
use crate::runtime::{Driver, Request};
use coyote_abi::{file, guest, rt};
use wasmtime::{Linker, Result};

/// Size of a buffer in a list.
const BUFFER_BYTES: u32 = 8;
/// The result of a wait for a poll that fails is this and the error number.
const FAILED: i32 = 1 << 16;

/// After this time, a driver looks again for what it was not told. With timeouts in order, that is when no other worker can
/// go on.
const LOOKS_AGAIN_NS: u64 = 1_000_000;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        rt::MODULE,
        rt::SOCKET_CALL,
        |mut guest: Guest, descriptor: i32, what: i32, list: i32, count: i32, site: i32| {
            let object = descriptor as u32;
            // Whether the descriptor is a socket is known only when the worker is picked.
            if settled(&mut guest).scheduler.runtime.files.is_stream(object) {
                return Ok(file_call(&mut guest, object, what as u32, site));
            }
            let bytes = on_memory(&mut guest, "a function on sockets", |memory, _, _| {
                let mut bytes = 0u32;
                for index in 0..count as u32 {
                    // The call itself refuses a list that is not within memory.
                    let at = (list as u32).wrapping_add(index.wrapping_mul(BUFFER_BYTES)).wrapping_add(4);
                    let Ok(length) = memory.read_u32(at) else { break };
                    bytes = bytes.saturating_add(length);
                }
                Ok::<_, BadAddress>(bytes)
            })?;
            let ways = failures::ways(file::CALLS[what as usize].name).len() as u8;
            let request = Request::Socket { descriptor: object, function: what as u8, bytes, ways };
            Ok(announce(&mut guest, site, object.into(), request))
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        guest::NET_CONNECT,
        |mut guest: Guest, listener: i32, site: i32| -> Result<(i32, i32)> {
            let listener = listener as u32;
            let host = settled(&mut guest);
            if !host.scheduler.runtime.files.has_listener(listener) {
                let message = format!("the guest connects to listener {listener}: give --listen {listener}");
                return Err(host.stop(BugKind::Limit, message).into());
            }
            if host.scheduler.running.is_none() {
                // The module's start function: there is no worker yet.
                return Ok((-i32::from(Errno::NOTSUP), 0));
            }
            Ok(announce(&mut guest, site, listener.into(), Request::Connect { listener }))
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        rt::SOCKET_POLL,
        |mut guest: Guest, from: i32, to: i32, count: i32, stored: i32, site: i32| {
            let begun = on_memory(&mut guest, "poll_oneoff", |memory, scheduler, _| {
                let (to, stored) = (to as u32, stored as u32);
                let all = match subscriptions(memory, scheduler, from as u32, to, count as u32, stored)? {
                    Ok(all) => all,
                    // A poll without subscriptions fails, but that of a driver waits before it does.
                    Err(_) if count == 0 && driver(scheduler).turns => Vec::new(),
                    Err(error) => return Ok(Err(error)),
                };
                // The events of the time are written before the wait: the buffer belongs to the caller.
                let span = all.iter().filter_map(Subscription::span_ns).min();
                let looks_again = all.is_empty() && !driver(scheduler).all_known;
                let first = all.iter().filter(|one| span.is_some() && one.span_ns() == span);
                write_events(memory, (to, stored), 0, first)?;
                if let Some(worker) = scheduler.running {
                    let sockets = all.iter().filter_map(Subscription::socket).collect();
                    scheduler.runtime.set_polled(worker, sockets);
                }
                Ok(Ok(if looks_again { Some(LOOKS_AGAIN_NS) } else { span }))
            })?;
            Ok(match begun {
                Ok(span_ns) => announce(&mut guest, site, 0, Request::Poll { span_ns }),
                Err(error) => (FAILED | i32::from(error), 0),
            })
        },
    )?;
    linker.func_wrap(
        rt::MODULE,
        rt::SOCKET_EVENTS,
        |mut guest: Guest, from: i32, to: i32, count: i32, stored: i32, waited: i32| -> Result<i32> {
            if waited & FAILED != 0 {
                return Ok(waited & !FAILED);
            }
            on_memory(&mut guest, "poll_oneoff", |memory, scheduler, _| {
                let (to, stored) = (to as u32, aligned(stored as u32, 4)?);
                let all = match subscriptions(memory, scheduler, from as u32, to, count as u32, stored)? {
                    Ok(all) => all,
                    Err(error) => return Ok(error.into()),
                };
                let timed_out = i64::from(waited) == TIMED_OUT;
                let before = if timed_out { memory.read_u32(stored)? } else { 0 };
                let ready = all.iter().filter(|one| one.is_ready(&scheduler.runtime));
                write_events(memory, (to, stored), before, ready)?;
                Ok(0)
            })
        },
    )?;
    Ok(())
}

/// The running worker's part in a driver.
fn driver(scheduler: &Scheduler) -> Driver {
    scheduler.running.map(|worker| scheduler.runtime.worker(worker).driver).unwrap_or_default()
}
