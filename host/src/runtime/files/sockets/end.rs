//! A connection: what has arrived at its ends, and whether it lives.

use super::super::Errno;
use super::{PEER, ROOM_BYTES, SERVER};
use std::collections::VecDeque;

#[derive(Clone, Debug, Hash)]
pub struct Connection {
    ends: [End; 2],
    /// It was reset: nothing more arrives.
    lost: bool,
}

#[derive(Clone, Debug, Default, Hash)]
struct End {
    closed: bool,
    /// Bytes that have arrived.
    inbox: VecDeque<u8>,
    /// The other end sends no more.
    ended: bool,
    /// It was shut down for receiving.
    deaf: bool,
    /// The next call fails with ECONNRESET.
    error: bool,
}

impl Connection {
    pub fn new() -> Connection {
        Connection { ends: Default::default(), lost: false }
    }

    /// Number of bytes that have arrived at an end.
    pub fn arrived(&self, end: usize) -> usize {
        self.ends[end].inbox.len()
    }

    /// Number of bytes that an end can send.
    pub fn room(&self, end: usize) -> usize {
        ROOM_BYTES - self.ends[1 - end].inbox.len()
    }

    pub fn can_receive(&self, end: usize) -> bool {
        let End { inbox, ended, deaf, error, .. } = &self.ends[end];
        !inbox.is_empty() || *ended || *deaf || *error || self.lost
    }

    pub fn can_send(&self, end: usize) -> bool {
        self.room(end) > 0 || self.lost || self.ends[1 - end].ended || self.ends[1 - end].closed
    }

    /// Whether nothing more arrives at an end.
    pub fn is_over(&self, end: usize) -> bool {
        self.lost || self.ends[end].ended
    }

    pub fn is_lost(&self) -> bool {
        self.lost
    }

    pub fn is_closed(&self) -> bool {
        self.ends.iter().all(|end| end.closed)
    }

    /// Whether the next call at an end fails.
    pub fn fails_next(&self, end: usize) -> bool {
        self.ends[end].error
    }

    /// [`Connection::fails_next`], once.
    fn fails(&mut self, end: usize) -> bool {
        std::mem::take(&mut self.ends[end].error)
    }

    /// Receives up to `most` bytes: none at the end of the stream. The error says that the caller would have to wait, or
    /// that the connection was reset.
    pub fn receive(&mut self, end: usize, most: usize, peeks: bool) -> Result<Vec<u8>, Errno> {
        let inbox = &mut self.ends[end].inbox;
        if !inbox.is_empty() {
            let count = most.min(inbox.len());
            return Ok(if peeks {
                inbox.iter().take(count).copied().collect()
            } else {
                inbox.drain(..count).collect()
            });
        }
        match self.can_receive(end) {
            true if self.fails(end) => Err(Errno::CONNRESET),
            true => Ok(Vec::new()),
            false => Err(Errno::AGAIN),
        }
    }

    /// Sends as many of the bytes as there is room for. Returns how many.
    pub fn send(&mut self, end: usize, bytes: &[u8]) -> Result<usize, Errno> {
        if self.fails(end) {
            return Err(Errno::CONNRESET);
        }
        if self.lost || self.ends[1 - end].ended {
            return Err(Errno::PIPE);
        }
        if self.ends[1 - end].closed {
            // They reach a host that knows nothing of the connection, which answers with a reset.
            self.lost |= !bytes.is_empty();
            return Ok(bytes.len());
        }
        let count = self.room(end).min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(Errno::AGAIN);
        }
        self.ends[1 - end].inbox.extend(&bytes[..count]);
        Ok(count)
    }

    /// Shuts an end down: for receiving, for sending or for both.
    pub fn shut_down(&mut self, end: usize, receives: bool, sends: bool) -> Result<(), Errno> {
        if self.lost {
            return Err(Errno::NOTCONN);
        }
        self.ends[end].deaf |= receives;
        self.ends[1 - end].ended |= sends;
        Ok(())
    }

    /// Closes an end. With bytes that were not received, this resets the connection; else the other end receives what was
    /// sent, and then its end.
    pub fn close(&mut self, end: usize) {
        if self.ends[end].inbox.is_empty() {
            self.ends[end].closed = true;
            self.ends[1 - end].ended = true;
        } else {
            self.vanish(end);
        }
    }

    /// Closes an end without a word: the other end receives what was sent, and is then told of a reset.
    pub fn vanish(&mut self, end: usize) {
        let alive = !self.lost;
        self.lost = true;
        self.ends[end] = End { closed: true, ..End::default() };
        self.ends[1 - end].error |= alive && !self.ends[1 - end].closed;
    }

    /// Loses the connection, with all that has arrived and was not received. Both ends are told.
    pub fn reset(&mut self) {
        self.lost = true;
        for end in self.ends.iter_mut().filter(|end| !end.closed) {
            end.inbox.clear();
            end.error = true;
        }
    }

    /// Loses a connection that is about to be accepted: only its peer is told.
    pub fn abort(&mut self) {
        self.reset();
        self.ends[SERVER] = End { closed: true, ..End::default() };
        debug_assert!(self.ends[PEER].closed || self.ends[PEER].error);
    }
}
