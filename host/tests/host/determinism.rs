//! The same seed gives the same results: in every process, with any number of jobs and any cache; inline and
//! step by step; from a trace file; and after restoring a snapshot.

use super::examples::{self, module_path};
use super::{guest, process};
use coyote_wasm::determinism::{self, Course};
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::granules::{Granules, Sharing};
use coyote_wasm::instrumenter::{HeapPoints, Options};
use coyote_wasm::machine::Part;
use coyote_wasm::machine::scheduler::Looks;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::record::{self, Origin};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Replay, Status, Strategy, System, View};
use coyote_wasm::trace::Trace;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Iterations of each example: 2 by default, 1,000 when soaking.
fn iterations() -> u64 {
    guest::iterations(2)
}

/// Settings with low bounds: examples that do not end would take too long otherwise.
fn settings() -> Settings {
    let mut settings = guest::settings();
    settings.limits.fair_steps_max = 2_000;
    settings
}

/// All results of a run except times: its output and the files that it wrote.
fn run(module: &Path, cache: &Path, options: &[&str]) -> (Option<i32>, String, BTreeMap<String, Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let mut arguments = vec!["test", module.to_str().unwrap(), "--seed", "7", "-i", "200", "--explore"];
    if !options.contains(&"--no-shrink") {
        // With enough time, no result depends on the clock.
        arguments.extend(["--shrink-time", "600"]);
    }
    arguments.extend(options);
    let ended = process::run_with(cache, directory.path(), &arguments);
    let mut files = BTreeMap::new();
    if let Ok(entries) = std::fs::read_dir(directory.path().join("coyote-output")) {
        for entry in entries {
            let path = entry.unwrap().path();
            files.insert(
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            );
        }
    }
    // The paths of the module and of traces are absolute.
    let here = format!("{}/", directory.path().canonicalize().unwrap().display());
    (ended.code, ended.timeless().replace(&here, ""), files)
}

/// With one job and with two, with a cold cache, a warm cache and none: always the same output and traces.
#[test]
fn processes_jobs_and_caches_make_no_difference() {
    let mut traces = 0;
    for module in
        ["bounded_buffer", "dining_philosophers", "lost_wakeup", "ordinary_c", "racy_counter", "std_threads"]
    {
        let path = module_path(module);
        let cache = tempfile::tempdir().unwrap();
        // Minimising all bugs of the larger ones takes long.
        let minimised = guest::soaking() || ["lost_wakeup", "ordinary_c", "racy_counter"].contains(&module);
        let less: &[&str] = if minimised { &[] } else { &["--no-shrink", "--no-experiments"] };
        let run = |options: &[&str]| run(&path, cache.path(), &[less, options].concat());
        let cold = run(&["--jobs", "1"]);
        assert_eq!(cold.0, Some(2), "{module} has a bug: {}", cold.1);
        traces += cold.2.len();
        for options in [&["--jobs", "2"][..], &["--jobs", "1"], &["--jobs", "2", "--no-cache"]] {
            let other = run(options);
            assert_eq!(other.1, cold.1, "{module} {options:?}");
            assert!(other == cold, "{module} {options:?}: the files differ");
        }
    }
    assert!(traces >= 12, "each module has a bug with a trace and a log: {traces}");
}

/// Points where memory is shared: what iterations learn from each other does not depend on which is first.
#[test]
fn jobs_make_no_difference_to_what_is_known_to_be_shared() {
    for module in ["bounded_buffer", "racy_counter", "std_threads"] {
        let path = module_path(module);
        let cache = tempfile::tempdir().unwrap();
        let shared = ["--heap-points", "shared"];
        let one = run(&path, cache.path(), &[&shared[..], &["--jobs", "1"]].concat());
        assert_eq!(one.0, Some(2), "{module} has a bug: {}", one.1);
        for jobs in ["2", "5"] {
            let more = run(&path, cache.path(), &[&shared[..], &["--jobs", jobs]].concat());
            assert_eq!(more.1, one.1, "{module} with {jobs} jobs");
            assert!(more == one, "{module} with {jobs} jobs: the files differ");
        }
    }
}

