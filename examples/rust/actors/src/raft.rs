//! Leader election of Raft (Ongaro and Ousterhout, 2014), after Coyote's sample CloudMessaging, whose network may deliver a
//! request for a vote twice.
//!
//! *Specification:* there is one leader in each term at most.
//!
//! *Bug:* a candidate counts the answers to its requests, and not the servers that voted for it. With five servers, two
//! candidates that each get two answers from one voter have three votes both.

use coyote::actor::{self, Actor, ActorRef, Context, States};
use coyote::nondet;
use std::collections::BTreeMap;
use std::time::Duration;

const SERVERS: usize = 5;
const TIMEOUT: Duration = Duration::from_millis(150);

/// All servers are there.
struct Start;

struct ElectionTimeout;

struct VoteRequest {
    term: u32,
    candidate: ActorRef,
}

struct Vote {
    term: u32,
    voter: ActorRef,
}

struct Heartbeat {
    term: u32,
}

struct Elected {
    term: u32,
    leader: ActorRef,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Follower,
    Candidate,
    Leader,
}

struct Server {
    others: Vec<ActorRef>,
    safety: ActorRef,
    term: u32,
    voted_for: Option<ActorRef>,
    /// Who voted for this server in its term.
    votes: Vec<ActorRef>,
    /// The bug.
    counts_twice: bool,
}

impl Actor for Server {
    type State = Role;

    fn states(states: &mut States<Server>) {
        states
            .start(Role::Follower)
            .on(Server::wait)
            .goto::<ElectionTimeout>(Role::Candidate)
            .on(Server::vote_request)
            .on(Server::heartbeat)
            .ignore::<Vote>();
        states
            .state(Role::Candidate)
            .entry(Server::campaign)
            .on(Server::vote)
            .on(Server::vote_request)
            .on(Server::heartbeat)
            .ignore::<ElectionTimeout>();
        states
            .state(Role::Leader)
            .entry(Server::lead)
            .on(Server::vote_request)
            .on(Server::heartbeat)
            .ignore::<Vote>()
            .ignore::<ElectionTimeout>();
    }
}

impl Server {
    fn wait(&mut self, ctx: &mut Context<Server>, _: Start) {
        ctx.start_timer(TIMEOUT, ElectionTimeout);
    }

    fn campaign(&mut self, ctx: &mut Context<Server>) {
        self.term += 1;
        self.voted_for = Some(ctx.me());
        self.votes = vec![ctx.me()];
        for other in &self.others {
            let request = || VoteRequest { term: self.term, candidate: ctx.me() };
            ctx.send(other, request());
            if nondet::bool() {
                ctx.send(other, request());
            }
        }
    }

    fn vote_request(&mut self, ctx: &mut Context<Server>, request: VoteRequest) {
        if request.term > self.term {
            self.follow(ctx, request.term);
        }
        let free = self.voted_for.as_ref().is_none_or(|voted_for| *voted_for == request.candidate);
        if request.term == self.term && free {
            self.voted_for = Some(request.candidate.clone());
            ctx.send(&request.candidate, Vote { term: self.term, voter: ctx.me() });
        }
    }

    fn vote(&mut self, ctx: &mut Context<Server>, vote: Vote) {
        if vote.term != self.term {
            return;
        }
        if self.counts_twice || !self.votes.contains(&vote.voter) {
            self.votes.push(vote.voter);
        }
        if self.votes.len() > SERVERS / 2 {
            ctx.goto(Role::Leader);
        }
    }

    fn lead(&mut self, ctx: &mut Context<Server>) {
        ctx.send(&self.safety, Elected { term: self.term, leader: ctx.me() });
        for other in &self.others {
            ctx.send(other, Heartbeat { term: self.term });
        }
    }

    fn heartbeat(&mut self, ctx: &mut Context<Server>, heartbeat: Heartbeat) {
        if heartbeat.term > self.term || heartbeat.term == self.term && ctx.state() == Role::Candidate {
            self.follow(ctx, heartbeat.term);
        }
    }

    fn follow(&mut self, ctx: &mut Context<Server>, term: u32) {
        if term > self.term {
            self.term = term;
            self.voted_for = None;
        }
        if ctx.state() != Role::Follower {
            ctx.goto(Role::Follower);
        }
    }
}

/// The specification.
#[derive(Default)]
struct Safety {
    leaders: BTreeMap<u32, ActorRef>,
}

impl Actor for Safety {
    type State = ();

    fn states(states: &mut States<Safety>) {
        states.start(()).on(|safety: &mut Safety, _, Elected { term, leader }| {
            let before = safety.leaders.insert(term, leader);
            assert!(before.is_none(), "more than one leader is elected in term {term}");
        });
    }
}

fn elect(counts_twice: bool) {
    let safety = actor::create("safety", Safety::default());
    let servers: Vec<ActorRef> =
        (0..SERVERS).map(|number| actor::named(&format!("server {number}"))).collect();
    for server in &servers {
        server.create(Server {
            others: servers.iter().filter(|other| *other != server).cloned().collect(),
            safety: safety.clone(),
            term: 0,
            voted_for: None,
            votes: Vec::new(),
            counts_twice,
        });
    }
    for server in &servers {
        server.send(Start);
    }
}

/// Two candidates count the votes of one voter twice.
#[coyote::test]
fn raft() {
    elect(true);
}

/// Candidates count voters.
#[coyote::test]
fn raft_fixed() {
    elect(false);
}
