//! Workers that spin.
//!
//! A worker *spins* if its own steps have led from a state of the whole program back to that state: these
//! steps are a cycle, such as a round of a loop that waits for another worker. Without the cycle the rest of
//! an execution is the same. So every end that can be reached is the end of an execution without cycles, and
//! only those are counted.
//!
//! A cycle is executed once, so that its reads are in races with later writes of other workers, also within
//! the cycle. After that the worker makes no more steps, as if it had assumed that it leaves the loop
//! (Kokologiannakis, Ren, Vafeiadis: Dynamic Partial Order Reductions for Spinloops, FMCAD 2021, where a
//! compiler finds loops without effects; here states are compared, so the cycle may be of any kind). The
//! execution continues to its end without the worker: it is redundant, but its races count.
//!
//! Whether a worker spins must not depend on the order of independent steps, otherwise the executions of one
//! class would be cut differently. So a cycle also counts if other workers made steps within it that could be
//! executed before or after it.
//!
//! **Detectors.** States of the program are compared, without what a detector of data races knows: its clocks differ
//! after each round in which the worker synchronises. One round shows all races that several would. Knowledge only
//! grows: what an access of the first round is ordered after, one of a later round is, too. And a later step that is
//! ordered after the last round is ordered after all rounds before it.
//!
//! **Detection.** States are compared once a worker has made several steps in succession and has returned to
//! the same operation (Brent 1980), so programs without such loops cost almost nothing. The steps after the
//! first cycle are undone: the search prefers the worker that made the last step, so a worker that spins
//! continues until this is detected. This does not work if others made steps within the cycle, or if values
//! were chosen in it: then the cycle is executed again separately, as soon as its worker is about to execute
//! an earlier operation in the same state of its own.

use super::{Dpor, State};
use crate::search::clocks::{Clocks, process};
use crate::system::{Decision, Status, System, decide};
use crate::{Operation, Pick, WorkerId, WorkerState};
use std::collections::BTreeMap;

/// Steps in succession before states are compared.
const RUN_MIN: u32 = 4;

/// A state of the present run of steps of one worker.
#[derive(Debug)]
pub struct Mark {
    /// How many events are before it.
    events: usize,
    /// The pending operation of the worker.
    operation: Operation,
    fingerprint: u128,
}

/// The operations of each process on the path, so that a cycle's first step is found without a search along
/// the path.
#[derive(Debug, Default)]
pub struct Done {
    /// Events by process and operation, ascending.
    by_operation: BTreeMap<(usize, Operation), Vec<u32>>,
    events: Vec<DoneEvent>,
}

#[derive(Debug)]
struct DoneEvent {
    process: usize,
    operation: Operation,
    /// [`System::worker_fingerprint`] before it.
    before: u64,
    /// The latest event of its process, up to and including this one, in which values were chosen or after
    /// which other workers made steps.
    mixed: Option<u32>,
}

impl Done {
    pub fn clear(&mut self) {
        self.by_operation.clear();
        self.events.clear();
    }

    /// Adds the last event, in which its process executed `operation`; `before` is the state of its worker
    /// before that.
    pub fn push(&mut self, clocks: &Clocks, operation: Operation, before: u64) {
        let number = self.events.len() as u32;
        let event = clocks.events().last().expect("it was added");
        let mixed = match event.previous {
            _ if event.decisions.len() > 1 => Some(number),
            Some(previous) if previous + 1 < number => Some(previous),
            previous => previous.and_then(|previous| self.events[previous as usize].mixed),
        };
        self.by_operation.entry((event.process, operation)).or_default().push(number);
        self.events.push(DoneEvent { process: event.process, operation, before, mixed });
    }

    /// Removes the last event.
    pub fn pop(&mut self) {
        if let Some(DoneEvent { process, operation, .. }) = self.events.pop()
            && let Some(events) = self.by_operation.get_mut(&(process, operation))
        {
            events.pop();
        }
    }

    /// Events in which the process of the last one executed this operation, and since which, up to the last
    /// one, others made steps or values were chosen.
    fn starts(&self, operation: Operation) -> &[u32] {
        let Some(DoneEvent { process, mixed: Some(mixed), .. }) = self.events.last() else { return &[] };
        let events = self.by_operation.get(&(*process, operation)).map_or(&[][..], Vec::as_slice);
        &events[..events.partition_point(|event| event <= mixed)]
    }
}

