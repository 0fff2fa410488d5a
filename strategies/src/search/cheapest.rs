//! The executions of a program in the order of how hard they are to read: fewest preemptions first, then
//! fewest switches, then smallest values.
//!
//! Uniform-cost search (Dijkstra 1959) over states: a state that was reached at no higher a price, with the
//! same worker running, need not be explored again. So the first execution with some property is one of the
//! cheapest that have it, and once all executions of a price are done, it is known that none of that price
//! has the property. Which of the cheapest ones is found first depends only on the program: lower workers are
//! tried first.

use super::bounding::{Cost, Last};
use crate::system::{Decision, Status, System, decide};
use crate::{Operation, Pick};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The cost of an execution, the worst part first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price {
    /// How often the running worker was left although it was enabled.
    pub preemptions: u64,
    /// How often another worker continued or a timeout fired, including preemptions.
    pub switches: u64,
    /// The sum of the values chosen.
    pub values: u64,
}

/// Result of [`Cheapest::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The next cheapest execution ended with this status; [`Cheapest::path`] leads to it.
    Ended(Status, Price),
    /// The allowance of steps or of states is used up.
    Stopped,
    /// No execution within the bound is left.
    Exhausted,
}

/// A decision that is still to be tried.
struct Left<T> {
    state: Arc<T>,
    /// The index in [`Cheapest::decisions`] of the last decision that leads to that state.
    end: Option<usize>,
    /// The last pick and step before the decision.
    last: Last,
    decision: Decision,
}

/// Before which operations an enabled worker may be left.
pub type Leaves = Box<dyn Fn(&Operation) -> bool + Send>;

/// The search: see the module's documentation. The system must be able to save its state.
pub struct Cheapest<S: System> {
    max: Price,
    leaves: Option<Leaves>,
    left: BTreeMap<Price, VecDeque<Left<S::Snapshot>>>,
    states_left: usize,
    seen: BTreeSet<(u128, Last)>,
    /// Decisions, each with the index of the one before it.
    decisions: Vec<(Option<usize>, Decision)>,
    path: Vec<Decision>,
    begun: bool,
    steps: u64,
    /// How many executions ended or reached a state that was seen, by their cost.
    tried: BTreeMap<Price, u64>,
    /// The lowest price from which on executions were left out: because the system cut one off, or because a
    /// value is too large.
    unfinished: Option<Price>,
}

/// After this many steps in a row, a state is compared even if nothing is to be tried there.
const COMPARE_STEPS: u64 = 64;

/// Larger values are not tried.
const VALUES_MAX: u64 = 256;

impl<S: System> Cheapest<S> {
    /// A search for all executions that cost at most `max`.
    pub fn new(max: Price) -> Cheapest<S> {
        Cheapest {
            max,
            leaves: None,
            left: BTreeMap::new(),
            states_left: 0,
            seen: BTreeSet::new(),
            decisions: Vec::new(),
            path: Vec::new(),
            begun: false,
            steps: 0,
            tried: BTreeMap::new(),
            unfinished: None,
        }
    }

    /// Leaves an enabled worker only before these operations, instead of before every one. Then nothing is
    /// known about executions that were not tried.
    pub fn leaving_only_before(self, leaves: Leaves) -> Cheapest<S> {
        Cheapest { leaves: Some(leaves), ..self }
    }

    /// Steps executed so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The decisions that lead from the start to the execution that ended last.
    pub fn path(&self) -> &[Decision] {
        &self.path
    }

    /// The lowest cost of an execution that is left to try; `None` if nothing is left.
    pub fn next_price(&self) -> Option<Price> {
        self.left.keys().next().copied()
    }

    /// How many executions with a lower cost were tried; equal states count as one execution each time they
    /// are reached. `None` if some were not tried. The number may depend on the bound of the search: a state
    /// whose alternatives exceed the bound is not compared, and the execution continues to an end that costs
    /// more.
    pub fn tried_below(&self, price: Price) -> Option<u64> {
        self.all_below(price).then(|| self.tried.range(..price).map(|(_, tried)| tried).sum())
    }

    /// Whether all executions with a lower cost were tried.
    fn all_below(&self, price: Price) -> bool {
        let next = self.next_price().into_iter().chain(self.unfinished).min();
        self.begun && self.leaves.is_none() && price <= self.max && next.is_none_or(|next| next >= price)
    }

    /// Continues until an execution ends. `steps_max` and `states_max` bound the steps executed and the
    /// states kept in all; beyond them the search is given up. The system is left where the execution ended.
    pub fn advance(&mut self, system: &mut S, steps_max: u64, states_max: usize) -> Reached {
        if !std::mem::replace(&mut self.begun, true) {
            system.restart();
            if let Some(ended) = self.go_on(system, None, Last::default(), Price::default()) {
                return ended;
            }
        }
        loop {
            if self.left.is_empty() {
                return Reached::Exhausted;
            }
            if self.steps > steps_max || self.states_left > states_max {
                return Reached::Stopped;
            }
            let (price, left) = self.pop().expect("something is left");
            system.restore(&left.state);
            let end = self.make(system, left.end, left.decision);
            let last = match left.decision {
                Decision::Pick(pick) => left.last.then(pick),
                Decision::Value(_) => left.last,
            };
            if let Some(ended) = self.go_on(system, Some(end), last, price) {
                return ended;
            }
        }
    }

