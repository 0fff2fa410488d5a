//! A sweep of faults against brute force: on generated programs, every single fault is also executed by a loop that knows
//! nothing of the sweep, step by step from the start. Both come to the same ends in the same order, the table of the sweep
//! counts them, and each bug replays.

use super::classes::{self, FAULTS};
use super::ends::{End, end, place};
use super::program::FAULTED;
use super::{compare, compile, generate, number};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Faults, Settings, Test};
use coyote_wasm::explore::sweep;
use coyote_wasm::explore::{Budget, MakeStrategy, Plan, Unwatched};
use coyote_wasm::instrumenter::Points;
use coyote_wasm::replay::replay;
use coyote_wasm::strategies::sample::sweep::Sweep;
use coyote_wasm::strategies::{Context, Iteration, OpKind, Pick, RandomWalk, Status, System, WorkerId};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Programs that are swept.
const PROGRAMS: u64 = 300;

/// A fault of the naive loop.
#[derive(Clone, Copy, Debug)]
struct Single {
    number: usize,
    value: u64,
    lasting: bool,
}

/// Where a fault can strike: what kind of thing is about to be done there. Fault points of different names differ.
fn kind(execution: &Execution, worker: WorkerId) -> Option<(u8, u64)> {
    let operation = execution.view().workers[worker.index()].operation;
    match operation.kind {
        OpKind::TryLock | OpKind::TryReadLock | OpKind::TryWriteLock | OpKind::SemaphoreTryWait => {
            Some((0, 0))
        }
        OpKind::Wait | OpKind::FutexWait => Some((1, 0)),
        OpKind::File => Some((2, 0)),
        OpKind::Spawn => Some((3, 0)),
        OpKind::Fault => Some((4, operation.object)),
        _ => None,
    }
}

/// Executes the default schedule with one fault, or with none. Returns the bounds of the values at its opportunities.
fn naive(execution: &mut Execution, fault: Option<Single>) -> Vec<u64> {
    execution.machine_mut().scheduler_mut().fair = true;
    execution.ends_at_once = true;
    execution.begin().unwrap();
    let (mut bounds, mut running, mut struck) = (Vec::new(), WorkerId(0), None);
    loop {
        match execution.status() {
            Status::Ready => {
                let view = execution.view();
                let goes_on = view.enabled.contains(&running);
                let worker = if goes_on { Some(running) } else { view.enabled.first().copied() };
                let timeout = view.timeout;
                running = worker.or(timeout).unwrap();
                execution.step(worker.map(Pick::Step).unwrap_or(Pick::Timeout(running)));
            }
            Status::Choosing { bound } => {
                let Some(kind) = kind(execution, running) else {
                    execution.choose(0);
                    continue;
                };
                let value = match fault {
                    Some(fault) if bounds.len() == fault.number => {
                        struck = Some(kind);
                        fault.value
                    }
                    Some(fault) if fault.lasting && struck == Some(kind) => fault.value.min(bound - 1),
                    _ => 0,
                };
                bounds.push(bound);
                execution.choose(value);
            }
            _ => return bounds,
        }
    }
}

/// The ends of all single faults by brute force.
fn by_brute_force(execution: &mut Execution, place: usize) -> Vec<Option<End>> {
    let bounds = naive(execution, None);
    let passed = end(execution, place).is_some_and(|end| end.how == "passed");
    let mut ends = Vec::new();
    for (number, bound) in bounds.iter().enumerate().filter(|_| passed) {
        for (value, lasting) in (1..*bound).flat_map(|value| [(value, false), (value, true)]) {
            naive(execution, Some(Single { number, value, lasting }));
            ends.push(end(execution, place));
        }
    }
    ends
}

#[derive(Debug, Default)]
struct Tally {
    opportunities: u64,
    faults: u64,
    failed: u64,
    bugs: u64,
    /// Programs whose default schedule does not pass.
    unswept: u64,
}

fn check(artifact: &Arc<Artifact>, test: &Test, settings: &Settings, traces: &Path, tally: &mut Tally) {
    let budget = Budget { iterations_max: u64::MAX, timeout: None, jobs: 1, ..Budget::default() };
    let trace_stem = traces.join(&test.name);
    let plan = Plan { artifact, test, settings, seed: 7, budget, trace_stem };
    let bounds = Context { unfair_steps_max: settings.limits.unfair_steps_max };
    let walk: MakeStrategy = &|_| Box::new(RandomWalk::default());
    let result = sweep::explore(&plan, 0, walk, &AtomicBool::new(false), &Unwatched).unwrap();
    on_engine_thread(|| {
        let mut execution = Execution::new(artifact, test, settings).unwrap();
        execution.begin().unwrap();
        let place = place(&execution);
        let expected = by_brute_force(&mut execution, place);
        let swept = sweep::prepare(&plan, 0).unwrap();
        assert_eq!(swept.attempts.len(), expected.len(), "{}", test.name);
        let mut strategy: Box<dyn coyote_wasm::strategies::Strategy> =
            Box::new(Sweep::new(swept.attempts.clone(), walk(&bounds)));
        for (number, expected) in expected.iter().enumerate() {
            let iteration = Iteration { seed: 7, index: number as u64 + 1 };
            let (_, used) = execution.run(strategy, iteration).unwrap();
            strategy = used;
            assert_eq!(end(&execution, place), *expected, "{}: {:?}", test.name, swept.attempts[number]);
        }
        let sweep = result.sweep.as_ref().unwrap();
        let is_bug = |end: &&Option<End>| end.as_ref().is_some_and(|end| end.how != "passed");
        let failed = expected.iter().filter(is_bug).count() as u64;
        let of_sites: u64 = sweep.sites.iter().map(|site| site.swept.failed).sum();
        assert_eq!(
            (sweep.planned(), sweep.tried(), of_sites),
            (expected.len() as u64, expected.len() as u64, failed)
        );
        for found in &result.bugs {
            assert!(replay(&mut execution, &found.trace, false).unwrap().reproduces(&found.trace));
        }
        tally.opportunities += sweep.opportunities();
        tally.faults += expected.len() as u64;
        tally.failed += failed;
        tally.bugs += result.bugs.len() as u64;
        tally.unswept += u64::from(!sweep.baseline_passes);
    });
}

#[test]
fn a_sweep_is_all_single_faults() {
    if compile::compiler().is_none() {
        return;
    }
    let (seed, programs) = (number("COYOTE_FUZZ_SEED", 1), PROGRAMS);
    let traces = tempfile::tempdir().unwrap();
    let all: Vec<_> =
        (0..programs).map(|index| generate::program(classes::by_name(FAULTS), seed, index)).collect();
    let faults = FAULTED
        .iter()
        .fold(Faults::default(), |all, class| all.with(*class, sweep::lasting(class.row().name)));
    let settings = compare::settings(faults, false);
    let mut tally = Tally::default();
    for (chunk, programs) in all.chunks(100).enumerate() {
        let named: Vec<_> =
            programs.iter().enumerate().map(|(n, p)| (format!("faults_{}", 100 * chunk + n), p)).collect();
        let artifact = compile::compile(&named, &compile::options(Points::Heap));
        for test in Test::all(&artifact.table) {
            check(&artifact, &test, &settings, traces.path(), &mut tally);
        }
    }
    println!("{programs} programs: {tally:?}");
    // The comparison is of something.
    assert!(tally.faults > 1_000 && tally.failed > 10 && tally.unswept < programs / 2, "{tally:?}");
}
