//! Locks of the toy machine: mutexes, rwlocks and semaphores.

use crate::system::{Class, Effect};
use crate::{OpKind, WorkerId};

/// A lock operation, with the number of the object among those of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lock {
    Mutex(u8),
    Read(u8),
    Write(u8),
    Semaphore(u8),
}

/// How a worker behaves if the lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Wait,
    /// Continues without it.
    Try,
    /// Waits for a span of time at most.
    Timed(u8),
}

impl Lock {
    /// The object.
    pub fn place(self) -> (Class, u8) {
        match self {
            Lock::Mutex(number) => (Class::Mutex, number),
            Lock::Read(number) | Lock::Write(number) => (Class::Rwlock, number),
            Lock::Semaphore(number) => (Class::Semaphore, number),
        }
    }

    /// The effect of acquiring it; `tried`: without waiting.
    pub fn effect(self, tried: bool) -> Effect {
        match (self, tried) {
            (Lock::Read(_), false) => Effect::Share,
            (Lock::Read(_), true) => Effect::TryShare,
            (_, false) => Effect::Acquire,
            (_, true) => Effect::TryAcquire,
        }
    }

    pub fn kind(self, manner: Manner) -> OpKind {
        match (self, manner == Manner::Try) {
            (Lock::Mutex(_), false) => OpKind::Lock,
            (Lock::Mutex(_), true) => OpKind::TryLock,
            (Lock::Read(_), false) => OpKind::ReadLock,
            (Lock::Read(_), true) => OpKind::TryReadLock,
            (Lock::Write(_), false) => OpKind::WriteLock,
            (Lock::Write(_), true) => OpKind::TryWriteLock,
            (Lock::Semaphore(_), false) => OpKind::SemaphoreWait,
            (Lock::Semaphore(_), true) => OpKind::SemaphoreTryWait,
        }
    }
}

/// The holders of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Locks {
    mutexes: [Option<WorkerId>; 8],
    rwlocks: [Rwlock; 4],
    /// Values.
    semaphores: [u8; 4],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Rwlock {
    writer: Option<WorkerId>,
    /// A bit for each worker.
    readers: u32,
}

impl Locks {
    /// Whether the lock can be acquired now.
    pub fn free(&self, lock: Lock) -> bool {
        match lock {
            Lock::Mutex(number) => self.mutexes[number as usize].is_none(),
            Lock::Read(number) => self.rwlocks[number as usize].writer.is_none(),
            Lock::Write(number) => self.rwlocks[number as usize] == Rwlock::default(),
            Lock::Semaphore(number) => self.semaphores[number as usize] > 0,
        }
    }

    /// Lets the worker acquire the lock, which is free.
    pub fn take(&mut self, id: WorkerId, lock: Lock) {
        match lock {
            Lock::Mutex(number) => self.mutexes[number as usize] = Some(id),
            Lock::Read(number) => self.rwlocks[number as usize].readers |= 1 << id.0,
            Lock::Write(number) => self.rwlocks[number as usize].writer = Some(id),
            Lock::Semaphore(number) => self.semaphores[number as usize] -= 1,
        }
    }

    /// The effect of releasing an object.
    pub fn release_effect(&self, (class, number): (Class, u8)) -> Effect {
        let shared = class == Class::Rwlock && self.rwlocks[number as usize].writer.is_none();
        if shared { Effect::Unshare } else { Effect::Release }
    }

    /// Releases an object. Returns whether the worker held it; a semaphore has no holder.
    pub fn release(&mut self, id: WorkerId, (class, number): (Class, u8)) -> bool {
        let number = number as usize;
        match class {
            Class::Mutex => self.mutexes[number].take() == Some(id),
            Class::Rwlock if self.rwlocks[number].writer.is_some() => {
                self.rwlocks[number].writer.take() == Some(id)
            }
            Class::Rwlock => {
                let before = self.rwlocks[number].readers;
                self.rwlocks[number].readers = before & !(1 << id.0);
                before != self.rwlocks[number].readers
            }
            _ => {
                self.semaphores[number] += 1;
                true
            }
        }
    }
}