    fn pop(&mut self) -> Option<(Price, Left<S::Snapshot>)> {
        let mut entry = self.left.first_entry()?;
        let price = *entry.key();
        let left = entry.get_mut().pop_front();
        if entry.get().is_empty() {
            entry.remove();
        }
        self.states_left -= 1;
        left.map(|left| (price, left))
    }

    fn make(&mut self, system: &mut S, end: Option<usize>, decision: Decision) -> usize {
        self.steps += u64::from(matches!(decision, Decision::Pick(_)));
        decide(system, decision);
        self.decisions.push((end, decision));
        self.decisions.len() - 1
    }

    /// Continues with decisions that cost nothing, and stores those that cost more.
    fn go_on(
        &mut self,
        system: &mut S,
        mut end: Option<usize>,
        mut last: Last,
        price: Price,
    ) -> Option<Reached> {
        let mut since = 0;
        loop {
            let status = system.status();
            if status.is_final() {
                self.count(price);
                self.set_path(end);
                let cut_off = matches!(status, Status::Abandoned | Status::Unfinished);
                if cut_off && system.view().choices() > 0 {
                    self.leave_out(price);
                }
                return Some(Reached::Ended(status, price));
            }
            let (free, others) = self.alternatives(system, last, price);
            since += 1;
            if (!others.is_empty() || since % COMPARE_STEPS == 0)
                && !self.seen.insert((system.fingerprint(), last))
            {
                self.count(price);
                return None;
            }
            self.store(system, end, last, others);
            let decision = free?;
            end = Some(self.make(system, end, decision));
            if let Decision::Pick(pick) = decision {
                last = last.then(pick);
            }
        }
    }

    /// A decision that costs nothing more, and the others with their prices, if these are within the bound.
    fn alternatives(
        &mut self,
        system: &S,
        last: Last,
        price: Price,
    ) -> (Option<Decision>, Vec<(Price, Decision)>) {
        if let Status::Choosing { bound } = system.status() {
            let most = match (price.preemptions, price.switches) {
                spent if spent == (self.max.preemptions, self.max.switches) => {
                    self.max.values.saturating_sub(price.values)
                }
                _ => u64::MAX,
            };
            let with = |value| Price { values: price.values + value, ..price };
            if bound > VALUES_MAX && VALUES_MAX <= most {
                self.leave_out(with(VALUES_MAX));
            }
            let others = (1..bound.min(VALUES_MAX)).take_while(|value| *value <= most);
            let others = others.map(|value| (with(value), Decision::Value(value))).collect();
            return (Some(Decision::Value(0)), others);
        }
        let view = system.view();
        let (mut free, mut others) = (None, Vec::new());
        if let (Some(Pick::Step(worker)), Some(leaves)) = (last.pick, &self.leaves)
            && view.can_step(worker)
            && !leaves(&view.workers[worker.index()].operation)
        {
            return (Some(Decision::Pick(Pick::Step(worker))), others);
        }
        for pick in view.picks() {
            if last.pick == Some(pick) || last.pick.is_none() && free.is_none() {
                free = Some(Decision::Pick(pick));
                continue;
            }
            let preemptions = price.preemptions + u64::from(Cost::Preemptions.of(pick, last.running, &view));
            let switches = price.switches + u64::from(last.switches_to(pick));
            let price = Price { preemptions, switches, ..price };
            if price <= self.max {
                others.push((price, Decision::Pick(pick)));
            }
        }
        (free, others)
    }

    fn store(&mut self, system: &mut S, end: Option<usize>, last: Last, others: Vec<(Price, Decision)>) {
        if others.is_empty() {
            return;
        }
        let state = Arc::new(system.snapshot());
        for (price, decision) in others {
            let left = Left { state: state.clone(), end, last, decision };
            self.left.entry(price).or_default().push_back(left);
            self.states_left += 1;
        }
    }

    /// Records that executions from this price on were left out.
    fn leave_out(&mut self, price: Price) {
        self.unfinished = Some(self.unfinished.map_or(price, |least| least.min(price)));
    }

    fn count(&mut self, price: Price) {
        *self.tried.entry(price).or_default() += 1;
    }

    fn set_path(&mut self, mut end: Option<usize>) {
        self.path.clear();
        while let Some(at) = end {
            let (before, decision) = self.decisions[at];
            self.path.push(decision);
            end = before;
        }
        self.path.reverse();
    }
}
