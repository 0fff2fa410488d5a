//! The truth about small programs: every schedule by plain recursion, and classes of equivalent ones by
//! the table of effects. Shares no code with the searches.

use coyote_strategies::search::{Advance, Search};
use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{Access, Decision, Effect, Pick, Status, System};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How an execution ended, and with which variables.
pub type Outcome = (u8, Vec<i8>);

/// A class of executions, by a hash of its canonical form.
pub type Class = u64;

/// What a program can do.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every class with its outcome.
    pub classes: BTreeMap<Class, Outcome>,
    pub schedules: u64,
}

impl Truth {
    pub fn outcomes(&self) -> BTreeSet<&Outcome> {
        self.classes.values().collect()
    }
}

/// Everything, unless there are more schedules than allowed.
pub fn enumerate(program: &Program, schedules_max: u64) -> Option<Truth> {
    let mut truth = Truth::default();
    let mut toy = Toy::new(program.clone());
    recurse(&mut toy, &mut Trace::default(), &mut |toy, trace| {
        truth.schedules += 1;
        truth.classes.entry(trace.class(toy)).or_insert_with(|| outcome(toy));
        truth.schedules < schedules_max
    });
    (truth.schedules < schedules_max).then_some(truth)
}

/// Calls `ended` for every schedule as long as it wants more.
fn recurse(toy: &mut Toy, trace: &mut Trace, ended: &mut dyn FnMut(&Toy, &Trace) -> bool) -> bool {
    if toy.status().is_final() {
        return ended(toy, trace);
    }
    let here = toy.snapshot();
    let (steps, open) = (trace.steps.len(), trace.open.clone());
    for decision in decisions(toy) {
        trace.make(toy, decision);
        if !recurse(toy, trace, ended) {
            return false;
        }
        trace.steps.truncate(steps);
        trace.open.clone_from(&open);
        toy.restore(&here);
    }
    true
}

/// What can be decided now.
pub fn decisions(toy: &Toy) -> Vec<Decision> {
    match toy.status() {
        Status::Ready => toy.view().picks().map(Decision::Pick).collect(),
        Status::Choosing { bound } => (0..bound).map(Decision::Value).collect(),
        _ => vec![],
    }
}

pub fn outcome(toy: &Toy) -> Outcome {
    let status = match toy.status() {
        Status::Passed => 0,
        Status::Bug => 1,
        Status::Abandoned => 2,
        other => panic!("{other:?} is no end"),
    };
    (status, toy.variables().to_vec())
}

/// The steps of an execution, each with what it depends on.
#[derive(Clone, Default)]
struct Trace {
    steps: Vec<Step>,
    open: Option<(Pick, Vec<u64>)>,
}

#[derive(Clone)]
struct Step {
    worker: usize,
    timeout: bool,
    footprint: Vec<Access>,
    /// Hash of the step and, through them, of all that it happens after.
    hash: u64,
}

impl Trace {
    fn make(&mut self, toy: &mut Toy, decision: Decision) {
        match decision {
            Decision::Pick(pick) => {
                self.open = Some((pick, vec![]));
                toy.step(pick);
            }
            Decision::Value(value) => {
                self.open.as_mut().expect("a step").1.push(value);
                toy.choose(value);
            }
        }
        if matches!(toy.status(), Status::Choosing { .. }) {
            return;
        }
        let (pick, values) = self.open.clone().expect("a step");
        let (worker, timeout) = (toy.code(pick.worker()), matches!(pick, Pick::Timeout(_)));
        let same = |s: &&Step| (s.worker, s.timeout) == (worker, timeout);
        let index = self.steps.iter().filter(same).count();
        let footprint = toy.footprint().to_vec();
        let before: BTreeSet<u64> = self
            .steps
            .iter()
            .filter(|s| same(s) || dependent(&s.footprint, &footprint))
            .map(|s| s.hash)
            .collect();
        let hash = hash(&(worker, timeout, index, &values, before));
        self.steps.push(Step { worker, timeout, footprint, hash });
    }

    fn class(&self, toy: &Toy) -> Class {
        let events: BTreeSet<u64> = self.steps.iter().map(|s| s.hash).collect();
        assert_eq!(events.len(), self.steps.len(), "two steps look alike");
        hash(&(events, outcome(toy).0))
    }
}

/// By the table in the documentation of `Effect`.
fn dependent(a: &[Access], b: &[Access]) -> bool {
    let bytes = |x: &Access| x.object..x.object + u64::from(x.size);
    let mut pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
    pairs.any(|(x, y)| {
        let met = x.class == y.class && bytes(x).any(|byte| bytes(y).contains(&byte));
        let both = |effects: &[Effect]| effects.contains(&x.effect) && effects.contains(&y.effect);
        let shares = [Effect::Share, Effect::TryShare, Effect::Unshare];
        met && !both(&[Effect::Read]) && !both(&[Effect::Await]) && !both(&shares)
    })
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The class and outcome of a complete execution; `None` if it is not possible.
pub fn classify(program: &Program, path: &[Decision]) -> Option<(Class, Outcome)> {
    let (mut toy, mut trace) = (Toy::new(program.clone()), Trace::default());
    for decision in path {
        if !decisions(&toy).contains(decision) {
            return None;
        }
        trace.make(&mut toy, *decision);
    }
    toy.status().is_final().then(|| (trace.class(&toy), outcome(&toy)))
}

/// Classes with their outcomes, and how often they were found.
pub type Found = BTreeMap<Class, (Outcome, u64)>;

/// All that a search finds.
pub fn run(search: &mut dyn Search<Toy>, program: &Program) -> Found {
    run_on(search, &mut Toy::new(program.clone()), program).unwrap_or_else(|error| panic!("{error}"))
}

/// The same on a system that stands for the program.
pub fn run_on<S: System>(
    search: &mut dyn Search<S>,
    system: &mut S,
    program: &Program,
) -> Result<Found, String> {
    let mut found = BTreeMap::new();
    loop {
        if search.counts().steps > 2_000_000 {
            return Err("it does not end".into());
        }
        match search.advance(system, 2_000_000) {
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Ended(_) => {
                let Some((class, outcome)) = classify(program, search.path()) else {
                    return Err(format!("{:?} is not an execution", search.path()));
                };
                found.entry(class).or_insert((outcome, 0)).1 += 1;
            }
            Advance::Working => {}
            Advance::Exhausted => return Ok(found),
        }
    }
}
