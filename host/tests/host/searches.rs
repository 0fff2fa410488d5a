//! Searches of real guests: known numbers of executions, verdicts, shared prefixes, resumed work.

use super::examples::{artifact_for, index, module_path};
use super::guest::{self, settings};
use super::{golden, process};
use coyote_wasm::execution::Execution;
use coyote_wasm::explore::frontier::Frontier;
use coyote_wasm::explore::{Budget, Plan, Unwatched, search};
use coyote_wasm::results::{Stop, TestResult};
use coyote_wasm::strategies::search::{Advance, by_name};
use coyote_wasm::strategies::{Decision, Status};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Explores a test of an example, continuing from a frontier if one is given.
fn explore(
    (module, test): (&str, &str),
    strategy: &str,
    budget: Budget,
    directory: &Path,
    resume: Option<&Path>,
) -> TestResult {
    let artifact = artifact_for(module, strategy);
    let test = guest::find(&artifact, test);
    let settings = settings();
    let plan = Plan {
        artifact: &artifact,
        test: &test,
        settings: &settings,
        seed: 0,
        budget,
        trace_stem: directory.join("trace"),
    };
    let resume = resume.map(|path| Frontier::read(path).unwrap());
    search::explore(&plan, strategy, resume, &AtomicBool::new(false), &Unwatched).unwrap()
}

fn budget(jobs: usize) -> Budget {
    Budget {
        iterations_max: u64::MAX,
        first: 0,
        timeout: None,
        search_memory_bytes: u64::MAX,
        bounds_follow: false,
        explore: false,
        bugs_max: u64::MAX,
        check_determinism: false,
        island: None,
        unit: None,
        steer: true,
        jobs,
    }
}

fn all_of(module: &str, test: &str, strategy: &str, jobs: usize) -> TestResult {
    let directory = tempfile::tempdir().unwrap();
    let exploration = explore((module, test), strategy, budget(jobs), directory.path(), None);
    assert_eq!(exploration.stop, Stop::Exhausted, "{module} {test} under {strategy}");
    exploration
}

/// Mazurkiewicz traces on which two independent checkers agree; of `try_lock` there are 15 because failing
/// try-locks of one mutex commute.
const TRACES: &[(&str, u64)] = &[
    ("apart_2x3", 1),
    ("apart_3x2", 1),
    ("increment_3x1", 6),
    ("load_store_3", 36),
    ("load_store_load_2", 8),
    ("loads_2x3", 1),
    ("loads_3x2", 1),
    ("peterson", 4),
    ("philosophers_3", 6),
    ("rmw_2x3", 20),
    ("rmw_2x8", 12_870),
    ("rmw_3x2", 90),
    ("rmw_3x4", 34_650),
    ("store_buffering", 3),
    ("try_lock", 15),
];

#[test]
fn compiled_guests_have_the_known_numbers_of_executions() {
    let mut table = String::from("# test: executions, assumed away, cut off, steps\n");
    for (test, traces) in TRACES {
        let exploration = all_of("counts", test, "dpor", 1);
        let counts = exploration.search.unwrap().counts;
        assert_eq!((counts.executions, counts.bugs, counts.cut), (*traces, 0, false), "{test}");
        let (abandoned, redundant, steps) = (counts.abandoned, counts.redundant, counts.steps);
        writeln!(table, "{test}: {traces}, {abandoned}, {redundant}, {steps}").unwrap();
    }
    let all: Vec<String> = index().into_iter().filter(|e| e.module == "counts").map(|e| e.test).collect();
    assert_eq!(all, TRACES.iter().map(|t| t.0).collect::<Vec<_>>(), "a program is not counted");
    golden::check("counts", &table);
}

#[test]
fn the_number_of_jobs_does_not_change_the_number_of_executions() {
    for (test, traces) in [("rmw_3x2", 90), ("rmw_2x8", 12_870), ("philosophers_3", 6)] {
        for jobs in [2, 3, 8] {
            let counts = all_of("counts", test, "dpor", jobs).search.unwrap().counts;
            assert_eq!(counts.executions, traces, "{test} with {jobs} jobs");
        }
    }
}

#[test]
fn correct_programs_are_verified() {
    for (module, test, executions) in
        [("sct_lazy01", "lazy01_correct", 6), ("sct_stateful01", "stateful01_correct", 6)]
    {
        let exploration = all_of(module, test, "dpor", 2);
        assert!(exploration.bugs.is_empty(), "{module}");
        assert_eq!(exploration.search.unwrap().counts.executions, executions, "{module}");
    }
}

#[test]
fn a_search_goes_on_where_it_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (mut resume, mut rounds) = (None, 0);
    loop {
        rounds += 1;
        let budget = Budget { iterations_max: rounds * 4_000, ..budget(2) };
        let guest = ("counts", "rmw_3x4");
        let exploration = explore(guest, "dpor", budget, directory.path(), resume.as_deref());
        let searched = exploration.search.unwrap();
        if searched.exhausted {
            assert_eq!(searched.counts.executions, 34_650);
            break;
        }
        resume = Some(searched.frontier.expect("something is left"));
    }
    assert!(rounds >= 8, "{rounds}");
}

