//! Locks as POSIX defines them, in the simplest form: lists of holders.

use super::program::Action::{self, *};
use std::collections::{BTreeMap, BTreeSet};

/// WASI's error numbers.
pub const EAGAIN: u8 = 6;
pub const EBUSY: u8 = 10;
pub const EDEADLK: u8 = 16;
pub const EINVAL: u8 = 28;
pub const EPERM: u8 = 63;
pub const ETIMEDOUT: u8 = 73;

/// Workers are identified by their place in the program. A worker is in a list once for each time that it
/// holds the object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Objects {
    kinds: BTreeMap<u32, u32>,
    locked: BTreeMap<u32, Vec<usize>>,
    writing: BTreeMap<u32, usize>,
    reading: BTreeMap<u32, Vec<usize>>,
    values: BTreeMap<u32, u32>,
    /// Whether unlocks that POSIX leaves undefined are allowed.
    foreign_unlocks: bool,
    pub barriers: BTreeMap<u32, (u32, BTreeSet<usize>)>,
}

/// The result of a call, unless it waits for a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// It returns this value, and the objects become these.
    Returns(u8, Objects),
    Blocks,
    /// POSIX does not define it.
    Undefined,
}

use Call::{Blocks, Returns, Undefined};

impl Objects {
    pub fn new(foreign_unlocks: bool) -> Objects {
        Objects { foreign_unlocks, ..Objects::default() }
    }

    fn kind(&self, m: u32) -> u32 {
        self.kinds.get(&m).copied().unwrap_or(0)
    }

    pub fn holders(&self, m: u32) -> &[usize] {
        self.locked.get(&m).map_or(&[], |held| held)
    }

    fn readers(&self, l: u32) -> &[usize] {
        self.reading.get(&l).map_or(&[], |readers| readers)
    }

    fn value(&self, s: u32) -> u32 {
        self.values.get(&s).copied().unwrap_or(0)
    }

    /// Whether a worker has a lock.
    pub fn holds(&self, w: usize) -> bool {
        self.locked.values().chain(self.reading.values()).any(|held| held.contains(&w))
            || self.writing.values().any(|writer| *writer == w)
    }

