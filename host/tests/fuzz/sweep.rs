//! A sweep of faults against brute force: on generated programs, every single fault is also executed by a loop that knows
//! nothing of the sweep, from the start. Both come to the same ends in the same order, the table of the sweep
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
use coyote_wasm::strategies::{
    ChessFair, Context, Event, Iteration, OpKind, Pick, RandomWalk, Strategy, View, WorkerId,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// Programs that are swept.
const PROGRAMS: u64 = 300;

/// A fault of the naive loop.
#[derive(Clone, Copy, Debug)]
struct Single {
    number: usize,
    value: u64,
    lasting: bool,
}

/// Where a fault can strike: what kind of thing is about to be done there. Fault points of different names differ. Several
/// kinds of faults can strike at one call on a socket.
fn kind(view: &View, worker: WorkerId) -> Option<(u8, u64)> {
    let operation = view.workers[worker.index()].operation;
    match operation.kind {
        OpKind::TryLock | OpKind::TryReadLock | OpKind::TryWriteLock | OpKind::SemaphoreTryWait => {
            Some((0, 0))
        }
        OpKind::Wait | OpKind::FutexWait => Some((1, 0)),
        OpKind::File => Some((2, view.fault.unwrap_or(0))),
        OpKind::Spawn => Some((3, 0)),
        OpKind::Fault => Some((4, operation.object)),
        _ => view.fault.map(|fault| (5, fault)),
    }
}

/// The default schedule without fairness: a worker goes on as long as it can, then the first one does.
struct GoesOn(WorkerId);

impl Strategy for GoesOn {
    fn name(&self) -> String {
        "goes-on".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn begin(&mut self, _iteration: Iteration) {
        self.0 = WorkerId(0);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let goes_on = view.enabled.contains(&self.0);
        let worker = if goes_on { Some(self.0) } else { view.enabled.first().copied() };
        let pick = worker.map(Pick::Step).or_else(|| view.picks().next())?;
        self.0 = pick.worker();
        Some(pick)
    }

    fn value(&mut self, _bound: u64, _view: &View) -> Option<u64> {
        Some(0)
    }
}

/// The default schedule with one fault, or with none.
struct Naive {
    /// Makes workers that spin give way, as the default schedule is defined.
    schedule: ChessFair,
    running: WorkerId,
    fault: Option<Single>,
    struck: Option<(u8, u64)>,
    /// The bounds of the values at the opportunities.
    bounds: Arc<Mutex<Vec<u64>>>,
}

impl Strategy for Naive {
    fn name(&self) -> String {
        "naive".into()
    }

    fn fair(&self) -> bool {
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.schedule.begin(iteration);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = self.schedule.pick(view)?;
        self.running = pick.worker();
        Some(pick)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let Some(kind) = kind(view, self.running) else { return Some(0) };
        let mut bounds = self.bounds.lock().unwrap();
        let value = match self.fault {
            Some(fault) if bounds.len() == fault.number => {
                self.struck = Some(kind);
                fault.value
            }
            Some(fault) if fault.lasting && self.struck == Some(kind) => fault.value.min(bound - 1),
            _ => 0,
        };
        bounds.push(bound);
        Some(value)
    }

    fn observe(&mut self, event: Event) {
        self.schedule.observe(event);
    }
}

/// Executes the default schedule with one fault, or with none. Returns the bounds of the values at its opportunities.
fn naive(execution: &mut Execution, fault: Option<Single>) -> Vec<u64> {
    let bounds = Arc::new(Mutex::new(Vec::new()));
    let strategy = Naive {
        schedule: ChessFair::new(Box::new(GoesOn(WorkerId(0)))),
        running: WorkerId(0),
        fault,
        struck: None,
        bounds: bounds.clone(),
    };
    execution.run(Box::new(strategy), Iteration { seed: 0, index: 0 }).unwrap();
    std::mem::take(&mut bounds.lock().unwrap())
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
        let swept = sweep::prepare(&plan, 0, &AtomicBool::new(false)).unwrap();
        assert_eq!(swept.attempts.len(), expected.len(), "{}", test.name);
        let mut strategy: Box<dyn Strategy> = Box::new(Sweep::new(swept.attempts.clone(), walk(&bounds)));
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
