//! Selectively uniform random walk (Zhao et al., ASPLOS 2025).
//!
//! For each iteration one object is drawn, and all orders of the accesses to it are equally likely, whatever
//! else the workers do: when a worker is about to access it, the worker that should make the next access is
//! drawn in proportion to the number of accesses that it and its future descendants have left, as counted in
//! a dry run; other workers wait before their access until it has made its own. All other operations are
//! scheduled as by `basic-pos`.
//!
//! Deviations from the authors' program: the object is drawn in proportion to its accesses, only among
//! objects that several workers access and one changes, by [`crate::Operation::target`]: memory by address,
//! locks, condvars. When a worker that was drawn creates another, the new worker may replace it, in
//! proportion to its share of the weight. No worker waits when no other is enabled, nor longer than the
//! profiling run took. Without a profiling run, or if nothing is shared, it is `basic-pos`.

use super::pos::LOOK_AHEAD;
use super::priorities::Priorities;
use super::timeout;
use super::weights::{Weights, draw};
use crate::profile::ObjectProfile;
use crate::rng::ChoiceRng;
use crate::{
    Class, Event, Iteration, Operation, Pick, Profile, Strategy, View, WorkerId, WorkerPath, WorkerState,
};
use std::collections::BTreeMap;

/// An object and its accesses in the profiling run.
#[derive(Clone, Debug, Default)]
struct Object {
    target: Option<(Class, u64)>,
    accesses: BTreeMap<WorkerPath, u64>,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Surw {
    rng: ChoiceRng,
    priorities: Priorities,
    /// The objects that can be drawn; empty for programs that share nothing.
    objects: Vec<Object>,
    /// Steps of the profiling run.
    steps: u64,
    /// The object of this iteration.
    at: usize,
    weights: Weights,
    /// The worker that should make the next access of the object, once a worker is about to access it.
    intended: Option<WorkerId>,
    /// Whether each worker waits for that access.
    held: Vec<bool>,
    /// Steps since a worker began to wait.
    waited: u64,
}

impl Surw {
    fn release(&mut self) {
        self.intended = None;
        self.held.fill(false);
        self.waited = 0;
    }

    /// The enabled worker with the highest priority that does not wait.
    fn candidate(&self, enabled: &[WorkerId]) -> Option<WorkerId> {
        let free = enabled.iter().filter(|w| !self.held[w.index()]);
        free.max_by_key(|w| self.priorities.of(w.index())).copied()
    }

    fn choose(&mut self, view: &View) -> WorkerId {
        let ended = |w: WorkerId| view.workers[w.index()].state == WorkerState::Ended;
        if self.intended.is_some_and(ended) || self.waited > self.steps {
            self.release();
        }
        loop {
            let Some(first) = self.candidate(view.enabled) else {
                self.release();
                continue;
            };
            let object = self.objects[self.at].target;
            let accesses =
                |w: WorkerId| object.is_some() && view.workers[w.index()].operation.target() == object;
            if !accesses(first) {
                return first;
            }
            let alive = (0..view.workers.len() as u32).map(WorkerId).filter(|w| !ended(*w));
            // The worker that is about to access the object has at least this access left.
            let weight = |w| self.weights.of(w).max(u64::from(w == first));
            let intended = self.intended.or_else(|| draw(alive, weight, &mut self.rng));
            self.intended = intended;
            // A worker that is about to access the object and is not the intended one waits; the first of the
            // others continues.
            let waits = |w: WorkerId| accesses(w) && intended != Some(w);
            let free = view.enabled.iter().filter(|w| !self.held[w.index()] && !waits(**w));
            let next = free.max_by_key(|w| self.priorities.of(w.index())).copied();
            let reached = next.map_or(0, |w| self.priorities.of(w.index()));
            for w in view.enabled.iter().filter(|w| waits(**w)) {
                self.held[w.index()] |= self.priorities.of(w.index()) >= reached;
            }
            let Some(next) = next else { continue };
            if intended == Some(next) && accesses(next) {
                self.weights.done(next);
                self.release();
            }
            return next;
        }
    }
}

impl Strategy for Surw {
    fn name(&self) -> String {
        "surw".into()
    }

    fn fair(&self) -> bool {
        false
    }

    fn needs_profile(&self) -> bool {
        true
    }

    fn prepare(&mut self, profile: &Profile) {
        self.steps = profile.steps;
        let contended = profile.objects.iter().filter(|(_, object)| object.contended());
        let object = |(target, o): (&(Class, u64), &ObjectProfile)| Object {
            target: Some(*target),
            accesses: o.accesses.clone(),
        };
        self.objects = contended.map(object).collect();
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.priorities.clear();
        if self.objects.is_empty() {
            self.objects.push(Object::default());
        }
        let count = |object: &Object| object.accesses.values().sum::<u64>();
        let mut at = self.rng.below(self.objects.iter().map(count).sum::<u64>().max(1));
        self.at = 0;
        while at >= count(&self.objects[self.at]) && self.at + 1 < self.objects.len() {
            at -= count(&self.objects[self.at]);
            self.at += 1;
        }
        self.weights.restart(&self.objects[self.at].accesses);
        self.held.clear();
        self.release();
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        self.priorities.cover(view.workers.len(), &mut self.rng);
        self.weights.cover(view.workers.len(), &self.objects[self.at].accesses);
        self.held.resize(view.workers.len(), false);
        self.waited += u64::from(self.intended.is_some());
        let worker = self.choose(view);
        self.priorities.redraw(worker.index(), &mut self.rng);
        Some(Pick::Step(worker))
    }

    fn quiet(&self, worker: WorkerId, view: &View, watched: &mut Vec<(u64, u32)>) -> u64 {
        let count = view.workers.len();
        let known = self.priorities.covers(count) && self.weights.covers(count) && self.held.len() == count;
        let ended = |w: WorkerId| view.workers[w.index()].state == WorkerState::Ended;
        if !known || self.held[worker.index()] || self.intended.is_some_and(ended) {
            return 0;
        }
        // The worker may have to wait before an access of the drawn object.
        if let Some((Class::Memory, address)) = self.objects[self.at].target {
            watched.push((address, 1));
        }
        let left = if self.intended.is_some() { self.steps.saturating_sub(self.waited) } else { u64::MAX };
        let free = view.enabled.iter().copied().filter(|w| *w != worker && !self.held[w.index()]);
        self.priorities.stays(worker, free, left.min(LOOK_AHEAD), &self.rng)
    }

    fn goes_on(&mut self, worker: WorkerId, operations: &[Operation], _view: &View) -> bool {
        self.waited += if self.intended.is_some() { operations.len() as u64 } else { 0 };
        self.priorities.redraw_times(worker.index(), operations.len(), &mut self.rng);
        true
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }

    fn observe(&mut self, event: Event) {
        let share = self.weights.spawned(event, &self.objects[self.at].accesses);
        if let Event::Spawned { parent, child } = event
            && self.intended == Some(parent)
            && self.rng.below((share + self.weights.of(parent)).max(1)) < share
        {
            self.intended = Some(child);
        }
    }
}
