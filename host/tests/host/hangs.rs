//! Programs that hang without a deadlock: no strategy reports that all is well.

use super::{guest, process};
use coyote_wasm::exit::Exit;
use coyote_wasm::instrumenter::Options;
use coyote_wasm::machine::scheduler::Limits;
use coyote_wasm::outcome::BugKind;
use coyote_wasm::tester::Tester;
use coyote_wasm::verdict::Verdict;

/// Low bounds, so that endless executions are cut off soon; the fair one is beyond the first look for
/// livelocks.
const LIMITS: Limits = Limits { unfair_steps_max: 300, fair_steps_max: 3_000, fail_on_steps_max: false };

const SAMPLERS: [&str; 13] = [
    "portfolio",
    "random",
    "probabilistic",
    "pct",
    "pct-t",
    "delay",
    "pos",
    "surw",
    "urw",
    "random-depth",
    "q-learning",
    "feedback",
    "round-robin",
];

const SEARCHES: [&str; 6] = ["dfs", "preemption-bounding", "delay-bounding", "dpor", "stateful", "ses"];

/// Tests that provably hang, in every schedule.
const LIVELOCKS: [&str; 8] = [
    "one_spins",
    "two_spin",
    "alone",
    "no_points",
    "no_points_beside_another",
    "writes",
    "lock_is_kept",
    "deadlock_beside_a_spinner",
];

/// Tests that hang in every schedule without a proof: time passes, or they count.
const UNPROVED: [&str; 4] = ["counts", "counts_beside_another", "sleeps", "polls"];

fn tester(iterations: u64) -> (Tester, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    // For all strategies, including those that rely on footprints.
    let options = Options { footprints: true, ..Options::default() };
    let wasm = wat::parse_file(guest::wat_file("hangs.wat")).unwrap();
    let mut tester = Tester::of(guest::compile(&wasm, &options).unwrap());
    tester.settings.limits = LIMITS;
    tester.budget.bounds_follow = false;
    tester.budget.iterations_max = iterations;
    tester.budget.jobs = 1;
    tester.traces = directory.path().into();
    (tester, directory)
}

/// Explores a test; a found bug must replay in a fresh execution.
fn explore(tester: &Tester, test: &str, strategy: &str) -> (Verdict, Option<BugKind>) {
    let exploration = tester.explore(test, strategy).unwrap_or_else(|e| panic!("{test}, {strategy}: {e:#}"));
    for found in &exploration.bugs {
        let replayed = tester.replay(&found.trace).unwrap();
        assert!(replayed.reproduces(&found.trace), "{test}, {strategy}: {replayed:?}");
    }
    (exploration.verdict(), exploration.bugs.first().map(|f| f.bug.kind))
}

/// Every iteration of a sampler proves it, fair or not, because the end of the iteration does.
#[test]
fn samplers_prove_livelocks() {
    let (tester, _directory) = tester(2);
    for test in LIVELOCKS {
        for strategy in SAMPLERS {
            let (verdict, kind) = explore(&tester, test, strategy);
            let deadlock = test == "deadlock_beside_a_spinner" && kind == Some(BugKind::Deadlock);
            assert!(deadlock || kind == Some(BugKind::Livelock), "{test}, {strategy}: {verdict:?}");
        }
    }
}

#[test]
fn a_hang_is_never_well() {
    let (tester, _directory) = tester(guest::scaled(4, 20));
    let all = LIVELOCKS.iter().flat_map(|test| SEARCHES.map(|strategy| (*test, strategy)));
    let unproved = UNPROVED
        .iter()
        .flat_map(|test| SAMPLERS.into_iter().chain(SEARCHES).map(|strategy| (*test, strategy)));
    for (test, strategy) in all.chain(unproved) {
        let (verdict, _) = explore(&tester, test, strategy);
        let exit = Exit::of_run([&verdict], false);
        assert!(matches!(exit, Exit::BugFound | Exit::Inconclusive), "{test}, {strategy}: {verdict:?}");
    }
}

/// A long test may use all its time before its first iteration ends.
#[test]
fn a_test_that_had_no_time_is_not_well() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(guest::wat_file("hangs.wat"), directory.path().join("hangs.wat")).unwrap();
    // An iteration with this many steps takes longer than the time of the test.
    let options =
        ["--test", "counts_beside_another", "-t", "1", "-ms", "1000000000", "-j", "1", "--seed", "0"];
    for strategy in ["portfolio", "random", "pct"] {
        let run =
            process::run(directory.path(), &[&["test", "hangs.wat", "-s", strategy], &options[..]].concat());
        assert_eq!(run.code, Some(6), "{strategy}: {run:?}");
        assert!(run.stdout.contains("before the time was over"), "{strategy}: {run:?}");
    }
}

