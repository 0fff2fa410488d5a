//! Searches of programs with loops that wait: no bug after a loop is missed, executions are counted as if the
//! loop were an assumption, and a state from which no end can be reached is reported.

use super::guest::{self, settings};
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::sample::follow::Follow;
use coyote_wasm::strategies::search::{Advance, Counts, by_name};
use coyote_wasm::strategies::{Decision, Iteration, Pick, Status, System, system::decide};
use std::collections::BTreeSet;

/// A loop that waits until a word is set, and the same as an assumption.
const SPINS: &str = "(loop $again (br_if $again (i32.eqz (i32.load (i32.const 4096)))))";
const ASSUMES: &str = "(call $assume (i32.load (i32.const 4096)))";
/// A loop that never repeats a state.
const COUNTS: &str = "(loop $again (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if $again (i32.eqz (i32.load (i32.const 4096)))))";

/// A program whose workers run these functions, created in this order; the first one joins them all.
fn program(wait: &str, workers: &[&str]) -> String {
    let spawn = |w: &&str| {
        let number = ["$consumer", "$producer", "$locker", "$other"].iter().position(|name| name == w);
        format!(
            "(call $spawn (i32.const {}) (i32.const 0) (i32.const 0) (i32.const 0))",
            number.expect("a function of the program")
        )
    };
    let spawns: String = workers.iter().map(spawn).collect::<Vec<_>>().join("\n");
    // Handles stay on the stack.
    let joins = "(call $join)\n".repeat(workers.len());
    format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "assume" (func $assume (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (table 4 funcref)
  (elem (i32.const 0) $consumer $producer $locker $other)
  (func $consumer (param i32) (local $n i32)
    {wait}
    (if (i32.ne (i32.load (i32.const 4104)) (i32.const 42))
      (then (call $fail (i32.const 0) (i32.const 0)))))
  (func $producer (param i32)
    (i32.store (i32.const 4096) (i32.const 1))
    (i32.store (i32.const 4104) (i32.const 42)))
  (func $locker (param i32)
    (loop $again (br_if $again (i32.atomic.rmw.xchg (i32.const 4112) (i32.const 1))))
    (i32.store (i32.const 4116) (i32.add (i32.load (i32.const 4116)) (i32.const 1)))
    (i32.atomic.store (i32.const 4112) (i32.const 0)))
  (func $other (param i32) (i32.store (i32.const 4120) (i32.const 1)))
  (func (export "coyote.test.t")
    {spawns}
    {joins}))"#
    )
}

#[derive(Default)]
struct Found {
    counts: Counts,
    passed: usize,
    bugs: Vec<Vec<Decision>>,
    livelocks: Vec<Vec<Decision>>,
}

fn search(text: &str, strategy: &str, settings: &Settings) -> Found {
    guest::with(&guest::from_text(text), "t", settings, |execution| {
        let mut search = by_name::<Execution>(strategy, 0, None).unwrap();
        let mut found = Found::default();
        loop {
            match search.advance(execution, u64::MAX) {
                Advance::Ended(Status::Bug) => found.bugs.push(search.path().to_vec()),
                Advance::Livelock => found.livelocks.push(search.path().to_vec()),
                Advance::Ended(status) => found.passed += usize::from(status == Status::Passed),
                Advance::Working | Advance::Round => {}
                Advance::Exhausted => break,
            }
            assert!(search.counts().steps < 1_000_000, "it does not end");
        }
        assert!(execution.take_error().is_none());
        found.counts = search.counts();
        // A found bug is reproduced by the same choices.
        for path in &found.bugs {
            let follow = Box::new(Follow::new(path.clone(), false));
            let (outcome, _) = execution.run(follow, Iteration { seed: 0, index: 0 }).unwrap();
            assert!(matches!(outcome, Outcome::Bug(_)), "{outcome:?}");
        }
        for path in &found.livelocks {
            execution.restart();
            path.iter().for_each(|decision| decide(execution, *decision));
            assert!(!ends(execution), "an end can be reached");
        }
        found
    })
}

/// Whether an end can be reached from the present state, by plain search.
fn ends(execution: &mut Execution) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![execution.snapshot()]);
    while let Some(state) = open.pop() {
        execution.restore(&state);
        if execution.status().is_final() {
            return true;
        }
        if !seen.insert(execution.fingerprint()) {
            continue;
        }
        let picks: Vec<Pick> = execution.view().picks().collect();
        for pick in picks {
            execution.restore(&state);
            execution.step(pick);
            open.push(execution.snapshot());
        }
    }
    false
}

#[test]
fn a_bug_behind_a_loop_is_found_whoever_is_created_first() {
    for workers in [["$consumer", "$producer"], ["$producer", "$consumer"]] {
        let found = search(&program(SPINS, &workers), "dpor", &settings());
        assert!(!found.bugs.is_empty(), "{workers:?}: {:?}", found.counts);
        assert_eq!(found.counts.unfinished, 0, "{workers:?}");
        // Also at the bound on steps, earlier steps of other workers are tried.
        let mut few = settings();
        few.limits.unfair_steps_max = 40;
        let found = search(&program(COUNTS, &workers), "dpor", &few);
        assert!(!found.bugs.is_empty() && found.counts.unfinished > 0, "{workers:?}: {:?}", found.counts);
    }
}

#[test]
fn loops_count_as_assumptions() {
    for workers in [
        &["$consumer", "$producer"][..],
        &["$producer", "$consumer"],
        &["$consumer", "$other", "$producer"],
        &["$consumer", "$consumer", "$producer"],
    ] {
        // A bug of one worker while another spins is an execution that counts only for the assumption; so
        // ends are compared, not counts.
        let count = |wait, strategy| {
            let found = search(&program(wait, workers), strategy, &settings());
            assert_eq!(found.counts.unfinished, 0);
            (found.passed, found.bugs.len())
        };
        assert_eq!(count(SPINS, "dpor"), count(ASSUMES, "dpor"), "{workers:?}");
    }
    for (workers, orders) in [(2, 2), (3, 6)] {
        let found = search(&program(SPINS, &vec!["$locker"; workers]), "dpor", &settings());
        assert_eq!((found.counts.executions, found.counts.bugs), (orders, 0), "{workers} workers");
    }
}

#[test]
fn a_state_without_an_end_is_told() {
    for workers in [&["$consumer"][..], &["$consumer", "$other"], &["$other", "$consumer", "$consumer"]] {
        for strategy in ["dpor", "stateful"] {
            let found = search(&program(SPINS, workers), strategy, &settings());
            assert!(!found.livelocks.is_empty() && found.bugs.is_empty(), "{strategy} {workers:?}");
            assert_eq!(found.counts.bugs, found.livelocks.len() as u64);
            // The word is never set: no end can be reached even from the first state.
            assert!(strategy == "dpor" || found.livelocks == [vec![]], "{workers:?}");
        }
    }
    for strategy in ["dpor", "stateful"] {
        let found = search(&program(SPINS, &["$locker", "$locker"]), strategy, &settings());
        assert!(found.livelocks.is_empty(), "{strategy}");
    }
}
