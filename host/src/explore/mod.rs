//! Exploration of one test: by samplers, iteration after iteration, or by a search, until nothing is left.
//!
//! - `sample`: iterations under a strategy on all cores, with results that do not depend on the number of cores;
//!   `numbers`: which iterations a job executes next; `profiling_run`: the run that determines the profile for strategies; `bounds`: the bounds on steps that follow
//!   from it.
//! - `search`: all executions that a search visits; `frontier`: its remaining work, on disk; `memory`: the memory
//!   limit; `endless`: proves executions without an end that a search has found.
//! - `steer`: schedules that are steered towards deadlocks that other schedules have shown to be possible.
//! - `sweep`: every fault of the default schedule; `attempts`: the list of these faults.
//! - [`rehearsal`]: an execution that counts for nothing.
//! - `comparison`: what is new in an iteration; `passage`: the lines that it passed; `assumptions`: the assumptions of
//!   a verdict.
//! - [`regressions`]: traces of bugs that were found before, tried first.
//! - [`watching`]: which iterations are watched for data races.
//! - `alarm`: time limits and interruptions for executions that have begun.
//!
//! The result is data of [`results`](crate::results). The trace of a bug is on disk as soon as the bug is in the result.

#[doc(hidden)]
pub mod alarm;
mod assumptions;
mod attempts;
mod bounds;
mod checkpoints;
mod comparison;
mod endless;
#[doc(hidden)]
pub mod frontier;
#[doc(hidden)]
pub mod memory;
mod numbers;
mod passage;
mod pool;
#[doc(hidden)]
pub mod profiling_run;
#[doc(hidden)]
pub mod regressions;
#[doc(hidden)]
pub mod rehearsal;
#[doc(hidden)]
pub mod sample;
#[doc(hidden)]
pub mod search;
mod steer;
#[doc(hidden)]
pub mod sweep;
pub mod watching;

use crate::artifact::Artifact;
use crate::determinism;
use crate::diagnose::{Discovery, SourceLines, found_bug};
use crate::execution::{Execution, Settings, Test};
use crate::machine::MachineError;
use crate::options;
use crate::outcome::{Bound, Bug, Outcome};
use crate::record::{self, Origin};
use crate::results::{FirstOutput, FoundBug, Incidents, IterationNotes, Stop, Subject, TestResult};
use crate::runtime::Stream;
use crate::trace::TraceError;
use coyote_strategies::{Context, Iteration, Strategy};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What to explore and for how long.
#[derive(Clone)]
pub struct Budget {
    /// The maximum number of iterations of a sampler, or of executions of a search.
    pub iterations_max: u64,
    /// Number of the first iteration.
    pub first: u64,
    /// The time limit. Searches cut off the execution that they are in. `None`: no limit.
    pub timeout: Option<Duration>,
    /// The resident memory of the process at which a search stops.
    pub search_memory_bytes: u64,
    /// Whether a sampler raises the bounds on steps of a test if its profiling run shows that they are too low.
    /// Strategies without a profiling run, and searches, have the bounds of the settings.
    pub bounds_follow: bool,
    /// Whether to continue after a bug, group equal bugs and keep the simplest trace of each.
    pub explore: bool,
    /// The number of different bugs after which such an exploration ends.
    pub bugs_max: u64,
    /// Whether to execute every iteration of a sampler twice more and compare: see [`crate::determinism`].
    pub check_determinism: bool,
    /// The number of threads that explore, each with its own instance.
    pub jobs: usize,
    /// The number of iterations after which a strategy that learns begins anew; `None`: never. Without effect on others.
    pub island: Option<u64>,
    /// How much of its part a unit of a search does; `None` if this is no such unit.
    pub unit: Option<UnitBudget>,
    /// Whether schedules are steered towards deadlocks that a sampler's iterations have shown to be possible, if the
    /// iterations had no bug. Not for an exploration of a part of the iterations, since the candidates follow from all
    /// iterations.
    pub steer: bool,
}

