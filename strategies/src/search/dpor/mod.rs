//! Dynamic partial-order reduction: one execution of every class of equivalent ones.
//!
//! Source sets with sleep sets (Abdulla, Aronis, Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction,
//! POPL 2014; Source Sets, JACM 2017). Two executions are equivalent if they differ only in the order of
//! independent steps. Every class is executed to its end, exactly once unless it ends in a bug or steps touch
//! less than when they slept (`changed`). Some executions are given up before their end as redundant
//! ([`Counts::redundant`]); the wake-up trees of the optimal algorithm would avoid these at the price of more
//! memory.
//!
//! Differences from the paper:
//! - An event is a step with the values chosen in it. A pick in a backtrack set stands for all values of its step;
//!   sleep sets contain events, because one value may wake when another does not. A step with another value does
//!   not find out what wakes a value that still sleeps. So a state continues with a pick none of whose values
//!   sleep, and with all picks if there is none.
//! - Dependence is determined from executed footprints. A step that sleeps keeps the footprint that it had.
//! - A step is in a race with the Acquire of its lock's previous owner, not with the Release that it waited for.
//!   Races of workers that are blocked at the end, or until a timeout, are found as if they had continued;
//!   otherwise deadlocks would be lost.
//! - A step that ends the whole execution depends on everything.
//! - The firings of a worker's timeouts are a process. At most one timeout can fire at a time, so one that a step
//!   cancels or overtakes is tried before that step.
//! - What a step touches may depend on earlier steps of others: see `changed`.
//! - The block that an allocator returns depends on what was freed before, so a request depends on a free only if
//!   the request comes second. Such a request wakes a free that sleeps.
//! - Steps of an atomic section are separate events, but a race with one is reversed where the section begins,
//!   and a section sleeps as a whole: what wakes it is what depends on any of its steps (`Rest`). Where other searches
//!   execute a part of it, every step wakes it.
//! - A worker that spins is not executed any further: see `spins`.
//! - States are restored from snapshots.
//!
//! A number may mean another worker in an equivalent execution, if workers were created in another order.
//! Numbers are compared only with those at states of the present path, and a worker that exists at a state
//! has one number there.

mod changed;
pub(super) mod division;
mod immediate;
mod items;
mod livelocks;
mod races;
mod shared;
mod sharing;
mod sleep;
mod spins;

pub use shared::{Place, Shared, State as SharedState};

use super::clocks::{Clocks, Event};
use super::dependence::{add_missing, signature};
use super::estimate;
use super::{Advance, Counts, Item, Search};
use crate::search;
use crate::system::{Access, Decision, Status, System, decide};
use crate::{Operation, Pick, WorkerState};
use changed::Changed;
use races::Scratch;
use sharing::Base;
use sleep::{Sleep, has};
use spins::{Done, Mark};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The state of a pick at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No race requires it.
    Idle,
    /// It sleeps with all its values, or its worker spins.
    Asleep,
    /// It has to be tried.
    Todo,
    /// The path continues with it.
    Current,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    pick: Pick,
    state: State,
    /// Whether some of its values, possibly all, sleep.
    drowsy: bool,
}

/// A state of the path.
#[derive(Debug)]
struct Node<T> {
    snapshot: Option<T>,
    /// The state in which the present step was picked: this one, unless it waits for a value.
    origin: usize,
    /// Whether this search must try nothing more here.
    closed: bool,
    /// Its number if it is shared. It is closed then, and [`sharing`] says what is tried.
    shared: Option<u64>,
    /// Whether a worker in an atomic section prevents all others from being picked here.
    restricted: bool,
    /// Whether nothing was tried yet.
    fresh: bool,
    /// Steps that depend on the present step of this node, and are tried before it: see
    /// [`Dpor::note_follower`].
    followers: Vec<(u32, u32)>,
    /// Whether there may be more followers, because the search was stored meanwhile.
    other_followers: bool,
    /// How many events are before it.
    events: usize,
    /// How many of these events, counted back from the last one, are of the same process.
    run: u32,
    /// The pending operation of the worker that was picked here.
    operation: Operation,
    /// [`System::worker_fingerprint`] of that worker.
    worker: u64,
    /// Where its footprints begin in [`Dpor::touched`].
    touched: usize,
    /// The possible picks. Empty if it waits for a value.
    choices: Range<usize>,
    /// Its sleep set, and the end of the sleep set when the state was first reached.
    asleep: Range<usize>,
    inherited: usize,
    /// Values to be tried. Empty if a pick has to be made.
    values: Range<u64>,
    /// The footprint of the present step before it asked for a value.
    partial: Range<usize>,
    /// Whether an execution below it reached the bound on steps: then what was tried is not completely
    /// explored, and does not sleep.
    unfinished: bool,
    /// Within an atomic section: its steps from here on. `None` if that is not known, as where other searches explore some
    /// alternatives.
    rest: Option<Rest>,
    /// The number of executions below completed alternatives, and the number of these alternatives.
    found: u64,
    done: u64,
}

