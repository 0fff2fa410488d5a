//! A network within the guest: nodes with names, links between them, datagrams and streams.
//!
//! The order of arrivals, delays and losses are choices of the tool, stored in the trace and replayed. The
//! [`Delivery`] defines the choices without faults; everything else happens only with a budget:
//! `--faults net.loss=1` loses one datagram at most in an execution, `--faults net=3` allows three network
//! faults of any kind. docs/network.md lists all of them.
//!
//! ```no_run
//! use coyote::net::{Delivery, Network};
//!
//! #[coyote::test]
//! fn a_question() {
//!     let network = Network::new(Delivery::Unordered, ["client", "server"]);
//!     let server = network.node("server").bind(7).expect("the port is free");
//!     let client = network.node("client").bind(1).expect("the port is free");
//!     coyote::thread::scope(|scope| {
//!         scope.spawn(|| {
//!             let (question, from): (u32, _) = server.recv();
//!             server.send_to(question + 1, from);
//!         });
//!         client.send_to(1, server.address());
//!         assert_eq!(client.recv().0, 2);
//!     });
//! }
//! ```
//!
//! The program of a node runs as workers or tasks of the guest, which use the node's sockets and streams. To
//! model a real network, they must not share memory with other nodes. Functions block the worker; those that
//! end with `_async` are for tasks of [`task`](crate::task).
//!
//! - `datagram`: messages of any type; `stream`: bytes in order.
//! - `node`: nodes that are started, crash and start again. `link`: links and their faults; `wait`: waiting for what arrives later.
//! - `wasi`, on that target: connections to servers that are written with `std::net`.

mod datagram;
mod link;
mod node;
mod stream;
mod wait;
#[cfg(target_os = "wasi")]
pub mod wasi;

pub use datagram::Socket;
pub use node::Running;
pub use stream::{Listener, Stream};

use crate::sys;
use crate::task::section::{Section, Shared};
use crate::task::sync::queue::wake_all;
use datagram::{Letter, Mailbox};
use link::{NEVER, Wires};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
use stream::{Backlog, End};

/// In which order datagrams arrive, and how often, without faults. Streams are always in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Each once. Those that one node sends to another arrive in the order of sending; those of different nodes in any.
    Ordered,
    /// Each once, in any order.
    Unordered,
    /// Each once or twice, in any order.
    UnorderedDuplicating,
}

/// The configuration of a network: begin with [`Config::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// In which order datagrams arrive.
    pub delivery: Delivery,
    /// Virtual time by which a fault delays something: 10 s by default, longer than most timeouts.
    pub lateness: Duration,
    /// Virtual time after which a link that a fault has cut for a time is mended: 60 s by default.
    pub outage: Duration,
    /// Virtual time for which a link must be cut until connections over it fail: 30 s by default.
    pub patience: Duration,
}

impl Config {
    /// A configuration with the default spans of time.
    pub const fn new(delivery: Delivery) -> Config {
        let [lateness, outage, patience] =
            [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(30)];
        Config { delivery, lateness, outage, patience }
    }
}

/// Nodes and the links between them. `M` is what datagrams hold.
pub struct Network<M = Vec<u8>> {
    inner: Arc<Inner<M>>,
}

struct Inner<M> {
    wires: Arc<Wires>,
    /// By the number of the node.
    inboxes: Vec<Shared<Inbox<M>>>,
}

/// The sockets and listeners of a node, with what was sent to them.
struct Inbox<M> {
    sockets: BTreeMap<u16, Mailbox<M>>,
    listeners: BTreeMap<u16, Backlog>,
    /// The node's ends of connections, if nodes of the network can crash.
    ends: Vec<End>,
    /// What is still on its way to ports of the node since before its last crash.
    late: Vec<(u16, Letter<M>)>,
    /// How often the node has crashed.
    crashes: u32,
}

impl<M> Inbox<M> {
    fn new() -> Inbox<M> {
        Inbox {
            sockets: BTreeMap::new(),
            listeners: BTreeMap::new(),
            ends: Vec::new(),
            late: Vec::new(),
            crashes: 0,
        }
    }

    /// The mailbox of a socket that exists, which was bound when the node had crashed so often.
    fn mailbox(&mut self, port: u16, crashes: u32) -> &mut Mailbox<M> {
        self.check(crashes);
        self.sockets.get_mut(&port).expect("a socket has a mailbox until it is dropped")
    }

