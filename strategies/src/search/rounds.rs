//! Rounds of steps that can be repeated for ever, in the graph of all states of a program.
//!
//! A *round* is a sequence of steps that leads from a state back to it. [`RoundKind`] defines the rounds that are
//! defects. They are strongly connected components of a part of the graph: whoever goes round all states of a component
//! for ever executes a round, and each round lies within a component.
//!
//! Fairness is strong: who is enabled somewhere in a round must step in it. A component in which somebody is enabled
//! who makes no step in it contains no fair round through a state in which he is enabled. These states are taken away,
//! and what is left is divided into components again, until nothing changes (Lichtenstein and Pnueli, POPL 1985, for
//! strong fairness; Baier and Katoen, Principles of Model Checking, section 6.5.3). Each pass settles at least one
//! worker of each component that it changes, so there are no more passes than workers.
//!
//! What is no part of a round is left out of the graph before: see [`System::may_repeat`], and steps for which a value
//! is chosen. A program leaves a round in which a value is chosen as soon as another one is, and the fairness of values
//! is no matter of the scheduler.
//!
//! One round of each component is reported: one in which the workers take turns if there is such a round, since
//! samplers find the same one, and a short one otherwise.

use super::components::{NONE, components};
use crate::system::{Expected, Status, System};
use crate::{OpKind, Pick, WorkerId, WorkerState};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The kind of a round that can be repeated for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoundKind {
    /// Every worker that is enabled somewhere in the round steps in it.
    Together,
    /// All but one do, which is enabled somewhere in the round, blocked elsewhere in it, and never steps.
    Without,
    /// One worker steps, without giving way to another one that is enabled.
    Alone,
}

/// The kinds of rounds that are searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// See [`RoundKind::Together`].
    pub together: bool,
    /// See [`RoundKind::Without`].
    pub without: bool,
    /// See [`RoundKind::Alone`].
    pub alone: bool,
}

impl Wanted {
    /// Whether any kind is searched for.
    pub fn any(self) -> bool {
        self.together || self.without || self.alone
    }
}

/// A round that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// What is wrong with it.
    pub kind: RoundKind,
    /// The worker that is overtaken ([`RoundKind::Without`]), or the one that steps ([`RoundKind::Alone`]).
    pub of: Option<WorkerId>,
    /// What is expected in all of its states and never met in it, if that is the defect: see [`Expected::id`].
    pub expected: Option<u64>,
    /// The workers that step, in order.
    pub steps: Vec<WorkerId>,
}

/// What matters to rounds about a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facts {
    /// The enabled workers, ascending.
    enabled: Vec<u32>,
    /// What must eventually happen, and whether the program waits for it in this state.
    expected: Vec<(u64, bool)>,
}

impl Facts {
    /// The facts about the present state; `None` if it is no part of a round.
    pub fn of<S: System>(system: &S) -> Option<Facts> {
        if system.status() != Status::Ready || !system.may_repeat() {
            return None;
        }
        let workers = system.view().workers.iter().enumerate();
        let enabled = workers.filter(|(_, worker)| worker.state == WorkerState::Enabled);
        let expected = system.expected();
        Some(Facts {
            enabled: enabled.map(|(id, _)| id as u32).collect(),
            expected: expected.iter().map(|expected| (expected.id, expected.waits)).collect(),
        })
    }

    fn enables(&self, worker: u32) -> bool {
        self.enabled.contains(&worker)
    }

    fn expects(&self, id: u64) -> bool {
        self.expected.iter().any(|(expected, _)| *expected == id)
    }

    fn waits_for(&self, id: u64) -> bool {
        self.expected.contains(&(id, true))
    }
}

/// What matters to rounds about a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    worker: u32,
    /// Whether the worker lets others go first.
    gives_way: bool,
    /// What was expected and has happened, even if the program expects it again.
    met: Vec<u64>,
}

/// A step that is about to be executed.
#[derive(Debug)]
pub struct Begun {
    label: Label,
    expected: Vec<Expected>,
}

