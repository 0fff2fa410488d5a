//! Exploration of one test: by samplers, iteration after iteration, or by a search, until nothing is left.
//!
//! - [`sample`]: iterations under a strategy on all cores, with results that do not depend on how many
//!   there are; [`dry_run`]: the one that tells strategies what to expect.
//! - [`search`]: all executions that a search visits; [`frontier`]: what is left of it, on disk; [`memory`]: how
//!   much of that it may have.
//! - [`alarm`]: the end of the time, for executions that are on their way.
//! - [`bugs`]: equal bugs are one.
//!
//! A bug's trace is on disk before its job goes on.

pub mod alarm;
pub mod bugs;
pub mod dry_run;
pub mod frontier;
pub mod memory;
pub mod sample;
pub mod search;

use crate::artifact::Artifact;
use crate::determinism;
use crate::execution::{Execution, Settings, Test};
use crate::granules::Granules;
use crate::livelock;
use crate::machine::MachineError;
use crate::options;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::record::{self, Origin};
use crate::report::{Findings, History};
use crate::runtime::Stream;
use crate::statistics::Statistics;
use crate::trace::{Trace, TraceError};
use coyote_strategies::{Iteration, Strategy};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What to explore and for how long.
#[derive(Clone)]
pub struct Budget {
    /// Iterations of a sampler, executions of a search.
    pub iterations_max: u64,
    /// Number of the first iteration.
    pub first: u64,
    pub timeout: Option<Duration>,
    /// Memory of the process at which a search stops.
    pub search_memory_bytes: u64,
    /// Go on after a bug, group equal ones and keep the simplest trace of each.
    pub explore: bool,
    /// Execute every iteration of a sampler twice more and compare: see [`crate::determinism`].
    pub check_determinism: bool,
    pub jobs: usize,
}

/// Defaults of the budget of a test, whichever comes first. Searches have no bound on executions.
pub const ITERATIONS: u64 = 10_000;
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// What `coyote-wasm test` uses if it is told nothing.
impl Default for Budget {
    fn default() -> Budget {
        Budget {
            iterations_max: ITERATIONS,
            first: 0,
            timeout: Some(TIMEOUT),
            search_memory_bytes: memory::default_bound_bytes(),
            explore: false,
            check_determinism: false,
            jobs: std::thread::available_parallelism().map_or(1, |n| n.get()),
        }
    }
}

/// Makes a strategy for each job.
pub type MakeStrategy<'a> = &'a (dyn Fn() -> Box<dyn Strategy> + Sync);

/// Everything one exploration needs.
pub struct Plan<'a> {
    pub artifact: &'a Arc<Artifact>,
    pub test: &'a Test,
    pub settings: &'a Settings,
    pub seed: u64,
    pub budget: Budget,
    /// Where traces are written: `STEM-ITERATION.trace`.
    pub trace_stem: PathBuf,
}

impl Plan<'_> {
    /// The options that a trace has to name.
    pub fn options(&self) -> Vec<(String, String)> {
        options::write(&self.artifact.options, self.settings)
    }
}

/// A bug and how often it was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub bug: Bug,
    pub iteration: u64,
    pub trace: Trace,
    pub path: PathBuf,
    pub findings: Findings,
    /// Iterations in which an equal bug was found.
    pub count: u64,
    /// The strategy of a portfolio, or the dry run, if that says more than the run's own strategy.
    pub by: Option<String>,
}

impl Found {
    /// Whether it is no bug but our limit, so that there is no verdict.
    pub fn is_limit(&self) -> bool {
        self.bug.kind == BugKind::Limit
    }
}

/// Why an exploration stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Bug,
    Iterations,
    Timeout,
    /// What is left of a search takes all the memory that it may have.
    Memory,
    Interrupted,
    /// Nothing is left to explore.
    Exhausted,
}

/// The result of an exploration.
pub struct Exploration {
    pub statistics: Statistics,
    /// In the order in which they were found.
    pub found: Vec<Found>,
    pub stop: Stop,
    pub elapsed: Duration,
    /// Whether any iteration met a choice.
    pub any_choice: bool,
    /// Most workers of an iteration.
    pub workers_max: u32,
    /// Whether the guest was refused memory in some iteration.
    pub memory_refused: bool,
    /// What some iteration needed and we do not have, as sentences with what to do: no verdict on the test.
    pub limits: Vec<String>,
    /// Functions that the guest called in some iteration though nobody serves them.
    pub refused_calls: Vec<&'static str>,
    /// What the first iteration wrote to standard output and standard error.
    pub first_output: String,
    /// Workers that a passing iteration left blocked for ever.
    pub left_blocked: Vec<String>,
    /// Memory that turned out to be shared, and how often iterations were repeated for it.
    pub shared: Granules,
    pub repeats: u64,
    /// States that were compared with those of another execution of the same iteration.
    pub states_compared: u64,
    /// What a search says of itself.
    pub searched: Option<search::Searched>,
}

/// What a user sees while it runs.
pub trait Watch: Sync {
    fn progress(&self, iterations: u64, bugs: u64);

    /// A search estimates how many executions there are in all.
    fn estimate(&self, _executions: f64) {}
}

