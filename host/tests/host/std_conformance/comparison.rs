//! Compares all ends of a program: those of the guest, by a search, and those of the model.

use super::super::{guest, search};
use super::model::{End, Mistake, Model};
use super::program::Program;
use coyote_wasm::artifact::Artifact;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::outcome::{BugKind, Outcome};
use coyote_wasm::runtime::Faults;
use coyote_wasm::strategies::{Iteration, RandomWalk};
use coyote_wasm::world::World;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// How the guest is explored.
#[derive(Clone, Copy, Debug)]
pub enum Search {
    /// Every state: exhaustive.
    States,
    /// One execution of every class of equivalent ones: exhaustive too. A thread that spins before it waits
    /// causes many of them, but few states.
    Reduced,
    /// Every state that this many preemptions lead to, in executions of at most [`STEPS_MAX`] steps. For
    /// programs with more states, and for channels: their loops count their rounds without a bound, so they
    /// have infinitely many states.
    Preemptions(u32),
    /// This many random schedules.
    Sampled(u64),
}

/// More than these programs need without repeating a loop of std that waits for a worker which is about to
/// continue.
const STEPS_MAX: u64 = 400;

/// The guest. Atomic accesses are scheduling points, which is sufficient for a program without data races;
/// std claims to have none. The guest's accesses to its own records are no points.
fn artifact(footprints: bool) -> Arc<Artifact> {
    static ARTIFACTS: [OnceLock<Arc<Artifact>>; 2] = [OnceLock::new(), OnceLock::new()];
    let make = || {
        let path = super::super::examples::module_path("std_conformance");
        let options = Options {
            points: Points::Atomic,
            footprints,
            no_points_in: vec!["*results*record*".into()],
            ..Options::default()
        };
        guest::compile(&std::fs::read(path).unwrap(), &options).unwrap()
    };
    ARTIFACTS[usize::from(footprints)].get_or_init(make).clone()
}

/// The layout of the guest's `results.rs`.
const NAME: &[u8] = b"\0std_conformance";
const CALLS_MAX: usize = 16;

/// The results of calls.
fn end(program: &Program, execution: &Execution, results: usize) -> End {
    let memory = execution.machine().memory();
    let made = |worker: usize| {
        let from = results + NAME.len() + worker * CALLS_MAX;
        memory[from..from + CALLS_MAX].iter().map_while(|made| made.checked_sub(1)).collect()
    };
    (0..program.workers.len()).map(made).collect()
}

/// All ends of the guest that a search reaches. The stacks of threads are small, because otherwise zeroing
/// them would be most of the work.
fn executed(program: &Program, how: Search, faults: Faults) -> BTreeSet<End> {
    let environment = vec!["RUST_MIN_STACK=16384".into()];
    let world = World { arguments: program.arguments(), environment, ..World::default() };
    let mut settings = Settings { world: Arc::new(world), faults, ..guest::settings() };
    if let Search::Preemptions(_) = how {
        settings.limits.unfair_steps_max = STEPS_MAX;
    }
    guest::with(&artifact(matches!(how, Search::Reduced)), "main", &settings, |execution| {
        let memory = execution.machine().memory();
        let results = memory.windows(NAME.len()).position(|bytes| bytes == NAME).expect("it is in a segment");
        let mut ends = BTreeSet::new();
        let mut add = |execution: &Execution, outcome: &Outcome| match outcome {
            // The first worker never ends.
            Outcome::Bug(bug) if bug.kind == BugKind::Deadlock => {
                ends.insert(end(program, execution, results));
            }
            Outcome::Bound(_) if matches!(how, Search::Preemptions(_)) => {}
            _ => panic!("{outcome:?} of {program:?}"),
        };
        let name = match how {
            Search::States => "stateful".into(),
            Search::Reduced => "dpor".into(),
            Search::Preemptions(bound) => format!("preemption-bounding+states:{bound}"),
            Search::Sampled(iterations) => {
                for index in 0..iterations {
                    let walk = Box::new(RandomWalk::default());
                    let (outcome, _) = execution.run(walk, Iteration { seed: 41, index }).unwrap();
                    add(execution, &outcome);
                }
                return ends;
            }
        };
        search::exhaust(&name, execution, add);
        ends
    })
}

/// The differences between the two sets.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    pub never_executed: Vec<End>,
    pub not_in_the_model: Vec<End>,
}

/// All ends of the guest, if they are those of the model.
pub fn ends(
    program: &Program,
    search: Search,
    faults: Faults,
    mistake: Option<Mistake>,
) -> Result<BTreeSet<End>, Difference> {
    let modelled = Model { program, mistake }.ends();
    let begun = Instant::now();
    let executed = executed(program, search, faults);
    if std::env::var_os("COYOTE_STD_FIGURES").is_some() {
        let (count, ms) = (executed.len(), begun.elapsed().as_millis());
        eprintln!("{ms:>6} ms {search:?}, {count} ends: {program:?}");
    }
    let difference = Difference {
        never_executed: modelled.difference(&executed).cloned().collect(),
        not_in_the_model: executed.difference(&modelled).cloned().collect(),
    };
    match executed == modelled {
        true => Ok(executed),
        false => Err(difference),
    }
}

/// All ends of the guest, which must be those of the model.
pub fn compare(program: &Program, search: Search) -> BTreeSet<End> {
    ends(program, search, Faults::default(), None)
        .unwrap_or_else(|difference| panic!("{search:?} of {program:?}: {difference:?}"))
}
