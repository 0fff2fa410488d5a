//! The step stream: observers receive the same events however an execution is driven, the events agree with
//! footprints, and a user's own detector finds bugs, replays them and is restored with snapshots.

use super::examples::{artifact_for, module_path};
use super::guest::{self, settings};
use super::relation::independent;
use coyote_wasm::evidence::Evidence;
use coyote_wasm::execution::Execution;
use coyote_wasm::observe::{
    Detector, Ending, Event, Finding, GuestState, HbObject, Interest, Observer, SavedState, SyncEvent,
    SyncKind,
};
use coyote_wasm::outcome::{Bug, BugKind, Outcome};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Access, Decision, Iteration, Pick, RandomWalk, Status, System, WorkerId};
use coyote_wasm::tester::Tester;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Tests with every kind of sync object, memory shared or not, blocks of the heap, output.
const TESTS: &[(&str, &str)] = &[
    ("bounded_buffer", "minimal_notify_all"),
    ("dining_philosophers", "ordered"),
    ("ordinary_c", "main"),
    ("protocols", "seqlock"),
    ("racy_counter", "racy"),
    ("std_threads", "main"),
];

fn tests() -> impl Iterator<Item = (Arc<coyote_wasm::artifact::Artifact>, String)> {
    TESTS.iter().map(|(module, test)| {
        let artifact = artifact_for(module, "dpor");
        let all = coyote_wasm::execution::Test::all(&artifact.table);
        let known = all.iter().find(|t| t.name == *test).unwrap_or(&all[0]);
        let name = known.name.clone();
        (artifact, name)
    })
}

/// The received events, as text.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// An observer that records every event.
struct Scribe {
    interest: Interest,
    told: Told,
}

impl Observer for Scribe {
    fn interest(&self) -> Interest {
        self.interest
    }

    fn begin(&mut self, _: &GuestState<'_>) {
        self.told.take();
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        if self.interest.contains(Interest::STACKS)
            && let Event::Step(step) = event
        {
            assert!(state.stack(step.pick.worker()).is_some(), "the stack of {event:?} is not known");
        }
        self.told.0.lock().unwrap().push(format!("{event:?}"));
    }

    fn end(&mut self, ending: &Ending<'_>) {
        self.told.0.lock().unwrap().push(format!("{:?}", ending.outcome.describe().0));
    }
}

fn all_but_stacks() -> Interest {
    Interest::all() - Interest::STACKS - Interest::VETOES
}

/// Inline, inline with an unwind at every point, and step by step: the same events in the same order. There
/// is a step for every choice of a worker or a timeout.
#[test]
fn however_it_is_driven_the_same_is_told() {
    for (artifact, test) in tests() {
        guest::with(&artifact, &test, &settings(), |execution| {
            for index in 0..10 {
                let iteration = Iteration { seed: 3, index };
                let mut inline = |interest: Interest| {
                    let told = Told::default();
                    execution.observe(Box::new(Scribe { interest, told: told.clone() }));
                    let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
                    execution.take_observers();
                    (outcome, told.take(), execution.choices().to_vec())
                };
                let (outcome, told, choices) = inline(all_but_stacks());
                let (unwound, told_unwound, _) = inline(Interest::all());
                assert_eq!((&outcome, &told), (&unwound, &told_unwound), "{test} {index}");
                let picks =
                    choices.iter().filter(|c| matches!(Decision::from(**c), Decision::Pick(_))).count();
                let steps = told.iter().filter(|event| event.starts_with("Step")).count();
                // A step that is not executed because it is a bug does not count.
                assert!(steps == picks || outcome.is_bug() && steps + 1 == picks, "{test} {index}");
                if outcome == Outcome::Abandoned {
                    continue;
                }
                let stepwise = Told::default();
                let interest = all_but_stacks();
                execution.observe(Box::new(Scribe { interest, told: stepwise.clone() }));
                let path = choices.iter().map(|choice| Decision::from(*choice)).collect();
                let mut follow = coyote_wasm::strategies::sample::follow::Follow::new(path, true);
                let again = execution.run_stepwise(&mut follow, iteration, &mut |_| {}).unwrap();
                execution.take_observers();
                assert_eq!((outcome, told), (again, stepwise.take()), "{test} {index}");
            }
        });
    }
}

