//! Chain replication (van Renesse and Schneider, OSDI 2004), after the sample of P and Coyote: the head of a chain takes updates, each
//! server applies them and passes them on, and the tail answers the client.
//!
//! The server in the middle fails. The master tells the tail its new predecessor, hears which update the tail has applied
//! last, and tells the head its new successor. The head sends what was lost on the way.
//!
//! *Specification:* each server applies each update once and in order: its history is sorted. Every update is eventually
//! answered.
//!
//! *Bug:* the head sends all that was not acknowledged. The server in the middle may have passed an update on, and failed before the
//! acknowledgement came back through it: the tail applies this update again.
//!
//! *Correction:* the head sends what the tail has not applied.
//!
//! Failures of two neighbours, and clients that send their requests again: `examples/rust/protocols`.

use coyote::actor::{self, Actor, ActorRef, Context, Halt, States};
use coyote::monitor::Monitor;
use std::time::Duration;

const UPDATES: u32 = 2;
const FAILS_AFTER: Duration = Duration::from_millis(100);

static ANSWERED: Monitor = Monitor::new("all updates are answered");

/// From the client, or from the predecessor.
struct Update {
    number: u32,
    from: ActorRef,
}

/// To the predecessor: the tail has applied it.
struct Acknowledge(u32);

/// To the client: the tail has applied it.
struct Answer(u32);

/// To the master: a server does not answer any more.
struct Failed;

/// To a server: its new predecessor. It tells the master what it has applied last.
struct NewPredecessor {
    predecessor: ActorRef,
    master: ActorRef,
}

/// To the master.
struct LastApplied(u32);

/// To a server: its new successor, and what that one has applied last.
struct NewSuccessor {
    successor: ActorRef,
    last_applied: u32,
}

struct Server {
    /// Who may send it updates.
    predecessor: ActorRef,
    /// `None` for the tail.
    successor: Option<ActorRef>,
    client: ActorRef,
    /// Updates in the order in which they were applied.
    history: Vec<u32>,
    /// Up to this one, the tail has applied all.
    acknowledged: u32,
    /// The bug.
    resends_all: bool,
}

impl Actor for Server {
    type State = ();

    fn states(states: &mut States<Server>) {
        let all = states.start(()).on(Server::update).on(Server::acknowledge);
        all.on(Server::new_predecessor).on(Server::new_successor);
    }
}

impl Server {
    fn update(&mut self, ctx: &mut Context<Server>, Update { number, from }: Update) {
        if from != self.predecessor {
            return; // from a server that has failed
        }
        self.history.push(number);
        assert!(
            self.history.is_sorted_by(|before, after| before < after),
            "{} applies updates twice or out of order: {:?}",
            ctx.name(),
            self.history
        );
        match &self.successor {
            Some(successor) => ctx.send(successor, Update { number, from: ctx.me() }),
            None => {
                ctx.send(&self.client, Answer(number));
                ctx.send(&self.predecessor, Acknowledge(number));
            }
        }
    }

    fn acknowledge(&mut self, ctx: &mut Context<Server>, Acknowledge(number): Acknowledge) {
        self.acknowledged = number;
        // The predecessor of the head is the client.
        if self.predecessor != self.client {
            ctx.send(&self.predecessor, Acknowledge(number));
        }
    }

    fn new_predecessor(&mut self, ctx: &mut Context<Server>, new: NewPredecessor) {
        self.predecessor = new.predecessor;
        ctx.send(&new.master, LastApplied(self.history.last().copied().unwrap_or(0)));
    }

    fn new_successor(&mut self, ctx: &mut Context<Server>, new: NewSuccessor) {
        let known = if self.resends_all { self.acknowledged } else { new.last_applied };
        for number in self.history.iter().copied().filter(|number| *number > known) {
            ctx.send(&new.successor, Update { number, from: ctx.me() });
        }
        self.successor = Some(new.successor);
    }
}

/// Repairs the chain.
struct Master {
    head: ActorRef,
    tail: ActorRef,
}

impl Actor for Master {
    type State = ();

    fn states(states: &mut States<Master>) {
        states
            .start(())
            .on(|master: &mut Master, ctx, _: Failed| {
                let predecessor = master.head.clone();
                ctx.send(&master.tail, NewPredecessor { predecessor, master: ctx.me() });
            })
            .on(|master: &mut Master, ctx, LastApplied(last_applied)| {
                ctx.send(&master.head, NewSuccessor { successor: master.tail.clone(), last_applied });
            });
    }
}

/// Sends all updates at once.
struct Client {
    head: ActorRef,
    answered: u32,
}

impl Actor for Client {
    type State = ();

    fn states(states: &mut States<Client>) {
        states
            .start(())
            .entry(|client, ctx| {
                ANSWERED.hot();
                for number in 1..=UPDATES {
                    ctx.send(&client.head, Update { number, from: ctx.me() });
                }
            })
            .on(|client: &mut Client, _, Answer(number)| {
                client.answered += 1;
                assert!(client.answered == number, "answer {} is for update {number}", client.answered);
                if number == UPDATES {
                    ANSWERED.cold();
                }
            });
    }
}

/// Lets the server in the middle fail at any time, and then tells the master.
struct Failure {
    middle: ActorRef,
    master: ActorRef,
}

impl Actor for Failure {
    type State = ();

    fn states(states: &mut States<Failure>) {
        states.start(()).entry(|_, ctx| drop(ctx.start_timer(FAILS_AFTER, Failed))).on(
            |failure: &mut Failure, ctx, _: Failed| {
                ctx.send(&failure.middle, Halt);
                failure.middle.join();
                ctx.send(&failure.master, Failed);
            },
        );
    }
}

fn replicate(resends_all: bool) {
    actor::log_events();
    let (client, head) = (actor::named("client"), actor::named("head"));
    let (middle, tail) = (actor::named("middle"), actor::named("tail"));
    let server = |predecessor: &ActorRef, successor: Option<&ActorRef>| Server {
        predecessor: predecessor.clone(),
        successor: successor.cloned(),
        client: client.clone(),
        history: Vec::new(),
        acknowledged: 0,
        resends_all,
    };
    head.create(server(&client, Some(&middle)));
    middle.create(server(&head, Some(&tail)));
    tail.create(server(&middle, None));
    client.create(Client { head: head.clone(), answered: 0 });
    let master = actor::create("master", Master { head, tail });
    actor::create("failure", Failure { middle, master });
}

/// After a failure, the head sends what the tail has applied.
#[coyote::test]
fn chain_replication() {
    replicate(true);
}

/// After a failure, the head sends what the tail has not applied.
#[coyote::test]
fn chain_replication_fixed() {
    replicate(false);
}
