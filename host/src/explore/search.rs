//! All executions of one test that a search visits, on all cores.
//!
//! What is left to do is a pool of items. Each job takes one and searches it; when others have nothing
//! to do it gives a part away. How many executions there are does not depend on the number of jobs; which
//! bug is met first may.

use super::bugs::Bugs;
use super::frontier::Frontier;
use super::{Exploration, ExploreError, Notes, Plan, Stop, Watch, found};
use crate::artifact::THREAD_STACK_BYTES;
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::statistics::{Statistics, StepsMax};
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::search::{self, Advance, Counts, Item, Search};
use coyote_strategies::system::decide;
use coyote_strategies::{Decision, Iteration, Status, System};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a search says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct Searched {
    pub counts: Counts,
    /// Whether every execution was visited that the search was to visit.
    pub exhausted: bool,
    /// How many executions there may be in all.
    pub estimate: Option<f64>,
    /// What its verdict assumes beside sequential consistency and virtual time.
    pub assumptions: Vec<String>,
    /// Where the rest was written, if there is any.
    pub frontier: Option<PathBuf>,
}

/// Steps that a job executes before it looks up.
const ALLOWANCE: u64 = 20_000;

/// What jobs share.
struct Pool {
    state: Mutex<State>,
    /// An item was added, or all is over.
    changed: Condvar,
    /// Jobs that wait for an item: whoever has much gives some away.
    hungry: AtomicBool,
    stop: AtomicBool,
}

struct State {
    items: Vec<Item>,
    /// Jobs that have an item.
    busy: usize,
    jobs: usize,
    /// Counts of finished items, and of present ones by job.
    finished: Counts,
    present: Vec<Counts>,
    estimate: Option<f64>,
    bugs: Bugs,
    /// Executions that ended, in the order in which jobs report them: what traces are named by.
    ended: u64,
    exploration: Exploration,
    error: Option<ExploreError>,
}

impl State {
    fn counts(&self) -> Counts {
        self.finished + self.present.iter().copied().sum()
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next item; `None` if there will be none.
    fn take(&self) -> Option<Item> {
        let mut state = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(item) = state.items.pop() {
                state.busy += 1;
                self.hungry.store(state.items.is_empty() && state.busy < state.jobs, Ordering::Relaxed);
                return Some(item);
            }
            if state.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            self.hungry.store(true, Ordering::Relaxed);
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give(&self, item: Item) {
        let mut state = self.lock();
        state.items.push(item);
        self.hungry.store(state.items.len() < state.jobs - state.busy, Ordering::Relaxed);
        self.changed.notify_one();
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever is about to wait has the lock until it does.
        let _state = self.lock();
        self.changed.notify_all();
    }
}

/// Explores a test by the search of this name. `interrupted` stops it early, with what it has.
pub fn explore(
    plan: &Plan,
    name: &str,
    resume: Option<Frontier>,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<Exploration, ExploreError> {
    let started = Instant::now();
    let limits = plan.settings.limits;
    let steps_max = StepsMax { unfair: limits.unfair_steps_max, fair: limits.unfair_steps_max };
    let fresh = search::by_name::<Execution>(name, plan.seed, None).map_err(ExploreError::Strategy)?;
    if search::rests_on_footprints(name) && !plan.artifact.options.footprints {
        return Err(ExploreError::Strategy(format!(
            "{name} rests on what steps touch, which this module does not tell: instrument it with \
             Options::footprints"
        )));
    }
    let (items, before) = match resume {
        Some(frontier) => (frontier.items, frontier.counts),
        None => (fresh.save(), Counts::default()),
    };
    let jobs = if search::shardable(name) { plan.budget.jobs.max(1) } else { 1 };
    let pool = Pool {
        state: Mutex::new(State {
            items,
            busy: 0,
            jobs,
            finished: before,
            present: vec![Counts::default(); jobs],
            estimate: None,
            bugs: Bugs::new(plan.artifact),
            ended: before.executions + before.abandoned + before.unfinished,
            exploration: Exploration::new(Statistics::new(steps_max)),
            error: None,
        }),
        changed: Condvar::new(),
        hungry: AtomicBool::new(false),
        stop: AtomicBool::new(false),
    };
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
        }
        Ok(())
    })?;
    let state = pool.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = state.counts();
    watch.progress(counts.executions, counts.bugs);
    if let Some(error) = state.error {
        return Err(error);
    }
    conclude(plan, name, state, started)
}

