//! Bugs of one exploration: the same bug is reported once, with its simplest trace, for every strategy and
//! any number of jobs.

use super::c_programs::{self, Built};
use super::guest;
use coyote_wasm::artifact::Artifact;
use coyote_wasm::instrumenter::Options;
use coyote_wasm::results::{Stop, TestResult};
use coyote_wasm::strategies::search::is_search;
use coyote_wasm::tester::Tester;
use std::sync::Arc;

/// Two workers take two locks in different orders. A third one takes first one lock and then the other, and
/// may be at either or have ended when they deadlock; the first worker joins it before the others.
const DEADLOCK: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
  (table 3 funcref)
  (elem (i32.const 0) $ab $ba $bystander)
  (func $take (param i32) (drop (call $lock (local.get 0) (i64.const -1))))
  (func $give (param i32) (drop (call $unlock (local.get 0))))
  (func $ab (param i32)
    (call $take (i32.const 0x800)) (call $take (i32.const 0x804))
    (call $give (i32.const 0x804)) (call $give (i32.const 0x800)))
  (func $ba (param i32)
    (call $take (i32.const 0x804)) (call $take (i32.const 0x800))
    (call $give (i32.const 0x800)) (call $give (i32.const 0x804)))
  (func $bystander (param i32)
    (call $take (i32.const 0x800)) (call $give (i32.const 0x800))
    (call $take (i32.const 0x804)) (call $give (i32.const 0x804)))
  (func $start (param i32) (result i32)
    (call $spawn (local.get 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func (export "coyote.test.t") (local i32 i32)
    (local.set 0 (call $start (i32.const 0)))
    (local.set 1 (call $start (i32.const 1)))
    (call $join (call $start (i32.const 2)))
    (call $join (local.get 0))
    (call $join (local.get 1))))"#;

/// A module for samplers and for searches that rely on footprints.
fn compile(text: &str) -> Arc<Artifact> {
    let options = Options { footprints: true, ..Options::default() };
    guest::compile(&wat::parse_str(text).unwrap(), &options).unwrap()
}

/// Explores a test to the end of the budget, and replays found bugs.
fn explore(artifact: &Arc<Artifact>, test: &str, strategy: &str, iterations: u64, jobs: usize) -> TestResult {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(artifact.clone());
    tester.traces = directory.path().into();
    tester.budget.timeout = None;
    tester.budget.iterations_max = iterations;
    tester.budget.explore = true;
    tester.budget.jobs = jobs;
    let exploration = tester.explore(test, strategy).unwrap();
    for found in &exploration.bugs {
        assert!(tester.replay(&found.trace).unwrap().reproduces(&found.trace), "{test} by {strategy}");
    }
    let left = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let traces = left.filter(|path| path.extension().is_some_and(|e| e == "trace")).count();
    assert_eq!(traces, exploration.bugs.len(), "one trace is kept of each bug: {test} by {strategy}");
    exploration
}

#[test]
fn bystanders_do_not_tell_deadlocks_apart() {
    let artifact = compile(DEADLOCK);
    for strategy in ["random", "portfolio", "dfs+hb", "dpor"] {
        let iterations = if is_search(strategy) { u64::MAX } else { 1_000 };
        let exploration = explore(&artifact, "t", strategy, iterations, 2);
        let kinds: Vec<&str> = exploration.bugs.iter().map(|f| f.bug.kind.name()).collect();
        assert_eq!(kinds, ["deadlock"], "{strategy}");
        // It was found with the third worker at several places: blocked at one of the locks, or ended.
        assert!(exploration.bugs[0].count > 1, "{strategy}");
        let identity = &exploration.bugs[0].trace.header.identity.as_ref().unwrap();
        let paths: Vec<String> = identity.parties.iter().map(|p| p.worker.to_string()).collect();
        assert_eq!(paths, ["0.0", "0.1"], "{strategy}");
    }
}

/// Deadlocks at other locks, or in the code of other workers, are other bugs.
#[test]
fn other_deadlocks_are_told_apart() {
    let forgets = "(call $give (i32.const 0x804)) (call $give (i32.const 0x800)))";
    assert!(DEADLOCK.contains(forgets));
    let artifact = compile(&DEADLOCK.replacen(forgets, "(call $give (i32.const 0x804)))", 1));
    for strategy in ["random", "dfs"] {
        let exploration = explore(&artifact, "t", strategy, 2_000, 2);
        let parties: Vec<usize> = exploration
            .bugs
            .iter()
            .map(|f| f.trace.header.identity.as_ref().unwrap().parties.len())
            .collect();
        // The circle, and a lock whose holder has ended: wanted by one of the others or by both.
        assert!(parties.contains(&2) && parties.contains(&1), "{strategy}: {parties:?}");
    }
}

/// The kept trace is the one with the fewest switches, and of these the shortest, as executing each iteration
/// separately shows. Its text does not depend on jobs.
#[test]
fn the_simplest_trace_is_kept() {
    let artifact = compile(DEADLOCK);
    let simplest = (0..300)
        .flat_map(|index| {
            let directory = tempfile::tempdir().unwrap();
            let mut tester = Tester::of(artifact.clone());
            tester.traces = directory.path().into();
            tester.budget.first = index;
            tester.budget.iterations_max = 1;
            let found = tester.explore("t", "random").unwrap().bugs;
            found.into_iter().map(|f| (f.trace.switches(), f.trace.decisions.len()))
        })
        .min()
        .expect("some iterations deadlock");
    let all: Vec<TestResult> =
        [1, 3].into_iter().map(|jobs| explore(&artifact, "t", "random", 300, jobs)).collect();
    let kept = &all[0].bugs[0].trace;
    assert_eq!((kept.switches(), kept.decisions.len()), simplest);
    assert_eq!(kept.to_text(), all[1].bugs[0].trace.to_text());
    assert_eq!(all[0].bugs[0].count, all[1].bugs[0].count);
}

/// A search with several jobs finds bugs in any order, and reports the same ones, equally often. Which schedule of a
/// state or class is executed may depend on which job is there first, and so may how far the others come before a
/// circle of waiting workers is noticed.
#[test]
fn searches_report_the_same_with_any_jobs() {
    let forgets = "(call $give (i32.const 0x804)) (call $give (i32.const 0x800)))";
    let artifact = compile(&DEADLOCK.replacen(forgets, "(call $give (i32.const 0x804)))", 1));
    for strategy in ["dpor", "dfs+hb", "stateful"] {
        assert!(is_search(strategy));
        let bugs = |jobs| {
            let exploration = explore(&artifact, "t", strategy, u64::MAX, jobs);
            let found = exploration.bugs.into_iter();
            let mut found: Vec<_> = found.map(|f| (f.bug.kind.name(), f.count)).collect();
            found.sort();
            found
        };
        let one = bugs(1);
        assert!(one.len() > 1, "{strategy}: {one:?}");
        for jobs in [2, 3, 8] {
            assert_eq!(one, bugs(jobs), "{strategy}, {jobs} jobs");
        }
    }
}

/// Either of two loads in one line may be the one after the free: for the user it is one bug.
#[test]
fn instructions_of_one_line_are_one_place() {
    let program = "
        #include <pthread.h>
        #include <stdlib.h>
        struct item { int a, b; };
        static struct item *item;
        static volatile int sum, noise;
        static void *use(void *p) {
            sum = item->a + item->b;
            return p;
        }
        static void *discard(void *p) {
            free(item);
            return p;
        }
        static void *bystander(void *p) {
            noise = 1;
            noise = 2;
            return p;
        }
        int main(void) {
            pthread_t threads[3];
            item = calloc(1, sizeof *item);
            pthread_create(&threads[0], 0, use, 0);
            pthread_create(&threads[1], 0, discard, 0);
            pthread_create(&threads[2], 0, bystander, 0);
            for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
            return 0;
        }";
    let Some(Built { module, directory: _directory }) = c_programs::build(program, &["-O0", "-g"]) else {
        return;
    };
    let artifact = guest::compile(&std::fs::read(module).unwrap(), &Default::default()).unwrap();
    let exploration = explore(&artifact, "main", "random", 2_000, 2);
    let kinds: Vec<&str> = exploration.bugs.iter().map(|f| f.bug.kind.name()).collect();
    assert_eq!(kinds, ["use-after-free"]);
}

/// Common properties of the iterations with a bug are counted, for any number of jobs: the line that only
/// these reach, and the data with which they fail.
#[test]
fn what_goes_along_with_a_bug_is_counted() {
    let program = "
        #include <assert.h>
        #include <coyote.h>
        #include <pthread.h>
        static volatile int hit, other;
        static void *bystander(void *p) {
            other = 1;
            return p;
        }
        int main(void) {
            pthread_t thread;
            pthread_create(&thread, 0, bystander, 0);
            unsigned a = coyote_choose_int(4);
            unsigned b = coyote_choose_int(3);
            if (a >= 2 && b == 1)
                hit = 1;
            pthread_join(thread, 0);
            assert(!hit);
            return 0;
        }";
    let line = 1 + program.lines().position(|line| line.contains("hit = 1")).unwrap() as u32;
    let Some(Built { module, directory: _directory }) = c_programs::build(program, &["-O1", "-g"]) else {
        return;
    };
    let artifact = guest::compile(&std::fs::read(module).unwrap(), &Default::default()).unwrap();
    let [one, three] =
        [1, 3].map(|jobs| explore(&artifact, "main", "random", 600, jobs).correlation.unwrap());
    assert_eq!(one, three);
    // There are 12 combinations; the chance that all iterations miss a given one is (11/12)^600.
    assert_eq!(one.configurations.len(), 12);
    let failing: Vec<(Vec<u64>, bool)> = one
        .failing_data()
        .into_iter()
        .map(|(data, counted)| {
            (data.0.iter().map(|(_, value)| *value).collect(), counted.failing == counted.of)
        })
        .collect();
    assert_eq!(failing, [(vec![2, 1], true), (vec![3, 1], true)]);
    let counted = one.configurations.values().map(|outcomes| outcomes.of).sum::<u64>();
    let [bug] = one.failing.keys().collect::<Vec<_>>()[..] else { panic!("{:?}", one.failing) };
    assert_eq!(counted, 600);
    assert_eq!(one.passing.iterations + one.failing[bug].iterations, 600);
    let suspects = one.suspects(bug);
    assert_eq!((suspects[0].at.line, suspects[0].passing), (line, 0), "{suspects:?}");
    assert_eq!((suspects[0].failing, suspects[0].rank), (one.failing[bug].iterations, 1.0));
}

/// Exploration ends with the last of the wanted bugs, for any number of jobs.
#[test]
fn so_many_different_bugs_are_enough() {
    let program = "
        #include <assert.h>
        #include <coyote.h>
        int main(void) {
            unsigned kind = coyote_choose_int(40);
            assert(kind != 1);
            assert(kind != 2);
            assert(kind != 3);
            return 0;
        }";
    let Some(Built { module, directory: _directory }) = c_programs::build(program, &["-O0", "-g"]) else {
        return;
    };
    let artifact = guest::compile(&std::fs::read(module).unwrap(), &Default::default()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let explored = |strategy: &str, bugs_max: u64, jobs: usize| {
        let mut tester = Tester::of(artifact.clone());
        tester.traces = directory.path().into();
        tester.budget.timeout = None;
        tester.budget.iterations_max = 2_000;
        (tester.budget.explore, tester.budget.bugs_max, tester.budget.jobs) = (true, bugs_max, jobs);
        let result = tester.explore("main", strategy).unwrap();
        (result.bugs.len(), result.stop, result.iterations())
    };
    let all = explored("random", u64::MAX, 2);
    assert_eq!((all.0, all.1), (3, Stop::Iterations));
    let two = explored("random", 2, 1);
    assert_eq!((two.0, two.1), (2, Stop::Bug));
    assert!(two.2 < 2_000, "{two:?}");
    assert_eq!(explored("random", 2, 3), two);
    let searched = explored("dfs", 2, 1);
    assert_eq!((searched.0, searched.1), (2, Stop::Bug));
}
