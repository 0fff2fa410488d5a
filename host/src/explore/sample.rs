//! Exploration by iterations of one test on all cores, with a result that does not depend on the number of cores.
//!
//! Iterations are numbered and independent. Each job takes the next number. Results are put into the order of their
//! numbers before they are counted, and results beyond the first bug are dropped (unless exploration continues after
//! bugs). A strategy whose iterations depend on each other has one job, or begins anew from time to time (`numbers`).

use super::attempts::SweepPlan;
use super::comparison::Comparison;
use super::numbers::{Numbers, Taken};
use super::passage::{self, Passages};
use super::profiling_run::profiling_run;
use super::watching::Watching;
use super::{
    Cut, ExploreError, Finder, MakeStrategy, Plan, Watch, alarm, assumptions, compared, first_output, found,
    keep, notes, steer,
};
use crate::artifact::THREAD_STACK_BYTES;
use crate::diagnose::SourceLines;
use crate::engine_thread::on_engine_thread;
use crate::epochs::{self, Epochs, Ran};
use crate::execution::Execution;
use crate::granules::Sharing;
use crate::outcome::Outcome;
use crate::results::{Correlation, IterationResult, Stop, TestResult, is_compared};
use crate::settings::Settings;
use coyote_strategies::{Context, Iteration, Profile, Strategy, Sweep};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The conditions that end an exploration early.
#[derive(Clone, Copy)]
struct StopRules {
    /// The maximum number of different bugs.
    bugs_max: u64,
    without_choice: bool,
}

impl StopRules {
    /// Whether no later iteration is needed: a bug was found, or, for a test of a test harness, the iteration met no
    /// choice and is thus the only one.
    fn end_with(&self, iteration: &IterationResult) -> bool {
        let met_no_choice = iteration.record.decisions == 0 && !iteration.record.abandoned;
        met_no_choice && self.without_choice || iteration.bug.is_some() && self.bugs_max <= 1
    }
}

/// The state that jobs share.
struct Dispatch {
    epochs: Epochs,
    numbers: Numbers,
    stop: AtomicBool,
    /// Raised when there is no more time for the iterations that have begun.
    cancel: Arc<AtomicBool>,
    /// Iterations that were cut off for this reason.
    cut: Mutex<Vec<Cut>>,
    lines: Mutex<SourceLines>,
}

/// Iterations with their numbers.
type Batch = Vec<(u64, IterationResult)>;

/// The number of iterations that a job executes before it reports them.
const BATCH: usize = 32;

