//! Every example has the verdict that `examples/expected.json` states, within the stated number of
//! iterations, and every bug replays in another process.
//!
//! "Found within N" means: by at least 95 % of the consecutive seeds from 0, which are 100 when soaking
//! (`COYOTE_HOST_ITERATIONS`), and 4 otherwise, of which all find it.

pub use super::expected::{Expected, index, module_path};

use super::{guest, process};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::execution::Test;
use coyote_wasm::explore::{Budget, Plan, Unwatched, sample};
use coyote_wasm::instrumenter::Options;
use coyote_wasm::results::TestResult;
use coyote_wasm::strategies::{Context, by_name};
use coyote_wasm::tester::Tester;
use coyote_wasm::verdict::Verdict;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

impl Expected {
    /// The module, instrumented by its options, compiled once for all tests of this process.
    pub fn artifact(&self) -> Arc<Artifact> {
        compiled(&self.module, self.instrument())
    }
}

/// The number of seeds of "found within".
fn seeds() -> u64 {
    guest::scaled(4, 100)
}

/// Iterations within which a bug must be found if no number is stated.
const ITERATIONS: u64 = 10_000;

/// An example's module with all points, compiled once for all tests of this process.
pub fn artifact(module: &str) -> Arc<Artifact> {
    compiled(module, Options::default())
}

/// The same with the options that a strategy of this name needs.
pub fn artifact_for(module: &str, strategy: &str) -> Arc<Artifact> {
    compiled(module, guest::options_for(strategy))
}

fn compiled(module: &str, options: Options) -> Arc<Artifact> {
    type Artifacts = BTreeMap<(String, String), Arc<Artifact>>;
    static ARTIFACTS: OnceLock<Mutex<Artifacts>> = OnceLock::new();
    let mut artifacts = ARTIFACTS.get_or_init(Mutex::default).lock().unwrap_or_else(|e| e.into_inner());
    let make = || {
        let wasm = std::fs::read(module_path(module)).unwrap();
        guest::compile(&wasm, &options).unwrap()
    };
    artifacts.entry((module.into(), format!("{options:?}"))).or_insert_with(make).clone()
}

fn run(
    expected: &Expected,
    strategy: &str,
    seed: u64,
    iterations_max: u64,
    jobs: usize,
    fair_steps_max: u64,
) -> TestResult {
    let artifact = expected.artifact();
    let test = guest::find(&artifact, &expected.test);
    let directory = tempfile::tempdir().unwrap();
    let mut settings = expected.settings();
    settings.limits.fair_steps_max = fair_steps_max;
    let plan = Plan {
        artifact: &artifact,
        test: &test,
        settings: &settings,
        seed,
        budget: Budget {
            iterations_max,
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
        },
        trace_stem: directory.path().join("trace"),
    };
    let strategy = |context: &Context| by_name(strategy, context).unwrap();
    sample::explore(&plan, &strategy, &AtomicBool::new(false), &Unwatched).unwrap()
}

const FAIR_STEPS_MAX: u64 = 100_000;

/// How many iterations are needed to find the bug, including the profiling run; `None` if the cap is reached.
pub fn iterations_to_bug(expected: &Expected, strategy: &str, seed: u64, cap: u64) -> Option<u64> {
    let exploration = run(expected, strategy, seed, cap, 1, FAIR_STEPS_MAX);
    (!exploration.bugs.is_empty()).then_some(exploration.iterations())
}

fn name(expected: &Expected) -> String {
    format!("{}: {}", expected.module, expected.test)
}

/// Fails once with all errors.
fn none(mut wrong: Vec<String>) {
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The index contains every test of every module, and no others.
#[test]
fn the_index_is_complete() {
    let indexed: Vec<(String, String)> = index()
        .into_iter()
        .map(|e| {
            let test = guest::find(&artifact(&e.module), &e.test);
            (e.module, test.name)
        })
        .collect();
    let mut there = Vec::new();
    for entry in std::fs::read_dir(guest::root().join("examples/wasm")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "wasm") {
            let module = path.file_stem().unwrap().to_str().unwrap().to_string();
            let tests = Test::all(&artifact(&module).table);
            there.extend(tests.into_iter().map(|t| (module.clone(), t.name)));
        }
    }
    let sorted = |mut list: Vec<(String, String)>| {
        list.sort();
        list
    };
    assert_eq!(sorted(indexed), sorted(there));
}

#[test]
fn bugs_are_found_within_the_stated_iterations() {
    let mut wrong = Vec::new();
    for expected in index().iter().filter(|e| e.is_bug()) {
        let Some(within) = expected.found_within else { continue };
        let mut finding = 0;
        for seed in 0..seeds() {
            let exploration = run(expected, expected.strategy(), seed, within, 1, FAIR_STEPS_MAX);
            let Some(found) = exploration.bugs.first() else { continue };
            finding += 1;
            wrong.extend(another_bug(expected, found.bug.kind.name(), &found.bug.message()));
        }
        let seeds = seeds();
        if finding * 100 < seeds * 95 {
            wrong.push(format!("{}: found within {within} by {finding} of {seeds} seeds", name(expected)));
        }
    }
    none(wrong);
}

