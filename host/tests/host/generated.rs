//! Random programs of the toy machine as wasm: DPOR finds every class of equivalent executions of the real
//! machine exactly once. The reference is plain recursion over snapshots, and a class is computed only from
//! the table of effects; neither shares code with the search.

use super::guest::{self, settings};
use super::relation::independent;
use super::toy_as_wasm;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::runtime::AtExit;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::search::{Advance, by_name};
use coyote_wasm::strategies::toy::generate;
use coyote_wasm::strategies::{
    Access, Decision, Iteration, Pick, Status, System, WorkerPath, system::decide,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A step, with a hash of all steps that happen before it.
#[derive(Clone)]
struct Step {
    /// Its worker, and whether it is a timeout.
    process: (WorkerPath, bool),
    footprint: Vec<Access>,
    /// Hash of the step and, through their hashes, of all steps that happen before it.
    hash: u64,
}

#[derive(Clone, Default)]
pub struct Trace {
    steps: Vec<Step>,
    /// The step that still needs values, and the values that it has.
    open: Option<(Pick, Vec<u64>)>,
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Trace {
    pub fn make(&mut self, execution: &mut Execution, decision: Decision) {
        match decision {
            Decision::Pick(pick) => self.open = Some((pick, Vec::new())),
            Decision::Value(value) => self.open.as_mut().expect("a step is open").1.push(value),
        }
        decide(execution, decision);
        if matches!(execution.status(), Status::Choosing { .. }) {
            return;
        }
        let (pick, values) = self.open.take().expect("a step is open");
        let path = execution.runtime().worker(pick.worker()).path.clone();
        let process = (path, matches!(pick, Pick::Timeout(_)));
        let footprint = execution.footprint().to_vec();
        let after = |s: &&Step| s.process == process || !independent(&s.footprint, &footprint);
        let before: BTreeSet<u64> = self.steps.iter().filter(after).map(|s| s.hash).collect();
        let index = self.steps.iter().filter(|s| s.process == process).count();
        let hash = hash(&(&process, index, values, before));
        self.steps.push(Step { process, footprint, hash });
    }

    /// The class of an execution that has ended.
    pub fn class(&self, execution: &Execution) -> u64 {
        let events: BTreeSet<u64> = self.steps.iter().map(|s| s.hash).collect();
        assert_eq!(events.len(), self.steps.len(), "two steps look alike");
        hash(&(events, format!("{:?}", execution.status())))
    }
}

/// Plain recursion is too slow for more schedules than this.
const SCHEDULES_MAX: u64 = 3_000;

/// Every class, or `None` if there are too many schedules.
pub fn enumerate(execution: &mut Execution) -> Option<BTreeSet<u64>> {
    let (mut classes, mut schedules) = (BTreeSet::new(), 0);
    execution.restart();
    recurse(execution, &Trace::default(), &mut classes, &mut schedules);
    (schedules < SCHEDULES_MAX).then_some(classes)
}

fn recurse(execution: &mut Execution, trace: &Trace, classes: &mut BTreeSet<u64>, schedules: &mut u64) {
    let decisions: Vec<Decision> = match execution.status() {
        Status::Ready => execution.view().picks().map(Decision::Pick).collect(),
        Status::Choosing { bound } => (0..bound).map(Decision::Value).collect(),
        _ => {
            classes.insert(trace.class(execution));
            *schedules += 1;
            return;
        }
    };
    let here = execution.snapshot();
    for decision in decisions {
        if *schedules >= SCHEDULES_MAX {
            return;
        }
        execution.restore(&here);
        let mut next = trace.clone();
        next.make(execution, decision);
        recurse(execution, &next, classes, schedules);
    }
}

/// Every class that DPOR reaches, and how often.
pub fn search(execution: &mut Execution) -> BTreeMap<u64, u32> {
    let mut search = by_name::<Execution>("dpor", 0, None).unwrap();
    let mut paths: Vec<Vec<Decision>> = Vec::new();
    loop {
        match search.advance(execution, u64::MAX) {
            Advance::Ended(_) => paths.push(search.path().to_vec()),
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Working => {}
            Advance::Exhausted => break,
        }
    }
    let mut classes = BTreeMap::new();
    for path in paths {
        execution.restart();
        let mut trace = Trace::default();
        path.iter().for_each(|decision| trace.make(execution, *decision));
        *classes.entry(trace.class(execution)).or_default() += 1;
    }
    classes
}

/// Compares this many programs that have something to order.
fn compare(programs: usize, settings: &Settings) {
    let (mut done, mut classes) = (0, 0);
    for index in 0.. {
        if done == programs {
            break;
        }
        let program = generate(&mut ChoiceRng::new(Iteration { seed: 21, index }), 8);
        let Some(text) = toy_as_wasm::module(&program) else { continue };
        let artifact = guest::from_text(&text);
        let counted = guest::with(&artifact, "t", settings, |execution| {
            let truth = enumerate(execution)?;
            let found = search(execution);
            let keys: BTreeSet<u64> = found.keys().copied().collect();
            let lost = truth.difference(&keys).count();
            let invented = keys.difference(&truth).count();
            let twice = found.values().filter(|times| **times > 1).count();
            assert_eq!(
                (lost, invented, twice),
                (0, 0, 0),
                "lost, not there, found again; of {} in program {index}: {program:?}",
                truth.len()
            );
            (truth.len() > 1).then_some(truth.len())
        });
        done += usize::from(counted.is_some());
        classes += counted.unwrap_or(0);
    }
    assert!(classes > 4 * done, "{classes} classes in {done} programs");
}

#[test]
fn dpor_finds_every_class_once() {
    compare(200, &settings());
}

/// If the end of the first worker ends the others, that step depends on everything.
#[test]
fn dpor_finds_every_class_once_if_the_first_worker_ends_all() {
    compare(60, &Settings { at_exit: AtExit::Kill, ..settings() });
}
