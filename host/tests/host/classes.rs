//! Classes of executions, as exploration counts them, compared with those of a naive relation; and the notes
//! of a run without a bug.

use super::generated::Trace;
use super::guest::{self, settings};
use super::{process, toy_as_wasm};
use coyote_wasm::execution::Execution;
use coyote_wasm::observe::class_probe::ClassProbe;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::toy::generate;
use coyote_wasm::strategies::{Decision, Iteration, RandomWalk, Status, System};
use coyote_wasm::tester::Tester;
use std::collections::{BTreeMap, BTreeSet};

/// The naive class and the hash of random executions of a program that pass.
fn classes(execution: &mut Execution, schedules: u64) -> BTreeSet<(u64, u64)> {
    let (probe, found) = ClassProbe::new();
    let mut probe: Option<Box<dyn coyote_wasm::observe::Observer>> = Some(Box::new(probe));
    let mut seen = BTreeSet::new();
    for index in 0..schedules {
        execution.observe(probe.take().expect("it was put back"));
        execution.records_footprints = true;
        let strategy = Box::new(RandomWalk::default());
        execution.run(strategy, Iteration { seed: 7, index }).unwrap();
        execution.records_footprints = false;
        probe = execution.take_observers().pop();
        let hash = found.take().class.expect("the iteration has ended");
        let decisions: Vec<Decision> =
            execution.choices().iter().map(|choice| Decision::from(*choice)).collect();
        execution.restart();
        let mut trace = Trace::default();
        decisions.iter().for_each(|decision| trace.make(execution, *decision));
        if execution.status() == Status::Passed {
            seen.insert((trace.class(execution), hash));
        }
    }
    seen
}

/// Each class has one hash, and each hash one class.
#[test]
fn equal_hashes_are_equal_classes() {
    let (mut programs, mut all) = (0, 0);
    for index in 0..400 {
        let program = generate(&mut ChoiceRng::new(Iteration { seed: 33, index }), 10);
        let Some(text) = toy_as_wasm::module(&program) else { continue };
        let artifact = guest::from_text(&text);
        let seen = guest::with(&artifact, "t", &settings(), |execution| classes(execution, 60));
        let (mut hashes, mut naive) = (BTreeMap::new(), BTreeMap::new());
        for (class, hash) in &seen {
            assert_eq!(*hashes.entry(class).or_insert(hash), hash, "program {index}: {program:?}");
            assert_eq!(*naive.entry(hash).or_insert(class), class, "program {index}: {program:?}");
        }
        programs += usize::from(seen.len() > 1);
        all += seen.len();
    }
    assert!(programs > 100 && all > 700, "{programs} {all}");
}

/// The counts are the same with one job and with two, and nothing new is found at the end if there is little
/// to find.
#[test]
fn progress_does_not_depend_on_jobs() {
    let text = r#"(module
      (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
      (import "coyote" "join" (func $join (param i32)))
      (memory (export "memory") 1)
      (table 1 funcref)
      (elem (i32.const 0) $add)
      (func $add (param i32) (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1))))
      (func (export "coyote.test.t") (local i32)
        (local.set 0 (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (call $add (i32.const 0))
        (call $join (local.get 0))))"#;
    for strategy in ["random", "portfolio"] {
        let [one, two] = [1, 2].map(|jobs| {
            let mut tester = Tester::of(guest::from_text(text));
            tester.budget.jobs = jobs;
            tester.budget.timeout = None;
            tester.budget.iterations_max = 3_000;
            tester.explore("t", strategy).unwrap()
        });
        assert_eq!(one.progress, two.progress, "{strategy}");
        // Load and store of each worker before those of the other one, or interleaved, in two ways.
        assert_eq!(one.progress.classes.kept.len(), 4, "{strategy}");
        assert_eq!(one.progress.of_classes(&one.indices).in_last_tenth, 0);
        assert_eq!(one.progress.unseen(), Some(0.0), "{strategy}");
        assert!(one.progress.compared > 30 && one.progress.pairs.len() >= 3, "{:?}", one.progress);
    }
}

/// The output of `coyote-wasm test` for a text module, which must pass.
fn printed(text: &str, options: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("silent.wat"), text).unwrap();
    let arguments = [&["test", "silent.wat", "--seed", "0", "-i", "50"], options].concat();
    let ended = process::run(directory.path(), &arguments);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

