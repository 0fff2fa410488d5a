//! `poll_oneoff`: sleeps until the first of its clocks; a descriptor is ready at once.

use super::{BadAddress, Guest, aligned, on_memory};
use crate::machine::calls::announce;
use crate::machine::guest_memory::GuestMemory;
use crate::machine::host::Host;
use crate::machine::scheduler::Scheduler;
use crate::runtime::files::{Call, Errno, Served};
use crate::runtime::{Request, Runtime};
use coyote_abi::{file, rt};
use wasmtime::{Linker, Result};

const SUBSCRIPTION_BYTES: u32 = 48;
const EVENT_BYTES: u32 = 32;
/// Tags of a subscription and its event.
const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;
/// Flag of a clock subscription: its time is a point in time.
const ABSOLUTE: u16 = 1;
/// Flag of an event: there will be no more data.
const HANGUP: u16 = 1;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(
        rt::MODULE,
        rt::WASI_POLL_ONEOFF,
        |mut guest: Guest, subscriptions: i32, events: i32, count: i32, stored: i32, site: i32| {
            let (from, to) = (subscriptions as u32, events as u32);
            let polled = on_memory(&mut guest, "poll_oneoff", |memory, scheduler, _| {
                poll(memory, scheduler, from, to, count as u32, stored as u32)
            })?;
            Ok(match polled {
                Err(error) => (error.into(), 0),
                Ok(0) => announce(&mut guest, site, 0, Request::Step),
                Ok(span_ns) => announce(&mut guest, site, 0, Request::Sleep { span_ns }),
            })
        },
    )?;
    Ok(())
}

/// An event and the time until it comes.
struct Wait {
    event: [u8; EVENT_BYTES as usize],
    span_ns: u64,
}

/// Writes the events of a poll, and returns for how long it sleeps.
///
/// The events are written before the sleep rather than after it: the buffer belongs to the caller,
/// which is blocked meanwhile.
fn poll(
    memory: &mut GuestMemory,
    scheduler: &mut Scheduler,
    subscriptions: u32,
    events: u32,
    count: u32,
    stored: u32,
) -> Result<Result<u64, Errno>, BadAddress> {
    if count == 0 {
        return Ok(Err(Errno::INVAL));
    }
    let (subscriptions, events) = (aligned(subscriptions, 8)?, aligned(events, 8)?);
    let bytes = |size: u32| count.checked_mul(size).ok_or(BadAddress::OutOfBounds);
    memory.check(subscriptions, bytes(SUBSCRIPTION_BYTES)?)?;
    memory.check(events, bytes(EVENT_BYTES)?)?;
    memory.check(aligned(stored, 4)?, 4)?;
    let mut waits = Vec::new();
    for i in 0..count {
        let bytes = memory.read(subscriptions + i * SUBSCRIPTION_BYTES, SUBSCRIPTION_BYTES)?;
        let bytes: [u8; SUBSCRIPTION_BYTES as usize] = bytes.try_into().expect("as many as were read");
        match wait(&mut scheduler.runtime, &bytes) {
            Ok(wait) => waits.push(wait),
            Err(error) => return Ok(Err(error)),
        }
    }
    let span = waits.iter().map(|w| w.span_ns).min().expect("at least one subscription");
    let first: Vec<&Wait> = waits.iter().filter(|w| w.span_ns == span).collect();
    for (i, wait) in first.iter().enumerate() {
        memory.write(events + i as u32 * EVENT_BYTES, &wait.event)?;
    }
    memory.write(stored, &(first.len() as u32).to_le_bytes())?;
    Ok(Ok(span))
}

/// The event of a subscription, and the time until it comes.
fn wait(runtime: &mut Runtime, bytes: &[u8; SUBSCRIPTION_BYTES as usize]) -> Result<Wait, Errno> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let small = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let mut event = [0; EVENT_BYTES as usize];
    event[..8].copy_from_slice(&bytes[..8]);
    event[10] = bytes[8];
    let span_ns = match bytes[8] {
        CLOCK => {
            let base = runtime.clock_jumps().base_ns(small(16)).ok_or(Errno::INVAL)?;
            match u16::from_le_bytes([bytes[40], bytes[41]]) {
                0 => number(24),
                ABSOLUTE => number(24).saturating_sub(base).saturating_sub(runtime.now_ns()),
                _ => return Err(Errno::INVAL),
            }
        }
        READ | WRITE => {
            let (error, left) = ready(runtime, small(16), bytes[8]);
            event[8..10].copy_from_slice(&error.to_le_bytes());
            event[16..24].copy_from_slice(&left.to_le_bytes());
            let flags = if bytes[8] == READ && left == 0 { HANGUP } else { 0 };
            event[24..26].copy_from_slice(&flags.to_le_bytes());
            0
        }
        _ => return Err(Errno::INVAL),
    };
    Ok(Wait { event, span_ns })
}

/// The error of a subscription to a descriptor, and the bytes that can be read there.
fn ready(runtime: &mut Runtime, descriptor: u32, tag: u8) -> (u16, u64) {
    let mut ask = |name: &str| {
        let function = file::call(name).expect("it is in the table");
        let call = Call { function, numbers: vec![descriptor.into()], inputs: Vec::new(), room: 0 };
        runtime.file_call(None, &call)
    };
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    match (ask("fd_filestat_get"), tag) {
        (Served::Here(answer), _) if answer.error.is_some() => (answer.errno(), 0),
        (Served::Here(answer), READ) => match ask("fd_tell") {
            Served::Here(at) if at.error.is_none() => {
                (0, number(&answer.result, 32).saturating_sub(number(&at.result, 0)))
            }
            _ => (0, 0),
        },
        // A file of the host is ready too; the host is not asked for the number of bytes to read.
        _ => (0, 1),
    }
}