impl Begun {
    /// A pick in the present state; `None` if it is no part of a round.
    pub fn of<S: System>(system: &S, pick: Pick) -> Option<Begun> {
        let Pick::Step(worker) = pick else { return None };
        let kind = system.view().workers[worker.index()].operation.kind;
        let gives_way = matches!(kind, OpKind::Yield | OpKind::Sleep);
        let label = Label { worker: worker.0, gives_way, met: Vec::new() };
        Some(Begun { label, expected: system.expected() })
    }

    /// The step, when it was executed.
    pub fn ended<S: System>(self, system: &S) -> Label {
        let after = system.expected();
        let is_left = |before: &Expected| after.iter().any(|a| (a.id, a.since) == (before.id, before.since));
        let met = self.expected.iter().filter(|before| !is_left(before));
        Label { met: met.map(|expected| expected.id).collect(), ..self.label }
    }
}

/// Different values, each with a number.
#[derive(Debug)]
struct Table<T> {
    numbers: BTreeMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { numbers: BTreeMap::new(), values: Vec::new() }
    }
}

impl<T: Ord + Clone> Table<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// What a graph keeps to find rounds: 4 bytes for each state and 4 for each edge.
#[derive(Debug, Default)]
pub struct Kept {
    wanted: Wanted,
    facts: Table<Facts>,
    labels: Table<Label>,
    /// By state; `NONE` for those that are no part of a round.
    of_state: Vec<u32>,
    /// By edge.
    of_edge: Vec<u32>,
}

impl Kept {
    /// Nothing, for these rounds.
    pub fn new(wanted: Wanted) -> Kept {
        Kept { wanted, ..Kept::default() }
    }

    /// Adds a state.
    pub fn state(&mut self, state: u32, facts: Facts) {
        let state = state as usize;
        if self.of_state.len() <= state {
            self.of_state.resize(state + 1, NONE);
        }
        self.of_state[state] = self.facts.number(facts);
    }

    /// The number of a step; `NONE` for what is no part of a round.
    pub fn label(&mut self, label: Option<Label>) -> u32 {
        label.map_or(NONE, |label| self.labels.number(label))
    }

    /// The number of the last edge's step.
    pub fn last(&self) -> Option<u32> {
        self.of_edge.last().copied()
    }

    /// Adds the step of the next edge.
    pub fn edge(&mut self, number: u32) {
        self.of_edge.push(number);
    }
}

/// A step within a component: the state that it leads from, its label, and where it leads.
type Step = (u32, u32, u32);

/// Maximum number of rounds that are reported for one kind, worker and expectation; the nearest first.
const ROUNDS_MAX: usize = 64;

/// Within how many steps workers that take turns must come to a state again, and from how many states of a component
/// they are let take turns.
const TURNS_MAX: usize = 512;
const STARTS_MAX: usize = 64;

/// What is searched for.
#[derive(Clone, Copy, Debug)]
struct Query {
    kind: RoundKind,
    of: Option<u32>,
    /// What is expected in each state of the round, and waited for in some.
    expected: Option<u64>,
}

/// The part of the graph of which rounds can consist.
pub struct Finder<'a> {
    kept: &'a Kept,
    /// Whether a state may be in a round.
    allowed: &'a dyn Fn(u32) -> bool,
    /// All states, the nearest first, and the place of each there.
    order: &'a [u32],
    places: Vec<u32>,
    /// Where the edges of each state begin.
    starts: Vec<u32>,
    /// Label and end of each edge.
    edges: Vec<(u32, u32)>,
    /// Number of workers.
    workers: usize,
}

