//! Streams: bytes in order, without borders between writes, over a connection that can break.

use super::link::{Arrival, Wires};
use super::wait::{Nothing, Wait};
use super::{Address, Inbox, Inner, Node};
use crate::task::section::{Section, Shared};
use crate::task::sync::queue::{Queue, wake_all};
use crate::task::{self, park};
use crate::{fault, nondet, sys};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

/// A connection.
pub(super) struct Connection {
    shared: Shared<Pipes>,
    made: &'static Location<'static>,
}

struct Pipes {
    /// The bytes that each end writes.
    halves: [Half; 2],
    /// Why the connection is lost: the error of both ends.
    lost: Option<ErrorKind>,
    /// The end whose node has crashed, if the other end learns of it: behind what was sent before.
    dead: Option<usize>,
    /// The last time at which its link had broken connections when it was made.
    broken_before_ns: i64,
}

/// An end of a connection, for the case that its node crashes.
pub(super) struct End {
    connection: Weak<Connection>,
    end: usize,
}

impl End {
    /// Whether someone still has one of the connection's ends.
    pub(super) fn exists(&self) -> bool {
        self.connection.strong_count() > 0
    }

    /// The node of this end has crashed. Returns who is to be told.
    pub(super) fn crash(&self) -> Vec<Waker> {
        let Some(connection) = self.connection.upgrade() else { return Vec::new() };
        connection.shared.step(|pipes| pipes.crash(self.end))
    }
}

/// One direction.
#[derive(Default)]
struct Half {
    segments: VecDeque<Segment>,
    /// Whether the writer has shut it down.
    shut: bool,
    /// The end of the bytes is on its way behind them, and due at this time; 0 for at once.
    ended_ns: Option<i64>,
    /// Whether writes are lost without an error.
    silent: bool,
    /// Whether the reader is gone.
    unread: bool,
    /// When the first bytes are due, 0 for at once, that were written after the reader had gone. Its node answers that.
    answered_ns: Option<i64>,
    reading: Queue<()>,
}

/// Bytes that were written at once, as far as they were not read.
struct Segment {
    bytes: VecDeque<u8>,
    /// The earliest virtual time at which they arrive; 0 for at once.
    due_ns: i64,
}

impl Half {
    /// Moves bytes that have arrived to a buffer: as many as fit, or by choice fewer.
    fn read(&mut self, buffer: &mut [u8], arrival: impl Fn(i64) -> Arrival) -> Result<usize, Nothing> {
        let arrived = self.segments.iter().take_while(|segment| arrival(segment.due_ns) == Arrival::Now);
        let arrived: usize = arrived.map(|segment| segment.bytes.len()).sum();
        let most = arrived.min(buffer.len());
        if most == 0 {
            return match self.segments.front() {
                Some(segment) => Err(Nothing::Arrived(arrival(segment.due_ns))),
                None => match self.ended_ns.map(arrival) {
                    None => Err(Nothing::Sent),
                    Some(Arrival::Now) => Ok(0),
                    Some(later) => Err(Nothing::Arrived(later)),
                },
            };
        }
        let count = most - if most > 1 { nondet::int(0..most) } else { 0 };
        for place in &mut buffer[..count] {
            let segment = self.segments.front_mut().expect("so many bytes have arrived");
            *place = segment.bytes.pop_front().expect("a segment has a byte");
            if segment.bytes.is_empty() {
                self.segments.pop_front();
            }
        }
        Ok(count)
    }

    /// The writer writes no more. `due_ns`: when its end arrives.
    fn end(&mut self, due_ns: i64) -> Vec<Waker> {
        self.shut = true;
        if !self.silent {
            self.ended_ns.get_or_insert(due_ns);
        }
        self.reading.pop_all()
    }
}

impl Pipes {
    /// Whether it is lost, or is now since its link has been cut for too long. Otherwise when that will be, if it is.
    fn check(&mut self, (one, other): (u32, u32), wires: &Wires) -> io::Result<Option<Arrival>> {
        let breaks = wires.breaks(one, other);
        if breaks == Some(Arrival::Now) || wires.broken_ns(one, other) > self.broken_before_ns {
            self.lost.get_or_insert(ErrorKind::TimedOut);
        }
        match self.lost {
            Some(kind) => Err(kind.into()),
            None => Ok(breaks),
        }
    }