/// Explores a test. `interrupted` ends the exploration early, with the results so far.
pub fn explore(
    plan: &Plan,
    strategy: MakeStrategy,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<TestResult, ExploreError> {
    let strategy: MakeStrategy =
        &|context| plan.settings.faults.sampled(plan.artifact.watching(strategy(context)));
    alarm::with(plan.budget.timeout, interrupted, |cancel| {
        explore_until(plan, strategy, None, interrupted, cancel, watch)
    })
}

/// Makes the attempts of a sweep of faults. `strategy` makes the choices after a fault in sampled attempts.
pub fn explore_sweep(
    plan: &Plan,
    strategy: MakeStrategy,
    swept: &SweepPlan,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<TestResult, ExploreError> {
    let strategy: MakeStrategy = &|context| {
        let schedules = plan.artifact.watching(strategy(context));
        Box::new(Sweep::new(swept.attempts.clone(), schedules))
    };
    alarm::with(plan.budget.timeout, interrupted, |cancel| {
        explore_until(plan, strategy, Some(swept), interrupted, cancel, watch)
    })
}

fn explore_until(
    plan: &Plan,
    strategy: MakeStrategy,
    swept: Option<&SweepPlan>,
    interrupted: &AtomicBool,
    cancel: &Arc<AtomicBool>,
    watch: &dyn Watch,
) -> Result<TestResult, ExploreError> {
    let started = Instant::now();
    let first = plan.budget.first;
    let end = first.saturating_add(plan.budget.iterations_max);
    let sample = strategy(&context(plan));
    let epochs = Epochs::new(&plan.artifact.options);
    let needed_before = if sample.independent() { epochs.needed_before(first, end) } else { first };
    let island = plan.budget.island.filter(|_| !sample.independent());
    let mut dispatch = Dispatch {
        epochs,
        numbers: Numbers::new(first..end, needed_before, island),
        stop: AtomicBool::new(false),
        cancel: cancel.clone(),
        cut: Mutex::new(Vec::new()),
        lines: Mutex::new(SourceLines::new(plan.artifact)),
    };
    let mut collected = Collected {
        result: TestResult::new(
            plan.subject(sample.name()),
            plan.settings.limits.into(),
            plan.budget.explore,
        ),
        waiting: BTreeMap::new(),
        next: first,
        swept,
        passages: Passages::new(plan.artifact),
        rules: StopRules {
            bugs_max: if plan.budget.explore { plan.budget.bugs_max } else { 1 },
            without_choice: plan.test.harness.is_some() && !plan.budget.check_determinism,
        },
    };
    let correlates = plan.budget.explore && swept.is_none();
    collected.result.correlation = correlates.then(Correlation::default);
    collected.result.sweep = swept.map(|swept| swept.sweep.clone());
    collected.result.watch = assumptions::watch(plan, sample.independent());
    let mut profile = None;
    let mut settings = plan.settings.clone();
    if sample.needs_profile() {
        let is_iteration = sample.begins_with_profiling_run();
        let is_first = first == 0 && is_iteration;
        let name = sample.name();
        let profiling_run = on_engine_thread(|| {
            let first_of = is_first.then_some(&*name);
            profiling_run(plan, first_of, &dispatch.epochs, is_iteration, cancel, &dispatch.lines)
        });
        let profiling_run = match profiling_run? {
            Ok(profiling_run) => profiling_run,
            Err(cut) => {
                cut.add_to(&mut collected.result, interrupted.load(Ordering::Relaxed));
                return collected.finish(started);
            }
        };
        if is_first || is_iteration && needed_before > 0 {
            dispatch.numbers.skip_first();
        }
        if is_first {
            collected.next = 1;
        }
        profile = Some(profiling_run.profile);
        settings.limits = profiling_run.limits;
        // The profiling run is not counted if only later iterations are requested.
        if plan.budget.first == 0 && collected.count(profiling_run.result)? {
            dispatch.stop.store(true, Ordering::Relaxed);
        }
    }
    let raised = Plan { settings: &settings, ..plan.clone() };
    let plan = &raised;
    collected.result.subject = plan.subject(sample.name());
    collected.result.statistics.steps_max = plan.settings.limits.into();
    let dispatch = &dispatch;
    let jobs = if sample.independent() || island.is_some() { plan.budget.jobs.max(1) } else { 1 };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for job in 0..jobs {
            let (sender, profile) = (sender.clone(), profile.as_ref());
            std::thread::Builder::new()
                .name(format!("job-{job}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn_scoped(scope, move || {
                    if let Err(error) = run_job(plan, strategy, profile, dispatch, &sender) {
                        dispatch.stop.store(true, Ordering::Relaxed);
                        let _ = sender.send(Err(error));
                    }
                })
                .map_err(|error| {
                    // The jobs that have started would go on to their end.
                    dispatch.stop.store(true, Ordering::Relaxed);
                    ExploreError::Thread(error)
                })?;
        }
        drop(sender);
        let result = collect(plan, dispatch, &mut collected, &receiver, interrupted, watch, started);
        dispatch.stop.store(true, Ordering::Relaxed);
        result
    })?;
    for cut in std::mem::take(&mut *dispatch.cut.lock().unwrap_or_else(PoisonError::into_inner)) {
        cut.add_to(&mut collected.result, interrupted.load(Ordering::Relaxed));
    }
    let mut result = collected.finish(started)?;
    if swept.is_none() && plan.budget.steer {
        on_engine_thread(|| steer::confirm(plan, &mut result, cancel))?;
    }
    result.elapsed = started.elapsed();
    Ok(result)
}

