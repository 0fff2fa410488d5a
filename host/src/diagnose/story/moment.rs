//! Steps in the form in which readers see them: a line of the guest's own source, with the actions in it.

use super::lock_words::LockWord;
use super::polls::{Lane, TaskId, Turn};
use super::recorder::{RawAccess, RawStep};
use crate::runtime::ObjectId;
use crate::runtime::weak::Stale;
use crate::symbols::SourceFrame;
use coyote_instrumenter::Location;
use coyote_strategies::{OpKind, WorkerId};

/// The importance of a moment to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A worker's access of its own memory.
    #[default]
    Private,
    /// The beginning or end of a worker, or an access of memory that others only read.
    Background,
    /// An access of memory that several workers change, within a library.
    Library,
    /// A library takes a lock that several workers use, for the guest.
    Lock,
    /// The same in the guest's own lines; a lock.
    Shared,
    /// A wait, a notification or a timeout.
    Waiting,
    /// An action on the subject of the bug.
    Subject,
}

/// Whether two frames are on the same line.
pub fn is_same_line(a: &SourceFrame, b: &SourceFrame) -> bool {
    (&a.function, &a.file, a.line) == (&b.function, &b.file, b.line)
}

/// Whether two moments, one of which may be a turn, are in one line: a state machine is not named as the function that is
/// its code.
pub fn in_line_of(a: &Moment, b: &Moment) -> bool {
    match (&a.line, &b.line) {
        (Some(a), Some(b)) => (&a.file, a.line) == (&b.file, b.line),
        _ => false,
    }
}

/// The actions of one step, or something in the code after it.
#[derive(Clone, Debug)]
pub struct Moment {
    pub worker: WorkerId,
    /// The task that its worker executes, if workers do not tell who does what.
    pub task: Option<TaskId>,
    /// The index of the recorded step, and its number.
    pub at: usize,
    pub step: u64,
    /// Whether it belongs to the code after the step.
    pub is_after: bool,
    pub weight: Weight,
    /// The guest's own line; `None` if it is not known.
    pub line: Option<SourceFrame>,
    /// The site of the operation.
    pub site: Option<Location>,
    pub act: Act,
    /// The kind of lock of Rust's std within whose code a futex is used.
    pub lock: Option<LockWord>,
    /// Whether the act is one on a condvar of Rust's std.
    pub on_std_condvar: bool,
    pub accesses: Vec<SharedAccess>,
    /// Mutexes and rwlocks that the worker took, and semaphores that it took from.
    pub took: Vec<ObjectId>,
    pub wakes: Vec<WorkerId>,
}

/// The action of a step, apart from accesses of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Access,
    /// An operation on a sync object at an address.
    Object {
        kind: OpKind,
        address: u64,
        got: Got,
    },
    Spawn(WorkerId),
    SpawnTask(TaskId),
    Turn(Turn),
    Chooses(Vec<u64>),
    Timeout,
    /// A fault with this name happens; and what becomes of a call by it, if that is known.
    Fault {
        name: String,
        how: Option<String>,
    },
    /// The step reads or stores something that is not the newest.
    Stale(Stale),
    Allocates,
    Frees,
    Other(OpKind),
    End,
}

/// What comes of an operation on a sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// It takes what it wants, or wants nothing.
    It,
    /// It begins to wait.
    Waits,
    /// It takes what its worker holds already, or gives back what it holds once more.
    Again,
    /// It returns without.
    Nothing,
}

/// Whether an operation is to take a mutex or an rwlock.
pub fn wants_lock(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(kind, Lock | TryLock | ReadLock | TryReadLock | WriteLock | TryWriteLock)
}

/// An access of memory that several workers change.
#[derive(Clone, Debug)]
pub struct SharedAccess {
    pub raw: RawAccess,
    /// Whether the access is in the guest's own code, and not in a library.
    pub direct: bool,
    /// Whether the value is a library's own: see [`keeps_values`].
    pub of_library: bool,
    /// Whether several workers change the memory, or one changes it while others read it.
    pub is_contended: bool,
    /// The lock of Rust's std whose word it is.
    pub word: Option<LockWord>,
}

impl SharedAccess {
    /// As [`LockWord::takes`].
    pub fn takes_lock(&self) -> Option<bool> {
        self.word.filter(|_| self.raw.writes)?.takes(self.raw.before?, self.raw.after?)
    }
}

impl Moment {
    /// A moment in the code after a step, of which nothing else is known.
    pub fn after(
        at: usize,
        step: &RawStep,
        task: Option<TaskId>,
        line: Option<SourceFrame>,
        act: Act,
    ) -> Moment {
        Moment {
            worker: step.worker,
            task,
            at,
            step: step.number,
            is_after: true,
            weight: Weight::Private,
            line,
            site: None,
            act,
            lock: None,
            on_std_condvar: false,
            accesses: Vec::new(),
            took: Vec::new(),
            wakes: Vec::new(),
        }
    }

    pub fn lane(&self) -> Lane {
        Lane::of(self.worker, self.task)
    }

    /// Whether a library only looks at memory in it.
    pub fn looks_in_library(&self) -> bool {
        let looks = |access: &SharedAccess| !access.direct && !access.raw.writes;
        self.act == Act::Access && !self.accesses.is_empty() && self.accesses.iter().all(looks)
    }
}

/// The subject of a bug.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Numbers of the events that allocated and freed the block.
    pub events: Vec<u32>,
    /// Addresses of sync objects and memory.
    pub addresses: Vec<u64>,
}
