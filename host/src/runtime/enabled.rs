//! Which workers can be picked: announced operations, enabling and blocking of workers, atomic functions.

use super::worker::{Request, Wake};
use super::{Availability, Lock, Runtime, Timers};
use coyote_strategies::{Class, Effect, Event, OpKind, Operation, View, WorkerId, WorkerState};

/// Maximum number of announced rounds of loops within one call of an atomic function before it must let other
/// workers run.
const ATOMIC_TICKS_MAX: u32 = 1_000;

impl Runtime {
    /// The possible picks. If the current worker is inside of an atomic function and can go on, it is the
    /// only one that can be picked, unless it yields itself.
    #[inline]
    pub fn view(&self) -> View<'_> {
        let alone = if self.atomic_workers == 0 { None } else { self.atomic_current() };
        View {
            enabled: alone.as_ref().map_or(&self.enabled[..], |i| &self.enabled[*i..=*i]),
            timeouts: if alone.is_some() { &[] } else { self.timeouts() },
            workers: &self.pending,
            current: self.current,
            step: self.steps,
            changes: self.changes,
            in_section: alone.is_some(),
            fault: self.fault_asked,
        }
    }

    /// The index of the current worker among the enabled ones, if it is in an atomic function and does not
    /// yield.
    pub(super) fn atomic_current(&self) -> Option<usize> {
        let current = self.current?;
        let yields = matches!(self.pending(current).operation.kind, OpKind::Yield | OpKind::Loop);
        if self.worker(current).atomic_depth == 0 || yields {
            return None;
        }
        self.enabled.iter().position(|w| *w == current)
    }

    /// Announces the operation that a worker is about to execute.
    #[inline]
    pub fn announce(&mut self, id: WorkerId, operation: Operation, request: Request) {
        self.pending[id.index()].operation = operation;
        self.workers[id.index()].request = request;
        self.assumed_away |= request == Request::Assume;
        if let Some(place) = request.wants() {
            // A worker that destroys the object finds this worker as a user.
            self.touch_own(place);
        }
        if self.worker(id).atomic_depth > 0 {
            self.touch_arrival(request);
        }
        self.arrive_at_predicate(id, request);
        self.refresh_state(id);
    }

    /// The cheap form of [`Runtime::announce`] for operations that never block.
    #[inline]
    pub fn announce_access(&mut self, id: WorkerId, operation: Operation) {
        debug_assert_eq!(self.pending[id.index()].state, WorkerState::Enabled);
        debug_assert_eq!(self.workers[id.index()].request, Request::Step);
        self.pending[id.index()].operation = operation;
    }

    /// Whether a worker that has not ended can execute its operation, or the half of it that is left.
    pub(super) fn is_enabled(&self, id: WorkerId) -> bool {
        let worker = self.worker(id);
        let over = !worker.waiting || worker.wake.is_some();
        match worker.request {
            Request::Step => true,
            Request::Assume => false,
            Request::Join { handle } => {
                self.worker_of(handle).is_none_or(|w| self.pending(w).state == WorkerState::Ended)
            }
            Request::Lock { lock, span_ns } => {
                span_ns.is_some() && over || self.availability(id, lock) != Availability::Busy
            }
            Request::Relock { mutex, .. } => {
                over && self.availability(id, Lock::Mutex(mutex)) != Availability::Busy
            }
            _ => over,
        }
    }

    pub(super) fn refresh_state(&mut self, id: WorkerId) {
        let state = if self.is_enabled(id) { WorkerState::Enabled } else { WorkerState::Blocked };
        // The worker that closes a circle waits for one that is already blocked.
        self.may_circle |= state == WorkerState::Blocked && self.awaits_blocked(id);
        self.stand(id, state);
    }

    #[inline]
    pub(super) fn stand(&mut self, id: WorkerId, state: WorkerState) {
        let old = std::mem::replace(&mut self.pending[id.index()].state, state);
        if old == state {
            return;
        }
        self.changes += 1;
        match (old == WorkerState::Enabled, state == WorkerState::Enabled) {
            (false, true) => {
                let at = self.enabled.partition_point(|w| *w < id);
                self.enabled.insert(at, id);
            }
            (true, false) => self.enabled.retain(|w| *w != id),
            _ => {}
        }
    }

    /// Records that the worker executed its pending operation: all of [`Runtime::perform`] for a plain
    /// access.
    #[inline]
    pub fn stepped(&mut self, id: WorkerId) {
        self.current = Some(id);
        self.steps += 1;
        let looks = matches!(
            self.pending[id.index()].operation.kind,
            OpKind::Load
                | OpKind::AtomicLoad
                | OpKind::Yield
                | OpKind::Interleave
                | OpKind::ReadPoint
                | OpKind::Loop
                | OpKind::Sleep
                | OpKind::Clock
        );
        if !looks {
            self.clock.progress(id, self.pending[id.index()].operation.kind == OpKind::Store);
        }
        if self.timers == Timers::Ordered {
            self.count_idle(id);
        }
    }

    /// Records that the worker executed these accesses, one after the other.
    pub fn stepped_often(&mut self, id: WorkerId, operations: &[Operation]) {
        if self.timers == Timers::Ordered {
            for operation in operations {
                self.announce_access(id, *operation);
                self.stepped(id);
            }
        } else if let Some((last, others)) = operations.split_last() {
            for operation in others.iter().filter(|o| !matches!(o.kind, OpKind::Load | OpKind::AtomicLoad)) {
                self.clock.progress(id, operation.kind == OpKind::Store);
            }
            self.steps += others.len() as u64;
            self.announce_access(id, *last);
            self.stepped(id);
        }
    }

    /// Fires the pending timeout of this worker, which must be among the next ones.
    pub fn fire(&mut self, id: WorkerId) {
        self.stream.begin_step(None);
        self.count_fired(id);
        if self.footprint.recording {
            self.clock.accesses_of_timeout(id).for_each(|access| self.footprint.add(access));
        }
        self.clock.fire(id);
        if self.worker(id).atomic_depth > 0 {
            // The worker was blocked, so its section lets other workers in until it goes on, whichever worker made the
            // last step.
            self.current = self.current.filter(|current| *current != id);
        }
        if let Some(queue) = self.worker(id).request.queue() {
            self.touch_place(queue, Effect::Write);
            self.leave_queue(id, queue);
        }
        self.touch_wait(id);
        if let Request::Lock { lock, .. } = self.worker(id).request {
            // Other workers kept it from taking the lock in time.
            self.touch_place(lock.place(), Effect::Read);
        }
        self.wake(id, Wake::TimedOut);
    }

    /// Ends a worker's wait. It is enabled unless its second half needs a mutex that is taken.
    pub(super) fn wake(&mut self, id: WorkerId, how: Wake) {
        self.workers[id.index()].wake = Some(how);
        if how == Wake::Notified {
            self.touch_worker(Class::Wake, Effect::Enable, id);
            // A poll may find nothing, and then goes on waiting for its time.
            let polls = matches!(self.worker(id).request, Request::Poll { .. });
            if !polls && self.clock.cancel(id) {
                self.footprint.touch(Class::Clock, Effect::Write, 0);
            }
            if let Some(by) = self.current {
                self.happened(Event::Woken { by, worker: id });
            }
        } else {
            self.footprint.touch(Class::Wake, Effect::Enable, self.workers[id.index()].key);
        }
        self.refresh_state(id);
    }

    /// Records that the worker enters an atomic function.
    pub fn atomic_enter(&mut self, id: WorkerId) {
        let worker = &mut self.workers[id.index()];
        worker.atomic_depth += 1;
        worker.atomic_ticks = 0;
        self.atomic_workers += u32::from(worker.atomic_depth == 1);
    }

    /// Counts a round of a loop in an atomic function. Returns whether the worker must let others run by now:
    /// it may wait for a worker that blocked inside of such a function.
    pub fn atomic_tick(&mut self, id: WorkerId) -> bool {
        let ticks = &mut self.workers[id.index()].atomic_ticks;
        *ticks = (*ticks + 1).min(ATOMIC_TICKS_MAX + 1);
        *ticks > ATOMIC_TICKS_MAX
    }

    /// Records that the worker begins a scope without scheduling points.
    pub fn suppress(&mut self, id: WorkerId) {
        self.workers[id.index()].suppressed += 1;
        self.atomic_enter(id);
    }

    /// Records that the worker ends its innermost scope without scheduling points. Returns whether there is one.
    pub fn resume(&mut self, id: WorkerId) -> bool {
        let suppressed = &mut self.workers[id.index()].suppressed;
        let is_in_one = *suppressed > 0;
        if is_in_one {
            *suppressed -= 1;
            self.atomic_exit(id);
        }
        is_in_one
    }

    /// Records that the worker returns from an atomic function.
    pub fn atomic_exit(&mut self, id: WorkerId) {
        let depth = &mut self.workers[id.index()].atomic_depth;
        *depth -= 1;
        self.atomic_workers -= u32::from(*depth == 0);
    }
}
