//! Depth-first search: every execution, or every one within a bound, the cheapest first.
//!
//! Under a bound ([`Cost`]) the search goes by levels, as iterative context bounding does: all executions of
//! cost 0, then those of cost 1, and so on. A pick that is too expensive for a level is stored with the path
//! to it, and the search continues there at the pick's level: nothing is explored twice.
//!
//! With a cache ([`Caching`]) a path ends at a known state. A state that is reached at a level was not
//! reached at a lower one, so a known state need not be explored again, provided that the same worker
//! executed the last step, because costs depend on that. The searches of one exploration share what was seen
//! ([`super::seen`]); under a bound, a search with a cache does not give work away, since another one could reach
//! a state at a higher level first. [`Search::save`] does not store the cache: a search that continues from there may
//! see and count states again, unless it is passed what was visited ([`super::visited`]).
//!
//! A search that has no bound, compares states and began at the start keeps the graph of states. Once the
//! graph is complete, the search that finished last reports the livelocks, and rounds if they are wanted: `endless`.

mod endless;

use super::bounding::{self, Cost};
use super::caching::{Cache, Caching};
use super::prefix::Prefixes;
use super::rounds::{Begun, Facts, Label, Round};
use super::stored::{check_branch, check_decision, misfit};
use super::{Advance, Branch, Counts, Item, Prefix, Search, Shared, estimate};
use crate::system::{Access, Decision, Status, System, decide};
use crate::{Pick, View, WorkerId, mix};
use std::collections::BTreeMap;
use std::ops::Range;

/// A state of the path.
#[derive(Debug)]
struct Node<T> {
    snapshot: Option<T>,
    /// The worker that executed the last step.
    last: Option<WorkerId>,
    /// The cost of the path to here.
    spent: u32,
    /// Range in [`Dfs::picks`] of the picks still to be tried.
    todo: Range<usize>,
    /// Where its picks begin in [`Dfs::picks`].
    picks: usize,
    /// Values still to be tried.
    values: Range<u64>,
    /// How many steps before it are in the cache.
    steps: usize,
    /// Its number, if states are compared.
    state: u32,
    /// The footprint of the present step before it asked for a value.
    partial: Vec<Access>,
    /// The number of executions below completed alternatives, and the number of these alternatives.
    found: u64,
    done: u64,
}

impl<T> Node<T> {
    fn left(&self) -> u64 {
        self.todo.len() as u64 + (self.values.end - self.values.start)
    }
}

/// The search: see the module's documentation. Between two calls of [`Search::advance`] the last node of the
/// path, the only one without a decision, has something left to try.
pub struct Dfs<S: System> {
    name: String,
    cost: Cost,
    max: Option<u32>,
    /// Remaining items, by the least cost of their executions.
    levels: BTreeMap<u32, Vec<Item>>,
    level: u32,
    path: Vec<Decision>,
    /// Prefixes of the path, for stored items.
    prefixes: Prefixes,
    nodes: Vec<Node<S::Snapshot>>,
    picks: Vec<Pick>,
    /// Whether the system is in the state of the last node.
    here: bool,
    cache: Cache,
    /// See [`Shared::turn`].
    turn: u64,
    /// Whether this is a whole exploration whose graph of states is to be kept.
    complete: bool,
    /// Whether the search keeps that graph, alone or with others.
    graph: bool,
    /// Whether rounds are looked for in it, and the last step if it can be part of one.
    rounds: bool,
    label: Option<Label>,
    /// The round that was found last.
    round: Option<Round>,
    /// The number of the last state.
    state: u32,
    /// The footprint of the present step before its state was restored.
    partial: Vec<Access>,
    /// Whether the system cut off an execution that could have continued.
    cut_off: bool,
    counts: Counts,
    /// Number of completed items.
    finished: u64,
    error: Option<String>,
}

/// The result of a decision.
#[derive(Clone, Copy)]
enum Arrival {
    /// A state to continue from.
    Open,
    /// A state that is explored elsewhere.
    Known,
    Ended(Status),
}