/// If the index names faults, they are needed for the bug: the same number of iterations without them finds
/// nothing.
#[test]
fn what_faults_show_passes_without_them() {
    let mut wrong = Vec::new();
    for expected in index().iter().filter(|e| e.is_bug() && e.option("--faults").is_some()) {
        let iterations = expected.found_within.expect("the index says within how many iterations");
        let without = expected.without("--faults").without("--crash-model");
        let exploration = run(&without, expected.strategy(), 0, iterations, 2, FAIR_STEPS_MAX);
        wrong.extend(exploration.bugs.iter().map(|f| format!("{}: {:?}", name(expected), f.bug)));
    }
    none(wrong);
}

/// An error message if a bug is not the expected one.
fn another_bug(expected: &Expected, kind: &str, message: &str) -> Option<String> {
    let right = kind == expected.verdict && expected.message.as_ref().is_none_or(|m| message.contains(m));
    (!right).then(|| format!("{}: found {kind}: {message}", name(expected)))
}

#[test]
fn what_is_correct_passes() {
    let mut wrong = Vec::new();
    for expected in index().iter().filter(|e| e.verdict == "passed") {
        let passing = expected.passes.expect("the index says how many iterations pass");
        let iterations = guest::scaled(passing.min(300), passing);
        let exploration = run(expected, expected.strategy(), 0, iterations, 2, FAIR_STEPS_MAX);
        wrong.extend(exploration.bugs.iter().map(|f| format!("{}: {:?}", name(expected), f.bug)));
        let passed = exploration.statistics.iterations();
        if passed != iterations || !exploration.incidents.limits.is_empty() {
            wrong.push(format!("{}: {passed} of {iterations} iterations", name(expected)));
        }
    }
    none(wrong);
}

/// Counted, not timed: a loop without scheduling points ends at the bound on steps.
#[test]
fn what_does_not_end_is_cut_off() {
    let mut tester = Tester::of(guest::from_file("hangs.wat"));
    tester.settings.limits.fair_steps_max = 1_000;
    tester.budget.iterations_max = 20;
    for test in ["counts", "counts_beside_another"] {
        let exploration = tester.explore(test, "random").unwrap();
        assert!(exploration.bugs.is_empty(), "{test}: {:?}", exploration.bugs);
        assert_eq!(exploration.statistics.fair.hit_max_steps, 20, "{test}: {}", exploration.statistics);
        assert!(matches!(exploration.verdict(), Verdict::Inconclusive { .. }), "{test}");
    }
}

/// Examples whose bugs take a second to minimise.
const MINIMISED: [&str; 3] = ["account", "outcomes_locks", "sct_circular_buffer"];

/// The complete use by a user: a run finds the bug and writes a trace, another process replays it.
#[test]
fn bugs_replay_in_another_process() {
    let mut wrong = Vec::new();
    // The other bugs are replayed within this process by `golden`, and here when soaking.
    let all = guest::soaking();
    let bugs = index().into_iter().filter(|e| e.is_bug()).enumerate();
    let is_chosen =
        |number: usize, module: &str| all || number.is_multiple_of(5) || MINIMISED.contains(&module);
    for (number, expected) in &bugs.filter(|(number, e)| is_chosen(*number, &e.module)).collect::<Vec<_>>() {
        let directory = tempfile::tempdir().unwrap();
        let module = module_path(&expected.module);
        let module = module.to_str().unwrap();
        let test = guest::find(&artifact(&expected.module), &expected.test).name;
        let iterations = ITERATIONS.to_string();
        let mut arguments = vec!["test", module, "--test", &test, "--seed", "0", "-i", &iterations];
        arguments.extend(expected.options.iter().map(String::as_str));
        if let Some(strategy) = &expected.strategy {
            arguments.extend(["--strategy", strategy]);
        }
        // The tests of shrinking minimise all of them.
        let minimised = guest::soaking() && number % 8 == 0 || MINIMISED.contains(&expected.module.as_str());
        if !minimised {
            arguments.extend(["--no-shrink", "--no-experiments"]);
        }
        let found = process::run(directory.path(), &arguments);
        if found.code != Some(2) {
            wrong.push(format!("{}: not found: {found:?}", name(expected)));
            continue;
        }
        let verdict = found.line("bug in test ");
        let (kind, message) = verdict.split_once(": ").unwrap().1.split_once(": ").unwrap();
        wrong.extend(another_bug(expected, kind, message));
        let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
        let replayed = process::run(directory.path(), &["replay", module, trace]);
        if replayed.code != Some(2)
            || replayed.line("bug in test ") != verdict
            || replayed.line(". Reproduced") != format!(". Reproduced: {kind}")
        {
            wrong.push(format!("{}: the replay differs: {replayed:?}", name(expected)));
        }
        if details(&found.stdout) != details(&replayed.stdout) {
            wrong.push(format!(
                "{}: the replay shows something else:\n{}\n---\n{}",
                name(expected),
                details(&found.stdout),
                details(&replayed.stdout)
            ));
        }
    }
    none(wrong);
}

/// The part of a report that is the same for run and replay: workers, stacks, switches, output.
fn details(stdout: &str) -> String {
    let lines = stdout.lines().skip_while(|l| !l.starts_with("bug in test "));
    let shown = lines.take_while(|l| l.starts_with("bug in test ") || l.starts_with("  "));
    let of_the_run = [
        "  found in ",
        "  trace: ",
        "  log: ",
        "  replay: ",
        "  decisive: ",
        "            of random ",
        "  instead: ",
        "  smallest: ",
        "  a fix: ",
        "  always: ",
    ];
    let shared = shown.filter(|l| !of_the_run.iter().any(|s| l.starts_with(s)));
    shared.map(|l| format!("{l}\n")).collect()
}
