//! The programs of the toy machine.

use super::lock::{Lock, Manner};
use crate::Class;

/// One instruction of a worker. Variables, locks, rwlocks, semaphores and condvars are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// Reads a variable into the worker's register.
    Load(u8),
    /// Writes the register plus a constant.
    Store(u8, i8),
    /// Writes a constant; the register does not change.
    Set(u8, i8),
    /// Adds to a variable atomically; the register gets the old value.
    Rmw(u8, i8),
    /// Writes a constant; the register gets the old value.
    Swap(u8, i8),
    /// Writes the last constant if the variable has the first; the register becomes 1 if so, else 0.
    Cas(u8, i8, i8),
    /// Takes a lock, waiting until it is free.
    Lock(u8),
    /// The register becomes 1 if it got the lock, else 0 and the next instruction is skipped.
    TryLock(u8),
    /// As `TryLock`, but waits for a span of time.
    LockTimeout(u8, u8),
    /// Releases a lock.
    Unlock(u8),
    /// Takes an rwlock together with other readers, waiting until no worker has it for writing.
    ReadLock(u8),
    /// Acquires an rwlock for reading without waiting: see `TryLock`.
    TryReadLock(u8),
    /// Acquires an rwlock alone, waiting until it is free.
    WriteLock(u8),
    /// As `WriteLock`, without waiting: see `TryLock`.
    TryWriteLock(u8),
    /// Releases an rwlock, held in either way.
    RwUnlock(u8),
    /// Takes one from a semaphore, which begins with 0.
    SemaphoreWait(u8),
    /// As `SemaphoreWait`, without waiting: see `TryLock`.
    SemaphoreTryWait(u8),
    /// Adds one to a semaphore.
    SemaphorePost(u8),
    /// Waits at a condvar, releasing a lock and acquiring it again: the second half is a separate step.
    Wait(u8, u8),
    /// As `Wait`, for a span of time at most: the register becomes 1 if it timed out, else 0.
    WaitTimeout(u8, u8, u8),
    /// Wakes one waiter; which one is a choice if there are several.
    Signal(u8),
    /// Wakes all waiters of a condvar.
    Broadcast(u8),
    /// Blocks for a span of time; continuing is a separate step.
    Sleep(u8),
    /// Starts a worker of the program that has not been started.
    Spawn(u8),
    /// Waits until a worker has ended.
    Join(u8),
    /// The register becomes a chosen value below the bound.
    Choose(u8),
    /// Writes a constant to one of the first variables, as many as the first number says; which one is chosen.
    SetOneOf(u8, i8),
    /// Skips some instructions unless the register has this value: the value, the number of instructions.
    SkipUnless(i8, u8),
    /// Goes back some instructions unless the register has this value, a loop: the value, the number of instructions.
    BackUnless(i8, u8),
    /// Reads a variable repeatedly until it equals the register: a loop of one step.
    Until(u8),
    /// A bug unless the register has this value.
    Assert(i8),
    /// The worker is stuck unless the register has this value.
    Assume(i8),
    /// As `Assume`, but the register must not have the value.
    AssumeNot(i8),
    /// Does nothing, and announces that other workers should run.
    Yield,
    /// The next instructions, as many as the number says, are an atomic section: as long as its worker is
    /// enabled, it is the only one that can be picked. Instructions that are announced as a yield let other
    /// workers run.
    Section(u8),
    /// Gives the explorer a hint.
    Hint(i8),
    /// Makes a monitor cold (0), warm (1) or hot (2).
    Monitor(u8, u8),
    /// Makes a monitor cold and hot again, in one step.
    Renew(u8),
}

impl Instruction {
    /// The lock that it acquires, and how.
    pub(super) fn takes(self) -> Option<(Lock, Manner)> {
        Some(match self {
            Instruction::Lock(l) => (Lock::Mutex(l), Manner::Wait),
            Instruction::TryLock(l) => (Lock::Mutex(l), Manner::Try),
            Instruction::LockTimeout(l, span) => (Lock::Mutex(l), Manner::Timed(span)),
            Instruction::ReadLock(l) => (Lock::Read(l), Manner::Wait),
            Instruction::TryReadLock(l) => (Lock::Read(l), Manner::Try),
            Instruction::WriteLock(l) => (Lock::Write(l), Manner::Wait),
            Instruction::TryWriteLock(l) => (Lock::Write(l), Manner::Try),
            Instruction::SemaphoreWait(s) => (Lock::Semaphore(s), Manner::Wait),
            Instruction::SemaphoreTryWait(s) => (Lock::Semaphore(s), Manner::Try),
            _ => return None,
        })
    }

    /// The object that it releases.
    pub(super) fn gives_back(self) -> Option<(Class, u8)> {
        match self {
            Instruction::Unlock(l) => Some((Class::Mutex, l)),
            Instruction::RwUnlock(l) => Some((Class::Rwlock, l)),
            Instruction::SemaphorePost(s) => Some((Class::Semaphore, s)),
            _ => None,
        }
    }
}

/// The workers' instructions. Worker 0 starts by itself, the others by `Spawn`; if no instruction spawns, all
/// start.
pub type Program = Vec<Vec<Instruction>>;
