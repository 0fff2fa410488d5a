//! Paxos for one value, after the benchmark of Coyote's papers (Lamport, "Paxos made simple", 2001). A proposer that hears nothing
//! for a while tries again with a higher ballot.
//!
//! *Specification:* no two values are chosen: accepted by a majority, each in one ballot.
//!
//! *Bug:* a proposer counts promises without a look at their ballot. A promise that was given for its former ballot, and comes late,
//! counts for the new one. Since it was given, that acceptor may have accepted another value, which may have been chosen; the proposer
//! believes that there is none.
//!
//! *Correction:* a promise counts for its own ballot alone.
//!
//! Acceptors that forget promises and proposers that take over the wrong value are other mistakes: `examples/rust/protocols`.

use coyote::actor::{self, Actor, ActorRef, Context, States};
use std::collections::BTreeMap;
use std::time::Duration;

const ACCEPTORS: usize = 3;
const MAJORITY: usize = 2;
const PROPOSERS: u32 = 2;
const BALLOTS_EACH: u32 = 2;
const TIMEOUT: Duration = Duration::from_millis(100);

type Value = u32;

#[derive(Clone, Copy)]
struct Accepted {
    ballot: u32,
    value: Value,
}

struct Prepare {
    proposer: ActorRef,
    ballot: u32,
}

struct Promise {
    ballot: u32,
    /// What the acceptor has accepted last.
    accepted: Option<Accepted>,
}

struct Accept(Accepted);

struct Timeout;

struct Acceptor {
    safety: ActorRef,
    promised: u32,
    accepted: Option<Accepted>,
}

impl Actor for Acceptor {
    type State = ();

    fn states(states: &mut States<Acceptor>) {
        states
            .start(())
            .on(|acceptor: &mut Acceptor, ctx, Prepare { proposer, ballot }| {
                if ballot > acceptor.promised {
                    acceptor.promised = ballot;
                    ctx.send(&proposer, Promise { ballot, accepted: acceptor.accepted });
                }
            })
            .on(|acceptor: &mut Acceptor, ctx, Accept(proposal)| {
                if proposal.ballot >= acceptor.promised {
                    coyote::log!("{} accepts {} in ballot {}", ctx.name(), proposal.value, proposal.ballot);
                    acceptor.promised = proposal.ballot;
                    acceptor.accepted = Some(proposal);
                    ctx.send(&acceptor.safety, proposal);
                }
            });
    }
}

struct Proposer {
    number: u32,
    acceptors: Vec<ActorRef>,
    ballot: u32,
    promises: usize,
    /// What was accepted in the highest ballot that promises tell of.
    accepted: Option<Accepted>,
    /// The bug.
    counts_late_promises: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Preparing,
    Proposed,
}

impl Actor for Proposer {
    type State = State;

    fn states(states: &mut States<Proposer>) {
        states.start(State::Preparing).entry(Proposer::prepare).on(Proposer::promise).on(Proposer::timeout);
        states.state(State::Proposed).entry(Proposer::propose).ignore::<Promise>().ignore::<Timeout>();
    }
}

impl Proposer {
    fn prepare(&mut self, ctx: &mut Context<Proposer>) {
        (self.promises, self.accepted) = (0, None);
        for acceptor in &self.acceptors {
            ctx.send(acceptor, Prepare { proposer: ctx.me(), ballot: self.ballot });
        }
        if self.ballot <= PROPOSERS * (BALLOTS_EACH - 1) {
            ctx.start_timer(TIMEOUT, Timeout);
        }
    }

    fn timeout(&mut self, ctx: &mut Context<Proposer>, _: Timeout) {
        self.ballot += PROPOSERS;
        self.prepare(ctx);
    }

    fn promise(&mut self, ctx: &mut Context<Proposer>, promise: Promise) {
        if promise.ballot != self.ballot && !self.counts_late_promises {
            return;
        }
        coyote::log!(
            "{} counts a promise for ballot {} in ballot {}",
            ctx.name(),
            promise.ballot,
            self.ballot
        );
        self.promises += 1;
        let newer = |accepted: &Accepted| self.accepted.is_none_or(|known| known.ballot < accepted.ballot);
        self.accepted = promise.accepted.filter(newer).or(self.accepted);
        if self.promises == MAJORITY {
            ctx.goto(State::Proposed);
        }
    }

    /// Proposes its own number, unless another value may be chosen already.
    fn propose(&mut self, ctx: &mut Context<Proposer>) {
        let value = self.accepted.map_or(self.number, |accepted| accepted.value);
        for acceptor in &self.acceptors {
            ctx.send(acceptor, Accept(Accepted { ballot: self.ballot, value }));
        }
    }
}

/// The specification: hears of everything that is accepted.
#[derive(Default)]
struct Safety {
    /// By ballot: how many have accepted.
    accepted: BTreeMap<u32, usize>,
    chosen: Option<Value>,
}

impl Actor for Safety {
    type State = ();

    fn states(states: &mut States<Safety>) {
        states.start(()).on(|safety: &mut Safety, _, Accepted { ballot, value }| {
            let acceptors = safety.accepted.entry(ballot).or_default();
            *acceptors += 1;
            if *acceptors == MAJORITY {
                let chosen = *safety.chosen.get_or_insert(value);
                assert!(chosen == value, "two values are chosen: {chosen}, and {value} in ballot {ballot}");
            }
        });
    }
}

fn choose(counts_late_promises: bool) {
    actor::log_events();
    let safety = actor::create("safety", Safety::default());
    let acceptor = |number| {
        let acceptor = Acceptor { safety: safety.clone(), promised: 0, accepted: None };
        actor::create(format!("acceptor {number}"), acceptor)
    };
    let acceptors: Vec<_> = (0..ACCEPTORS).map(acceptor).collect();
    for number in 1..=PROPOSERS {
        let (acceptors, ballot, promises, accepted) = (acceptors.clone(), number, 0, None);
        let proposer = Proposer { number, acceptors, ballot, promises, accepted, counts_late_promises };
        actor::create(format!("proposer {number}"), proposer);
    }
}

/// A late promise counts for the next ballot.
#[coyote::test]
fn paxos() {
    choose(true);
}

/// A promise counts for its own ballot.
#[coyote::test]
fn paxos_fixed() {
    choose(false);
}
