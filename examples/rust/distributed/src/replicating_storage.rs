//! A storage that keeps three replicas of its data and repairs what fails, after Coyote's sample ReplicatingStorage (FAST 2016).
//!
//! The manager asks nodes to get the data, and they report when they have it. One of them fails. Some time after the manager has
//! heard of that, it counts the replicas and asks as many other nodes as there are replicas missing.
//!
//! *Specification:* eventually three nodes that live have the data.
//!
//! *Bug:* the manager records every report. One that a node has sent before it failed may arrive after the manager has heard of
//! the failure: from then on the manager counts a replica that is not there, and repairs nothing.
//!
//! *Correction:* a report of a node that has failed is ignored.

use coyote::actor::{self, Actor, ActorRef, Context, Halt, States};
use coyote::monitor::Monitor;
use coyote::nondet;
use std::collections::BTreeSet;
use std::time::Duration;

const REPLICAS: usize = 3;
const NODES: usize = 4;
const UNTIL_CHECK: Duration = Duration::from_secs(1);

static REPAIRED: Monitor = Monitor::new("three living nodes have the data");

/// To the manager: these are the nodes.
struct Nodes(Vec<ActorRef>);

/// To a node: get the data, and report it.
struct Repair;

/// To the manager: this node has the data.
struct SyncReport(ActorRef);

/// To manager and specification: this node has failed.
struct Failed(ActorRef);

/// To the manager: count the replicas.
struct Check;

/// To the specification: this node has got the data.
struct Stored(ActorRef);

struct Node {
    manager: ActorRef,
    liveness: ActorRef,
}

impl Actor for Node {
    type State = ();

    fn states(states: &mut States<Node>) {
        states.start(()).on(|node: &mut Node, ctx, _: Repair| {
            ctx.send(&node.liveness, Stored(ctx.me()));
            ctx.send(&node.manager, SyncReport(ctx.me()));
        });
    }
}

#[derive(Default)]
struct Manager {
    /// Who has not failed.
    nodes: Vec<ActorRef>,
    /// Who has the data, as it was reported.
    replicas: BTreeSet<ActorRef>,
    /// The bug.
    records_all: bool,
}

impl Actor for Manager {
    type State = ();

    fn states(states: &mut States<Manager>) {
        states.start(()).on(Manager::begin).on(Manager::report).on(Manager::failed).on(Manager::check);
    }
}

impl Manager {
    fn begin(&mut self, ctx: &mut Context<Manager>, Nodes(nodes): Nodes) {
        self.nodes = nodes;
        self.check(ctx, Check);
    }

    fn report(&mut self, _: &mut Context<Manager>, SyncReport(node): SyncReport) {
        if self.records_all || self.nodes.contains(&node) {
            self.replicas.insert(node);
        }
    }

    fn failed(&mut self, ctx: &mut Context<Manager>, Failed(failed): Failed) {
        self.nodes.retain(|node| *node != failed);
        self.replicas.remove(&failed);
        ctx.start_timer(UNTIL_CHECK, Check);
    }

    fn check(&mut self, ctx: &mut Context<Manager>, _: Check) {
        let names: Vec<_> = self.replicas.iter().map(ActorRef::name).collect();
        coyote::log!("the manager takes these for replicas: {names:?}");
        let missing = REPLICAS.saturating_sub(self.replicas.len());
        let without = self.nodes.iter().filter(|node| !self.replicas.contains(node));
        for node in without.take(missing) {
            ctx.send(node, Repair);
        }
    }
}

/// The specification.
#[derive(Default)]
struct Liveness {
    stored: BTreeSet<ActorRef>,
    failed: Option<ActorRef>,
}

impl Actor for Liveness {
    type State = ();

    fn states(states: &mut States<Liveness>) {
        states
            .start(())
            .on(|liveness: &mut Liveness, _, Stored(node)| {
                liveness.stored.insert(node);
                liveness.count();
            })
            .on(|liveness: &mut Liveness, _, Failed(node)| {
                liveness.failed = Some(node);
                liveness.count();
            });
    }
}

impl Liveness {
    fn count(&self) {
        let living = self.stored.iter().filter(|node| self.failed.as_ref() != Some(*node));
        if living.count() < REPLICAS { REPAIRED.hot() } else { REPAIRED.cold() }
    }
}

fn store(records_all: bool) {
    actor::log_events();
    REPAIRED.hot();
    let manager = actor::create("manager", Manager { records_all, ..Manager::default() });
    let liveness = actor::create("liveness", Liveness::default());
    let node = |number| {
        let node = Node { manager: manager.clone(), liveness: liveness.clone() };
        actor::create(format!("node {number}"), node)
    };
    let nodes: Vec<_> = (0..NODES).map(node).collect();
    manager.send(Nodes(nodes.clone()));
    let failing = nondet::pick(&nodes);
    failing.send(Halt);
    manager.send(Failed(failing.clone()));
    liveness.send(Failed(failing.clone()));
}

/// The report of a node that has failed is recorded.
#[coyote::test]
fn replicating_storage() {
    store(true);
}

/// The report of a node that has failed is ignored.
#[coyote::test]
fn replicating_storage_fixed() {
    store(false);
}
