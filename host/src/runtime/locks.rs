//! Operations on locks: availability, acquire, release, initialisation and destruction.

use super::internal::Internal;
use super::stream::{HbObject, SyncKind};
use super::sync::{Availability, Kind, Lock, Mutex, Released, SyncObjects};
use super::{FaultClass, Mutant, Performed, Request, Runtime, Wake, WorkerState};
use crate::evidence::ObjectState;
use crate::object_id::ObjectId;
use coyote_abi::errno;
use coyote_strategies::{Class, Effect, Event, WorkerId};

impl Runtime {
    /// Whether a worker can take a lock now.
    pub(super) fn availability(&self, id: WorkerId, lock: Lock) -> Availability {
        match lock {
            Lock::Read(_) if self.mutant(Mutant::ReaderBesideWriter) => Availability::Free,
            _ => self.sync.availability(id, lock),
        }
    }

    /// The holders of an object. A semaphore has none.
    pub fn holders(&self, place: ObjectId) -> Vec<WorkerId> {
        self.sync.holders(place)
    }

    /// All mutexes and rwlocks that are held.
    pub fn held(&self) -> impl Iterator<Item = ObjectId> {
        self.sync.held()
    }

    /// Whether a worker holds any lock.
    pub(super) fn holds(&self, id: WorkerId) -> bool {
        self.sync.holds(id)
    }

    /// Records what the request of a worker in an atomic section depends on: if it blocks the worker, other workers make
    /// steps before the section goes on.
    pub(super) fn touch_arrival(&mut self, request: Request) {
        match request {
            Request::Lock { lock, span_ns: None } => self.touch_place(lock.place(), Effect::Read),
            Request::Join { handle } => {
                if let Some(worker) = self.worker_of(handle) {
                    self.footprint.touch(Class::End, Effect::Read, self.worker(worker).key);
                }
            }
            _ => {}
        }
    }

    /// Takes a lock that is available. `tried`: the worker would not have waited.
    pub(super) fn take(&mut self, id: WorkerId, lock: Lock, tried: bool) {
        let availability = self.availability(id, lock);
        assert!(
            matches!(availability, Availability::Free | Availability::Again),
            "this is a bug in coyote-wasm: a lock was performed while taken"
        );
        self.sync.take(id, lock);
        if availability == Availability::Free {
            self.touch_place(lock.place(), lock.effect(tried));
            // The worker does not want the lock any more: the changes that follow must not block it.
            self.workers[id.index()].request = Request::Step;
            self.changed(lock.place());
        } else {
            self.touch_own(lock.place());
        }
    }

    /// Records a call that only concerns the worker's own hold of an object: no other worker can observe it,
    /// and it only depends on the initialisation or destruction of the object.
    pub(super) fn touch_own(&mut self, place: ObjectId) {
        self.footprint.touch_internal(Effect::Read, Internal::Identity(place.address));
    }

    /// Performs a lock with waiting: the lock is available, or the wait has a timeout.
    pub(super) fn lock(&mut self, id: WorkerId, lock: Lock, span_ns: Option<u64>) -> Performed {
        let availability = self.availability(id, lock);
        let waited = std::mem::take(&mut self.workers[id.index()].waiting);
        if waited && self.workers[id.index()].wake.take() == Some(Wake::TimedOut) {
            self.footprint.touch(Class::Wake, Effect::Await, self.workers[id.index()].key);
            if self.mutant(Mutant::TimedOutTakes) && availability == Availability::Free {
                self.take(id, lock, true);
            }
            return Performed::Continue(errno::ETIMEDOUT.into());
        }
        if waited && self.clock.cancel(id) {
            self.footprint.touch(Class::Clock, Effect::Write, 0);
        }
        match availability {
            Availability::Refused(error) => {
                self.touch_own(lock.place());
                Performed::Continue(error.into())
            }
            Availability::Busy => {
                assert!(
                    span_ns.is_some() && !waited,
                    "this is a bug in coyote-wasm: a lock was performed while taken"
                );
                self.touch_place(lock.place(), Effect::Read);
                self.block(id, span_ns)
            }
            Availability::Free | Availability::Again => {
                self.take(id, lock, span_ns.is_some() && !waited);
                Performed::Continue(0)
            }
        }
    }

