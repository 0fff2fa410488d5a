//! Inversions of locks: generated programs, compared with all their states by plain enumeration, which knows
//! nothing of the order of locks.

use super::c_programs::build;
use super::{guest, process};
use coyote_wasm::outcome::BugKind;
use coyote_wasm::results::TestResult;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, Pick, Strategy, View};
use coyote_wasm::tester::Tester;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Two mutexes, a gate, and an rwlock.
const LOCKS: u64 = 4;
const RWLOCK: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Lock(usize),
    /// Only for the rwlock.
    Read,
    Unlock(usize),
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Op>>,
    /// Whether each thread is joined before the next one is created.
    sequential: bool,
}

/// Nested pairs of operations that take no lock twice.
fn script(rng: &mut ChoiceRng) -> Vec<Op> {
    let (mut ops, mut held) = (Vec::new(), Vec::new());
    for _ in 0..2 + rng.below(3) {
        while held.len() > 1 && rng.below(3) == 0 || held.len() == 3 {
            ops.push(Op::Unlock(held.pop().unwrap()));
        }
        let lock = rng.below(LOCKS) as usize;
        if !held.contains(&lock) {
            ops.push(if lock == RWLOCK && rng.below(2) == 0 { Op::Read } else { Op::Lock(lock) });
            held.push(lock);
        }
    }
    ops.extend(held.into_iter().rev().map(Op::Unlock));
    ops
}

fn program(index: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed: 77, index });
    let threads = (0..2 + rng.below(2)).map(|_| script(&mut rng)).collect();
    Program { threads, sequential: rng.below(8) == 0 }
}

/// Whether some order of its steps leads to a state in which some thread has not ended and none is enabled.
fn deadlocks(program: &Program) -> bool {
    let free = |at: &[usize], thread: usize, lock: usize, reads: bool| {
        (0..at.len()).filter(|other| *other != thread).all(|other| {
            let holds = program.threads[other][..at[other]].iter().fold(None, |held, op| match *op {
                Op::Lock(l) if l == lock => Some(false),
                Op::Read if lock == RWLOCK => Some(true),
                Op::Unlock(l) if l == lock => None,
                _ => held,
            });
            holds.is_none_or(|other_reads| reads && other_reads)
        })
    };
    let (mut seen, mut left) = (BTreeSet::new(), vec![vec![0; program.threads.len()]]);
    while let Some(at) = left.pop() {
        if !seen.insert(at.clone()) {
            continue;
        }
        let (mut moved, mut ended) = (false, true);
        for (thread, ops) in program.threads.iter().enumerate() {
            let Some(op) = ops.get(at[thread]) else { continue };
            ended = false;
            let waits_for_turn =
                program.sequential && (0..thread).any(|before| at[before] < program.threads[before].len());
            let can = !waits_for_turn
                && match *op {
                    Op::Lock(lock) => free(&at, thread, lock, false),
                    Op::Read => free(&at, thread, RWLOCK, true),
                    Op::Unlock(_) => true,
                };
            if can {
                moved = true;
                let mut next = at.clone();
                next[thread] += 1;
                left.push(next);
            }
        }
        if !moved && !ended {
            return true;
        }
    }
    false
}

/// Each program is a test.
fn module(programs: &[Program]) -> String {
    let mut text = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "coyote" "rwlock_read" (func $read (param i32 i64) (result i32)))
  (import "coyote" "rwlock_write" (func $write (param i32 i64) (result i32)))
  (import "coyote" "rwlock_unlock" (func $rwunlock (param i32) (result i32)))
  (memory (export "memory") 1)
"#
    .to_string();
    let (mut names, mut tests) = (String::new(), String::new());
    let mut functions = 0;
    for (number, program) in programs.iter().enumerate() {
        let (mut joins, mut locals) = (String::new(), String::new());
        let mut body = String::new();
        for (thread, ops) in program.threads.iter().enumerate() {
            write!(names, " $p{number}_{thread}").unwrap();
            write!(text, "  (func $p{number}_{thread} (param i32)").unwrap();
            for op in ops {
                let address = |lock: &usize| 8 * (lock + 1);
                match op {
                    Op::Lock(RWLOCK) => {
                        write!(text, " (drop (call $write (i32.const {}) (i64.const -1)))", address(&RWLOCK))
                    }
                    Op::Lock(lock) => {
                        write!(text, " (drop (call $lock (i32.const {}) (i64.const -1)))", address(lock))
                    }
                    Op::Read => {
                        write!(text, " (drop (call $read (i32.const {}) (i64.const -1)))", address(&RWLOCK))
                    }
                    Op::Unlock(RWLOCK) => {
                        write!(text, " (drop (call $rwunlock (i32.const {})))", address(&RWLOCK))
                    }
                    Op::Unlock(lock) => write!(text, " (drop (call $unlock (i32.const {})))", address(lock)),
                }
                .unwrap();
            }
            text += ")\n";
            locals += " i32";
            let start = format!(
                " (local.set {thread} (call $spawn (i32.const {functions}) (i32.const 0) (i32.const 0) (i32.const 0)))"
            );
            let join = format!(" (call $join (local.get {thread}))");
            body += &start;
            if program.sequential {
                body += &join
            } else {
                joins += &join
            }
            functions += 1;
        }
        writeln!(tests, "  (func (export \"coyote.test.p{number}\") (local{locals}){body}{joins})").unwrap();
    }
    format!("{text}  (table {functions} funcref)\n  (elem (i32.const 0){names})\n{tests})")
}

