//! Memory errors: found for every kind of access, by every way to execute and to explore, and not reported
//! elsewhere.

use super::{examples, guest, process};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::execution::{Execution, Test};
use coyote_wasm::granules::Sharing;
use coyote_wasm::instrumenter::{HeapPoints, Options, Points};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::results::{BlockHistory, TestResult};
use coyote_wasm::strategies::{Iteration, RandomWalk};
use coyote_wasm::tester::Tester;
use std::sync::Arc;

const HEAP: &str = include_str!("wat/heap.wat");

fn compile(options: &Options) -> Arc<Artifact> {
    guest::compile(&wat::parse_str(HEAP).unwrap(), options).unwrap()
}

/// The outcome of an iteration.
fn ends(execution: &mut Execution, index: u64) -> Outcome {
    execution.run(Box::new(RandomWalk::default()), Iteration { seed: 0, index }).unwrap().0
}

fn kind(outcome: &Outcome) -> String {
    outcome.describe().0
}

/// The tests of the module, except for those whose name begins with `but`.
fn tests(artifact: &Artifact, but: &str) -> Vec<Test> {
    Test::all(&artifact.table).into_iter().filter(|t| !t.name.starts_with(but)).collect()
}

/// Each test's name begins with the kind of its outcome, in every schedule.
#[test]
fn every_kind_of_access_is_checked() {
    let artifact = compile(&Options::default());
    let tests = tests(&artifact, "race.");
    assert!(tests.len() > 30);
    for test in &tests {
        let expected = test.name.split('.').next().unwrap();
        guest::with(&artifact, &test.name, &guest::settings(), |execution| {
            for index in 0..20 {
                let outcome = ends(execution, index);
                assert_eq!(kind(&outcome), expected, "{}: {outcome:?}", test.name);
            }
        });
    }
}

/// Inline and step by step: the same end after the same choices.
#[test]
fn both_ways_to_execute_agree() {
    let artifact = compile(&Options::default());
    for test in Test::all(&artifact.table) {
        guest::with(&artifact, &test.name, &guest::settings(), |execution| {
            for index in 0..20 {
                let outcome = ends(execution, index);
                let choices = execution.choices().to_vec();
                let iteration = Iteration { seed: 0, index };
                let stepwise =
                    execution.run_stepwise(&mut RandomWalk::default(), iteration, &mut |_| {}).unwrap();
                assert_eq!(stepwise, outcome, "{}", test.name);
                assert_eq!(execution.choices(), choices, "{}", test.name);
            }
        });
    }
}

fn explore(artifact: &Arc<Artifact>, test: &str, strategy: &str, iterations: u64) -> TestResult {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(artifact.clone());
    tester.traces = directory.path().into();
    tester.budget.timeout = None;
    tester.budget.iterations_max = iterations;
    let exploration = tester.explore(test, strategy).unwrap();
    for found in &exploration.bugs {
        assert!(tester.replay(&found.trace).unwrap().reproduces(&found.trace), "{test} by {strategy}");
    }
    exploration
}

const RACES: [(&str, &str); 3] =
    [("race.read", "use-after-free"), ("race.store", "use-after-free"), ("race.free", "double-free")];

#[test]
fn races_are_found_and_replayed_whoever_explores() {
    let (silent, telling) = (compile(&Options::default()), compile(&guest::options_for("dpor")));
    let strategies =
        ["random", "pct:2", "portfolio", "dfs", "dpor", "stateful", "preemption-bounding", "delay-bounding"];
    for (test, expected) in RACES {
        for strategy in strategies {
            let artifact = if strategy == "dpor" { &telling } else { &silent };
            let exploration = explore(artifact, test, strategy, 2_000);
            let kinds: Vec<&str> = exploration.bugs.iter().map(|f| f.bug.kind.name()).collect();
            assert_eq!(kinds, [expected], "{test} by {strategy}");
            let history = exploration.bugs[0].post_mortem.block.as_ref().expect("a block is to blame");
            assert!(history.allocated.is_some() && history.freed.is_some(), "{test} by {strategy}");
        }
    }
}

#[test]
fn races_depend_on_schedules() {
    let artifact = compile(&Options::default());
    for (test, expected) in RACES {
        guest::with(&artifact, test, &guest::settings(), |execution| {
            let mut kinds: Vec<String> = (0..60).map(|index| kind(&ends(execution, index))).collect();
            kinds.sort();
            kinds.dedup();
            let mut both = ["passed", expected];
            both.sort();
            assert_eq!(kinds, both, "{test}");
        });
    }
}

/// A worker that alone uses a block accesses it without asking the host, until the block is freed.
#[test]
fn points_at_shared_memory_find_them_too() {
    let artifact = compile(&Options { heap_points: HeapPoints::Shared, ..Options::default() });
    for (test, expected) in RACES {
        assert_eq!(explore(&artifact, test, "random", 2_000).bugs[0].bug.kind.name(), expected, "{test}");
    }
    for test in tests(&artifact, "race.") {
        let expected = test.name.split('.').next().unwrap();
        // A gap next to memory that only one worker uses is not checked.
        if expected == "heap-overflow" {
            continue;
        }
        guest::with(&artifact, &test.name, &guest::settings(), |execution| {
            execution.share(Sharing::Only(Arc::default()));
            for index in 0..5 {
                assert_eq!(kind(&ends(execution, index)), expected, "{}", test.name);
            }
        });
    }
}

