//! Rounds of steps that can be repeated for ever, found by the search of all states.
//!
//! The truth is by the definition, without recursion: for each set of workers, the states in which nobody else is
//! enabled and the steps of these workers, and in them each set of states that reach each other, by plain reachability.
//! Rounds that the search reports are executed and compared with the definition, step by step.

use crate::drawn::Drawn;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::rounds::{Round, RoundKind, Wanted};
use coyote_strategies::search::seen::Seen;
use coyote_strategies::search::{Advance, Counts, Item, Search, Shared, by_name};
use coyote_strategies::system::{Expected, decide};
use coyote_strategies::toy::{Instruction, Instruction::*, Program, Toy};
use coyote_strategies::{Decision, Iteration, OpKind, Pick, Status, System, WorkerId, WorkerState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ALL: Wanted = Wanted { together: true, without: true, alone: true };
const STATES_MAX: usize = 250;

/// What a round is about: its kind, the worker, and what is never met in it.
type About = (u8, Option<u32>, Option<u64>);

/// From, worker, whether it gives way, what was met, to.
type Step = (usize, u32, bool, BTreeSet<u64>, usize);

/// The graph of all states.
struct States<S> {
    systems: Vec<S>,
    steps: Vec<Step>,
    /// States from which no end can be reached: livelocks.
    stuck: BTreeSet<usize>,
}

fn enabled(system: &impl System) -> BTreeSet<u32> {
    let workers = system.view().workers.iter().enumerate();
    workers.filter(|(_, w)| w.state == WorkerState::Enabled).map(|(id, _)| id as u32).collect()
}

fn can_repeat(system: &impl System) -> bool {
    system.status() == Status::Ready && system.view().timeouts.is_empty()
}

fn decisions(system: &impl System) -> Vec<Decision> {
    match system.status() {
        Status::Ready => system.view().picks().map(Decision::Pick).collect(),
        Status::Choosing { bound } => (0..bound).map(Decision::Value).collect(),
        _ => vec![],
    }
}

/// What was expected before and not without interruption after.
fn met(before: &[Expected], after: &[Expected]) -> BTreeSet<u64> {
    let same = |a: &Expected| after.iter().any(|b| b.id == a.id && b.since == a.since);
    before.iter().filter(|a| !same(a)).map(|a| a.id).collect()
}

impl<S: System + Clone> States<S> {
    fn of(mut first: S) -> Option<States<S>> {
        let mut states = States { systems: vec![], steps: vec![], stuck: BTreeSet::new() };
        let mut known = BTreeMap::from([(first.fingerprint(), 0)]);
        states.systems.push(first);
        let (mut edges, mut at) = (Vec::new(), 0);
        while at < states.systems.len() {
            for decision in decisions(&states.systems[at]) {
                let mut next = states.systems[at].clone();
                let before = next.expected();
                let operations: Vec<OpKind> = next.view().workers.iter().map(|w| w.operation.kind).collect();
                decide(&mut next, decision);
                let met = met(&before, &next.expected());
                let to = *known.entry(next.fingerprint()).or_insert_with(|| {
                    states.systems.push(next);
                    states.systems.len() - 1
                });
                edges.push((at, to));
                if let Decision::Pick(Pick::Step(worker)) = decision {
                    let gives_way = matches!(operations[worker.index()], OpKind::Yield | OpKind::Sleep);
                    states.steps.push((at, worker.0, gives_way, met, to));
                }
            }
            at += 1;
            if states.systems.len() > STATES_MAX {
                return None;
            }
        }
        let mut ending: BTreeSet<usize> =
            (0..at).filter(|state| states.systems[*state].status().is_final()).collect();
        while let Some((from, _)) =
            edges.iter().find(|(from, to)| ending.contains(to) && !ending.contains(from))
        {
            ending.insert(*from);
        }
        states.stuck = (0..at).filter(|state| !ending.contains(state)).collect();
        Some(states)
    }

    fn workers(&self) -> u32 {
        self.systems.iter().flat_map(enabled).max().map_or(0, |worker| worker + 1)
    }

    /// Sets of states that reach each other by these steps.
    fn circles(&self, states: &BTreeSet<usize>, step: &dyn Fn(&Step) -> bool) -> Vec<BTreeSet<usize>> {
        let inside = |s: &&Step| states.contains(&s.0) && states.contains(&s.4);
        let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for s in self.steps.iter().filter(inside).filter(|s| step(s)) {
            next.entry(s.0).or_default().push(s.4);
        }
        let reach = |from: usize| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(state) = open.pop() {
                open.extend(next.get(&state).into_iter().flatten().filter(|to| seen.insert(**to)));
            }
            seen
        };
        let reach: BTreeMap<usize, BTreeSet<usize>> =
            next.keys().map(|state| (*state, reach(*state))).collect();
        let circles = reach.iter().filter(|(state, after)| after.contains(state)).map(|(state, after)| {
            after
                .iter()
                .copied()
                .filter(|other| reach.get(other).is_some_and(|r| r.contains(state)))
                .collect()
        });
        circles.collect::<BTreeSet<BTreeSet<usize>>>().into_iter().collect()
    }

    fn expects(&self, state: usize, id: u64) -> bool {
        self.systems[state].expected().iter().any(|e| e.id == id)
    }

    /// All that rounds are about.
    fn truth(&self) -> BTreeSet<About> {
        let workers = self.workers();
        let states: BTreeSet<usize> = (0..self.systems.len()).collect();
        let states: BTreeSet<usize> =
            states.into_iter().filter(|s| can_repeat(&self.systems[*s]) && !self.stuck.contains(s)).collect();
        let mut truth = BTreeSet::new();
        for set in 1..1u32 << workers {
            let among = |worker: u32| set >> worker & 1 == 1;
            for victim in [None].into_iter().chain((0..workers).filter(|w| !among(*w)).map(Some)) {
                for id in [None, Some(0), Some(1)] {
                    if id.is_some() && victim.is_some() {
                        continue;
                    }
                    let allowed = |state: &usize| {
                        enabled(&self.systems[*state]).into_iter().all(|w| among(w) || Some(w) == victim)
                            && id.is_none_or(|id| self.expects(*state, id))
                    };
                    let part: BTreeSet<usize> = states.iter().copied().filter(allowed).collect();
                    let step = |s: &Step| among(s.1) && id.is_none_or(|id| !s.3.contains(&id));
                    for circle in self.circles(&part, &step) {
                        let inside: BTreeSet<u32> = self
                            .steps
                            .iter()
                            .filter(|s| step(s) && circle.contains(&s.0) && circle.contains(&s.4))
                            .map(|s| s.1)
                            .collect();
                        let all = inside.len() == set.count_ones() as usize;
                        let some = |is: &dyn Fn(&S) -> bool| circle.iter().any(|s| is(&self.systems[*s]));
                        let fulfilled = match (victim, id) {
                            (Some(v), _) => {
                                some(&|t| enabled(t).contains(&v)) && some(&|t| !enabled(t).contains(&v))
                            }
                            (None, Some(id)) => some(&|t| t.expected().iter().any(|e| e.id == id && e.waits)),
                            (None, None) => true,
                        };
                        if all && fulfilled {
                            truth.insert((u8::from(victim.is_some()), victim, id));
                        }
                    }
                }
            }
        }
        for worker in 0..workers {
            let circles = self.circles(&states, &|s| s.1 == worker && !s.2);
            if circles.iter().flatten().any(|s| enabled(&self.systems[*s]).len() > 1) {
                truth.insert((2, Some(worker), None));
            }
        }
        truth
    }
}