    pub(super) fn try_lock(&mut self, id: WorkerId, lock: Lock, values: &[u64]) -> Performed {
        let availability = self.availability(id, lock);
        let fails = match availability {
            Availability::Again => false,
            Availability::Free => match self.fails_for_no_reason(values) {
                Ok(fails) => fails,
                Err(bound) => return Performed::NeedsValue(bound),
            },
            _ => true,
        };
        if !fails {
            self.take(id, lock, true);
            return Performed::Continue(0);
        }
        match availability {
            Availability::Refused(_) => self.touch_own(lock.place()),
            _ => self.touch_place(lock.place(), Effect::Read),
        }
        let error =
            if availability == Availability::Refused(errno::EAGAIN) { errno::EAGAIN } else { lock.busy() };
        Performed::Continue(error.into())
    }

    /// Releases an object that the worker holds. The error says which workers hold it instead.
    pub(super) fn release(&mut self, id: WorkerId, place: ObjectId) -> Result<i32, ObjectState> {
        if place.class == Class::Mutex && self.mutant(Mutant::NestedLocksAreNotCounted) {
            self.sync.mutexes.update(place.address, |m| m.holder = m.holder.map(|(holder, _)| (holder, 1)));
        }
        let released = self.sync.release(id, place);
        if released == Released::Misuse && self.unlocks_for_others(place) {
            // This concerns both the holder and the next worker that takes the mutex.
            self.touch_place(place, Effect::Write);
            self.synchronise(HbObject::Object(place), SyncKind::Release);
            self.sync.mutexes.update(place.address, |m| m.holder = None);
            self.changed(place);
            return Ok(0);
        }
        match released {
            Released::Free | Released::Misuse => self.touch_place(place, Effect::Release),
            Released::Shared => self.touch_place(place, Effect::Unshare),
            // At its maximum, a semaphore's value matters to workers that post.
            Released::Refused(_) if place.class == Class::Semaphore => {
                self.touch_place(place, Effect::Write);
            }
            Released::Still | Released::Refused(_) => self.touch_own(place),
        }
        match released {
            Released::Free | Released::Shared => {
                // Who posts is who wakes.
                self.current = Some(id);
                if place.class != Class::Semaphore || !self.mutant(Mutant::PostWakesNobody) {
                    self.changed(place);
                }
                Ok(0)
            }
            Released::Still => Ok(0),
            Released::Refused(error) => Ok(error),
            Released::Misuse => Err(match self.holders(place) {
                holders if holders.is_empty() => ObjectState::Unlocked,
                holders => ObjectState::Held { by: holders.iter().map(|w| self.title(*w)).collect() },
            }),
        }
    }

    /// Whether an unlock by a worker that does not hold the lock is allowed. The lock is then free, as on systems that
    /// do not check this.
    pub(super) fn unlocks_for_others(&self, place: ObjectId) -> bool {
        self.foreign_unlocks && place.class == Class::Mutex
    }

    /// The titles of workers, in one text.
    pub fn titles(&self, workers: &[WorkerId]) -> String {
        let titles: Vec<String> = workers.iter().map(|w| self.title(*w)).collect();
        titles.join(" and ")
    }

    /// Sets the kind of a mutex that was never used, whatever was in its memory before. Commutes with
    /// everything, since the effect is the same at any time.
    pub fn mutex_kind(&mut self, mutex: u32, kind: u32) {
        let place = ObjectId { class: Class::Mutex, address: mutex };
        if let Some(kind) = Kind::from_number(kind)
            && self.workers.iter().all(|w| w.request.wants() != Some(place))
        {
            self.sync.mutexes.update(mutex, |m| *m = Mutex::new(kind));
        }
    }

    /// Initialises an object. The error says which worker still uses the old one.
    pub(super) fn init(&mut self, id: WorkerId, place: ObjectId, value: u32) -> Result<i32, ObjectState> {
        if !SyncObjects::allows(place.class, value) {
            return Ok(errno::EINVAL);
        }
        self.forget(id, place, false)?;
        self.sync.init(place, value);
        self.changed(place);
        Ok(0)
    }

