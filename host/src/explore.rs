//! Exploration: many iterations of one test on all cores, with a result that does not depend on how
//! many there are.
//!
//! Iterations are numbered and independent. Each job takes the next number; what it reports is put
//! back into the order of the numbers before anything is counted, and what lies beyond the first bug
//! (unless exploration goes on after bugs) is dropped. A bug's trace is on disk before its job goes on.

use crate::artifact::{Artifact, THREAD_STACK_BYTES};
use crate::execution::{Execution, Settings, Test};
use crate::machine::MachineError;
use crate::outcome::{Bug, Outcome};
use crate::record::{self, Origin};
use crate::report::Findings;
use crate::statistics::{IterationRecord, Statistics, StepsMax};
use crate::trace::{Trace, TraceError};
use coyote_strategies::{Iteration, Strategy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What to explore and for how long.
#[derive(Clone)]
pub struct Budget {
    pub iterations_max: u64,
    /// Number of the first iteration.
    pub first: u64,
    pub timeout: Option<Duration>,
    /// Go on after a bug, and group equal ones.
    pub explore: bool,
    pub jobs: usize,
}

/// Makes a strategy for each job.
pub type MakeStrategy<'a> = &'a (dyn Fn() -> Box<dyn Strategy> + Sync);

/// Everything one exploration needs.
pub struct Plan<'a> {
    pub artifact: &'a Arc<Artifact>,
    pub test: &'a Test,
    pub settings: &'a Settings,
    pub seed: u64,
    pub strategy: MakeStrategy<'a>,
    pub budget: Budget,
    /// Options that a trace has to name.
    pub options: Vec<(String, String)>,
    /// Where traces are written: `STEM-ITERATION.trace`.
    pub trace_stem: PathBuf,
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
}

/// Why an exploration stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Bug,
    Iterations,
    Timeout,
    Interrupted,
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
    /// Advice for a bound other than steps that some iteration reached.
    pub bound: Option<String>,
    /// Workers that a passing iteration left blocked for ever.
    pub left_blocked: Vec<String>,
}

/// What a user sees while it runs.
pub trait Watch: Sync {
    fn progress(&self, iterations: u64, bugs: u64);
}

#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("a thread for a job cannot be started: {0}")]
    Thread(std::io::Error),
}

/// One iteration, as its job reports it.
struct Report {
    index: u64,
    record: IterationRecord,
    found: Option<Box<Found>>,
    memory_refused: bool,
    bound: Option<String>,
    left_blocked: Vec<String>,
}

/// What jobs share.
struct Shared {
    next: AtomicU64,
    /// No iteration from here on is needed.
    end: AtomicU64,
    stop: AtomicBool,
}

/// How many iterations a job does before it reports them.
const BATCH: usize = 32;

/// Explores a test. `interrupted` stops it early, with what it has.
pub fn explore(
    plan: &Plan,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Exploration, ExploreError> {
    let started = Instant::now();
    let first = plan.budget.first;
    let shared = Shared {
        next: AtomicU64::new(first),
        end: AtomicU64::new(first.saturating_add(plan.budget.iterations_max)),
        stop: AtomicBool::new(false),
    };
    let limits = plan.settings.limits;
    let steps_max = StepsMax { unfair: limits.unfair_steps_max, fair: limits.fair_steps_max };
    let mut collected = Collected {
        exploration: Exploration {
            statistics: Statistics::new(steps_max),
            found: Vec::new(),
            stop: Stop::Iterations,
            elapsed: Duration::ZERO,
            any_choice: false,
            workers_max: 0,
            memory_refused: false,
            bound: None,
            left_blocked: Vec::new(),
        },
        waiting: BTreeMap::new(),
        next: first,
        explore: plan.budget.explore,
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for job in 0..plan.budget.jobs.max(1) {
            let (sender, shared) = (sender.clone(), &shared);
            std::thread::Builder::new()
                .name(format!("job-{job}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn_scoped(scope, move || {
                    if let Err(error) = run_job(plan, shared, &sender) {
                        shared.stop.store(true, Ordering::Relaxed);
                        let _ = sender.send(Err(error));
                    }
                })
                .map_err(ExploreError::Thread)?;
        }
        drop(sender);
        let result = collect(plan, &shared, &mut collected, &receiver, interrupted, watch, started);
        shared.stop.store(true, Ordering::Relaxed);
        result
    })?;
    collected.finish();
    let mut exploration = collected.exploration;
    exploration.elapsed = started.elapsed();
    Ok(exploration)
}

