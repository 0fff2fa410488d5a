//! Two-phase commit, after the second tutorial of P: a coordinator asks all participants whether they can commit, and they do if all agree.
//! It decides to abort when somebody disagrees, or when its timer fires before all have voted.
//!
//! *Specification:* no participant commits what another one aborts.
//!
//! *Bug:* a participant that has agreed and hears nothing for a while aborts by itself. The coordinator may have decided to
//! commit already, and others may have committed.
//!
//! *Correction:* who has agreed has given up the right to abort: it asks the coordinator for the decision, and waits.
//!
//! Votes on another transaction and forgotten answers are other mistakes: `examples/rust/protocols`.

use coyote::actor::{self, Actor, ActorRef, Context, States};
use coyote::nondet;
use std::time::Duration;

const PARTICIPANTS: usize = 3;
const TIMEOUT: Duration = Duration::from_millis(100);

/// To the coordinator: all participants are there.
struct Participants(Vec<ActorRef>);
struct Prepare;
struct Vote {
    agrees: bool,
}
struct AskDecision(ActorRef);
#[derive(Clone, Copy, Debug, PartialEq)]
enum Decision {
    Commit,
    Abort,
}
struct Timeout;
/// To the specification: what a participant has done.
struct Done(Decision);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Voting,
    Decided,
}

struct Coordinator {
    participants: Vec<ActorRef>,
    agreed: usize,
    decision: Decision,
}

impl Actor for Coordinator {
    type State = Phase;

    fn states(states: &mut States<Coordinator>) {
        states
            .start(Phase::Voting)
            .on(Coordinator::begin)
            .on(Coordinator::vote)
            .on(|coordinator: &mut Coordinator, ctx, _: Timeout| coordinator.decide(ctx, Decision::Abort))
            // The decision will be sent to all.
            .ignore::<AskDecision>();
        states
            .state(Phase::Decided)
            .on(|coordinator: &mut Coordinator, ctx, AskDecision(participant)| {
                ctx.send(&participant, coordinator.decision);
            })
            .ignore::<Vote>()
            .ignore::<Timeout>();
    }
}

impl Coordinator {
    fn begin(&mut self, ctx: &mut Context<Coordinator>, Participants(participants): Participants) {
        for participant in &participants {
            ctx.send(participant, Prepare);
        }
        self.participants = participants;
        ctx.start_timer(TIMEOUT, Timeout);
    }

    fn vote(&mut self, ctx: &mut Context<Coordinator>, vote: Vote) {
        if !vote.agrees {
            return self.decide(ctx, Decision::Abort);
        }
        self.agreed += 1;
        if self.agreed == PARTICIPANTS {
            self.decide(ctx, Decision::Commit);
        }
    }

    fn decide(&mut self, ctx: &mut Context<Coordinator>, decision: Decision) {
        coyote::log!("the coordinator decides: {decision:?}");
        self.decision = decision;
        for participant in &self.participants {
            ctx.send(participant, decision);
        }
        ctx.goto(Phase::Decided);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Working,
    Prepared,
    Finished,
}

struct Participant {
    coordinator: ActorRef,
    atomicity: ActorRef,
    /// The bug.
    gives_up: bool,
}

impl Actor for Participant {
    type State = State;

    fn states(states: &mut States<Participant>) {
        states.start(State::Working).on(Participant::prepare).on(Participant::finish);
        states
            .state(State::Prepared)
            .entry(|_, ctx| drop(ctx.start_timer(TIMEOUT, Timeout)))
            .on(Participant::timeout)
            .on(Participant::finish);
        states.state(State::Finished).ignore::<Prepare>().ignore::<Timeout>().ignore::<Decision>();
    }
}

impl Participant {
    fn prepare(&mut self, ctx: &mut Context<Participant>, _: Prepare) {
        let agrees = !nondet::bool(); // the first choice of a search is to agree
        ctx.send(&self.coordinator, Vote { agrees });
        if agrees {
            ctx.goto(State::Prepared);
        } else {
            self.finish(ctx, Decision::Abort);
        }
    }

    fn timeout(&mut self, ctx: &mut Context<Participant>, _: Timeout) {
        if self.gives_up {
            self.finish(ctx, Decision::Abort);
        } else {
            ctx.send(&self.coordinator, AskDecision(ctx.me()));
        }
    }

    fn finish(&mut self, ctx: &mut Context<Participant>, decision: Decision) {
        coyote::log!("{} decides: {decision:?}", ctx.name());
        ctx.send(&self.atomicity, Done(decision));
        ctx.goto(State::Finished);
    }
}

/// The specification.
#[derive(Default)]
struct Atomicity {
    first: Option<Decision>,
}

impl Actor for Atomicity {
    type State = ();

    fn states(states: &mut States<Atomicity>) {
        states.start(()).on(|atomicity: &mut Atomicity, _, Done(decision)| {
            let first = *atomicity.first.get_or_insert(decision);
            assert!(first == decision, "one participant commits the transaction, and another one aborts it");
        });
    }
}

fn commit(gives_up: bool) {
    actor::log_events();
    let atomicity = actor::create("atomicity", Atomicity::default());
    let coordinator = Coordinator { participants: Vec::new(), agreed: 0, decision: Decision::Abort };
    let coordinator = actor::create("coordinator", coordinator);
    let participant = |number| {
        let (coordinator, atomicity) = (coordinator.clone(), atomicity.clone());
        actor::create(format!("participant {number}"), Participant { coordinator, atomicity, gives_up })
    };
    let participants = (0..PARTICIPANTS).map(participant).collect();
    coordinator.send(Participants(participants));
}

/// A participant that has agreed aborts.
#[coyote::test]
fn two_phase_commit() {
    commit(true);
}

/// A participant that has agreed waits for the decision.
#[coyote::test]
fn two_phase_commit_fixed() {
    commit(false);
}
