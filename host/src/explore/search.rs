//! Exploration of one test by a search, on all cores.
//!
//! The remaining work is a pool of items. Each job takes an item and searches it; when other jobs have nothing to do,
//! it gives a part of it away. The number of executions does not depend on the number of jobs; the bug that is met
//! first may.
//!
//! When a search stops early, its remaining work is written to a file. This also happens now and then during the search
//! (`Checkpoints`), so that little is lost if the process is killed.

use super::assumptions::assumptions;
use super::frontier::{self, Frontier, Section};
use super::memory::resident_bytes;
use super::{ExploreError, Finder, Plan, Watch, first_output, found, notes, remove};
use crate::artifact::THREAD_STACK_BYTES;
use crate::diagnose::SourceLines;
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::results::{Done, FoundBug, KnownBug, Resumed, SearchSummary, Stop, TestResult};
use crate::statistics::StepsMax;
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::search::{self, Advance, Counts, Item, Search};
use coyote_strategies::system::decide;
use coyote_strategies::{Decision, Iteration, Status, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of steps that a job executes before it checks the pool: at first, and at most. In between, as many as
/// take about [`PATIENCE`].
const ALLOWANCE_FIRST: u64 = 1;
const ALLOWANCE_MAX: u64 = 20_000;
const PATIENCE: Duration = Duration::from_millis(20);

/// The state that jobs share.
struct Pool {
    state: Mutex<State>,
    /// Notified when an item was added, or the search has ended.
    changed: Condvar,
    /// Whether jobs wait for an item: a job with much work then gives some away.
    idle: AtomicBool,
    /// Whether a checkpoint is being taken: jobs deposit their remaining work and wait.
    pause: AtomicBool,
    stop: AtomicBool,
    lines: Mutex<SourceLines>,
}

struct State {
    /// Groups of items; each group is searched by one search.
    items: Vec<Vec<Item>>,
    /// The remaining work of jobs that have stopped.
    left: Vec<Section>,
    /// During a checkpoint: the remaining work of the busy jobs that have deposited it.
    checkpoint: Option<Vec<Section>>,
    /// The number of jobs that have items.
    busy: usize,
    jobs: usize,
    /// Counts of finished items, and of the present items of each job.
    finished: Counts,
    present: Vec<Counts>,
    estimate: Option<f64>,
    /// The number of executions that ended, in the order of the jobs' reports. Traces are named by it.
    ended: u64,
    result: TestResult,
    /// What earlier runs did.
    resumed: Option<Resumed>,
    error: Option<ExploreError>,
}

impl State {
    fn counts(&self) -> Counts {
        self.finished + self.present.iter().copied().sum()
    }

    /// What was done so far, by this run and earlier ones.
    fn done(&self) -> Done {
        let before = self.resumed.as_ref().map(|resumed| &resumed.done);
        let mut bugs = before.map_or(Vec::new(), |done| done.bugs.clone());
        bugs.extend(self.result.bugs.iter().map(|found| KnownBug {
            kind: found.bug.kind.name().into(),
            message: found.bug.message(),
            trace: found.path.clone(),
        }));
        let result = &self.result;
        Done {
            counts: self.counts(),
            bugs,
            any_choice: result.any_choice,
            workers_max: result.workers_max,
            memory_refused: result.memory_refused,
            bound: result.limits.first().cloned(),
            left_blocked: result.left_blocked.iter().cloned().collect(),
            unprotected: before.is_some_and(|done| done.unprotected),
        }
    }

    /// The remaining work in the pool itself.
    fn waiting(&self) -> Section {
        Section::of(|each| self.items.iter().flatten().for_each(each))
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next group of items; `None` if there will be none.
    fn take(&self) -> Option<Vec<Item>> {
        let mut state = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if state.checkpoint.is_none()
                && let Some(items) = state.items.pop()
            {
                state.busy += 1;
                self.idle.store(state.items.is_empty() && state.busy < state.jobs, Ordering::Relaxed);
                return Some(items);
            }
            if state.busy == 0 && state.items.is_empty() {
                self.changed.notify_all();
                return None;
            }
            self.idle.store(true, Ordering::Relaxed);
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give(&self, item: Item) {
        let mut state = self.lock();
        state.items.push(vec![item]);
        self.idle.store(state.items.len() < state.jobs - state.busy, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Deposits the remaining work of a job, and waits until the checkpoint is complete.
    fn deposit(&self, left: Section) {
        let mut state = self.lock();
        let Some(checkpoint) = &mut state.checkpoint else { return };
        checkpoint.push(left);
        while state.checkpoint.is_some() && !self.stop.load(Ordering::Relaxed) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // A job that is about to wait holds the lock until it waits, so it cannot miss the notification.
        let _state = self.lock();
        self.changed.notify_all();
    }
}

/// Explores a test by the search of this name. `interrupted` ends the search early, with the results so far.
pub fn explore(
    plan: &Plan,
    name: &str,
    resume: Option<Frontier>,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<TestResult, ExploreError> {
    let started = Instant::now();
    let limits = plan.settings.limits;
    let steps_max = StepsMax { unfair: limits.unfair_steps_max, fair: limits.unfair_steps_max };
    let fresh = search::by_name::<Execution>(name, plan.seed, None).map_err(ExploreError::Strategy)?;
    plan.settings.check_search(name).map_err(ExploreError::Strategy)?;
    if search::rests_on_footprints(name) && !plan.artifact.options.footprints {
        return Err(ExploreError::Strategy(format!(
            "{name} needs the footprints of steps, which this module does not report: instrument it with \
             Options::footprints"
        )));
    }
    let (items, resumed) = match resume {
        Some(frontier) => (frontier.items, Some(Resumed { from: frontier.from, done: frontier.done })),
        None => (fresh.save(), None),
    };
    let before = resumed.as_ref().map_or(Counts::default(), |resumed| resumed.done.counts);
    let mut result = TestResult::new(plan.subject(name.into()), steps_max, true);
    if let Some(Resumed { done, .. }) = &resumed {
        result.any_choice = done.any_choice;
        result.workers_max = done.workers_max;
        result.memory_refused = done.memory_refused;
        result.limits = done.bound.iter().cloned().collect();
        result.left_blocked = done.left_blocked.iter().cloned().collect();
    }
    let jobs = if search::shardable(name) { plan.budget.jobs.max(1) } else { 1 };
    let pool = Pool {
        state: Mutex::new(State {
            items: together(name, items),
            left: Vec::new(),
            checkpoint: None,
            busy: 0,
            jobs,
            finished: before,
            present: vec![Counts::default(); jobs],
            estimate: None,
            ended: before.executions + before.abandoned + before.unfinished,
            result,
            resumed,
            error: None,
        }),
        changed: Condvar::new(),
        idle: AtomicBool::new(false),
        pause: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        lines: Mutex::new(SourceLines::new(plan.artifact)),
    };
    let mut checkpoints = Checkpoints::new(plan, started);
    std::thread::scope(|scope| -> Result<(), ExploreError> {
        let mut handles = Vec::new();
        for job in 0..jobs {
            let pool = &pool;
            let handle = std::thread::Builder::new()
                .name(format!("job-{job}"))
                .stack_size(THREAD_STACK_BYTES)
                .spawn_scoped(scope, move || {
                    if let Err(error) = run_job(plan, name, job, pool) {
                        pool.lock().error.get_or_insert(error);
                        pool.stop();
                    }
                });
            match handle {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    pool.stop();
                    return Err(ExploreError::Thread(error));
                }
            }
        }
        while handles.iter().any(|h| !h.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
            supervise(plan, &pool, interrupted, watch, started);
            checkpoints.go_on(plan, name, &pool);
        }
        Ok(())
    })?;
    let state = pool.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = state.counts();
    watch.progress(counts.executions, counts.bugs);
    if let Some(error) = state.error {
        return Err(match (error, &state.resumed) {
            (ExploreError::Strategy(error), Some(resumed)) => {
                ExploreError::Strategy(format!("{}: {error}", resumed.from.display()))
            }
            (error, _) => error,
        });
    }
    conclude(plan, name, state, checkpoints, started)
}

/// Groups items by the searches that get them: all items together, so that they are continued in their original order.
/// Samples are ranges, and each item is searched separately.
fn together(name: &str, items: Vec<Item>) -> Vec<Vec<Item>> {
    match name.split(':').next() {
        _ if items.is_empty() => Vec::new(),
        Some("ss") => items.into_iter().map(|item| vec![item]).collect(),
        _ => vec![items],
    }
}

/// The frontier that is written now and then, so that not everything is lost if the process of a search is killed.
///
/// Writing takes at most a hundredth of the time: the interval to the next checkpoint is at least a hundred times the
/// duration of the last one. The interval also doubles each time, up to a minute.
struct Checkpoints {
    path: PathBuf,
    due: Instant,
    interval: Duration,
    begun: Instant,
    written: bool,
}

const INTERVAL_FIRST: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(60);
const SHARE: u32 = 100;

impl Checkpoints {
    fn new(plan: &Plan, started: Instant) -> Checkpoints {
        let mut path = plan.trace_stem.as_os_str().to_owned();
        path.push(".frontier");
        let due = started + INTERVAL_FIRST;
        Checkpoints { path: path.into(), due, interval: INTERVAL_FIRST, begun: started, written: false }
    }

    /// Requests the remaining work of the jobs when a checkpoint is due, and writes it once all of them have deposited
    /// it.
    fn go_on(&mut self, plan: &Plan, name: &str, pool: &Pool) {
        if pool.stop.load(Ordering::Relaxed) {
            return;
        }
        let mut state = pool.lock();
        let busy = state.busy;
        match &mut state.checkpoint {
            None if Instant::now() < self.due => {}
            None => {
                self.begun = Instant::now();
                state.checkpoint = Some(Vec::new());
                pool.pause.store(true, Ordering::Relaxed);
            }
            Some(sections) if sections.len() < busy => {}
            Some(sections) => {
                let mut left = std::mem::take(sections);
                left.push(state.waiting());
                let done = state.done();
                state.checkpoint = None;
                pool.pause.store(false, Ordering::Relaxed);
                pool.changed.notify_all();
                drop(state);
                // An error is ignored, since it may not persist; otherwise it is reported at the end.
                self.written |= frontier::write(&self.path, plan, name, done, &left).is_ok();
                self.interval = (self.interval * 2).min(INTERVAL_MAX).max(self.begun.elapsed() * SHARE);
                self.due = Instant::now() + self.interval;
            }
        }
    }

    /// Removes the file after a search that has nothing left.
    fn remove(&self, resumed: Option<&Path>) {
        let place = |path: &Path| std::fs::canonicalize(path).ok();
        let same = resumed.and_then(place).is_some_and(|resumed| place(&self.path) == Some(resumed));
        if self.written || same {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Shows progress, and stops a search that has used up its budget.
fn supervise(plan: &Plan, pool: &Pool, interrupted: &AtomicBool, watch: &dyn Watch, started: Instant) {
    let mut state = pool.lock();
    let counts = state.counts();
    watch.progress(counts.executions, counts.bugs);
    if let Some(estimate) = state.estimate {
        watch.estimate(estimate);
    }
    let stop = if interrupted.load(Ordering::Relaxed) {
        Stop::Interrupted
    } else if plan.budget.timeout.is_some_and(|t| started.elapsed() >= t) {
        Stop::Timeout
    } else if resident_bytes().is_some_and(|bytes| bytes > plan.budget.search_memory_bytes) {
        Stop::Memory
    } else {
        return;
    };
    if state.result.stop == Stop::Iterations {
        state.result.stop = stop;
    }
    drop(state);
    pool.stop();
}

fn run_job(plan: &Plan, name: &str, job: usize, pool: &Pool) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    while let Some(items) = pool.take() {
        let mut search = search::by_name(name, plan.seed, Some(items)).map_err(ExploreError::Strategy)?;
        let result = run_item(plan, &mut *search, &mut execution, job, pool);
        let left = pool.stop.load(Ordering::Relaxed).then(|| left(&*search));
        let mut state = pool.lock();
        state.busy -= 1;
        state.present[job] = Counts::default();
        state.finished = state.finished + search.counts();
        state.left.extend(left.filter(|left| !left.is_empty()));
        pool.changed.notify_all();
        drop(state);
        result?;
    }
    if let Some(executed) = execution.machine_mut().take_counts() {
        let mut state = pool.lock();
        // Instructions that every job executes before the first step are counted once.
        if state.result.executed.is_none()
            && let Some(before) = execution.machine().counts_before()
        {
            state.result.count_executed(before);
        }
        state.result.count_executed(&executed);
    }
    Ok(())
}

fn left(search: &dyn Search<Execution>) -> Section {
    Section::of(|each| search.each_left(each))
}

fn run_item(
    plan: &Plan,
    search: &mut dyn Search<Execution>,
    execution: &mut Execution,
    job: usize,
    pool: &Pool,
) -> Result<(), ExploreError> {
    let mut allowance = ALLOWANCE_FIRST;
    loop {
        let begun = Instant::now();
        let advance = search.advance(execution, allowance);
        if begun.elapsed() > PATIENCE {
            allowance = (allowance / 2).max(1);
        } else if advance == Advance::Working {
            allowance = (allowance * 2).min(ALLOWANCE_MAX);
        }
        if let Some(error) = execution.take_error() {
            return Err(error.into());
        }
        match advance {
            Advance::Exhausted => match search.error() {
                Some(error) => return Err(ExploreError::Strategy(error.into())),
                None => return Ok(()),
            },
            Advance::Working => {}
            Advance::Ended(status) => ended(plan, search, execution, status, pool)?,
            Advance::Livelock => livelock(plan, search, pool)?,
        }
        let enough = {
            let mut state = pool.lock();
            state.present[job] = search.counts();
            // Also if no execution has ended yet.
            state.result.any_choice |= execution.machine().scheduler().decisions > 0;
            state.estimate = search.estimate().or(state.estimate);
            let counts = state.counts();
            counts.executions + counts.abandoned + counts.unfinished >= plan.budget.iterations_max
        };
        if enough {
            pool.stop();
        }
        if pool.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if pool.pause.load(Ordering::Relaxed) {
            pool.deposit(left(search));
        }
        if pool.idle.load(Ordering::Relaxed)
            && let Some(item) = search.split()
        {
            pool.give(item);
        }
    }
}

/// Processes the end of an execution.
fn ended(
    plan: &Plan,
    search: &dyn Search<Execution>,
    execution: &mut Execution,
    status: Status,
    pool: &Pool,
) -> Result<(), ExploreError> {
    let outcome = execution.machine().scheduler().outcome.clone();
    let outcome = outcome.ok_or_else(|| internal("an execution ended without an outcome"))?;
    let number = {
        let mut state = pool.lock();
        state.ended += 1;
        let workers = execution.runtime().workers().len() as u32;
        state.result.workers_max = state.result.workers_max.max(workers);
        let mut notes = notes(execution, &outcome);
        if state.result.first_output.is_none() {
            notes.first_output = Some(first_output(execution, Some(state.ended)));
        }
        state.result.note(None, notes);
        // Choices since the last restore only; the very first execution is not restored.
        state.result.any_choice |= execution.machine().scheduler().decisions > 0;
        state.ended
    };
    if status != Status::Bug {
        return Ok(());
    }
    // A search uses restored snapshots, so the trace is written from a separate execution.
    let (mut execution, bug) = replay(plan, search.path(), &outcome)?;
    let finder = Finder { strategy: search.name(), iteration: number, index: Some(number), by: None };
    let found = found(plan, &mut execution, &bug, finder, &pool.lines)?;
    add(plan, pool, found);
    Ok(())
}

/// Adds a bug, and ends the search unless it is to continue.
fn add(plan: &Plan, pool: &Pool, found: FoundBug) {
    let mut state = pool.lock();
    if let Some(other) = state.result.add_bug(found) {
        remove(&other, &state.result);
    }
    if !plan.budget.explore || state.result.distinct_bugs() >= plan.budget.bugs_max {
        state.result.stop = Stop::Bug;
        drop(state);
        pool.stop();
    }
}

/// Processes a livelock that the search has found: its schedule is executed and proved again from the start.
fn livelock(plan: &Plan, search: &dyn Search<Execution>, pool: &Pool) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let (number, states) = {
        let mut state = pool.lock();
        state.ended += 1;
        let workers = execution.runtime().workers().len() as u32;
        state.result.workers_max = state.result.workers_max.max(workers);
        (state.ended, state.counts().states.max(search.counts().states))
    };
    let usual = execution.livelock_states_max;
    execution.livelock_states_max = usize::try_from(states).unwrap_or(usize::MAX).max(usual);
    let path = completed(&mut execution, search.path());
    let outcome = execution.run_into_livelock(&path, false)?;
    let bug = match outcome {
        // Workers that wait in a circle are noticed earlier.
        Outcome::Bug(bug) if matches!(bug.kind, BugKind::Livelock | BugKind::Deadlock) => bug,
        other => {
            return Err(internal(&format!("the search saw a livelock, the same choices end with {other:?}")));
        }
    };
    let decisions = execution.machine().scheduler().decisions;
    let finder = Finder { strategy: search.name(), iteration: number, index: Some(number), by: None };
    let found = found(plan, &mut execution, &bug, finder, &pool.lines)?;
    pool.lock().result.any_choice |= decisions > 0;
    add(plan, pool, found);
    Ok(())
}

/// Maximum number of steps of a worker that is alone in a test harness before there is another one.
const ALONE_STEPS_MAX: usize = 10_000;

/// Completes a path that may end within a step, or while a worker is alone in a test harness, where a livelock cannot be
/// proved again: whichever decisions are made, a livelock stays one.
fn completed(execution: &mut Execution, path: &[Decision]) -> Vec<Decision> {
    execution.restart();
    path.iter().for_each(|decision| decide(execution, *decision));
    for _ in 0..ALONE_STEPS_MAX {
        while let Status::Choosing { .. } = execution.status() {
            execution.choose(0);
        }
        let alone = execution.runtime().alone_in_harness() && execution.status() == Status::Ready;
        let Some(pick) = execution.view().picks().next().filter(|_| alone) else { break };
        decide(execution, Decision::Pick(pick));
    }
    execution.choices().iter().map(|choice| Decision::from(*choice)).collect()
}

/// Executes a path from the start. It must end with the same bug, or earlier if workers wait in a circle, since the
/// search let the other workers continue.
fn replay(plan: &Plan, path: &[Decision], expected: &Outcome) -> Result<(Execution, Bug), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let follow = Box::new(Follow::new(path.to_vec(), false));
    let (outcome, _) = execution.run(follow, Iteration { seed: plan.seed, index: 0 })?;
    match (&outcome, expected) {
        (Outcome::Bug(bug), Outcome::Bug(searched))
            if bug == searched || [bug, searched].iter().all(|bug| bug.kind == BugKind::Deadlock) =>
        {
            let bug = bug.clone();
            Ok((execution, bug))
        }
        _ => Err(internal(&format!(
            "the search ended with {expected:?}, the same choices from the start with {outcome:?}"
        ))),
    }
}

fn internal(message: &str) -> ExploreError {
    ExploreError::Machine(MachineError::Internal(message.into()))
}

/// Puts the result together, and writes the remaining work to disk.
fn conclude(
    plan: &Plan,
    name: &str,
    mut state: State,
    checkpoints: Checkpoints,
    started: Instant,
) -> Result<TestResult, ExploreError> {
    let counts = state.counts();
    let waiting = state.waiting();
    state.left.extend(Some(waiting).filter(|waiting| !waiting.is_empty()));
    state.result.any_choice |=
        counts.executions + counts.abandoned + counts.unfinished + counts.redundant > 1;
    let mut frontier = None;
    if !state.left.is_empty() {
        match frontier::write(&checkpoints.path, plan, name, state.done(), &state.left) {
            Ok(()) => frontier = Some(checkpoints.path.clone()),
            // The bug is more important than the frontier.
            Err(_) if !state.result.bugs.is_empty() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut result = state.result;
    let exhausted = state.left.is_empty() && result.stop == Stop::Iterations;
    if exhausted {
        result.stop = Stop::Exhausted;
        checkpoints.remove(state.resumed.as_ref().map(|resumed| &*resumed.from));
    }
    // An order that does not depend on which job met a bug first.
    result.bugs.sort_by(|a, b| a.order().cmp(&b.order()));
    let limits: u64 = result.bugs.iter().filter(|bug| bug.is_limit()).map(|bug| bug.count).sum();
    result.statistics.buggy = counts.bugs - limits.min(counts.bugs);
    result.elapsed = started.elapsed();
    result.search = Some(SearchSummary {
        counts,
        exhausted,
        estimate: state.estimate.filter(|_| !exhausted),
        assumptions: assumptions(plan, &result, state.resumed.as_ref()),
        frontier,
        resumed: state.resumed,
    });
    Ok(result)
}
