//! Sync objects against a naive model: of small programs, the model's and the execution's sets of all
//! possible ends are equal.
//!
//! A program is a list of actions for each worker. It is written out as a guest, of which every
//! schedule is executed; and it is interpreted by the model, which knows nothing of the host: sets of
//! waiters, owners of locks, and the rule that any of them may be next. An end is the outcome with the
//! results of all calls.

use super::{guest, search};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::runtime::AtExit;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// One call of a worker. Small numbers name mutexes, condvars and cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Action {
    Lock(u32),
    TryLock(u32),
    Unlock(u32),
    /// Condvar and mutex; with a timeout in nanoseconds the result says whether it came to that.
    Wait(u32, u32),
    WaitFor(u32, u32, u64),
    Signal(u32),
    Broadcast(u32),
    /// Cell and expected value.
    FutexWait(u32, u32),
    FutexWaitFor(u32, u32, u64),
    FutexNotify(u32, u32),
    /// An atomic store to a cell; a load whose value is the result.
    Store(u32, u32),
    Load(u32),
    Sleep(u64),
    Yield,
    ChooseInt(u32),
    Exit,
    /// For the first worker: another one, by its place in the program.
    Spawn(usize),
    SpawnDetached(usize),
    Join(usize),
}

use Action::*;

impl Action {
    fn has_result(self) -> bool {
        matches!(
            self,
            TryLock(_)
                | WaitFor(..)
                | FutexWait(..)
                | FutexWaitFor(..)
                | FutexNotify(..)
                | Load(_)
                | ChooseInt(_)
        )
    }
}

/// The actions of each worker; the first is the one in which the test starts.
type Program = Vec<Vec<Action>>;

/// How a program ended, and the results of each worker's calls in order, `None` for those not made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    outcome: String,
    results: Vec<Vec<Option<u8>>>,
}

// The guest.

const MUTEXES: u32 = 0x1000;
const CONDVARS: u32 = 0x1100;
const CELLS: u32 = 0x1200;
/// Handles of workers, and from here on results: 16 bytes a worker, 0 for a call that was not made.
const HANDLES: u32 = 0x1300;
const RESULTS: u32 = 0x1400;
const RESULTS_MAX: usize = 16;