/// The steps of an atomic section after one of them, in all alternatives.
#[derive(Clone, Debug, Default)]
struct Rest {
    touched: Vec<Access>,
    /// See [`Node::followers`].
    followers: Vec<(u32, u32)>,
}

impl<T> Node<T> {
    /// Whether everything that is not tried here by this search is tried by others, whatever races are found.
    fn is_elsewhere(&self) -> bool {
        self.closed && self.shared.is_none()
    }
}

/// The search: see the module's documentation.
///
/// The last node of the path is the only one without a decision. Between two calls of [`Search::advance`] it
/// always has something left to try, so a search can be stored at any time.
pub struct Dpor<S: System> {
    items: Vec<Item>,
    path: Vec<Decision>,
    nodes: Vec<Node<S::Snapshot>>,
    clocks: Clocks,
    done: Done,
    choices: Vec<Choice>,
    sleep: Sleep,
    /// Footprints of the path's events and of sleeping steps.
    touched: Vec<Access>,
    /// Whether the system is in the state of the last node.
    here: bool,
    /// The part of the present step's footprint from before its state was restored.
    partial: Option<Range<usize>>,
    /// Whether an item's prefix is being executed.
    replaying: bool,
    scratch: Scratch,
    /// Records of changed steps, in the order of their events.
    changed: Vec<Changed>,
    /// The state that later ones are compared with, to detect that a worker spins.
    mark: Option<Mark>,
    /// Fingerprints of those examined states from which an end can be reached.
    ending: BTreeSet<u128>,
    counts: Counts,
    /// Number of completed items.
    finished: u64,
    /// The states that it shares with other searches, and its part of the deepest one on the path.
    shared: Arc<Shared>,
    base: Option<Base>,
    error: Option<String>,
}

impl<S: System> Dpor<S> {
    /// A search through the whole program, or through items that were saved or split off.
    pub fn new(items: Option<Vec<Item>>) -> Dpor<S> {
        Dpor {
            items: items.unwrap_or_else(|| vec![Item::default()]),
            path: Vec::new(),
            nodes: Vec::new(),
            clocks: Clocks::default(),
            done: Done::default(),
            choices: Vec::new(),
            sleep: Sleep::default(),
            touched: Vec::new(),
            here: false,
            partial: None,
            replaying: false,
            scratch: Scratch::default(),
            changed: Vec::new(),
            mark: None,
            ending: BTreeSet::new(),
            counts: Counts::default(),
            finished: 0,
            shared: Arc::default(),
            base: None,
            error: None,
        }
    }

    /// The pick with which the path's step from a state begins.
    fn picked_at(&self, depth: usize) -> Pick {
        match self.path[depth] {
            Decision::Pick(pick) => pick,
            Decision::Value(_) => unreachable!("a step begins with a pick"),
        }
    }

    /// Makes a decision in the state of the last node. If the execution ended and counts, returns how.
    fn execute(&mut self, system: &mut S, decision: Decision) -> Option<Advance> {
        self.path.truncate(self.nodes.len() - 1);
        if let Decision::Pick(Pick::Timeout(worker)) = decision
            && system.view().workers[worker.index()].state == WorkerState::Blocked
            && !self.replaying
        {
            // Its worker could have got the lock in time.
            self.find_races_of(system, Pick::Step(worker), false);
        }
        self.path.push(decision);
        let node = self.nodes.last_mut().expect("a node to go on from");
        node.fresh = false;
        if let Decision::Pick(pick) = decision {
            node.operation = system.view().workers[pick.worker().index()].operation;
            node.worker = system.worker_fingerprint(pick.worker());
        }
        decide(system, decision);
        self.counts.steps += u64::from(matches!(decision, Decision::Pick(_)));
        let status = system.status();
        if let Status::Choosing { bound } = status {
            self.push_values(system, bound);
            return None;
        }
        let depth = self.nodes.last().expect("as before").origin;
        let pick = self.picked_at(depth);
        let last = status.is_final() && system.ends_program();
        self.complete(system, pick, depth, last);
        if !status.is_final() {
            self.push_picks(system, Some(pick));
            self.report_first_step(depth);
            return if self.replaying { None } else { self.look(system, pick) };
        }
        self.find_races_of_blocked(system, last || status == Status::Unfinished);
        if status == Status::Unfinished {
            self.try_starved(system);
        }
        let counted = self.count(status);
        self.retract(last, Some(Rest::default()));
        counted.then_some(Advance::Ended(status))
    }

