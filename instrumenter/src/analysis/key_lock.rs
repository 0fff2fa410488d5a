//! The lock of the keys of thread-specific data in wasi-libc, which uses musl's.
//!
//! Creating and deleting a key takes this rwlock to write, and each thread that ends takes it to read while it looks for
//! destructors, which it calls after it has released it. Nobody waits for anything else while holding it. So sections that
//! hold it can be atomic, and then the lock itself is never contended: its accesses are left out, and those of the keys
//! still count.

use crate::code::{constant, instructions, sequences};
use std::collections::BTreeSet;
use walrus::ir::*;
use walrus::{FunctionId, LocalFunction};

/// The functions that use the lock; their names are reserved for the C library.
pub const USERS: [&str; 3] = ["__pthread_tsd_run_dtors", "__pthread_key_create", "__pthread_key_delete"];

/// What a call does to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Acquire,
    Release,
}

/// The lock's functions and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLock {
    lock: i32,
    acquires: BTreeSet<FunctionId>,
    release: FunctionId,
}

impl KeyLock {
    /// Finds the lock among the functions of a module. `None`: it has none, or somebody else uses it, too.
    pub fn find<'a>(
        functions: impl Iterator<Item = (FunctionId, &'a str, &'a LocalFunction)>,
    ) -> Option<KeyLock> {
        let functions: Vec<_> = functions.collect();
        let named = |wanted: &str| functions.iter().find(|(_, name, _)| *name == wanted).map(|(id, ..)| *id);
        let acquires = ["__pthread_rwlock_rdlock", "__pthread_rwlock_wrlock"].map(named);
        let mut list = KeyLock {
            lock: 0,
            acquires: acquires.into_iter().flatten().collect(),
            release: named("__pthread_rwlock_unlock")?,
        };
        let users =
            || functions.iter().filter(|(_, name, _)| USERS.contains(name)).map(|(.., function)| *function);
        let locks: BTreeSet<i32> = users().flat_map(|function| list.locks(function)).collect();
        let [lock] = locks.into_iter().collect::<Vec<_>>()[..] else { return None };
        list.lock = lock;
        // Each of them names the lock in its calls alone, and nobody else does.
        let is_lock = |(instr, _): &&(Instr, InstrLocId)| constant(instr) == Some(lock);
        let all = functions.iter().map(|(.., function)| instructions(function).filter(is_lock).count());
        (all.sum::<usize>() == users().map(|function| list.locks(function).len()).sum()).then_some(list)
    }

    /// The locks of a function's calls.
    fn locks(&self, function: &LocalFunction) -> Vec<i32> {
        let pairs = |sequence| {
            let instrs = &function.block(sequence).instrs;
            instrs.windows(2).filter_map(|pair| self.called(&pair[1].0).and(constant(&pair[0].0)))
        };
        sequences(function).into_iter().flat_map(pairs).collect()
    }

    fn called(&self, instr: &Instr) -> Option<Act> {
        match instr {
            Instr::Call(i) if self.acquires.contains(&i.func) => Some(Act::Acquire),
            Instr::Call(i) if i.func == self.release => Some(Act::Release),
            _ => None,
        }
    }

    /// What an instruction does to the lock, which comes after `before`.
    pub fn act(&self, before: Option<&Instr>, instr: &Instr) -> Option<Act> {
        self.called(instr).filter(|_| before.and_then(constant) == Some(self.lock))
    }
}