fn to_wat(program: &Program) -> String {
    let mut text = String::from(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "exit" (func $exit))
  (import "coyote" "detach" (func $detach (param i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "sleep" (func $sleep (param i64)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_try_lock" (func $try_lock (param i32) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "coyote" "condvar_wait" (func $wait (param i32 i32 i64) (result i32)))
  (import "coyote" "condvar_signal" (func $signal (param i32)))
  (import "coyote" "condvar_broadcast" (func $broadcast (param i32)))
  (import "coyote" "choose_int" (func $choose_int (param i32) (result i32)))
  (import "coyote" "futex_wait" (func $futex_wait (param i32 i32 i64) (result i32)))
  (import "coyote" "futex_notify" (func $futex_notify (param i32 i32) (result i32)))
  (memory (export "memory") 1)
"#,
    );
    let workers = program.len();
    let _ = writeln!(text, "  (table {workers} funcref)\n  (elem (i32.const 1)");
    let names: Vec<String> = (1..workers).map(|w| format!("$w{w}")).collect();
    let _ = writeln!(text, "    {})", names.join(" "));
    for (worker, actions) in program.iter().enumerate() {
        match worker {
            0 => text.push_str("  (func (export \"coyote.test.t\")\n"),
            _ => drop(writeln!(text, "  (func $w{worker} (param i32)")),
        }
        for (i, action) in actions.iter().enumerate() {
            let call = call(*action);
            let result = RESULTS as usize + worker * RESULTS_MAX + i;
            let _ = match action.has_result() {
                true => {
                    writeln!(text, "    (i32.store8 (i32.const {result}) (i32.add (i32.const 1) {call}))")
                }
                false => writeln!(text, "    {call}"),
            };
        }
        text.push_str("  )\n");
    }
    text + ")"
}

fn call(action: Action) -> String {
    let mutex = |n: u32| format!("(i32.const {})", MUTEXES + 4 * n);
    let condvar = |n: u32| format!("(i32.const {})", CONDVARS + 4 * n);
    let cell = |n: u32| format!("(i32.const {})", CELLS + 4 * n);
    let handle = |w: usize| format!("(i32.const {})", HANDLES as usize + 4 * w);
    let spawn = |w: usize| format!("(call $spawn (i32.const {w}) (i32.const 0) (i32.const 0) (i32.const 0))");
    match action {
        Lock(m) => format!("(drop (call $lock {} (i64.const -1)))", mutex(m)),
        TryLock(m) => format!("(i32.eqz (call $try_lock {}))", mutex(m)),
        Unlock(m) => format!("(drop (call $unlock {}))", mutex(m)),
        Wait(c, m) => format!("(drop (call $wait {} {} (i64.const -1)))", condvar(c), mutex(m)),
        WaitFor(c, m, ns) => {
            format!("(i32.ne (i32.const 0) (call $wait {} {} (i64.const {ns})))", condvar(c), mutex(m))
        }
        Signal(c) => format!("(call $signal {})", condvar(c)),
        Broadcast(c) => format!("(call $broadcast {})", condvar(c)),
        FutexWait(a, v) => format!("(call $futex_wait {} (i32.const {v}) (i64.const -1))", cell(a)),
        FutexWaitFor(a, v, ns) => format!("(call $futex_wait {} (i32.const {v}) (i64.const {ns}))", cell(a)),
        FutexNotify(a, n) => format!("(call $futex_notify {} (i32.const {n}))", cell(a)),
        Store(a, v) => format!("(i32.atomic.store {} (i32.const {v}))", cell(a)),
        Load(a) => format!("(i32.atomic.load {})", cell(a)),
        Sleep(ns) => format!("(call $sleep (i64.const {ns}))"),
        Yield => "(call $yield)".into(),
        ChooseInt(n) => format!("(call $choose_int (i32.const {n}))"),
        Exit => "(call $exit) unreachable".into(),
        Spawn(w) => format!("(i32.store {} {})", handle(w), spawn(w)),
        SpawnDetached(w) => {
            format!("(i32.store {h} {}) (call $detach (i32.load {h}))", spawn(w), h = handle(w))
        }
        Join(w) => format!("(call $join (i32.load {}))", handle(w)),
    }
}

/// All ends of the guest.
fn executed(artifact: &Arc<Artifact>, program: &Program, at_exit: AtExit) -> BTreeSet<End> {
    let mut settings = guest::settings();
    settings.at_exit = at_exit;
    guest::with(artifact, "t", &settings, |execution| {
        search::distinct(execution, &mut |execution, outcome| {
            let results = program.iter().enumerate().map(|(worker, actions)| {
                let made = |i: usize| {
                    execution.machine().memory()[RESULTS as usize + worker * RESULTS_MAX + i].checked_sub(1)
                };
                (0..actions.len()).filter(|i| actions[*i].has_result()).map(made).collect()
            });
            End { outcome: outcome.describe().0, results: results.collect() }
        })
    })
}

// The model.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Not created yet.
    Absent,
    /// Created; its first step is to come.
    Created,
    /// At its next action.
    Running,
    /// In a queue or asleep.
    Waiting,
    /// Its wait is over: what the call returns, if it can have what it needs.
    Woken(u8),
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worker {
    stage: Stage,
    at: usize,
    detached: bool,
    results: Vec<Option<u8>>,
}

/// A state of a program. Workers are known by their place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Model {
    workers: Vec<Worker>,
    owners: BTreeMap<u32, usize>,
    /// Waiters by condvar, and by cell.
    condvars: BTreeMap<u32, BTreeSet<usize>>,
    futexes: BTreeMap<u32, BTreeSet<usize>>,
    cells: BTreeMap<u32, u32>,
    /// Deadline, order of creation, worker.
    timers: BTreeSet<(u64, usize, usize)>,
    now: u64,
    /// Order in which workers were created.
    created: Vec<usize>,
}

/// Where a step leads: to another state, or to an outcome in this one.
type Next = (Model, Option<&'static str>);

impl Model {
    fn new(program: &Program) -> Model {
        let worker = Worker { stage: Stage::Absent, at: 0, detached: false, results: Vec::new() };
        let mut workers = vec![worker; program.len()];
        workers[0].stage = Stage::Created;
        Model {
            workers,
            owners: BTreeMap::new(),
            condvars: BTreeMap::new(),
            futexes: BTreeMap::new(),
            cells: BTreeMap::new(),
            timers: BTreeSet::new(),
            now: 0,
            created: vec![0],
        }
    }

    fn action(&self, program: &Program, w: usize) -> Option<Action> {
        program[w].get(self.workers[w].at).copied()
    }

    fn can_step(&self, program: &Program, w: usize) -> bool {
        let free = |m: u32| !self.owners.contains_key(&m);
        match (self.workers[w].stage, self.action(program, w)) {
            (Stage::Absent | Stage::Waiting | Stage::Ended, _) => false,
            (Stage::Running, Some(Lock(m))) => free(m),
            (Stage::Running, Some(Join(other))) => self.workers[other].stage == Stage::Ended,
            (Stage::Woken(_), Some(Wait(_, m) | WaitFor(_, m, _))) => free(m),
            _ => true,
        }
    }

    /// Whether somebody waits for a condvar with another mutex than this one.
    fn waits_with_another(&self, program: &Program, condvar: u32, mutex: u32) -> bool {
        let waiters = self.condvars.get(&condvar).into_iter().flatten();
        waiters.into_iter().any(|w| {
            let action = self.action(program, *w);
            !matches!(action, Some(Wait(_, m) | WaitFor(_, m, _)) if m == mutex)
        })
    }

    /// The call is over.
    fn done(mut self, program: &Program, w: usize, result: u8) -> Model {
        let action = self.action(program, w).expect("a call was made");
        let worker = &mut self.workers[w];
        worker.stage = Stage::Running;
        worker.at += 1;
        if action.has_result() {
            worker.results.push(Some(result));
        }
        self.ended_by_return(program, w)
    }

    /// A worker without a next action ends together with its last step.
    fn ended_by_return(mut self, program: &Program, w: usize) -> Model {
        if self.action(program, w).is_none() {
            self.workers[w].stage = Stage::Ended;
        }
        self
    }

    fn wait(&mut self, w: usize, span: Option<u64>) {
        self.workers[w].stage = Stage::Waiting;
        if let Some(span) = span {
            let order = self.created.iter().position(|c| *c == w).expect("it exists");
            self.timers.insert((self.now + span, order, w));
        }
    }

    fn wake(&mut self, w: usize) {
        self.timers.retain(|t| t.2 != w);
        self.workers[w].stage = Stage::Woken(0);
    }

    /// All states after waking so many of these waiters.
    fn wake_some(&self, waiters: &BTreeSet<usize>, count: usize) -> Vec<(Model, BTreeSet<usize>)> {
        let waiters: Vec<usize> = waiters.iter().copied().collect();
        let count = count.min(waiters.len());
        let subsets = (0u32..1 << waiters.len()).filter(|s| s.count_ones() as usize == count);
        subsets
            .map(|subset| {
                let mut model = self.clone();
                let chosen: BTreeSet<usize> = waiters
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| subset & (1 << i) != 0)
                    .map(|(_, w)| *w)
                    .collect();
                chosen.iter().for_each(|w| model.wake(*w));
                (model, chosen)
            })
            .collect()
    }

    fn notify(&self, program: &Program, w: usize, condvar: u32, count: usize) -> Vec<Next> {
        let none = BTreeSet::new();
        let waiters = self.condvars.get(&condvar).unwrap_or(&none);
        let woken = self.wake_some(waiters, count).into_iter().map(|(mut model, chosen)| {
            if let Some(queue) = model.condvars.get_mut(&condvar) {
                queue.retain(|w| !chosen.contains(w));
            }
            (model.done(program, w, 0), None)
        });
        woken.collect()
    }

    /// All ways in which this worker's next step can go.
    fn step(&self, program: &Program, w: usize) -> Vec<Next> {
        let mut model = self.clone();
        let Some(action) = self.action(program, w) else {
            return vec![(model.ended_by_return(program, w), None)];
        };
        match self.workers[w].stage {
            Stage::Created => {
                model.workers[w].stage = Stage::Running;
                return vec![(model, None)];
            }
            Stage::Woken(result) => {
                if let Wait(_, m) | WaitFor(_, m, _) = action {
                    model.owners.insert(m, w);
                }
                return vec![(model.done(program, w, result), None)];
            }
            _ => {}
        }
        let holds = |m: u32| self.owners.get(&m) == Some(&w);
        let result = match action {
            Lock(m) => {
                model.owners.insert(m, w);
                0
            }
            TryLock(m) => {
                let free = !self.owners.contains_key(&m);
                if free {
                    model.owners.insert(m, w);
                }
                u8::from(free)
            }
            Unlock(m) if !holds(m) => return vec![(model, Some("misuse"))],
            Unlock(m) => {
                model.owners.remove(&m);
                0
            }
            Wait(_, m) | WaitFor(_, m, _) if !holds(m) => return vec![(model, Some("misuse"))],
            Wait(c, m) | WaitFor(c, m, _) if self.waits_with_another(program, c, m) => {
                return vec![(model, Some("misuse"))];
            }
            Wait(c, m) | WaitFor(c, m, _) => {
                model.owners.remove(&m);
                model.condvars.entry(c).or_default().insert(w);
                model.wait(w, if let WaitFor(_, _, span) = action { Some(span) } else { None });
                return vec![(model, None)];
            }
            Signal(c) => return self.notify(program, w, c, 1),
            Broadcast(c) => return self.notify(program, w, c, usize::MAX),
            FutexWait(a, v) | FutexWaitFor(a, v, _) => {
                if self.cells.get(&a).copied().unwrap_or(0) == v {
                    model.futexes.entry(a).or_default().insert(w);
                    model.wait(w, if let FutexWaitFor(_, _, span) = action { Some(span) } else { None });
                    return vec![(model, None)];
                }
                1
            }
            FutexNotify(a, count) => {
                let none = BTreeSet::new();
                let waiters = self.futexes.get(&a).unwrap_or(&none);
                let woken = self.wake_some(waiters, count as usize).into_iter().map(|(mut model, chosen)| {
                    if let Some(queue) = model.futexes.get_mut(&a) {
                        queue.retain(|w| !chosen.contains(w));
                    }
                    (model.done(program, w, chosen.len() as u8), None)
                });
                return woken.collect();
            }
            Store(a, v) => {
                model.cells.insert(a, v);
                0
            }
            Load(a) => self.cells.get(&a).copied().unwrap_or(0) as u8,
            Sleep(span) => {
                model.wait(w, Some(span));
                return vec![(model, None)];
            }
            Yield => 0,
            ChooseInt(n) => return (0..n).map(|v| (self.clone().done(program, w, v as u8), None)).collect(),
            Exit => {
                model.workers[w].stage = Stage::Ended;
                return vec![(model, None)];
            }
            Spawn(child) | SpawnDetached(child) => {
                model.workers[child].stage = Stage::Created;
                model.workers[child].detached = matches!(action, SpawnDetached(_));
                model.created.push(child);
                0
            }
            Join(_) => 0,
        };
        vec![(model.done(program, w, result), None)]
    }

    /// The earliest timeout fires.
    fn fire(&self, program: &Program) -> Option<Model> {
        let mut model = self.clone();
        let (deadline, _, w) = model.timers.pop_first()?;
        model.now = model.now.max(deadline);
        model.condvars.values_mut().chain(model.futexes.values_mut()).for_each(|q| q.retain(|x| *x != w));
        let result = match self.action(program, w) {
            Some(WaitFor(..)) => 1,
            Some(FutexWaitFor(..)) => 2,
            _ => 0,
        };
        model.workers[w].stage = Stage::Woken(result);
        Some(model)
    }

    /// The outcome, if nothing more happens.
    fn over(&self, program: &Program, at_exit: AtExit) -> Option<&'static str> {
        let main_ended = self.workers[0].stage == Stage::Ended;
        if main_ended && at_exit == AtExit::Kill {
            return Some("passed");
        }
        if !self.timers.is_empty() || (0..self.workers.len()).any(|w| self.can_step(program, w)) {
            return None;
        }
        let left = |w: usize| !matches!(self.workers[w].stage, Stage::Absent | Stage::Ended);
        let excused = |w: usize| self.workers[w].detached && !self.owners.values().any(|o| *o == w);
        let fine = main_ended && (0..self.workers.len()).all(|w| !left(w) || excused(w));
        Some(if fine { "passed" } else { "deadlock" })
    }

    fn end(&self, program: &Program, outcome: &str) -> End {
        let results = self.workers.iter().zip(program).map(|(worker, actions)| {
            let mut results = worker.results.clone();
            results.resize(actions.iter().filter(|a| a.has_result()).count(), None);
            results
        });
        End { outcome: outcome.into(), results: results.collect() }
    }
}

/// All ends of the model, by a search of its states.
fn modelled(program: &Program, at_exit: AtExit) -> BTreeSet<End> {
    let mut ends = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut left = vec![Model::new(program)];
    while let Some(model) = left.pop() {
        if !seen.insert(model.clone()) {
            continue;
        }
        if let Some(outcome) = model.over(program, at_exit) {
            ends.insert(model.end(program, outcome));
            continue;
        }
        let able = (0..program.len()).filter(|w| model.can_step(program, *w));
        for next in able.flat_map(|w| model.step(program, w)) {
            match next {
                (next, None) => left.push(next),
                (end, Some(outcome)) => {
                    ends.insert(end.end(program, outcome));
                }
            }
        }
        left.extend(model.fire(program));
    }
    ends
}

// The comparison.

/// Atomic accesses are scheduling points, stores of results are not.
fn compile(program: &Program) -> Arc<Artifact> {
    let wasm = wat::parse_str(to_wat(program)).unwrap_or_else(|e| panic!("{e}\n{}", to_wat(program)));
    guest::compile(&wasm, &Options { points: Points::Atomic, ..Options::default() }).unwrap()
}

fn compare(program: &Program) -> BTreeSet<End> {
    let artifact = compile(program);
    let mut all = BTreeSet::new();
    for at_exit in [AtExit::Wait, AtExit::Kill] {
        let (executed, modelled) = (executed(&artifact, program, at_exit), modelled(program, at_exit));
        let missing: Vec<_> = modelled.difference(&executed).collect();
        let surplus: Vec<_> = executed.difference(&modelled).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{program:?}, at exit {at_exit:?}: never executed: {missing:?}; not in the model: {surplus:?}"
        );
        all.extend(executed);
    }
    all
}