    /// Counts an execution that ended. Returns whether it is to be reported: an execution in which a worker
    /// spun equals one in which none did, so only its bug is reported.
    fn count(&mut self, status: Status) -> bool {
        let spun = self.nodes.last().is_some_and(|node| {
            let origin = &self.nodes[node.origin];
            self.sleep.spins(origin.asleep.clone())
        });
        if spun && status != Status::Unfinished {
            self.counts.redundant += 1;
            self.counts.bugs += u64::from(status == Status::Bug);
            return status == Status::Bug;
        }
        self.counts.ended(status);
        if let Some(node) = self.nodes.last_mut() {
            node.unfinished |= status == Status::Unfinished;
        }
        if matches!(status, Status::Passed | Status::Bug)
            && let Some(node) = self.nodes.last_mut()
        {
            node.found += 1;
        }
        true
    }

    /// Examines the state after a step with `pick`, and stops workers that spin.
    fn look(&mut self, system: &mut S, pick: Pick) -> Option<Advance> {
        self.stop_spinning(system, pick);
        let node = self.nodes.last().expect("the state's node");
        let choices = &mut self.choices[node.choices.clone()];
        if choices.iter().any(|choice| choice.state == State::Idle && !choice.drowsy) {
            return None;
        }
        choices.iter_mut().filter(|c| c.state == State::Idle).for_each(|c| c.state = State::Todo);
        let asleep = node.asleep.clone();
        let all_spin = choices.iter().all(|choice| self.sleep.spinning(asleep.clone(), choice.pick));
        self.find_races_of_blocked(system, false);
        if all_spin { self.judge(system) } else { None }
    }

    /// Appends the last step's footprint to [`Dpor::touched`]. If a state within the step was restored, the
    /// system may not know the first part any more.
    fn gather(&mut self, system: &S) -> Range<usize> {
        let start = self.touched.len();
        if let Some(partial) = self.partial.clone() {
            self.touched.extend_from_within(partial);
        }
        add_missing(&mut self.touched, start, system.footprint());
        start..self.touched.len()
    }

    /// Adds the state after a step with `pick`, or the first state.
    fn push_picks(&mut self, system: &mut S, pick: Option<Pick>) {
        let start = self.sleep.len();
        if let (Some(pick), Some(parent), Some(event)) =
            (pick, self.nodes.last(), self.clocks.events().last())
        {
            let asleep = self.nodes[parent.origin].asleep.clone();
            let number = self.clocks.events().len() - 1;
            self.sleep.follow(asleep, pick, (number, event), &self.touched);
        }
        let asleep = start..self.sleep.len();
        let from = self.choices.len();
        let view = system.view();
        for pick in view.picks() {
            let covered = self.sleep.covers(asleep.clone(), pick);
            let state = if covered { State::Asleep } else { State::Idle };
            let drowsy = covered || self.sleep.covers_some(asleep.clone(), pick);
            self.choices.push(Choice { pick, state, drowsy });
        }
        self.partial = None;
        let run = self.run();
        let restricted = view.in_section;
        self.nodes.push(Node {
            run,
            restricted,
            choices: from..self.choices.len(),
            asleep,
            ..self.blank(self.nodes.len())
        });
        let awake = self.choices[from..].iter().filter(|c| c.state == State::Idle).count();
        self.save_state(system, awake > 1);
    }

    /// Adds the state within a step that requests a value.
    fn push_values(&mut self, system: &mut S, bound: u64) {
        let partial = self.gather(system);
        let origin = self.nodes.last().expect("a step begins with a pick").origin;
        self.nodes.push(Node { values: 0..bound, partial, ..self.blank(origin) });
        self.save_state(system, bound > 1);
    }

    fn blank(&self, origin: usize) -> Node<S::Snapshot> {
        let (choices, asleep) = (self.choices.len(), self.sleep.len());
        Node {
            snapshot: None,
            origin,
            closed: false,
            shared: None,
            restricted: false,
            fresh: true,
            followers: Vec::new(),
            other_followers: false,
            events: self.clocks.events().len(),
            run: 0,
            operation: Operation::START,
            worker: 0,
            touched: self.touched.len(),
            choices: choices..choices,
            asleep: asleep..asleep,
            inherited: asleep,
            values: 0..0,
            partial: 0..0,
            unfinished: false,
            rest: (!self.replaying).then(Rest::default),
            found: 0,
            done: 0,
        }
    }