/// Shows progress, and stops what has used up its budget.
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
    } else {
        return;
    };
    if state.exploration.stop == Stop::Iterations {
        state.exploration.stop = stop;
    }
    drop(state);
    pool.stop();
}

fn run_job(plan: &Plan, name: &str, job: usize, pool: &Pool) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    while let Some(item) = pool.take() {
        let mut search =
            search::by_name(name, plan.seed, Some(vec![item])).map_err(ExploreError::Strategy)?;
        let result = run_item(plan, &mut *search, &mut execution, job, pool);
        let mut state = pool.lock();
        state.busy -= 1;
        state.present[job] = Counts::default();
        state.finished = state.finished + search.counts();
        if pool.stop.load(Ordering::Relaxed) {
            state.items.extend(search.save());
        }
        pool.changed.notify_all();
        drop(state);
        result?;
    }
    Ok(())
}

fn run_item(
    plan: &Plan,
    search: &mut dyn Search<Execution>,
    execution: &mut Execution,
    job: usize,
    pool: &Pool,
) -> Result<(), ExploreError> {
    loop {
        let advance = search.advance(execution, ALLOWANCE);
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
        if pool.hungry.load(Ordering::Relaxed)
            && let Some(item) = search.split()
        {
            pool.give(item);
        }
    }
}

/// An execution ended.
fn ended(
    plan: &Plan,
    search: &dyn Search<Execution>,
    execution: &mut Execution,
    status: Status,
    pool: &Pool,
) -> Result<(), ExploreError> {
    let outcome = execution.machine().conductor().outcome.clone();
    let outcome = outcome.ok_or_else(|| internal("an execution ended without an outcome"))?;
    let number = {
        let mut state = pool.lock();
        state.ended += 1;
        let workers = execution.runtime().workers().len() as u32;
        state.exploration.workers_max = state.exploration.workers_max.max(workers);
        let is_first = state.exploration.first_output.is_empty();
        state.exploration.note(Notes::of(execution, &outcome, is_first));
        // Since the last restore only; the first execution of all is not restored.
        state.exploration.any_choice |= execution.machine().conductor().decisions > 0;
        state.ended
    };
    if status != Status::Bug {
        return Ok(());
    }
    // A search is where it is by restored snapshots: the trace comes from an execution of its own.
    let (mut execution, bug) = replay(plan, search.path(), &outcome)?;
    let found = found(plan, &mut execution, &bug, search.name(), number, None)?;
    let mut state = pool.lock();
    state.bugs.add(found);
    if !plan.budget.explore {
        state.exploration.stop = Stop::Bug;
        drop(state);
        pool.stop();
    }
    Ok(())
}

/// The search is in a livelock. What it saw is executed and proved again from the start.
fn livelock(plan: &Plan, search: &dyn Search<Execution>, pool: &Pool) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let (number, states) = {
        let mut state = pool.lock();
        state.ended += 1;
        let workers = execution.runtime().workers().len() as u32;
        state.exploration.workers_max = state.exploration.workers_max.max(workers);
        (state.ended, state.counts().states.max(search.counts().states))
    };
    let usual = execution.livelock_states_max;
    execution.livelock_states_max = usize::try_from(states).unwrap_or(usize::MAX).max(usual);
    let path = completed(&mut execution, search.path());
    let outcome = execution.run_into_livelock(&path, false)?;
    let bug = match outcome {
        Outcome::Bug(bug) if bug.kind == BugKind::Livelock => bug,
        other => {
            return Err(internal(&format!("the search saw a livelock, the same choices end with {other:?}")));
        }
    };
    let decisions = execution.machine().conductor().decisions;
    let found = found(plan, &mut execution, &bug, search.name(), number, None)?;
    let mut state = pool.lock();
    state.exploration.any_choice |= decisions > 0;
    state.bugs.add(found);
    if !plan.budget.explore {
        state.exploration.stop = Stop::Bug;
        drop(state);
        pool.stop();
    }
    Ok(())
}