    /// The workers that must release what a call waits for; none if other workers can release it too.
    pub fn who_can_free(&self, call: Action) -> Vec<usize> {
        match call {
            Lock(m) if self.foreign_unlocks && self.kind(m) == 0 => Vec::new(),
            Lock(m) => self.holders(m).to_vec(),
            Read(l) | Write(l) => self.writing.get(&l).into_iter().chain(self.readers(l)).copied().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the worker already holds what a call takes: then it can take it once more without waiting.
    pub fn holds_for(&self, w: usize, call: Action) -> bool {
        match call {
            Lock(m) => self.holders(m).contains(&w),
            Read(l) => self.readers(l).contains(&w),
            _ => false,
        }
    }

    /// The result of a call without a timeout, by a worker.
    pub fn call(&self, w: usize, action: Action) -> Option<Call> {
        let mut next = self.clone();
        let mut done = |change: &mut dyn FnMut(&mut Objects)| {
            change(&mut next);
            Returns(0, next.clone())
        };
        let fails = |error| Returns(error, self.clone());
        Some(match action {
            Lock(m) => match (self.holders(m), self.kind(m)) {
                ([], _) => done(&mut |o| o.locked.entry(m).or_default().push(w)),
                (held, 1) if held.contains(&w) => done(&mut |o| o.locked.entry(m).or_default().push(w)),
                (held, 2) if held.contains(&w) => fails(EDEADLK),
                _ => Blocks,
            },
            Unlock(m) if self.holders(m).contains(&w) => done(&mut |o| remove(&mut o.locked, m, w)),
            Unlock(m) if self.kind(m) == 0 && self.foreign_unlocks => done(&mut |o| {
                o.locked.remove(&m);
            }),
            Unlock(m) if self.kind(m) == 0 => Undefined,
            Unlock(_) => fails(EPERM),
            Read(l) => match self.writing.get(&l) {
                None => done(&mut |o| {
                    o.reading.entry(l).or_default().push(w);
                    o.reading.entry(l).or_default().sort();
                }),
                Some(writer) if *writer == w => fails(EDEADLK),
                Some(_) => Blocks,
            },
            Write(l) => match self.writing.get(&l) {
                Some(writer) if *writer == w => fails(EDEADLK),
                None if self.readers(l).is_empty() => done(&mut |o| {
                    o.writing.insert(l, w);
                }),
                _ => Blocks,
            },
            RwUnlock(l) if self.writing.get(&l) == Some(&w) => done(&mut |o| {
                o.writing.remove(&l);
            }),
            RwUnlock(l) if self.readers(l).contains(&w) => done(&mut |o| remove(&mut o.reading, l, w)),
            RwUnlock(_) => Undefined,
            Down(s) if self.value(s) == 0 => Blocks,
            Down(s) => done(&mut |o| *o.values.entry(s).or_default() -= 1),
            Up(s) => done(&mut |o| *o.values.entry(s).or_default() += 1),
            Value(s) => fails(self.value(s) as u8),
            MutexInit(_, kind) if kind > 2 => fails(EINVAL),
            MutexInit(m, kind) => done(&mut |o| {
                o.kinds.insert(m, kind);
            }),
            MutexDestroy(m) => done(&mut |o| {
                o.kinds.remove(&m);
            }),
            MutexDiscard(m) => done(&mut |o| {
                o.kinds.remove(&m);
                o.locked.remove(&m);
            }),
            RwDestroy(_) | CondvarDestroy(_) => done(&mut |_| {}),
            SemaphoreInit(s, value) => done(&mut |o| {
                o.values.insert(s, value);
            }),
            SemaphoreDestroy(s) => done(&mut |o| {
                o.values.remove(&s);
            }),
            BarrierInit(_, 0) => fails(EINVAL),
            BarrierInit(b, count) => done(&mut |o| {
                o.barriers.insert(b, (count, BTreeSet::new()));
            }),
            BarrierDestroy(b) => done(&mut |o| {
                o.barriers.remove(&b);
            }),
            _ => return None,
        })
    }

    /// The call that an attempt without waiting consists of, and its result if that would block.
    pub fn attempted(action: Action) -> Option<(Action, u8)> {
        match action {
            TryLock(m) => Some((Lock(m), EBUSY)),
            TryRead(l) => Some((Read(l), EBUSY)),
            TryWrite(l) => Some((Write(l), EBUSY)),
            TryDown(s) => Some((Down(s), EAGAIN)),
            _ => None,
        }
    }

    /// The call that one with a timeout consists of, and the timeout.
    pub fn timed(action: Action) -> Option<(Action, u64)> {
        match action {
            LockFor(m, ns) => Some((Lock(m), ns)),
            ReadFor(l, ns) => Some((Read(l), ns)),
            WriteFor(l, ns) => Some((Write(l), ns)),
            DownFor(s, ns) => Some((Down(s), ns)),
            _ => None,
        }
    }

    /// Whether a call initialises or destroys an object that is held.
    pub fn disturbs(&self, action: Action) -> bool {
        match action {
            MutexInit(m, 0..=2) | MutexDestroy(m) => !self.holders(m).is_empty(),
            RwDestroy(l) => self.writing.contains_key(&l) || !self.readers(l).is_empty(),
            BarrierInit(b, 1..) | BarrierDestroy(b) => {
                self.barriers.get(&b).is_some_and(|(_, arrived)| !arrived.is_empty())
            }
            _ => false,
        }
    }

    /// Whether two calls are about the same object, the first one initialising or destroying it.
    pub fn same(disturbing: Action, call: Action) -> bool {
        match (disturbing, call) {
            (MutexInit(m, 0..=2) | MutexDestroy(m) | MutexDiscard(m), Lock(n)) => m == n,
            (RwDestroy(l), Read(n) | Write(n)) => l == n,
            (SemaphoreInit(s, _) | SemaphoreDestroy(s), Down(n)) => s == n,
            _ => false,
        }
    }
}

fn remove(lists: &mut BTreeMap<u32, Vec<usize>>, n: u32, w: usize) {
    let list = lists.entry(n).or_default();
    let at = list.iter().position(|x| *x == w).expect("it is there");
    list.remove(at);
}