/// `--iteration` alone makes the same trace as a run in which the iteration was one of many.
#[test]
fn one_iteration_knows_what_it_would_know_among_others() {
    let (path, cache) = (module_path("racy_counter"), tempfile::tempdir().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let test = |more: &[&str]| {
        let module = path.to_str().unwrap();
        let always = ["test", module, "--test", "racy", "--seed", "7", "--heap-points", "shared"];
        process::run_with(cache.path(), directory.path(), &[&always[..], more].concat())
    };
    let traces = || -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(directory.path().join("coyote-output")).unwrap();
        let paths =
            entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "trace"));
        let named = paths.map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), p));
        named.map(|(name, path)| (name, std::fs::read(path).unwrap())).collect()
    };
    let mut checked = 0;
    for iteration in ["0", "1", "5", "12", "13", "40"] {
        let ended = test(&["--iteration", iteration, "--outdir", "alone"]);
        let name = format!("racy_counter-racy-{iteration}.trace");
        let alone = std::fs::read(directory.path().join("alone").join(&name));
        assert_eq!(alone.is_ok(), ended.code == Some(2));
        // The first bug ends a run, so the run ends with this iteration or before.
        let Ok(alone) = alone else { continue };
        let iterations = (iteration.parse::<u64>().unwrap() + 1).to_string();
        let _ = std::fs::remove_dir_all(directory.path().join("coyote-output"));
        test(&["-i", &iterations, "--explore"]);
        if let Some(among) = traces().get(&name) {
            assert!(alone == *among, "iteration {iteration} differs");
            checked += 1;
        }
    }
    assert!(checked > 0, "no iteration was compared");
}

/// Repeats one iteration as `--check-determinism` does. Returns how many states were compared.
fn check_again(execution: &mut Execution, iteration: Iteration) -> u64 {
    let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
    determinism::check(execution, &outcome, true, iteration).unwrap()
}

/// The same choices, states and end whether executed inline, step by step under its strategy, or step by step
/// from the trace's file.
fn check_from_file(execution: &mut Execution, iteration: Iteration, file: &Path) {
    // Executions that are driven step by step do not look for livelocks.
    let run = |execution: &mut Execution| execution.run(Box::new(RandomWalk::default()), iteration);
    let (outcome, _) = execution.looking(Looks::Never, run).unwrap();
    let inline = Course::inline(execution, &outcome);
    let origin = Origin {
        strategy: "random".into(),
        seed: iteration.seed,
        iteration: iteration.index,
        options: vec![],
    };
    record::trace(execution, &outcome, origin).write(file).unwrap();
    let steps = Course::stepwise(execution, &mut RandomWalk::default(), iteration).unwrap();
    assert_eq!(inline.difference(&steps), None, "inline and stepwise part");

    let trace = Trace::read(file).unwrap();
    let schedule = record::schedule(&trace, &execution.machine().artifact().table);
    let mut replay = Replay::strict(schedule);
    let replayed = Course::stepwise(execution, &mut replay, iteration).unwrap();
    if outcome != Outcome::Abandoned {
        assert_eq!(replay.divergence(), None);
    }
    assert_eq!(replay.position(), trace.decisions.len());
    assert_eq!(steps.difference(&replayed), None, "the replay parts");
}

/// Repeats each example and compares after every step, as `--check-determinism` promises. Some of the
/// iterations are also executed from a trace's file.
#[test]
fn a_replay_agrees_after_every_step() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("iteration.trace");
    let mut compared = 0;
    // A schedule does not tell from which step on it is fair, and therefore not when a monitor has been hot
    // for too long.
    let mut settings = settings();
    settings.detectors.hot_steps_max = Some(0);
    for expected in examples::index() {
        let artifact = expected.artifact();
        guest::with(&artifact, &expected.test, &settings, |execution| {
            // Hashing 16 MiB after each of 250 growths takes long.
            let share = if expected.module == "memory_hog" { 25 } else { 1 };
            for index in 0..(iterations() / share).max(1) {
                // Visible if the iteration fails.
                println!("{} {} iteration {index}", expected.module, expected.test);
                let iteration = Iteration { seed: 3, index };
                compared += check_again(execution, iteration);
                if index.is_multiple_of(10) {
                    check_from_file(execution, iteration, &file);
                }
            }
        });
    }
    println!("{compared} states were compared");
    assert!(compared > 100_000, "only {compared} states were compared");
}