/// Arguments of allocators are checked with any points; accesses only where they are points.
#[test]
fn frees_are_checked_with_any_points() {
    for points in [Points::Sync, Points::Atomic] {
        let artifact = compile(&Options { points, ..Options::default() });
        for test in tests(&artifact, "race.") {
            let expected = test.name.split('.').next().unwrap();
            if expected.ends_with("-free") && expected != "use-after-free" {
                guest::with(&artifact, &test.name, &guest::settings(), |execution| {
                    assert_eq!(kind(&ends(execution, 0)), expected, "{}", test.name);
                });
            }
        }
    }
}

#[test]
fn whoever_does_not_want_them_gets_none() {
    let artifact = compile(&Options { memory_errors: false, ..Options::default() });
    for test in tests(&artifact, "trap.") {
        guest::with(&artifact, &test.name, &guest::settings(), |execution| {
            for index in 0..5 {
                assert_eq!(kind(&ends(execution, index)), "passed", "{}", test.name);
            }
        });
    }
}

/// A report names the access, the allocation and the free, each with its line.
#[test]
fn reports_have_three_stacks() {
    let source = std::fs::read_to_string(guest::root().join("examples/c/memory_errors.c")).unwrap();
    let line = |text: &str| {
        let at =
            source.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("no line has {text}"));
        format!("memory_errors.c:{}:", at + 1)
    };
    let (access, allocation, free) =
        (line("seen = message->length;"), line("mailbox = calloc("), line("free(message);"));
    let directory = tempfile::tempdir().unwrap();
    let module = examples::module_path("memory_errors");
    let module = module.to_str().unwrap();
    let found = process::run(directory.path(), &["test", module, "--test", "use_after_free", "--seed", "0"]);
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let replayed = process::run(directory.path(), &["replay", module, &trace]);
    for ended in [&found, &replayed] {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let lines: Vec<&str> = ended.stdout.lines().collect();
        let below = |start: &str| {
            let at =
                lines.iter().position(|l| l.contains(start)).unwrap_or_else(|| panic!("{start}: {ended:?}"));
            let stack = lines[at + 1..].iter().take_while(|l| l.starts_with("    at "));
            stack.map(|l| l.to_string()).collect::<Vec<String>>().join("\n")
        };
        assert!(below("is where it happened").contains(&access), "{ended:?}");
        assert!(below("was allocated by worker 0 in step").contains(&allocation), "{ended:?}");
        assert!(below("it was freed by worker 0.0 in step").contains(&free), "{ended:?}");
    }
    let arguments = ["test", module, "--test", "use_after_free", "--seed", "0", "--format", "json"];
    let json = process::run(directory.path(), &arguments);
    let run: serde_json::Value =
        serde_json::from_str(&json.stdout).unwrap_or_else(|e| panic!("{e}: {json:?}"));
    let block = &run["tests"][0]["bugs"][0]["block"];
    assert_eq!(block["bytes"], 24);
    for (event, expected) in [("allocated", &allocation), ("freed", &free)] {
        let stack = block[event]["stack"].as_array().unwrap_or_else(|| panic!("{json:?}"));
        let lines: Vec<String> =
            stack.iter().map(|f| format!("{}:{}:", f["file"].as_str().unwrap_or(""), f["line"])).collect();
        assert!(lines.iter().any(|l| l.ends_with(&**expected)), "{lines:?}");
    }
}

/// Leaks are reported only on request, and not among blocks that existed before.
#[test]
fn leaks_are_optional() {
    let artifact = examples::artifact("memory_errors");
    for (leaks, expected) in [(false, "passed"), (true, "leak")] {
        let mut settings = guest::settings();
        settings.detectors.set("leaks", leaks);
        guest::with(&artifact, "leak", &settings, |execution| {
            let mut kinds: Vec<String> = (0..60).map(|index| kind(&ends(execution, index))).collect();
            kinds.sort();
            kinds.dedup();
            assert_eq!(kinds.first().map(String::as_str), Some(expected));
            let iteration = Iteration { seed: 0, index: 0 };
            let outcome = ends(execution, 0);
            let stepwise =
                execution.run_stepwise(&mut RandomWalk::default(), iteration, &mut |_| {}).unwrap();
            assert_eq!(stepwise, outcome);
        });
    }
}

/// A block that existed when the test began has no place of allocation to show; all other information is the
/// same.
#[test]
fn blocks_of_the_setup_are_known() {
    let text = HEAP.replace(
        "(func (export \"coyote.test.race.read\")",
        "(func (export \"coyote.setup\") (i32.store (i32.const 0x9600) (call $block)))
         (func (export \"coyote.test.setup\")
           (call $free (i32.load (i32.const 0x9600)))
           (drop (i32.load (i32.load (i32.const 0x9600)))))
         (func (export \"coyote.test.race.read\")",
    );
    let artifact = guest::from_text(&text);
    for _ in 0..2 {
        let exploration = explore(&artifact, "setup", "random", 3);
        let found = &exploration.bugs[0];
        assert_eq!(found.bug.kind.name(), "use-after-free");
        let BlockHistory { allocated, freed, bytes, .. } = found.post_mortem.block.clone().unwrap();
        assert_eq!((allocated.is_some(), freed.is_some(), bytes), (false, true, 24));
    }
}
