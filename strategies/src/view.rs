//! The information that a strategy has at a choice.

use crate::Class;
use coyote_abi::OpKind;
use serde::{Deserialize, Serialize};

/// A worker's number within one execution, in the order of creation. It may differ between schedules;
/// [`crate::WorkerPath`] does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkerId(pub u32);

impl WorkerId {
    /// The number as an index of [`View::workers`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation that a worker is about to execute. It is announced before it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// The kind of the operation.
    pub kind: OpKind,
    /// Number of the place in the guest's code; [`Operation::NO_SITE`] for a step that has none, such as a
    /// worker's first.
    pub site: u32,
    /// The object of the operation: an address for memory and sync objects, a worker for spawn and join.
    pub object: u64,
    /// Bytes accessed from `object` on; 0 for objects without a size.
    pub size: u32,
}

impl Operation {
    /// The site of an operation that no instruction of the guest announced.
    pub const NO_SITE: u32 = u32::MAX;

    /// The first step of a worker.
    pub const START: Operation =
        Operation { kind: OpKind::Start, site: Operation::NO_SITE, object: 0, size: 0 };

    /// Whether two announced operations of different workers may not commute, as far as their announcements
    /// tell. Over-approximates for sync objects: same object means dependent; also for files, because a path
    /// may lead to any file.
    #[inline]
    pub fn dependent(&self, other: &Operation) -> bool {
        // Without branches, which would be mispredicted: strategies call this for every pair at every step.
        let (a, b) = (TRAITS[self.kind as usize], TRAITS[other.kind as usize]);
        let memory = (a & b & MEMORY != 0) & ((a | b) & WRITES != 0);
        let same = (self.object == other.object) & (self.object != 0);
        let sync = ((a | b) & MEMORY == 0) & same & ((a == b) | (a & b != 0));
        let files = (a | b) == FILES;
        (self.overlaps(other) & (memory | sync)) | files
    }

    /// Whether the ranges of the two objects overlap, whatever the objects are.
    #[inline]
    pub fn overlaps(&self, other: &Operation) -> bool {
        (self.object < other.object + u64::from(other.size.max(1)))
            & (other.object < self.object + u64::from(self.size.max(1)))
    }

    /// The object whose accesses can be put in different orders, if the operation has one. Accesses of
    /// overlapping memory at different addresses count as different objects; a release is no access, since
    /// only acquisitions compete; a futex counts as the memory that contains it.
    pub fn target(&self) -> Option<(Class, u64)> {
        match self.kind {
            OpKind::FutexNotify => Some((Class::Memory, self.object)),
            kind if kind.accesses_memory() => Some((Class::Memory, self.object)),
            // All files together are one object: which file a path leads to is not known before, nor which
            // files a library function accesses.
            OpKind::File | OpKind::Call => Some((Class::File, 0)),
            OpKind::ReadPoint | OpKind::WritePoint => Some((Class::Outside, self.object)),
            kind if kind.releases() => None,
            kind => Class::of_sync_object(kind).map(|class| (class, self.object)),
        }
    }
}

/// Traits of each kind of operation, by its number: memory that is accessed or written, files, otherwise a
/// bit for each class of sync objects, because objects of different classes may have the same address.
const TRAITS: [u16; 256] = {
    let mut traits = [0; 256];
    let mut i = 0;
    while i < OpKind::ALL.len() {
        let kind = OpKind::ALL[i];
        traits[kind as usize] = match kind {
            kind if kind.accesses_memory() && kind.writes() => MEMORY | WRITES,
            kind if kind.accesses_memory() => MEMORY,
            // These concern any class except futexes, which are memory.
            OpKind::Init | OpKind::Destroy => SYNC & !bit(Class::Futex),
            OpKind::File | OpKind::Call => FILES,
            kind => match Class::of_sync_object(kind) {
                Some(class) => bit(class),
                None => 0,
            },
        };
        i += 1;
    }
    traits
};

/// The bit of a class of sync objects.
const fn bit(class: Class) -> u16 {
    let bit = 1 << class as u16;
    assert!(bit < WRITES, "too many classes of sync objects for 16 bits");
    bit
}

const SYNC: u16 = !(MEMORY | WRITES);
const MEMORY: u16 = 0x8000;
const WRITES: u16 = 0x4000;
/// The bit of files: `WRITES` means nothing without `MEMORY`.
const FILES: u16 = WRITES;

/// Whether a worker is enabled, blocked or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerState {
    /// Its pending operation can be executed now.
    Enabled,
    /// Its pending operation has to wait for another worker or for a timeout.
    Blocked,
    /// It has ended.
    Ended,
}

/// A worker at a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pending {
    /// The pending operation, also if it cannot be executed.
    pub operation: Operation,
    /// Whether it can be executed now.
    pub state: WorkerState,
}

/// A scheduling decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pick {
    /// The worker executes its pending operation.
    Step(WorkerId),
    /// The worker's pending timeout fires. That wakes the worker; it does not count as a step of the worker.
    Timeout(WorkerId),
}

impl Pick {
    /// The worker that is picked.
    pub fn worker(self) -> WorkerId {
        match self {
            Pick::Step(worker) | Pick::Timeout(worker) => worker,
        }
    }
}

/// Everything that a strategy may use for a choice.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Workers whose pending operation can be executed now, ascending.
    pub enabled: &'a [WorkerId],
    /// Workers whose timeouts may fire now: those that end at the earliest time of all pending ones, in an order that
    /// does not depend on when they began.
    pub timeouts: &'a [WorkerId],
    /// Every worker of the execution, by [`WorkerId::index`].
    pub workers: &'a [Pending],
    /// The worker that executed the last step, if it has not ended.
    pub current: Option<WorkerId>,
    /// Steps executed so far.
    pub step: u64,
    /// How often the state of any worker has changed in this execution, including creations: while this
    /// number is the same, no state has changed.
    pub changes: u64,
    /// Whether a worker in an atomic section prevents all others, and timeouts, from being picked.
    pub in_section: bool,
    /// If the requested value decides whether a fault strikes (0 means that none does): the *kind* of fault,
    /// which is the number of a class of faults or of a fault point of the guest. `None` if the value is the
    /// program's own.
    pub fault: Option<u64>,
}

impl View<'_> {
    /// How many picks are possible.
    pub fn choices(&self) -> usize {
        self.enabled.len() + self.timeouts.len()
    }

    /// Whether this worker can be picked. Its state is not sufficient: a worker inside an atomic function is
    /// the only one that can be picked.
    #[inline]
    pub fn can_step(&self, worker: WorkerId) -> bool {
        self.enabled.contains(&worker)
    }

    /// Whether this pick is possible.
    pub fn allows(&self, pick: Pick) -> bool {
        match pick {
            Pick::Step(worker) => self.can_step(worker),
            Pick::Timeout(worker) => self.timeouts.contains(&worker),
        }
    }

    /// All possible picks: the steps, then the timeouts.
    pub fn picks(&self) -> impl Iterator<Item = Pick> {
        let steps = self.enabled.iter().map(|worker| Pick::Step(*worker));
        steps.chain(self.timeouts.iter().map(|worker| Pick::Timeout(*worker)))
    }
}