/// A program whose first worker starts all others, does something and joins them.
fn program(main: &[Action], others: &[&[Action]]) -> Program {
    let mut first: Vec<Action> = (1..=others.len()).map(Spawn).collect();
    first.extend(main);
    first.extend((1..=others.len()).map(Join));
    std::iter::once(first).chain(others.iter().map(|o| o.to_vec())).collect()
}

/// Compares, and checks that there are so many different ends, so that a model which is as wrong as
/// the host is noticed by whoever reads the number.
fn check(main: &[Action], others: &[&[Action]], ends: usize) {
    let program = program(main, others);
    let found = compare(&program);
    let listed: Vec<String> = found.iter().map(|e| format!("{} {:?}", e.outcome, e.results)).collect();
    assert_eq!(found.len(), ends, "{program:?}:\n{}", listed.join("\n"));
}

#[test]
fn mutexes() {
    let counted = [Lock(0), Load(0), Store(0, 1), Unlock(0)];
    check(&[], &[&counted, &counted], 2);
    // Whoever comes may take a released lock, also the one that released it.
    check(&[], &[&[Lock(0), Unlock(0), Lock(0), Store(0, 1), Unlock(0)], &[Lock(0), Load(0), Unlock(0)]], 2);
    check(&[Lock(0)], &[&[TryLock(0)], &[TryLock(0)]], 3);
    check(&[], &[&[TryLock(0), Load(0)], &[TryLock(0), Load(0)], &[Store(0, 1)]], 8);
    // Both orders of two locks, and both at once.
    check(&[], &[&[Lock(0), Lock(1), Unlock(1), Unlock(0)], &[Lock(1), Lock(0), Unlock(0), Unlock(1)]], 2);
    check(&[Lock(0), Lock(0)], &[], 1);
    check(&[Unlock(0)], &[], 1);
    check(&[Unlock(0)], &[&[Lock(0), Load(0)]], 2);
}

