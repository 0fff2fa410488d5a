//! Lets workers that watch invariants evaluate them as soon as they can.
//!
//! A worker that watches is enabled only after a step that changed memory which its last evaluation read. The strategy
//! within is not asked then: so every such state is judged, and no other worker runs in between.

use crate::{Event, Iteration, OpKind, Pick, Profile, Strategy, Summary, View, WorkerId, WorkerState};
use std::collections::BTreeSet;

/// See the module's documentation.
pub struct Watchers {
    schedules: Box<dyn Strategy>,
    /// The workers that were seen to watch in this iteration.
    watchers: BTreeSet<WorkerId>,
    /// The worker of the last step that was no watcher's.
    current: Option<WorkerId>,
}

impl Watchers {
    /// Around a strategy that draws schedules.
    pub fn new(schedules: Box<dyn Strategy>) -> Watchers {
        Watchers { schedules, watchers: BTreeSet::new(), current: None }
    }
}

impl Strategy for Watchers {
    fn name(&self) -> String {
        self.schedules.name()
    }

    fn within(&self) -> Option<&dyn Strategy> {
        Some(&*self.schedules)
    }

    fn fair(&self) -> bool {
        self.schedules.fair()
    }

    // The random walk of the profiling run does not treat watchers in this way: the default of
    // `begins_with_profiling_run`.

    fn prepare(&mut self, profile: &Profile) {
        self.schedules.prepare(profile);
    }

    fn begin(&mut self, iteration: Iteration) {
        self.watchers.clear();
        self.current = None;
        self.schedules.begin(iteration);
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(current) = view.current.filter(|worker| !self.watchers.contains(worker)) {
            self.current = Some(current);
        }
        let watches = |worker: &WorkerId| view.workers[worker.index()].operation.kind == OpKind::Watch;
        self.watchers.extend(view.enabled.iter().copied().filter(watches));
        if let Some(watcher) = view.enabled.iter().find(|worker| self.watchers.contains(worker)) {
            return Some(Pick::Step(*watcher));
        }
        // To the strategy within, the worker of the last step is the one that it picked.
        let of_watcher = view.current.is_some_and(|worker| self.watchers.contains(&worker));
        let alive = |worker: &WorkerId| view.workers[worker.index()].state != WorkerState::Ended;
        let current = if of_watcher { self.current.filter(alive) } else { view.current };
        self.schedules.pick(&View { current, ..*view })
    }

    // Where invariants are watched, nothing is leased: the defaults of `quiet` and `goes_on`.

    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.schedules.value(bound, view)
    }

    fn observe(&mut self, event: Event) {
        self.schedules.observe(event);
    }

    fn end(&mut self, summary: Summary) {
        self.schedules.end(summary);
    }
}