    /// Saves the state, unless it has only one alternative: then it is never restored.
    fn save_state(&mut self, system: &mut S, several: bool) {
        if several && system.can_snapshot() {
            self.nodes.last_mut().expect("it was pushed").snapshot = Some(system.snapshot());
        }
    }

    /// Counts the last node's decision as explored. `last`: its step ended the execution. `rest`: the steps after it in its
    /// atomic section; `None` if they are not known.
    fn retract(&mut self, last: bool, rest: Option<Rest>) {
        let depth = self.nodes.len() - 1;
        let origin = self.nodes[depth].origin;
        let pick = self.picked_at(origin);
        self.here = false;
        self.nodes[depth].done += 1;
        if self.clocks.events().len() > self.nodes[depth].events {
            let mut event = self.clocks.pop().expect("there is one");
            self.done.pop();
            self.forget_changes();
            // What is not known may be anything.
            let last = last || rest.is_none();
            let Rest { touched, mut followers } = rest.unwrap_or_default();
            self.extend(&mut event, &touched);
            followers.append(&mut self.nodes[origin].followers);
            self.note_rest(origin, &event, &followers, last);
            if !self.nodes[depth].unfinished {
                let others = self.nodes[origin].other_followers
                    && has(&self.touched[event.footprint.clone()], Access::FREES);
                let values = &self.path[origin + 1..=depth];
                self.sleep.push(pick, values, &event, last, (followers, others));
                let explored = self.sleep.len() - 1;
                if let Some(event) = self.sleep.tried(explored..explored + 1, &self.touched).next() {
                    self.report_explored(origin, event);
                }
            }
            self.nodes[origin].asleep.end = self.sleep.len();
        }
        if origin == depth {
            let node = &self.nodes[depth];
            self.sleep.complete(node.asleep.clone(), pick);
            let choices = &mut self.choices[node.choices.clone()];
            if let Some(choice) = choices.iter_mut().find(|c| c.state == State::Current) {
                choice.state = State::Done;
            }
        }
    }

    /// Adds what the rest of its atomic section touches to the footprint of an event that is no longer on the path.
    fn extend(&mut self, event: &mut Event, rest: &[Access]) {
        if rest.is_empty() {
            return;
        }
        let start = self.touched.len();
        self.touched.extend_from_within(event.footprint.clone());
        add_missing(&mut self.touched, start, rest);
        event.footprint = start..self.touched.len();
        event.signature = signature(&self.touched[event.footprint.clone()]);
    }

    /// Notes an explored step, with the steps after it, at the node where it begins, if that is within an atomic section.
    /// `last`: not all is known of it.
    fn note_rest(&mut self, origin: usize, event: &Event, followers: &[(u32, u32)], last: bool) {
        let node = &mut self.nodes[origin];
        match &mut node.rest {
            _ if !node.restricted => {}
            Some(rest) if !last => {
                add_missing(&mut rest.touched, 0, &self.touched[event.footprint.clone()]);
                rest.followers.extend(followers);
            }
            rest => *rest = None,
        }
    }

    /// Removes the last node, which has nothing left, and goes back to the one before.
    fn leave(&mut self) {
        let node = self.nodes.pop().expect("a node to leave");
        if node.origin == self.nodes.len() {
            self.touched.truncate(node.touched);
            self.sleep.truncate(node.asleep.start);
        }
        self.choices.truncate(node.choices.start);
        if let Some(parent) = self.nodes.last_mut() {
            parent.found += node.found;
            parent.unfinished |= node.unfinished;
            // The whole section sleeps, which touches more than its first step.
            let rest = if node.restricted { node.rest } else { Some(Rest::default()) };
            self.retract(false, rest);
        } else {
            self.finished += 1;
        }
    }

    /// The next alternative of the last node.
    fn next(&self) -> Option<Decision> {
        let node = self.nodes.last()?;
        let depth = self.nodes.len() - 1;
        if let Some(value) = node.values.clone().find(|value| !self.value_sleeps(depth, *value)) {
            return Some(Decision::Value(value));
        }
        let choices = &self.choices[node.choices.clone()];
        let same = self.clocks.events().last().map(|event| event.process);
        let idle = || {
            let mut idle = choices.iter().filter(|c| c.state == State::Idle && !c.drowsy);
            let first = idle.clone().next();
            idle.find(|c| Some(super::clocks::process(c.pick)) == same).or(first)
        };
        let asked = choices.iter().find(|c| c.state == State::Todo);
        let choice = asked.or_else(|| if node.fresh { idle() } else { None });
        choice.map(|c| Decision::Pick(c.pick))
    }