/// A path that ends between two steps: whatever value the last one still needs, a livelock stays one.
fn completed(execution: &mut Execution, path: &[Decision]) -> Vec<Decision> {
    execution.restart();
    path.iter().for_each(|decision| decide(execution, *decision));
    while let Status::Choosing { .. } = execution.status() {
        execution.choose(0);
    }
    execution.choices().iter().map(|choice| Decision::from(*choice)).collect()
}

/// Executes a path from the start. It must end with the same bug.
fn replay(plan: &Plan, path: &[Decision], expected: &Outcome) -> Result<(Execution, Bug), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let follow = Box::new(Follow::new(path.to_vec(), false));
    let (outcome, _) = execution.run(follow, Iteration { seed: plan.seed, index: 0 })?;
    match (&outcome, expected) {
        (Outcome::Bug(bug), Outcome::Bug(searched)) if bug == searched => {
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

/// Puts the result together, and the rest of the work on disk.
fn conclude(plan: &Plan, name: &str, state: State, started: Instant) -> Result<Exploration, ExploreError> {
    let counts = state.counts();
    let mut exploration = state.exploration;
    let exhausted = state.items.is_empty() && exploration.stop == Stop::Iterations;
    if exhausted {
        exploration.stop = Stop::Exhausted;
    }
    let mut frontier = None;
    if !state.items.is_empty() {
        let mut path = plan.trace_stem.as_os_str().to_owned();
        path.push(".frontier");
        let path = PathBuf::from(path);
        Frontier::new(plan, name, counts, state.items).write(&path)?;
        frontier = Some(path);
    }
    exploration.any_choice |= counts.executions + counts.abandoned + counts.unfinished + counts.redundant > 1;
    exploration.statistics.buggy = counts.bugs;
    exploration.statistics.distinct_bugs = Some(state.bugs.len() as u64);
    exploration.found = state.bugs.into_sorted();
    exploration.found.iter_mut().for_each(|f| f.count = f.count.max(1));
    exploration.elapsed = started.elapsed();
    exploration.searched = Some(Searched {
        counts,
        exhausted,
        estimate: state.estimate.filter(|_| !exhausted),
        assumptions: assumptions(plan, &exploration),
        frontier,
    });
    Ok(exploration)
}

/// What the verdict of a search takes for granted.
fn assumptions(plan: &Plan, exploration: &Exploration) -> Vec<String> {
    let options = &plan.artifact.options;
    let mut assumptions = vec!["sequential consistency".to_string(), "virtual time".into()];
    match options.points {
        coyote_instrumenter::Points::Heap => {}
        coyote_instrumenter::Points::Atomic => assumptions.push("no races on plain memory".into()),
        coyote_instrumenter::Points::Sync => {
            assumptions.push("no races on memory, nor on atomics, of which std's locks are made".into());
        }
    }
    if options.atomic_defaults {
        assumptions.push("up to the addresses that malloc returns".into());
    }
    if !options.atomic_fns.is_empty()
        || !options.no_points_in.is_empty()
        || !options.points_only_in.is_empty()
    {
        assumptions.push("no races in the functions left out".into());
    }
    let table = &plan.artifact.table;
    if table.shared_globals > table.segment_flags {
        assumptions.push("no races on wasm globals".into());
    }
    if plan.settings.limits.fail_on_steps_max
        || exploration.found.iter().any(|f| f.bug.kind == BugKind::MaxSteps)
    {
        assumptions.push(format!("executions of at most {} steps", plan.settings.limits.unfair_steps_max));
    }
    assumptions
}
