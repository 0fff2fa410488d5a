//! Paxos for one value: proposers ask acceptors to accept their values. A value is chosen once a majority
//! has accepted it in one ballot, and no other one may ever be chosen. Each proposer speaks to a majority
//! only, not the same one as the others.
//!
//! Two bugs:
//! - An acceptor compares a proposal with the last ballot that it accepted instead of the last one that it
//!   promised. So it accepts an old ballot although it has promised a newer one, whose proposer did not
//!   hear of the old value.
//! - A proposer takes over the value of any promise that has one instead of the one of the highest ballot.
//!   That takes three ballots: one whose value few accept, one whose value is chosen, and a third one
//!   whose proposer hears of both.

use crate::actor::{Network, start};

const ACCEPTORS: usize = 3;
const MAJORITY: usize = 2;
const PROPOSERS_MAX: usize = 3;
const LEARNER: usize = ACCEPTORS + PROPOSERS_MAX;

#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
enum Kind {
    None,
    Prepare,
    Promise,
    Accept,
    /// To the learner.
    Accepted,
}

/// Ballot 0 means none. A value is the number of the proposer whose it was, from 1.
#[derive(Clone, Copy)]
struct Message {
    kind: Kind,
    ballot: u32,
    /// Of an accept: what to accept. Of a promise: what was accepted before, and in which ballot.
    value: u32,
    accepted_in: u32,
}

impl crate::actor::Message for Message {
    const EMPTY: Message = Message { kind: Kind::None, ballot: 0, value: 0, accepted_in: 0 };
}

/// Acceptors, after them proposers, and the learner.
static NETWORK: Network<Message, { ACCEPTORS + PROPOSERS_MAX + 1 }> = Network::new();

/// Hears what is accepted, and watches over the invariant.
fn learner() {
    let mut accepted = [0; PROPOSERS_MAX + 1]; // how often, by ballot
    let mut chosen = 0;
    loop {
        let message = NETWORK.receive(LEARNER);
        let times = &mut accepted[message.ballot as usize];
        *times += 1;
        if *times >= MAJORITY {
            assert!([0, message.value].contains(&chosen), "two values are chosen");
            chosen = message.value;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    ForgottenPromise,
    AnyValue,
}

fn acceptor(number: usize, bug: Bug) {
    let (mut promised, mut accepted_in, mut value) = (0, 0, 0);
    loop {
        let message = NETWORK.receive(number);
        let ballot = message.ballot;
        let oldest = if bug == Bug::ForgottenPromise { accepted_in } else { promised };
        match message.kind {
            Kind::Prepare if ballot > promised => {
                promised = ballot;
                NETWORK.send(address(ballot), Message { kind: Kind::Promise, ballot, value, accepted_in });
            }
            Kind::Accept if ballot >= oldest => {
                promised = promised.max(ballot);
                (accepted_in, value) = (ballot, message.value);
                NETWORK.send(LEARNER, Message { kind: Kind::Accepted, ballot, value, accepted_in });
            }
            // Too old. Proposers do not try again, so there is nobody to tell.
            _ => {}
        }
    }
}

/// A proposer has the number of its ballot.
fn address(proposer: u32) -> usize {
    ACCEPTORS + proposer as usize - 1
}

/// Proposes its own number, in one ballot of that number, unless something may be chosen already.
fn proposer(number: u32, bug: Bug) {
    let ballot = number;
    let send_to_all = |kind, value| {
        for i in 0..MAJORITY {
            let acceptor = (number as usize + i) % ACCEPTORS;
            NETWORK.send(acceptor, Message { kind, ballot, value, accepted_in: 0 });
        }
    };
    send_to_all(Kind::Prepare, 0);
    let (mut latest, mut value) = (0, number);
    for _ in 0..MAJORITY {
        let promise = NETWORK.receive(address(number));
        if promise.accepted_in > if bug == Bug::AnyValue { 0 } else { latest } {
            (latest, value) = (promise.accepted_in, promise.value);
        }
    }
    send_to_all(Kind::Accept, value);
}

fn run(proposers: u32, bug: Bug) {
    for number in 0..ACCEPTORS {
        start(&format!("acceptor {number}"), move || acceptor(number, bug));
    }
    for number in 1..=proposers {
        start(&format!("proposer {number}"), move || proposer(number, bug));
    }
    start("learner", learner);
}

/// Acceptors forget what they promised.
#[coyote::test]
fn paxos_forgotten_promise() {
    run(2, Bug::ForgottenPromise);
}

/// Proposers take over any value that was accepted.
#[coyote::test]
fn paxos_any_value() {
    run(3, Bug::AnyValue);
}

/// Two proposers, no bug.
#[coyote::test]
fn paxos_2_correct() {
    run(2, Bug::None);
}

/// Three proposers, no bug.
#[coyote::test]
fn paxos_3_correct() {
    run(3, Bug::None);
}
