//! What a step touches: the basis of happens-before.
//!
//! Recorded only when the execution is driven from outside; samplers do not ask. Everything that one
//! worker's step can change for another is an access, whether the guest's code does it or the host on its
//! behalf. Left out, and named in the verdicts of searches that rely on the relation, is what happens in
//! atomic functions ([`Runtime::atomic_enter`]) and which bytes a program writes to its output first.

use super::lock::Look;
use super::{Lock, Place, Request, Runtime, Wake};
use coyote_strategies::{Access, Class, Effect, OpKind, Operation, Pick, WorkerId};

/// The accesses of the present step.
#[derive(Debug, Default)]
pub struct Footprint {
    pub recording: bool,
    accesses: Vec<Access>,
}

/// A copy of a state belongs to no step.
impl Clone for Footprint {
    fn clone(&self) -> Footprint {
        Footprint::default()
    }
}

impl Footprint {
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    pub fn clear(&mut self) {
        self.accesses.clear();
    }

    pub fn extend(&mut self, accesses: Vec<Access>) {
        self.accesses.extend(accesses);
    }

    #[inline]
    pub fn touch(&mut self, class: Class, effect: Effect, object: u64) {
        if self.recording {
            self.accesses.push(Access::new(class, effect, object));
        }
    }

    /// An access of guest memory.
    #[inline]
    pub fn memory(&mut self, effect: Effect, address: u64, length: u64) {
        if self.recording {
            self.accesses.extend(bytes(effect, address, length));
        }
    }
}

/// An access of so many bytes of guest memory; nothing if there are none.
fn bytes(effect: Effect, address: u64, length: u64) -> Option<Access> {
    let size = length.min(u64::from(u32::MAX)) as u32;
    (size > 0).then_some(Access { class: Class::Memory, effect, object: address, size })
}

/// The guest memory at an operation's object, if that is what it accesses.
fn memory(operation: Operation) -> Option<Access> {
    let effect = if operation.kind.writes() { Effect::Write } else { Effect::Read };
    let access = bytes(effect, operation.object, operation.size.into());
    access.filter(|_| operation.kind.accesses_memory())
}

impl Runtime {
    /// A memory access is executed.
    pub fn touch(&mut self, operation: Operation) {
        if self.footprint.recording {
            self.footprint.accesses.extend(memory(operation));
        }
    }

    /// The worker executes its pending memory access or first step.
    pub(super) fn touch_plainly(&mut self, id: WorkerId) {
        if self.footprint.recording {
            let mut accesses = std::mem::take(&mut self.footprint.accesses);
            self.plain(id, &mut accesses);
            self.footprint.accesses = accesses;
        }
    }

    /// What a worker's pending operation touches, if the runtime has nothing to do for it.
    fn plain(&self, id: WorkerId, into: &mut Vec<Access>) {
        let operation = self.pending(id).operation;
        into.extend(memory(operation));
        match operation.kind {
            OpKind::Start => into.push(Access::new(Class::Birth, Effect::Await, id.0.into())),
            OpKind::Copy => {
                into.extend(bytes(Effect::Read, self.worker(id).copy_source.into(), operation.size.into()))
            }
            _ => {}
        }
    }

    /// What a pick is known to touch before it is executed: see `System::announced`.
    pub fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        let id = pick.worker();
        let worker = self.worker(id);
        if pick == Pick::Step(id) && worker.request == Request::Step {
            return self.plain(id, into);
        }
        let mut add = |class, effect, object: u32| into.push(Access::new(class, effect, object.into()));
        if let Pick::Timeout(_) = pick {
            if let Some(queue) = worker.request.queue() {
                add(queue.class, Effect::Write, queue.address);
            }
            if let Request::Lock { lock, .. } = worker.request {
                add(lock.place().class, Effect::Read, lock.place().address);
            }
            add(Class::Clock, Effect::Write, 0);
            return add(Class::Wake, Effect::Enable, id.0);
        }
        let awaits = match worker.wake {
            Some(wake) => wake != Wake::Spurious,
            None => !matches!(worker.request, Request::Lock { .. }),
        };
        if worker.waiting && awaits {
            add(Class::Wake, Effect::Await, id.0);
        }
        match worker.request {
            Request::Spawn(_) => add(Class::Counter, Effect::Write, 0),
            Request::Join { handle } => add(Class::End, Effect::Await, handle),
            // Its time was up.
            Request::Lock { .. } if worker.wake.is_some() => {}
            Request::Lock { lock, span_ns } => {
                let Place { class, address } = lock.place();
                let (look, timed) = (self.look(id, lock), span_ns.is_some());
                // Who waits without an end announces the lock also while it is taken.
                let begins = timed && !worker.waiting;
                match look {
                    Look::Busy if begins => add(class, Effect::Read, address),
                    Look::Busy => add(class, lock.effect(false), address),
                    Look::Free => add(class, lock.effect(begins), address),
                    Look::Again | Look::Refused(_) => {}
                }
                if worker.waiting || begins && look == Look::Busy {
                    add(Class::Clock, Effect::Write, 0);
                }
            }
            Request::Relock { mutex, .. } => {
                let lock = Lock::Mutex(mutex);
                if self.look(id, lock) != Look::Again {
                    add(Class::Mutex, Effect::Acquire, mutex);
                }
            }
            Request::TryLock { lock } => {
                let Place { class, address } = lock.place();
                match self.look(id, lock) {
                    Look::Free => add(class, lock.effect(true), address),
                    Look::Busy => add(class, Effect::Read, address),
                    Look::Again | Look::Refused(_) => {}
                }
            }
            Request::Unlock { place } => {
                let shared = place.class == Class::Rwlock
                    && self.rwlocks.get(place.address).is_some_and(|l| l.writer.is_none());
                add(place.class, if shared { Effect::Unshare } else { Effect::Release }, place.address);
            }
            Request::Init { place, .. } | Request::Destroy { place } | Request::Notify { place, .. } => {
                add(place.class, Effect::Write, place.address);
            }
            Request::SemaphoreValue { semaphore } => add(Class::Semaphore, Effect::Write, semaphore),
            Request::BarrierWait { barrier } if !worker.waiting => {
                add(Class::Barrier, Effect::Write, barrier);
            }
            Request::Wait { condvar, mutex, .. } => {
                add(Class::Mutex, Effect::Release, mutex);
                add(Class::Condvar, Effect::Write, condvar);
            }
            Request::FutexWait { address, bytes: width, .. } if !worker.waiting => {
                into.extend(bytes(Effect::Read, address.into(), width.into()));
            }
            Request::Sleep { .. } if !worker.waiting => add(Class::Clock, Effect::Write, 0),
            _ => {}
        }
    }
}