/// What remains to be tried at a state.
#[derive(Clone, Copy)]
enum Left<'a> {
    All,
    Some(&'a Branch),
    Nothing,
}

impl<S: System> Dfs<S> {
    /// A search for executions that cost at most `max`, if it is given; with items, only for those that they
    /// describe.
    pub fn new(cost: Cost, max: Option<u32>, caching: Caching, items: Option<Vec<Item>>) -> Dfs<S> {
        let whole = items.as_ref().is_none_or(|items| items[..] == [Item::default()]);
        let complete = whole && cost == Cost::Nothing && max.is_none() && caching == Caching::States;
        let mut levels = BTreeMap::<u32, Vec<Item>>::new();
        for item in items.unwrap_or_else(|| vec![Item::default()]) {
            levels.entry(item.level()).or_default().push(item);
        }
        Dfs {
            name: bounding::name_of(cost, max, caching),
            cost,
            max,
            levels,
            level: 0,
            path: Vec::new(),
            prefixes: Prefixes::default(),
            nodes: Vec::new(),
            picks: Vec::new(),
            here: false,
            cache: Cache::new(caching),
            turn: 0,
            complete,
            graph: false,
            rounds: false,
            label: None,
            round: None,
            state: 0,
            partial: Vec::new(),
            cut_off: false,
            counts: Counts::default(),
            finished: 0,
            error: None,
        }
    }

    /// The cheapest of all items.
    fn pop(&mut self) -> Option<Item> {
        let mut level = self.levels.first_entry()?;
        self.level = *level.key();
        let item = level.get_mut().pop();
        if level.get().is_empty() {
            level.remove();
        }
        item
    }

    /// Goes to the end of an item's prefix. Returns the status of a program that has ended before its first
    /// step, or why the item does not fit the program.
    fn begin(&mut self, system: &mut S, item: &Item) -> Result<Option<Status>, String> {
        self.path.clear();
        self.prefixes = Prefixes::of_item(&item.prefix);
        self.picks.clear();
        self.cache.truncate(0);
        self.partial.clear();
        system.restart();
        self.here = true;
        if self.complete {
            self.cache.seen().keep_graph();
        }
        self.graph = self.cache.seen().keeps_graph();
        self.rounds = self.graph && self.cache.seen().wanted().any();
        let mut branches = item.branches.iter().peekable();
        let mut spent = 0;
        let prefix = item.prefix.to_vec();
        for depth in 0..=prefix.len() {
            let branch = branches.next_if(|branch| branch.depth as usize == depth);
            if let Some(branch) = branch {
                check_branch(system, branch, prefix.get(depth), depth)?;
                if branch.spent != spent {
                    return Err(misfit(
                        depth,
                        &format!("{spent} was spent of the bound, not {}", branch.spent),
                    ));
                }
            }
            match (prefix.get(depth), branch) {
                (Some(decision), branch) => {
                    check_decision(system, *decision, depth)?;
                    if branch.is_some() {
                        self.state = self.cache.number(system).unwrap_or(0);
                    }
                    self.push(system, spent, branch.map_or(Left::Nothing, Left::Some));
                    spent = self.make(system, *decision);
                }
                (None, Some(branch)) => {
                    self.state = self.cache.number(system).unwrap_or(0);
                    self.push(system, spent, Left::Some(branch));
                }
                (None, None) => match self.arrive(system) {
                    Arrival::Open => self.push(system, spent, Left::All),
                    Arrival::Known => self.retract(),
                    Arrival::Ended(status) => return Ok(Some(status)),
                },
            }
        }
        self.settle();
        Ok(None)
    }

