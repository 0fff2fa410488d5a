//! Time in order: with [`Timers::Ordered`], a timeout fires when no worker has anything else to do.
//!
//! As in other simulations of time (Rust's tokio with a paused clock, Go's synctest), time stands still while
//! a worker runs and passes, up to the next timeout, when all wait. So threads that are put in order by
//! sleeps of different lengths run in that order, and no wait with a timeout ends early.
//!
//! Those simulations hang if a worker polls (`while !flag {}`) for one that sleeps, since it can always run. Here a
//! worker is *idle* once it has made [`IDLE_STEPS`] steps since it last changed anything that others could see, and a
//! timeout also fires when all workers that can run are idle. Steps that change nothing are loads, attempts (try-locks
//! and compare-exchanges, which count as such even if they succeed), fences, yields, rounds of loops, and writes of a
//! worker to its own stack. A worker that waits by storing or exchanging (`while lock.swap(true) {}`) is never idle,
//! and one that only computes for that long counts as idle: the first can keep time from passing, the second lets it
//! pass too soon, which reports mention.
//!
//! A timeout whose time has come because a worker reads the clock in a loop may fire as well.
//!
//! **In the relation** each worker is an object. Its steps on the way to being idle enable a timeout that waits for all
//! workers, a step that ends its idleness competes with such a timeout, and steps of an idle worker do neither. Since
//! steps count while a timeout is pending, those that change nothing read the clock.

use super::{Runtime, Timers};
use coyote_strategies::{Access, Class, Effect, OpKind, WorkerId};

/// Steps without a change after which a worker is idle. Loops that wait make a handful of steps in each round.
pub const IDLE_STEPS: u32 = 1_000;

impl Runtime {
    /// The timeout that may fire now.
    #[inline]
    pub fn timeout(&self) -> Option<WorkerId> {
        let earliest = self.clock.earliest()?;
        let may = match self.timers {
            Timers::Any => true,
            Timers::Ordered => self.clock.is_due() || self.all_idle(),
        };
        may.then_some(earliest)
    }

    /// Whether the time of the earliest pending timeout has come, although it has not fired.
    pub fn is_due(&self) -> bool {
        self.clock.is_due()
    }

    fn all_idle(&self) -> bool {
        self.enabled.iter().all(|w| self.worker(*w).idle_steps >= IDLE_STEPS)
    }

    /// Counts a step that the worker has executed.
    pub(super) fn count_idle(&mut self, id: WorkerId) {
        let pending = self.clock.earliest().is_some();
        if !pending && !self.footprint.recording {
            self.workers[id.index()].idle_steps = 0;
            return;
        }
        let nothing_changed = self.changes_nothing(id);
        if nothing_changed {
            self.footprint.touch(Class::Clock, Effect::Read, 0);
        }
        let steps = &mut self.workers[id.index()].idle_steps;
        let before = *steps;
        *steps = if nothing_changed && pending { (before + 1).min(IDLE_STEPS) } else { 0 };
        let effect = match (before, *steps) {
            (IDLE_STEPS, IDLE_STEPS) => return,
            (IDLE_STEPS, _) => Effect::Write,
            _ => Effect::Enable,
        };
        self.touch_idleness(id, effect);
    }

    /// Whether no other worker can see a difference after the worker's step.
    fn changes_nothing(&self, id: WorkerId) -> bool {
        let pending = self.pending(id).operation;
        match pending.kind {
            OpKind::Load
            | OpKind::AtomicLoad
            | OpKind::CompareExchange
            | OpKind::Fence
            | OpKind::Yield
            | OpKind::Loop
            | OpKind::TryLock
            | OpKind::TryReadLock
            | OpKind::TryWriteLock
            | OpKind::SemaphoreTryWait
            | OpKind::SemaphoreValue => true,
            OpKind::Store | OpKind::Fill | OpKind::Copy => {
                let own = |(low, high): (u32, u32)| (low.into()..high.into()).contains(&pending.object);
                self.stack_of(id).is_some_and(own)
            }
            _ => false,
        }
    }

    /// Records that a timeout fires: if its time had not come, because all other workers are idle or wait.
    pub(super) fn count_fired(&mut self, id: WorkerId) {
        if self.timers == Timers::Any {
            return;
        }
        self.workers[id.index()].idle_steps = 0;
        if !self.clock.is_due() {
            self.ids().for_each(|worker| self.touch_idleness(worker, Effect::Await));
        }
    }

    fn touch_idleness(&mut self, worker: WorkerId, effect: Effect) {
        let access = idleness(effect, self.worker(worker).key);
        self.footprint.touch(access.class, access.effect, access.object);
    }
}

/// An access of the idleness of the worker with this key, which is an object of its own in the relation.
fn idleness(effect: Effect, key: u64) -> Access {
    Access::new(Class::Other, effect, 1 << 63 | key)
}
