//! Operations with which workers wait: for a notification, at a barrier, for a time.

use super::stream::{HbObject, SyncKind};
use super::sync::{Arrival, Lock, Selection};
use super::{FaultClass, Mutant, Performed, Request, Runtime, Wake, WorkerState};
use crate::evidence::ObjectState;
use crate::object_id::ObjectId;
use coyote_abi::errno;
use coyote_strategies::{Class, Effect, OpKind, WorkerId};

impl Runtime {
    /// Blocks the worker until it is woken or `span_ns` of virtual time have passed.
    pub(super) fn block(&mut self, id: WorkerId, span_ns: Option<u64>) -> Performed {
        let worker = &mut self.workers[id.index()];
        worker.waiting = true;
        worker.wake = None;
        self.stand(id, WorkerState::Blocked);
        if let Some(span) = span_ns {
            self.footprint.touch(Class::Clock, Effect::Write, 0);
            self.clock.start(id, self.workers[id.index()].handle, span);
        }
        Performed::Blocked
    }

    /// Ends the wait of a worker that goes on. Returns what ended it.
    pub(super) fn end_wait(&mut self, id: WorkerId) -> Option<Wake> {
        let worker = &mut self.workers[id.index()];
        worker.waiting = false;
        let (wake, key) = (worker.wake.take(), worker.key);
        match wake {
            Some(Wake::Spurious) => {}
            Some(Wake::Notified) => self.touch_worker(Class::Wake, Effect::Await, id),
            _ => self.footprint.touch(Class::Wake, Effect::Await, key),
        }
        wake
    }

    /// The second half of a wait that needs nothing but its end.
    pub(super) fn waited(&mut self, id: WorkerId, request: Request) -> Performed {
        let timed_out = self.end_wait(id) == Some(Wake::TimedOut) && !self.mutant(Mutant::TimedOutUnseen);
        Performed::Continue(match request {
            Request::FutexWait { .. } if timed_out => 2,
            Request::BarrierWait { .. } if self.mutant(Mutant::SerialTwice) => -1,
            _ => 0,
        })
    }

    /// The first half of a wait for a condvar. The error says what is wrong with the mutex.
    pub(super) fn wait(
        &mut self,
        id: WorkerId,
        condvar: u32,
        mutex: u32,
        span_ns: Option<u64>,
        values: &[u64],
    ) -> Result<Performed, ObjectState> {
        let place = ObjectId { class: Class::Mutex, address: mutex };
        let holds = self.holders(place).contains(&id);
        let other = self.waiters(ObjectId { class: Class::Condvar, address: condvar }).iter().find_map(|w| {
            let wanted = self.worker(*w).request.wants();
            (wanted != Some(place)).then(|| self.title(*w))
        });
        if let (true, Some(other)) = (holds, other) {
            self.touch_place(place, Effect::Release);
            self.footprint.touch(Class::Condvar, Effect::Write, condvar.into());
            return Err(ObjectState::OtherMutex { of: other });
        }
        let spurious = match holds {
            true => match self.wakes_for_no_reason(values) {
                Ok(spurious) => spurious,
                Err(bound) => return Ok(Performed::NeedsValue(bound)),
            },
            false => false,
        };
        let error = self.release(id, place)?;
        if error != errno::SUCCESS {
            return Ok(Performed::Continue(error.into()));
        }
        self.footprint.touch(Class::Condvar, Effect::Write, condvar.into());
        self.workers[id.index()].request = Request::Relock { condvar, mutex };
        let operation = &mut self.pending[id.index()].operation;
        operation.kind = OpKind::Relock;
        operation.object = u64::from(mutex);
        if spurious {
            return Ok(self.block_woken(id));
        }
        self.sync.condvars.update(condvar, |q| q.add(id));
        Ok(self.block(id, span_ns))
    }

    /// The second half of a wait for a condvar: the worker takes the mutex again, whatever ended its wait.
    pub(super) fn relock(&mut self, id: WorkerId, mutex: u32) -> Performed {
        let timed_out = self.end_wait(id) == Some(Wake::TimedOut);
        self.workers[id.index()].request = Request::Step;
        self.take(id, Lock::Mutex(mutex), false);
        Performed::Continue(if timed_out { errno::ETIMEDOUT } else { errno::SUCCESS }.into())
    }