    fn level(&self, node: &Node<S::Snapshot>) -> estimate::Level {
        let todo = self.choices[node.choices.clone()].iter().filter(|c| c.state == State::Todo).count();
        let left = todo as u64 + (node.values.end - node.values.start);
        estimate::Level { found: node.found, done: node.done, left }
    }

    /// Marks this alternative of the last node as the path's next decision.
    fn mark(&mut self, decision: Decision) {
        let node = self.nodes.last_mut().expect("a node to go on from");
        match decision {
            Decision::Value(value) => node.values.start = value + 1,
            Decision::Pick(pick) => {
                node.other_followers = self.replaying;
                let choices = &mut self.choices[node.choices.clone()];
                choices.iter_mut().filter(|c| c.pick == pick).for_each(|c| c.state = State::Current);
            }
        }
    }

    /// Brings the system to the state of the last node.
    fn go_there(&mut self, system: &mut S) {
        if self.here {
            return;
        }
        self.mark = None;
        let node = self.nodes.last().expect("a node to go to");
        match &node.snapshot {
            Some(snapshot) => {
                system.restore(snapshot);
                let inside = node.origin + 1 < self.nodes.len();
                self.partial = inside.then(|| node.partial.clone());
            }
            None => {
                system.restart();
                for decision in &self.path[..self.nodes.len() - 1] {
                    decide(system, *decision);
                    self.counts.steps += u64::from(matches!(decision, Decision::Pick(_)));
                }
                self.partial = None;
            }
        }
        self.here = true;
    }

    /// Removes nodes that have nothing left. A node without any worker that was awake from the start is
    /// redundant.
    fn settle(&mut self) {
        while !self.nodes.is_empty() && self.next().is_none() {
            if self.take_part_here() {
                continue;
            }
            self.counts.redundant += u64::from(self.nodes.last().is_some_and(|node| node.fresh));
            self.leave();
        }
    }
}

impl<S: System> Search<S> for Dpor<S> {
    fn name(&self) -> String {
        "dpor".into()
    }

    fn advance(&mut self, system: &mut S, steps: u64) -> Advance {
        let limit = self.counts.steps.saturating_add(steps);
        // Values that are chosen are no steps, and there may be 2^32 of them.
        let mut decisions = 0;
        loop {
            if self.nodes.is_empty() {
                if self.error.is_some() {
                    return Advance::Exhausted;
                }
                let Some(item) = self.shared.take().or_else(|| self.items.pop()) else {
                    return Advance::Exhausted;
                };
                match self.begin(system, item) {
                    Ok(Some(status)) => return Advance::Ended(status),
                    Ok(None) => {}
                    Err(error) => {
                        self.nodes.clear();
                        self.replaying = false;
                        self.counts.cut = true;
                        self.error = Some(error);
                        continue;
                    }
                }
            }
            while let Some(decision) = self.next() {
                let inside = self.nodes.last().is_some_and(|node| node.origin + 1 < self.nodes.len());
                decisions += 1;
                if (self.counts.steps >= limit || decisions > steps) && !inside {
                    return Advance::Working;
                }
                self.go_there(system);
                self.mark(decision);
                let ended = self.execute(system, decision);
                self.settle();
                if let Some(advance) = ended {
                    return advance;
                }
            }
        }
    }

    fn path(&self) -> &[Decision] {
        &self.path
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn estimate(&self) -> Option<f64> {
        let here: u64 = self.nodes.iter().map(|node| node.found).sum();
        let elsewhere = (self.counts.executions - here) as f64;
        let total = elsewhere + estimate::total(self.nodes.iter().map(|node| self.level(node)));
        let items = self.finished + u64::from(!self.nodes.is_empty());
        (items > 0).then(|| total + self.items.len() as f64 * total / items as f64)
    }

    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    fn share(&mut self, shared: &search::Shared) {
        self.shared = shared.dpor.clone();
    }

    fn split(&mut self) -> Option<Item> {
        if let Some(item) = self.shared.take() {
            Some(item)
        } else if self.next().is_some_and(|decision| self.goes_on(decision)) {
            // It may turn out to spin; then its steps are undone.
            None
        } else if self.items.is_empty() {
            if self.share_states() { self.shared.take() } else { None }
        } else if self.nodes.is_empty() && self.items.len() == 1 {
            None
        } else {
            Some(self.items.remove(0))
        }
    }

    fn save(&self) -> Vec<Item> {
        let here = (!self.nodes.is_empty()).then(|| self.remaining());
        self.items.iter().cloned().chain(here).collect()
    }
}