/// What a reported round is about, by executing it. Panics if it is not what it is said to be.
fn check(program: &Program, path: &[Decision], round: &Round) -> BTreeSet<About> {
    check_in(Toy::new(program.clone()), program, path, round)
}

fn check_in<S: System>(
    mut toy: S,
    program: &dyn std::fmt::Debug,
    path: &[Decision],
    round: &Round,
) -> BTreeSet<About> {
    path.iter().for_each(|decision| decide(&mut toy, *decision));
    let start = toy.fingerprint();
    let (mut ever, mut always, mut yields) = (BTreeSet::new(), enabled(&toy), false);
    let (mut expected, mut hot) = (BTreeSet::from([0, 1]), BTreeSet::new());
    for worker in &round.steps {
        assert!(can_repeat(&toy), "{program:?} {round:?}");
        ever.extend(enabled(&toy));
        always = always.intersection(&enabled(&toy)).copied().collect();
        yields |= matches!(toy.view().workers[worker.index()].operation.kind, OpKind::Yield | OpKind::Sleep);
        let before = toy.expected();
        hot.extend(before.iter().filter(|e| e.waits).map(|e| e.id));
        expected.retain(|id| before.iter().any(|e| e.id == *id));
        decide(&mut toy, Decision::Pick(Pick::Step(*worker)));
        met(&before, &toy.expected()).iter().for_each(|id| _ = expected.remove(id));
    }
    assert_eq!(toy.fingerprint(), start, "{program:?} {path:?} {round:?}");
    let steps: BTreeSet<u32> = round.steps.iter().map(|worker| worker.0).collect();
    let idle: BTreeSet<u32> = ever.difference(&steps).copied().collect();
    let of = round.of.map(|worker| worker.0);
    let mut about = BTreeSet::new();
    match round.kind {
        RoundKind::Together => {
            assert!(idle.is_empty() && of.is_none(), "{program:?} {round:?}");
            about.insert((0, None, None));
            about.extend(expected.intersection(&hot).map(|id| (0, None, Some(*id))));
            let claimed = round.expected.is_none_or(|id| about.contains(&(0, None, Some(id))));
            assert!(claimed, "{program:?} {round:?}");
        }
        RoundKind::Without => {
            assert!(idle.iter().copied().eq(of) && !always.contains(&of.unwrap()), "{program:?} {round:?}");
            about.insert((1, of, None));
        }
        RoundKind::Alone => {
            assert!(!yields && !idle.is_empty() && steps.iter().copied().eq(of), "{program:?} {round:?}");
            about.insert((2, of, None));
        }
    }
    about
}

