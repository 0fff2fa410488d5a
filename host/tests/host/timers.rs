//! `--timers`: programs that order their threads by time, under both rules.

use super::process::{self, Ended};
use super::{guest, search};
use coyote_wasm::execution::Settings;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::runtime::Timers;
use coyote_wasm::strategies::{Iteration, RandomWalk};

/// Runs a test of `order.wat` in a directory.
fn run(directory: &tempfile::TempDir, test: &str, timers: &str, more: &[&str]) -> Ended {
    std::fs::copy(guest::wat_file("order.wat"), directory.path().join("order.wat")).unwrap();
    let arguments = ["test", "order.wat", "--test", test, "--seed", "0", "--timers", timers];
    process::run(directory.path(), &[&arguments, more].concat())
}

const NOTE: &str = "could run: if its time cannot be up so soon, --timers ordered rules that out";

/// A report says whether its bug depends on a timeout that fired early.
#[test]
fn early_timeouts_are_named_and_ruled_out() {
    let directory = tempfile::tempdir().unwrap();
    for test in ["sleeps", "waits"] {
        // If two workers are enabled, a timeout fires at one choice in 16, and one such choice is sufficient.
        for strategy in ["random", "pct", "dpor"] {
            let found = run(&directory, test, "any", &["-s", strategy, "-i", "1000"]);
            assert_eq!(found.code, Some(2), "{test}, {strategy}: {found:?}");
            assert!(found.line("  note: ").contains(NOTE), "{test}, {strategy}: {found:?}");
            let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
            let replayed = process::run(directory.path(), &["replay", "order.wat", trace]);
            assert_eq!(replayed.code, Some(2), "{replayed:?}");
        }
        for (strategy, end) in [
            ("random", "No bug found"),
            ("pct", "No bug found"),
            ("dpor", "executions explored, no bug"),
            ("dfs", "executions explored, no bug"),
            ("stateful", "states explored, no bug"),
        ] {
            let fine = run(&directory, test, "ordered", &["-s", strategy, "-i", "1000"]);
            assert_eq!(fine.code, Some(0), "{test}, {strategy}: {fine:?}");
            assert!(fine.stdout.contains(end), "{test}, {strategy}: {fine:?}");
        }
    }
}

/// A notification that comes before its waiter is lost, however time passes.
#[test]
fn lost_notifications_are_found_under_both_rules() {
    let directory = tempfile::tempdir().unwrap();
    for timers in ["any", "ordered"] {
        let found = run(&directory, "lost", timers, &["-s", "random", "-i", "1000"]);
        assert_eq!(found.code, Some(2), "{timers}: {found:?}");
        let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
        let text = std::fs::read_to_string(directory.path().join(trace)).unwrap();
        assert_eq!(text.lines().any(|l| l == "option timers=ordered"), timers == "ordered", "{text}");
        let replayed = process::run(directory.path(), &["replay", "order.wat", trace]);
        assert_eq!(replayed.line(". Reproduced"), ". Reproduced: assertion", "{replayed:?}");
    }
}

/// A worker that polls for a sleeper is always enabled, and still time passes.
#[test]
fn time_passes_while_somebody_spins() {
    let settings = Settings { timers: Timers::Ordered, ..guest::settings() };
    guest::with(&guest::from_file("order.wat"), "spins", &settings, |execution| {
        for index in 0..50 {
            let walk = Box::new(RandomWalk::default());
            let (outcome, _) = execution.run(walk, Iteration { seed: 1, index }).unwrap();
            assert_eq!(outcome, Outcome::Passed);
        }
        let ends = search::distinct(execution, &mut |_, outcome| format!("{outcome:?}"));
        assert_eq!(ends.into_iter().collect::<Vec<_>>(), ["Passed"]);
    });
}

/// A reduction stops a worker that spins only if time passes for all others.
#[test]
fn a_reduction_sees_time_pass_while_somebody_spins() {
    let directory = tempfile::tempdir().unwrap();
    for timers in ["any", "ordered"] {
        let ended = run(&directory, "spins", timers, &["-s", "dpor"]);
        assert_eq!(ended.code, Some(0), "{timers}: {ended:?}");
        assert!(ended.stdout.contains("explored, no bug"), "{timers}: {ended:?}");
    }
}
