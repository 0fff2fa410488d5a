//! Results of explorations: merged results of explorations that shared the iterations equal those of one
//! exploration.

use super::guest;
use coyote_wasm::results::{Difference, MergeError, TestResult};
use coyote_wasm::tester::Tester;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// Two workers add to a word and one reads it. Several assertions can fail, a deadlock is possible, the
/// worker that is not joined may stay blocked, and the test writes output.
pub const BUGGY: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (import "coyote" "log" (func $log (param i32 i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x100) "onetwo")
  (table 2 funcref)
  (elem (i32.const 0) $ab $ba)
  (func $take (param i32) (drop (call $lock (local.get 0) (i64.const -1))))
  (func $give (param i32) (drop (call $unlock (local.get 0))))
  (func $add (i32.store (i32.const 0x10) (i32.add (i32.load (i32.const 0x10)) (i32.const 1))))
  (func $ab (param i32)
    (call $add)
    (call $take (i32.const 0x800)) (call $take (i32.const 0x804))
    (call $give (i32.const 0x804)) (call $give (i32.const 0x800)))
  (func $ba (param i32)
    (call $take (i32.const 0x804)) (call $take (i32.const 0x800))
    (call $add)
    (call $give (i32.const 0x800)) (call $give (i32.const 0x804)))
  (func $start (param i32) (result i32)
    (call $spawn (local.get 0) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func (export "coyote.test.t") (local i32 i32)
    (call $log (i32.const 0x100) (i32.const 3))
    (local.set 0 (call $start (i32.const 0)))
    (local.set 1 (call $start (i32.const 1)))
    (if (i32.eq (i32.load (i32.const 0x10)) (i32.const 1)) (then (call $fail (i32.const 0x100) (i32.const 3))))
    (call $join (local.get 0))
    (call $join (local.get 1))
    (if (i32.ne (i32.load (i32.const 0x10)) (i32.const 2)) (then (call $fail (i32.const 0x103) (i32.const 3))))))"#;

/// The results of iterations, without parts that may differ: the time, and the paths of traces.
pub fn explore(tester: &Tester, strategy: &str, indices: Range<u64>, directory: &Path) -> TestResult {
    let mut tester = tester.clone();
    tester.traces = directory.into();
    tester.budget.timeout = None;
    tester.budget.first = indices.start;
    tester.budget.iterations_max = indices.end - indices.start;
    tester.budget.explore = true;
    let mut result = tester.explore("t", strategy).unwrap();
    result.elapsed = Duration::ZERO;
    for bug in &mut result.bugs {
        bug.path = bug.path.file_name().unwrap().into();
    }
    result
}

/// Iterations 0 to N in one run, and in parts that are merged in several orders and groupings, stored and
/// read in between. For strategies with and without a profiling run, with members, and that learn.
#[test]
fn parts_put_together_are_the_whole() {
    const END: u64 = 400;
    let tester = Tester::of(guest::from_text(BUGGY));
    for strategy in ["random", "pct:3", "portfolio", "q-learning"] {
        let directory = tempfile::tempdir().unwrap();
        let whole = explore(&tester, strategy, 0..END, directory.path());
        assert!(whole.bugs.len() >= 2, "{strategy}: {:?}", whole.bugs);
        assert!(whole.bugs.iter().any(|bug| bug.count > 1), "{strategy}");
        let [a, b, c] = [0..100, 100..101, 101..END].map(|part| {
            let stored = serde_json::to_string(&explore(&tester, strategy, part, directory.path())).unwrap();
            serde_json::from_str::<TestResult>(&stored).unwrap()
        });
        let merged = |one: &TestResult, other: &TestResult| {
            let mut one = one.clone();
            one.merge(other.clone()).unwrap();
            one
        };
        for (order, result) in [
            ("(a b) c", merged(&merged(&a, &b), &c)),
            ("a (b c)", merged(&a, &merged(&b, &c))),
            ("(c b) a", merged(&merged(&c, &b), &a)),
            ("(a c) b", merged(&merged(&a, &c), &b)),
        ] {
            assert_eq!(result, whole, "{strategy} {order}");
            assert_eq!(result.verdict(), whole.verdict());
        }
        let twice = a.clone().merge(a.clone());
        assert_eq!(twice, Err(MergeError::Overlap(0)), "{strategy}");
    }
}

/// Results about different subjects are not merged.
#[test]
fn other_subjects_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let tester = Tester::of(guest::from_text(BUGGY));
    let mut one = explore(&tester, "random", 0..10, directory.path());
    let before = one.clone();
    let mut other_seed = tester.clone();
    other_seed.seed = 1;
    for (tester, strategy, what) in [(&tester, "pct:3", "strategy"), (&other_seed, "random", "seed")] {
        let other = explore(tester, strategy, 10..20, directory.path());
        let error = one.merge(other).unwrap_err();
        assert!(matches!(&error, MergeError::Subject(Difference { what: is, .. }) if *is == what), "{error}");
    }
    let search = explore(&tester, "dfs", 0..10, directory.path());
    assert_eq!(search.clone().merge(search.clone()), Err(MergeError::Search));
    assert_eq!(one, before);
}