/// The number of steps that each execution does not share with the previous one, and the search's own count
/// of steps.
fn steps(execution: &mut Execution, strategy: &str) -> (u64, u64, u64) {
    let mut search = by_name::<Execution>(strategy, 0, None).unwrap();
    let (mut last, mut fresh, mut ends): (Vec<Decision>, u64, u64) = (Vec::new(), 0, 0);
    loop {
        match search.advance(execution, u64::MAX) {
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Ended(_) => {
                let path = search.path();
                let shared = path.iter().zip(&last).take_while(|(a, b)| a == b).count();
                fresh += (path.len() - shared) as u64;
                ends += 1;
                last = path.to_vec();
            }
            Advance::Working => {}
            Advance::Exhausted => return (fresh, search.counts().steps, ends),
        }
    }
}

#[test]
fn prefixes_are_not_executed_again() {
    for (test, strategy) in [("rmw_3x2", "dpor"), ("rmw_2x3", "dfs"), ("load_store_3", "dpor")] {
        let (fresh, executed, ends) =
            guest::with(&artifact_for("counts", strategy), test, &settings(), |e| steps(e, strategy));
        // An execution that was cut off counts as executed, but is no end.
        assert!(
            executed <= fresh + ends,
            "{test} under {strategy}: {executed} of {fresh} in {ends} executions"
        );
    }
}

#[test]
fn a_spin_loop_has_finitely_many_states() {
    let artifact = guest::from_file("spin.wat");
    guest::with(&artifact, "spin", &settings(), |execution| {
        let mut search = by_name::<Execution>("stateful", 0, None).unwrap();
        let mut ends = Vec::new();
        loop {
            match search.advance(execution, u64::MAX) {
                Advance::Ended(status) => ends.push(status),
                Advance::Livelock | Advance::Round => panic!("these programs end"),
                Advance::Working => {}
                Advance::Exhausted => break,
            }
        }
        assert!(!ends.is_empty() && ends.iter().all(|e| *e == Status::Passed), "{ends:?}");
        assert!(search.counts().states < 100, "{:?}", search.counts());
    });
}

/// Each search executes its bug again from the start; otherwise it would have ended with an error.
#[test]
fn every_search_finds_a_deadlock() {
    let searches = [
        "dfs",
        "dfs+hb",
        "stateful",
        "preemption-bounding",
        "preemption-bounding+states",
        "delay-bounding+hb:2",
        "dpor",
        "ses",
        "ses:round-robin:3",
        "ses:probabilistic-round-robin",
        "ses:by-rank",
        "ss",
        "ses-ss:run-to-completion:1",
    ];
    let directory = tempfile::tempdir().unwrap();
    for strategy in searches {
        let guest = ("sct_deadlock01", "deadlock01");
        let exploration = explore(guest, strategy, budget(2), directory.path(), None);
        let found = exploration.bugs.first().unwrap_or_else(|| panic!("{strategy} finds nothing"));
        assert_eq!(found.bug.kind.name(), "deadlock", "{strategy}");
        assert!(found.path.exists(), "{strategy}");
    }
}

/// A search that continues after bugs sees all of them, and all executions that pass.
#[test]
fn a_search_can_go_on_after_bugs() {
    let directory = tempfile::tempdir().unwrap();
    let budget = Budget { explore: true, ..budget(2) };
    let exploration = explore(("sct_deadlock01", "deadlock01"), "dpor", budget, directory.path(), None);
    assert_eq!(exploration.stop, Stop::Exhausted);
    // Two orders of the critical sections pass; interleaving them does not.
    let counts = exploration.search.unwrap().counts;
    assert_eq!((counts.executions, counts.bugs), (3, 1));
    assert_eq!(exploration.bugs.len(), 1);
}

/// The complete use by a user: a verdict, a bug with its trace, and messages for mismatches.
#[test]
fn the_command_line_searches() {
    let directory = tempfile::tempdir().unwrap();
    // Messages contain the module's name as it was given.
    let counts = "counts.wasm";
    std::fs::copy(module_path("counts"), directory.path().join(counts)).unwrap();
    let run = |arguments: &[&str]| process::run(directory.path(), arguments);
    let base = ["test", counts, "--strategy", "dpor", "--seed", "0", "--test"];
    let verified = run(&[&base[..], &["peterson", "-j", "1"]].concat());
    golden::check("search_verified", &golden::text(&verified));

    // Workers that share nothing still have choices.
    let apart = run(&[&base[..], &["apart_2x3"]].concat());
    assert_eq!(apart.code, Some(0), "{apart:?}");

    let stopped = run(&[&base[..], &["rmw_3x2", "-i", "10", "-j", "1"]].concat());
    golden::check("search_stopped", &golden::text(&stopped));
    let frontier = "coyote-output/counts-rmw_3x2.frontier";
    // The file is removed when nothing is left.
    std::fs::copy(directory.path().join(frontier), directory.path().join("kept.frontier")).unwrap();
    let resumed = run(&[&base[..], &["rmw_3x2", "--resume", frontier]].concat());
    assert!(resumed.stdout.contains("All 90 executions explored, no bug"), "{resumed:?}");
    let other = run(&[&base[..], &["rmw_2x3", "--resume", "kept.frontier"]].concat());
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stderr.contains("belongs to another test"), "{other:?}");

    let deadlock = module_path("sct_deadlock01");
    let deadlock = deadlock.to_str().unwrap();
    let found = run(&["test", deadlock, "-s", "dpor", "--test", "deadlock01", "--seed", "0", "-j", "1"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
    let replayed = run(&["replay", deadlock, trace]);
    assert_eq!(replayed.line(". Reproduced"), ". Reproduced: deadlock");
}