    /// Makes a decision in the state of the last node, and returns the cost of the path.
    fn make(&mut self, system: &mut S, decision: Decision) -> u32 {
        let node = self.nodes.last().expect("a node to go on from");
        let spent = match decision {
            Decision::Pick(pick) => node.spent + self.cost.of(pick, node.last, &system.view()),
            Decision::Value(_) => node.spent,
        };
        self.path.truncate(self.nodes.len() - 1);
        self.path.push(decision);
        let begun = match decision {
            Decision::Pick(pick) if self.rounds => Begun::of(system, pick),
            _ => None,
        };
        decide(system, decision);
        self.label = begun.map(|begun| begun.ended(system));
        self.counts.steps += u64::from(matches!(decision, Decision::Pick(_)));
        if !matches!(system.status(), Status::Choosing { .. }) {
            let picked = self.path.iter().rposition(|d| matches!(d, Decision::Pick(_)));
            let step = &self.path[picked.expect("a step begins with a pick")..];
            self.cache.push(system, step, &self.partial);
            self.partial.clear();
        }
        spent
    }

    /// Examines the state that a decision led to.
    fn arrive(&mut self, system: &mut S) -> Arrival {
        let status = system.status();
        self.cut_off |=
            matches!(status, Status::Abandoned | Status::Unfinished) && system.view().choices() > 0;
        let last = if self.cost == Cost::Nothing { None } else { last_worker(&self.path) };
        let (new, state) = self.cache.insert(system, last, self.cut_off);
        self.state = state;
        self.counts.states = self.cache.states();
        if self.graph {
            let before = self.nodes.last().map(|node| node.state);
            let facts = if self.rounds && new { Facts::of(system) } else { None };
            let label = self.label.take();
            self.cache.seen().with_graph(|graph| {
                before.inspect(|before| graph.add(*before, state, label));
                graph.state(state, facts);
                if status.is_final() {
                    // It is not known how an execution that was cut off would continue.
                    graph.ends(state);
                } else if !system.may_livelock() {
                    graph.no_livelock(state);
                }
            });
            if self.cache.cyclic {
                self.cache.seen().note_cyclic();
            }
        } else {
            self.counts.cyclic = self.cache.cyclic;
        }
        if self.cache.caching() == Caching::States {
            self.cache.seen().with_ending(|ending| {
                self.nodes.last().inspect(|before| ending.leads(before.state, state));
                if status.is_final() || !system.may_livelock() {
                    ending.ends(state);
                }
            });
        }
        if !new {
            self.counts.redundant += 1;
            return Arrival::Known;
        }
        if !status.is_final() {
            return Arrival::Open;
        }
        self.counts.ended(status);
        self.cache.ended(state, status);
        if matches!(status, Status::Passed | Status::Bug)
            && let Some(node) = self.nodes.last_mut()
        {
            node.found += 1;
        }
        Arrival::Ended(status)
    }

    /// Adds the present state of the system, with what is to be tried there.
    fn push(&mut self, system: &mut S, spent: u32, left: Left) {
        let start = self.picks.len();
        let mut values = 0..0;
        let mut partial = Vec::new();
        let choosing = matches!(system.status(), Status::Choosing { .. });
        match (left, system.status()) {
            (Left::All, Status::Choosing { bound }) => values = 0..bound,
            (Left::All, _) => {
                self.picks.extend(system.view().picks());
                if self.turn > 0 {
                    let of_state = mix(self.turn) ^ mix(u64::from(self.state));
                    self.picks[start..].sort_by_cached_key(|pick| mix(of_state ^ u64::from(pick.worker().0)));
                }
            }
            (Left::Some(branch), _) => {
                values = branch.values.clone();
                self.picks.extend(branch.todo.iter().filter_map(|decision| match decision {
                    Decision::Pick(pick) => Some(*pick),
                    Decision::Value(_) => None,
                }));
            }
            (Left::Nothing, _) => {}
        }
        if choosing && self.cache.caching() == Caching::Classes {
            partial.extend_from_slice(system.footprint());
        }
        let last = last_worker(&self.path);
        if self.cost != Cost::Nothing {
            self.defer(&system.view(), start, last, spent);
        }
        let node = Node {
            snapshot: None,
            last,
            spent,
            todo: start..self.picks.len(),
            picks: start,
            values,
            steps: self.cache.steps(),
            state: self.state,
            partial,
            found: 0,
            done: 0,
        };
        let returns = node.left() > 1 || !matches!(left, Left::All) && node.left() > 0;
        let snapshot = (returns && system.can_snapshot()).then(|| system.snapshot());
        self.nodes.push(Node { snapshot, ..node });
    }