/// How much of a search one unit does. The machine's speed has no part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitBudget {
    /// The number of steps after which it ends. At least one execution ends before.
    pub steps: u64,
    /// The number of pieces into which it cuts what it leaves, if it can.
    pub pieces: usize,
}

/// Defaults of a test's budget; the first limit that is reached applies. Searches have no limit on executions.
pub const ITERATIONS: u64 = 10_000;
/// See [`ITERATIONS`].
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The defaults of `coyote-wasm test`.
impl Default for Budget {
    fn default() -> Budget {
        Budget {
            iterations_max: ITERATIONS,
            first: 0,
            timeout: Some(TIMEOUT),
            search_memory_bytes: memory::default_bound_bytes(),
            bounds_follow: true,
            explore: false,
            bugs_max: u64::MAX,
            check_determinism: false,
            jobs: std::thread::available_parallelism().map_or(1, |n| n.get()),
            island: None,
            unit: None,
            steer: true,
        }
    }
}

/// Creates the strategy of each job, with knowledge of the bounds on steps.
pub type MakeStrategy<'a> = &'a (dyn Fn(&Context) -> Box<dyn Strategy> + Sync);

/// Everything one exploration needs.
#[doc(hidden)]
#[derive(Clone)]
pub struct Plan<'a> {
    /// The module.
    pub artifact: &'a Arc<Artifact>,
    /// Its test.
    pub test: &'a Test,
    /// How the test is executed.
    pub settings: &'a Settings,
    /// The seed of all choices.
    pub seed: u64,
    /// How much to explore.
    pub budget: Budget,
    /// The prefix of the paths of traces: `STEM-ITERATION.trace`.
    pub trace_stem: PathBuf,
}

impl Plan<'_> {
    /// The same plan with other settings.
    pub(crate) fn with<'a>(&'a self, settings: &'a Settings) -> Plan<'a> {
        Plan { settings, ..self.clone() }
    }

    /// The options that a trace must name.
    pub fn options(&self) -> Vec<(String, String)> {
        options::write(&self.artifact.options, self.settings)
    }

    /// The subject of the exploration.
    pub fn subject(&self, strategy: String) -> Subject {
        Subject {
            module: self.artifact.identity.clone(),
            test: self.test.name.clone(),
            strategy,
            seed: self.seed,
            options: self.options(),
        }
    }
}

/// Shows progress to the user during an exploration.
#[doc(hidden)]
pub trait Watch: Sync {
    /// Reports how many iterations have ended, and how many of them with a bug. Called now and then, by any job.
    fn progress(&self, iterations: u64, bugs: u64);

    /// Reports a search's estimate of the total number of executions.
    fn estimate(&self, _executions: f64) {}
}

/// Why an exploration could not begin or end. None of these is a verdict on the guest.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// A guest could not be prepared.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A trace could not be written, so the bug would be lost.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A frontier could not be read or written.
    #[error(transparent)]
    Frontier(#[from] frontier::FrontierError),
    /// The user's input is invalid.
    #[error("{0}")]
    Strategy(String),
    /// The system cannot start a thread for a job; with its error.
    #[error("a thread for a job cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Ignores progress.
#[doc(hidden)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: u64, _: u64) {}
}

/// What is known of an iteration that was cut off, since the time was up or the user interrupted.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Cut {
    met_choice: bool,
    workers: u32,
}

impl Cut {
    /// Adds this knowledge to a result.
    fn add_to(self, result: &mut TestResult, interrupted: bool) {
        result.any_choice |= self.met_choice;
        result.workers_max = result.workers_max.max(self.workers);
        if result.stop == Stop::Iterations {
            result.stop = if interrupted { Stop::Interrupted } else { Stop::Timeout };
        }
    }

    fn of(execution: &Execution) -> Cut {
        let record = execution.record(true);
        Cut { met_choice: record.decisions > 0, workers: record.workers }
    }
}