const HEAD: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "choose_bool" (func $choose (result i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $work)
  (func $work (param i32)
    (drop (call $lock (i32.const 64) (i64.const -1)))
    (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1)))
    (drop (call $unlock (i32.const 64))))
  (func $start (result i32) (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
"#;

/// Reasons why a verdict may be green without meaning are reported, and nothing else is.
#[test]
fn silent_green() {
    let both =
        "(local i32) (local.set 0 (call $start)) (call $work (i32.const 0)) (call $join (local.get 0))";
    let cases: [(&str, &[&str], &str); 5] = [
        ("(drop (call $choose))", &[], "No iteration had a second worker"),
        ("(drop (call $choose)) (call $join (call $start))", &[], "could two of 2 workers run at once"),
        (both, &["--points", "sync"], "run it without --points sync."),
        (both, &["--no-points-in", "work"], "run it without --no-points-in work."),
        (
            &format!("{both} (drop (call $random (i32.const 32) (i32.const 8)))"),
            &["--random", "0"],
            "try --random 1.",
        ),
    ];
    let doubts = cases.map(|(_, _, said)| said);
    for (body, options, said) in cases {
        let stdout = printed(&format!("{HEAD}  (func (export \"coyote.test.t\") {body}))"), options);
        let all: Vec<&str> = doubts.into_iter().filter(|doubt| stdout.contains(doubt)).collect();
        assert_eq!(all, [said], "{stdout}");
    }
    let plain = printed(&format!("{HEAD}  (func (export \"coyote.test.t\") {both}))"), &[]);
    assert!(doubts.iter().all(|doubt| !plain.contains(doubt)), "{plain}");
    assert!(
        plain.contains("... Watched: deadlock, memory-errors, liveness; not: races, lock-order, leaks, lassos, starvation, good-samaritan."),
        "{plain}"
    );
    assert!(plain.contains("Next: --test t --detect races,lock-order."), "{plain}");
    // Its advice can be followed.
    let advised = ["--test", "t", "--detect", "races,lock-order"];
    let advised = printed(&format!("{HEAD}  (func (export \"coyote.test.t\") {both}))"), &advised);
    assert!(advised.contains("Next: --test t --strategy dpor."), "{advised}");
    // The suggested stream of random bytes differs from the present one.
    let random = format!(
        "{HEAD}  (func (export \"coyote.test.t\") {both} (drop (call $random (i32.const 32) (i32.const 8)))))"
    );
    assert!(printed(&random, &["--random", "7"]).contains("try --random 8."));
}

/// A bug that depends on random bytes is found with streams that show it, and its trace replays.
#[test]
fn random_bytes_vary_with_the_option() {
    let text = r#"(module
      (import "coyote" "fail" (func $fail (param i32 i32)))
      (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
      (import "coyote" "choose_bool" (func $choose (result i32)))
      (memory (export "memory") 1)
      (data (i32.const 256) "odd")
      (func (export "coyote.test.t")
        (drop (call $choose))
        (drop (call $random (i32.const 32) (i32.const 8)))
        (if (i32.and (i32.load (i32.const 32)) (i32.const 1))
          (then (call $fail (i32.const 256) (i32.const 3))))))"#;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("odd.wat"), text).unwrap();
    let mut codes = BTreeSet::new();
    for random in ["0", "1", "2", "3", "4", "5", "6", "7"] {
        let ended = process::run(
            directory.path(),
            &["test", "odd.wat", "--seed", "0", "-i", "20", "--random", random],
        );
        codes.insert(ended.code);
        if let Some(trace) = ended.stdout.lines().find_map(|line| line.strip_prefix("  trace:  ")) {
            let replayed = process::run(directory.path(), &["replay", "odd.wat", trace]);
            assert!(replayed.stdout.contains("\n. Reproduced: "), "{}", replayed.stdout);
        }
    }
    assert_eq!(codes, BTreeSet::from([Some(0), Some(2)]));
    // By default they vary between iterations, whatever the stream begins with, and the trace contains the
    // choice.
    let even = text
        .replace("(if (i32.and", "(if (i32.eqz (i32.and")
        .replace("(i32.const 1))\n", "(i32.const 1)))\n");
    std::fs::write(directory.path().join("even.wat"), even).unwrap();
    for module in ["odd.wat", "even.wat"] {
        for options in [&[][..], &["--random", "vary"]] {
            let run = ["test", module, "--seed", "0", "-i", "200"];
            let ended = process::run(directory.path(), &[&run[..], options].concat());
            assert_eq!(ended.code, Some(2), "{ended:?}");
            let trace = ended.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
            let replayed = process::run(directory.path(), &["replay", module, &trace]);
            assert!(replayed.stdout.contains("\n. Reproduced: "), "{}", replayed.stdout);
        }
    }
    // A search varies them only if it is asked to: then it refutes what it proves otherwise.
    let codes = ["0", "vary"].map(|random| {
        ["odd.wat", "even.wat"].map(|module| {
            let run = ["test", module, "--seed", "0", "--strategy", "dfs", "--random", random];
            process::run(directory.path(), &run).code
        })
    });
    let [mut fixed, vary] = codes;
    fixed.sort();
    assert_eq!((fixed, vary), ([Some(0), Some(2)], [Some(2); 2]));
}

/// There is a note about a program's threads that are neither joined nor detached, and none about others.
#[test]
fn threads_that_are_never_joined() {
    for (what, is_told) in
        [("", true), ("(call $join (local.get 0))", false), ("(call $detach (local.get 0))", false)]
    {
        let text = format!(
            r#"(module
              (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
              (import "coyote" "join" (func $join (param i32)))
              (import "coyote" "detach" (func $detach (param i32)))
              (memory (export "memory") 1)
              (table 1 funcref)
              (elem (i32.const 0) $work)
              (func $work (param i32) (i32.store (i32.const 16) (i32.const 1)))
              (func (export "_start") (local i32)
                (local.set 0 (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
                (i32.store (i32.const 20) (i32.const 1))
                {what}))"#
        );
        let stdout = printed(&text, &[]);
        let note = "... Neither joined nor detached when the program had ended: worker 0.0.";
        assert_eq!(stdout.contains(note), is_told, "{what} {stdout}");
    }
}
