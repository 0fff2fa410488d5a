//! Two-phase commit: a coordinator asks all participants whether they can commit a transaction, and tells
//! them to if all say yes. It gives a transaction up if somebody says no, or if a timer is faster.
//!
//! A participant that has said yes and does not hear of the decision asks the others. If one of them has
//! not voted, both can give up: it has to vote no from then on.
//!
//! Two bugs:
//! - Nobody looks at the transaction that a vote belongs to. After a timeout an old vote is still under
//!   way, and counts for the next transaction, to which that participant has not agreed.
//! - A participant that has not voted tells another one to give up, forgets about it, and votes yes when it
//!   is asked, late, by the coordinator.

use crate::actor::{Network, plain, start};
use coyote::nondet;
use std::sync::Mutex;

const PARTICIPANTS: usize = 3;
const COORDINATOR: usize = PARTICIPANTS;
const TIMER: usize = PARTICIPANTS + 1;
const TRANSACTIONS: usize = 2;

#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
enum Kind {
    None,
    Prepare,
    Yes,
    No,
    /// To the timer: somebody has begun to wait.
    Wait,
    /// From the timer: whoever waits has waited for long enough.
    Timeout,
    /// To another participant: what has become of this?
    Ask,
    Commit,
    Abort,
}

#[derive(Clone, Copy)]
struct Message {
    kind: Kind,
    from: usize,
    transaction: usize,
}

impl crate::actor::Message for Message {
    const EMPTY: Message = Message { kind: Kind::None, from: 0, transaction: 0 };
}

static NETWORK: Network<Message, { PARTICIPANTS + 2 }> = Network::new();

fn send(from: usize, to: usize, kind: Kind, transaction: usize) {
    NETWORK.send(to, Message { kind, from, transaction });
}

/// To all participants but the sender.
fn send_to_all(from: usize, kind: Kind, transaction: usize) {
    for to in (0..PARTICIPANTS).filter(|to| *to != from) {
        send(from, to, kind, transaction);
    }
}

/// What a participant knows of a transaction.
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
enum State {
    Unknown,
    Agreed,
    Aborted,
    Committed,
}

/// By transaction and participant, for the invariant.
static STATES: Mutex<[[State; PARTICIPANTS]; TRANSACTIONS]> =
    Mutex::new([[State::Unknown; PARTICIPANTS]; TRANSACTIONS]);

fn record(participant: usize, transaction: usize, state: State) {
    let states = &mut plain(&STATES)[transaction];
    states[participant] = state;
    let mixed = states.contains(&State::Committed) && states.contains(&State::Aborted);
    assert!(!mixed, "a transaction is committed by one participant and aborted by another");
}

#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    OldVote,
    ForgottenAnswer,
}

fn participant(number: usize, timed: usize, bug: Bug) {
    let mut states = [State::Unknown; TRANSACTIONS];
    loop {
        let Message { kind, from, transaction } = NETWORK.receive(number);
        let state = &mut states[transaction];
        match (kind, *state) {
            (Kind::Prepare, State::Unknown) => {
                let agrees = !nondet::bool(); // the first choice of a search is to agree
                *state = if agrees { State::Agreed } else { State::Aborted };
                record(number, transaction, *state);
                send(number, COORDINATOR, if agrees { Kind::Yes } else { Kind::No }, transaction);
                if agrees && number == timed {
                    send(number, TIMER, Kind::Wait, transaction);
                }
            }
            (Kind::Prepare, _) => send(number, COORDINATOR, Kind::No, transaction),
            (Kind::Timeout, State::Agreed) => send_to_all(number, Kind::Ask, transaction),
            (Kind::Ask, State::Committed) => send(number, from, Kind::Commit, transaction),
            // Who has agreed knows no more than who asks.
            (Kind::Timeout, _) | (Kind::Ask, State::Agreed) => {}
            (Kind::Ask, _) => {
                if bug != Bug::ForgottenAnswer {
                    *state = State::Aborted;
                }
                send(number, from, Kind::Abort, transaction);
            }
            (Kind::Commit | Kind::Abort, _) => {
                *state = if kind == Kind::Commit { State::Committed } else { State::Aborted };
                record(number, transaction, *state);
            }
            _ => unreachable!("a participant gets nothing else"),
        }
    }
}

fn coordinator(transactions: usize, timed: usize, bug: Bug) {
    for transaction in 0..transactions {
        send_to_all(COORDINATOR, Kind::Prepare, transaction);
        if timed == COORDINATOR && transaction == 0 {
            send(COORDINATOR, TIMER, Kind::Wait, transaction);
        }
        let decision = if all_agree(transaction, bug) { Kind::Commit } else { Kind::Abort };
        send_to_all(COORDINATOR, decision, transaction);
    }
}

/// Whether all vote yes before the timer has run down.
fn all_agree(transaction: usize, bug: Bug) -> bool {
    let mut missing = PARTICIPANTS;
    while missing > 0 {
        let message = NETWORK.receive(COORDINATOR);
        let old = message.transaction != transaction;
        match message.kind {
            Kind::Timeout if old => {}
            Kind::Yes | Kind::No if old && bug != Bug::OldVote => {}
            Kind::Yes => missing -= 1,
            Kind::No | Kind::Timeout => return false,
            _ => unreachable!("a coordinator gets nothing else"),
        }
    }
    true
}

/// Time is up at any moment after somebody has begun to wait.
fn timer() {
    let wait = NETWORK.receive(TIMER);
    send(TIMER, wait.from, Kind::Timeout, wait.transaction);
}

/// `timed` waits with a timer in the first transaction.
fn run(transactions: usize, timed: usize, bug: Bug) {
    for number in 0..PARTICIPANTS {
        start(&format!("participant {number}"), move || participant(number, timed, bug));
    }
    start("timer", timer);
    start("coordinator", move || coordinator(transactions, timed, bug));
}

/// A vote on a transaction that was given up counts for the next one.
#[coyote::test]
fn commit_old_vote() {
    run(TRANSACTIONS, COORDINATOR, Bug::OldVote);
}

/// Votes on other transactions are ignored.
#[coyote::test]
fn commit_old_vote_correct() {
    run(TRANSACTIONS, COORDINATOR, Bug::None);
}

/// A participant forgets that it has told another one to give up.
#[coyote::test]
fn commit_forgotten_answer() {
    run(1, 0, Bug::ForgottenAnswer);
}

/// A participant votes no after it has told another one to give up.
#[coyote::test]
fn commit_forgotten_answer_correct() {
    run(1, 0, Bug::None);
}
