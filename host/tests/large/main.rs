//! Instrumentation changes nothing, shown on large modules as compilers make them: SQLite, a program
//! of std's threads in debug and in release mode, a libtest binary, a Go program.
//!
//! `cargo xtask large` builds the modules; where they are not, these tests say so and pass.
//! `COYOTE_LARGE` names another directory with modules; every one in it must be accepted.
//! `COYOTE_LARGE_REQUIRED=1` makes a missing module a failure.

mod figures;
mod oracle;
mod sweep;

use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::determinism;
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Settings, Test};
use coyote_wasm::instrumenter::{Options, Points, instrument};
use coyote_wasm::machine::host::World;
use coyote_wasm::machine::scheduler::{Choice, Limits};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::record::{self, Origin};
use coyote_wasm::replay::replay;
use coyote_wasm::runtime::{AtExit, Stream, Timers};
use coyote_wasm::strategies::{Iteration, RandomWalk};
use coyote_wasm::trace::Trace;
use oracle::Ended;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const LEVELS: [Points; 3] = [Points::Heap, Points::Atomic, Points::Sync];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository")
}

fn directory() -> PathBuf {
    std::env::var_os("COYOTE_LARGE").map_or_else(|| root().join("target/large"), PathBuf::from)
}

fn required() -> bool {
    std::env::var_os("COYOTE_LARGE_REQUIRED").is_some_and(|v| v == "1")
}

/// The bytes of a module, or `None` if it was not built.
fn module(name: &str) -> Option<Vec<u8>> {
    let path = directory().join(name).with_extension("wasm");
    let read = std::fs::read(&path).ok();
    assert!(read.is_some() || !required(), "{} is missing: run cargo xtask large", path.display());
    if read.is_none() {
        println!("skipped: cargo xtask large builds them");
    }
    read
}

/// All modules, sorted by name.
fn modules() -> Vec<PathBuf> {
    let paths = modules_in(&directory());
    assert!(!paths.is_empty() || !required(), "{} has no module", directory().display());
    paths
}

fn modules_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "wasm"));
    paths.sort();
    paths
}

fn options(points: Points) -> Options {
    Options { points, ..Options::default() }
}

fn artifact(name: &str, wasm: &[u8], points: Points) -> Arc<Artifact> {
    let started = Instant::now();
    let instrumented =
        instrument(wasm, &options(points)).unwrap_or_else(|e| panic!("{name} {points:?}: {e}"));
    let instrumenting = started.elapsed();
    let (bytes, sites) = (instrumented.wasm.len(), instrumented.table.sites.len());
    let started = Instant::now();
    let artifact =
        Artifact::compile(&engine(None).unwrap(), wasm.into(), instrumented, options(points)).unwrap();
    println!(
        "{name} {points:?}: {} to {bytes} bytes, {sites} sites, instrumenting {instrumenting:.1?}, \
         compiling {:.1?}",
        wasm.len(),
        started.elapsed()
    );
    Arc::new(artifact)
}

fn settings(arguments: &[&str]) -> Settings {
    let steps_max = 1 << 32;
    Settings {
        limits: Limits { unfair_steps_max: steps_max, fair_steps_max: steps_max, fail_on_steps_max: true },
        at_exit: AtExit::Wait,
        timers: Timers::Any,
        memory_bytes_max: 512 << 20,
        world: Arc::new(World {
            arguments: arguments.iter().map(|a| a.to_string()).collect(),
            ..World::default()
        }),
        ..Settings::default()
    }
}

/// What an iteration did and left behind.
struct Run {
    outcome: Outcome,
    choices: Vec<Choice>,
    ended: Ended,
}

fn ran(execution: &Execution, outcome: Outcome) -> Run {
    let printed = execution.runtime().output.iter().filter(|o| o.stream != Stream::Log);
    let output: Vec<u8> = printed.flat_map(|o| &o.text).copied().collect();
    let machine = execution.machine();
    Run {
        outcome,
        choices: execution.choices().to_vec(),
        ended: Ended {
            exit_code: 0,
            output: String::from_utf8(output).expect("text"),
            memory: machine.memory()[..machine.memory_bytes()].to_vec(),
        },
    }
}

fn inline(execution: &mut Execution, iteration: Iteration) -> Run {
    let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
    ran(execution, outcome)
}

/// Every worker unwinds at every point.
fn stepwise(execution: &mut Execution, iteration: Iteration) -> Run {
    let outcome = execution.run_stepwise(&mut RandomWalk::default(), iteration, &mut |_| {}).unwrap();
    ran(execution, outcome)
}

fn same(what: &str, a: &Run, b: &Run) {
    let parted = a.choices.iter().zip(&b.choices).position(|(a, b)| a != b);
    assert_eq!(parted, None, "{what}: another choice");
    assert_eq!(a.choices.len(), b.choices.len(), "{what}: another number of choices");
    assert_eq!(a.outcome, b.outcome, "{what}");
    same_end(what, &a.ended, &b.ended);
}

fn same_end(what: &str, a: &Ended, b: &Ended) {
    assert_eq!(a.exit_code, b.exit_code, "{what}");
    assert_eq!(a.output, b.output, "{what}");
    assert_eq!(a.memory.len(), b.memory.len(), "{what}: memory of another size");
    let parted = a.memory.iter().zip(&b.memory).position(|(a, b)| a != b);
    let around = |memory: &[u8], at: usize| memory[at & !15..].iter().take(32).copied().collect::<Vec<u8>>();
    let shown = parted.map(|at| (at, around(&a.memory, at), around(&b.memory, at)));
    assert_eq!(shown, None, "{what}: memory differs at this address");
}