fn shared(wanted: Wanted) -> Shared {
    Shared { seen: Arc::new(Seen::looking_for(wanted)), ..Shared::default() }
}

/// All rounds, and the counts, by so many jobs in turns.
fn search(program: &Program, jobs: usize, wanted: Wanted) -> (Vec<(Vec<Decision>, Round)>, u64, Counts) {
    search_in(&Toy::new(program.clone()), jobs, wanted)
}

fn search_in<S: System + Clone + Send + 'static>(
    system: &S,
    jobs: usize,
    wanted: Wanted,
) -> (Vec<(Vec<Decision>, Round)>, u64, Counts) {
    let shared = shared(wanted);
    let new = |items: Option<Vec<Item>>| {
        let mut search = by_name::<S>("stateful", 0, items).expect("a search");
        search.share(&shared);
        search
    };
    let mut systems: Vec<S> = (0..jobs).map(|_| system.clone()).collect();
    let mut running: Vec<Option<Box<dyn Search<S>>>> = (0..jobs).map(|_| None).collect();
    running[0] = Some(new(None));
    let (mut found, mut livelocks, mut counts) = (Vec::new(), 0, Counts::default());
    while running.iter().any(Option::is_some) {
        for job in 0..jobs {
            let Some(search) = &mut running[job] else { continue };
            match search.advance(&mut systems[job], 3) {
                Advance::Round => {
                    let round = search.round().expect("it says so").clone();
                    found.push((search.path().to_vec(), round));
                }
                Advance::Livelock => livelocks += 1,
                Advance::Exhausted => {
                    counts = counts + search.counts();
                    running[job] = None;
                    continue;
                }
                Advance::Working | Advance::Ended(_) => {}
            }
            if let Some(idle) = running.iter().position(Option::is_none)
                && let Some(item) = running[job].as_mut().and_then(|search| search.split())
            {
                running[idle] = Some(new(Some(vec![item])));
            }
        }
    }
    assert!(!shared.seen.cyclic());
    (found, livelocks, counts)
}

/// What a loop contains, or what comes between loops.
fn phrase(rng: &mut ChoiceRng) -> Vec<Instruction> {
    let (v, m, lock) = (rng.below(2) as u8, u8::from(rng.one_in(4)), u8::from(rng.one_in(3)));
    match rng.below(15) {
        0..4 => vec![Set(v, rng.below(2) as i8)],
        4 => vec![Set(v, 1), Set(v, 0)],
        5 => vec![TryLock(lock), Unlock(lock)],
        6 => vec![Lock(lock), Unlock(lock)],
        7 => vec![Lock(lock), Set(v, rng.below(2) as i8), Unlock(lock)],
        8 => vec![Renew(m)],
        9 => vec![Monitor(m, rng.below(3) as u8)],
        10 => vec![Monitor(m, 2), Set(v, rng.below(2) as i8), Monitor(m, rng.below(3) as u8)],
        11 => vec![Cas(v, 0, 1)],
        12 => {
            vec![[Until(v), SemaphorePost(0), SemaphoreWait(0), SemaphoreTryWait(0)][rng.below(4) as usize]]
        }
        13 => vec![[Sleep(1), Choose(2), Rmw(2, 1)][rng.below(3) as usize]],
        _ => vec![],
    }
}