/// A strategy under which the running worker continues as long as possible.
#[derive(Clone)]
struct OneAfterTheOther;

impl Strategy for OneAfterTheOther {
    fn name(&self) -> String {
        "one-after-the-other".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn begin(&mut self, _iteration: Iteration) {}

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let current = view.current.filter(|current| view.enabled.contains(current));
        current.or(view.enabled.first().copied()).map(Pick::Step)
    }

    fn value(&mut self, _bound: u64, _view: &View) -> Option<u64> {
        Some(0)
    }
}

/// One iteration in which no worker is interrupted.
fn explore(tester: &Tester, name: &str) -> TestResult {
    let mut tester = tester.clone();
    tester.settings.detectors.set("lock-order", true);
    tester.budget.timeout = None;
    tester.budget.iterations_max = 1;
    tester.explore_with(name, &|_| Box::new(OneAfterTheOther)).unwrap()
}

/// One schedule without interruptions shows all inversions, and none that gates, creation or joins rule out;
/// and schedules that are steered towards them reach the deadlock if there is one.
#[test]
fn inversions_are_deadlocks() {
    let directory = tempfile::tempdir().unwrap();
    let (mut possible, mut gated) = (0, 0);
    for batch in 0..10 {
        let programs: Vec<Program> = (0..100).map(|index| program(100 * batch + index)).collect();
        let mut tester = Tester::of(guest::from_text(&module(&programs)));
        tester.traces = directory.path().into();
        for (number, program) in programs.iter().enumerate() {
            let (name, expected) = (format!("p{number}"), deadlocks(program));
            let result = explore(&tester, &name);
            let about = || format!("batch {batch}, {name}: {program:?}: {:?}", result.inversions);
            assert_eq!(!result.inversions.is_empty(), expected, "{}", about());
            assert_eq!(result.bugs.len(), usize::from(expected), "{}", about());
            possible += u64::from(expected);
            gated += u64::from(!expected && inverted(program));
            let Some(found) = result.bugs.first() else { continue };
            assert_eq!(found.bug.kind, BugKind::Deadlock, "{}", about());
            assert!(tester.replay(&found.trace).unwrap().reproduces(&found.trace), "{}", about());
        }
    }
    // Otherwise the test would show little.
    assert!(possible > 100 && gated > 50, "{possible} {gated}");
}

/// Whether two threads take two locks in opposite orders, even if something keeps them apart.
fn inverted(program: &Program) -> bool {
    let pairs = |ops: &[Op]| {
        let (mut held, mut pairs) = (Vec::new(), BTreeSet::new());
        for op in ops {
            let lock = match *op {
                Op::Lock(lock) => lock,
                Op::Read => RWLOCK,
                Op::Unlock(_) => {
                    held.pop();
                    continue;
                }
            };
            pairs.extend(held.iter().map(|held| (*held, lock)));
            held.push(lock);
        }
        pairs
    };
    let all: Vec<BTreeSet<(usize, usize)>> = program.threads.iter().map(|ops| pairs(ops)).collect();
    let opposed = |a: &BTreeSet<(usize, usize)>, b: &BTreeSet<(usize, usize)>| {
        a.iter().any(|(first, second)| b.contains(&(*second, *first)))
    };
    (0..all.len()).any(|one| (0..one).any(|other| opposed(&all[one], &all[other])))
}

/// Two pairs of locks that two threads take in opposite orders.
const TWO_PAIRS: &str = r#"
#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER, d = PTHREAD_MUTEX_INITIALIZER;
__attribute__((always_inline)) static inline void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}
static void *other(void *unused) {
    both(&b, &a);
    both(&d, &c);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    both(&a, &b);
    both(&c, &d);
    pthread_join(thread, NULL);
}
"#;

/// All deadlocks that one iteration shows to be possible are reported, each with a trace of its own; or as many as are
/// asked for.
#[test]
fn each_deadlock_has_a_trace() {
    let Some(built) = build(TWO_PAIRS, &["-O1"]) else { return };
    let here = built.directory.path();
    let steered = |seed: &str, more: &[&str]| {
        let options =
            ["test", "program.wasm", "--explore", "-i", "1", "--no-shrink", "--detect", "lock-order"];
        process::run(here, &[&options[..], &["--seed", seed], more].concat())
    };
    // Most seeds begin with a deadlock.
    let seeds = (0..40).map(|seed: u32| seed.to_string());
    let mut passes = seeds.filter(|seed| steered(seed, &[]).stdout.contains("(steered)"));
    let seed = passes.next().expect("one of the seeds begins with an iteration that passes");
    let traces = |ended: &process::Ended| -> BTreeSet<String> {
        ended.stdout.lines().filter_map(|line| line.strip_prefix("  trace:  ").map(String::from)).collect()
    };
    let all = steered(&seed, &[]);
    assert_eq!(traces(&all).len(), 2, "{all:?}");
    let places = |ended: process::Ended| -> Vec<String> {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.stdout.lines().filter(|line| line.starts_with("    at main ")).map(String::from).collect()
    };
    let replayed: BTreeSet<Vec<String>> = traces(&all)
        .iter()
        .map(|trace| places(process::run(here, &["replay", "program.wasm", trace])))
        .collect();
    assert_eq!(replayed.len(), 2, "{replayed:?}");
    let one = steered(&seed, &["--max-bugs", "1"]);
    assert_eq!(traces(&one).len(), 1, "{one:?}");
}
