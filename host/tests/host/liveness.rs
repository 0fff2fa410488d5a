//! Rounds that can be repeated for ever: a reported lasso, starvation or violation of the good-Samaritan
//! property in a generated program is one in the graph of all its states, which plain enumeration makes from
//! a model that shares no code with the host. The search of all states reports exactly these.

use super::guest;
use coyote_wasm::artifact::Artifact;
use coyote_wasm::outcome::BugKind;
use coyote_wasm::results::FoundBug;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::tester::Tester;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

const LOCKS: usize = 2;
const FLAGS: usize = 2;
fn programs() -> u64 {
    guest::scaled(100, 300)
}

/// One step of a worker. Numbers of instructions say where it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// If this fails, continues at the instruction.
    Try(usize, usize),
    Lock(usize),
    Unlock(usize),
    Set(usize, u8),
    /// Continues at the instruction as long as the flag is 0.
    While(usize, usize),
    Yield,
    /// No step.
    Goto(usize),
    /// Only for the first worker: creates the next one.
    Spawn,
    /// Only for the first worker: waits for the end of another one.
    Join(usize),
}

/// Acquires locks by trying, releasing all and retrying, or by waiting; spins; sets flags.
fn script(rng: &mut ChoiceRng) -> Vec<Op> {
    let (mut code, mut held): (Vec<Op>, Vec<usize>) = (Vec::new(), Vec::new());
    // Where a failed attempt continues, with the locks that it has to release.
    let mut failures: Vec<(usize, Vec<usize>)> = Vec::new();
    for _ in 0..2 + rng.below(3) {
        let flag = rng.below(FLAGS as u64) as usize;
        let lock = rng.below(LOCKS as u64) as usize;
        match rng.below(8) {
            0..4 if !held.contains(&lock) => {
                if rng.below(2) == 0 {
                    code.push(Op::Lock(lock));
                } else {
                    failures.push((code.len(), held.clone()));
                    code.push(Op::Try(lock, 0));
                }
                held.push(lock);
            }
            4 => code.push(Op::Set(flag, rng.below(3).min(1) as u8)),
            5 => {
                let here = code.len();
                if rng.below(2) == 0 {
                    code.push(Op::Yield);
                }
                code.push(Op::While(flag, here));
            }
            6 => code.push(Op::Yield),
            _ => code.extend(held.pop().map(Op::Unlock)),
        }
    }
    code.extend(held.into_iter().rev().map(Op::Unlock));
    let end = code.len() + failures.iter().map(|(_, held)| held.len() + 1).sum::<usize>() + 1;
    code.push(Op::Goto(end));
    for (at, held) in failures {
        let Op::Try(lock, _) = code[at] else { unreachable!("it was one") };
        code[at] = Op::Try(lock, code.len());
        code.extend(held.into_iter().map(Op::Unlock));
        code.push(Op::Goto(0));
    }
    code
}

fn program(index: u64) -> Vec<Vec<Op>> {
    let mut rng = ChoiceRng::new(Iteration { seed: 11, index });
    let mut workers = vec![Vec::new()];
    workers.extend((0..2 + usize::from(index.is_multiple_of(5))).map(|_| script(&mut rng)));
    let others = workers.len() - 1;
    workers[0] = vec![Op::Spawn; others];
    workers[0].extend((1..=others).map(Op::Join));
    workers
}

/// A state of the model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: Vec<usize>,
    held: [Option<usize>; LOCKS],
    flags: [u8; FLAGS],
}

struct Model<'a>(&'a [Vec<Op>]);

impl Model<'_> {
    fn op(&self, state: &State, worker: usize) -> Option<Op> {
        self.0[worker].get(state.at[worker]).copied()
    }

    fn enabled(&self, state: &State, worker: usize) -> bool {
        // The first worker creates the others at its beginning.
        let exists = state.at[0] >= worker;
        match self.op(state, worker).filter(|_| exists) {
            None => false,
            Some(Op::Lock(lock)) => state.held[lock].is_none(),
            Some(Op::Join(other)) => self.op(state, other).is_none(),
            Some(_) => true,
        }
    }

    fn after(&self, state: &State, worker: usize) -> State {
        let mut next = state.clone();
        let at = &mut next.at[worker];
        *at += 1;
        match self.op(state, worker).expect("it is enabled") {
            Op::Try(lock, failed) => match next.held[lock] {
                None => next.held[lock] = Some(worker),
                Some(_) => *at = failed,
            },
            Op::Lock(lock) => next.held[lock] = Some(worker),
            Op::Unlock(lock) => next.held[lock] = None,
            Op::Set(flag, value) => next.flags[flag] = value,
            Op::While(flag, back) if next.flags[flag] == 0 => *at = back,
            _ => {}
        }
        while let Some(Op::Goto(to)) = self.0[worker].get(next.at[worker]) {
            next.at[worker] = *to;
        }
        next
    }
}