    /// The backlog of a listener that exists, which was bound when the node had crashed so often.
    fn backlog(&mut self, port: u16, crashes: u32) -> &mut Backlog {
        self.check(crashes);
        self.listeners.get_mut(&port).expect("a listener has a backlog until it is dropped")
    }

    /// Keeps an end of a connection, for the case that the node crashes.
    fn keep(&mut self, end: End) {
        self.ends.retain(End::exists);
        self.ends.push(end);
    }

    /// Refuses what was bound before the last crash: only a worker that is not of the node can still have it.
    fn check(&self, crashes: u32) {
        assert!(
            crashes == self.crashes,
            "the node has crashed since this was bound: bind it in the function with which the node starts"
        );
    }
}

impl<M> Inner<M> {
    /// Refuses an address that another network has given out.
    fn checked(&self, address: Address) {
        let known = self.wires.names.get(address.node as usize) == Some(&address.name);
        assert!(known, "{address} is no address of this network");
    }
}

impl<M: Clone + Send> Network<M> {
    /// A network of these nodes, each linked with each other.
    ///
    /// # Panics
    /// Two nodes have the same name.
    #[track_caller]
    pub fn new(delivery: Delivery, nodes: impl IntoIterator<Item = &'static str>) -> Network<M> {
        Network::with(Config::new(delivery), nodes)
    }

    /// The same with other spans of time.
    ///
    /// # Panics
    /// Two nodes have the same name.
    #[track_caller]
    pub fn with(config: Config, nodes: impl IntoIterator<Item = &'static str>) -> Network<M> {
        let _section = Section::enter();
        let names: Vec<&'static str> = nodes.into_iter().collect();
        for (number, name) in names.iter().enumerate() {
            assert!(!names[..number].contains(name), "two nodes have the name {name}");
        }
        let inboxes = names.iter().map(|_| Shared::new(Inbox::new())).collect();
        Network { inner: Arc::new(Inner { wires: Arc::new(Wires::new(names, config)), inboxes }) }
    }

    /// The node of this name.
    ///
    /// # Panics
    /// There is no such node.
    #[track_caller]
    pub fn node(&self, name: &str) -> Node<M> {
        let (number, name) = self.inner.numbered(name);
        let _section = Section::enter();
        Node { network: Arc::clone(&self.inner), number, name }
    }

    /// The address of a port of the node of this name.
    ///
    /// # Panics
    /// There is no such node.
    #[track_caller]
    pub fn address(&self, name: &str, port: u16) -> Address {
        let (node, name) = self.inner.numbered(name);
        Address { name, node, port }
    }

    /// Cuts the link from one node to another until [`Network::heal`]: datagrams are lost, streams keep what they have,
    /// connections are not made. The other direction stays as it is.
    ///
    /// # Panics
    /// There is no such node; this holds for all of these functions.
    #[track_caller]
    pub fn cut(&self, from: &str, to: &str) {
        self.change(from, to, |wires, from, to| wires.cut_until(from, to, NEVER));
    }

    /// Cuts all links of a node, in both directions.
    #[track_caller]
    pub fn isolate(&self, node: &str) {
        self.change(node, node, |wires, node, _| wires.isolate(node, NEVER));
    }

    /// Holds back everything on its way from one node to another until [`Network::heal`]; then all of it arrives.
    #[track_caller]
    pub fn hold(&self, from: &str, to: &str) {
        self.change(from, to, |wires, from, to| wires.hold(from, to));
    }

    /// Sets the latency, in virtual time, of everything that is sent from one node to another from now on.
    #[track_caller]
    pub fn slow(&self, from: &str, to: &str, latency: Duration) {
        self.change(from, to, |wires, from, to| wires.slow(from, to, sys::span_ns(latency)));
    }

    /// Mends the link from one node to another, whatever was wrong with it.
    #[track_caller]
    pub fn heal(&self, from: &str, to: &str) {
        self.change(from, to, |wires, from, to| wires.mend(from, to));
    }