/// Steers schedules towards deadlocks that the iterations of a result have shown to be possible, if none of them had a
/// bug. This is the last stage of an exploration whose parts were explored without it
/// ([`Budget::steer`](super::Budget::steer)).
///
/// # Errors
/// As [`explore`].
pub fn steer(plan: &Plan, result: &mut TestResult, cancel: &Arc<AtomicBool>) -> Result<(), ExploreError> {
    on_engine_thread(|| steer::confirm(plan, result, cancel))
}

fn context(plan: &Plan) -> Context {
    Context { unfair_steps_max: plan.settings.limits.unfair_steps_max }
}

/// Receives reports until all jobs are done.
fn collect(
    plan: &Plan,
    dispatch: &Dispatch,
    collected: &mut Collected,
    receiver: &Receiver<Result<Batch, ExploreError>>,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
    started: Instant,
) -> Result<(), ExploreError> {
    loop {
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(Ok(batch)) => {
                for (index, iteration) in batch {
                    if collected.rules.end_with(&iteration) {
                        dispatch.numbers.end_with(index);
                    }
                    collected.waiting.insert(index, iteration);
                }
                collected.advance()?;
                if collected.result.stop == Stop::Bug {
                    dispatch.stop.store(true, Ordering::Relaxed);
                }
            }
            Ok(Err(error)) => return Err(error),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
        let statistics = &collected.result.statistics;
        watch.progress(statistics.iterations(), statistics.buggy);
        let stop = if interrupted.load(Ordering::Relaxed) {
            Some(Stop::Interrupted)
        } else if plan.budget.timeout.is_some_and(|t| started.elapsed() >= t) {
            Some(Stop::Timeout)
        } else {
            None
        };
        if let Some(stop) = stop
            && collected.result.stop == Stop::Iterations
        {
            collected.result.stop = stop;
            dispatch.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Collects iterations in the order of their numbers.
struct Collected<'a> {
    result: TestResult,
    /// Iterations that arrived before earlier ones.
    waiting: BTreeMap<u64, IterationResult>,
    next: u64,
    /// The plan of the sweep of faults, if this is one.
    swept: Option<&'a SweepPlan>,
    passages: Passages,
    rules: StopRules,
}

impl Collected<'_> {
    /// Counts iterations as far as their numbers have no gap.
    fn advance(&mut self) -> Result<(), ExploreError> {
        while !matches!(self.result.stop, Stop::Bug | Stop::Exhausted)
            && let Some(iteration) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            self.count(iteration)?;
        }
        Ok(())
    }

    /// Counts an iteration. Returns whether the exploration ends with it.
    fn count(&mut self, mut iteration: IterationResult) -> Result<bool, ExploreError> {
        let mut last = self.rules.end_with(&iteration);
        if last {
            self.result.stop = if iteration.bug.is_some() { Stop::Bug } else { Stop::Exhausted };
        }
        if let Some(correlation) = &mut self.result.correlation {
            self.passages.count(correlation, &iteration);
        }
        if let (Some(swept), Some(sweep)) = (self.swept, &mut self.result.sweep) {
            swept.count(sweep, &iteration);
        }
        let bug = iteration.bug.take();
        self.result.absorb(iteration);
        if let Some(bug) = bug {
            keep(&mut self.result, *bug)?;
        }
        if self.result.distinct_bugs() >= self.rules.bugs_max {
            self.result.stop = Stop::Bug;
            last = true;
        }
        Ok(last)
    }

    /// Counts iterations that arrived although earlier ones were cut off.
    fn finish(mut self, started: Instant) -> Result<TestResult, ExploreError> {
        if matches!(self.result.stop, Stop::Timeout | Stop::Interrupted) {
            while self.result.stop != Stop::Bug
                && let Some((_, iteration)) = self.waiting.pop_first()
            {
                self.count(iteration)?;
            }
        }
        self.result.elapsed = started.elapsed();
        Ok(self.result)
    }
}