/// Half of the schedules end; none of the others counts as an end.
#[test]
fn a_rare_hang_is_found() {
    let (tester, _directory) = tester(200);
    for strategy in ["portfolio", "random", "pct", "pos", "surw", "round-robin"] {
        let (verdict, kind) = explore(&tester, "now_and_then", strategy);
        // Round robin has one schedule, which ends.
        if strategy != "round-robin" {
            assert_eq!(kind, Some(BugKind::Livelock), "{strategy}: {verdict:?}");
        }
    }
}

#[test]
fn what_can_end_is_no_livelock() {
    let (tester, _directory) = tester(300);
    for test in ["is_released", "is_released_late"] {
        for strategy in SAMPLERS.into_iter().chain(SEARCHES) {
            let (verdict, kind) = explore(&tester, test, strategy);
            assert_eq!(kind, None, "{test}, {strategy}: {verdict:?}");
        }
    }
}

/// A search that knows all states knows those from which no end can be reached; none of the others reports
/// that all is well.
#[test]
fn searches_see_a_rare_hang() {
    let (tester, _directory) = tester(1_000);
    for strategy in SEARCHES {
        let (verdict, kind) = explore(&tester, "now_and_then", strategy);
        let exit = Exit::of_run([&verdict], false);
        assert!(matches!(exit, Exit::BugFound | Exit::Inconclusive), "{strategy}: {verdict:?}");
        if strategy == "stateful" {
            assert_eq!(kind, Some(BugKind::Livelock), "{verdict:?}");
        }
    }
}

/// A livelock is proved as early as it begins, not where it was noticed.
#[test]
fn its_trace_is_short() {
    let (tester, _directory) = tester(200);
    let exploration = tester.explore("now_and_then", "random").unwrap();
    let [found] = exploration.bugs.as_slice() else { panic!("{:?}", exploration.verdict()) };
    // Two spawns, two starts, the store, the reset that undoes it, and at most the join.
    assert!(found.trace.decisions.len() <= 8, "{:?}", found.trace.decisions);
}

/// Proved livelocks and unproved ones, and the bound that ended an iteration under any strategy: word for
/// word.
#[test]
fn reports() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["hangs.wat", "returned.wat"] {
        std::fs::copy(guest::wat_file(file), directory.path().join(file)).unwrap();
    }
    let mut text = String::new();
    let mut check = |command: &str| {
        let arguments: Vec<&str> = command.split(' ').collect();
        let ended = process::run(directory.path(), &arguments);
        text += &format!("$ coyote-wasm {command}\n{}\n", super::golden::text(&ended));
    };
    check("test hangs.wat --test now_and_then --seed 0 -s random");
    check("replay hangs.wat coyote-output/hangs-now_and_then-0.trace");
    check("test hangs.wat --test two_spin --seed 0 -s pct -i 1");
    check("test hangs.wat --test deadlock_beside_a_spinner --seed 0 -s random");
    check("test hangs.wat --test no_points --seed 0");
    check("test hangs.wat --test counts_beside_another --seed 0 -i 10 -ms 300 3000");
    check("test hangs.wat --test counts_beside_another --seed 0 -i 10 -ms 300 3000 -s pct");
    check("test hangs.wat --test counts --test is_released --seed 0 -i 10 -ms 300 3000 -s random");
    check("test hangs.wat --test counts_beside_another --seed 0 -i 10 -ms 300 -s dfs -j 1");
    check("test hangs.wat --test sleeps --seed 0 -i 10 -ms 300 3000");
    check("test returned.wat --seed 0 -i 10 -ms 300 3000");
    check("test returned.wat --seed 0 -i 10 -ms 300 3000 --at-exit kill");
    super::golden::check("hangs", &text);
}

/// The trace contains the bound that ended an iteration, for every strategy.
#[test]
fn a_bound_that_is_a_bug_replays() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(guest::wat_file("returned.wat"), directory.path().join("returned.wat")).unwrap();
    // Strategies that compare states see a state again before the bound.
    for strategy in SAMPLERS.into_iter().chain(["dfs", "preemption-bounding", "delay-bounding"]) {
        let seed = ["--seed", "0", "-i", "20", "-ms", "300", "3000", "-j", "1"];
        let test = ["test", "returned.wat", "--fail-on-max-steps", "-s", strategy];
        let found = process::run(directory.path(), &[&test[..], &seed].concat());
        assert_eq!(found.code, Some(2), "{strategy}: {found:?}");
        let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
        let replayed = process::run(directory.path(), &["replay", "returned.wat", trace]);
        assert_eq!(replayed.code, Some(2), "{strategy}: {replayed:?}");
        assert_eq!(replayed.line(". Reproduced"), ". Reproduced: max-steps", "{strategy}");
    }
}