    /// Stores those of the last picks that are too expensive for this level.
    fn defer(&mut self, view: &View, start: usize, last: Option<WorkerId>, spent: u32) {
        let mut later = BTreeMap::<u32, Vec<Decision>>::new();
        let mut kept = start;
        for i in start..self.picks.len() {
            let pick = self.picks[i];
            let level = spent + self.cost.of(pick, last, view);
            if level > self.level {
                later.entry(level).or_default().push(Decision::Pick(pick));
            } else {
                self.picks[kept] = pick;
                kept += 1;
            }
        }
        self.picks.truncate(kept);
        for (level, todo) in later {
            if self.max.is_some_and(|max| level > max) {
                self.counts.cut = true;
                continue;
            }
            let depth = self.path.len() as u32;
            let branches = vec![Branch { depth, todo, spent, least: level, ..Branch::default() }];
            let prefix = self.prefixes.of(&self.path);
            self.levels.entry(level).or_default().push(Item { prefix, branches, place: None });
        }
    }

    /// Takes the next alternative of the last node.
    fn take(&mut self) -> Option<Decision> {
        let node = self.nodes.last_mut()?;
        if let Some(value) = node.values.next() {
            return Some(Decision::Value(value));
        }
        node.todo.next().map(|i| Decision::Pick(self.picks[i]))
    }

    /// Brings the system to the state of the last node.
    fn go_there(&mut self, system: &mut S) {
        if self.here {
            return;
        }
        let node = self.nodes.last().expect("a node to go to");
        self.cache.truncate(node.steps);
        self.partial.clear();
        match &node.snapshot {
            Some(snapshot) => {
                system.restore(snapshot);
                self.partial.extend_from_slice(&node.partial);
            }
            None => {
                system.restart();
                for decision in &self.path[..self.nodes.len() - 1] {
                    decide(system, *decision);
                    self.counts.steps += u64::from(matches!(decision, Decision::Pick(_)));
                }
            }
        }
        self.here = true;
    }

    /// Counts the last node's decision as explored.
    fn retract(&mut self) {
        self.here = false;
        if let Some(node) = self.nodes.last_mut() {
            node.done += 1;
        }
    }

    /// Removes nodes that have nothing left.
    fn settle(&mut self) {
        while let Some(node) = self.nodes.pop_if(|node| node.left() == 0) {
            self.picks.truncate(node.picks);
            match self.nodes.last_mut() {
                Some(parent) => parent.found += node.found,
                None => {
                    self.finished += 1;
                    self.cache.seen().finish();
                }
            }
            self.retract();
        }
    }

    fn branch(&self, depth: usize, todo: Range<usize>, values: Range<u64>) -> Branch {
        let todo = self.picks[todo].iter().map(|pick| Decision::Pick(*pick)).collect();
        let (depth, spent) = (depth as u32, self.nodes[depth].spent);
        Branch { depth, todo, values, spent, ..Branch::default() }
    }

    /// Gives away the remaining alternatives of the shallowest state that has some, or half of them if it is
    /// the last one.
    fn give_away(&mut self) -> Option<Item> {
        let depth = self.nodes.iter().position(|node| node.left() > 0)?;
        let node = &self.nodes[depth];
        let (mut todo, mut values) = (node.todo.clone(), node.values.clone());
        if depth + 1 == self.nodes.len() {
            if node.left() < 2 {
                return None;
            }
            todo.start += todo.len().div_ceil(2);
            values.start += (values.end - values.start).div_ceil(2);
        }
        let branch = self.branch(depth, todo.clone(), values.clone());
        let node = &mut self.nodes[depth];
        node.todo.end = todo.start;
        node.values.end = values.start;
        Some(Item { prefix: self.prefixes.of(&self.path[..depth]), branches: vec![branch], place: None })
    }
}

