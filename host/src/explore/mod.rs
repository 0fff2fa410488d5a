//! Exploration of one test: by samplers, iteration after iteration, or by a search, until nothing is left.
//!
//! - `sample`: iterations under a strategy on all cores, with results that do not depend on how many
//!   there are; `profiling_run`: the one that tells strategies what to expect; `bounds`: how many steps are enough, after it.
//! - `search`: all executions that a search visits; `frontier`: what is left of it, on disk; `memory`: how
//!   much of that it may have.
//! - `steer`: schedules towards deadlocks that others have shown to be possible.
//! - `sweep`: every fault of the default schedule; `attempts`: which ones these are.
//! - `comparison`: what is new in an iteration; `passage`: by which lines it came; `assumptions`: what a verdict takes for granted.
//! - [`regressions`]: traces of bugs that were found before, tried first.
//! - [`watching`]: which iterations are watched for data races.
//! - `alarm`: the end of the time, for executions that are on their way.
//!
//! What comes of it is [`results`](crate::results). A bug's trace is on disk before its job goes on.

#[doc(hidden)]
pub mod alarm;
mod assumptions;
mod attempts;
mod bounds;
mod comparison;
#[doc(hidden)]
pub mod frontier;
#[doc(hidden)]
pub mod memory;
mod passage;
#[doc(hidden)]
pub mod profiling_run;
#[doc(hidden)]
pub mod regressions;
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
use crate::results::{FirstOutput, FoundBug, IterationNotes, Stop, Subject, TestResult};
use crate::runtime::Stream;
use crate::trace::TraceError;
use coyote_strategies::{Context, Iteration, Strategy};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What to explore and for how long.
#[derive(Clone)]
pub struct Budget {
    /// Iterations of a sampler, executions of a search.
    pub iterations_max: u64,
    /// Number of the first iteration.
    pub first: u64,
    /// How long to explore. Searches end the execution that they are in. `None`: without an end.
    pub timeout: Option<Duration>,
    /// Memory of the process at which a search stops.
    pub search_memory_bytes: u64,
    /// Whether a sampler raises the bounds on steps for a test whose profiling run shows that they are too low. They are as
    /// the settings have them for strategies without a profiling run, and for searches.
    pub bounds_follow: bool,
    /// Go on after a bug, group equal ones and keep the simplest trace of each.
    pub explore: bool,
    /// Different bugs after which that ends.
    pub bugs_max: u64,
    /// Execute every iteration of a sampler twice more and compare: see [`crate::determinism`].
    pub check_determinism: bool,
    /// Threads that explore, each with an instance of its own.
    pub jobs: usize,
    /// Whether schedules are steered towards deadlocks that a sampler's iterations have shown to be possible, if these had no
    /// bug. Not by who explores a part of them, since which ones these are follows from all.
    pub steer: bool,
}

/// Defaults of the budget of a test, whichever comes first. Searches have no bound on executions.
pub const ITERATIONS: u64 = 10_000;
/// See [`ITERATIONS`].
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// What `coyote-wasm test` uses if it is told nothing.
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
            steer: true,
        }
    }
}

/// Makes a strategy for each job, which is told the bounds on steps.
pub type MakeStrategy<'a> = &'a (dyn Fn(&Context) -> Box<dyn Strategy> + Sync);

/// Everything one exploration needs.
#[doc(hidden)]
#[derive(Clone)]
pub struct Plan<'a> {
    /// The module.
    pub artifact: &'a Arc<Artifact>,
    /// Its test.
    pub test: &'a Test,
    /// How it is executed.
    pub settings: &'a Settings,
    /// What all choices follow from.
    pub seed: u64,
    /// What to explore of it.
    pub budget: Budget,
    /// Where traces are written: `STEM-ITERATION.trace`.
    pub trace_stem: PathBuf,
}

impl Plan<'_> {
    /// The options that a trace has to name.
    pub fn options(&self) -> Vec<(String, String)> {
        options::write(&self.artifact.options, self.settings)
    }

    /// What is explored.
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

/// What a user sees while it runs.
#[doc(hidden)]
pub trait Watch: Sync {
    /// Says how many iterations have ended and how many different bugs are known. Called now and then, by any job.
    fn progress(&self, iterations: u64, bugs: u64);

    /// A search estimates how many executions there are in all.
    fn estimate(&self, _executions: f64) {}
}

/// Why an exploration could not be made, or not ended. None of these is a verdict on the guest.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// A guest could not be set up.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A trace could not be written: a bug of which nothing would be left.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A frontier could not be read or written.
    #[error(transparent)]
    Frontier(#[from] frontier::FrontierError),
    /// Bad input of the user's.
    #[error("{0}")]
    Strategy(String),
    /// The system has no thread for a job; with its words.
    #[error("a thread for a job cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Progress that is shown nowhere.
#[doc(hidden)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: u64, _: u64) {}
}

/// What is known of an iteration for whose end there was no time.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Cut {
    met_choice: bool,
    workers: u32,
}

impl Cut {
    /// Adds it to what is known of the others.
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

/// What the iteration says that the execution has just ended, beside its record and its output.
fn notes(execution: &Execution, outcome: &Outcome) -> IterationNotes {
    let scheduler = execution.machine().scheduler();
    IterationNotes {
        memory_refused: execution.machine().memory_refused(),
        asked_random: execution.machine().asked_random(),
        limit: match outcome {
            Outcome::Bound(Bound::Steps(_)) => None,
            Outcome::Bound(bound) => Some(bound.advice()),
            _ => None,
        },
        refused_calls: execution.machine().refused_calls().map(String::from).collect(),
        left_blocked: scheduler.left_blocked.iter().map(|w| scheduler.runtime.title(*w)).collect(),
        never_joined: match outcome {
            Outcome::Passed => scheduler.runtime.never_joined().map(|w| scheduler.runtime.title(w)).collect(),
            _ => Vec::new(),
        },
        first_output: None,
        faults: scheduler.runtime.fault_counts.clone(),
        races: execution.machine().remarks(),
        inversions: execution.machine().inversions(),
    }
}

/// What the iteration wrote that the execution has just ended.
fn first_output(execution: &Execution, index: Option<u64>) -> FirstOutput {
    FirstOutput { index, text: execution.runtime().printed(&[Stream::Stdout, Stream::Stderr]) }
}

/// How a bug was found.
struct Finder {
    strategy: String,
    /// As a trace has it: 0 for a profiling run.
    iteration: u64,
    /// See [`FoundBug::first`].
    index: Option<u64>,
    /// See [`FoundBug::by`].
    by: Option<String>,
}

/// Writes the trace of the bug with which the execution has just ended. It may be executed once more.
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
    trace.write(&path)?;
    Ok(found_bug(execution, bug, Discovery { trace, path, index, by }, lines)?)
}

/// Removes the trace of a bug that is not reported, be it that another one stands for it. That it may already be
/// gone is no error.
fn remove(other: &FoundBug, result: &TestResult) {
    if result.bugs.iter().all(|bug| bug.path != other.path) {
        let _ = std::fs::remove_file(&other.path);
    }
}

/// Executes the iteration that has just ended again, if that was asked for. Returns how many states were
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

/// Where the trace of a bug stands, by how it was found: [`FoundBug::by`] and [`FoundBug::iteration`].
pub fn trace_path(stem: &Path, by: Option<&str>, iteration: u64) -> PathBuf {
    let label = if by == Some(profiling_run::LABEL) { "dry".into() } else { iteration.to_string() };
    let mut name = stem.as_os_str().to_owned();
    name.push(format!("-{label}.trace"));
    name.into()
}