impl<S: System> Dpor<S> {
    /// How many events at the end of the path are of the same process.
    pub(super) fn run(&self) -> u32 {
        match self.clocks.events() {
            [.., before, last] if before.process == last.process => {
                let parent = self.nodes.last().expect("the state before the event");
                self.nodes[parent.origin].run + 1
            }
            events => events.len().min(1) as u32,
        }
    }

    /// Whether the decision continues with the worker that made the last step, which may turn out to spin.
    pub(super) fn goes_on(&self, decision: Decision) -> bool {
        let same = |pick| self.clocks.events().last().is_some_and(|event| event.process == process(pick));
        matches!(decision, Decision::Pick(pick) if same(pick))
    }

    /// If the worker of the last step spins: goes back to the end of its first cycle, and stops the worker
    /// there.
    pub(super) fn stop_spinning(&mut self, system: &mut S, pick: Pick) {
        let Pick::Step(worker) = pick else { return };
        let pending = system.view().workers[worker.index()];
        if pending.state != WorkerState::Enabled {
            return;
        }
        if self.is_where_it_was(system, pending.operation) {
            self.cut_to_first_cycle(system);
        } else if !self.made_a_cycle(system, worker, pending.operation) {
            return;
        }
        let node = self.nodes.last_mut().expect("the state after the cycle");
        self.sleep.stop(pick, &mut self.touched);
        node.asleep.end = self.sleep.len();
        node.fresh = true;
        let choices = &mut self.choices[node.choices.clone()];
        choices.iter_mut().filter(|c| c.pick == pick).for_each(|c| c.state = State::Asleep);
        self.here = true;
        self.partial = None;
    }

    /// Whether the state occurred before in the worker's present run. May detect this late.
    fn is_where_it_was(&mut self, system: &mut S, operation: Operation) -> bool {
        let run = self.nodes.last().expect("the present state").run;
        if run < RUN_MIN {
            return false;
        }
        let events = self.clocks.events().len();
        let mark = self.mark.as_ref().filter(|mark| mark.events >= events - run as usize);
        let again = mark.is_some_and(|mark| mark.operation == operation);
        if !again && mark.is_some() && !run.is_power_of_two() {
            return false;
        }
        let fingerprint = system.fingerprint_of_program();
        if again && mark.is_some_and(|mark| mark.fingerprint == fingerprint) {
            return true;
        }
        if mark.is_none() || run.is_power_of_two() {
            self.mark = Some(Mark { events, operation, fingerprint });
        }
        false
    }

    /// Handles a state that occurred before in the present run: executes the run again, and cuts the path
    /// after the first step that leads to a state which the run has passed. Cuts nothing if no step does:
    /// then the same steps do not lead to the same states, which no system should do.
    fn cut_to_first_cycle(&mut self, system: &mut S) {
        let events = self.clocks.events().len();
        let first = events - self.nodes.last().expect("the present state").run as usize;
        self.visit(system, self.clocks.events()[first].decisions.start);
        let mut passed = vec![system.fingerprint_of_program()];
        for event in first..events {
            self.repeat(system, event);
            let fingerprint = system.fingerprint_of_program();
            if passed.contains(&fingerprint) {
                return self.cut(event + 1);
            }
            passed.push(fingerprint);
        }
        self.mark = None;
    }

    /// Whether the worker of the last step, which is about to do `operation`, has made a cycle in which
    /// others made steps that could be executed before or after it, or in which values were chosen.
    fn made_a_cycle(&mut self, system: &mut S, worker: WorkerId, operation: Operation) -> bool {
        if self.done.starts(operation).is_empty() {
            return false;
        }
        let now = system.worker_fingerprint(worker);
        let starts = self.done.starts(operation).iter().map(|start| *start as usize);
        let starts: Vec<usize> = starts.filter(|start| self.done.events[*start].before == now).collect();
        for start in starts.into_iter().rev() {
            // Steps between the worker's own that are in the way of a later start are also in the way of an
            // earlier one.
            let Some(others) = self.others_before(start) else { return false };
            if self.leads_back(system, start, others) {
                return true;
            }
        }
        false
    }