/// Observers change nothing, and receive only events of their interest.
#[test]
fn only_what_is_wanted_is_told() {
    let (artifact, test) = tests().next().unwrap();
    guest::with(&artifact, &test, &settings(), |execution| {
        let iteration = Iteration { seed: 1, index: 0 };
        let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
        let choices = execution.choices().to_vec();
        for (interest, begins) in [
            (Interest::STEPS, "Step"),
            (Interest::ACCESSES, "Access"),
            (Interest::SYNC, "Sync"),
            (Interest::USES, "Use"),
            (Interest::HEAP, "Heap"),
            (Interest::empty(), "nothing"),
        ] {
            let told = Told::default();
            execution.observe(Box::new(Scribe { interest, told: told.clone() }));
            let (again, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
            execution.take_observers();
            assert_eq!((&outcome, &choices[..]), (&again, execution.choices()));
            let told = told.take();
            assert!(told.iter().all(|event| event.starts_with(begins)), "{told:?}");
            assert_eq!(told.is_empty(), interest.is_empty(), "{begins}");
        }
    });
}

/// The synchronisation events of a step.
struct Syncs(Arc<Mutex<Vec<SyncEvent>>>);

impl Observer for Syncs {
    fn interest(&self) -> Interest {
        Interest::SYNC
    }

    fn event(&mut self, _: &GuestState<'_>, event: &Event<'_>) {
        if let Event::Sync(sync) = event {
            self.0.lock().unwrap().push(*sync);
        }
    }
}

/// The steps before each step, computed from synchronisation events in the simplest way.
#[derive(Default)]
struct Orders {
    workers: BTreeMap<WorkerId, BTreeSet<usize>>,
    /// The steps released at an object, and those that readers released there.
    objects: BTreeMap<HbObject, [BTreeSet<usize>; 2]>,
}

impl Orders {
    fn step(&mut self, number: usize, worker: WorkerId, events: &[SyncEvent]) -> BTreeSet<usize> {
        let known = self.workers.entry(worker).or_default();
        for SyncEvent { worker: by, object, kind, .. } in events {
            assert_eq!(*by, worker);
            let [all, readers] = self.objects.entry(*object).or_default();
            if kind.acquires() {
                known.extend(all.iter());
            }
            if matches!(kind, SyncKind::Acquire | SyncKind::AcquireRelease) {
                known.extend(readers.iter());
            }
            if kind.releases() {
                let to = if *kind == SyncKind::ReleaseShared { readers } else { all };
                to.extend(known.iter().chain([&number]));
            }
        }
        let before = known.clone();
        known.insert(number);
        before
    }
}

/// Every edge of happens-before is one of the relation, which is tested against the machine: no edge is
/// false.
#[test]
fn no_edge_is_invented() {
    let mut seen = BTreeSet::new();
    let mut across = 0;
    for (artifact, test) in tests() {
        guest::with(&artifact, &test, &settings(), |execution| {
            for seed in 0..5 {
                let events = Arc::new(Mutex::new(Vec::new()));
                execution.observe(Box::new(Syncs(events.clone())));
                let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
                execution.restart();
                let mut orders = Orders::default();
                let mut steps: Vec<(Option<WorkerId>, Vec<Access>, BTreeSet<usize>)> = Vec::new();
                while !execution.status().is_final() && steps.len() < 300 {
                    let picks: Vec<Pick> = execution.view().picks().collect();
                    let pick = picks[rng.below(picks.len() as u64) as usize];
                    execution.step(pick);
                    while let Status::Choosing { bound } = execution.status() {
                        execution.choose(rng.below(bound));
                    }
                    let number = steps.len();
                    let process = matches!(pick, Pick::Step(_)).then_some(pick.worker());
                    let footprint = execution.footprint().to_vec();
                    let mut before = BTreeSet::new();
                    for (earlier, (other, touched, its)) in steps.iter().enumerate() {
                        if process.is_some() && *other == process || !independent(touched, &footprint) {
                            before.insert(earlier);
                            before.extend(its);
                        }
                    }
                    let told = std::mem::take(&mut *events.lock().unwrap());
                    seen.extend(told.iter().map(|sync| match sync.object {
                        HbObject::Object(object) => format!("{:?}", object.class),
                        HbObject::Start(_) => "Start".into(),
                        HbObject::End(_) => "End".into(),
                        HbObject::Annotated(_) => "Annotated".into(),
                        HbObject::Socket(_) => "Socket".into(),
                        HbObject::Wake { .. } => "Wake".into(),
                    }));
                    if let Some(worker) = process {
                        let ordered = orders.step(number, worker, &told);
                        assert!(
                            ordered.is_subset(&before),
                            "{test}, seed {seed}: step {number} of {worker:?} with {told:?} comes after {:?}",
                            ordered.difference(&before)
                        );
                        across += ordered.iter().filter(|step| steps[**step].0 != process).count();
                    } else {
                        assert_eq!(told, [], "a timeout orders nothing");
                    }
                    steps.push((process, footprint, before));
                }
                execution.take_observers();
            }
        });
    }
    assert!(across > 1_000, "{across}");
    let expected = ["End", "Mutex", "Start", "Wake"];
    assert!(expected.iter().all(|kind| seen.contains(*kind)), "{seen:?}");
}

/// A user's detector: two workers store to the same address.
#[derive(Clone, Default)]
struct SharedStores {
    by: BTreeMap<u64, WorkerId>,
}

impl Detector for SharedStores {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
    }

    fn begin(&mut self, _: &GuestState<'_>) {
        self.by.clear();
    }

    fn event(&mut self, _: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        let Event::Access(access) = event else { return None };
        if !access.writes {
            return None;
        }
        let first = *self.by.entry(access.address).or_insert(access.worker);
        let evidence = Evidence::Said("two workers store to one address".into());
        let bug = Bug { kind: BugKind::Assertion, evidence, worker: Some(access.worker) };
        (first != access.worker).then(|| bug.into())
    }

    fn save(&self) -> SavedState {
        SavedState::new(self.clone())
    }

    fn restore(&mut self, saved: &SavedState) {
        if let Some(saved) = saved.get::<SharedStores>() {
            *self = saved.clone();
        }
    }

    fn digest(&self) -> Option<u128> {
        Some(self.by.iter().map(|(address, by)| u128::from(*address) << 8 | u128::from(by.0)).sum())
    }

    fn assumptions(&self) -> &'static [&'static str] {
        &["stores of one address by one worker are all right"]
    }
}