/// A loop that ends if a variable has some value: mostly one that another worker's loop gives it now and again, so that
/// the loops can be repeated for ever in step with each other, and need not.
fn repeat(rng: &mut ChoiceRng, me: u8) -> Vec<Instruction> {
    let mut code = vec![];
    let swings = !rng.one_in(4);
    let more = |rng: &mut ChoiceRng| if rng.one_in(3) { phrase(rng) } else { vec![] };
    code.extend(more(rng));
    if swings {
        code.push(Set(me, 1));
        code.extend(more(rng));
        code.push(Set(me, 0));
        code.extend(more(rng));
    }
    let (value, from) = (!rng.one_in(6) as i8, if rng.one_in(6) { me } else { 1 - me });
    match rng.below(8) {
        0 => code.extend([Lock(0), Load(from), Unlock(0)]),
        1 => {}
        _ => code.push(Load(from)),
    }
    code.push(BackUnless(value, code.len() as u8));
    code
}

fn program(index: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed: 47, index });
    let workers = 2 + u8::from(rng.one_in(4));
    let shape = rng.below(4);
    let worker = |me: u8, rng: &mut ChoiceRng| {
        let mut code = match rng.below(4) {
            0 | 1 => phrase(rng),
            2 => vec![Monitor(0, 2)],
            _ => vec![],
        };
        match (shape, me) {
            // One polls under the lock that the other one waits for; one spins until the other one is done.
            (0, 0) => code.extend([Lock(0), Load(0), Unlock(0), BackUnless(1, 3)]),
            (0, 1) => code.extend([Lock(0), Set(0, 1), Unlock(0)]),
            (1, 0) => code.push(Until(1)),
            (1, 1) => code.extend([Set(1, 1), Rmw(2, 1), Set(1, 0)]),
            (_, 0 | 1) => code.extend(repeat(rng, me)),
            _ => {}
        }
        if rng.one_in(2) {
            code.extend(phrase(rng));
        }
        code
    };
    (0..workers).map(|me| worker(me, &mut rng)).collect()
}

/// Programs that are small enough, with their states.
fn programs(count: usize) -> impl Iterator<Item = (u64, Program, States<Toy>)> {
    let all = (0..).map(|index| (index, program(index)));
    all.filter_map(|(index, program)| {
        States::of(Toy::new(program.clone())).map(|states| (index, program, states))
    })
    .take(count)
}

#[test]
fn all_that_rounds_are_about_and_nothing_else() {
    let mut counts = BTreeMap::<(u8, bool), [u32; 2]>::new();
    for (index, program, states) in programs(2_000) {
        let truth = states.truth();
        for kind in [(0, false), (0, true), (1, false), (2, false)] {
            let there = truth.iter().any(|about| (about.0, about.2.is_some()) == kind);
            counts.entry(kind).or_default()[usize::from(there)] += 1;
        }
        let (found, ..) = search(&program, 1, ALL);
        let about: Vec<BTreeSet<About>> =
            found.iter().map(|(path, round)| check(&program, path, round)).collect();
        let all: BTreeSet<About> = about.iter().flatten().copied().collect();
        assert!(all.is_subset(&truth), "program {index}: {all:?}, but {truth:?}: {program:?}");
        assert_eq!(all, truth, "program {index}: {program:?}");
    }
    println!("without and with: {counts:?}");
    assert!(counts.values().all(|[without, with]| *without > 100 && *with > 50), "{counts:?}");
}

/// The kinds of rounds, with the workers.
fn kinds(found: &[(Vec<Decision>, Round)]) -> Vec<(u8, Option<WorkerId>)> {
    let mut kinds: Vec<_> = found.iter().map(|(_, round)| (round.kind as u8, round.of)).collect();
    kinds.sort();
    kinds
}

#[test]
fn jobs_together_find_what_one_finds() {
    let mut rounds = 0;
    for (index, program, _) in programs(500) {
        let (alone, livelocks, counts) = search(&program, 1, ALL);
        rounds += alone.len();
        assert!(counts.bugs >= alone.len() as u64 + livelocks);
        for jobs in [2, 8] {
            let (together, stuck, other) = search(&program, jobs, ALL);
            assert_eq!(kinds(&together), kinds(&alone), "program {index}, {jobs} jobs: {program:?}");
            assert_eq!(
                (stuck, other.bugs, other.states),
                (livelocks, counts.bugs, counts.states),
                "{program:?}"
            );
            together.iter().for_each(|(path, round)| _ = check(&program, path, round));
        }
        let (nothing, ..) = search(&program, 2, Wanted::default());
        assert!(nothing.is_empty());
        let (some, ..) = search(&program, 1, Wanted { without: true, ..Wanted::default() });
        assert!(some.iter().all(|(_, round)| round.kind == RoundKind::Without));
    }
    assert!(rounds > 100, "{rounds}");
}