#[test]
fn condvars() {
    let waiter = [Lock(0), Wait(0, 0), Load(0), Unlock(0)];
    // A notification before the wait is lost.
    check(&[Lock(0), Store(0, 1), Signal(0), Unlock(0)], &[&waiter], 2);
    check(&[Lock(0), Store(0, 1), Broadcast(0), Unlock(0)], &[&waiter, &waiter], 4);
    check(&[Lock(0), Signal(0), Unlock(0)], &[&waiter, &waiter], 3);
    // The notifier saw that both wait: it may still be either of them that is woken.
    check(
        &[Lock(0), Load(0), Load(1), Signal(0), Unlock(0)],
        &[&[Lock(0), Store(0, 1), Wait(0, 0), Load(2)], &[Lock(0), Store(1, 1), Wait(0, 0), Load(2)]],
        5,
    );
    // Between notification and relock anybody may have the mutex.
    check(&[Signal(0)], &[&waiter, &[Lock(0), Store(0, 1), Unlock(0)]], 3);
    check(&[Signal(0), Signal(0)], &[&waiter, &waiter], 4);
    check(&[Wait(0, 0)], &[], 1);
    check(&[Lock(0), Wait(0, 1)], &[], 1);
}

#[test]
fn timeouts_race_with_notifications() {
    let waiter = [Lock(0), WaitFor(0, 0, 10), Unlock(0), Load(0)];
    check(&[Store(0, 1), Signal(0)], &[&waiter], 3);
    check(&[Signal(0)], &[&waiter, &waiter], 3);
    check(&[Broadcast(0)], &[&waiter, &[Lock(0), WaitFor(0, 0, 5), Unlock(0)]], 4);
    // The mutex is taken when the timeout fires.
    check(&[Lock(0), Store(0, 1), Unlock(0)], &[&waiter], 2);
    // The shorter sleep ends first, if both began together.
    check(&[], &[&[Sleep(5), Store(0, 1)], &[Sleep(10), Load(0)]], 2);
    check(&[], &[&[Sleep(5), Load(0)], &[Sleep(5), Store(0, 1)]], 2);
    check(&[Sleep(1), FutexNotify(0, 1)], &[&[FutexWaitFor(0, 0, 1), Load(0)], &[FutexWaitFor(0, 0, 3)]], 3);
}

