//! Many iterations of one test on all cores, with a result that does not depend on how many there are.
//!
//! Iterations are numbered and independent. Each job takes the next number; what it reports is put
//! back into the order of the numbers before anything is counted, and what lies beyond the first bug
//! (unless exploration goes on after bugs) is dropped. A strategy whose iterations build on each other
//! has one job.

use super::bugs::{self, Bugs};
use super::dry_run::dry_run;
use super::{
    Cut, Exploration, ExploreError, Found, MakeStrategy, Notes, Plan, Stop, Watch, alarm, compared, found,
};
use crate::artifact::THREAD_STACK_BYTES;
use crate::engine_thread::on_engine_thread;
use crate::epochs::{self, Epochs, Ran};
use crate::execution::Execution;
use crate::granules::Granules;
use crate::outcome::Outcome;
use crate::statistics::{IterationRecord, Statistics, StepsMax};
use coyote_strategies::{Iteration, Profile, Strategy};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One iteration, as its job reports it.
struct Report {
    index: u64,
    record: IterationRecord,
    found: Option<Box<Found>>,
    notes: Notes,
    grown: Granules,
    repeats: u32,
    states_compared: u64,
}

impl Report {
    /// Whether no later iteration is needed: a bug was found, or, of a test harness's test, there is nothing
    /// but this iteration, since it met no choice.
    fn is_last(&self, ends: &Ends) -> bool {
        let met_no_choice = self.record.decisions == 0 && !self.record.abandoned;
        met_no_choice && ends.without_choice || self.found.is_some() && ends.with_bug
    }
}

/// What ends an exploration early.
#[derive(Clone, Copy)]
struct Ends {
    with_bug: bool,
    without_choice: bool,
}

/// What jobs share.
struct Shared {
    epochs: Epochs,
    /// Iterations before the first one that are executed only for what later ones know from them.
    needed_before: u64,
    next: AtomicU64,
    /// No iteration from here on is needed.
    end: AtomicU64,
    stop: AtomicBool,
    /// Raised when there is no more time for the iterations that are on their way.
    cancel: Arc<AtomicBool>,
    /// Such iterations.
    cut: Mutex<Vec<Cut>>,
}

/// How many iterations a job does before it reports them.
const BATCH: usize = 32;