/// The worker that executed the last step of a path.
fn last_worker(path: &[Decision]) -> Option<WorkerId> {
    path.iter().rev().find_map(|decision| match decision {
        Decision::Pick(Pick::Step(worker)) => Some(*worker),
        _ => None,
    })
}

impl<S: System> Search<S> for Dfs<S> {
    fn name(&self) -> String {
        self.name.clone()
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
                let Some(item) = self.pop() else { return self.next_endless(system) };
                match self.begin(system, &item) {
                    Ok(Some(status)) => return Advance::Ended(status),
                    Ok(None) => {}
                    Err(error) => {
                        self.nodes.clear();
                        self.counts.cut = true;
                        self.error = Some(error);
                    }
                }
                continue;
            }
            decisions += 1;
            if self.counts.steps >= limit || decisions > steps {
                return Advance::Working;
            }
            self.go_there(system);
            let Some(decision) = self.take() else { unreachable!("the last node has something left") };
            let spent = self.make(system, decision);
            let arrival = self.arrive(system);
            match arrival {
                Arrival::Open => self.push(system, spent, Left::All),
                Arrival::Known | Arrival::Ended(_) => self.retract(),
            }
            self.settle();
            if let Arrival::Ended(status) = arrival {
                return Advance::Ended(status);
            }
        }
    }

    fn path(&self) -> &[Decision] {
        &self.path
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    /// Estimates executions within the bound. `None` with a cache, whose savings are not predictable.
    fn estimate(&self) -> Option<f64> {
        let here: u64 = self.nodes.iter().map(|node| node.found).sum();
        let elsewhere = (self.counts.executions - here) as f64;
        let levels = self.nodes.iter();
        let levels =
            levels.map(|node| estimate::Level { found: node.found, done: node.done, left: node.left() });
        let total = elsewhere + estimate::total(levels);
        let begun = self.finished + u64::from(!self.nodes.is_empty());
        let waiting: usize = self.levels.values().map(Vec::len).sum();
        let known = begun > 0 && self.cache.caching() == Caching::Nothing;
        known.then(|| total + waiting as f64 * total / begun as f64)
    }

    fn share(&mut self, shared: &Shared) {
        self.cache.share(&shared.seen);
        self.turn = shared.turn;
    }

    fn split(&mut self) -> Option<Item> {
        if self.cache.caching() != Caching::Nothing {
            let bounded = self.cost != Cost::Nothing || self.max.is_some();
            let item = if bounded { None } else { self.give_away() };
            item.iter().for_each(|_| self.cache.seen().give());
            return item;
        }
        let waiting: usize = self.levels.values().map(Vec::len).sum();
        self.give_away().or_else(|| {
            if waiting + usize::from(!self.nodes.is_empty()) < 2 {
                return None;
            }
            let mut level = self.levels.last_entry()?;
            let item = level.get_mut().pop();
            if level.get().is_empty() {
                level.remove();
            }
            item
        })
    }

    fn round(&self) -> Option<&Round> {
        self.round.as_ref()
    }

    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    fn save(&self) -> Vec<Item> {
        let mut items = Vec::new();
        self.each_left(&mut |item| items.push(item.clone()));
        items
    }

    fn each_left(&self, each: &mut dyn FnMut(&Item)) {
        self.levels.values().flatten().for_each(&mut *each);
        if !self.nodes.is_empty() {
            let left = self.nodes.iter().enumerate().filter(|(_, node)| node.left() > 0);
            let branches = left.map(|(i, node)| self.branch(i, node.todo.clone(), node.values.clone()));
            let prefix = Prefix::from(&self.path[..self.nodes.len() - 1]);
            each(&Item { prefix, branches: branches.collect(), place: None });
        }
    }
}