const TWO_STORES: &str = r#"(module
    (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
    (import "coyote" "join" (func $join (param i32)))
    (memory 1) (table 1 funcref) (elem (i32.const 0) $child)
    (func $child (param i32)
        (i32.store (i32.const 2048) (i32.const 1))
        (if (i32.load (i32.const 2052)) (then (i32.store (i32.const 2056) (i32.const 1)))))
    (func (export "coyote.test.stores") (local $child i32)
        (local.set $child (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (i32.store (i32.const 2052) (i32.const 1))
        (i32.store (i32.const 2056) (i32.const 1))
        (call $join (local.get $child))))"#;

/// The child stores to the third address only if it sees the second one, which happens in some schedules. All
/// searches and samplers find this, with snapshots and without, and the trace replays; without the detector
/// there is no bug.
#[test]
fn a_detector_of_the_users_own() {
    let wasm = wat::parse_str(TWO_STORES).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for strategy in ["random", "pct:2", "dfs", "stateful", "dpor"] {
        let mut tester = Tester::new(&wasm).unwrap();
        tester.traces = directory.path().into();
        tester.budget.iterations_max = 1_000;
        assert!(!tester.explore("stores", strategy).unwrap().is_buggy(), "{strategy}");
        tester.settings.detectors.add(|| Box::new(SharedStores::default()));
        let result = tester.explore("stores", strategy).unwrap();
        let takes = "stores of one address by one worker are all right";
        let assumes = result.search.iter().flat_map(|search| &search.assumptions);
        assert_eq!(
            assumes.filter(|a| *a == takes).count(),
            usize::from(result.search.is_some()),
            "{strategy}"
        );
        let [found] = &result.bugs[..] else { panic!("{strategy}: {} bugs", result.bugs.len()) };
        assert_eq!(found.bug.message(), "two workers store to one address", "{strategy}");
        assert!(tester.replay(&found.trace).unwrap().reproduces(&found.trace), "{strategy}");
    }
}

/// Executed from a snapshot repeatedly, with other executions in between: the same findings each time.
#[test]
fn what_a_detector_knows_belongs_to_snapshots() {
    let artifact = guest::from_text(TWO_STORES);
    let mut settings = settings();
    settings.detectors.add(|| Box::new(SharedStores::default()));
    guest::with(&artifact, "stores", &settings, |execution| {
        let finish = |execution: &mut Execution, mut rng: ChoiceRng| {
            while execution.status() == Status::Ready {
                let enabled = execution.view().enabled.to_vec();
                execution.step(Pick::Step(enabled[rng.below(enabled.len() as u64) as usize]));
            }
            execution.status()
        };
        let mut statuses = BTreeSet::new();
        for seed in 0..40 {
            let mut rng = ChoiceRng::new(Iteration { seed, index: 1 });
            execution.restart();
            let cut = rng.below(6);
            for _ in 0..cut {
                if execution.status() == Status::Ready {
                    let enabled = execution.view().enabled.to_vec();
                    execution.step(Pick::Step(enabled[rng.below(enabled.len() as u64) as usize]));
                }
            }
            if execution.status() != Status::Ready {
                continue;
            }
            let (snapshot, print) = (execution.snapshot(), execution.fingerprint());
            let first = finish(execution, rng.clone());
            finish(execution, ChoiceRng::new(Iteration { seed, index: 2 }));
            execution.restore(&snapshot);
            assert_eq!(print, execution.fingerprint());
            assert_eq!(first, finish(execution, rng), "seed {seed}");
            statuses.insert(first == Status::Bug);
        }
        assert_eq!(statuses.len(), 2, "both ends are met");
    });
}

/// The modules of the examples exist where the tests expect them.
#[test]
fn modules_are_there() {
    assert!(TESTS.iter().all(|(module, _)| module_path(module).exists()));
}
