//! What can be known at a choice.

use crate::Class;
use coyote_abi::OpKind;
use serde::{Deserialize, Serialize};

/// A worker's number within one execution, in the order of creation. Not stable across schedules;
/// see [`crate::WorkerPath`] for what is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WorkerId(pub u32);

impl WorkerId {
    /// The number as an index of [`View::workers`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a worker is about to do. Announced before it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation {
    /// What is done.
    pub kind: OpKind,
    /// Number of the place in the guest's code; [`Operation::NO_SITE`] for a step that has none,
    /// such as a worker's first.
    pub site: u32,
    /// What it is done to: an address for memory and sync objects, a worker for spawn and join.
    pub object: u64,
    /// Bytes accessed from `object` on; 0 where that has no meaning.
    pub size: u32,
}

impl Operation {
    /// The site of an operation that no instruction of the guest announced.
    pub const NO_SITE: u32 = u32::MAX;

    /// The first step of a worker.
    pub const START: Operation =
        Operation { kind: OpKind::Start, site: Operation::NO_SITE, object: 0, size: 0 };

    /// Whether two announced operations of different workers may not commute, as far as their
    /// announcements tell. Over-approximates for sync objects: same object means dependent. So it does for
    /// files, where a path may lead to anything.
    #[inline]
    pub fn dependent(&self, other: &Operation) -> bool {
        // Without branches, which could not be predicted: strategies ask this for every pair at every step.
        let (a, b) = (TRAITS[self.kind as usize], TRAITS[other.kind as usize]);
        let memory = (a & b & MEMORY != 0) & ((a | b) & WRITES != 0);
        let same = (self.object == other.object) & (self.object != 0);
        let sync = ((a | b) & MEMORY == 0) & same & ((a == b) | (a & b != 0));
        let files = (a | b) == FILES;
        (self.overlaps(other) & (memory | sync)) | files
    }

    /// Whether the objects have something in common, whatever they are.
    #[inline]
    pub fn overlaps(&self, other: &Operation) -> bool {
        (self.object < other.object + u64::from(other.size.max(1)))
            & (other.object < self.object + u64::from(self.size.max(1)))
    }

    /// The object whose accesses can be put in different orders, if the operation has one. Accesses of
    /// overlapping memory at different addresses count as different objects; a release is no access,
    /// since only acquisitions compete; a futex is the memory it lies in.
    pub fn target(&self) -> Option<(Class, u64)> {
        match self.kind {
            OpKind::FutexNotify => Some((Class::Memory, self.object)),
            kind if kind.accesses_memory() => Some((Class::Memory, self.object)),
            // All files together are one object: what a path leads to is not known before, nor what a function of
            // a library works on.
            OpKind::File | OpKind::Call => Some((Class::File, 0)),
            kind if kind.releases() => None,
            kind => Class::of_sync_object(kind).map(|class| (class, self.object)),
        }
    }
}

/// Traits of each kind of operation, by its number: memory that is accessed or written, files, else a bit for each
/// class of sync objects, which may share an address.
const TRAITS: [u16; 256] = {
    let mut traits = [0; 256];
    let mut i = 0;
    while i < OpKind::ALL.len() {
        let kind = OpKind::ALL[i];
        traits[kind as usize] = match kind {
            kind if kind.accesses_memory() && kind.writes() => MEMORY | WRITES,
            kind if kind.accesses_memory() => MEMORY,
            // Of any class but a futex, which is memory.
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
    1 << class as u16
}

const SYNC: u16 = !(MEMORY | WRITES);
const MEMORY: u16 = 0x8000;
const WRITES: u16 = 0x4000;
/// A bit that stands alone for nothing else.
const FILES: u16 = WRITES;

/// Whether a worker can go on.
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
    /// What it is about to do, also if it cannot.
    pub operation: Operation,
    /// Whether it can do that now.
    pub state: WorkerState,
}

/// A scheduling decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pick {
    /// The worker executes its pending operation.
    Step(WorkerId),
    /// The worker's pending timeout fires. That wakes it; it is not yet a step of the worker.
    Timeout(WorkerId),
}

impl Pick {
    /// Whom it is about.
    pub fn worker(self) -> WorkerId {
        match self {
            Pick::Step(worker) | Pick::Timeout(worker) => worker,
        }
    }
}

/// All that a strategy may look at when it makes a choice.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Workers whose pending operation can be executed now, ascending.
    pub enabled: &'a [WorkerId],
    /// The worker whose timeout is the earliest of all pending ones and so may fire now.
    pub timeout: Option<WorkerId>,
    /// Every worker of the execution, by [`WorkerId::index`].
    pub workers: &'a [Pending],
    /// Who executed the last step, if it has not ended.
    pub current: Option<WorkerId>,
    /// Steps executed so far.
    pub step: u64,
    /// How often any worker's state has changed in this execution, creations included: while this is the
    /// same, so are all states.
    pub changes: u64,
    /// Whether a worker in an atomic section keeps all others, and timeouts, from being picked.
    pub in_section: bool,
    /// While a value is asked for that says whether a fault strikes, 0 for none: the *kind* of fault, a number for a class
    /// of faults or a fault point of the guest. `None`: the value is the program's own.
    pub fault: Option<u64>,
}

impl View<'_> {
    /// How many picks are possible.
    pub fn choices(&self) -> usize {
        self.enabled.len() + usize::from(self.timeout.is_some())
    }

    /// Whether this worker can be picked. Its state alone does not tell: inside of an atomic function
    /// its worker is the only one that can.
    #[inline]
    pub fn can_step(&self, worker: WorkerId) -> bool {
        self.enabled.contains(&worker)
    }

    /// Whether this pick is possible.
    pub fn allows(&self, pick: Pick) -> bool {
        match pick {
            Pick::Step(worker) => self.can_step(worker),
            Pick::Timeout(worker) => self.timeout == Some(worker),
        }
    }

    /// All possible picks: the steps, then the timeout.
    pub fn picks(&self) -> impl Iterator<Item = Pick> {
        self.enabled.iter().map(|w| Pick::Step(*w)).chain(self.timeout.map(Pick::Timeout))
    }

    /// Whether the last worker could go on.
    pub fn current_enabled(&self) -> bool {
        self.current.is_some_and(|w| self.can_step(w))
    }
}