    /// Begins a wait for a futex, whose value is the expected one.
    pub(super) fn futex_wait(
        &mut self,
        id: WorkerId,
        address: u32,
        span_ns: Option<u64>,
        values: &[u64],
    ) -> Performed {
        let spurious = match self.wakes_for_no_reason(values) {
            Ok(spurious) => spurious,
            Err(bound) => return Performed::NeedsValue(bound),
        };
        self.footprint.touch(Class::Futex, Effect::Write, address.into());
        if spurious {
            return self.block_woken(id);
        }
        self.sync.futexes.update(address, |q| q.add(id));
        self.block(id, span_ns)
    }

    /// Begins a wait that is ended at once by a spurious wake-up. The worker may go on at any later time, so
    /// this covers wake-ups at all later times.
    fn block_woken(&mut self, id: WorkerId) -> Performed {
        let worker = &mut self.workers[id.index()];
        worker.waiting = true;
        worker.wake = Some(Wake::Spurious);
        self.refresh_state(id);
        Performed::Blocked
    }

    fn wakes_for_no_reason(&mut self, values: &[u64]) -> Result<bool, u64> {
        if self.mutant(Mutant::NeverSpurious) {
            return Ok(false);
        }
        self.spurious_left_out |= !self.faults.has(FaultClass::Spurious);
        Ok(self.fault(FaultClass::Spurious, 1, values)? > 0)
    }

    /// Performs a worker's arrival at a barrier. The error says what is wrong with the barrier.
    pub(super) fn arrive(&mut self, id: WorkerId, barrier: u32) -> Result<Performed, ObjectState> {
        let place = ObjectId { class: Class::Barrier, address: barrier };
        self.touch_place(place, Effect::Write);
        self.synchronise(HbObject::Object(place), SyncKind::AcquireRelease);
        match self.sync.barriers.update(barrier, |b| b.arrive(id)) {
            Arrival::Waits => Ok(self.block(id, None)),
            Arrival::Completes(others) => {
                self.current = Some(id);
                others.into_iter().for_each(|other| self.wake(other, Wake::Notified));
                Ok(Performed::Continue(-1))
            }
            Arrival::Misuse => Err(ObjectState::Uninitialised),
        }
    }

    /// Number of workers that have arrived at a barrier, and number of workers that it is for.
    pub fn arrived(&self, barrier: u32) -> (usize, u32) {
        self.sync.barriers.get(barrier).map_or((0, 0), |b| (b.arrived.len(), b.count))
    }

    /// Wakes waiters, and returns how many.
    pub(super) fn notify(
        &mut self,
        id: WorkerId,
        place: ObjectId,
        count: usize,
        values: &[u64],
    ) -> Performed {
        let waiting = self.waiters(place).len();
        let selection = match Selection::new(waiting, count, values) {
            Ok(selection) => selection,
            Err(bound) => return Performed::NeedsValue(bound),
        };
        self.current = Some(id);
        self.touch_place(place, Effect::Write);
        let lost = waiting > 1 && count == 1 && self.mutant(Mutant::SignalIsLost);
        let count = match () {
            () if lost => 0,
            () if self.mutant(Mutant::OneForAll) => count.min(waiting).min(1),
            () => count.min(waiting),
        };
        for n in 0..count {
            let worker = self.waiters(place)[selection.index(n)];
            self.leave_queue(worker, place);
            self.wake(worker, Wake::Notified);
        }
        Performed::Continue(count as i64)
    }

    /// The workers among which a value decides that the notification wakes next that this worker is about to make.
    /// `values`: those chosen for it before. `None` if it makes none.
    pub fn wakeable(&self, by: WorkerId, values: &[u64]) -> Option<Vec<WorkerId>> {
        let Request::Notify { place, .. } = self.worker(by).request else { return None };
        let mut waiting = self.waiters(place).to_vec();
        values.iter().for_each(|chosen| _ = waiting.remove(*chosen as usize));
        Some(waiting)
    }

    fn waiters(&self, place: ObjectId) -> &[WorkerId] {
        let queues = if place.class == Class::Condvar { &self.sync.condvars } else { &self.sync.futexes };
        queues.get(place.address).map_or(&[], |q| q.waiters())
    }

    /// Removes the worker from the queue of an object.
    pub(super) fn leave_queue(&mut self, id: WorkerId, place: ObjectId) {
        match place.class {
            Class::Condvar => self.sync.condvars.update(place.address, |q| q.remove(id)),
            Class::Futex => self.sync.futexes.update(place.address, |q| q.remove(id)),
            _ => unreachable!("this is a bug in coyote-wasm: a wait at a {} has no end", place.title()),
        }
    }
}
