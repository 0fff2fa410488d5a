//! The sync objects of an execution: their classes, their holders, and the effects of acquire and release.
//!
//! - `mutex`, `rwlock`, `semaphore`, `barrier`, `queue`: the state of one object. `objects` finds it by its address.
//! - `lock`: what locks have in common.
//!
//! A new class is a file, a table here, and an arm in each `match` below. The effects of operations on workers are in
//! `locks` and `waits`.

mod barrier;
mod lock;
mod mutex;
mod objects;
mod queue;
mod rwlock;
mod semaphore;

use super::term::{Part, term};
use crate::object_id::ObjectId;
pub(super) use barrier::{Arrival, Barrier};
use coyote_abi::errno;
use coyote_strategies::{Class, Effect, WorkerId};
pub(super) use lock::{Availability, Released};
pub(super) use mutex::{Kind, Mutex};
use objects::Objects;
pub(super) use queue::{Queue, Selection};
use rwlock::Rwlock;
use semaphore::Semaphore;
use std::hash::Hash;

/// A lock that a worker wants to take, by the address of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    Mutex(u32),
    Read(u32),
    Write(u32),
    Semaphore(u32),
}

impl Lock {
    pub fn place(self) -> ObjectId {
        let (class, address) = match self {
            Lock::Mutex(address) => (Class::Mutex, address),
            Lock::Read(address) | Lock::Write(address) => (Class::Rwlock, address),
            Lock::Semaphore(address) => (Class::Semaphore, address),
        };
        ObjectId { class, address }
    }

    /// The error of a try where a call that waits would block.
    pub fn busy(self) -> i32 {
        if matches!(self, Lock::Semaphore(_)) { errno::EAGAIN } else { errno::EBUSY }
    }

    /// The purpose of a wait for it, as text before the name of the object.
    pub fn purpose(self) -> &'static str {
        match self {
            Lock::Mutex(_) => "to lock",
            Lock::Read(_) => "to read under",
            Lock::Write(_) => "to write under",
            Lock::Semaphore(_) => "for",
        }
    }

    /// The effect of taking it; `tried`: without waiting.
    pub fn effect(self, tried: bool) -> Effect {
        match (self, tried) {
            (Lock::Read(_), false) => Effect::Share,
            (Lock::Read(_), true) => Effect::TryShare,
            (_, false) => Effect::Acquire,
            (_, true) => Effect::TryAcquire,
        }
    }
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SyncObjects {
    pub mutexes: Objects<Mutex>,
    pub rwlocks: Objects<Rwlock>,
    pub semaphores: Objects<Semaphore>,
    pub barriers: Objects<Barrier>,
    pub condvars: Objects<Queue>,
    pub futexes: Objects<Queue>,
}

impl SyncObjects {
    /// Whether a worker can take a lock now.
    pub fn availability(&self, id: WorkerId, lock: Lock) -> Availability {
        match lock {
            Lock::Mutex(address) => {
                self.mutexes.get(address).map_or(Availability::Free, |m| m.availability(id))
            }
            Lock::Read(address) => {
                self.rwlocks.get(address).map_or(Availability::Free, |l| l.availability_to_read(id))
            }
            Lock::Write(address) => {
                self.rwlocks.get(address).map_or(Availability::Free, |l| l.availability_to_write(id))
            }
            Lock::Semaphore(address) => {
                self.semaphores.get(address).map_or(Availability::Busy, Semaphore::availability)
            }
        }
    }

    /// Takes a lock; its availability must have allowed it.
    pub fn take(&mut self, id: WorkerId, lock: Lock) {
        match lock {
            Lock::Mutex(address) => self.mutexes.update(address, |m| m.take(id)),
            Lock::Read(address) => self.rwlocks.update(address, |l| l.take_to_read(id)),
            Lock::Write(address) => self.rwlocks.update(address, |l| l.take_to_write(id)),
            Lock::Semaphore(address) => self.semaphores.update(address, Semaphore::take),
        }
    }

    /// Releases an object that the worker holds.
    pub fn release(&mut self, id: WorkerId, place: ObjectId) -> Released {
        match place.class {
            Class::Mutex => self.mutexes.update(place.address, |m| m.release(id)),
            Class::Rwlock => self.rwlocks.update(place.address, |l| l.release(id)),
            Class::Semaphore => self.semaphores.update(place.address, Semaphore::release),
            other => unreachable!("this is a bug in coyote-wasm: a {} is not released", other.noun()),
        }
    }

