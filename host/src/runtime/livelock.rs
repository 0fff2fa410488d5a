//! Conditions under which a state can be a livelock: see `execution::prove_livelock`.

use super::{Runtime, Timers};
use coyote_strategies::{OpKind, WorkerId, WorkerState};

impl Runtime {
    /// Whether nothing keeps this state from being part of a livelock: no assumption failed, no worker loops inside of
    /// an atomic function, where scheduling points are rare, the remaining workers are not merely those that a program
    /// leaves behind at its end, and no timeout is held up.
    pub fn may_livelock(&self) -> bool {
        let loops_inside = |id: WorkerId| {
            self.worker(id).atomic_depth > 0 && self.pending(id).operation.kind == OpKind::Loop
        };
        !self.assumed_away && !self.is_held_up() && !self.ids().any(loops_inside) && !self.only_leftovers()
    }

    /// Whether a timeout is pending that is not among the choices, although its time will come: with
    /// [`Timers::Ordered`], workers that wait by writing (`while lock.swap(true) {}`) keep it from firing for long.
    fn is_held_up(&self) -> bool {
        self.timers == Timers::Ordered && self.awaits_time()
    }

    /// Whether the first worker has ended, and the end of the test does not wait for the others.
    fn only_leftovers(&self) -> bool {
        let has_ended = |id: WorkerId| self.pending(id).state == WorkerState::Ended;
        let expected = |id: WorkerId| {
            has_ended(id) || !self.holds(id) && (self.worker(id).detached || !self.joins_visible)
        };
        has_ended(self.first()) && (self.over || self.ids().all(expected))
    }

    /// Virtual time, read without an event of the guest.
    pub fn time_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Whether a timeout is pending.
    pub fn awaits_time(&self) -> bool {
        self.clock.has_pending()
    }

    /// Whether both states continue alike: compared field by field, files and blocks of the heap by their
    /// hashes.
    pub fn is_same_state(&self, other: &Runtime) -> bool {
        let worker = |w: &super::Worker| {
            let at = (w.request, w.waiting, w.wake, w.detached);
            (at, w.children, w.atomic_depth, w.worker_local_word, w.random)
        };
        self.pending == other.pending
            && self.workers.iter().map(worker).eq(other.workers.iter().map(worker))
            && self.sync == other.sync
            && self.memory_refused == other.memory_refused
            && self.clock.is_same(&other.clock)
            && self.monitors.are_same(&other.monitors)
            && self.digest() == other.digest()
    }
}
