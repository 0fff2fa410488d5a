//! Exploration of one test by a search, on all cores.
//!
//! The remaining work is a pool of items. Each job takes an item and searches it; when other jobs have nothing to do,
//! it gives a part of it away. The number of executions does not depend on the number of jobs; the bug that is met
//! first may.
//!
//! When a search stops early, its remaining work is written to a file. This also happens now and then during the search
//! (`checkpoints`), so that little is lost if the process is killed.

use super::assumptions::{assumptions, of_result, of_rounds, of_search};
use super::checkpoints::Checkpoints;
use super::frontier::{self, Frontier, Section};
use super::memory::resident_bytes;
use super::pool::{Pool, State};
use super::{ExploreError, Finder, Plan, Watch, endless, first_output, found, internal, notes};
use crate::artifact::THREAD_STACK_BYTES;
use crate::diagnose::SourceLines;
use crate::execution::Execution;
use crate::machine::scheduler::Looks;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::results::{Done, Incidents, IterationNotes, Resumed, SearchSummary, Stop, TestResult};
use crate::statistics::StepsMax;
use coyote_strategies::sample::follow::Follow;
use coyote_strategies::search::rounds::Wanted;
use coyote_strategies::search::seen::Seen;
use coyote_strategies::search::{self, Advance, Counts, Item, Search, Shared};
use coyote_strategies::{Decision, Iteration, Status};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of steps that a job executes before it checks the pool: at first, and at most. In between, as many as
/// take about [`PATIENCE`].
const ALLOWANCE_FIRST: u64 = 1;
const ALLOWANCE_MAX: u64 = 20_000;
const PATIENCE: Duration = Duration::from_millis(20);
/// How many steps a unit goes on until its search can give work away: not within steps that it may have to take back.
const LAST_STEPS: u32 = 1_000;

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
    let (items, mut shared, visited, resumed) = match resume {
        Some(Frontier { work, from, done, is_part, .. }) => {
            let shared = work.shared().map_err(ExploreError::Strategy)?;
            (work.items, shared, work.visited, (!is_part).then_some(Resumed { from, done }))
        }
        None => (fresh.save(), Shared::default(), Arc::default(), None),
    };
    let seen = Seen::looking_for(endless::wanted(plan));
    let is_part = plan.budget.unit.is_some() && search::remembers(name);
    shared.seen = Arc::new(if is_part { seen.of_part(visited) } else { seen });
    let before = resumed.as_ref().map_or(Counts::default(), |resumed| resumed.done.counts);
    let mut result = TestResult::new(plan.subject(name.into()), steps_max, true);
    if let Some(Resumed { done, .. }) = &resumed {
        result.any_choice = done.any_choice;
        result.workers_max = done.workers_max;
        result.note(None, done.notes.clone());
    }
    // What a unit leaves is a function of its part.
    let jobs =
        if search::shardable(name) && plan.budget.unit.is_none() { plan.budget.jobs.max(1) } else { 1 };
    let pool = Pool {
        state: Mutex::new(State {
            items: together(name, items, &shared),
            left: Vec::new(),
            checkpoint: None,
            checkpoints: 0,
            busy: 0,
            jobs,
            finished: before,
            present: vec![Counts::default(); jobs],
            estimate: None,
            ended: before.executions + before.abandoned + before.unfinished,
            result,
            cut: Incidents::default(),
            resumed,
            error: None,
        }),
        changed: Condvar::new(),
        idle: AtomicBool::new(false),
        pause: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        shared,
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
            if plan.budget.unit.is_none() {
                checkpoints.go_on(plan, name, &pool);
            }
        }
        Ok(())
    })?;
    let Pool { state, shared, .. } = pool;
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
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
    conclude(plan, name, state, &shared, checkpoints, started)
}