    /// The holders of an object. A semaphore has none.
    pub fn holders(&self, place: ObjectId) -> Vec<WorkerId> {
        match place.class {
            Class::Mutex => {
                let holder = self.mutexes.get(place.address).and_then(|m| m.holder);
                holder.map(|held| held.0).into_iter().collect()
            }
            Class::Rwlock => {
                let lock = self.rwlocks.get(place.address);
                lock.into_iter()
                    .flat_map(|l| l.writer.into_iter().chain(l.readers.iter().map(|r| r.0)))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// All mutexes and rwlocks that are held.
    pub fn held(&self) -> impl Iterator<Item = ObjectId> {
        let place = |class| move |address| ObjectId { class, address };
        let mutexes = self.mutexes.iter().filter(|(_, m)| m.holder.is_some()).map(|(address, _)| address);
        let locks = self.rwlocks.iter().filter(|(_, l)| l.writer.is_some() || !l.readers.is_empty());
        mutexes.map(place(Class::Mutex)).chain(locks.map(|(address, _)| address).map(place(Class::Rwlock)))
    }

    /// Whether a worker holds any object.
    pub fn holds(&self, id: WorkerId) -> bool {
        self.mutexes.iter().any(|(_, m)| m.holder.is_some_and(|held| held.0 == id))
            || self.rwlocks.iter().any(|(_, l)| l.writer == Some(id) || l.readers.iter().any(|r| r.0 == id))
    }

    /// Whether a release would be one by a reader, after which other readers may hold the object.
    pub fn is_shared(&self, place: ObjectId) -> bool {
        place.class == Class::Rwlock && self.rwlocks.get(place.address).is_some_and(|l| l.writer.is_none())
    }

    /// Whether an object of the class can be initialised with a value: a mutex's kind, a semaphore's value, a barrier's
    /// count.
    pub fn allows(class: Class, value: u32) -> bool {
        match class {
            Class::Mutex => Kind::from_number(value).is_some(),
            Class::Semaphore => Semaphore::new(value).is_some(),
            Class::Barrier => Barrier::new(value).is_some(),
            Class::Rwlock | Class::Condvar => true,
            other => unreachable!("this is a bug in coyote-wasm: a {} is not initialised", other.noun()),
        }
    }

    /// Initialises an object with a value, which must be allowed.
    pub fn init(&mut self, place: ObjectId, value: u32) {
        const ALLOWED: &str = "the value is allowed";
        let address = place.address;
        match place.class {
            Class::Mutex => {
                let kind = Kind::from_number(value).expect(ALLOWED);
                self.mutexes.update(address, |m| *m = Mutex::new(kind));
            }
            Class::Semaphore => {
                let new = Semaphore::new(value).expect(ALLOWED);
                self.semaphores.update(address, |s| *s = new);
            }
            Class::Barrier => {
                let new = Barrier::new(value).expect(ALLOWED);
                self.barriers.update(address, |b| *b = new);
            }
            _ => self.forget(place),
        }
    }

    /// Puts an object back into its initial state.
    pub fn forget(&mut self, place: ObjectId) {
        match place.class {
            Class::Mutex => self.mutexes.update(place.address, |m| *m = Mutex::default()),
            Class::Rwlock => self.rwlocks.update(place.address, |l| *l = Rwlock::default()),
            Class::Semaphore => self.semaphores.update(place.address, |s| *s = Semaphore::default()),
            Class::Barrier => self.barriers.update(place.address, |b| *b = Barrier::default()),
            // Nothing but their waiters.
            Class::Condvar | Class::Futex => {}
            other => unreachable!("this is a bug in coyote-wasm: a {} is no sync object", other.noun()),
        }
    }

    /// The part of a fingerprint for sync objects. `key`: the number that stands for a worker.
    pub fn digest(&self, key: &dyn Fn(WorkerId) -> u64) -> u128 {
        // Every field is listed, so that a new class needs a decision here.
        let SyncObjects {
            mutexes,
            rwlocks,
            semaphores,
            barriers,
            // The state of a worker says in which queue it waits.
            condvars: _,
            futexes: _,
        } = self;
        let mut sum = 0u128;
        for (address, mutex) in mutexes.iter() {
            let holder = mutex.holder.map(|(w, times)| (key(w), times));
            sum = sum.wrapping_add(term(Part::Mutex, &|h| (address, mutex.kind, holder).hash(h)));
        }
        for (address, lock) in rwlocks.iter() {
            let writer = lock.writer.map(key);
            sum = sum.wrapping_add(term(Part::Rwlock, &|h| (address, writer, lock.readers.len()).hash(h)));
            for (reader, times) in &lock.readers {
                sum = sum.wrapping_add(term(Part::Reader, &|h| (address, key(*reader), times).hash(h)));
            }
        }
        for (address, semaphore) in semaphores.iter() {
            sum = sum.wrapping_add(term(Part::Semaphore, &|h| (address, semaphore).hash(h)));
        }
        for (address, barrier) in barriers.iter() {
            // The state of a worker also says where it has arrived.
            sum = sum.wrapping_add(term(Part::Barrier, &|h| (address, barrier.count).hash(h)));
        }
        sum
    }
}
