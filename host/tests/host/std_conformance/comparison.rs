//! All ends of a program: of the guest, by a search, and of the model.

use super::super::guest;
use super::model::{End, Latitude, Mistake, Model};
use super::program::Program;
use coyote_wasm::artifact::Artifact;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::outcome::{BugKind, Outcome};
use coyote_wasm::strategies::search::{Advance, by_name};
use coyote_wasm::world::World;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// How the guest is explored.
#[derive(Clone, Copy, Debug)]
pub enum Search {
    /// Every execution, up to the order of independent steps.
    Reduced,
    /// Every state.
    States,
}

/// The guest. Atomic accesses are scheduling points, which is enough for a program without data races, as std
/// is without them by its own claim. What the guest records is not.
fn artifact() -> Arc<Artifact> {
    static ARTIFACT: OnceLock<Arc<Artifact>> = OnceLock::new();
    let make = || {
        let path = super::super::examples::module_path("std_conformance");
        let options = Options {
            points: Points::Atomic,
            no_points_in: vec!["*results*record*".into()],
            ..Options::default()
        };
        guest::compile(&std::fs::read(path).unwrap(), &options).unwrap()
    };
    ARTIFACT.get_or_init(make).clone()
}

/// As the guest's `results.rs` lays them out.
const NAME: &[u8] = b"\0std_conformance";
const CALLS_MAX: usize = 16;

/// What calls returned.
fn end(program: &Program, execution: &Execution, results: usize) -> End {
    let memory = execution.machine().memory();
    let made = |worker: usize| {
        let from = results + NAME.len() + worker * CALLS_MAX;
        memory[from..from + CALLS_MAX].iter().map_while(|made| made.checked_sub(1)).collect()
    };
    (0..program.workers.len()).map(made).collect()
}

/// All ends of the guest. Each is a deadlock, since the first worker stays. The number of executions, too.
fn executed(program: &Program, search: Search, settings: &Settings) -> (BTreeSet<End>, u64) {
    let world = World { arguments: program.arguments(), ..World::default() };
    let settings = Settings { world: Arc::new(world), ..settings.clone() };
    guest::with(&artifact(), "main", &settings, |execution| {
        let memory = execution.machine().memory();
        let results = memory.windows(NAME.len()).position(|bytes| bytes == NAME).expect("it is in a segment");
        let name = match search {
            Search::Reduced => "dpor",
            Search::States => "stateful",
        };
        let mut search = by_name::<Execution>(name, 0, None).unwrap();
        let mut ends = BTreeSet::new();
        loop {
            match search.advance(execution, u64::MAX) {
                Advance::Ended(_) => {
                    let outcome = execution.machine().conductor().outcome.clone().expect("it has ended");
                    let stays = matches!(&outcome, Outcome::Bug(bug) if bug.kind == BugKind::Deadlock);
                    assert!(stays, "{outcome:?} of {program:?}");
                    ends.insert(end(program, execution, results));
                }
                Advance::Working => {}
                Advance::Exhausted => return (ends, search.counts().executions),
            }
        }
    })
}

/// What one set has and the other has not.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Ends that every implementation can come to, and the guest did not.
    pub never_executed: Vec<End>,
    /// Ends to which no implementation can come, and the guest did.
    pub not_in_the_model: Vec<End>,
}

/// All ends of the guest, if they are those of the model.
pub fn ends(
    program: &Program,
    search: Search,
    settings: &Settings,
    mistake: Option<Mistake>,
) -> Result<BTreeSet<End>, Difference> {
    let modelled = |latitude| Model { program, latitude, mistake }.ends();
    let (least, most) = (modelled(Latitude::Least), modelled(Latitude::Most));
    let begun = std::time::Instant::now();
    let (executed, executions) = executed(program, search, settings);
    if std::env::var_os("COYOTE_STD_FIGURES").is_some() {
        eprintln!(
            "{:?} {executions} executions, {} ends ({} to {}), {:?}: {:?}",
            search,
            executed.len(),
            least.len(),
            most.len(),
            begun.elapsed(),
            program.workers
        );
    }
    let difference = Difference {
        never_executed: least.difference(&executed).cloned().collect(),
        not_in_the_model: executed.difference(&most).cloned().collect(),
    };
    match difference.never_executed.is_empty() && difference.not_in_the_model.is_empty() {
        true => Ok(executed),
        false => Err(difference),
    }
}
