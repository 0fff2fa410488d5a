//! Workers that spin.
//!
//! A worker *spins* once steps of its own have led from a state of the whole program back to that state:
//! what it did there is a cycle, such as a turn of a loop that waits for another worker. Without the cycle
//! the rest of an execution is the same. So every end that can be reached is the end of an execution
//! without cycles, and only those are counted.
//!
//! A cycle is executed once, so that its reads are in races with what others write later, in the midst of
//! the cycle too. Its worker goes no further in what follows, as if it had assumed that it leaves the loop
//! (Kokologiannakis, Ren, Vafeiadis: Dynamic Partial Order Reductions for Spinloops, FMCAD 2021, where a compiler
//! finds loops without effects; here states are compared, so the cycle may be of any kind).
//! The execution goes on to its end without it: that makes it redundant, but its races count.
//!
//! Whether a worker spins must not depend on the order of independent steps, or the executions of one class would
//! not be cut alike. So a cycle also counts if others made steps in the midst of it that could be
//! executed before or after it.
//!
//! **Detection.** States are compared once a worker has made some steps in succession and is where it was
//! (Brent 1980), so programs without such loops pay next to nothing. What was executed beyond the first
//! cycle is taken back. As the search prefers the worker that made the last step, one that spins is always
//! found out before another goes on.

use super::{Dpor, State};
use crate::search::clocks::process;
use crate::system::{Decision, System, decide};
use crate::{Operation, Pick, Standing, WorkerId};

/// So many steps in succession are made before states are compared.
const RUN_MIN: u32 = 4;

/// A state of the present run of steps of one worker.
#[derive(Debug)]
pub struct Mark {
    /// Events before it.
    events: usize,
    /// What the worker was about to do.
    operation: Operation,
    fingerprint: u128,
}

impl<S: System> Dpor<S> {
    /// How many events at the end of the path are of one process.
    pub(super) fn run(&self) -> u32 {
        match self.clocks.events() {
            [.., before, last] if before.process == last.process => {
                let parent = self.nodes.last().expect("the state before the event");
                self.nodes[parent.origin].run + 1
            }
            events => events.len().min(1) as u32,
        }
    }

    /// Whether the decision goes on with the worker that made the last step. It may be found to spin.
    pub(super) fn goes_on(&self, decision: Decision) -> bool {
        let same = |pick| self.clocks.events().last().is_some_and(|event| event.process == process(pick));
        matches!(decision, Decision::Pick(pick) if same(pick))
    }

    /// If the worker of the last step spins: goes back to the end of its first cycle, and stops it there.
    pub(super) fn stop_spinning(&mut self, system: &mut S, pick: Pick) {
        let Pick::Step(worker) = pick else { return };
        if !self.is_where_it_was(system, worker) {
            return;
        }
        let run = self.nodes.last().expect("the present state").run as usize;
        let first = self.clocks.events().len() - run;
        let end = self.first_cycle(system, first);
        self.cut(end);
        self.visit(system, self.nodes.len() - 1);
        let node = self.nodes.last_mut().expect("the state after the cycle");
        self.sleep.stop(pick, &mut self.touched);
        node.asleep.end = self.sleep.len();
        node.fresh = true;
        let choices = &mut self.choices[node.choices.clone()];
        choices.iter_mut().filter(|c| c.pick == pick).for_each(|c| c.state = State::Asleep);
        self.here = true;
        self.partial = None;
    }

    /// Whether the state is one that the worker's present run has passed. May be late to see it.
    fn is_where_it_was(&mut self, system: &mut S, worker: WorkerId) -> bool {
        let run = self.nodes.last().expect("the present state").run;
        let pending = system.view().workers[worker.index()];
        if run < RUN_MIN || pending.standing != Standing::Enabled {
            return false;
        }
        let events = self.clocks.events().len();
        let mark = self.mark.as_ref().filter(|mark| mark.events >= events - run as usize);
        let again = mark.is_some_and(|mark| mark.operation == pending.operation);
        if !again && mark.is_some() && !run.is_power_of_two() {
            return false;
        }
        let fingerprint = system.fingerprint();
        if again && mark.is_some_and(|mark| mark.fingerprint == fingerprint) {
            return true;
        }
        if mark.is_none() || run.is_power_of_two() {
            self.mark = Some(Mark { events, operation: pending.operation, fingerprint });
        }
        false
    }