#[test]
fn futexes() {
    check(&[Store(0, 1), FutexNotify(0, 1)], &[&[FutexWait(0, 0)]], 2);
    check(&[FutexNotify(0, 1)], &[&[FutexWait(0, 0)], &[FutexWait(0, 0)]], 3);
    // Who does not come back had begun to wait before the store: either of two waiters may be woken.
    check(&[Store(0, 1), FutexNotify(0, 1)], &[&[FutexWait(0, 0)], &[FutexWait(0, 0)]], 5);
    check(&[FutexNotify(0, 2)], &[&[FutexWait(0, 0)], &[FutexWait(0, 0)], &[FutexWait(0, 0)]], 7);
    check(&[FutexNotify(0, 0)], &[&[FutexWait(0, 0)]], 1);
    check(&[FutexNotify(1, 9)], &[&[FutexWait(0, 0)], &[FutexWait(1, 0)]], 2);
    check(&[FutexWait(0, 1)], &[], 1);
    check(&[Store(0, 1), FutexNotify(0, 9)], &[&[FutexWait(0, 0)], &[FutexWait(0, 1)]], 6);
}

#[test]
fn workers_end_and_are_joined() {
    check(&[], &[&[Store(0, 1), Exit, Store(0, 2)], &[Load(0)]], 2);
    check(&[Exit], &[&[Load(0)], &[Store(0, 1)]], 3);
    check(&[ChooseInt(3)], &[&[ChooseInt(2)], &[Yield]], 6);
    check(&[ChooseInt(1)], &[], 1);
    // Two workers wait for the end of a third.
    check(&[Join(1)], &[&[Store(0, 1)], &[Load(0)]], 2);
    let joins_itself_by_a_lock = vec![vec![Lock(0), Spawn(1), Join(1)], vec![Lock(0)]];
    assert_eq!(compare(&joins_itself_by_a_lock).len(), 1);
}