/// Memory that differs between two executions is noticed, with the choice and the part.
#[test]
fn what_does_not_repeat_is_named() {
    let artifact = examples::artifact("racy_counter");
    let iteration = Iteration { seed: 3, index: 0 };
    let course = |test: &str, settings: &Settings| {
        guest::with(&artifact, test, settings, |execution| {
            Course::stepwise(execution, &mut RandomWalk::default(), iteration).unwrap()
        })
    };
    let (first, second) = (course("racy", &settings()), course("racy", &settings()));
    assert_eq!(first.difference(&second), None);

    let mut memory = course("racy", &settings());
    memory.memory[1234] ^= 1;
    assert_eq!(first.difference(&memory).unwrap(), "memory differs at the end, first at the address 0x4d2");
    let mut state = course("racy", &settings());
    state.states[5].iter_mut().find(|part| part.0 == Part::Memory).unwrap().1 ^= 1;
    assert_eq!(first.difference(&state).unwrap(), "after choice 5, memory differs");
    let mut shorter = course("racy", &settings());
    shorter.choices.truncate(7);
    shorter.states.truncate(7);
    let difference = first.difference(&shorter).unwrap();
    assert!(
        difference.starts_with("after choice 7, ") || difference.starts_with("choice 7 is "),
        "{difference}"
    );
    // A different program.
    assert!(first.difference(&course("locked", &settings())).is_some());
}

/// The option on the command line, and a guest whose start snapshot changes during the check.
#[test]
fn the_option_repeats_every_iteration() {
    let (path, directory) = (module_path("racy_counter"), tempfile::tempdir().unwrap());
    let test = |more: &[&str]| {
        let module = path.to_str().unwrap();
        let always = ["test", module, "--seed", "7", "-i", "50", "--check-determinism"];
        process::run(directory.path(), &[&always[..], more].concat())
    };
    for shared in [&[][..], &["--heap-points", "shared"]] {
        let passed = test(&[&["--test", "locked"][..], shared].concat());
        assert_eq!(passed.code, Some(0), "{passed:?}");
        assert!(passed.stdout.contains("Every iteration was executed twice more: equal after each of "));
        let found = test(&[&["--test", "racy"][..], shared].concat());
        assert_eq!(found.code, Some(2), "{found:?}");
    }
    let search = test(&["--strategy", "dpor"]);
    assert_eq!(search.code, Some(1), "{search:?}");
    assert!(search.stderr.starts_with("error: --check-determinism is for strategies that choose at random"));

    let artifact = examples::artifact("racy_counter");
    guest::with(&artifact, "locked", &settings(), |execution| {
        let iteration = Iteration { seed: 3, index: 4 };
        let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
        // After this, iterations begin where that one ended.
        let runtime = execution.runtime().clone();
        execution.machine_mut().set_start(runtime);
        let error = determinism::check(execution, &outcome, true, iteration).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "this is a bug in coyote-wasm: iteration 4 of test locked with seed 3 does not repeat: choice 0 is "
            ),
            "{error}"
        );
    });
}

fn memory(execution: &Execution) -> Vec<u8> {
    execution.machine().memory()[..execution.machine().memory_bytes()].to_vec()
}

/// A random external decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Pick(Pick),
    Value(u64),
}

pub fn random_move(execution: &Execution, rng: &mut ChoiceRng) -> Option<Move> {
    match execution.status() {
        Status::Ready => {
            let view = execution.view();
            let at = rng.below(view.choices() as u64) as usize;
            Some(Move::Pick(view.picks().nth(at).expect("a choice is possible")))
        }
        Status::Choosing { bound } => Some(Move::Value(rng.below(bound))),
        _ => None,
    }
}

pub fn make(execution: &mut Execution, next: Move) {
    match next {
        Move::Pick(pick) => execution.step(pick),
        Move::Value(value) => execution.choose(value),
    }
}

/// A state, and the contents that its fingerprint hashes; the memory only sometimes, since copying it takes
/// time.
type State = (u128, Status, Option<Vec<u8>>);

fn state(execution: &mut Execution, step: usize) -> State {
    let whole = step.is_multiple_of(16).then(|| memory(execution));
    (execution.fingerprint(), execution.status(), whole)
}

type Saved = (usize, <Execution as System>::Snapshot);

/// Executes one random iteration with up to four snapshots; then restores each of them, in any order, and
/// repeats the same decisions. Returns how many snapshots were restored.
fn check_restores(execution: &mut Execution, iteration: Iteration, steps_max: usize) -> usize {
    let mut rng = ChoiceRng::new(iteration);
    execution.begin().unwrap();
    let mut states: Vec<State> = vec![state(execution, 0)];
    let mut moves = Vec::new();
    let mut saved: Vec<Saved> = Vec::new();
    while let Some(next) = random_move(execution, &mut rng)
        && moves.len() < steps_max
    {
        if saved.len() < 4 && rng.one_in(8) {
            saved.push((moves.len(), execution.snapshot()));
        }
        make(execution, next);
        moves.push(next);
        states.push(state(execution, moves.len()));
    }
    let outcome = execution.machine().scheduler().outcome.clone();
    for _ in 0..saved.len() {
        let (at, snapshot) = &saved[rng.below(saved.len() as u64) as usize];
        execution.restore(snapshot);
        assert!(state(execution, *at) == states[*at], "the state restored at {at} differs");
        for (i, next) in moves.iter().enumerate().skip(*at) {
            make(execution, *next);
            let now = state(execution, i + 1);
            assert!(now == states[i + 1], "after going back to {at}, the state after step {i} differs");
        }
        assert_eq!(execution.machine().scheduler().outcome, outcome);
    }
    saved.len()
}

