//! Chord, a ring of nodes that each keep the keys between their predecessor and themselves (Stoica et al., SIGCOMM 2001), after
//! Coyote's sample. A node that does not keep a key passes the request on to its successor.
//!
//! A node that joins tells its predecessor, which has it as its successor from then on, and tells the node behind it, which
//! hands over the keys that it keeps no longer.
//!
//! *Specification:* every request for a key that is stored is eventually answered.
//!
//! *Bug:* the new node takes itself for a part of the ring before it has its keys. It does not know the key that it is
//! asked for, and nobody else is responsible: the request is dropped.
//!
//! *Correction:* requests are deferred until the keys have come.

use coyote::actor::{self, Actor, ActorRef, Context, States};
use coyote::monitor::Monitor;
use std::collections::BTreeSet;

/// Identifiers of nodes and keys are below this.
const RING: u32 = 8;
const KEY: u32 = 5;

static ANSWERED: Monitor = Monitor::new("the client's request is answered");

struct FindKey {
    key: u32,
    client: ActorRef,
}

/// To the client: this node has the key.
struct Found {
    key: u32,
    node: ActorRef,
}

/// To the predecessor of the node that joins.
struct Join {
    id: u32,
    node: ActorRef,
}

/// To the node behind the one that joins.
struct NewPredecessor {
    id: u32,
    node: ActorRef,
}

/// To the node that joins.
struct Keys(BTreeSet<u32>);

/// Whether a key is behind `from` and not behind `to`, on the ring.
fn between(from: u32, key: u32, to: u32) -> bool {
    (key + RING - from - 1) % RING <= (to + RING - from - 1) % RING
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Starting,
    Joining,
    InRing,
}

struct Node {
    id: u32,
    predecessor: u32,
    successor: ActorRef,
    keys: BTreeSet<u32>,
    /// The predecessor, which does not know of this node yet.
    joins_behind: Option<ActorRef>,
    /// The bug.
    answers_at_once: bool,
}

impl Actor for Node {
    type State = State;

    fn states(states: &mut States<Node>) {
        states.start(State::Starting).entry(Node::start);
        states
            .state(State::Joining)
            .defer::<FindKey>()
            .goto_with(State::InRing, |node, _, Keys(keys)| node.keys = keys);
        states
            .state(State::InRing)
            .on(Node::find)
            .on(Node::let_join)
            .on(Node::hand_over)
            .on(|node: &mut Node, _, Keys(keys)| node.keys = keys);
    }
}

impl Node {
    fn start(&mut self, ctx: &mut Context<Node>) {
        let Some(predecessor) = &self.joins_behind else { return ctx.goto(State::InRing) };
        ctx.send(predecessor, Join { id: self.id, node: ctx.me() });
        ctx.goto(if self.answers_at_once { State::InRing } else { State::Joining });
    }

    fn find(&mut self, ctx: &mut Context<Node>, request: FindKey) {
        if !between(self.predecessor, request.key, self.id) {
            ctx.send(&self.successor, request);
        } else if self.keys.contains(&request.key) {
            ctx.send(&request.client, Found { key: request.key, node: ctx.me() });
        } else {
            coyote::log!("{} keeps no key {}", ctx.name(), request.key);
        }
    }

    fn let_join(&mut self, ctx: &mut Context<Node>, Join { id, node }: Join) {
        ctx.send(&self.successor, NewPredecessor { id, node: node.clone() });
        self.successor = node;
    }

    fn hand_over(&mut self, ctx: &mut Context<Node>, NewPredecessor { id, node }: NewPredecessor) {
        let keys = self.keys.iter().copied().filter(|key| between(self.predecessor, *key, id)).collect();
        self.keys.retain(|key| !between(self.predecessor, *key, id));
        self.predecessor = id;
        ctx.send(&node, Keys(keys));
    }
}

struct Client {
    /// The node that it knows.
    node: ActorRef,
}

impl Actor for Client {
    type State = ();

    fn states(states: &mut States<Client>) {
        states
            .start(())
            .entry(|client, ctx| {
                ANSWERED.hot();
                ctx.send(&client.node, FindKey { key: KEY, client: ctx.me() });
            })
            .on(|_: &mut Client, ctx, Found { key, node }| {
                coyote::log!("{} has the key {key}", node.name());
                ANSWERED.cold();
                ctx.halt();
            });
    }
}

/// Nodes 0 and 3 are the ring; node 6 joins between them.
fn find_while_a_node_joins(answers_at_once: bool) {
    actor::log_events();
    let (node_0, node_3, node_6) = (actor::named("node 0"), actor::named("node 3"), actor::named("node 6"));
    let node = |id, predecessor, successor: &ActorRef, keys: &[u32]| {
        let (successor, keys) = (successor.clone(), keys.iter().copied().collect());
        Node { id, predecessor, successor, keys, joins_behind: None, answers_at_once }
    };
    node_0.create(node(0, 3, &node_3, &[5, 7]));
    node_3.create(node(3, 0, &node_0, &[2]));
    node_6.create(Node { joins_behind: Some(node_3.clone()), ..node(6, 3, &node_0, &[]) });
    actor::create("client", Client { node: node_3 });
}

/// The node that joins is asked for a key that it does not have yet.
#[coyote::test]
fn chord() {
    find_while_a_node_joins(true);
}

/// The node that joins answers when it has its keys.
#[coyote::test]
fn chord_fixed() {
    find_while_a_node_joins(false);
}
