//! Same seed, same everything: across processes, numbers of jobs and caches; inline and step by step;
//! from a trace file; and after going back to a snapshot.

use super::examples::{self, module_path};
use super::{guest, process};
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::granules::{Granules, Sharing};
use coyote_wasm::instrumenter::{HeapPoints, Options};
use coyote_wasm::machine::conductor::Choice;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::record::{self, Origin};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Replay, Status, System};
use coyote_wasm::trace::Trace;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Iterations of each example: few here, 1,000 when soaking.
fn iterations() -> u64 {
    std::env::var("COYOTE_HOST_ITERATIONS").ok().map_or(50, |n| n.parse().expect("a number"))
}

/// Examples with short bounds: what does not end takes too long otherwise.
fn settings() -> Settings {
    let mut settings = guest::settings();
    settings.limits.fair_steps_max = 2_000;
    settings
}

/// Everything that a run leaves behind but times: its output and the files it wrote.
fn run(module: &Path, cache: &Path, options: &[&str]) -> (Option<i32>, String, BTreeMap<String, Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let mut arguments = vec!["test", module.to_str().unwrap(), "--seed", "7", "-i", "200", "--explore"];
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
    (ended.code, ended.timeless(), files)
}

/// With one job and with two, cold cache, warm cache and none: always the same output and traces.
#[test]
fn processes_jobs_and_caches_make_no_difference() {
    let mut traces = 0;
    for module in
        ["bounded_buffer", "dining_philosophers", "lost_wakeup", "ordinary_c", "racy_counter", "std_threads"]
    {
        let path = module_path(module);
        let cache = tempfile::tempdir().unwrap();
        let cold = run(&path, cache.path(), &["--jobs", "1"]);
        assert_eq!(cold.0, Some(2), "{module} has a bug: {}", cold.1);
        traces += cold.2.len();
        for options in [&["--jobs", "2"][..], &["--jobs", "1"], &["--jobs", "2", "--no-cache"]] {
            let other = run(&path, cache.path(), options);
            assert_eq!(other.1, cold.1, "{module} {options:?}");
            assert!(other == cold, "{module} {options:?}: the files differ");
        }
    }
    assert!(traces >= 12, "each module has a bug with a trace and a log: {traces}");
}

/// Points where memory is shared: what iterations know of each other does not depend on who is first.
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

/// `--iteration` alone makes the same trace as the run in which the iteration was one of many.
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
        // The first bug ends a run. So the run ends where the iteration does, and may end before.
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

/// What one iteration did: choices and outcome, and the fingerprint after every step.
#[derive(PartialEq, Eq)]
struct Steps {
    choices: Vec<Choice>,
    outcome: Outcome,
    prints: Vec<u128>,
    memory: Vec<u8>,
}

fn memory(execution: &Execution) -> Vec<u8> {
    execution.machine().memory()[..execution.machine().memory_bytes()].to_vec()
}

fn stepwise(
    execution: &mut Execution,
    strategy: &mut dyn coyote_wasm::strategies::Strategy,
    iteration: Iteration,
) -> Steps {
    let mut prints = Vec::new();
    let outcome = execution.run_stepwise(strategy, iteration, &mut |e| prints.push(e.fingerprint())).unwrap();
    Steps { choices: execution.choices().to_vec(), outcome, prints, memory: memory(execution) }
}

/// Inline, step by step, and step by step from the trace's file: the same choices, states and end.
fn check_iteration(execution: &mut Execution, iteration: Iteration, file: &Path) {
    let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
    let (choices, inline) = (execution.choices().to_vec(), memory(execution));
    let steps = stepwise(execution, &mut RandomWalk::default(), iteration);
    assert!(steps.choices == choices, "inline and stepwise part: {:?}", differing(&steps.choices, &choices));
    assert_eq!(steps.outcome, outcome);
    assert!(steps.memory == inline, "inline and stepwise leave different memory");

    let origin = Origin {
        strategy: "random".into(),
        seed: iteration.seed,
        iteration: iteration.index,
        options: vec![],
    };
    record::trace(execution, &outcome, origin).write(file).unwrap();
    let trace = Trace::read(file).unwrap();
    let schedule = record::schedule(&trace, &execution.machine().artifact().table);
    let mut replay = Replay::strict(schedule);
    let replayed = stepwise(execution, &mut replay, iteration);
    if outcome != Outcome::Abandoned {
        assert_eq!(replay.divergence(), None);
        assert_eq!(replayed.outcome, outcome);
    }
    assert_eq!(replay.position(), trace.decisions.len());
    assert!(replayed.choices == choices, "the replay chose something else");
    let parted = replayed.prints.iter().zip(&steps.prints).position(|(a, b)| a != b);
    assert_eq!(parted, None, "the replay's state differs after this step");
    assert_eq!(replayed.prints.len(), steps.prints.len());
    assert!(replayed.memory == inline);
}