/// All states, the enabled workers in each, and the steps between them.
struct Graph {
    enabled: Vec<BTreeSet<usize>>,
    /// From, worker, whether it yields, to.
    edges: Vec<(usize, usize, bool, usize)>,
}

fn graph(program: &[Vec<Op>]) -> Graph {
    let model = Model(program);
    let workers = program.len();
    let mut start = State { at: vec![0; workers], held: [None; LOCKS], flags: [0; FLAGS] };
    for (at, code) in start.at.iter_mut().zip(program) {
        while let Some(Op::Goto(to)) = code.get(*at) {
            *at = *to;
        }
    }
    let mut known = BTreeMap::from([(start.clone(), 0)]);
    let (mut open, mut graph) = (vec![start], Graph { enabled: vec![BTreeSet::new()], edges: Vec::new() });
    while let Some(state) = open.pop() {
        let from = known[&state];
        graph.enabled[from] = (0..workers).filter(|worker| model.enabled(&state, *worker)).collect();
        for worker in graph.enabled[from].clone() {
            let gives_way = model.op(&state, worker) == Some(Op::Yield);
            let next = model.after(&state, worker);
            let to = *known.entry(next.clone()).or_insert_with(|| {
                graph.enabled.push(BTreeSet::new());
                open.push(next);
                graph.enabled.len() - 1
            });
            graph.edges.push((from, worker, gives_way, to));
        }
    }
    graph
}

impl Graph {
    /// Sets of these states in which each reaches each through these edges, with at least one edge.
    fn circles(&self, states: &BTreeSet<usize>, edge: &dyn Fn(usize, bool) -> bool) -> Vec<BTreeSet<usize>> {
        let within = |from: &usize, to: &usize| states.contains(from) && states.contains(to);
        let edges: Vec<(usize, usize)> = self
            .edges
            .iter()
            .filter(|(from, _, _, to)| within(from, to))
            .filter(|(_, worker, gives_way, _)| edge(*worker, *gives_way))
            .map(|e| (e.0, e.3))
            .collect();
        let reach = |from: usize, forward: bool| {
            let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (a, b) in &edges {
                let (a, b) = if forward { (*a, *b) } else { (*b, *a) };
                next.entry(a).or_default().push(b);
            }
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(state) = open.pop() {
                for to in next.get(&state).into_iter().flatten() {
                    if seen.insert(*to) {
                        open.push(*to);
                    }
                }
            }
            seen
        };
        let (mut left, mut circles) = (states.clone(), Vec::new());
        while let Some(state) = left.pop_first() {
            let circle: BTreeSet<usize> =
                reach(state, true).intersection(&reach(state, false)).copied().collect();
            if circle.contains(&state) {
                left = left.difference(&circle).copied().collect();
                circles.push(circle);
            }
        }
        circles
    }

    fn ever_enabled(&self, states: &BTreeSet<usize>) -> BTreeSet<usize> {
        states.iter().flat_map(|state| self.enabled[*state].iter().copied()).collect()
    }

    /// Whether there is a set of states that can be repeated for ever, in which every worker that is enabled
    /// somewhere makes steps, except for `victim`, and which is as `wanted`.
    fn fair(
        &self,
        states: &BTreeSet<usize>,
        victim: Option<usize>,
        wanted: &dyn Fn(&BTreeSet<usize>) -> bool,
    ) -> bool {
        self.circles(states, &|worker, _| Some(worker) != victim).iter().any(|circle| {
            let steps = |worker: &usize| {
                self.edges
                    .iter()
                    .any(|(from, by, _, to)| by == worker && circle.contains(from) && circle.contains(to))
            };
            let ever = self.ever_enabled(circle);
            let idle: Vec<usize> = ever.into_iter().filter(|w| Some(*w) != victim && !steps(w)).collect();
            if idle.is_empty() {
                return wanted(circle);
            }
            let enables = |state: &usize| idle.iter().any(|worker| self.enabled[*state].contains(worker));
            let rest: BTreeSet<usize> = circle.iter().filter(|state| !enables(state)).copied().collect();
            self.fair(&rest, victim, wanted)
        })
    }

    fn all(&self) -> BTreeSet<usize> {
        (0..self.enabled.len()).collect()
    }

    /// States from which an end can be reached.
    fn ending(&self) -> BTreeSet<usize> {
        let mut ending: BTreeSet<usize> =
            self.all().into_iter().filter(|state| self.edges.iter().all(|edge| edge.0 != *state)).collect();
        while let Some(edge) = self.edges.iter().find(|e| ending.contains(&e.3) && !ending.contains(&e.0)) {
            ending.insert(edge.0);
        }
        ending
    }