/// Explores a test. `interrupted` stops it early, with what it has.
pub fn explore(
    plan: &Plan,
    strategy: MakeStrategy,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Exploration, ExploreError> {
    alarm::with(plan.budget.timeout, interrupted, |cancel| {
        explore_until(plan, strategy, interrupted, cancel, watch)
    })
}

fn explore_until(
    plan: &Plan,
    strategy: MakeStrategy,
    interrupted: &AtomicBool,
    cancel: &Arc<AtomicBool>,
    watch: &dyn Watch,
) -> Result<Exploration, ExploreError> {
    let started = Instant::now();
    let first = plan.budget.first;
    let end = first.saturating_add(plan.budget.iterations_max);
    let sample = strategy();
    let epochs = Epochs::new(&plan.artifact.options);
    let shared = Shared {
        needed_before: if sample.independent() { epochs.needed_before(first, end) } else { first },
        epochs,
        next: AtomicU64::new(0),
        end: AtomicU64::new(end),
        stop: AtomicBool::new(false),
        cancel: cancel.clone(),
        cut: Mutex::new(Vec::new()),
    };
    let limits = plan.settings.limits;
    let steps_max = StepsMax { unfair: limits.unfair_steps_max, fair: limits.fair_steps_max };
    let mut collected = Collected {
        exploration: Exploration::new(Statistics::new(steps_max)),
        bugs: Bugs::new(plan.artifact),
        waiting: BTreeMap::new(),
        next: first,
        explore: plan.budget.explore,
        ends: Ends {
            with_bug: !plan.budget.explore,
            without_choice: plan.test.harness.is_some() && !plan.budget.check_determinism,
        },
    };
    let mut profile = None;
    if sample.needs_profile() {
        let is_iteration = sample.begins_with_dry_run();
        let is_first = first == 0 && is_iteration;
        let name = sample.name();
        let dry_run = on_engine_thread(|| {
            dry_run(plan, is_first.then_some(&name), &shared.epochs, is_iteration, cancel)
        });
        let dry_run = match dry_run? {
            Ok(dry_run) => dry_run,
            Err(cut) => {
                collected.exploration.cut(cut, interrupted.load(Ordering::Relaxed));
                return Ok(collected.finish(started));
            }
        };
        if is_first || is_iteration && shared.needed_before > 0 {
            shared.next.store(1, Ordering::Relaxed);
        }
        if is_first {
            collected.next = 1;
        }
        profile = Some(dry_run.profile);
        let report = Report {
            index: 0,
            record: dry_run.record,
            found: dry_run.found.map(Box::new),
            notes: dry_run.notes,
            grown: dry_run.grown,
            repeats: dry_run.repeats,
            states_compared: dry_run.states_compared,
        };
        // Whoever wants one iteration alone has no use for this one's bug.
        if plan.budget.first == 0 && collected.count(report) {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
    let jobs = if sample.independent() { plan.budget.jobs.max(1) } else { 1 };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for job in 0..jobs {
            let (sender, shared, profile) = (sender.clone(), &shared, profile.as_ref());
            std::thread::Builder::new()
                .name(format!("job-{job}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn_scoped(scope, move || {
                    if let Err(error) = run_job(plan, strategy(), profile, shared, &sender) {
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
    for cut in shared.cut.into_inner().unwrap_or_else(PoisonError::into_inner) {
        collected.exploration.cut(cut, interrupted.load(Ordering::Relaxed));
    }
    Ok(collected.finish(started))
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
                    if report.is_last(&collected.ends) {
                        shared.end.fetch_min(report.index + 1, Ordering::Relaxed);
                    }
                    collected.waiting.insert(report.index, report);
                }
                collected.advance();
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
    bugs: Bugs,
    /// Reports that came early.
    waiting: BTreeMap<u64, Report>,
    next: u64,
    explore: bool,
    ends: Ends,
}

impl Collected {
    /// Counts what is complete.
    fn advance(&mut self) {
        while !matches!(self.exploration.stop, Stop::Bug | Stop::Exhausted)
            && let Some(report) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            self.count(report);
        }
    }

    /// Whether the exploration ends with this iteration.
    fn count(&mut self, report: Report) -> bool {
        let last = report.is_last(&self.ends);
        let exploration = &mut self.exploration;
        exploration.statistics.add(&report.record);
        exploration.any_choice |= report.record.decisions > 0;
        exploration.workers_max = exploration.workers_max.max(report.record.workers);
        exploration.note(report.notes);
        exploration.shared.0.extend(report.grown.0);
        exploration.repeats += u64::from(report.repeats);
        exploration.states_compared += report.states_compared;
        if last {
            let stop = if report.found.is_some() { Stop::Bug } else { Stop::Exhausted };
            self.exploration.stop = stop;
        }
        if let Some(found) = report.found {
            self.bugs.add(*found);
        }
        last
    }

    /// Counts what there was no time to wait for, and removes traces of iterations that turned out not to count.
    fn finish(mut self, started: Instant) -> Exploration {
        if matches!(self.exploration.stop, Stop::Timeout | Stop::Interrupted) {
            while self.exploration.stop != Stop::Bug
                && let Some((_, report)) = self.waiting.pop_first()
            {
                self.count(report);
            }
        }
        for report in std::mem::take(&mut self.waiting).into_values() {
            if let Some(found) = report.found {
                bugs::remove(&found.path);
            }
        }
        self.exploration.found = self.bugs.into_found();
        let found = self.exploration.found.iter().filter(|found| !found.is_limit()).count() as u64;
        self.exploration.statistics.distinct_bugs = self.explore.then_some(found);
        self.exploration.elapsed = started.elapsed();
        self.exploration
    }
}

fn run_job(
    plan: &Plan,
    mut strategy: Box<dyn Strategy>,
    profile: Option<&Profile>,
    shared: &Shared,
    sender: &Sender<Result<Vec<Report>, ExploreError>>,
) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let name = strategy.name();
    if let Some(profile) = profile {
        strategy.prepare(profile);
    }
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        // A number that was taken is also executed, unless nobody needs it any more: what is reported up
        // to the end has no gaps.
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let taken = shared.next.fetch_add(1, Ordering::Relaxed);
        let index = match taken.checked_sub(shared.needed_before) {
            None => taken,
            Some(nth) => plan.budget.first.saturating_add(nth),
        };
        let needed = || !shared.stop.load(Ordering::Relaxed) && index < shared.end.load(Ordering::Relaxed);
        let Some(known) = shared.epochs.enter(index, needed).filter(|_| needed()) else { break };
        let iteration = Iteration { seed: plan.seed, index };
        execution.cancel_by(Some(shared.cancel.clone()));
        let ran = epochs::run(&mut execution, strategy, iteration, &known)?;
        execution.cancel_by(None);
        if execution.cancelled() {
            // Nor can any begin that waits for it.
            shared.stop.store(true, Ordering::Relaxed);
            shared.cut.lock().unwrap_or_else(PoisonError::into_inner).push(Cut::of(&execution));
            break;
        }
        shared.epochs.leave(&ran);
        let Ran { outcome, strategy: used, grown, repeats } = ran;
        strategy = used;
        if taken < shared.needed_before {
            continue;
        }
        let record = execution.record(strategy.fair());
        let notes = Notes::of(&execution, &outcome, index == plan.budget.first);
        let found = match &outcome {
            Outcome::Bug(bug) => {
                Some(Box::new(found(plan, &mut execution, bug, name.clone(), index, strategy.member())?))
            }
            _ => None,
        };
        let urgent = found.is_some();
        let states_compared = compared(plan, &mut execution, &outcome, strategy.fair(), iteration)?;
        batch.push(Report { index, record, found, notes, grown, repeats, states_compared });
        if (batch.len() == BATCH || urgent) && sender.send(Ok(std::mem::take(&mut batch))).is_err() {
            return Ok(());
        }
    }
    let _ = sender.send(Ok(batch));
    Ok(())
}