fn differing(a: &[Choice], b: &[Choice]) -> (usize, Option<Choice>, Option<Choice>) {
    let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    (at, a.get(at).copied(), b.get(at).copied())
}

#[test]
fn a_replay_from_file_agrees_after_every_step() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("iteration.trace");
    for expected in examples::index() {
        let artifact = expected.artifact();
        guest::with(&artifact, &expected.test, &settings(), |execution| {
            // Hashing 16 MiB after each of 250 growths is what takes long.
            let share = if expected.module == "memory_hog" { 25 } else { 1 };
            for index in 0..(iterations() / share).max(1) {
                // Shown if the iteration fails.
                println!("{} {} iteration {index}", expected.module, expected.test);
                check_iteration(execution, Iteration { seed: 3, index }, &file);
            }
        });
    }
}

/// One move from outside, chosen at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Pick(Pick),
    Value(u64),
}

fn random_move(execution: &Execution, rng: &mut ChoiceRng) -> Option<Move> {
    match execution.status() {
        Status::Ready => {
            let view = execution.view();
            let at = rng.below(view.choices() as u64) as usize;
            let pick = view.enabled.get(at).map(|w| Pick::Step(*w));
            Some(Move::Pick(pick.or(view.timeout.map(Pick::Timeout)).expect("a choice is possible")))
        }
        Status::Choosing { bound } => Some(Move::Value(rng.below(bound))),
        _ => None,
    }
}

fn make(execution: &mut Execution, next: Move) {
    match next {
        Move::Pick(pick) => execution.step(pick),
        Move::Value(value) => execution.choose(value),
    }
}

/// A state, and what its fingerprint only hashes; of memory only sometimes, since that takes time.
type State = (u128, Status, Option<Vec<u8>>);

fn state(execution: &mut Execution, step: usize) -> State {
    let whole = step.is_multiple_of(16).then(|| memory(execution));
    (execution.fingerprint(), execution.status(), whole)
}

type Saved = (usize, <Execution as System>::Snapshot);

/// One random iteration with up to four snapshots; then back to each of them, in any order, and the
/// same moves again. Returns how many snapshots were gone back to.
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
    let outcome = execution.machine().conductor().outcome.clone();
    for _ in 0..saved.len() {
        let (at, snapshot) = &saved[rng.below(saved.len() as u64) as usize];
        execution.restore(snapshot);
        assert!(state(execution, *at) == states[*at], "the state restored at {at} differs");
        for (i, next) in moves.iter().enumerate().skip(*at) {
            make(execution, *next);
            let now = state(execution, i + 1);
            assert!(now == states[i + 1], "after going back to {at}, the state after step {i} differs");
        }
        assert_eq!(execution.machine().conductor().outcome, outcome);
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
            // Comparing whole memories is what takes the time.
            let rounds = (iterations() / 5).max(1);
            for index in 0..rounds {
                println!("{} {} iteration {index}", expected.module, expected.test);
                restores += check_restores(execution, Iteration { seed: 11, index }, 200);
            }
        });
    }
    assert!(restores > 500, "only {restores} snapshots were gone back to");
}

/// Snapshots from before and after a growth of memory, in any order.
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

/// The same two checks with points where memory is shared, from knowing nothing on.
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
                for index in 0..iterations() / 10 {
                    println!("{module} {} iteration {index}", test.test);
                    execution.share(Sharing::Only(Arc::new(known.clone())));
                    let iteration = Iteration { seed: 3, index };
                    check_iteration(execution, iteration, &file);
                    restores += check_restores(execution, iteration, 200);
                    known.0.extend(execution.take_grown().0);
                }
                assert!(!known.0.is_empty(), "nothing is shared");
            });
        }
    }
    assert!(restores > 50, "only {restores} snapshots were gone back to");
}