    /// Breaks the connection for both ends.
    fn reset(&mut self, all: &mut Vec<Waker>) {
        self.lost = Some(ErrorKind::ConnectionReset);
        self.halves.iter_mut().for_each(|half| all.extend(half.reading.pop_all()));
    }

    /// The node of an end crashes. What it has sent still arrives.
    fn crash(&mut self, end: usize) -> Vec<Waker> {
        let incoming = &mut self.halves[1 - end];
        incoming.unread = true;
        // Those who waited have ended, and are not to be told.
        std::mem::forget(std::mem::take(&mut incoming.reading));
        incoming.segments.clear();
        if self.lost.is_none() && fault::choose("!net.half-open", 1) > 0 {
            self.halves.iter_mut().for_each(|half| half.silent = true);
        } else {
            self.dead = Some(end);
        }
        self.halves[end].reading.pop_all()
    }

    /// When an end learns that the other one is gone, if it has written since then: by an answer to what it wrote. `link`: the
    /// one over which it writes.
    fn answer(&self, end: usize, (from, to): (u32, u32), wires: &Wires) -> Option<Arrival> {
        let due_ns = self.halves[end].answered_ns?;
        Some(wires.bytes(from, to, due_ns).max(wires.bytes(to, from, 0)))
    }

    /// An end writes bytes, which are not none, to the other end. Adds who is to be told.
    fn write(
        &mut self,
        end: usize,
        bytes: &[u8],
        link: (u32, u32),
        wires: &Wires,
        all: &mut Vec<Waker>,
    ) -> io::Result<usize> {
        self.check(link, wires)?;
        if self.halves[end].shut {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if self.answer(end, link, wires) == Some(Arrival::Now) {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let (from, to) = link;
        // What is sent over a link that is cut waits until that is mended.
        let due_ns = wires.enter(from, to, all).unwrap_or(0);
        if from != to {
            match fault::choose("!net.reset", 2) {
                0 => {}
                1 => {
                    self.reset(all);
                    return Err(ErrorKind::ConnectionReset.into());
                }
                _ => self.reset(all),
            }
            let ways = fault::choose("!net.half-open", 2);
            self.halves[end].silent |= ways > 0;
            self.halves[1 - end].silent |= ways > 1;
        }
        let half = &mut self.halves[end];
        if self.lost.is_none() && !half.silent && half.unread {
            half.answered_ns.get_or_insert(due_ns);
            all.extend(self.halves[1 - end].reading.pop_all());
        } else if self.lost.is_none() && !half.silent {
            let due_ns = half.segments.back().map_or(due_ns, |last| last.due_ns.max(due_ns));
            half.segments.push_back(Segment { bytes: bytes.iter().copied().collect(), due_ns });
            all.extend(half.reading.pop_all());
        }
        Ok(bytes.len())
    }

    /// An end reads. Nothing that was sent over a lost connection is read; but what was sent by an end that is gone is, and
    /// only then the answer that it is gone.
    fn read(
        &mut self,
        end: usize,
        buffer: &mut [u8],
        link: (u32, u32),
        wires: &Wires,
    ) -> Result<io::Result<usize>, Nothing> {
        let breaks = match self.check(link, wires) {
            Ok(breaks) => breaks,
            Err(error) => return Ok(Err(error)),
        };
        let (from, to) = link;
        let mut read = self.halves[1 - end].read(buffer, |due_ns| wires.bytes(from, to, due_ns));
        if let (Err(Nothing::Sent), true) = (&read, self.dead == Some(1 - end)) {
            match wires.bytes(from, to, 0) {
                Arrival::Now => {
                    self.lost = Some(ErrorKind::ConnectionReset);
                    return Ok(Err(ErrorKind::ConnectionReset.into()));
                }
                later => read = Err(Nothing::Arrived(later)),
            }
        }
        if let Err(Nothing::Sent) | Ok(0) = read {
            match self.answer(end, (to, from), wires) {
                Some(Arrival::Now) => return Ok(Err(ErrorKind::ConnectionReset.into())),
                Some(later) if read.is_err() => read = Err(Nothing::Arrived(later)),
                _ => {}
            }
        }
        read.map(Ok).map_err(|nothing| match (nothing, breaks) {
            (Nothing::Arrived(arrival), Some(breaks)) => Nothing::Arrived(arrival.min(breaks)),
            (_, Some(breaks)) => Nothing::Arrived(breaks),
            (Nothing::Sent, None) => Nothing::Over,
            (nothing, None) => nothing,
        })
    }
}

/// One end of a connection: see [`Node::connect`] and [`Listener::accept`]. It implements [`std::io::Read`]
/// and `Write`, also by reference. Dropping it ends the written bytes, as [`Stream::shutdown`] does.
///
/// What is written arrives in order, but a read may return fewer bytes than have arrived, whatever was written at once. A
/// write takes all bytes and never waits.
pub struct Stream {
    connection: Arc<Connection>,
    wires: Arc<Wires>,
    end: usize,
    local: Address,
    peer: Address,
}

impl Stream {
    /// The address of this end. The end that connected has the port 0.
    pub fn local_address(&self) -> Address {
        self.local
    }

    /// The address of the other end.
    pub fn peer_address(&self) -> Address {
        self.peer
    }

    /// Ends the written bytes: the other end reads what was written before, and then the end of the stream.
    pub fn shutdown(&self) {
        let (connection, wires, end, (peer, local)) = self.reads();
        let (woken, _whole) = connection.shared.step(|pipes| {
            wires.may_crash();
            (pipes.halves[end].end(wires.due_ns(local, peer, 0)), wires.whole())
        });
        wake_all(woken);
    }

    /// Reads bytes, for tasks: as many as have arrived, or fewer, but at least one; 0 at the end.
    /// Cancellation safe: bytes that it did not return stay in the stream.
    ///
    /// # Errors
    /// [`ConnectionReset`](ErrorKind::ConnectionReset); [`TimedOut`](ErrorKind::TimedOut): the link was cut for
    /// [`Config::patience`](super::Config::patience).
    pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let (connection, wires, end, link) = self.reads();
        let mut wait =
            Wait::new(&connection.shared, wires, move |pipes| Some(&mut pipes.halves[1 - end].reading));
        poll_fn(|context| {
            let polled = wait.poll(context, |pipes| pipes.read(end, buffer, link, wires));
            if polled.is_pending() {
                park::tell("stream", connection.made, connection.shared.address());
            }
            polled
        })
        .await
    }

    /// Waits until the connection is made: see [`Attempt::Later`].
    async fn made(&self, due_ns: [i64; 2]) -> io::Result<()> {
        let (connection, wires, end, (peer, local)) = self.reads();
        let link = (local, peer);
        let mut wait =
            Wait::new(&connection.shared, wires, move |pipes| Some(&mut pipes.halves[1 - end].reading));
        poll_fn(|context| {
            let polled =
                wait.poll(context, |pipes| match (pipes.check(link, wires), wires.handshake(link, due_ns)) {
                    (Err(error), _) => Ok(Err(error)),
                    (_, Arrival::Now) => Ok(Ok(())),
                    (Ok(breaks), later) => {
                        Err(Nothing::Arrived(breaks.map_or(later, |breaks| breaks.min(later))))
                    }
                });
            if polled.is_pending() {
                park::tell("stream", connection.made, connection.shared.address());
            }
            polled
        })
        .await
    }

    /// What it has, as a part of the step that the worker makes: the link is the one from which it reads.
    fn reads(&self) -> (&Connection, &Wires, usize, (u32, u32)) {
        let _section = Section::enter();
        (&self.connection, &self.wires, self.end, (self.peer.number(), self.local.number()))
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let (connection, wires, end, link) = self.reads();
        let read = connection.shared.step(|pipes| {
            wires.may_crash();
            pipes.read(end, buffer, link, wires)
        });
        read.unwrap_or_else(|_| task::block_on(self.read_async(buffer)))
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let (connection, wires, end, (from, to)) = self.reads();
        let link = (to, from);
        let mut woken = Vec::new();
        let (written, _whole) = connection.shared.step(|pipes| {
            wires.may_crash();
            let whole = wires.whole();
            (pipes.write(end, bytes, link, wires, &mut woken), whole)
        });
        wake_all(woken);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let (connection, wires, end, (peer, local)) = self.reads();
        let (woken, _unread, whole) = connection.shared.step(|pipes| {
            wires.may_crash();
            let incoming = &mut pipes.halves[1 - end];
            incoming.unread = true;
            let unread = std::mem::take(&mut incoming.segments);
            (pipes.halves[end].end(wires.due_ns(local, peer, 0)), unread, wires.whole())
        });
        wake_all(woken);
        drop(whole);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Stream").field("local", &self.local).field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// Connections that were made and not accepted yet.
pub(super) struct Backlog {
    /// Each with the time at which it is due; 0 for at once.
    streams: VecDeque<(Stream, i64)>,
    waiting: Queue<()>,
}

impl Backlog {
    /// Takes the first connection that has arrived.
    fn accept(&mut self, wires: &Wires) -> Result<Stream, Nothing> {
        let mut soonest: Option<Arrival> = None;
        for at in 0..self.streams.len() {
            let (stream, due_ns) = &self.streams[at];
            match wires.bytes(stream.peer.number(), stream.local.number(), *due_ns) {
                Arrival::Now => return Ok(self.streams.remove(at).expect("it is one of them").0),
                later => soonest = Some(soonest.map_or(later, |soonest| soonest.min(later))),
            }
        }
        Err(soonest.map_or(Nothing::Sent, Nothing::Arrived))
    }
}

/// Accepts connections that have arrived, in the order in which they were made: see [`Node::listen`]. Dropping it ends the
/// connections that were not accepted.
pub struct Listener<M = Vec<u8>> {
    network: Arc<Inner<M>>,
    address: Address,
    /// How often the node had crashed.
    crashes: u32,
    made: &'static Location<'static>,
}

impl<M: Clone + Send> Listener<M> {
    pub(super) fn bind(node: &Node<M>, port: u16, made: &'static Location<'static>) -> io::Result<Self> {
        let network = node.network();
        let bound = node.inbox().step(|inbox| {
            network.wires.may_crash();
            if inbox.listeners.contains_key(&port) {
                return None;
            }
            inbox.listeners.insert(port, Backlog { streams: VecDeque::new(), waiting: Queue::new() });
            Some(inbox.crashes)
        });
        match bound {
            Some(crashes) => Ok(Listener { network, address: node.address(port), crashes, made }),
            None => Err(ErrorKind::AddrInUse.into()),
        }
    }

    /// The address of the listener, to which others connect.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Waits for a connection. [`Stream::peer_address`] is the end that made it.
    pub fn accept(&self) -> Stream {
        let (inbox, wires, port) = self.own();
        let accepted = inbox.step(|inbox| {
            wires.may_crash();
            inbox.backlog(port, self.crashes).accept(wires)
        });
        accepted.unwrap_or_else(|_| task::block_on(self.accept_async()))
    }

    /// As [`Listener::accept`], for tasks. Cancellation safe.
    pub async fn accept_async(&self) -> Stream {
        let (inbox, wires, port) = self.own();
        let crashes = self.crashes;
        let mut wait = Wait::new(inbox, wires, move |inbox| Some(&mut inbox.backlog(port, crashes).waiting));
        poll_fn(|context| {
            let polled = wait.poll(context, |inbox| inbox.backlog(port, crashes).accept(wires));
            if polled.is_pending() {
                park::tell("listener", self.made, inbox.address());
            }
            polled
        })
        .await
    }

    /// What it has, as a part of the step that the worker makes.
    fn own(&self) -> (&Shared<Inbox<M>>, &Wires, u16) {
        let _section = Section::enter();
        let inbox = &self.network.inboxes[self.address.number() as usize];
        (inbox, &self.network.wires, self.address.port())
    }
}

impl<M> Drop for Listener<M> {
    fn drop(&mut self) {
        let (inbox, port) = {
            let _section = Section::enter();
            (&self.network.inboxes[self.address.number() as usize], self.address.port())
        };
        let _streams = inbox.step(|inbox| {
            self.network.wires.may_crash();
            // After a crash, the port belongs to another listener.
            (inbox.crashes == self.crashes).then(|| inbox.listeners.remove(&port))
        });
    }
}

impl<M> fmt::Debug for Listener<M> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The result of an attempt to connect.
enum Attempt {
    /// The connection is made.
    Made(Stream),
    /// It is made when the first time has come for the link there, and then the second one for the link back.
    Later(Stream, [i64; 2]),
    Fails(ErrorKind),
    Cut(Arrival),
}

/// See [`Node::connect`].
pub(super) async fn connect<M: Clone + Send>(
    node: &Node<M>,
    to: Address,
    made: &'static Location<'static>,
) -> io::Result<Stream> {
    let from = node.address(0);
    let (inbox, wires) = {
        let _section = Section::enter();
        node.network.checked(to);
        (&node.network.inboxes[to.number() as usize], &node.network.wires)
    };
    let link = (from.number(), to.number());
    loop {
        let mut all = Vec::new();
        let mut whole = None;
        let attempt = inbox.step(|inbox| {
            wires.may_crash();
            whole = wires.whole();
            let due_ns = wires.enter(link.0, link.1, &mut all);
            let (due_ns, cut) = match (due_ns, wires.cut(link.1, link.0)) {
                (Some(due_ns), Arrival::Now) => (due_ns, None),
                (Some(_), back) => (0, Some(back)),
                (None, back) => (0, Some(back.max(wires.cut(link.0, link.1)))),
            };
            match (cut, wires.breaks(link.0, link.1)) {
                (None, _) => {}
                (Some(_), Some(Arrival::Now)) => return Attempt::Fails(ErrorKind::TimedOut),
                (Some(cut), breaks) => return Attempt::Cut(breaks.map_or(cut, |breaks| cut.min(breaks))),
            }
            if link.0 != link.1 && fault::choose("!net.reset", 1) > 0 {
                return Attempt::Fails(ErrorKind::ConnectionReset);
            }
            if !inbox.listeners.contains_key(&to.port()) {
                return Attempt::Fails(ErrorKind::ConnectionRefused);
            }
            let broken_before_ns = wires.broken_ns(link.0, link.1);
            let pipes = Pipes { halves: Default::default(), lost: None, dead: None, broken_before_ns };
            let connection = Arc::new(Connection { shared: Shared::new(pipes), made });
            if wires.nodes_crash() {
                let [near, far] = [0, 1].map(|end| End { connection: Arc::downgrade(&connection), end });
                match link.0 == link.1 {
                    true => inbox.keep(near),
                    false => node.network.inboxes[link.0 as usize].at_once(|inbox| inbox.keep(near)),
                }
                inbox.keep(far);
            }
            let stream = |end, local, peer| Stream {
                connection: Arc::clone(&connection),
                wires: Arc::clone(wires),
                end,
                local,
                peer,
            };
            let backlog = inbox.listeners.get_mut(&to.port()).expect("there is a listener");
            backlog.streams.push_back((stream(1, to, from), due_ns));
            all.extend(backlog.waiting.pop_all());
            let due_ns = [due_ns, wires.due_ns(link.1, link.0, due_ns)];
            match wires.handshake(link, due_ns) {
                Arrival::Now => Attempt::Made(stream(0, from, to)),
                Arrival::At(_) => Attempt::Later(stream(0, from, to), due_ns),
            }
        });
        wake_all(all);
        drop(whole);
        match attempt {
            Attempt::Made(stream) => return Ok(stream),
            Attempt::Later(stream, due_ns) => return stream.made(due_ns).await.map(|()| stream),
            Attempt::Fails(kind) => return Err(kind.into()),
            Attempt::Cut(Arrival::Now) => {}
            Attempt::Cut(Arrival::At(ns)) => task::sleep(span_until(ns)).await,
        }
    }
}

fn span_until(ns: i64) -> Duration {
    Duration::from_nanos((ns - sys::now()).max(0) as u64)
}
