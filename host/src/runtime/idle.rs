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
//! worker to its own stack. One that only computes for that long counts as idle, and lets time pass too soon, which
//! reports mention.
//!
//! A worker that waits by storing or exchanging (`while lock.swap(true) {}`, or a flag that is read under a lock) is
//! never idle, and cannot be told from one that works. A timeout therefore also fires when it has been the earliest for
//! [`WAIT_STEPS`] steps of the execution, which are more than those of most tests; after that has happened once,
//! [`WAIT_STEPS_AGAIN`] steps are enough, since some worker seems to poll like that.
//!
//! When another worker changes what it polls, a worker is idle no more: `idling`.
//!
//! A timeout whose time has come because a worker reads the clock in a loop may fire as well.
//!
//! **In the relation** each worker is an object. Its steps on the way to being idle enable a timeout that waits for all
//! workers, a step that ends its idleness competes with such a timeout, and steps of an idle worker do neither. Since
//! steps count while a timeout is pending, those that change nothing read the clock.

pub use super::idling::IDLE_STEPS;
use super::idling::{Thing, looks_or_tries};
use super::internal::Internal;
use super::{Runtime, Timers};
use coyote_strategies::{Class, Effect, OpKind, WorkerId};

/// Steps for which the earliest timeout waits for workers that are not idle.
pub const WAIT_STEPS: u64 = 1 << 15;

/// The same in an execution in which a timeout has waited for so long before.
pub const WAIT_STEPS_AGAIN: u64 = 1 << 12;

/// How long timeouts have waited for workers that are not idle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waited {
    /// The execution's number of steps when no timeout was pending, or when the last one fired.
    since: u64,
    /// Whether one has fired because it had waited for long.
    for_long: bool,
    /// Whether a worker may have looked at something that others can change.
    looks: bool,
}

impl Runtime {
    /// The workers whose timeouts may fire now.
    #[inline]
    pub fn timeouts(&self) -> &[WorkerId] {
        let next = self.clock.next(self.timers);
        let may = match self.timers {
            _ if next.is_empty() => false,
            Timers::Any => true,
            Timers::Ordered => self.clock.is_due() || self.all_idle() || self.steps_to_wait() == 0,
        };
        if may { next } else { &[] }
    }

    /// Number of accesses that the running worker can execute before a timeout may fire that may not fire now.
    pub fn accesses_before_timeout(&self, running: WorkerId) -> u64 {
        if self.timers == Timers::Any || !self.clock.has_pending() {
            return u64::MAX;
        }
        let others_are_idle = self.enabled.iter().all(|w| *w == running || self.is_idle(*w));
        let to_idle = u64::from(self.worker(running).idling.steps_to_idle());
        if others_are_idle { to_idle.min(self.steps_to_wait()) } else { self.steps_to_wait() }
    }

    /// Number of steps until the earliest timeout fires whatever workers do.
    fn steps_to_wait(&self) -> u64 {
        let steps = if self.waited.for_long { WAIT_STEPS_AGAIN } else { WAIT_STEPS };
        (self.waited.since + steps).saturating_sub(self.steps)
    }

    /// Whether the time of the earliest pending timeout has come, although it has not fired.
    pub fn is_due(&self) -> bool {
        self.clock.is_due()
    }

    fn all_idle(&self) -> bool {
        self.enabled.iter().all(|w| self.is_idle(*w))
    }

    fn is_idle(&self, id: WorkerId) -> bool {
        self.worker(id).idling.is_idle()
    }

    /// Counts a step that the worker has executed.
    pub(super) fn count_idle(&mut self, id: WorkerId) {
        let pending = self.clock.has_pending();
        let operation = self.pending(id).operation;
        if self.waited.looks
            && let Some(thing) = Thing::changed(operation)
        {
            self.change(id, &thing);
        }
        if !pending {
            self.waited.since = self.steps;
        }
        if !pending && !self.footprint.recording {
            self.workers[id.index()].idling.clear();
            return;
        }
        let nothing_changed = self.changes_nothing(id);
        if nothing_changed {
            self.footprint.touch(Class::Clock, Effect::Read, 0);
        }
        let idling = &mut self.workers[id.index()].idling;
        let was_idle = idling.is_idle();
        match nothing_changed && pending {
            true => idling.step(operation),
            false => idling.clear(),
        }
        self.waited.looks |= idling.looks();
        let effect = match (was_idle, idling.is_idle()) {
            (true, true) => return,
            (true, false) => Effect::Write,
            (false, _) => Effect::Enable,
        };
        self.touch_idleness(id, effect);
    }

    /// A worker changes something that others may poll.
    fn change(&mut self, by: WorkerId, thing: &Thing) {
        for other in self.ids().filter(|other| *other != by) {
            let idling = &mut self.workers[other.index()].idling;
            let was_idle = idling.is_idle();
            idling.change(thing);
            if was_idle && !idling.is_idle() {
                self.touch_idleness(other, Effect::Write);
            }
        }
    }

    /// Whether no other worker can see a difference after the worker's step.
    fn changes_nothing(&self, id: WorkerId) -> bool {
        let pending = self.pending(id).operation;
        match pending.kind {
            kind if looks_or_tries(kind) => true,
            OpKind::Store | OpKind::Fill | OpKind::Copy => {
                let own = |(low, high): (u32, u32)| (low.into()..high.into()).contains(&pending.object);
                self.stack_of(id).is_some_and(own)
            }
            _ => false,
        }
    }

    /// Records that a timeout fires: if its time had not come, because all other workers are idle or wait, or because
    /// it waited for long.
    pub(super) fn count_fired(&mut self, id: WorkerId) {
        if self.timers == Timers::Any {
            return;
        }
        self.waited.for_long |= !self.clock.is_due() && !self.all_idle();
        self.waited.since = self.steps;
        self.workers[id.index()].idling.clear();
        if !self.clock.is_due() {
            self.ids().for_each(|worker| self.touch_idleness(worker, Effect::Await));
        }
    }

    fn touch_idleness(&mut self, worker: WorkerId, effect: Effect) {
        self.footprint.touch_internal(effect, Internal::Idleness(self.worker(worker).key));
    }
}
