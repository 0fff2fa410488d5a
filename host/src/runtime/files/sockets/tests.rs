//! Calls on both ends of connections, in generated sequences, against a model that keeps the history and nothing else.

use super::super::{Answer, Call, Errno, Files, Served};
use super::ROOM_BYTES;
use crate::runtime::{AtExit, Faults, Runtime, Start};
use coyote_abi::file;
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;

const LISTENER: u32 = 4;

/// What happened to a connection, in order. 0 is the peer's end, 1 the server's.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    /// These bytes were taken from the sender.
    Sent(usize, Vec<u8>),
    Received(usize, usize),
    ShutForReceiving(usize),
    ShutForSending(usize),
    Closed(usize),
    /// An end was told of a reset.
    Told(usize),
}

#[derive(Debug, Default)]
struct History(Vec<Event>);

impl History {
    fn before(&self, event: &Event) -> Option<History> {
        let at = self.0.iter().position(|other| other == event)?;
        Some(History(self.0[..at].to_vec()))
    }

    fn has(&self, event: Event) -> bool {
        self.0.contains(&event)
    }

    /// The bytes that an end can still receive.
    fn pending(&self, end: usize) -> Vec<u8> {
        let closed = self.0.iter().position(|event| *event == Event::Closed(end)).unwrap_or(self.0.len());
        let mut all = Vec::new();
        for (at, event) in self.0.iter().enumerate() {
            match event {
                Event::Sent(by, bytes) if *by != end && at < closed => all.extend(bytes),
                Event::Received(by, count) if *by == end => drop(all.drain(..*count)),
                _ => {}
            }
        }
        all
    }

    /// Whether an end is closed.
    fn gone(&self, end: usize) -> bool {
        self.has(Event::Closed(end))
    }

    /// Whether an end was closed while it had bytes to receive.
    fn left_unread(&self, end: usize) -> bool {
        self.before(&Event::Closed(end)).is_some_and(|before| !before.pending(end).is_empty())
    }

    /// Whether a reset has ended the connection: by an end that left bytes unread, or for bytes to an end that is closed.
    fn reset(&self) -> bool {
        let sent_after = |end: usize| {
            let closed = self.0.iter().position(|event| *event == Event::Closed(end));
            let late =
                |event: &Event| matches!(event, Event::Sent(by, bytes) if *by != end && !bytes.is_empty());
            closed.is_some_and(|at| self.0[at..].iter().any(late))
        };
        (0..2).any(|end| self.left_unread(end) || sent_after(end))
    }

    /// Whether the next call at an end has to tell of a reset, which is not told of twice: one by the other end, while the
    /// connection lived.
    fn to_tell(&self, end: usize) -> bool {
        let lived = || self.before(&Event::Closed(1 - end)).is_some_and(|before| !before.reset());
        self.left_unread(1 - end) && lived() && !self.has(Event::Told(end))
    }

    fn receive(&mut self, end: usize, most: usize, peeks: bool) -> Result<Vec<u8>, Errno> {
        let pending = self.pending(end);
        if !pending.is_empty() {
            let received = pending[..pending.len().min(most)].to_vec();
            self.0.push(Event::Received(end, if peeks { 0 } else { received.len() }));
            return Ok(received);
        }
        if self.to_tell(end) {
            self.0.push(Event::Told(end));
            return Err(Errno::CONNRESET);
        }
        let over = self.has(Event::ShutForSending(1 - end))
            || self.gone(1 - end)
            || self.has(Event::ShutForReceiving(end));
        if over || self.reset() { Ok(Vec::new()) } else { Err(Errno::AGAIN) }
    }

    fn send(&mut self, end: usize, bytes: &[u8]) -> Result<usize, Errno> {
        if self.to_tell(end) {
            self.0.push(Event::Told(end));
            return Err(Errno::CONNRESET);
        }
        if self.reset() || self.has(Event::ShutForSending(end)) {
            return Err(Errno::PIPE);
        }
        let room = if self.gone(1 - end) { bytes.len() } else { ROOM_BYTES - self.pending(1 - end).len() };
        let sent = bytes.len().min(room);
        if sent == 0 && !bytes.is_empty() {
            return Err(Errno::AGAIN);
        }
        self.0.push(Event::Sent(end, bytes[..sent].to_vec()));
        Ok(sent)
    }

    fn shut(&mut self, end: usize, how: u64) -> Result<(), Errno> {
        if self.reset() {
            return Err(Errno::NOTCONN);
        }
        if how & 1 != 0 {
            self.0.push(Event::ShutForReceiving(end));
        }
        if how & 2 != 0 {
            self.0.push(Event::ShutForSending(end));
        }
        Ok(())
    }
}

fn call(runtime: &mut Runtime, name: &str, numbers: &[u64], input: Option<&[u8]>, room: usize) -> Answer {
    let function = file::call(name).expect("it is in the table");
    let inputs = input.iter().map(|bytes| bytes.to_vec()).collect();
    let call = Call { function, numbers: numbers.to_vec(), inputs, room: room as u32 };
    match runtime.file_call(None, &call) {
        Served::Here(answer) => answer,
        Served::ByHost(_) => unreachable!("there are no directories of the host"),
    }
}

fn checked(answer: Answer) -> Result<Answer, Errno> {
    answer.error.map_or(Ok(answer.clone()), Err)
}