impl Finder<'_> {
    /// Prepares the search in a graph with these edges, for each of which `kept` has a step.
    pub fn new<'a>(
        kept: &'a Kept,
        edges: &[(u32, u32)],
        order: &'a [u32],
        states: usize,
        allowed: &'a dyn Fn(u32) -> bool,
    ) -> Finder<'a> {
        let labelled = || edges.iter().zip(&kept.of_edge).filter(|(_, label)| **label != NONE);
        let mut starts = vec![0; states + 1];
        labelled().for_each(|((from, _), _)| starts[*from as usize + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let (mut next, mut all) = (starts.clone(), vec![(0, 0); starts[states] as usize]);
        for ((from, to), label) in labelled() {
            all[next[*from as usize] as usize] = (*label, *to);
            next[*from as usize] += 1;
        }
        let mut places = vec![NONE; states];
        order.iter().enumerate().for_each(|(place, state)| places[*state as usize] = place as u32);
        let enabled = kept.facts.values.iter().flat_map(|facts| facts.enabled.last());
        let workers = enabled.map(|worker| *worker as usize + 1).max().unwrap_or(0);
        Finder { kept, allowed, order, places, starts, edges: all, workers }
    }

    /// The rounds, each with the state that it begins in: the nearest one.
    pub fn rounds(&self) -> Vec<(u32, Round)> {
        let wanted = self.kept.wanted;
        let mut rounds = Vec::new();
        if wanted.together {
            rounds.extend(self.together());
        }
        let workers = 0..self.workers as u32;
        for (kind, on) in [(RoundKind::Without, wanted.without), (RoundKind::Alone, wanted.alone)] {
            for worker in workers.clone().filter(|_| on) {
                let query = Query { kind, of: Some(worker), expected: None };
                rounds.extend(self.answer(query).1);
            }
        }
        rounds
    }

    /// Rounds of all. If something is expected for ever in a component, no other round of it is reported.
    fn together(&self) -> Vec<(u32, Round)> {
        let ids: BTreeSet<u64> =
            self.kept.facts.values.iter().flat_map(|facts| &facts.expected).map(|(id, _)| *id).collect();
        let mut rounds = Vec::new();
        let mut reported = BTreeSet::new();
        let query = Query { kind: RoundKind::Together, of: None, expected: None };
        for expected in ids {
            let (part, hot) = self.answer(Query { expected: Some(expected), ..query });
            reported.extend((0..part.len() as u32).filter(|state| part[*state as usize] != NONE));
            rounds.extend(hot);
        }
        let (part, plain) = self.answer(query);
        let said: BTreeSet<u32> = reported.into_iter().map(|state| part[state as usize]).collect();
        rounds.extend(plain.into_iter().filter(|(state, _)| !said.contains(&part[*state as usize])));
        rounds
    }

    fn facts(&self, state: u32) -> Option<&Facts> {
        let number = self.kept.of_state.get(state as usize).copied().unwrap_or(NONE);
        self.kept.facts.values.get(number as usize).filter(|_| (self.allowed)(state))
    }

    fn label(&self, label: u32) -> &Label {
        &self.kept.labels.values[label as usize]
    }

    fn edge(&self, state: u32, at: usize) -> Option<(u32, u32)> {
        let (start, end) = (self.starts[state as usize], self.starts[state as usize + 1]);
        self.edges[start as usize..end as usize].get(at).copied()
    }

    /// The components in which there are such rounds, and a round of each.
    fn answer(&self, query: Query) -> (Vec<u32>, Vec<(u32, Round)>) {
        let (mut part, count) = self.fair(query);
        let mut members = vec![Vec::new(); count as usize];
        for state in self.order.iter().filter(|state| part[**state as usize] != NONE) {
            members[part[*state as usize] as usize].push(*state);
        }
        let mut rounds = Vec::new();
        // By their nearest states.
        members.sort_by_key(|members| self.places[members[0] as usize]);
        for members in members {
            if !self.fulfils(query, members.iter().copied()) {
                members.iter().for_each(|state| part[*state as usize] = NONE);
            } else if rounds.len() < ROUNDS_MAX {
                let turns =
                    || members.iter().take(STARTS_MAX).find_map(|start| self.turns(query, &part, *start));
                let steps = turns().unwrap_or_else(|| self.tour(query, &part, members[0]));
                rounds.push(self.round(query, steps));
            }
        }
        (part, rounds)
    }

    /// Begins a round at its nearest state.
    fn round(&self, query: Query, mut steps: Vec<Step>) -> (u32, Round) {
        let nearest = (0..steps.len()).min_by_key(|at| self.places[steps[*at].0 as usize]).unwrap_or(0);
        steps.rotate_left(nearest);
        let workers = steps.iter().map(|step| WorkerId(self.label(step.1).worker)).collect();
        (
            steps[0].0,
            Round { kind: query.kind, of: query.of.map(WorkerId), expected: query.expected, steps: workers },
        )
    }

    fn has_edge(&self, query: Query, label: u32) -> bool {
        let label = self.label(label);
        query.expected.is_none_or(|id| !label.met.contains(&id))
            && match query.kind {
                RoundKind::Together => true,
                RoundKind::Without => Some(label.worker) != query.of,
                RoundKind::Alone => Some(label.worker) == query.of && !label.gives_way,
            }
    }

    /// The components whose workers all step that must, as numbers of states, and their number.
    fn fair(&self, query: Query) -> (Vec<u32>, u32) {
        let has = |state: u32| {
            let facts = self.facts(state);
            facts.is_some_and(|facts| query.expected.is_none_or(|id| facts.expects(id)))
        };
        let states = self.starts.len() as u32 - 1;
        let mut part: Vec<u32> = (0..states).map(|state| if has(state) { 0 } else { NONE }).collect();
        let next = |state, at| self.edge(state, at).map(|(label, to)| (to, self.has_edge(query, label)));
        loop {
            let (found, count) = components(&part, &next);
            part = found;
            if query.kind == RoundKind::Alone || !self.take_away(query, &mut part, count) {
                return (part, count);
            }
        }
    }

    /// Takes away the states in which somebody is enabled who makes no step in their component. Returns whether there
    /// were any.
    fn take_away(&self, query: Query, part: &mut [u32], count: u32) -> bool {
        let mut steps = vec![false; count as usize * self.workers];
        let at = |component: u32, worker: u32| component as usize * self.workers + worker as usize;
        for state in (0..part.len() as u32).filter(|state| part[*state as usize] != NONE) {
            let component = part[state as usize];
            for (label, to) in (0..).map_while(|at| self.edge(state, at)) {
                if part[to as usize] == component && self.has_edge(query, label) {
                    steps[at(component, self.label(label).worker)] = true;
                }
            }
        }
        let mut any = false;
        for state in (0..part.len() as u32).filter(|state| part[*state as usize] != NONE).collect::<Vec<_>>()
        {
            let component = part[state as usize];
            let enabled = self.facts(state).map_or(&[][..], |facts| &facts.enabled);
            if enabled.iter().any(|worker| Some(*worker) != query.of && !steps[at(component, *worker)]) {
                part[state as usize] = NONE;
                any = true;
            }
        }
        any
    }

    /// Whether these states contain what a round needs besides the steps.
    fn fulfils(&self, query: Query, mut states: impl Iterator<Item = u32> + Clone) -> bool {
        self.needs(query).into_iter().all(|need| states.clone().any(|state| self.is(need, query, state)))
            && states.next().is_some()
    }

    fn needs(&self, query: Query) -> Vec<Need> {
        match query.kind {
            RoundKind::Together => query.expected.map(|_| Need::Hot).into_iter().collect(),
            RoundKind::Without => vec![Need::Enabled, Need::Blocked],
            RoundKind::Alone => vec![Need::Other],
        }
    }

    fn is(&self, need: Need, query: Query, state: u32) -> bool {
        let Some(facts) = self.facts(state) else { return false };
        let enables = query.of.is_some_and(|worker| facts.enables(worker));
        match need {
            Need::Hot => query.expected.is_some_and(|id| facts.waits_for(id)),
            Need::Enabled => enables,
            Need::Blocked => !enables,
            Need::Other => facts.enabled.iter().any(|worker| Some(*worker) != query.of),
        }
    }

    /// Who must still step in a round of these steps.
    fn idle(&self, query: Query, steps: &[Step]) -> BTreeSet<u32> {
        if query.kind == RoundKind::Alone {
            return BTreeSet::new();
        }
        let enabled = steps.iter().flat_map(|step| self.facts(step.0)).flat_map(|facts| &facts.enabled);
        let mut idle: BTreeSet<u32> = enabled.copied().filter(|worker| Some(*worker) != query.of).collect();
        steps.iter().for_each(|step| _ = idle.remove(&self.label(step.1).worker));
        idle
    }

    /// The round from a state in which the workers take turns, if it stays in the component.
    fn turns(&self, query: Query, part: &[u32], start: u32) -> Option<Vec<Step>> {
        let (mut seen, mut steps, mut last) = (BTreeMap::new(), Vec::new(), None::<u32>);
        let mut state = start;
        while steps.len() <= TURNS_MAX {
            if let Some(at) = seen.insert((state, last), steps.len()) {
                let round = steps.split_off(at);
                let holds = self.idle(query, &round).is_empty()
                    && self.fulfils(query, round.iter().map(|step: &Step| step.0));
                return holds.then_some(round);
            }
            let edges = (0..).map_while(|at| self.edge(state, at));
            let edges = edges.filter(|(label, _)| self.has_edge(query, *label));
            let by_worker: BTreeMap<u32, (u32, u32)> =
                edges.map(|edge| (self.label(edge.0).worker, edge)).collect();
            let later = by_worker.iter().find(|(worker, _)| last.is_none_or(|last| **worker > last));
            let (worker, (label, to)) = later.or(by_worker.first_key_value())?;
            if part[*to as usize] != part[start as usize] {
                return None;
            }
            steps.push((state, *label, *to));
            (last, state) = (Some(*worker), *to);
        }
        None
    }

    /// A round through a state of a component: the nearest state or step that the round still needs comes next, until
    /// it needs nothing more.
    fn tour(&self, query: Query, part: &[u32], start: u32) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let mut state = start;
        loop {
            let idle = self.idle(query, &steps);
            let is_there = |need: &Need| steps.iter().any(|step| self.is(*need, query, step.0));
            let needs: Vec<Need> = self.needs(query).into_iter().filter(|need| !is_there(need)).collect();
            let is_complete = idle.is_empty() && needs.is_empty();
            if is_complete && state == start && !steps.is_empty() {
                return steps;
            }
            let ends = |(from, label, to): Step| match is_complete {
                true => to == start,
                false => {
                    idle.contains(&self.label(label).worker)
                        || needs.iter().any(|need| self.is(*need, query, from))
                }
            };
            let more = self.nearest(query, part, state, &ends);
            state = more.last().expect("a component has what its rounds need").2;
            steps.extend(more);
        }
    }

    /// The shortest way through the component whose last step is such a step.
    fn nearest(&self, query: Query, part: &[u32], from: u32, ends: &dyn Fn(Step) -> bool) -> Vec<Step> {
        let mut before: BTreeMap<u32, Step> = BTreeMap::new();
        let mut open = VecDeque::from([from]);
        while let Some(state) = open.pop_front() {
            for (label, to) in (0..).map_while(|at| self.edge(state, at)) {
                if part[to as usize] != part[from as usize] || !self.has_edge(query, label) {
                    continue;
                }
                let step = (state, label, to);
                if ends(step) {
                    let mut way = vec![step];
                    while way[way.len() - 1].0 != from {
                        way.push(before[&way[way.len() - 1].0]);
                    }
                    way.reverse();
                    return way;
                }
                if to != from && !before.contains_key(&to) {
                    before.insert(to, step);
                    open.push_back(to);
                }
            }
        }
        Vec::new()
    }
}

/// What some state of a round must be.
#[derive(Clone, Copy, Debug)]
enum Need {
    /// What is expected is waited for.
    Hot,
    /// The worker that never steps is enabled.
    Enabled,
    /// It is not enabled.
    Blocked,
    /// Another worker than the only one that steps is enabled.
    Other,
}
