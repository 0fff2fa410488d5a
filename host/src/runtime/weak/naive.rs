//! RC11 by its axioms: checks every choice of the store that each read reads, with every order of stores. Shares
//! nothing with the operational model but the orderings.
//!
//! After Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing sequential consistency in C/C++11" (PLDI 2017), section 3,
//! with C++20's release sequences (`rs = [W];(rf;rmw)*`), and beside it with C++20's order of SC events. For tests.

use coyote_abi::Ordering;
use coyote_strategies::rng::ChoiceRng;
use std::collections::BTreeSet;

/// An instruction of a litmus test. Locations are numbered from 0, and hold 0 at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Load {
        location: usize,
        order: Ordering,
    },
    Store {
        location: usize,
        value: u64,
        order: Ordering,
    },
    /// Adds, and reads the old value.
    Add {
        location: usize,
        value: u64,
        order: Ordering,
    },
    /// Stores if it reads the expected value.
    Exchange {
        location: usize,
        expected: u64,
        value: u64,
        success: Ordering,
        failure: Ordering,
    },
    Fence {
        order: Ordering,
    },
}

pub type Program = Vec<Vec<Op>>;

/// The values that were read, thread by thread, and those that the locations hold in the end.
pub type Outcome = (Vec<Vec<u64>>, Vec<u64>);

/// The outcomes of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Outcomes by the axioms of RC11.
    pub rc11: BTreeSet<Outcome>,
    /// Those of them that C++20 allows.
    pub cpp20: BTreeSet<Outcome>,
    /// Those of them where `po ∪ rf ∪ psc` has no cycle.
    pub ordered: BTreeSet<Outcome>,
    /// Outcomes if all accesses are sequentially consistent, and executed one after the other.
    pub interleaved: BTreeSet<Outcome>,
}

/// An event of an execution graph.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// `None` for an initialisation.
    op: Option<Op>,
    thread: usize,
    location: Option<usize>,
    reads: bool,
    writes: bool,
    order: Ordering,
    value_read: u64,
    value_written: u64,
}

/// A relation among at most 32 events: for each event, the set of those that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Relation(Vec<u32>);