/// What is left when the first worker has ended is a bug, unless it is detached and holds no lock.
#[test]
fn blocked_for_ever_at_the_end() {
    let blocked = |spawn: Action, other: &[Action]| {
        let ends = compare(&vec![vec![spawn], other.to_vec()]);
        ends.into_iter().map(|e| e.outcome).collect::<Vec<_>>()
    };
    // One of both rules at exit passes all.
    assert_eq!(blocked(SpawnDetached(1), &[FutexWait(0, 0)]), ["passed"]);
    assert_eq!(blocked(Spawn(1), &[FutexWait(0, 0)]), ["deadlock", "passed"]);
    assert_eq!(blocked(SpawnDetached(1), &[Lock(0), FutexWait(0, 0)]), ["deadlock", "passed"]);
    assert_eq!(blocked(SpawnDetached(1), &[Lock(0), Wait(0, 0)]), ["passed"]);
    assert_eq!(blocked(SpawnDetached(1), &[Lock(0)]), ["passed"]);
}

/// Programs nobody thought of: two workers beside the first, with up to three actions each.
#[test]
fn random_programs() {
    let mut ends = 0;
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..PROGRAMS {
        let mut rng = ChoiceRng::new(Iteration { seed: 21, index });
        let program = random_program(&mut rng);
        let found = compare(&program);
        ends += found.len();
        for end in found {
            *outcomes.entry(end.outcome).or_default() += 1;
        }
    }
    assert!(ends > 3 * PROGRAMS as usize, "programs with few ends: {ends}");
    assert!(outcomes.values().all(|n| *n >= 50) && outcomes.len() == 3, "{outcomes:?}");
}

