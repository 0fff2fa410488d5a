//! Datagrams: messages that are received whole, or not at all.

use super::link::{Arrival, Wires};
use super::wait::{Nothing, Wait};
use super::{Address, Delivery, Inbox, Inner, Node};
use crate::task::section::{Section, Shared};
use crate::task::sync::queue::{Queue, wake_all};
use crate::task::{self, park};
use crate::{fault, nondet};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// The datagrams that were sent to a socket and are not received yet, in the order in which they were sent.
pub(super) struct Mailbox<M> {
    letters: VecDeque<Letter<M>>,
    waiting: Queue<()>,
}

pub(super) struct Letter<M> {
    message: M,
    from: Address,
    /// The earliest virtual time at which it arrives; 0 for at once.
    due_ns: i64,
}

impl<M> Letter<M> {
    fn is_late(&self, to: u32, wires: &Wires) -> bool {
        wires.datagram(self.from.node, to, self.due_ns) != Arrival::Now
    }
}

impl<M> Mailbox<M> {
    pub(super) fn new() -> Mailbox<M> {
        Mailbox { letters: VecDeque::new(), waiting: Queue::new() }
    }

    /// What has not arrived yet, when the node `to` crashes.
    pub(super) fn late(&mut self, to: u32, wires: &Wires) -> VecDeque<Letter<M>> {
        let (late, arrived) =
            std::mem::take(&mut self.letters).into_iter().partition(|letter| letter.is_late(to, wires));
        self.letters = arrived;
        late
    }

    /// Takes one of the datagrams that may arrive next, by choice.
    fn take(&mut self, to: u32, wires: &Wires) -> Result<(M, Address), Nothing> {
        let arrival = |letter: &Letter<M>| wires.datagram(letter.from.node, to, letter.due_ns);
        let arrivals: Vec<Arrival> = self.letters.iter().map(arrival).collect();
        let is_first = |index: usize| {
            wires.delivery != Delivery::Ordered
                || !self.letters.iter().take(index).any(|l| l.from.node == self.letters[index].from.node)
        };
        let arrived = (0..arrivals.len()).filter(|index| arrivals[*index] == Arrival::Now);
        let (first, behind): (Vec<usize>, Vec<usize>) = arrived.partition(|index| is_first(*index));
        let overtakes =
            if behind.is_empty() { 0 } else { fault::choose("!net.reorder", behind.len() as u32) };
        let index = match (overtakes as usize).checked_sub(1) {
            Some(overtakes) => behind[overtakes],
            None => match first[..] {
                [] => {
                    // What is behind another one comes after that.
                    let waits = (0..arrivals.len()).filter(|index| is_first(*index));
                    return Err(waits
                        .map(|index| arrivals[index])
                        .min()
                        .map_or(Nothing::Sent, Nothing::Arrived));
                }
                [index] => index,
                _ => *nondet::pick(&first),
            },
        };
        let letter = self.letters.remove(index).expect("an index of a letter");
        Ok((letter.message, letter.from))
    }
}

/// Sends and receives datagrams: see [`Node::bind`]. Datagrams that were not received when it is dropped are lost.
///
/// Several workers may receive from one socket, each datagram goes to one of them.
pub struct Socket<M = Vec<u8>> {
    network: Arc<Inner<M>>,
    address: Address,
    /// How often the node had crashed.
    crashes: u32,
    made: &'static Location<'static>,
}

impl<M: Clone + Send> Socket<M> {
    pub(super) fn bind(node: &Node<M>, port: u16, made: &'static Location<'static>) -> io::Result<Self> {
        let address = node.address(port);
        let network = node.network();
        let bound = node.inbox().step(|inbox| {
            network.wires.may_crash();
            if inbox.sockets.contains_key(&port) {
                return None;
            }
            let mut mailbox = Mailbox::new();
            let (here, elsewhere) =
                std::mem::take(&mut inbox.late).into_iter().partition(|(to, _)| *to == port);
            inbox.late = elsewhere;
            // What arrived while the node was down is lost.
            let here: Vec<(u16, Letter<M>)> = here;
            let letters = here.into_iter().map(|(_, letter)| letter);
            mailbox.letters.extend(letters.filter(|letter| letter.is_late(address.node, &network.wires)));
            inbox.sockets.insert(port, mailbox);
            Some(inbox.crashes)
        });
        match bound {
            Some(crashes) => Ok(Socket { network, address, crashes, made }),
            None => Err(io::ErrorKind::AddrInUse.into()),
        }
    }