#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Frontier(#[from] frontier::FrontierError),
    /// Bad input of the user's.
    #[error("{0}")]
    Strategy(String),
    #[error("a thread for a job cannot be started: {0}")]
    Thread(std::io::Error),
}

/// Nobody looks on.
pub struct Unwatched;

impl Watch for Unwatched {
    fn progress(&self, _: u64, _: u64) {}
}

impl Exploration {
    pub(crate) fn new(statistics: Statistics) -> Exploration {
        Exploration {
            statistics,
            found: Vec::new(),
            stop: Stop::Iterations,
            elapsed: Duration::ZERO,
            any_choice: false,
            workers_max: 0,
            memory_refused: false,
            limits: Vec::new(),
            refused_calls: Vec::new(),
            first_output: String::new(),
            left_blocked: Vec::new(),
            shared: Granules::default(),
            repeats: 0,
            states_compared: 0,
            searched: None,
        }
    }

    /// Iterations, or a search's executions.
    pub fn iterations(&self) -> u64 {
        self.searched.as_ref().map_or(self.statistics.iterations(), |s| s.counts.executions)
    }

    /// Whether a bug was found, be it by the runs before whose rest a search went on with.
    pub fn is_buggy(&self) -> bool {
        let before = self.searched.as_ref().and_then(|searched| searched.resumed.as_ref());
        self.found.iter().any(|found| !found.is_limit())
            || before.is_some_and(|resumed| resumed.done.counts.bugs > 0)
    }

    /// Takes over what is known of an iteration for whose end there was no time.
    fn cut(&mut self, cut: Cut, interrupted: bool) {
        self.any_choice |= cut.met_choice;
        self.workers_max = self.workers_max.max(cut.workers);
        if self.stop == Stop::Iterations {
            self.stop = if interrupted { Stop::Interrupted } else { Stop::Timeout };
        }
    }

    /// Takes over what an iteration says beside its record.
    fn note(&mut self, notes: Notes) {
        self.memory_refused |= notes.memory_refused;
        if let Some(limit) = notes.limit
            && !self.limits.contains(&limit)
        {
            self.limits.push(limit);
        }
        for name in notes.refused_calls {
            if !self.refused_calls.contains(&name) {
                self.refused_calls.push(name);
            }
        }
        if self.first_output.is_empty() {
            self.first_output = notes.first_output;
        }
        for worker in notes.left_blocked {
            if !self.left_blocked.contains(&worker) {
                self.left_blocked.push(worker);
            }
        }
    }
}

/// What is known of an iteration for whose end there was no time.
#[derive(Clone, Copy)]
pub struct Cut {
    met_choice: bool,
    workers: u32,
}

impl Cut {
    fn of(execution: &Execution) -> Cut {
        let record = execution.record(true);
        Cut { met_choice: record.decisions > 0, workers: record.workers }
    }
}

/// What an iteration has to say beside its record.
struct Notes {
    memory_refused: bool,
    /// See [`Exploration::limits`].
    limit: Option<String>,
    refused_calls: Vec<&'static str>,
    left_blocked: Vec<String>,
    /// Empty unless it is the first iteration.
    first_output: String,
}

impl Notes {
    /// Of the iteration that the execution has just ended.
    fn of(execution: &Execution, outcome: &Outcome, is_first: bool) -> Notes {
        let conductor = execution.machine().conductor();
        let streams: &[Stream] = if is_first { &[Stream::Stdout, Stream::Stderr] } else { &[] };
        Notes {
            first_output: conductor.runtime.printed(streams),
            memory_refused: execution.machine().memory_refused(),
            limit: match outcome {
                Outcome::Bound(crate::outcome::Bound::Steps(_)) => None,
                Outcome::Bound(bound) => Some(bound.advice()),
                _ => None,
            },
            refused_calls: execution.machine().refused_calls().collect(),
            left_blocked: conductor.left_blocked.iter().map(|w| conductor.runtime.title(*w)).collect(),
        }
    }
}

/// Writes the trace of the bug with which the execution has just ended. It may be executed once more.
fn found(
    plan: &Plan,
    execution: &mut Execution,
    bug: &Bug,
    strategy: String,
    iteration: u64,
    by: Option<String>,
) -> Result<Found, ExploreError> {
    let bug = &match bug.kind {
        BugKind::Livelock => livelock::shorten(execution)?,
        _ => bug.clone(),
    };
    let mut options = plan.options();
    options.extend(record::bounds(execution));
    let origin = Origin { strategy, seed: plan.seed, iteration, options };
    let trace = record::trace(execution, &Outcome::Bug(bug.clone()), origin);
    let label = if by.as_deref() == Some(dry_run::LABEL) { "dry".into() } else { iteration.to_string() };
    let path = trace_path(&plan.trace_stem, &label);
    trace.write(&path)?;
    let mut findings = Findings::of(execution, bug);
    findings.history = History::of(execution, &trace)?;
    Ok(Found { bug: bug.clone(), iteration, trace, path, findings, count: 1, by })
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

fn trace_path(stem: &Path, label: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(format!("-{label}.trace"));
    name.into()
}
