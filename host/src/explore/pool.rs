//! What the jobs of a search share: the work that is left, and what was found.

use super::frontier::Section;
use super::{ExploreError, Plan, keep};
use crate::diagnose::SourceLines;
use crate::results::{Done, FoundBug, Incidents, Resumed, Stop, TestResult};
use coyote_strategies::search::{Counts, Item, Shared};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The state that jobs share.
pub struct Pool {
    pub state: Mutex<State>,
    /// Notified when an item was added, or the search has ended.
    pub changed: Condvar,
    /// Whether jobs wait for an item: a job with much work then gives some away.
    pub idle: AtomicBool,
    /// Whether a checkpoint is being taken: jobs deposit their remaining work and wait.
    pub pause: AtomicBool,
    pub stop: AtomicBool,
    /// What the jobs' searches share.
    pub shared: Shared,
    pub lines: Mutex<SourceLines>,
}

pub struct State {
    /// Groups of items; each group is searched by one search.
    pub items: Vec<Vec<Item>>,
    /// The remaining work of jobs that have stopped.
    pub left: Vec<Section>,
    /// During a checkpoint: the remaining work of the busy jobs that have deposited it.
    pub checkpoint: Option<Vec<Section>>,
    /// The number of checkpoints that are complete.
    pub checkpoints: u64,
    /// The number of jobs that have items.
    pub busy: usize,
    pub jobs: usize,
    /// Counts of finished items, and of the present items of each job.
    pub finished: Counts,
    pub present: Vec<Counts>,
    pub estimate: Option<f64>,
    /// The number of executions that ended, in the order of the jobs' reports. Traces are named by it.
    pub ended: u64,
    pub result: TestResult,
    /// What happened in executions that were cut off.
    pub cut: Incidents,
    /// What earlier runs did.
    pub resumed: Option<Resumed>,
    pub error: Option<ExploreError>,
}

impl State {
    pub fn counts(&self) -> Counts {
        self.finished + self.present.iter().copied().sum()
    }

    /// What was done so far, by this run and earlier ones.
    pub fn done(&self, shared: &Shared) -> Done {
        let before = self.resumed.as_ref().map(|resumed| resumed.done.clone()).unwrap_or_default();
        let (result, counts) = (&self.result, self.counts());
        let mut notes = result.notes();
        notes.incidents.merge(self.cut.clone().missing_in(&notes.incidents));
        let mut done = Done {
            counts: Counts { cyclic: counts.cyclic || shared.seen.cyclic(), ..counts },
            any_choice: result.any_choice,
            workers_max: result.workers_max,
            notes,
            ..before
        };
        done.add_bugs(&result.bugs);
        done
    }

    /// The remaining work in the pool itself, and what is left at shared states.
    pub fn waiting(&self, shared: &Shared) -> Section {
        Section::with_states(&shared.dpor, |each| self.items.iter().flatten().for_each(each))
    }
}

impl Pool {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next group of items; `None` if there will be none.
    pub fn take(&self) -> Option<Vec<Item>> {
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

    pub fn give(&self, item: Item) {
        let mut state = self.lock();
        state.items.push(vec![item]);
        self.idle.store(state.items.len() < state.jobs - state.busy, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Deposits the remaining work of a job, and waits until the checkpoint is complete.
    pub fn deposit(&self, left: Section) {
        let mut state = self.lock();
        let Some(checkpoint) = &mut state.checkpoint else { return };
        checkpoint.push(left);
        // The next one may have begun before this job is scheduled again, and needs its remaining work again.
        let before = state.checkpoints;
        while state.checkpoints == before && !self.stop.load(Ordering::Relaxed) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds a bug, and ends the search unless it is to continue.
    pub fn add(&self, plan: &Plan, found: FoundBug) -> Result<(), ExploreError> {
        let mut state = self.lock();
        if !plan.budget.explore && !state.result.bugs.is_empty() {
            // Another job has found one, and the search is about to end.
            return Ok(());
        }
        keep(&mut state.result, found)?;
        if !plan.budget.explore || state.result.distinct_bugs() >= plan.budget.bugs_max {
            state.result.stop = Stop::Bug;
            drop(state);
            self.stop();
        }
        Ok(())
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // A job that is about to wait holds the lock until it waits, so it cannot miss the notification.
        let _state = self.lock();
        self.changed.notify_all();
    }
}
