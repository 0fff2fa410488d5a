//! Calls on sockets.

use super::super::call::NONBLOCK;
use super::super::{Answer, Errno, Open, Session};
use super::end::Connection;
use super::{PEER, SERVER, Sockets, inbox, life, queue};
use crate::runtime::polled::SocketFault;
use coyote_strategies::{Class, Effect};
use std::sync::Arc;

/// Flags of a receive.
const PEEK: u32 = 1;
const WAIT_FOR_ALL: u32 = 2;

impl Session<'_> {
    /// Accepts the connection that was made first.
    pub(in super::super) fn accept(&mut self, number: u32, flags: u32) -> Result<Answer, Errno> {
        let (listener, nonblocking) = match self.descriptor(number)? {
            Open::Listener { listener, .. } if flags & !u32::from(NONBLOCK) == 0 => {
                (listener, flags & u32::from(NONBLOCK) != 0)
            }
            Open::Listener { .. } | Open::Connection { .. } => return Err(Errno::INVAL),
            _ => return Err(Errno::NOTSOCK),
        };
        self.footprint.touch(Class::File, Effect::Read, queue(listener));
        let first = self.files.sockets.listeners[&listener].queue.front().copied();
        let connection = first.ok_or(Errno::AGAIN)?;
        let answer = match self.socket_fault.take() {
            Some(SocketFault::Reset) => {
                self.change_connection(connection, |state| state.abort());
                Err(Errno::CONNABORTED)
            }
            _ => self.add_descriptor(Open::Connection { connection, end: SERVER, nonblocking }),
        };
        if answer != Err(Errno::MFILE) {
            self.change_sockets(queue(listener)).listeners.entry(listener).or_default().queue.pop_front();
            self.files.socket_events.edges.push((queue(listener), true));
            self.forget_closed(connection);
        }
        answer
    }

    /// Connects to a listening socket, as its peer.
    pub(in super::super::super) fn connect(&mut self, listener: u32) -> Result<u32, Errno> {
        self.footprint.touch(Class::File, Effect::Read, queue(listener));
        if self.files.sockets.listeners.get(&listener).is_none_or(|listener| listener.closed) {
            return Err(Errno::CONNREFUSED);
        }
        let connection = self.files.sockets.free_number();
        let answer = self.add_descriptor(Open::Connection { connection, end: PEER, nonblocking: false })?;
        let sockets = self.change_sockets(queue(listener));
        sockets.connections.insert(connection, Connection::new());
        sockets.listeners.entry(listener).or_default().queue.push_back(connection);
        self.files.socket_events.edges.push((queue(listener), false));
        Ok(answer.first_number())
    }

    /// Receives from a connection. `number` is a descriptor of one.
    pub(in super::super) fn receive(&mut self, number: u32, room: u32, flags: u32) -> Result<Vec<u8>, Errno> {
        let (connection, end) = self.connection(number)?;
        match flags {
            _ if flags & !(PEEK | WAIT_FOR_ALL) != 0 => return Err(Errno::INVAL),
            _ if flags & WAIT_FOR_ALL != 0 => return Err(Errno::NOTSUP),
            _ => {}
        }
        let most = self.bytes_allowed(connection, room as usize);
        self.footprint.touch(Class::File, Effect::Read, inbox(connection, end));
        let state = &self.files.sockets.connections[&connection];
        let (arrived, fails, waits) =
            (state.arrived(end) > 0, state.fails_next(end), !state.can_receive(end));
        if !arrived {
            self.footprint.touch(Class::File, Effect::Read, life(connection));
        }
        if waits {
            return Err(Errno::AGAIN);
        }
        let peeks = flags & PEEK != 0;
        if arrived && !peeks {
            self.change_sockets(inbox(connection, end));
        } else if !arrived && fails {
            self.change_sockets(life(connection));
        }
        self.files.socket_events.edges.push((inbox(connection, end), true));
        self.state_mut(connection).receive(end, most, peeks)
    }

    /// Sends over a connection. Returns the number of bytes.
    pub(in super::super) fn send(&mut self, number: u32, bytes: &[u8], flags: u32) -> Result<usize, Errno> {
        let (connection, end) = self.connection(number)?;
        if flags != 0 {
            return Err(Errno::INVAL);
        }
        let most = self.bytes_allowed(connection, bytes.len());
        for object in [life(connection), inbox(connection, 1 - end)] {
            self.footprint.touch(Class::File, Effect::Read, object);
        }
        let state = self.state_mut(connection);
        let before = (state.is_lost(), state.fails_next(end));
        let sent = state.send(end, &bytes[..most]);
        if before != (state.is_lost(), state.fails_next(end)) {
            self.change_sockets(life(connection));
        }
        if sent.is_ok() {
            self.change_sockets(inbox(connection, 1 - end));
            self.files.socket_events.edges.push((inbox(connection, 1 - end), false));
        }
        sent
    }

    /// Shuts a connection down for receiving, sending or both.
    pub(in super::super) fn shut_down(&mut self, number: u32, how: u32) -> Result<Answer, Errno> {
        let (connection, end) = self.connection(number)?;
        if !(1..=3).contains(&how) {
            return Err(Errno::INVAL);
        }
        let result =
            self.change_connection(connection, |state| state.shut_down(end, how & 1 != 0, how & 2 != 0));
        self.files.socket_events.edges.push((inbox(connection, 1 - end), false));
        result.map(|()| Answer::done())
    }

    /// Closes what a descriptor stood for.
    pub(in super::super) fn close_socket(&mut self, open: &Open) {
        match *open {
            Open::Listener { listener, .. } => {
                let sockets = self.change_sockets(queue(listener));
                let state = sockets.listeners.entry(listener).or_default();
                state.closed = true;
                for connection in std::mem::take(&mut state.queue) {
                    self.change_connection(connection, |state| state.vanish(SERVER));
                    self.forget_closed(connection);
                }
            }
            Open::Connection { connection, end, .. } => {
                self.change_connection(connection, |state| state.close(end));
                self.files.socket_events.edges.push((inbox(connection, 1 - end), false));
                self.forget_closed(connection);
            }
            _ => {}
        }
    }

    /// Sets the flags of a socket's descriptor.
    pub(in super::super) fn set_socket_flags(&mut self, number: u32, flags: u32) -> Result<Answer, Errno> {
        if flags & !u32::from(NONBLOCK) != 0 {
            return Err(Errno::INVAL);
        }
        self.footprint.touch(Class::Descriptor, Effect::Write, number.into());
        let table = Arc::make_mut(&mut self.files.table);
        table.set_nonblocking(number, flags != 0).map(|()| Answer::done())
    }

    /// The connection of a descriptor, and its end.
    fn connection(&mut self, number: u32) -> Result<(u32, usize), Errno> {
        match self.descriptor(number)? {
            Open::Connection { connection, end, .. } => Ok((connection, end)),
            Open::Listener { .. } => Err(Errno::NOTCONN),
            _ => Err(Errno::NOTSOCK),
        }
    }

    /// The number of bytes that a call may transfer, which a fault makes smaller. A fault may also lose the connection.
    fn bytes_allowed(&mut self, connection: u32, bytes: usize) -> usize {
        match self.socket_fault.take() {
            Some(SocketFault::Split(most)) => bytes.min(most as usize),
            Some(SocketFault::Reset) => {
                self.change_connection(connection, Connection::reset);
                bytes
            }
            None => bytes,
        }
    }

    /// Changes an object of a socket.
    fn change_sockets(&mut self, object: u64) -> &mut Sockets {
        self.footprint.touch(Class::File, Effect::Write, object);
        self.files.socket_events.changed.insert(object);
        Arc::make_mut(&mut self.files.sockets)
    }

    /// Changes a connection as a whole.
    fn change_connection<R>(&mut self, connection: u32, change: impl FnOnce(&mut Connection) -> R) -> R {
        for object in [inbox(connection, PEER), inbox(connection, SERVER)] {
            self.change_sockets(object);
        }
        self.change_sockets(life(connection));
        change(self.state_mut(connection))
    }

    fn state_mut(&mut self, connection: u32) -> &mut Connection {
        let sockets = Arc::make_mut(&mut self.files.sockets);
        sockets.connections.get_mut(&connection).expect("a descriptor or a queue keeps it")
    }

    fn forget_closed(&mut self, connection: u32) {
        Arc::make_mut(&mut self.files.sockets).forget_closed(connection);
    }
}