/// Groups items by the searches that get them: all items together, so that they are continued in their original order.
/// Samples are ranges, and each item is searched separately. If only shared states are left, a search takes its work there.
fn together(name: &str, items: Vec<Item>, shared: &Shared) -> Vec<Vec<Item>> {
    match name.split(':').next() {
        _ if items.is_empty() && shared.dpor.is_empty() => Vec::new(),
        Some("ss") => items.into_iter().map(|item| vec![item]).collect(),
        _ => vec![items],
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

/// Searches on a thread.
struct Job<'a> {
    plan: &'a Plan<'a>,
    pool: &'a Pool,
    number: usize,
    execution: Execution,
    /// Executes paths that end with a bug from the start.
    replayer: Option<Execution>,
}

fn run_job(plan: &Plan, name: &str, number: usize, pool: &Pool) -> Result<(), ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    execution.take_awaits_of_bugs();
    execution.note_what_is_cut();
    let mut job = Job { plan, pool, number, execution, replayer: None };
    while let Some(items) = pool.take() {
        let mut search = search::by_name(name, plan.seed, Some(items)).map_err(ExploreError::Strategy)?;
        search.share(&pool.shared);
        let result = job.run_item(&mut *search);
        let pieces = plan.budget.unit.map_or(0, |unit| unit.pieces);
        let pieces: Vec<Item> = std::iter::from_fn(|| search.split()).take(pieces).collect();
        let left = pool.stop.load(Ordering::Relaxed).then(|| left(&*search));
        // Detectors may have found something on the way to what was cut off.
        let machine = job.execution.machine();
        let (races, inversions) = (machine.remarks(), machine.inversions());
        let mut state = pool.lock();
        state.result.note(None, IterationNotes { races, inversions, ..IterationNotes::default() });
        state.cut.merge(job.execution.take_cut());
        state.busy -= 1;
        state.present[number] = Counts::default();
        state.finished = state.finished + search.counts();
        state.items.extend(pieces.into_iter().map(|item| vec![item]));
        state.left.extend(left.filter(|left| !left.is_empty()));
        pool.changed.notify_all();
        drop(state);
        result?;
    }
    job.leave();
    Ok(())
}

fn left(search: &dyn Search<Execution>) -> Section {
    Section::of(|each| search.each_left(each))
}

