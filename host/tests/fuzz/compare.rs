//! All searches and samplers on one program: whoever says that it has come to every end has come to all ends
//! that anybody found.

use super::ends::{CIRCLE, End, Found, Limits, place, sample, search};
use super::model::{self, Modelled};
use super::program::Program;
use coyote_wasm::artifact::Artifact;
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Settings, Test};
use coyote_wasm::instrumenter::Points;
use coyote_wasm::machine::host::World;
use coyote_wasm::machine::scheduler;
use coyote_wasm::runtime::Faults;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Of each sampler.
    pub iterations: u64,
    pub limits: Limits,
    /// Of plain depth-first search.
    pub enumeration: Limits,
}

/// What everybody came to.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub all: BTreeSet<End>,
    pub found: Vec<Found>,
    /// What the model comes to, as [`Modelled`], and what the searches do, where they differ.
    pub modelled: Option<(BTreeSet<Modelled>, BTreeSet<Modelled>)>,
    /// What is wrong beside ends.
    pub wrong: Vec<String>,
}

/// Searches that every program gets; after them, one of the others in turn.
const ALWAYS: [&str; 4] = ["dpor", "stateful", "ses", "dfs+hb"];
const IN_TURN: [&str; 5] = [
    "ses:round-robin",
    "preemption-bounding+hb",
    "preemption-bounding+states",
    "delay-bounding+hb",
    "delay-bounding",
];
const SAMPLERS: [&str; 2] = ["random", "pos"];

/// What asks for memory, or gives it back, beside threads.
const ALLOCATING: [&str; 8] =
    ["alloc(", "free(", "open(", "entries(", "size_of(", "here(", "setenv(", "atexit("];

/// Where `dpor` executes some classes again, as steps touch less in other orders: sections with points within, locks that
/// time out, ends of threads that look for the destructors of keys.
const AGAIN: [&str; 3] = ["atomic_begin", "_until(", "key_create("];

/// Steps of an execution: generated programs that end take fewer.
const STEPS_MAX: u64 = 1_000;

/// How programs are executed.
pub fn settings(faults: Faults, exact_addresses: bool) -> Settings {
    // So that two blocks of 3 MiB are one too many.
    let memory_bytes_max = 5 << 20;
    let defaults = Settings::default();
    let mut world = World::clone(&defaults.world);
    world.listeners = vec![40];
    world.open(memory_bytes_max).unwrap();
    // The ends of a program are what it observes; a data race that a sampler reports is none.
    let mut detectors = defaults.detectors.clone();
    detectors.set("races", false);
    Settings {
        limits: scheduler::Limits {
            unfair_steps_max: STEPS_MAX,
            fair_steps_max: STEPS_MAX,
            fail_on_steps_max: false,
        },
        faults,
        memory_bytes_max,
        exact_addresses,
        random: 0,
        world: Arc::new(world),
        detectors,
        ..defaults
    }
}

/// Runs everything on the test of this name. `turn` decides on some of it.
///
/// Searches that rest on footprints leave out the addresses that malloc returns: on them it depends what comes of an
/// error with memory, whether an access of a freed block is seen to be one, and what is in memory that was not written
/// yet. If they lack an end, what they come to with exact addresses counts.
pub fn compare(
    artifact: &Arc<Artifact>,
    name: &str,
    faults: Faults,
    turn: u64,
    effort: &Effort,
) -> Comparison {
    let test =
        Test::all(&artifact.table).into_iter().find(|test| test.name == name).expect("it has this test");
    let run = |exact_addresses| {
        let settings = settings(faults.clone(), exact_addresses);
        let mut execution = Execution::new(artifact, &test, &settings).unwrap();
        execution.begin().unwrap();
        let place = place(&execution);
        let mut find = |name: &str, pieces| search(&mut execution, place, name, pieces, effort.limits);
        let mut found: Vec<Found> = ALWAYS.map(|name| find(name, false)).into();
        found.push(find("dpor", true));
        found.push(find(IN_TURN[turn as usize % IN_TURN.len()], false));
        found.push(search(&mut execution, place, "dfs", false, effort.enumeration));
        found.extend(SAMPLERS.map(|name| sample(&mut execution, place, name, effort.iterations)));
        found
    };
    on_engine_thread(|| {
        let comparison = judge(run(false));
        if comparison.lacking().is_empty() { comparison } else { judge(run(true)) }
    })
}