/// A connection without waiting, as descriptors of its ends.
fn connection(runtime: &mut Runtime) -> [u32; 2] {
    let peer = runtime.session(None).connect(LISTENER).unwrap();
    let server = call(runtime, "sock_accept", &[LISTENER.into(), 4], None, 0).first_number();
    assert_eq!(call(runtime, "fd_fdstat_set_flags", &[peer.into(), 4], None, 0).error, None);
    [peer, server]
}

fn close(runtime: &mut Runtime, ends: [u32; 2]) {
    for end in ends {
        assert_eq!(call(runtime, "fd_close", &[end.into()], None, 0).error, None);
    }
}

fn listening() -> Runtime {
    let mut files = Files::default();
    files.listen(&[LISTENER]);
    let start = Start { entry: 0, a: 0, b: 0, stack: None };
    Runtime { files, ..Runtime::new(start, AtExit::default(), true, Faults::default()) }
}

#[test]
fn connections_answer_as_their_history_says() {
    let (mut calls, mut resets, mut full) = (0, 0, 0);
    for index in 0..300 {
        let mut rng = ChoiceRng::new(Iteration { seed: 3, index });
        let mut runtime = listening();
        let ends = connection(&mut runtime);
        let mut history = History::default();
        for _ in 0..30 {
            let end = rng.below(2) as usize;
            if history.gone(end) {
                continue;
            }
            calls += 1;
            let descriptor = u64::from(ends[end]);
            let size = [1, 2, 5, 40_000, 70_000][rng.below(5) as usize];
            let bytes: Vec<u8> = (0..size).map(|_| rng.below(256) as u8).collect();
            match rng.below(16) {
                0..=5 => {
                    let name = ["fd_write", "sock_send"][rng.below(2) as usize];
                    let numbers = [descriptor, 0];
                    let numbers = if name == "fd_write" { &numbers[..1] } else { &numbers };
                    let sent = checked(call(&mut runtime, name, numbers, Some(&bytes), 0));
                    let sent = sent.map(|answer| answer.first_number() as usize);
                    full += u64::from(sent == Err(Errno::AGAIN));
                    assert_eq!(sent, history.send(end, &bytes), "{index}: {end} sends {size}: {history:?}");
                }
                6..=12 => {
                    let (name, flags) = [("fd_read", None), ("sock_recv", Some(0)), ("sock_recv", Some(1))]
                        [rng.below(3) as usize];
                    let numbers: Vec<u64> = [descriptor].into_iter().chain(flags).collect();
                    let received = checked(call(&mut runtime, name, &numbers, None, size)).map(|answer| {
                        assert_eq!(answer.first_number() as usize, answer.data.len());
                        answer.data
                    });
                    resets += u64::from(received == Err(Errno::CONNRESET));
                    let expected = history.receive(end, size, flags == Some(1));
                    assert!(received == expected, "{index}: {end} receives {size}: {:?}", history.0.len());
                }
                13 | 14 => {
                    let how = 1 + rng.below(3);
                    let shut = checked(call(&mut runtime, "sock_shutdown", &[descriptor, how], None, 0));
                    assert_eq!(
                        shut.map(drop),
                        history.shut(end, how),
                        "{index}: {end} is shut down: {history:?}"
                    );
                }
                _ => {
                    assert_eq!(call(&mut runtime, "fd_close", &[descriptor], None, 0).error, None);
                    history.0.push(Event::Closed(end));
                }
            }
        }
    }
    assert!(calls > 4_000 && resets > 20 && full > 20, "{calls} {resets} {full}");
}

/// A program that closes all that it opened is in the state in which it began.
#[test]
fn what_is_closed_leaves_nothing_behind() {
    let mut runtime = listening();
    let ends = connection(&mut runtime);
    close(&mut runtime, ends);
    let begun = runtime.digest();
    let [peer, server] = connection(&mut runtime);
    assert_ne!(runtime.digest(), begun);
    call(&mut runtime, "fd_write", &[peer.into()], Some(b"x"), 0);
    close(&mut runtime, [server, peer]);
    let ends = connection(&mut runtime);
    close(&mut runtime, ends);
    assert_eq!(runtime.digest(), begun);
    assert_eq!(call(&mut runtime, "fd_close", &[LISTENER.into()], None, 0).error, None);
    assert_ne!(runtime.digest(), begun);
    assert_eq!(runtime.session(None).connect(LISTENER), Err(Errno::CONNREFUSED));
}

/// Listening sockets have the descriptors that were asked for, and directories have the others.
#[test]
fn directories_give_way() {
    for (listeners, root, next) in [(&[4][..], 3, 5), (&[3], 4, 5), (&[4, 3], 5, 6), (&[9], 3, 10)] {
        let mut files = Files::default();
        files.listen(listeners);
        let mut runtime = Runtime { files, ..Runtime::default() };
        let kind = |runtime: &mut Runtime, number: u32| {
            call(runtime, "fd_fdstat_get", &[number.into()], None, 0).result[0]
        };
        assert_eq!(kind(&mut runtime, root), 3, "{listeners:?}");
        listeners.iter().for_each(|number| assert_eq!(kind(&mut runtime, *number), 6, "{listeners:?}"));
        assert_eq!(runtime.session(None).connect(listeners[0]), Ok(next), "{listeners:?}");
    }
}
