//! What a worker wants of sockets, and the fault of its next call on one: see [`super::sockets`]. Its part in a driver: see
//! `drivers.rs`.

/// Whether a worker wants to receive (or accept) or to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Receive,
    Send,
}

/// The sockets of a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Polled {
    pub sockets: Vec<(u32, Direction)>,
    /// The objects of the relation on which this depends, once the worker waits.
    pub objects: Vec<u64>,
}

/// A fault that was chosen for the next call on a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketFault {
    /// The connection is lost.
    Reset,
    /// The call transfers this many bytes at most.
    Split(u32),
}

/// A worker's part in the driver that it turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Driver {
    /// Its next poll, or the one in which it waits, is that of a driver.
    pub turns: bool,
    /// All wakes are told: it can wait for one alone.
    pub all_known: bool,
    /// A wake came after its last poll in a driver.
    pub woken: bool,
}