    /// The address of the socket, to which others send.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Sends a message without waiting. The sender does not learn whether it arrives.
    ///
    /// # Panics
    /// The address belongs to another network.
    pub fn send_to(&self, message: M, to: Address) {
        let from = self.address;
        let (inbox, wires) = {
            let _section = Section::enter();
            self.network.checked(to);
            (&self.network.inboxes[to.node as usize], &self.network.wires)
        };
        let mut woken = Vec::new();
        let mut whole = None;
        let _lost = inbox.step(|inbox| {
            wires.may_crash();
            whole = wires.whole();
            let Some(due_ns) = wires.enter(from.node, to.node, &mut woken) else { return Some(message) };
            let own = from.node == to.node;
            if !own && fault::choose("!net.loss", 1) > 0 {
                return Some(message);
            }
            let twice = match wires.delivery {
                Delivery::UnorderedDuplicating => nondet::bool(),
                _ => !own && fault::choose("!net.duplicate", 1) > 0,
            };
            let Some(mailbox) = inbox.sockets.get_mut(&to.port) else { return Some(message) };
            if twice {
                mailbox.letters.push_back(Letter { message: message.clone(), from, due_ns });
            }
            mailbox.letters.push_back(Letter { message, from, due_ns });
            woken.extend(mailbox.waiting.pop_all());
            None
        });
        wake_all(woken);
        drop(whole);
    }

    /// Waits for a message, and returns it with the address of its sender.
    pub fn recv(&self) -> (M, Address) {
        self.try_recv().unwrap_or_else(|| task::block_on(self.recv_async()))
    }

    /// Waits for a message for a span of virtual time at most.
    pub fn recv_timeout(&self, span: Duration) -> Option<(M, Address)> {
        self.try_recv().or_else(|| task::block_on(task::timeout(span, self.recv_async())).ok())
    }

    /// A message, if one has arrived.
    pub fn try_recv(&self) -> Option<(M, Address)> {
        let (inbox, wires, Address { node, port, .. }) = self.own();
        inbox.step(|inbox| {
            wires.may_crash();
            inbox.mailbox(port, self.crashes).take(node, wires).ok()
        })
    }

    /// As [`Socket::recv`], for tasks. Cancellation safe: a message that it did not return stays in the socket.
    pub async fn recv_async(&self) -> (M, Address) {
        let (inbox, wires, Address { node, port, .. }) = self.own();
        let crashes = self.crashes;
        let mut wait = Wait::new(inbox, wires, move |inbox| Some(&mut inbox.mailbox(port, crashes).waiting));
        poll_fn(|context| {
            let polled = wait.poll(context, |inbox| inbox.mailbox(port, crashes).take(node, wires));
            if polled.is_pending() {
                park::tell("datagram socket", self.made, inbox.address());
            }
            polled
        })
        .await
    }

    /// What it has, as a part of the step that the worker makes.
    fn own(&self) -> (&Shared<Inbox<M>>, &Wires, Address) {
        let _section = Section::enter();
        (&self.network.inboxes[self.address.node as usize], &self.network.wires, self.address)
    }
}

impl<M> Drop for Socket<M> {
    fn drop(&mut self) {
        let (inbox, port) = {
            let _section = Section::enter();
            (&self.network.inboxes[self.address.node as usize], self.address.port)
        };
        let _letters = inbox.step(|inbox| {
            self.network.wires.may_crash();
            // After a crash, the port belongs to another socket.
            (inbox.crashes == self.crashes).then(|| inbox.sockets.remove(&port))
        });
    }
}

impl<M> fmt::Debug for Socket<M> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Socket").field("address", &self.address).finish_non_exhaustive()
    }
}