/// Runs something with the program of a module, where there is enough stack for it.
fn with_program<R: Send>(
    artifact: &Arc<Artifact>,
    arguments: &[&str],
    function: impl FnOnce(&mut Execution) -> R + Send,
) -> R {
    let tests = Test::all(&artifact.table);
    assert_eq!(tests.len(), 1, "a program is one test");
    on_engine_thread(|| function(&mut Execution::new(artifact, &tests[0], &settings(arguments)).unwrap()))
}

fn expected(name: &str) -> String {
    let path = root().join("examples/large").join(name).join("expected.txt");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Nothing is refused, at no level, and what comes out is valid: `instrument` checks that itself.
#[test]
fn every_module_is_accepted() {
    for path in modules() {
        let wasm = std::fs::read(&path).unwrap();
        for points in LEVELS {
            instrument(&wasm, &options(points))
                .unwrap_or_else(|e| panic!("{} {points:?}: {e}", path.display()));
        }
    }
}

/// The original on plain wasmtime, the instrumented module inline and unwound at every point: the same
/// output, and the same memory to the last byte.
fn one_thread(name: &str) {
    let Some(wasm) = module(name) else { return };
    let original = oracle::run(&wasm);
    assert_eq!(original.output, expected("sqlite"), "the original");
    assert_eq!(original.exit_code, 0);
    for points in LEVELS {
        let artifact = artifact(name, &wasm, points);
        with_program(&artifact, &[], |execution| {
            let iteration = Iteration { seed: 1, index: 0 };
            let started = Instant::now();
            let plain = inline(execution, iteration);
            assert_eq!(plain.outcome, Outcome::Passed);
            same_end(&format!("{name} {points:?}, original and inline"), &original, &plain.ended);
            let between = started.elapsed();
            let unwound = stepwise(execution, iteration);
            same(&format!("{name} {points:?}, inline and stepwise"), &plain, &unwound);
            let steps = unwound.choices.len();
            println!(
                "{name} {points:?}: {steps} steps, inline {between:.1?}, unwinding at each {:.1?}",
                started.elapsed() - between
            );
        });
    }
}

#[test]
fn sqlite_unoptimised() {
    one_thread("sqlite_o0");
}

#[test]
fn sqlite_optimised() {
    one_thread("sqlite_o2");
}

#[test]
fn sqlite_small() {
    one_thread("sqlite_os");
}

/// Inline, unwound at every point and replayed from a file: the same choices, output and memory; and
/// in every schedule the expected output.
fn threads(name: &str, arguments: &[&str], expected: &str, shown: fn(&str) -> String) {
    let Some(wasm) = module(name) else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("iteration.trace");
    for (points, iterations) in LEVELS.into_iter().zip([8, 4, 4]) {
        let artifact = artifact(name, &wasm, points);
        with_program(&artifact, arguments, |execution| {
            let (mut steps, mut decisions) = (0, 0);
            for seed in 0..iterations {
                let what = format!("{name} {arguments:?} {points:?} seed {seed}");
                let iteration = Iteration { seed, index: seed };
                let plain = inline(execution, iteration);
                let record = execution.record(true);
                (steps, decisions) = (steps + record.steps, decisions + record.decisions);
                assert_eq!(plain.outcome, Outcome::Passed, "{what}");
                assert_eq!(shown(&plain.ended.output), expected, "{what}");
                let origin =
                    Origin { strategy: "random".into(), seed, iteration: iteration.index, options: vec![] };
                record::trace(execution, &plain.outcome, origin).write(&file).unwrap();

                let unwound = stepwise(execution, iteration);
                same(&format!("{what}, inline and stepwise"), &plain, &unwound);

                let replayed = replay(execution, &Trace::read(&file).unwrap(), false).unwrap();
                assert_eq!(replayed.divergence, None, "{what}");
                same(&format!("{what}, replayed"), &plain, &ran(execution, replayed.outcome));
            }
            assert!(decisions > 0, "threads ran");
            println!("{name} {points:?}: {iterations} schedules, {steps} steps, {decisions} decisions");
        });
    }
}

#[test]
fn threads_debug() {
    threads("threads_debug", &["threads"], &expected("threads"), str::to_string);
}

#[test]
fn threads_release() {
    threads("threads_release", &["threads"], &expected("threads"), str::to_string);
}

/// libtest's output without how long the tests took: that is virtual time, and depends on the schedule.
fn without_time(output: &str) -> String {
    let cut = |line: &str| match line.split_once("; finished in") {
        Some((result, _)) => format!("{result}\n"),
        None => format!("{line}\n"),
    };
    output.lines().map(cut).collect()
}

#[test]
fn libtest() {
    threads("libtest_debug", &["libtest"], &expected("libtest"), without_time);
}

#[test]
fn libtest_with_one_test_thread() {
    threads("libtest_debug", &["libtest", "--test-threads=1"], &expected("libtest"), without_time);
}

/// Go runs its goroutines in one worker: whatever the seed, they do the same. Built only where there is a
/// Go compiler.
#[test]
fn goroutines() {
    let Ok(wasm) = std::fs::read(directory().join("goroutines.wasm")) else {
        println!("skipped: cargo xtask large builds it, if there is a Go compiler");
        return;
    };
    let artifact = artifact("goroutines", &wasm, Points::Heap);
    with_program(&artifact, &["goroutines"], |execution| {
        for seed in 0..2 {
            let iteration = Iteration { seed, index: seed };
            let run = inline(execution, iteration);
            assert_eq!(
                (run.outcome.clone(), &*run.ended.output),
                (Outcome::Passed, &*expected("goroutines"))
            );
            assert_eq!(execution.record(true).decisions, 0, "there is one worker");
            let states = determinism::check(execution, &run.outcome, true, iteration).unwrap();
            println!("goroutines: {states} states are equal");
        }
    });
}