fn run_job(
    plan: &Plan,
    strategy: MakeStrategy,
    profile: Option<&Profile>,
    dispatch: &Dispatch,
    sender: &Sender<Result<Batch, ExploreError>>,
) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    execution.take_awaits_of_bugs();
    let begin = || {
        let mut strategy = strategy(&context(plan));
        if let Some(profile) = profile {
            strategy.prepare(profile);
        }
        strategy
    };
    let mut strategy = begin();
    let mut batch = Vec::with_capacity(BATCH);
    let mut job = Job { plan, dispatch, name: strategy.name(), comparison: Comparison::default() };
    let mut watching = Watching::new(plan.artifact, plan.settings);
    'jobs: while !dispatch.stop.load(Ordering::Relaxed) {
        // A number that was taken is always executed, unless it is not needed any more, so the reported numbers have no
        // gap before the end.
        let Taken { iterations, begins_anew } = dispatch.numbers.take();
        if begins_anew {
            strategy = begin();
        }
        for index in iterations {
            let needed = || !dispatch.stop.load(Ordering::Relaxed) && dispatch.numbers.needs(index);
            let Some(known) = dispatch.epochs.enter(index, needed).filter(|_| needed()) else { break 'jobs };
            let came = watching.during(&mut execution, index, |execution, settings| {
                job.iterate(execution, settings, strategy, index, &known)
            })?;
            let Some((used, result)) = came else {
                // Iterations that wait for this one cannot begin either.
                dispatch.stop.store(true, Ordering::Relaxed);
                dispatch.cut.lock().unwrap_or_else(PoisonError::into_inner).push(Cut::of(&execution));
                break 'jobs;
            };
            strategy = used;
            let Some(result) = result else { continue };
            let urgent = result.bug.is_some();
            batch.push((index, result));
            if (batch.len() == BATCH || urgent) && sender.send(Ok(std::mem::take(&mut batch))).is_err() {
                return Ok(());
            }
        }
    }
    let _ = sender.send(Ok(batch));
    Ok(())
}

/// The strategy, and the result of the iteration if it counts.
type Iterated = (Box<dyn Strategy>, Option<IterationResult>);

/// Executes iterations on a thread.
struct Job<'a> {
    plan: &'a Plan<'a>,
    dispatch: &'a Dispatch,
    /// The strategy's name.
    name: String,
    comparison: Comparison,
}

impl Job<'_> {
    /// Executes the iteration with this number, under these settings. Returns `None` if it was cut off, and only its
    /// strategy if it does not count but is executed for the knowledge of later ones.
    fn iterate(
        &mut self,
        execution: &mut Execution,
        settings: &Settings,
        strategy: Box<dyn Strategy>,
        index: u64,
        known: &Sharing,
    ) -> Result<Option<Iterated>, ExploreError> {
        let &mut Job { plan, dispatch, .. } = self;
        let counts = dispatch.numbers.counts(index);
        let iteration = Iteration { seed: plan.seed, index };
        execution.cancel_by(Some(dispatch.cancel.clone()));
        let is_compared = counts && is_compared(index);
        self.comparison.begin(execution, is_compared);
        let ran = epochs::run(execution, strategy, iteration, known)?;
        let executed = execution.executed().map(Box::new);
        let progress = self.comparison.end(execution, is_compared);
        execution.cancel_by(None);
        if execution.cancelled() {
            return Ok(None);
        }
        dispatch.epochs.leave(&ran);
        let Ran { outcome, strategy, grown, repeats } = ran;
        if !counts {
            return Ok(Some((strategy, None)));
        }
        let record = execution.record(strategy.fair());
        let passage = plan.budget.explore.then(|| Box::new(passage::of(execution)));
        let mut notes = notes(execution, &outcome);
        if index == plan.budget.first {
            notes.first_output = Some(first_output(execution, Some(index)));
        }
        let bug = match &outcome {
            Outcome::Bug(bug) => {
                let (strategy, by) = (self.name.clone(), strategy.member());
                let finder = Finder { strategy, iteration: index, index: Some(index), by };
                let plan = Plan { settings, ..plan.clone() };
                Some(Box::new(found(&plan, execution, bug, finder, &dispatch.lines)?))
            }
            _ => None,
        };
        let states_compared = compared(plan, execution, &outcome, strategy.fair(), iteration)?;
        let result = IterationResult {
            index: Some(index),
            record,
            bug,
            notes,
            shared: grown,
            repeats,
            states_compared,
            progress,
            passage,
            executed,
        };
        Ok(Some((strategy, Some(result))))
    }
}