const PROGRAMS: u64 = 400;

fn random_program(rng: &mut ChoiceRng) -> Program {
    let worker = |rng: &mut ChoiceRng, actions_max: u64| -> Vec<Action> {
        let count = 1 + rng.below(actions_max);
        (0..count).map(|_| random_action(rng)).collect()
    };
    let mut main: Vec<Action> =
        (1..=2).map(|w| if rng.one_in(4) { SpawnDetached(w) } else { Spawn(w) }).collect();
    main.extend(worker(rng, 2));
    for w in 1..=2 {
        if !rng.one_in(3) {
            main.push(Join(w));
        }
    }
    // A wait needs its mutex, or it is nothing but misuse.
    let locked = |mut actions: Vec<Action>| {
        if actions.iter().any(|a| matches!(a, Wait(..) | WaitFor(..) | Unlock(_))) {
            actions.insert(0, Lock(0));
        }
        actions
    };
    let (a, b) = (worker(rng, 3), worker(rng, 3));
    vec![main, locked(a), locked(b)]
}

fn random_action(rng: &mut ChoiceRng) -> Action {
    let m = u32::from(rng.one_in(4));
    let cell = u32::from(rng.one_in(3));
    match rng.below(17) {
        0 => Lock(m),
        1 | 2 => TryLock(m),
        3 | 4 => Unlock(m),
        5 | 6 => Wait(0, m),
        7 => WaitFor(0, m, 5 * (1 + rng.below(2))),
        8 => Signal(0),
        9 => Broadcast(0),
        10 => FutexWait(cell, rng.below(2) as u32),
        11 => FutexWaitFor(cell, 0, 5 * (1 + rng.below(2))),
        12 => FutexNotify(cell, rng.below(3) as u32),
        13 => Store(cell, rng.below(2) as u32),
        14 => Load(cell),
        15 => Sleep(5 * (1 + rng.below(2))),
        _ if rng.one_in(2) => Exit,
        _ => ChooseInt(1 + rng.below(3) as u32),
    }
}

/// Searching states instead of schedules leaves no end out: fingerprints tell apart what differs.
#[test]
fn states_and_schedules_have_the_same_ends() {
    let mut counted = 0;
    for index in 0..60 {
        let mut rng = ChoiceRng::new(Iteration { seed: 22, index });
        let actions = |rng: &mut ChoiceRng| [random_action(rng), random_action(rng)];
        let (a, b) = (actions(&mut rng), actions(&mut rng));
        let program: Program = vec![vec![Spawn(1), a[0], a[1]], [&[Lock(0)][..], &b].concat()];
        let artifact = compile(&program);
        guest::with(&artifact, "t", &guest::settings(), |execution| {
            let name = |e: &coyote_wasm::execution::Execution, o: &coyote_wasm::outcome::Outcome| {
                let results = RESULTS as usize;
                (format!("{o:?}"), e.machine().memory()[results..results + 2 * RESULTS_MAX].to_vec())
            };
            let (all, schedules) = search::schedules(execution, &mut { name });
            assert_eq!(search::distinct(execution, &mut { name }), all, "{program:?}");
            counted += schedules;
        });
    }
    assert!(counted > 1_000, "only {counted} schedules");
}