    fn has_lasso(&self, states: &BTreeSet<usize>) -> bool {
        self.fair(states, None, &|_| true)
    }

    fn starves(&self, states: &BTreeSet<usize>, workers: usize) -> bool {
        (0..workers).any(|victim| {
            let now_and_again = |circle: &BTreeSet<usize>| {
                let on = circle.iter().filter(|state| self.enabled[**state].contains(&victim)).count();
                0 < on && on < circle.len()
            };
            self.fair(states, Some(victim), &now_and_again)
        })
    }

    fn has_bad_samaritan(&self, states: &BTreeSet<usize>, workers: usize) -> bool {
        (0..workers).any(|who| {
            let circles = self.circles(states, &|worker, gives_way| worker == who && !gives_way);
            circles.iter().any(|circle| self.ever_enabled(circle).len() > 1)
        })
    }
}

/// The program for the host: each worker is a loop around its instructions.
fn text(program: &[Vec<Op>]) -> String {
    let mut text = String::from(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_try_lock" (func $try (param i32) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
"#,
    );
    let count = program.len();
    writeln!(text, "  (table {} funcref)", count - 1).unwrap();
    let names: Vec<String> = (1..count).map(|worker| format!("$w{worker}")).collect();
    writeln!(text, "  (elem (i32.const 0) {})", names.join(" ")).unwrap();
    for (worker, code) in program.iter().enumerate().skip(1) {
        writeln!(text, "  (func $w{worker} (param i32) (local $at i32)\n    (loop $next").unwrap();
        for (at, op) in code.iter().enumerate() {
            let go = |to: usize| format!("(local.set $at (i32.const {to}))");
            let (lock, flag) = (|l: usize| 16 + 8 * l, |f: usize| 256 + 64 * f);
            let step = match *op {
                Op::Try(l, failed) => {
                    let (failed, next) = (go(failed), go(at + 1));
                    format!("(if (call $try (i32.const {})) (then {failed}) (else {next}))", lock(l))
                }
                Op::Lock(l) => {
                    format!("(drop (call $lock (i32.const {}) (i64.const -1))) {}", lock(l), go(at + 1))
                }
                Op::Unlock(l) => format!("(drop (call $unlock (i32.const {}))) {}", lock(l), go(at + 1)),
                Op::Set(f, v) => {
                    format!("(i32.atomic.store (i32.const {}) (i32.const {v})) {}", flag(f), go(at + 1))
                }
                Op::While(f, back) => {
                    let (next, back) = (go(at + 1), go(back));
                    format!("(if (i32.atomic.load (i32.const {})) (then {next}) (else {back}))", flag(f))
                }
                Op::Yield => format!("(call $yield) {}", go(at + 1)),
                Op::Goto(to) => go(to),
                Op::Spawn | Op::Join(_) => unreachable!("only the first worker does that"),
            };
            writeln!(text, "      (if (i32.eq (local.get $at) (i32.const {at})) (then {step} (br $next)))")
                .unwrap();
        }
        text += "    ))\n";
    }
    text += "  (func (export \"coyote.test.main\")";
    for worker in 1..count {
        let entry = worker - 1;
        write!(text, " (drop (call $spawn (i32.const {entry}) (i32.const 0) (i32.const 0) (i32.const 0)))")
            .unwrap();
    }
    for worker in 1..count {
        write!(text, " (call $join (i32.const {worker}))").unwrap();
    }
    text + "))\n"
}

/// The bugs that a detector finds within the iterations of the random walk or in all states, all of them or the first
/// one; their traces must replay.
fn found(
    artifact: &Arc<Artifact>,
    strategy: &str,
    detector: &str,
    explore: bool,
    jobs: usize,
) -> Vec<BugKind> {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(artifact.clone());
    assert!(tester.settings.detectors.set(detector, true));
    tester.budget.iterations_max = if strategy == "random" { 40 } else { u64::MAX };
    tester.budget.jobs = jobs;
    tester.budget.explore = explore;
    tester.traces = directory.path().into();
    let exploration = tester.explore("main", strategy).unwrap();
    let replays = |found: &FoundBug| {
        let replayed = tester.replay(&found.trace).unwrap();
        assert!(replayed.reproduces(&found.trace), "{detector}: {replayed:?}");
        found.bug.kind
    };
    exploration.bugs.iter().map(replays).collect()
}