/// Notes on the iteration that the execution has just ended, in addition to its record and its output.
fn notes(execution: &Execution, outcome: &Outcome) -> IterationNotes {
    let scheduler = execution.machine().scheduler();
    let limit = match outcome {
        Outcome::Bound(Bound::Steps(_)) => None,
        Outcome::Bound(bound) => Some(bound.advice()),
        _ => None,
    };
    let incidents = Incidents {
        limits: limit.into_iter().collect(),
        left_blocked: scheduler.left_blocked.iter().map(|w| scheduler.runtime.title(*w)).collect(),
        never_joined: match outcome {
            Outcome::Passed => scheduler.runtime.never_joined().map(|w| scheduler.runtime.title(w)).collect(),
            _ => BTreeSet::new(),
        },
        ..execution.incidents()
    };
    let (races, inversions) = (execution.machine().remarks(), execution.machine().inversions());
    IterationNotes { incidents, races, inversions, first_output: None }
}

/// The output of the iteration that the execution has just ended.
fn first_output(execution: &Execution, index: Option<u64>) -> FirstOutput {
    FirstOutput { index, text: execution.runtime().printed(&[Stream::Stdout, Stream::Stderr]) }
}

/// An error of this tool.
fn internal(message: &str) -> ExploreError {
    ExploreError::Machine(MachineError::Internal(message.into()))
}

/// How a bug was found.
struct Finder {
    strategy: String,
    /// The iteration as in the trace: 0 for a profiling run.
    iteration: u64,
    /// See [`FoundBug::first`].
    index: Option<u64>,
    /// See [`FoundBug::by`].
    by: Option<String>,
}

/// The bug with which the execution has just ended, and its trace, which [`keep`] writes. May execute it once more.
fn found(
    plan: &Plan,
    execution: &mut Execution,
    bug: &Bug,
    finder: Finder,
    lines: &Mutex<SourceLines>,
) -> Result<FoundBug, ExploreError> {
    let bug = &execution.shorten(bug)?;
    let Finder { strategy, iteration, index, by } = finder;
    let mut options = plan.options();
    options.extend(record::bounds(execution));
    let origin = Origin { strategy, seed: plan.seed, iteration, options };
    let trace = record::trace(execution, &Outcome::Bug(bug.clone()), origin);
    let path = trace_path(&plan.trace_stem, by.as_deref(), iteration);
    Ok(found_bug(execution, bug, Discovery { trace, path, index, by }, lines)?)
}

/// Adds a bug to a result and, if its trace is kept, writes it to disk. A trace that it replaces is removed; it is no
/// error if that file does not exist any more.
pub(crate) fn keep(result: &mut TestResult, bug: FoundBug) -> Result<(), TraceError> {
    let path = bug.path.clone();
    let other = result.add_bug(bug);
    if let Some(kept) = result.bugs.iter().find(|kept| kept.path == path) {
        kept.trace.write(&path)?;
    }
    let is_kept = |other: &FoundBug| result.bugs.iter().any(|bug| bug.path == other.path);
    if let Some(replaced) = other.filter(|other| other.path != path && !is_kept(other)) {
        let _ = std::fs::remove_file(&replaced.path);
    }
    Ok(())
}

/// Executes the iteration that has just ended again, if that is requested. Returns the number of states that were
/// compared.
fn compared(
    plan: &Plan,
    execution: &mut Execution,
    outcome: &Outcome,
    fair: bool,
    iteration: Iteration,
) -> Result<u64, MachineError> {
    match plan.budget.check_determinism {
        true => determinism::check(execution, outcome, fair, iteration),
        false => Ok(0),
    }
}

/// The path of a bug's trace, which depends on how the bug was found: [`FoundBug::by`] and [`FoundBug::iteration`].
pub fn trace_path(stem: &Path, by: Option<&str>, iteration: u64) -> PathBuf {
    let label = if by == Some(profiling_run::LABEL) { "dry".into() } else { iteration.to_string() };
    let mut name = stem.as_os_str().to_owned();
    name.push(format!("-{label}.trace"));
    name.into()
}
