//! Sockets: the listening ones with which a program is started (`--listen`), and connections to them.
//!
//! Both ends of a connection are descriptors of the guest: one comes from an accept, the other one belongs to the simulated
//! peer (import `net_connect`). They behave as TCP over the loopback interface of Linux does. A connection is made at once,
//! before it is accepted. What is sent arrives at once, in order, as far as there is room for it.
//!
//! - `end`: the bytes and the life of a connection. `calls`: the calls of the guest.
//!
//! # The relation
//! The queue of a listening socket is one object, the bytes that have arrived at an end of a connection are another, and so
//! is whether the connection lives. A receive and a send at the same end commute. [`Events`] has the objects that a call has
//! changed, since workers may wait for them, and the edges of happens-before: what a worker did before it sent a byte happens
//! before what follows its receipt.

mod calls;
mod end;
#[cfg(test)]
mod tests;

use super::{Errno, Files, Open, Table};
use crate::runtime::polled::Direction;
use end::Connection;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Maximum number of bytes that have arrived at an end of a connection and were not received.
pub const ROOM_BYTES: usize = 64 << 10;

/// The end of a connection that the simulated peer has, and the one that is accepted.
const PEER: usize = 0;
const SERVER: usize = 1;

/// Distinguishes objects of sockets from inodes.
const OBJECTS: u64 = 1 << 62;

/// See the module's documentation.
#[derive(Clone, Debug, Default, Hash)]
pub struct Sockets {
    /// By the number of the descriptor that the program is started with.
    listeners: BTreeMap<u32, Listener>,
    connections: BTreeMap<u32, Connection>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Listener {
    closed: bool,
    /// Connections that were not accepted yet.
    queue: VecDeque<u32>,
}

/// What a call did to sockets, until the runtime takes it.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Changed objects.
    pub changed: BTreeSet<u64>,
    /// Objects through which one step happens before another, and whether the call acquires or releases.
    pub edges: Vec<(u64, bool)>,
}

/// The object of a listening socket's queue.
fn queue(listener: u32) -> u64 {
    OBJECTS | u64::from(listener)
}

/// The object of what has arrived at an end of a connection.
fn inbox(connection: u32, end: usize) -> u64 {
    OBJECTS | (1 + end as u64) << 32 | u64::from(connection)
}

/// The object of a connection's life.
fn life(connection: u32) -> u64 {
    OBJECTS | 3 << 32 | u64::from(connection)
}

/// What a wait for a socket finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether a call would not have to wait.
    pub ready: bool,
    /// Whether it is a listening socket.
    pub listens: bool,
    /// Whether the descriptor never waits.
    pub nonblocking: bool,
    /// Bytes that can be received or sent, or connections that can be accepted.
    pub amount: usize,
    /// Whether nothing more will arrive.
    pub hung_up: bool,
    /// The objects on which this depends.
    pub objects: Vec<u64>,
}

impl Files {
    /// Opens listening sockets at these descriptors. Directories give way: they get the lowest numbers that are left.
    pub fn listen(&mut self, numbers: &[u32]) {
        let table = Arc::make_mut(&mut self.table);
        let given = std::mem::take(&mut table.open);
        let (streams, directories): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|(number, _)| *number < super::FIRST_DESCRIPTOR);
        table.open = streams.into_iter().collect();
        let sockets = Arc::make_mut(&mut self.sockets);
        for number in numbers {
            table.open.insert(*number, Open::Listener { listener: *number, nonblocking: false });
            sockets.listeners.insert(*number, Listener::default());
        }
        let mut free = (super::FIRST_DESCRIPTOR..).filter(|number| !numbers.contains(number));
        for (_, directory) in directories {
            table.open.insert(free.next().expect("there are many numbers"), directory);
        }
    }

    /// Whether the descriptor is a socket.
    pub fn is_socket(&self, descriptor: u32) -> bool {
        matches!(self.table.open.get(&descriptor), Some(Open::Listener { .. } | Open::Connection { .. }))
    }

    /// Whether the program was started with this listening socket.
    pub fn has_listener(&self, listener: u32) -> bool {
        self.sockets.listeners.contains_key(&listener)
    }

    /// What a worker finds that wants to use a descriptor; `None` if it is no socket.
    pub fn look(&self, descriptor: u32, direction: Direction) -> Option<Look> {
        match *self.table.open.get(&descriptor)? {
            Open::Listener { listener, nonblocking } => {
                let amount = self.sockets.listeners[&listener].queue.len();
                let receives = direction == Direction::Receive;
                let (ready, objects) = (amount > 0 || !receives, vec![queue(listener)]);
                Some(Look { ready, listens: true, nonblocking, amount, hung_up: false, objects })
            }
            Open::Connection { connection, end, nonblocking } => {
                let state = &self.sockets.connections[&connection];
                let (ready, amount, other) = match direction {
                    Direction::Receive => (state.can_receive(end), state.arrived(end), end),
                    Direction::Send => (state.can_send(end), state.room(end), 1 - end),
                };
                let objects = vec![inbox(connection, other), life(connection)];
                Some(Look {
                    ready,
                    listens: false,
                    nonblocking,
                    amount,
                    hung_up: state.is_over(end),
                    objects,
                })
            }
            _ => None,
        }
    }

    /// The object behind a descriptor, for reports: a listening socket or a connection.
    pub fn socket_title(&self, descriptor: u32) -> Option<String> {
        match self.table.open.get(&descriptor)? {
            Open::Listener { listener, .. } => Some(format!("listener {listener}")),
            Open::Connection { connection, end, .. } => {
                let end = if *end == PEER { "the peer's end of " } else { "" };
                Some(format!("{end}connection {connection} (descriptor {descriptor})"))
            }
            _ => None,
        }
    }

    /// Takes what the last calls did to sockets.
    pub fn take_socket_events(&mut self) -> Option<Events> {
        let some = !self.socket_events.changed.is_empty() || !self.socket_events.edges.is_empty();
        some.then(|| std::mem::take(&mut self.socket_events))
    }

    /// Forgets all connections, and opens the listening sockets again: the program begins anew.
    pub(super) fn restart_sockets(&mut self) {
        let listeners = self.sockets.listeners.keys().map(|number| (*number, Listener::default())).collect();
        self.sockets = Arc::new(Sockets { listeners, connections: BTreeMap::new() });
    }

    /// Breaks a connection whose end's worker is gone: the other end reads what was sent, then fails.
    pub(super) fn break_connection(&mut self, connection: u32, end: usize) {
        let sockets = Arc::make_mut(&mut self.sockets);
        if let Some(state) = sockets.connections.get_mut(&connection) {
            state.vanish(end);
        }
        sockets.forget_closed(connection);
        self.socket_events.changed.extend([inbox(connection, 1 - end), life(connection)]);
    }
}

impl Sockets {
    /// The smallest number that no connection has.
    fn free_number(&self) -> u32 {
        (0..).find(|number| !self.connections.contains_key(number)).expect("there are fewer connections")
    }

    fn forget_closed(&mut self, connection: u32) {
        if self.connections.get(&connection).is_some_and(Connection::is_closed) {
            self.connections.remove(&connection);
        }
    }
}

impl Table {
    /// The descriptor's socket without waiting from now on, or with waiting. `None` if it is no socket.
    fn set_nonblocking(&mut self, number: u32, value: bool) -> Result<(), Errno> {
        match self.open.get_mut(&number) {
            Some(Open::Listener { nonblocking, .. } | Open::Connection { nonblocking, .. }) => {
                *nonblocking = value;
                Ok(())
            }
            _ => Err(Errno::NOTSOCK),
        }
    }
}
