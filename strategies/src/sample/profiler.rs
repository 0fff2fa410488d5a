//! Records the profile of an execution.

use crate::{
    Class, Event, Iteration, Paths, Pick, Profile, RandomWalk, Strategy, Summary, View, WorkerId, WorkerState,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A random walk that records what the program does. The schedule is exactly the random walk's, without faults.
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    walk: RandomWalk,
    paths: Paths,
    profile: Profile,
    /// Steps by worker; the profile has them by path.
    steps: Vec<u64>,
    wakes: Wakes,
    result: Arc<Mutex<Profile>>,
}

/// Who woke whom.
#[derive(Clone, Debug, Default)]
struct Wakes {
    /// By worker that was woken: how often, and by whom last.
    of: BTreeMap<WorkerId, (u64, WorkerId)>,
    /// By worker that woke others: how often.
    by: BTreeMap<WorkerId, u64>,
}

impl Wakes {
    fn add(&mut self, by: WorkerId, worker: WorkerId) {
        let (times, last) = self.of.entry(worker).or_insert((0, by));
        (*times, *last) = (*times + 1, by);
        *self.by.entry(by).or_default() += 1;
    }

    /// See [`Profile::continuations`].
    fn continuations(&self) -> u64 {
        self.of.values().filter(|(times, by)| *times == 1 && self.by[by] == 1).count() as u64
    }
}

impl Profiler {
    /// The profile of the last iteration that ended.
    pub fn result(&self) -> Arc<Mutex<Profile>> {
        self.result.clone()
    }

    fn record(&mut self, pick: Pick, view: &View) {
        let Pick::Step(worker) = pick else { return };
        self.profile.steps += 1;
        self.profile.decisions += u64::from(view.enabled.len() > 1);
        // If there are thousands of workers, those that were created last are mostly alive.
        let mut alive = view.workers.iter().rev().filter(|w| w.state != WorkerState::Ended);
        self.profile.concurrent_steps += u64::from(view.enabled.len() > 1 || alive.nth(1).is_some());
        self.steps.resize(view.workers.len(), 0);
        self.steps[worker.index()] += 1;
        let operation = &view.workers[worker.index()].operation;
        if let Some(target) = operation.target() {
            let object = self.profile.objects.entry(target).or_default();
            object.changed |= target.0 != Class::Memory || operation.kind.writes();
            *object.accesses.entry(self.paths.path(worker)).or_default() += 1;
        }
    }
}

impl Strategy for Profiler {
    fn name(&self) -> String {
        self.walk.name()
    }

    fn fair(&self) -> bool {
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.walk.begin(iteration);
        self.paths.reset();
        self.steps.clear();
        self.wakes = Wakes::default();
        self.profile = Profile::default();
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = self.walk.pick(view)?;
        self.record(pick, view);
        Some(pick)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        let Some(kind) = view.fault else { return self.walk.value(bound, view) };
        // The profile describes the program without faults.
        *self.profile.opportunities.entry(kind).or_default() += 1;
        Some(0)
    }

    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
        if let Event::Woken { by, worker } = event {
            self.wakes.add(by, worker);
        }
    }

    fn end(&mut self, _summary: Summary) {
        for (worker, steps) in self.steps.iter().enumerate().filter(|(_, steps)| **steps > 0) {
            self.profile.workers.insert(self.paths.path(WorkerId(worker as u32)), *steps);
        }
        self.profile.continuations = self.wakes.continuations();
        *self.result.lock().expect("nobody panics while holding it") = std::mem::take(&mut self.profile);
    }
}
