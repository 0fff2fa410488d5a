//! Chain replication (van Renesse and Schneider, OSDI 2004): servers in a chain apply requests in the same
//! order. A client sends to the head; each server applies the request and forwards it; the tail answers,
//! and an acknowledgement goes back up. A master hears of every server that fails and tells its neighbours.
//!
//! When a server in the middle fails, the master asks its successor how far it has come, and tells its
//! predecessor to forward to that one what is missing. When the tail fails, its predecessor answers what
//! was not acknowledged. When the head fails, the client sends its request to the next server.
//!
//! Two bugs:
//! - The master repairs one failure after the other. When a server fails while the master waits for its
//!   answer, the repair never ends, the second failure is never looked at, and the client gets no answer.
//!   That takes failures of two neighbours: the case study of "Systematic testing of asynchronous
//!   reactive systems" (FSE 2015).
//! - A request that the client has sent again, because the head failed after it had forwarded the request,
//!   is recognised when it has come through the chain, and applied again while it is on its way.
//!
//! Failures come from a process of their own, once the system is set up. For an explorer that looks for
//! them, this process and the master hint that they come [`LAST`] until then, and [`FIRST`] after.

use crate::actor::{Network, plain, start};
use coyote::nondet;
use std::sync::Mutex;

const SERVERS: usize = 4;
const MASTER: usize = SERVERS;
const CLIENT: usize = SERVERS + 1;
const INJECTOR: usize = SERVERS + 2;
const REQUESTS: u32 = 2;

/// Hints: the rank of the process that gives it. Who gives none, servers and client, has rank 0.
const FIRST: i64 = -1;
const LAST: i64 = 1;

/// Nobody: the predecessor of the head, the successor of the tail.
const NOBODY: usize = usize::MAX;

#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
enum Kind {
    None,
    /// To a server: your successor is `server`.
    Configure,
    /// To the master: `server` knows its place.
    Ready,
    /// To client and injector: the system is set up.
    Start,
    /// To a server: apply request `number`, from the client or the predecessor.
    Request,
    /// To the predecessor: `number` has come through.
    Acknowledge,
    /// To the client: `number` is done.
    Reply,
    /// To a server: fail.
    Fail,
    /// To the master: `server` has failed.
    Failed,
    /// To a server: your predecessor is `server` now; tell the master how far you are.
    NewPredecessor,
    /// To the master: `server` has applied everything up to `number`.
    Applied,
    /// To a server: your successor is `server`, who has everything up to `number`.
    NewSuccessor,
    /// To the client: the head is `server` now.
    NewHead,
}

#[derive(Clone, Copy)]
struct Message {
    kind: Kind,
    server: usize,
    number: u32,
}

impl crate::actor::Message for Message {
    const EMPTY: Message = Message { kind: Kind::None, server: 0, number: 0 };
}

static NETWORK: Network<Message, { SERVERS + 3 }> = Network::new();

fn send(to: usize, kind: Kind, server: usize, number: u32) {
    if to != NOBODY {
        NETWORK.send(to, Message { kind, server, number });
    }
}

/// How far each server has come, `None` once it has failed. For the invariant.
static APPLIED: Mutex<[Option<u32>; SERVERS]> = Mutex::new([Some(0); SERVERS]);

struct Server {
    number: usize,
    predecessor: usize,
    successor: usize,
    /// Requests 1 to this one are applied.
    applied: u32,
    /// Requests 1 to this one have come through.
    acknowledged: u32,
    /// The second bug.
    applies_twice: bool,
}

impl Server {
    fn new(number: usize, applies_twice: bool) -> Server {
        let predecessor = number.checked_sub(1).unwrap_or(NOBODY);
        Server { number, predecessor, successor: NOBODY, applied: 0, acknowledged: 0, applies_twice }
    }

    fn run(mut self) {
        loop {
            let message = NETWORK.receive(self.number);
            match message.kind {
                Kind::Configure => {
                    self.successor = message.server;
                    send(MASTER, Kind::Ready, self.number, 0);
                }
                Kind::Request => self.request(message.number),
                Kind::Acknowledge => self.acknowledge(message.number),
                Kind::NewPredecessor => {
                    self.predecessor = message.server;
                    send(MASTER, Kind::Applied, self.number, self.applied);
                }
                Kind::NewSuccessor => self.change_successor(message.server, message.number),
                Kind::Fail => {
                    plain(&APPLIED)[self.number] = None;
                    send(MASTER, Kind::Failed, self.number, 0);
                    return;
                }
                _ => unreachable!("a server gets nothing else"),
            }
        }
    }

    fn request(&mut self, number: u32) {
        let known = if self.applies_twice { self.acknowledged } else { self.applied };
        if number <= known {
            return; // sent again
        }
        assert!(number == self.applied + 1, "a request is applied twice");
        self.applied = number;
        plain(&APPLIED)[self.number] = Some(number);
        self.pass_on(number);
    }

    fn pass_on(&mut self, number: u32) {
        if self.successor == NOBODY {
            send(CLIENT, Kind::Reply, self.number, number);
            self.acknowledge(number);
        } else {
            send(self.successor, Kind::Request, self.number, number);
        }
    }

    fn acknowledge(&mut self, number: u32) {
        self.acknowledged = number;
        send(self.predecessor, Kind::Acknowledge, self.number, number);
    }

