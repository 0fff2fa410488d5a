//! A failure detector that pings nodes, after the samples FailureDetector of P and Monitors of Coyote.
//!
//! In each round the detector pings all nodes that it takes to be alive, and starts a timer. Whose pong has not come when the timer
//! fires is pinged once more; who is late a second time is taken to have failed.
//!
//! *Specification:* at most three pings are on their way to a node: two of this round, and one of the last round that the node
//! has not answered because another answer was enough. Whoever pings more often floods a node that is slow.
//!
//! *Bug:* the detector does not look at the round of a pong. The late answer to the last round's second ping counts for this
//! round, in which the node has answered nothing: the pings that it has not answered become more with each round.
//!
//! *Correction:* a pong says which round it is for, and counts for that one alone. As pings arrive in order, who answers one
//! has answered all of the rounds before.

use coyote::actor::{self, Actor, ActorRef, Context, Halt, States, Timer};
use std::collections::BTreeMap;
use std::time::Duration;

const NODES: usize = 2;
const ROUNDS: u32 = 6;
const ATTEMPTS: u32 = 2;
const PINGS_MAX: u32 = 3;
const TIMEOUT: Duration = Duration::from_millis(100);

struct Ping {
    detector: ActorRef,
    round: u32,
}

struct Pong {
    node: ActorRef,
    round: u32,
}

struct Timeout;

/// To the specification: a ping is sent to a node.
struct PingSent(ActorRef);

/// To the specification: a node answers a ping.
struct PongSent(ActorRef);

struct Node {
    safety: ActorRef,
}

impl Actor for Node {
    type State = ();

    fn states(states: &mut States<Node>) {
        states.start(()).on(|node: &mut Node, ctx, Ping { detector, round }| {
            ctx.send(&node.safety, PongSent(ctx.me()));
            ctx.send(&detector, Pong { node: ctx.me(), round });
        });
    }
}

struct FailureDetector {
    safety: ActorRef,
    /// Who has not failed, as far as is known.
    alive: Vec<ActorRef>,
    /// Who has answered in this round.
    answered: Vec<ActorRef>,
    round: u32,
    attempt: u32,
    timer: Option<Timer>,
    /// The bug.
    takes_late_pongs: bool,
}

impl Actor for FailureDetector {
    type State = ();

    fn states(states: &mut States<FailureDetector>) {
        let all = states.start(()).entry(FailureDetector::begin_round);
        all.on(FailureDetector::pong).on(FailureDetector::timeout);
    }
}

impl FailureDetector {
    fn begin_round(&mut self, ctx: &mut Context<FailureDetector>) {
        self.round += 1;
        self.attempt = 1;
        self.answered.clear();
        if self.round > ROUNDS || self.alive.is_empty() {
            ctx.halt();
        } else {
            self.ping(ctx);
        }
    }

    fn ping(&mut self, ctx: &mut Context<FailureDetector>) {
        for node in self.alive.iter().filter(|node| !self.answered.contains(node)) {
            ctx.send(&self.safety, PingSent(node.clone()));
            ctx.send(node, Ping { detector: ctx.me(), round: self.round });
        }
        self.timer = Some(ctx.start_timer(TIMEOUT, Timeout));
    }

    fn pong(&mut self, ctx: &mut Context<FailureDetector>, pong: Pong) {
        let counts = self.takes_late_pongs || pong.round == self.round;
        if !counts || self.answered.contains(&pong.node) || !self.alive.contains(&pong.node) {
            return;
        }
        coyote::log!("in round {}, {} answers a ping of round {}", self.round, pong.node.name(), pong.round);
        self.answered.push(pong.node);
        if self.answered.len() == self.alive.len() {
            if let Some(timer) = self.timer.take() {
                ctx.stop_timer(&timer);
            }
            self.begin_round(ctx);
        }
    }

    fn timeout(&mut self, ctx: &mut Context<FailureDetector>, _: Timeout) {
        if self.attempt < ATTEMPTS {
            self.attempt += 1;
            return self.ping(ctx);
        }
        self.alive.retain(|node| self.answered.contains(node));
        self.begin_round(ctx);
    }
}

/// The specification.
#[derive(Default)]
struct Safety {
    /// By node, pings that it has not answered.
    pings: BTreeMap<ActorRef, u32>,
}

impl Actor for Safety {
    type State = ();

    fn states(states: &mut States<Safety>) {
        states
            .start(())
            .on(|safety: &mut Safety, _, PingSent(node)| {
                let pings = safety.pings.entry(node.clone()).or_default();
                *pings += 1;
                assert!(
                    *pings <= PINGS_MAX,
                    "{} has {pings} pings to answer, more than {PINGS_MAX}",
                    node.name()
                );
            })
            .on(|safety: &mut Safety, _, PongSent(node)| {
                let pings = safety.pings.get_mut(&node).filter(|pings| **pings > 0);
                *pings.expect("a pong follows a ping") -= 1;
            });
    }
}

fn detect(takes_late_pongs: bool) {
    actor::log_events();
    let safety = actor::create("safety", Safety::default());
    let node = |number| actor::create(format!("node {number}"), Node { safety: safety.clone() });
    let alive: Vec<_> = (0..NODES).map(node).collect();
    // One of the nodes fails.
    let failing = alive[0].clone();
    let (answered, round, attempt, timer) = (Vec::new(), 0, 0, None);
    let detector = FailureDetector { safety, alive, answered, round, attempt, timer, takes_late_pongs };
    actor::create("detector", detector);
    failing.send(Halt);
}

/// A late pong counts for the next round.
#[coyote::test]
fn failure_detector() {
    detect(true);
}

/// A pong counts for its own round.
#[coyote::test]
fn failure_detector_fixed() {
    detect(false);
}