/// Receives reports until all jobs are done.
fn collect(
    plan: &Plan,
    shared: &Shared,
    collected: &mut Collected,
    receiver: &Receiver<Result<Vec<Report>, ExploreError>>,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
    started: Instant,
) -> Result<(), ExploreError> {
    loop {
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(Ok(reports)) => {
                for report in reports {
                    if report.found.is_some() && !plan.budget.explore {
                        shared.end.fetch_min(report.index + 1, Ordering::Relaxed);
                    }
                    collected.waiting.insert(report.index, report);
                }
                if collected.advance() {
                    collected.exploration.stop = Stop::Bug;
                }
            }
            Ok(Err(error)) => return Err(error),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
        let statistics = &collected.exploration.statistics;
        watch.progress(statistics.iterations(), statistics.buggy);
        let stop = if interrupted.load(Ordering::Relaxed) {
            Some(Stop::Interrupted)
        } else if plan.budget.timeout.is_some_and(|t| started.elapsed() >= t) {
            Some(Stop::Timeout)
        } else {
            None
        };
        if let Some(stop) = stop
            && collected.exploration.stop == Stop::Iterations
        {
            collected.exploration.stop = stop;
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Reports in the order of their iterations.
struct Collected {
    exploration: Exploration,
    /// Reports that came early.
    waiting: BTreeMap<u64, Report>,
    next: u64,
    explore: bool,
}

impl Collected {
    /// Counts what is complete. Whether that contains the bug at which the exploration ends.
    fn advance(&mut self) -> bool {
        while self.exploration.stop != Stop::Bug
            && let Some(report) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            let exploration = &mut self.exploration;
            exploration.statistics.add(&report.record);
            exploration.any_choice |= report.record.decisions > 0;
            exploration.workers_max = exploration.workers_max.max(report.record.workers);
            exploration.memory_refused |= report.memory_refused;
            exploration.bound = exploration.bound.take().or(report.bound);
            for worker in report.left_blocked {
                if !exploration.left_blocked.contains(&worker) {
                    exploration.left_blocked.push(worker);
                }
            }
            if let Some(found) = report.found {
                self.add(*found);
                if !self.explore {
                    return true;
                }
            }
        }
        false
    }

    /// Keeps the shortest trace of each bug.
    fn add(&mut self, found: Found) {
        let known = self.exploration.found.iter_mut().find(|f| f.findings.same_bug(&found.findings));
        match known {
            None => self.exploration.found.push(found),
            Some(known) => {
                let count = known.count + 1;
                if found.trace.decisions.len() < known.trace.decisions.len() {
                    let longer = std::mem::replace(known, found);
                    remove(&longer.path);
                } else {
                    remove(&found.path);
                }
                known.count = count;
            }
        }
    }

    /// Removes traces of iterations that turned out not to count.
    fn finish(&mut self) {
        for report in std::mem::take(&mut self.waiting).into_values() {
            if let Some(found) = report.found {
                remove(&found.path);
            }
        }
        let found = self.exploration.found.len() as u64;
        self.exploration.statistics.distinct_bugs = self.explore.then_some(found);
    }
}

/// A trace that another one stands for. That it may already be gone is no error.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn run_job(
    plan: &Plan,
    shared: &Shared,
    sender: &Sender<Result<Vec<Report>, ExploreError>>,
) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let mut strategy = (plan.strategy)();
    let name = strategy.name();
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        // A number that was taken is also executed: what is reported has no gaps.
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        if index >= shared.end.load(Ordering::Relaxed) {
            break;
        }
        let iteration = Iteration { seed: plan.seed, index };
        let (outcome, used) = execution.run(strategy, iteration)?;
        strategy = used;
        let fair = strategy.fair();
        let found = match &outcome {
            Outcome::Bug(bug) => {
                let origin = Origin {
                    strategy: name.clone(),
                    seed: plan.seed,
                    iteration: index,
                    options: plan.options.clone(),
                };
                let trace = record::trace(&execution, &outcome, origin);
                let path = trace_path(&plan.trace_stem, index);
                trace.write(&path)?;
                let findings = Findings::of(&execution, bug);
                Some(Box::new(Found { bug: bug.clone(), iteration: index, trace, path, findings, count: 1 }))
            }
            _ => None,
        };
        let bound = match &outcome {
            Outcome::Bound(crate::outcome::Bound::Steps(_)) => None,
            Outcome::Bound(bound) => Some(bound.advice()),
            _ => None,
        };
        let conductor = execution.machine().conductor();
        let left_blocked = conductor.left_blocked.iter().map(|w| conductor.runtime.title(*w)).collect();
        let urgent = found.is_some();
        batch.push(Report {
            index,
            record: execution.record(fair),
            found,
            memory_refused: execution.machine().memory_refused(),
            bound,
            left_blocked,
        });
        if (batch.len() == BATCH || urgent) && sender.send(Ok(std::mem::take(&mut batch))).is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(Ok(batch));
    Ok(())
}

fn trace_path(stem: &Path, iteration: u64) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(format!("-{iteration}.trace"));
    name.into()
}
