//! `poll_oneoff`: sleeps until the first of its clocks; a descriptor that is no socket is ready at once. In modules that can
//! have sockets, `machine/sockets.rs` waits.

use super::{BadAddress, Guest, aligned, on_memory};
use crate::machine::calls::announce;
use crate::machine::guest_memory::GuestMemory;
use crate::machine::host::Host;
use crate::machine::scheduler::Scheduler;
use crate::runtime::files::{Call, Errno, Served};
use crate::runtime::polled::Direction;
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

/// A subscription: its event, and when it comes.
pub struct Subscription {
    event: [u8; EVENT_BYTES as usize],
    when: When,
}

enum When {
    /// After this span of time.
    After(u64),
    /// Once the descriptor is ready.
    Ready(u32, Direction),
}

impl Subscription {
    /// The time until the event, if that is what it waits for.
    pub fn span_ns(&self) -> Option<u64> {
        match self.when {
            When::After(span_ns) => Some(span_ns),
            When::Ready(..) => None,
        }
    }

    /// The descriptor for which it waits.
    pub fn socket(&self) -> Option<(u32, Direction)> {
        match self.when {
            When::After(_) => None,
            When::Ready(descriptor, direction) => Some((descriptor, direction)),
        }
    }

    /// Whether its descriptor is ready.
    pub fn is_ready(&self, runtime: &Runtime) -> bool {
        self.socket().is_some_and(|(descriptor, direction)| {
            runtime.files.look(descriptor, direction).is_none_or(|look| look.ready)
        })
    }
}

/// Writes the events of a poll, and returns for how long it sleeps.
///
/// The events are written before the sleep rather than after it: the buffer belongs to the caller,
/// which is blocked meanwhile.
fn poll(
    memory: &mut GuestMemory,
    scheduler: &mut Scheduler,
    from: u32,
    to: u32,
    count: u32,
    stored: u32,
) -> Result<Result<u64, Errno>, BadAddress> {
    let all = match subscriptions(memory, scheduler, from, to, count, stored)? {
        Ok(all) => all,
        Err(error) => return Ok(Err(error)),
    };
    // Without sockets, every descriptor is ready at once.
    let span = |one: &Subscription| one.span_ns().unwrap_or(0);
    let least = all.iter().map(span).min().expect("at least one subscription");
    let first = all.iter().filter(|one| span(one) == least);
    write_events(memory, (to, stored), 0, first)?;
    Ok(Ok(least))
}

/// Writes events to `to`, behind `before` others, and the number of all to `stored`.
pub fn write_events<'a>(
    memory: &mut GuestMemory,
    (to, stored): (u32, u32),
    before: u32,
    events: impl Iterator<Item = &'a Subscription>,
) -> Result<(), BadAddress> {
    let mut written = before;
    for subscription in events {
        memory.write(to + written * EVENT_BYTES, &subscription.event)?;
        written += 1;
    }
    Ok(memory.write(stored, &written.to_le_bytes())?)
}

/// Reads the subscriptions of a poll, and checks where its events go.
pub fn subscriptions(
    memory: &mut GuestMemory,
    scheduler: &mut Scheduler,
    from: u32,
    to: u32,
    count: u32,
    stored: u32,
) -> Result<Result<Vec<Subscription>, Errno>, BadAddress> {
    if count == 0 {
        return Ok(Err(Errno::INVAL));
    }
    let (from, to) = (aligned(from, 8)?, aligned(to, 8)?);
    let bytes = |size: u32| count.checked_mul(size).ok_or(BadAddress::OutOfBounds);
    memory.check(from, bytes(SUBSCRIPTION_BYTES)?)?;
    memory.check(to, bytes(EVENT_BYTES)?)?;
    memory.check(aligned(stored, 4)?, 4)?;
    let mut all = Vec::new();
    for i in 0..count {
        let bytes = memory.read(from + i * SUBSCRIPTION_BYTES, SUBSCRIPTION_BYTES)?;
        let bytes: [u8; SUBSCRIPTION_BYTES as usize] = bytes.try_into().expect("as many as were read");
        match subscription(&mut scheduler.runtime, &bytes) {
            Ok(subscription) => all.push(subscription),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(all))
}

fn subscription(
    runtime: &mut Runtime,
    bytes: &[u8; SUBSCRIPTION_BYTES as usize],
) -> Result<Subscription, Errno> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let small = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let mut event = [0; EVENT_BYTES as usize];
    event[..8].copy_from_slice(&bytes[..8]);
    event[10] = bytes[8];
    let when = match bytes[8] {
        CLOCK => {
            let base = runtime.clock_jumps().base_ns(small(16)).ok_or(Errno::INVAL)?;
            When::After(match u16::from_le_bytes([bytes[40], bytes[41]]) {
                0 => number(24),
                ABSOLUTE => number(24).saturating_sub(base).saturating_sub(runtime.now_ns()),
                _ => return Err(Errno::INVAL),
            })
        }
        READ | WRITE => {
            let direction = if bytes[8] == READ { Direction::Receive } else { Direction::Send };
            let (error, left, hung_up) = match runtime.files.look(small(16), direction) {
                Some(look) => (0, look.amount as u64, look.hung_up),
                None => {
                    let (error, left) = ready(runtime, small(16), bytes[8]);
                    (error, left, bytes[8] == READ && left == 0)
                }
            };
            event[8..10].copy_from_slice(&error.to_le_bytes());
            event[16..24].copy_from_slice(&left.to_le_bytes());
            event[24..26].copy_from_slice(&(if hung_up { HANGUP } else { 0 }).to_le_bytes());
            When::Ready(small(16), direction)
        }
        _ => return Err(Errno::INVAL),
    };
    Ok(Subscription { event, when })
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