/// A search that continues from stored work has no whole graph: it finds nothing, and does not say that it has asked.
#[test]
fn who_continues_does_not_claim_to_have_asked() {
    let mut cut = 0;
    for (_, program, states) in programs(500) {
        if states.truth().is_empty() {
            continue;
        }
        let before = shared(ALL);
        let mut first = by_name::<Toy>("stateful", 0, None).expect("a search");
        first.share(&before);
        let mut toy = Toy::new(program.clone());
        if first.advance(&mut toy, 4) != Advance::Working {
            continue;
        }
        let after = shared(ALL);
        let mut rest = by_name::<Toy>("stateful", 0, Some(first.save())).expect("a search");
        rest.share(&after);
        loop {
            match rest.advance(&mut toy, u64::MAX) {
                Advance::Exhausted => break,
                other => assert_ne!(other, Advance::Round),
            }
        }
        cut += 1;
        // As far as the first one came, it saw no cycle, or it says so.
        assert!(before.seen.cyclic() || first.counts().cyclic || rest.counts().cyclic, "{program:?}");
    }
    assert!(cut > 50, "{cut}");
}

#[test]
fn known_programs() {
    let of = |program: &Program| kinds(&search(program, 1, ALL).0);
    // A test-and-set lock: who spins does so at the cost of the holder, which is not fair.
    let spin = vec![Cas(0, 0, 1), BackUnless(1, 1), Rmw(1, 1), Set(0, 0)];
    let lock = search(&vec![spin.clone(), spin.clone()], 1, ALL).0;
    assert!(lock.iter().all(|(_, round)| round.kind == RoundKind::Alone), "{lock:?}");
    // Two that wait for each other's polite step back.
    let polite = |me: u8, other: u8| {
        vec![Set(me, 1), Load(other), SkipUnless(1, 2), Set(me, 0), BackUnless(0, 4), Set(me, 0)]
    };
    let both = vec![polite(0, 1), polite(1, 0)];
    assert!(of(&both).contains(&(0, None)), "{:?}", search(&both, 1, ALL).0);
    // One polls under the lock that the other one waits for.
    let poll = vec![Lock(0), Load(0), Unlock(0), BackUnless(1, 3)];
    let write = vec![Lock(0), Set(0, 1), Unlock(0)];
    assert_eq!(
        of(&vec![poll, write]).into_iter().filter(|kind| kind.0 < 2).collect::<Vec<_>>(),
        [(1, Some(WorkerId(1)))]
    );
    // A monitor that is renewed in each round, and one that is not.
    let wait =
        |first| vec![vec![Set(1, 1), Set(0, 1)], vec![first, Load(0), BackUnless(1, 2), Monitor(0, 0)]];
    let about = |program: &Program| -> BTreeSet<About> {
        let found = search(program, 1, ALL).0;
        found.iter().flat_map(|(path, round)| check(program, path, round)).collect()
    };
    // The writer is enabled and does not step: not fair.
    assert!(!about(&wait(Monitor(0, 2))).iter().any(|about| about.0 == 0));
    let swing = |first| {
        let writer = vec![Set(0, 1), Set(0, 0), Load(1), BackUnless(1, 3)];
        vec![writer, vec![first, Load(0), BackUnless(1, 2), Set(1, 1), Monitor(0, 0)]]
    };
    assert!(about(&swing(Monitor(0, 2))).contains(&(0, None, Some(0))));
    assert!(!about(&swing(Renew(0))).contains(&(0, None, Some(0))));
    assert!(about(&swing(Renew(0))).contains(&(0, None, None)));
}

#[test]
fn drawn_machines_have_the_rounds_of_the_definition() {
    let mut counts = BTreeMap::<(u8, bool), [u32; 2]>::new();
    for index in 0..4_000 {
        let machine = Drawn::new(index);
        let truth = States::of(machine.clone()).expect("it is small").truth();
        let (found, livelocks, _) = search_in(&machine, 1 + (index % 2) as usize, ALL);
        assert_eq!(livelocks, 0);
        let about = found.iter().flat_map(|(path, round)| check_in(machine.clone(), &machine, path, round));
        assert_eq!(about.collect::<BTreeSet<About>>(), truth, "machine {index}: {machine:?}");
        for kind in [(0, false), (0, true), (1, false), (2, false)] {
            let there = truth.iter().any(|about| (about.0, about.2.is_some()) == kind);
            counts.entry(kind).or_default()[usize::from(there)] += 1;
        }
    }
    println!("without and with: {counts:?}");
    assert!(counts.values().all(|[without, with]| *without > 100 && *with > 100), "{counts:?}");
}