#[test]
fn rounds_are_those_of_all_states() {
    let detectors = [
        ("lassos", BugKind::Lasso),
        ("starvation", BugKind::Starvation),
        ("good-samaritan", BugKind::GoodSamaritan),
    ];
    let (mut counts, mut of_states) = ([[0; 3]; 3], [0; 3]);
    for index in 0..programs() {
        let program = program(index);
        let (graph, workers) = (graph(&program), program.len());
        let there = |states: &BTreeSet<usize>| {
            let samaritan = graph.has_bad_samaritan(states, workers);
            [graph.has_lasso(states), graph.starves(states, workers), samaritan]
        };
        let (there, not_stuck) = (there(&graph.all()), there(&graph.ending()));
        let artifact = guest::from_text(&text(&program));
        for (i, (detector, kind)) in detectors.into_iter().enumerate() {
            let met = found(&artifact, "random", detector, index.is_multiple_of(3), 1);
            assert!(
                !met.contains(&kind) || there[i],
                "program {index}: {detector} finds what is not there: {program:?}"
            );
            counts[i][0] += usize::from(there[i]);
            counts[i][1] += usize::from(met.contains(&kind));
            // Another bug came first.
            counts[i][2] += usize::from(there[i] && !met.is_empty() && !met.contains(&kind));
            let all = found(&artifact, "stateful", detector, true, 1 + (index % 3) as usize);
            // Workers that wait in a circle end an execution before a round begins.
            assert!(
                all.contains(&kind) == not_stuck[i]
                    || !all.contains(&kind) && all.contains(&BugKind::Deadlock),
                "program {index}: {detector}: {all:?}, but {}: {program:?}",
                not_stuck[i]
            );
            of_states[i] += usize::from(all.contains(&kind));
        }
    }
    eprintln!("there, found, another bug first: {counts:?}; by states: {of_states:?}");
    assert!(of_states.into_iter().all(|found| found > 0), "{of_states:?}");
    for [there, found, other] in counts {
        assert!(there < programs() as usize, "no program without");
        assert!(found > 0 && found * 3 >= there - other, "{counts:?}");
    }
}

fn rounds_case() -> Arc<Artifact> {
    let path = guest::root().join("host/tests/cases/wat/rounds.wat");
    guest::from_text(&std::fs::read_to_string(path).unwrap())
}

/// The same lasso is the same bug, for every seed, every first worker and the search of all states.
#[test]
fn a_lasso_is_the_same_bug_under_every_seed() {
    let artifact = rounds_case();
    let mut identities = BTreeSet::new();
    let samplers = (0..12).map(|seed| ("random", seed, 1));
    for (strategy, seed, jobs) in samplers.chain([("stateful", 0, 1), ("stateful", 0, 2)]) {
        let directory = tempfile::tempdir().unwrap();
        let mut tester = Tester::of(artifact.clone());
        tester.settings.detectors.set("lassos", true);
        tester.budget.iterations_max = if strategy == "random" { 64 } else { u64::MAX };
        tester.budget.jobs = jobs;
        tester.seed = seed;
        tester.traces = directory.path().into();
        let exploration = tester.explore("try_and_retry", strategy).unwrap();
        let found = exploration.bugs.first().expect("every seed finds it");
        assert_eq!(found.bug.kind, BugKind::Lasso);
        identities.insert(found.identity.short());
    }
    assert_eq!(identities.len(), 1, "{identities:?}");
}

/// A trace that contains its round reproduces the bug with this round only.
#[test]
fn a_trace_with_another_round_reproduces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(rounds_case());
    tester.settings.detectors.set("lassos", true);
    tester.budget.iterations_max = u64::MAX;
    tester.traces = directory.path().into();
    let exploration = tester.explore("looks_at_the_wrong_time", "stateful").unwrap();
    let trace = exploration.bugs.first().expect("it is there").trace.clone();
    let options = &trace.header.options;
    let at = options.iter().position(|(name, _)| name == "cycle").expect("it contains the round");
    let cycle = options[at].1.clone();
    assert_eq!(cycle.split(',').collect::<BTreeSet<_>>(), BTreeSet::from(["0.0", "0.1"]));
    let steps: Vec<&str> = cycle.split(',').collect();
    let shorter = steps[1..].join(",");
    for (other, same) in [
        (&*cycle, true),
        // Still a round, but twice as long.
        (&*format!("{cycle},{cycle}"), true),
        (&*shorter, false),
        ("0.0", false),
        ("0.1", false),
        ("0.1,0.0,0.1,0.1,0.1", false),
        ("0.7", false),
        ("0", false),
    ] {
        let mut edited = trace.clone();
        edited.header.options[at].1 = other.into();
        let reproduced = tester.replay(&edited).is_ok_and(|replayed| replayed.reproduces(&edited));
        assert_eq!(reproduced, same, "{other}");
    }
    let mut edited = trace.clone();
    edited.header.options[at].1 = "worker".into();
    assert!(coyote_wasm::options::read(&edited.header.options).is_err());
    assert!(!tester.replay(&edited).unwrap().reproduces(&edited));
}