    /// Mends all links. After [`fault::stop`](crate::fault::stop), no link fails again.
    pub fn heal_all(&self) {
        self.inner.change(|wires| {
            let nodes = wires.names.len() as u32;
            (0..nodes)
                .flat_map(|from| (0..nodes).map(move |to| (from, to)))
                .for_each(|(from, to)| wires.mend(from, to));
        });
    }

    #[track_caller]
    fn change(&self, from: &str, to: &str, change: impl FnOnce(&Wires, u32, u32)) {
        let ((from, _), (to, _)) = (self.inner.numbered(from), self.inner.numbered(to));
        self.inner.change(|wires| change(wires, from, to));
    }
}

impl<M> Inner<M> {
    #[track_caller]
    fn numbered(&self, name: &str) -> (u32, &'static str) {
        let _section = Section::enter();
        let number = self.wires.names.iter().position(|known| *known == name);
        let number = number.unwrap_or_else(|| panic!("the network has no node {name}"));
        (number as u32, self.wires.names[number])
    }

    /// Changes links in one step, and wakes all that wait for what the links hold back.
    fn change(&self, change: impl FnOnce(&Wires)) {
        let wires = {
            let _section = Section::enter();
            &*self.wires
        };
        let (woken, _whole) = wires.watchers.step(|waiting| {
            wires.may_crash();
            change(wires);
            (waiting.pop_all(), wires.whole())
        });
        wake_all(woken);
    }
}

impl<M> Clone for Network<M> {
    fn clone(&self) -> Network<M> {
        let _section = Section::enter();
        Network { inner: Arc::clone(&self.inner) }
    }
}

impl<M> fmt::Debug for Network<M> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

/// One of a network's nodes.
pub struct Node<M = Vec<u8>> {
    network: Arc<Inner<M>>,
    number: u32,
    name: &'static str,
}

impl<M: Clone + Send> Node<M> {
    /// The name of the node.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The address of a port of the node.
    pub fn address(&self, port: u16) -> Address {
        Address { name: self.name, node: self.number, port }
    }

    /// Takes a port for datagrams.
    ///
    /// # Errors
    /// [`AddrInUse`](io::ErrorKind::AddrInUse): another socket has it.
    #[track_caller]
    pub fn bind(&self, port: u16) -> io::Result<Socket<M>> {
        Socket::bind(self, port, Location::caller())
    }

    /// Takes a port for streams, which is independent of the port of the same number for datagrams.
    ///
    /// # Errors
    /// [`AddrInUse`](io::ErrorKind::AddrInUse): another listener has it.
    #[track_caller]
    pub fn listen(&self, port: u16) -> io::Result<Listener<M>> {
        Listener::bind(self, port, Location::caller())
    }

    /// Makes a connection to a listener. Blocks while a link between the nodes is cut.
    ///
    /// # Errors
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused): there is no listener.
    /// [`TimedOut`](io::ErrorKind::TimedOut): a link between the nodes was cut for [`Config::patience`].
    /// [`ConnectionReset`](io::ErrorKind::ConnectionReset): by a fault.
    #[track_caller]
    pub fn connect(&self, to: Address) -> io::Result<Stream> {
        crate::task::block_on(stream::connect(self, to, Location::caller()))
    }

    /// As [`Node::connect`], for tasks.
    ///
    /// # Errors
    /// The same.
    #[track_caller]
    pub fn connect_async(&self, to: Address) -> impl Future<Output = io::Result<Stream>> + Send {
        stream::connect(self, to, Location::caller())
    }

    fn network(&self) -> Arc<Inner<M>> {
        let _section = Section::enter();
        Arc::clone(&self.network)
    }

    fn inbox(&self) -> &Shared<Inbox<M>> {
        let _section = Section::enter();
        &self.network.inboxes[self.number as usize]
    }
}

impl<M> Clone for Node<M> {
    fn clone(&self) -> Node<M> {
        let _section = Section::enter();
        Node { network: Arc::clone(&self.network), number: self.number, name: self.name }
    }
}

impl<M> fmt::Debug for Node<M> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A port of a node. It is written as `node:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    name: &'static str,
    node: u32,
    port: u16,
}

impl Address {
    /// The name of the node.
    pub fn node(self) -> &'static str {
        self.name
    }

    /// The number of the node.
    fn number(self) -> u32 {
        self.node
    }

    /// The port.
    pub fn port(self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}