impl Job<'_> {
    fn run_item(&mut self, search: &mut dyn Search<Execution>) -> Result<(), ExploreError> {
        let (plan, pool) = (self.plan, self.pool);
        let mut allowance = ALLOWANCE_FIRST;
        let end = plan.budget.unit.map_or(u64::MAX, |unit| unit.steps);
        let mut last_steps = LAST_STEPS;
        loop {
            let begun = Instant::now();
            // Exactly to the end of a unit, or beyond it if no execution has ended yet.
            let rest = end.saturating_sub(search.counts().steps);
            let allowed = if rest > 0 { allowance.min(rest) } else { ALLOWANCE_FIRST };
            let advance = search.advance(&mut self.execution, allowed);
            if begun.elapsed() > PATIENCE {
                allowance = (allowance / 2).max(1);
            } else if advance == Advance::Working {
                allowance = (allowance * 2).min(ALLOWANCE_MAX);
            }
            if let Some(error) = self.execution.take_error() {
                return Err(error.into());
            }
            match advance {
                Advance::Exhausted => match search.error() {
                    Some(error) => return Err(ExploreError::Strategy(error.into())),
                    None => return Ok(()),
                },
                Advance::Working => {}
                Advance::Ended(status) => self.ended(search, status)?,
                Advance::Livelock => endless::livelock(plan, search, pool)?,
                Advance::Round => endless::round(plan, search, pool)?,
            }
            let enough = {
                let mut state = pool.lock();
                state.present[self.number] = search.counts();
                // Also if no execution has ended yet.
                state.result.any_choice |= self.execution.machine().scheduler().decisions > 0;
                state.estimate = search.estimate().or(state.estimate);
                let counts = state.counts();
                let ended = counts.executions + counts.abandoned + counts.unfinished;
                let is_over = counts.steps >= end && ended + counts.redundant > 0;
                if is_over && let Some(piece) = search.split() {
                    state.items.push(vec![piece]);
                    last_steps = 0;
                } else if is_over {
                    last_steps = last_steps.saturating_sub(1);
                }
                ended >= plan.budget.iterations_max || is_over && last_steps == 0
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
    fn ended(&mut self, search: &dyn Search<Execution>, status: Status) -> Result<(), ExploreError> {
        let Job { plan, pool, ref execution, .. } = *self;
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
        let (execution, bug) = self.replay(search.path(), &outcome)?;
        let finder = Finder { strategy: search.name(), iteration: number, index: Some(number), by: None };
        let found = found(plan, execution, &bug, finder, &pool.lines)?;
        pool.add(plan, found)
    }

    /// Executes a path from the start. It must end with the same bug, or earlier if workers wait in a circle, since the
    /// search let the other workers continue.
    fn replay(
        &mut self,
        path: &[Decision],
        expected: &Outcome,
    ) -> Result<(&mut Execution, Bug), ExploreError> {
        let plan = self.plan;
        let execution = match &mut self.replayer {
            Some(replayer) => replayer,
            none => none.insert(Execution::new(plan.artifact, plan.test, plan.settings)?),
        };
        let follow = Box::new(Follow::new(path.to_vec(), false));
        let iteration = Iteration { seed: plan.seed, index: 0 };
        // A round on the way is not what the search found.
        let (outcome, _) = execution.looking(Looks::Never, |execution| execution.run(follow, iteration))?;
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

    /// Counts what happened in executions that were cut off, and executed instructions.
    fn leave(&mut self) {
        let Job { pool, ref mut execution, .. } = *self;
        execution.leave();
        pool.lock().cut.merge(execution.take_cut());
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
    }
}

/// Adds what follows from all results of a campaign's units together. What follows from how each of them searched is in
/// them.
pub fn complete(plan: &Plan, result: &mut TestResult) {
    let settings = plan.settings.in_search(plan.artifact);
    let plan = plan.with(&settings);
    let assumptions = of_result(&plan, result, None);
    if let Some(search) = &mut result.search {
        if search.may_repeat {
            search.assumptions.extend(of_rounds(&plan, Wanted::default()).into_iter().map(String::from));
        }
        search.assumptions.extend(assumptions);
    }
}

/// Puts the result together, and writes the remaining work to disk.
fn conclude(
    plan: &Plan,
    name: &str,
    mut state: State,
    shared: &Shared,
    checkpoints: Checkpoints,
    started: Instant,
) -> Result<TestResult, ExploreError> {
    let counts = state.counts();
    let waiting = state.waiting(shared);
    state.left.extend(Some(waiting).filter(|waiting| !waiting.is_empty()));
    state.result.any_choice |=
        counts.executions + counts.abandoned + counts.unfinished + counts.redundant > 1;
    let mut frontier = None;
    if plan.budget.unit.is_some() && state.result.stop == Stop::Memory {
        return Err(ExploreError::Strategy(
            "what the unit leaves exceeds the memory limit of searches: give --search-memory, or fewer --unit-steps".into(),
        ));
    }
    let is_done = state.left.is_empty();
    if plan.budget.unit.is_some() && search::remembers(name) {
        let mut visited = shared.seen.visited();
        visited.cyclic |= counts.cyclic;
        state.left.push(Section::of_visited(&visited));
    }
    if !state.left.is_empty() {
        let written = match plan.budget.unit {
            Some(_) => frontier::write_part(&checkpoints.path, plan, name, shared.dpor.common(), &state.left),
            None => frontier::write(&checkpoints.path, plan, name, state.done(shared), &state.left),
        };
        match written {
            Ok(()) => frontier = Some(checkpoints.path.clone()),
            // The bug is more important than the frontier.
            Err(_) if !state.result.bugs.is_empty() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut result = state.result;
    let mut cut = state.cut;
    if plan.budget.unit.is_none() {
        result.incidents.merge(std::mem::take(&mut cut).missing_in(&result.incidents));
    }
    let exhausted = is_done && result.stop == Stop::Iterations;
    if exhausted {
        result.stop = Stop::Exhausted;
        checkpoints.remove(state.resumed.as_ref().map(|resumed| &*resumed.from));
    }
    // An order that does not depend on which job met a bug first.
    result.bugs.sort_by(|a, b| a.order().cmp(&b.order()));
    let limits = result.bugs.iter().filter(|bug| bug.is_limit()).map(|bug| bug.count);
    let before = state.resumed.as_ref().map(|resumed| &resumed.done);
    let limits = limits.sum::<u64>() + before.map_or(0, Done::at_limits);
    result.statistics.buggy = counts.bugs.saturating_sub(limits);
    result.elapsed = started.elapsed();
    result.search = Some(SearchSummary {
        counts,
        exhausted,
        estimate: state.estimate.filter(|_| !exhausted),
        assumptions: match plan.budget.unit {
            None => assumptions(plan, &result, state.resumed.as_ref(), &shared.seen),
            Some(_) => of_search(plan, name, &shared.seen),
        },
        frontier,
        cut,
        open_units: 0,
        may_repeat: false,
        resumed: state.resumed,
    });
    let others = result.other_bugs_before().count() as u64;
    if let Some(distinct) = &mut result.statistics.distinct_bugs {
        *distinct += others;
    }
    Ok(result)
}