#[test]
fn going_back_to_a_snapshot_is_exact() {
    let mut restores = 0;
    for expected in examples::index() {
        let artifact = expected.artifact();
        guest::with(&artifact, &expected.test, &settings(), |execution| {
            if !execution.can_snapshot() {
                return;
            }
            // Comparing whole memories takes most of the time.
            let rounds = (iterations() / 4).max(1);
            for index in 0..rounds {
                println!("{} {} iteration {index}", expected.module, expected.test);
                restores += check_restores(execution, Iteration { seed: 11, index }, 200);
            }
        });
    }
    assert!(restores > 500, "only {restores} snapshots were gone back to");
}

/// A random walk that relies on being asked only if a pick is possible.
#[derive(Default)]
struct Trusting(RandomWalk);

impl Strategy for Trusting {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fair(&self) -> bool {
        self.0.fair()
    }

    fn begin(&mut self, iteration: Iteration) {
        self.0.begin(iteration);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        assert!(view.choices() > 0, "asked after the end");
        self.0.pick(view)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.0.value(bound, view)
    }
}

/// Plain accesses do not end an execution, but the step after them may.
#[test]
fn both_ways_end_where_nothing_can_be_picked() {
    let artifact = guest::from_text(
        r#"(module
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "assume" (func $assume (param i32)))
  (memory (export "memory") 1)
  (func $load (drop (i32.load (i32.const 0x800))))
  (func $lock_one (drop (call $lock (i32.const 0x900) (i64.const -1))))
  (func (export "coyote.test.deadlock") (call $lock_one) (call $load) (call $lock_one))
  (func (export "coyote.test.abandoned") (call $load) (call $assume (i32.const 0))))"#,
    );
    for expected in ["deadlock", "abandoned"] {
        guest::with(&artifact, expected, &settings(), |execution| {
            let iteration = Iteration { seed: 0, index: 0 };
            let (outcome, mut strategy) = execution.run(Box::new(Trusting::default()), iteration).unwrap();
            assert_eq!(outcome.describe().0, expected);
            assert_eq!(execution.run_stepwise(&mut *strategy, iteration, &mut |_| {}).unwrap(), outcome);
        });
    }
}

/// Snapshots from before and after memory has grown, in any order.
#[test]
fn going_back_over_a_growth_of_memory_is_exact() {
    let artifact = guest::from_file("grow.wat");
    let mut sizes = std::collections::BTreeSet::new();
    let restores: usize = guest::with(&artifact, "grow", &guest::settings(), |execution| {
        (0..200)
            .map(|index| {
                let restores = check_restores(execution, Iteration { seed: 13, index }, 1_000);
                sizes.insert(execution.machine().memory_bytes() >> 16);
                restores
            })
            .sum()
    });
    assert!(restores > 200, "only {restores} snapshots were gone back to");
    assert!(sizes.len() > 1, "memory had several sizes at the end: {sizes:?}");
}

/// The same two checks with points where memory is shared, starting without knowledge about sharing.
#[test]
fn points_at_shared_memory_are_deterministic() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("iteration.trace");
    let options = Options { heap_points: HeapPoints::Shared, ..Options::default() };
    let mut restores = 0;
    for module in ["account", "bounded_buffer", "ordinary_c", "std_threads"] {
        let artifact = guest::compile(&std::fs::read(module_path(module)).unwrap(), &options).unwrap();
        for test in examples::index().into_iter().filter(|e| e.module == module) {
            guest::with(&artifact, &test.test, &settings(), |execution| {
                let mut known = Granules::default();
                for index in 0..(iterations() / 2).max(4) {
                    println!("{module} {} iteration {index}", test.test);
                    execution.share(Sharing::Only(Arc::new(known.clone())));
                    let iteration = Iteration { seed: 3, index };
                    check_again(execution, iteration);
                    check_from_file(execution, iteration, &file);
                    restores += check_restores(execution, iteration, 200);
                    known.0.extend(execution.take_grown().0);
                }
                assert!(!known.0.is_empty(), "nothing is shared");
            });
        }
    }
    assert!(restores > 50, "only {restores} snapshots were gone back to");
}
