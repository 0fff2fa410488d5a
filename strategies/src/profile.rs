//! What a program did in its profiling run: what strategies scale their random choices by.

use crate::{
    Class, Event, Iteration, Paths, Pick, RandomWalk, Strategy, Summary, View, WorkerPath, WorkerState,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Steps executed.
    pub steps: u64,
    /// Choices of a worker among at least two that were enabled.
    pub decisions: u64,
    /// Steps executed while at least two workers had not ended. Unlike the decisions, whose number falls
    /// when workers block each other, it is much the same in every schedule.
    pub concurrent_steps: u64,
    /// Steps of each worker that made one.
    pub workers: BTreeMap<WorkerPath, u64>,
    /// Accesses of each object by [`crate::Operation::target`].
    pub objects: BTreeMap<(Class, u64), ObjectProfile>,
}

/// Who accessed an object, as far as announcements tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectProfile {
    /// Whether any access may have changed it.
    pub changed: bool,
    pub accesses: BTreeMap<WorkerPath, u64>,
}

impl ObjectProfile {
    /// Whether the order of its accesses can matter.
    pub fn contended(&self) -> bool {
        self.changed && self.accesses.len() > 1
    }

    pub fn count(&self) -> u64 {
        self.accesses.values().sum()
    }
}

/// The sum over a worker and all that it creates, directly or through others.
pub fn with_descendants(counts: &BTreeMap<WorkerPath, u64>, root: &WorkerPath) -> u64 {
    // Paths are ordered lexicographically: descendants follow their ancestor.
    let from_root = counts.range(root.clone()..);
    from_root.take_while(|(path, _)| path.0.starts_with(&root.0)).map(|(_, count)| count).sum()
}

/// A random walk that records what the program does. The schedule is exactly the random walk's.
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    walk: RandomWalk,
    paths: Paths,
    profile: Profile,
    /// Steps by worker, until they are known by path.
    steps: Vec<u64>,
    result: Arc<Mutex<Profile>>,
}

impl Profiler {
    /// What the last iteration that ended did.
    pub fn result(&self) -> Arc<Mutex<Profile>> {
        self.result.clone()
    }

    fn record(&mut self, pick: Pick, view: &View) {
        let Pick::Step(worker) = pick else { return };
        self.profile.steps += 1;
        self.profile.decisions += u64::from(view.enabled.len() > 1);
        let alive = view.workers.iter().filter(|w| w.state != WorkerState::Ended).count();
        self.profile.concurrent_steps += u64::from(alive > 1);
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
        self.profile = Profile::default();
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = self.walk.pick(view)?;
        self.record(pick, view);
        Some(pick)
    }

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.walk.value(bound, view)
    }

    fn observe(&mut self, event: Event) {
        self.paths.observe(event);
    }

    fn end(&mut self, _summary: Summary) {
        for (worker, steps) in self.steps.iter().enumerate().filter(|(_, steps)| **steps > 0) {
            self.profile.workers.insert(self.paths.path(crate::WorkerId(worker as u32)), *steps);
        }
        *self.result.lock().expect("nobody panics while holding it") = std::mem::take(&mut self.profile);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_those_whose_path_begins_with_it() {
        let counts: BTreeMap<WorkerPath, u64> =
            [(vec![], 1), (vec![0], 2), (vec![0, 3], 4), (vec![1], 8), (vec![10], 16)]
                .map(|(path, n)| (WorkerPath(path), n))
                .into();
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![])), 31);
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![0])), 6);
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![1])), 8);
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![7])), 0);
    }
}