    /// The new successor gets what it lacks. Without one, the client gets the answers that may be lost.
    fn change_successor(&mut self, successor: usize, applied_there: u32) {
        self.successor = successor;
        let missing_from = if successor == NOBODY { self.acknowledged } else { applied_there };
        for number in missing_from + 1..=self.applied {
            self.pass_on(number);
        }
    }
}

struct Master {
    alive: [bool; SERVERS],
    /// The first bug: repairs wait for each other.
    one_at_a_time: bool,
    repairing: bool,
    /// Failures that wait for the end of a repair.
    waiting: [bool; SERVERS],
}

impl Master {
    fn run(mut self) {
        coyote::hint(LAST);
        for server in 0..SERVERS {
            send(server, Kind::Configure, self.after(server), 0);
        }
        for _ in 0..SERVERS {
            NETWORK.receive(MASTER);
        }
        coyote::hint(FIRST);
        send(INJECTOR, Kind::Start, 0, 0);
        send(CLIENT, Kind::Start, 0, 0);
        loop {
            let message = NETWORK.receive(MASTER);
            let server = message.server;
            match message.kind {
                Kind::Failed if self.one_at_a_time && self.repairing => self.waiting[server] = true,
                Kind::Failed => self.repair(server),
                Kind::Applied => self.reconnect(server, message.number),
                _ => unreachable!("a master gets nothing else"),
            }
        }
    }

    fn before(&self, server: usize) -> usize {
        (0..server).rev().find(|s| self.alive[*s]).unwrap_or(NOBODY)
    }

    fn after(&self, server: usize) -> usize {
        (server + 1..SERVERS).find(|s| self.alive[*s]).unwrap_or(NOBODY)
    }

    fn repair(&mut self, failed: usize) {
        self.alive[failed] = false;
        let (predecessor, successor) = (self.before(failed), self.after(failed));
        if successor == NOBODY {
            send(predecessor, Kind::NewSuccessor, NOBODY, 0);
        } else {
            self.repairing = true;
            send(successor, Kind::NewPredecessor, predecessor, 0);
        }
    }

    /// Second half of a repair: the successor of who failed has answered.
    fn reconnect(&mut self, successor: usize, applied: u32) {
        // It may have failed since.
        if self.alive[successor] {
            match self.before(successor) {
                NOBODY => send(CLIENT, Kind::NewHead, successor, 0),
                predecessor => send(predecessor, Kind::NewSuccessor, successor, applied),
            }
        }
        self.repairing = false;
        if let Some(failed) = (0..SERVERS).find(|s| self.waiting[*s]) {
            self.waiting[failed] = false;
            self.repair(failed);
        }
    }
}

/// Sends all requests at once, and what is not answered again to a new head.
fn client() {
    NETWORK.receive(CLIENT);
    send_requests(0, 0);
    let mut answered = 0;
    while answered < REQUESTS {
        let message = NETWORK.receive(CLIENT);
        match message.kind {
            Kind::NewHead => send_requests(message.server, answered),
            // An answer may come twice.
            Kind::Reply => answered = answered.max(message.number),
            _ => unreachable!("a client gets nothing else"),
        }
        let everywhere = plain(&APPLIED).iter().flatten().all(|applied| *applied >= answered);
        assert!(everywhere, "a request is answered that not all servers have applied");
    }
}

fn send_requests(head: usize, answered: u32) {
    for number in answered + 1..=REQUESTS {
        send(head, Kind::Request, CLIENT, number);
    }
}

fn wait_until_stable() {
    coyote::hint(LAST);
    NETWORK.receive(INJECTOR);
    coyote::hint(FIRST);
}

/// Makes so many servers from number `first` on fail. Which ones, and in which order, the tool chooses.
fn inject(first: usize, count: usize) {
    // Nobody gets between two failures.
    coyote::hint(FIRST);
    NETWORK.receive(INJECTOR);
    let mut failed = [false; SERVERS];
    for done in 0..count {
        let nth = nondet::int(..SERVERS - first - done);
        let server = (first..SERVERS).filter(|s| !failed[*s]).nth(nth).expect("there are so many left");
        failed[server] = true;
        send(server, Kind::Fail, 0, 0);
    }
}

/// The caller is the client: that it gets no answer is a deadlock.
fn run(one_at_a_time: bool, applies_twice: bool, inject: fn()) {
    for number in 0..SERVERS {
        start(&format!("server {number}"), move || Server::new(number, applies_twice).run());
    }
    let (alive, waiting) = ([true; SERVERS], [false; SERVERS]);
    let master = Master { alive, one_at_a_time, repairing: false, waiting };
    start("master", move || master.run());
    start("injector", inject);
    client();
}

/// Two servers behind the head fail.
fn two_behind_the_head() {
    inject(1, 2);
}

/// The head fails.
fn the_head() {
    wait_until_stable();
    send(0, Kind::Fail, 0, 0);
}

/// The master repairs one failure after the other.
#[coyote::test]
fn chain_two_failures() {
    run(true, false, two_behind_the_head);
}

/// The master repairs what has failed, whatever it waits for.
#[coyote::test]
fn chain_two_failures_correct() {
    run(false, false, two_behind_the_head);
}

/// Servers recognise a request that was sent again once it has come through.
#[coyote::test]
fn chain_resent_request() {
    run(false, true, the_head);
}

/// Servers recognise a request as soon as they have applied it.
#[coyote::test]
fn chain_resent_request_correct() {
    run(false, false, the_head);
}