impl Relation {
    fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let row = |a: usize| (0..size).filter(|b| holds(a, *b)).fold(0, |row, b| row | 1 << b);
        Relation((0..size).map(row).collect())
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 == 1
    }

    fn or(&self, other: &Relation) -> Relation {
        Relation(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    fn then(&self, other: &Relation) -> Relation {
        let row =
            |own: &u32| (0..self.0.len()).filter(|b| own >> b & 1 == 1).fold(0, |row, b| row | other.0[b]);
        Relation(self.0.iter().map(row).collect())
    }

    fn reflexive(&self) -> Relation {
        Relation(self.0.iter().enumerate().map(|(a, row)| row | 1 << a).collect())
    }

    fn inverse(&self) -> Relation {
        Relation::of(self.0.len(), |a, b| self.has(b, a))
    }

    fn closure(&self) -> Relation {
        let mut all = self.clone();
        loop {
            let next = all.or(&all.then(&all));
            if next == all {
                return all;
            }
            all = next;
        }
    }

    fn irreflexive(&self) -> bool {
        (0..self.0.len()).all(|a| !self.has(a, a))
    }

    fn acyclic(&self) -> bool {
        self.closure().irreflexive()
    }
}

/// All outcomes of a program.
pub fn outcomes(program: &Program) -> Outcomes {
    let locations = locations(program);
    let mut ops: Vec<(Option<Op>, usize, Option<usize>)> =
        (0..locations).map(|location| (None, usize::MAX, Some(location))).collect();
    for (thread, list) in program.iter().enumerate() {
        ops.extend(list.iter().map(|op| (Some(*op), thread, location_of(op))));
    }
    let mut outcomes = Outcomes::default();
    let mut sources = vec![None; ops.len()];
    choose_sources(&ops, 0, &mut sources, &mut |sources| with_sources(&ops, sources, program, &mut outcomes));
    outcomes
}

/// Number of locations of a program.
pub fn locations(program: &Program) -> usize {
    program.iter().flatten().filter_map(location_of).max().map_or(0, |last| last + 1)
}

fn location_of(op: &Op) -> Option<usize> {
    match *op {
        Op::Load { location, .. }
        | Op::Store { location, .. }
        | Op::Add { location, .. }
        | Op::Exchange { location, .. } => Some(location),
        Op::Fence { .. } => None,
    }
}

type Instruction = (Option<Op>, usize, Option<usize>);

fn choose_sources(
    ops: &[Instruction],
    at: usize,
    sources: &mut Vec<Option<usize>>,
    each: &mut dyn FnMut(&[Option<usize>]),
) {
    let Some((op, _, location)) = ops.get(at) else { return each(sources) };
    if !matches!(op, Some(Op::Load { .. } | Op::Add { .. } | Op::Exchange { .. })) {
        return choose_sources(ops, at + 1, sources, each);
    }
    for (source, (writer, _, written)) in ops.iter().enumerate() {
        let writes = matches!(writer, None | Some(Op::Store { .. } | Op::Add { .. } | Op::Exchange { .. }));
        if source != at && writes && written == location {
            sources[at] = Some(source);
            choose_sources(ops, at + 1, sources, each);
        }
    }
    sources[at] = None;
}

/// The events, if these sources give a value to every read.
fn events(ops: &[Instruction], sources: &[Option<usize>]) -> Option<Vec<Event>> {
    let mut events: Vec<Option<Event>> = vec![None; ops.len()];
    for _ in 0..ops.len() {
        for (at, (op, thread, location)) in ops.iter().enumerate() {
            let read = match sources[at] {
                Some(source) => match events[source] {
                    Some(event) if event.writes => event.value_written,
                    Some(_) => return None,
                    None => continue,
                },
                None => 0,
            };
            let (reads, writes, order, written) = match *op {
                None => (false, true, Ordering::Relaxed, 0),
                Some(Op::Load { order, .. }) => (true, false, order, 0),
                Some(Op::Store { order, value, .. }) => (false, true, order, value),
                Some(Op::Add { order, value, .. }) => (true, true, order, read + value),
                Some(Op::Exchange { expected, value, success, failure, .. }) => match read == expected {
                    true => (true, true, success, value),
                    false => (true, false, failure, 0),
                },
                Some(Op::Fence { order }) => (false, false, order, 0),
            };
            events[at] = Some(Event {
                op: *op,
                thread: *thread,
                location: *location,
                reads,
                writes,
                order,
                value_read: read,
                value_written: written,
            });
        }
    }
    // A cycle of reads gives no values: out of thin air.
    events.into_iter().collect()
}

fn with_sources(ops: &[Instruction], sources: &[Option<usize>], program: &Program, outcomes: &mut Outcomes) {
    let Some(events) = events(ops, sources) else { return };
    let locations = events.iter().filter(|event| event.op.is_none()).count();
    let writers = |location: usize| -> Vec<usize> {
        let is = |i: &usize| events[*i].writes && events[*i].location == Some(location);
        (locations..events.len()).filter(is).collect()
    };
    let mut orders: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
    for location in 0..locations {
        let all = permutations(&writers(location));
        let with = |order: &Vec<usize>| [vec![location], order.clone()].concat();
        let next =
            orders.iter().flat_map(|known| all.iter().map(|o| [known.clone(), vec![with(o)]].concat()));
        orders = next.collect();
    }
    for order in orders {
        let graph = Graph::new(&events, sources, &order);
        if !graph.is_consistent() {
            continue;
        }
        let threads = (0..program.len()).map(|thread| {
            let reads = events.iter().filter(|event| event.thread == thread && event.reads);
            reads.map(|event| event.value_read).collect()
        });
        let last = order.iter().map(|order| events[*order.last().expect("the first is there")].value_written);
        let outcome: Outcome = (threads.collect(), last.collect());
        if graph.psc(&graph.mo.or(&graph.fr())).acyclic() {
            outcomes.rc11.insert(outcome.clone());
        }
        let psc = graph.psc(&graph.eco());
        if psc.acyclic() {
            outcomes.cpp20.insert(outcome.clone());
        }
        if psc.or(&graph.po).or(&graph.rf).acyclic() {
            outcomes.ordered.insert(outcome.clone());
        }
        if graph.po.or(&graph.eco()).acyclic() {
            outcomes.interleaved.insert(outcome);
        }
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let with = |first: usize| {
        let rest: Vec<usize> = items.iter().copied().filter(|item| *item != first).collect();
        permutations(&rest).into_iter().map(move |tail| [vec![first], tail].concat())
    };
    items.iter().flat_map(|first| with(*first)).collect()
}

struct Graph<'a> {
    events: &'a [Event],
    po: Relation,
    rf: Relation,
    mo: Relation,
    hb: Relation,
}

impl<'a> Graph<'a> {
    fn new(events: &'a [Event], sources: &[Option<usize>], orders: &[Vec<usize>]) -> Graph<'a> {
        let size = events.len();
        let po = Relation::of(size, |a, b| {
            let (first, second) = (&events[a], &events[b]);
            let same = first.thread == second.thread && first.op.is_some() && a < b;
            same || first.op.is_none() && second.op.is_some()
        });
        let rf = Relation::of(size, |a, b| sources[b] == Some(a));
        let place = |event: usize| {
            orders.iter().enumerate().find_map(|(location, order)| {
                order.iter().position(|other| *other == event).map(|place| (location, place))
            })
        };
        let mo = Relation::of(size, |a, b| match (place(a), place(b)) {
            (Some((one, first)), Some((other, second))) => one == other && first < second,
            _ => false,
        });
        let mut graph = Graph { events, hb: po.clone(), po, rf, mo };
        graph.hb = graph.po.or(&graph.synchronizes()).closure();
        graph
    }

    fn only(&self, holds: impl Fn(&Event) -> bool) -> Relation {
        Relation::of(self.events.len(), |a, b| a == b && holds(&self.events[a]))
    }

    /// `[E⊒rel];([F];po)?;rs;rf;[R];(po;[F])?;[E⊒acq]`, with `rs = [W];(rf;rmw)*`.
    fn synchronizes(&self) -> Relation {
        let is_fence = |event: &Event| event.op.is_some() && !event.reads && !event.writes;
        let fences = self.only(is_fence);
        let releases = self.only(|event| event.order.releases() && (event.writes || is_fence(event)));
        let acquires = self.only(|event| event.order.acquires() && (event.reads || is_fence(event)));
        let modified = self.rf.then(&self.only(|event| event.reads && event.writes));
        let sequence = self.only(|event| event.writes).then(&modified.closure().reflexive());
        let before = self.only(|_| true).or(&fences.then(&self.po));
        let after = self.only(|_| true).or(&self.po.then(&fences));
        releases.then(&before).then(&sequence).then(&self.rf).then(&after).then(&acquires)
    }

    fn fr(&self) -> Relation {
        let size = self.events.len();
        let reads_before = self.rf.inverse().then(&self.mo);
        // A read-modify-write does not come before itself.
        Relation::of(size, |a, b| a != b && reads_before.has(a, b))
    }

    fn eco(&self) -> Relation {
        self.rf.or(&self.mo).or(&self.fr()).closure()
    }

    /// Coherence, atomicity, and nothing out of thin air.
    fn is_consistent(&self) -> bool {
        let modifies = |i: usize| self.events[i].reads && self.events[i].writes;
        let between = self.fr().then(&self.mo);
        let atomic = (0..self.events.len()).all(|i| !modifies(i) || !between.has(i, i));
        // A read-modify-write comes after the store that it reads.
        let after = (0..self.events.len())
            .all(|i| !modifies(i) || (0..self.events.len()).all(|w| !self.rf.has(w, i) || self.mo.has(w, i)));
        let thin_air = self.po.or(&self.rf).acyclic();
        atomic && after && thin_air && self.hb.then(&self.eco().reflexive()).irreflexive()
    }

    /// The order of SC events that po and hb imply, and `coherence`: `mo ∪ fr` in RC11, `eco` in C++20 (P0668).
    fn psc(&self, coherence: &Relation) -> Relation {
        let size = self.events.len();
        let is_sc = |event: &Event| event.op.is_some() && event.order == Ordering::SeqCst;
        let accesses = self.only(|event| is_sc(event) && event.location.is_some());
        let fences = self.only(|event| is_sc(event) && event.location.is_none());
        let location = |i: usize| self.events[i].location;
        let elsewhere = Relation::of(size, |a, b| {
            self.po.has(a, b) && (location(a) != location(b) || location(a).is_none())
        });
        let here = Relation::of(size, |a, b| {
            self.hb.has(a, b) && location(a).is_some() && location(a) == location(b)
        });
        let scb = self.po.or(&elsewhere.then(&self.hb).then(&elsewhere)).or(&here).or(coherence);
        let hb = self.hb.reflexive();
        let base = accesses.or(&fences.then(&hb)).then(&scb).then(&accesses.or(&hb.then(&fences)));
        let across = self.hb.or(&self.hb.then(&self.eco()).then(&self.hb));
        base.or(&fences.then(&across).then(&fences))
    }
}

/// Random programs of two to four threads.
pub fn random(rng: &mut ChoiceRng) -> Program {
    let threads = [2, 2, 2, 3, 3, 4][rng.below(6) as usize];
    let locations = [1, 2, 2, 2, 3][rng.below(5) as usize];
    let strong = rng.one_in(2);
    let mut left = 7 - u64::from(threads == 4);
    let mut value = 0;
    let mut program = vec![Vec::new(); threads];
    while left > 0 {
        left -= 1;
        let thread = rng.below(threads as u64) as usize;
        if program[thread].len() >= 4 {
            continue;
        }
        let location = rng.below(locations) as usize;
        let mut pick = |orders: &[Ordering]| match rng.below(4) {
            0 if strong => Ordering::SeqCst,
            _ => orders[rng.below(orders.len() as u64) as usize],
        };
        let (l, s) = (
            pick(&[Ordering::Relaxed, Ordering::Relaxed, Ordering::Acquire]),
            pick(&[Ordering::Relaxed, Ordering::Relaxed, Ordering::Release]),
        );
        let both = pick(&[Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel]);
        let fences = pick(&[Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst]);
        value += 1;
        program[thread].push(match rng.below(11) {
            0..4 => Op::Load { location, order: l },
            4..8 => Op::Store { location, value, order: s },
            8 => Op::Add { location, value: 10 * value, order: both },
            9 => {
                let expected = if rng.one_in(2) { 0 } else { 1 + rng.below(value) };
                Op::Exchange { location, expected, value, success: both, failure: l }
            }
            _ => Op::Fence { order: fences },
        });
    }
    program
}
