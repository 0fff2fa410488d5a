//! What can be taken and given back, whatever it is: one way to ask, to take and to wait for it.
//!
//! Nothing is handed over. Whoever can go on when something is free may take it, waiter or newcomer, and
//! readers may overtake a writer that waits as well as the other way round: POSIX leaves it open, so all
//! of it can happen.

use coyote_abi::errno;
use coyote_strategies::{Class, Effect, WorkerId};

/// A sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct ObjectId {
    /// What kind of object it is.
    pub class: Class,
    /// Where it lies in guest memory.
    pub address: u32,
}

impl ObjectId {
    /// As reports name it.
    pub fn title(self) -> String {
        format!("{} at {:#x}", self.noun(), self.address)
    }

    /// What it is.
    pub fn noun(self) -> &'static str {
        match self.class {
            Class::Mutex => "mutex",
            Class::Rwlock => "rwlock",
            Class::Semaphore => "semaphore",
            Class::Barrier => "barrier",
            Class::Condvar => "condvar",
            Class::Futex => "futex",
            _ => "object",
        }
    }
}

/// What a worker wants to take, by the address of the object.
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

    /// What a try returns where a call that waits would block.
    pub fn busy(self) -> i32 {
        if matches!(self, Lock::Semaphore(_)) { errno::EAGAIN } else { errno::EBUSY }
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

/// Whether a worker can take something now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Free,
    /// The worker has it already and can take it once more, which nobody else notices.
    Again,
    /// Others have to give it back first.
    Busy,
    /// The call returns this error number: waiting would not help.
    Refused(i32),
}

/// What giving back did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Others may take it now.
    Free,
    /// A reader is gone, others may be left.
    Shared,
    /// The worker still has it, which nobody else notices.
    Still,
    /// Nothing: the call returns this error number.
    Refused(i32),
    /// Nothing: the worker does not have it, which POSIX leaves undefined.
    Misuse,
}

/// A worker that has a lock, and how many times.
pub type Held = (WorkerId, u32);