    /// The number of events up to the end of the first cycle, which ends in the run that begins with the
    /// event `first`.
    fn first_cycle(&mut self, system: &mut S, first: usize) -> usize {
        let events = self.clocks.events().len();
        self.visit(system, self.clocks.events()[first].decisions.start);
        let mut passed = vec![system.fingerprint()];
        let mut cycle = None;
        for event in first..events {
            self.repeat(system, event);
            let fingerprint = system.fingerprint();
            if let Some(begin) = passed.iter().position(|print| *print == fingerprint) {
                cycle = Some((event + 1, event + 1 - first - begin));
                break;
            }
            passed.push(fingerprint);
        }
        let (end, length) = cycle.expect("the run has come to a state again");
        (first + 1..end).find(|end| self.is_cycle(system, first, *end, length)).unwrap_or(end)
    }

    /// Whether the last `length` of the worker's steps up to `end` events are a cycle in which others,
    /// before the run that begins with `first`, made steps that could be executed before or after it.
    fn is_cycle(&mut self, system: &mut S, first: usize, end: usize, length: usize) -> bool {
        let process = self.clocks.events()[first].process;
        let own = |event: &usize| self.clocks.events()[*event].process == process;
        let cycle: Vec<usize> = (0..end).rev().filter(own).take(length).collect();
        let Some(&start) = cycle.get(length - 1).filter(|start| **start < first) else { return false };
        let others: Vec<usize> = (start..first).filter(|event| !own(event)).collect();
        let later = |event: &usize| self.clocks.before(start, *event);
        if others.iter().any(|event| later(event) && self.clocks.before(*event, end - 1)) {
            return false;
        }
        let earlier: Vec<usize> = others.into_iter().filter(|event| !later(event)).collect();
        self.visit(system, self.clocks.events()[start].decisions.start);
        earlier.into_iter().for_each(|event| self.repeat(system, event));
        let before = system.fingerprint();
        cycle.into_iter().rev().for_each(|event| self.repeat(system, event));
        before == system.fingerprint()
    }

    /// Brings the system to the state of a node on the path.
    fn visit(&mut self, system: &mut S, depth: usize) {
        let near = self.nodes[..=depth].iter().rposition(|node| node.snapshot.is_some());
        match near.and_then(|near| self.nodes[near].snapshot.as_ref()) {
            Some(snapshot) => system.restore(snapshot),
            None => system.restart(),
        }
        for decision in &self.path[near.unwrap_or(0)..depth] {
            decide(system, *decision);
            self.counts.steps += u64::from(matches!(decision, Decision::Pick(_)));
        }
    }

    /// Executes an event of the path again.
    fn repeat(&mut self, system: &mut S, event: usize) {
        let decisions = self.clocks.events()[event].decisions.clone();
        self.path[decisions].iter().for_each(|decision| decide(system, *decision));
        self.counts.steps += 1;
    }

    /// Takes back what the path has after so many events.
    fn cut(&mut self, events: usize) {
        let depth = self.clocks.events()[events - 1].decisions.end;
        while self.clocks.events().len() > events {
            let event = self.clocks.pop().expect("there is one more");
            self.touched.truncate(event.footprint.start);
        }
        if let Some(next) = self.nodes.get(depth + 1) {
            self.choices.truncate(next.choices.start);
            self.sleep.truncate(self.nodes[depth].asleep.end);
        }
        self.nodes.truncate(depth + 1);
        self.path.truncate(depth);
        self.mark = None;
    }
}