fn judge(found: Vec<Found>) -> Comparison {
    let all: BTreeSet<End> = found.iter().flat_map(|found| found.ends.iter().cloned()).collect();
    Comparison { all, found, modelled: None, wrong: Vec::new() }
}

/// An end as the model knows it.
fn simplified(end: &End) -> Modelled {
    let mut simple = Modelled { deadlock: end.how.starts_with("deadlock"), ..Modelled::default() };
    if end.how == CIRCLE {
        return Modelled { circle: true, ..simple };
    }
    for (thread, kept) in simple.kept.iter_mut().enumerate() {
        for (place, value) in kept.iter_mut().enumerate() {
            *value = end.kept(thread, place);
        }
    }
    simple.variables = [end.variable(0), end.variable(1)];
    simple
}

impl Comparison {
    /// What else has to hold of a program: `dpor` counts the same classes in pieces as at once, unless addresses of
    /// memory that is handed out again, which its relation leaves out, decide what steps touch; and the model's ends
    /// are those of all, if it knows the program, all accesses are points, and some search came to its end.
    pub fn and_program(mut self, program: &Program, points: Points) -> Comparison {
        let (whole, pieces) =
            (&self.found[0], self.found.iter().find(|found| found.name == "dpor in pieces").unwrap());
        let counts = (whole.executions, pieces.executions);
        let text = program.c("", "");
        let again = ALLOCATING.iter().chain(&AGAIN).any(|function| text.contains(function));
        // A step that ends in a bug depends on all others, and `dpor` may come to it more than once.
        let buggy = self.all.iter().any(|end| end.how != "passed");
        if whole.complete && pieces.complete && counts.0 != counts.1 && !again && !buggy {
            self.wrong.push(format!("dpor: {} executions, in pieces {}", counts.0, counts.1));
        }
        if points == Points::Heap && program.is_modelled() && self.found.iter().any(|found| found.complete) {
            let (theirs, ours) = (model::ends(program), self.all.iter().map(simplified).collect());
            self.modelled = (theirs != ours).then_some((theirs, ours));
        }
        self
    }

    /// Who says that it has come to every end and has not, with the ends that it lacks.
    pub fn lacking(&self) -> Vec<(&Found, Vec<&End>)> {
        let complete = self.found.iter().filter(|found| found.complete);
        let lacks = complete.map(|found| (found, self.all.difference(&found.ends).collect::<Vec<_>>()));
        lacks.filter(|(_, ends)| !ends.is_empty()).collect()
    }

    pub fn agrees(&self) -> bool {
        self.lacking().is_empty() && self.modelled.is_none() && self.wrong.is_empty()
    }

    /// What kind of mismatch it is: what a smaller program must have, too.
    pub fn kind(&self) -> BTreeSet<String> {
        let lacking = self.lacking().into_iter().map(|(found, _)| found.name.clone());
        let model = self.modelled.iter().map(|_| "model".to_string());
        lacking.chain(model).chain(self.wrong.iter().map(|_| "wrong".to_string())).collect()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for found in &self.found {
            let how = if found.complete { "all" } else { "some" };
            writeln!(
                f,
                "{how} {} ends in {} executions: {}",
                found.ends.len(),
                found.executions,
                found.name
            )?;
        }
        for end in self.all.iter().take(8) {
            writeln!(f, "  {end}")?;
        }
        for (found, lacking) in self.lacking() {
            for end in lacking.iter().take(3) {
                let has: Vec<&str> =
                    self.found.iter().filter(|f| f.ends.contains(end)).map(|f| f.name.as_str()).collect();
                writeln!(f, "{} lacks `{end}`, which {} came to", found.name, has.join(", "))?;
            }
        }
        if let Some((theirs, ours)) = &self.modelled {
            for end in theirs.difference(ours).take(3) {
                writeln!(f, "only the model comes to {end:?}")?;
            }
            for end in ours.difference(theirs).take(3) {
                writeln!(f, "the model does not come to {end:?}")?;
            }
        }
        self.wrong.iter().try_for_each(|wrong| writeln!(f, "{wrong}"))
    }
}