    /// Steps of others since the event `start` that can be executed before it; `None` if some step has to
    /// come after it and before the last event.
    fn others_before(&self, start: usize) -> Option<Vec<usize>> {
        let events = self.clocks.events();
        let last = events.len() - 1;
        let mut earlier = Vec::new();
        for other in (start..last).filter(|other| events[*other].process != events[start].process) {
            match self.clocks.before(start, other) {
                true if self.clocks.before(other, last) => return None,
                true => {}
                false => earlier.push(other),
            }
        }
        Some(earlier)
    }

    /// Whether the worker's own steps from the event `start` to the last one lead back to the state before
    /// them, if `others` are executed before. Afterwards the system is in its present state again.
    fn leads_back(&mut self, system: &mut S, start: usize, others: Vec<usize>) -> bool {
        let events = self.clocks.events();
        let (process, depth) = (events[start].process, events[start].decisions.start);
        let own: Vec<usize> = (start..events.len()).filter(|e| events[*e].process == process).collect();
        self.visit(system, depth);
        let mut back = others.into_iter().all(|event| self.can_repeat(system, event));
        let before = system.fingerprint_of_program();
        back = back && own.into_iter().all(|event| self.can_repeat(system, event));
        back = back && before == system.fingerprint_of_program();
        self.visit(system, self.nodes.len() - 1);
        back
    }

    /// Executes an event of the path in another state, if it is possible there.
    fn can_repeat(&mut self, system: &mut S, event: usize) -> bool {
        for at in self.clocks.events()[event].decisions.clone() {
            let possible = match (self.path[at], system.status()) {
                (Decision::Pick(pick), Status::Ready) => system.view().picks().any(|p| p == pick),
                (Decision::Value(value), Status::Choosing { bound }) => value < bound,
                _ => false,
            };
            if !possible {
                return false;
            }
            decide(system, self.path[at]);
        }
        self.counts.steps += 1;
        true
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

    /// Removes all but the first `events` events from the path, but none that other searches rely on.
    fn cut(&mut self, events: usize) {
        let least = self.base.map_or(0, |base| self.nodes[base.depth].events + 1);
        let events = events.max(least);
        let depth = self.clocks.events()[events - 1].decisions.end;
        while self.clocks.events().len() > events {
            let event = self.clocks.pop().expect("there is one more");
            self.done.pop();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::ChoiceRng;
    use crate::search::clocks::Clock;
    use crate::{Iteration, OpKind};

    /// A naive form that walks back along the process's steps from the last one.
    fn walk(clocks: &Clocks, done: &[Operation], operation: Operation) -> Vec<u32> {
        let events = clocks.events();
        let (mut starts, mut mixed) = (Vec::new(), false);
        let mut next = events.len().checked_sub(1);
        while let Some(start) = next {
            mixed |= events[start].decisions.len() > 1;
            if mixed && done[start] == operation {
                starts.push(start as u32);
            }
            next = events[start].previous.map(|previous| previous as usize);
            mixed |= next.is_some_and(|previous| previous + 1 < start);
        }
        starts.reverse();
        starts
    }

    /// Random steps, also after some were removed.
    #[test]
    fn starts_of_cycles_are_those_that_a_walk_finds() {
        let operation = |site| Operation { kind: OpKind::Load, site, object: 8, size: 4 };
        let mut found = 0;
        for index in 0..200 {
            let mut rng = ChoiceRng::new(Iteration { seed: 12, index });
            let (mut clocks, mut done, mut operations) = (Clocks::default(), Done::default(), Vec::new());
            let mut process = 0;
            for _ in 0..100 {
                if rng.one_in(4) {
                    process = rng.below(3) as usize;
                }
                operations.push(operation(rng.below(4) as u32));
                let decisions = if rng.one_in(8) { 0..2 } else { 0..1 };
                clocks.push(process, &Clock::default(), 0..0, 0, decisions);
                done.push(&clocks, operations[operations.len() - 1], 0);
                while rng.one_in(4) && clocks.pop().is_some() {
                    done.pop();
                    operations.pop();
                }
                let wanted = operation(rng.below(4) as u32);
                assert_eq!(done.starts(wanted), walk(&clocks, &operations, wanted), "run {index}");
                found += done.starts(wanted).len();
            }
        }
        assert!(found > 10_000, "{found}");
    }
}