    /// Puts an object back into its initial state. `held`: a worker may hold it. The error says which worker still uses
    /// it.
    pub(super) fn forget(&mut self, id: WorkerId, place: ObjectId, held: bool) -> Result<(), ObjectState> {
        let holder = self.holder(id, place);
        if held && holder.is_some() {
            // Its holder does not hold it any more.
            self.synchronise(HbObject::Object(place), SyncKind::Release);
        }
        let user = holder.filter(|_| !held).or_else(|| self.waiter(id, place));
        self.touch_place(place, Effect::Write);
        self.footprint.touch_internal(Effect::Write, Internal::Identity(place.address));
        if let Some(user) = user.filter(|_| !self.mutant(Mutant::DestroyedUnseen)) {
            return Err(user);
        }
        self.sync.forget(place);
        self.changed(place);
        Ok(())
    }

    /// Puts the mutexes and rwlocks in a block that a worker frees back into their initial state, if nobody waits for them:
    /// what is in the memory later is another object, also if these were held.
    pub fn forget_freed(&mut self, id: WorkerId, address: u32, bytes: u32) {
        let within = |place: &ObjectId| (address..address.saturating_add(bytes)).contains(&place.address);
        let held: Vec<ObjectId> = self.held().filter(within).collect();
        for place in held {
            if self.waiter(id, place).is_none() {
                self.touch_place(place, Effect::Write);
                self.sync.forget(place);
                self.changed(place);
            }
        }
    }

    /// The use of an object by a worker that holds it.
    fn holder(&self, id: WorkerId, place: ObjectId) -> Option<ObjectState> {
        let holder = *self.holders(place).first()?;
        Some(match holder == id {
            true => ObjectState::HeldByItself,
            false => ObjectState::Held { by: vec![self.title(holder)] },
        })
    }

    /// The use of an object by a worker that waits for it. Workers that are about to begin do not count.
    fn waiter(&self, id: WorkerId, place: ObjectId) -> Option<ObjectState> {
        let waits = |w: &WorkerId| {
            let worker = self.worker(*w);
            let in_queue = worker.waiting && worker.wake.is_none() && worker.request.queue() == Some(place);
            let begun = match worker.request {
                Request::Lock { .. } => worker.waiting && worker.wake.is_none(),
                _ => worker.waiting,
            };
            let blocked = self.pending(*w).state == WorkerState::Blocked;
            in_queue || (begun || blocked) && worker.request.wants() == Some(place)
        };
        let waiter = self.ids().filter(|w| *w != id).find(waits)?;
        Some(ObjectState::Awaited { by: self.title(waiter) })
    }

    /// Updates the workers that want an object which was taken, released or initialised: they become blocked
    /// or enabled.
    pub(super) fn changed(&mut self, place: ObjectId) {
        for id in self.ids() {
            let pending = self.pending[id.index()];
            // An operation on a semaphore names it as its object, which is checked first: there may be thousands of
            // workers, each with a semaphore of its own.
            if place.class == Class::Semaphore && pending.operation.object != u64::from(place.address) {
                continue;
            }
            let wants = pending.state != WorkerState::Ended && self.worker(id).request.wants() == Some(place);
            if wants {
                self.refresh_state(id);
                self.tell_of_post(place, id, pending.state);
                if self.mutant(Mutant::OnlyOneWaiterIsEnabled)
                    && self.pending(id).state == WorkerState::Enabled
                {
                    return;
                }
            }
        }
    }

    /// Tells strategies of a worker that waited for a semaphore and can go on: a message, or what it awaits, has come.
    /// Observers see what is done with the semaphore.
    fn tell_of_post(&mut self, place: ObjectId, worker: WorkerId, before: WorkerState) {
        let enabled = before == WorkerState::Blocked && self.pending(worker).state == WorkerState::Enabled;
        if place.class == Class::Semaphore
            && enabled
            && let Some(by) = self.current
        {
            self.events.push(Event::Woken { by, worker });
        }
    }

    /// Whether a try fails though it could succeed: a fault that the user allowed, chosen by a value. The
    /// error is the bound of the value that is missing.
    fn fails_for_no_reason(&mut self, values: &[u64]) -> Result<bool, u64> {
        Ok(self.fault(FaultClass::TryLock, 1, values)? > 0)
    }
}
