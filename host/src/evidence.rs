//! The evidence of a bug, as data. The wording is derived from it ([`Evidence::message`]) and never compared: whether
//! two bugs are the same is decided by their [`identity`](crate::identity).
//!
//! - `kind`: the kind of a bug in one word. `words`: the wording.
//! - `racing`: data races; `inversion`: locks that are taken in opposite orders; `liveness`: what should happen and does
//!   not.

mod inversion;
mod kind;
mod liveness;
mod racing;
mod words;

use crate::object_id::ObjectId;
pub use inversion::{Inversion, Side};
pub use kind::BugKind;
pub use liveness::{HotMonitor, HotWhen, RoundEvidence, RoundKind};
pub use racing::{RaceRemark, RacingAccess, RacingAct};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
pub use words::Naming;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// The guest's own words: an assertion's text, or a panic's message.
    Said(String),
    /// No worker can continue.
    Deadlock {
        /// How many workers are blocked.
        blocked: usize,
    },
    /// Some workers wait for each other, while others could continue.
    Circle {
        /// How many workers wait for each other.
        waiting: usize,
    },
    /// No end of the test can be reached.
    Livelock {
        /// How many workers step for ever.
        spinning: usize,
        /// How many workers are blocked for ever.
        waiting: usize,
    },
    /// Wasm code trapped.
    Trap(Trap),
    /// A worker's stack is too small.
    StackTooSmall,
    /// A call that POSIX leaves undefined.
    Misuse(Misuse),
    /// The program ended with this code.
    ExitCode(u32),
    /// A test harness's function returned a failure.
    TestFailed,
    /// An exception that is not caught; the panic's message, if it is a panic.
    Uncaught(Option<String>),
    /// The bound on steps was reached.
    StepsMax(u64),
    /// An access of freed memory, or of memory behind a block of the heap.
    HeapAccess(HeapAccess),
    /// An access of another worker's stack, where no frame is or one whose address nobody else has.
    StackAccess(StackAccess),
    /// An address was passed to the allocator's free, and must not be.
    Free {
        /// The address.
        address: u32,
        /// The block that the address belongs to.
        block: Block,
    },
    /// Nothing orders two accesses of the same memory.
    Race {
        /// The access that was executed first.
        first: RacingAccess,
        /// The access of the bug's worker.
        second: RacingAccess,
    },
    /// A monitor is hot, and should have become cold.
    Hot(HotMonitor),
    /// Workers can repeat a round of steps for ever.
    Round(RoundEvidence),
    /// Blocks were not freed, and no pointer to them is left.
    Leak {
        /// The number of blocks.
        blocks: usize,
        /// The sum of their sizes.
        bytes: u64,
        /// The size of the first one.
        first_bytes: u32,
    },
}

/// Why wasm code cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trap {
    /// The instruction `unreachable`: an abort.
    Unreachable,
    /// An access of the lowest addresses, where no object of the program can be.
    NullPointer {
        /// The address accessed.
        address: u64,
    },
    /// An access outside of memory.
    Memory,
    /// An access outside of a table.
    Table,
    /// An atomic access of an address that is no multiple of its size.
    MisalignedAtomic,
    /// A call of an empty table entry.
    NullFunction,
    /// A call of a function of another type.
    FunctionType,
    /// An integer division or remainder by 0.
    DivisionByZero,
    /// An integer division whose result does not fit (the smallest number by -1), or a conversion of a float whose
    /// integer does not fit.
    IntegerOverflow,
    /// A conversion of NaN to an integer.
    Conversion,
    /// A wait at an address that is no multiple of its size.
    MisalignedWait {
        /// The address.
        address: u32,
    },
    /// A wait at an address outside of memory.
    WaitOutside {
        /// The address.
        address: u32,
    },
    /// A call of this import, which is stubbed without an answer.
    Stub(String),
    /// This function of WASI was given an address outside of memory.
    WasiOutside(String),
    /// This function of WASI was given a misaligned address.
    WasiMisaligned(String),
    /// Another trap, in the engine's words.
    Other(String),
}

/// A use of a function that POSIX leaves undefined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misuse {
    /// A join with a handle that belongs to no worker.
    JoinOfNobody {
        /// The handle that the guest gave.
        handle: u32,
    },
    /// A sync object was used in a state that does not allow it.
    Object {
        /// The operation.
        act: Act,
        /// The object.
        place: ObjectId,
        /// Why the object's state does not allow it.
        state: ObjectState,
    },
    /// The guest's library noticed it.
    Told {
        /// The library's words.
        what: String,
        /// The address of the object; 0 if there is none, or if the words name it.
        object: u32,
    },
    /// A choice among no values.
    NoValues,
    /// A monitor was given a state that does not exist.
    Heat {
        /// The number that the guest gave.
        heat: u32,
    },
    /// Scheduling points were resumed that were not suppressed.
    Resume,
    /// A text that the guest passed does not lie in memory.
    TextOutside {
        /// Its address.
        address: u32,
        /// Its length.
        bytes: u32,
    },
}

/// An operation on a sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Unlocking it.
    Unlock,
    /// Initialising it.
    Init,
    /// Destroying it.
    Destroy,
    /// Waiting for a condvar with this mutex.
    WaitWith,
    /// Waiting at this barrier.
    WaitAt,
}

/// Why an operation on a sync object is not allowed. Workers are given by the names that reports show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ObjectState {
    /// No worker holds the object.
    Unlocked,
    /// Other workers hold it.
    Held {
        /// These workers.
        by: Vec<String>,
    },
    /// The worker already holds it.
    HeldByItself,
    /// A worker waits for it.
    Awaited {
        /// That worker.
        by: String,
    },
    /// A worker waits for the same condvar with another mutex.
    OtherMutex {
        /// That worker.
        of: String,
    },
    /// It was never initialised.
    Uninitialised,
}

/// A block of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The kind of memory error that a use of this block is.
    pub kind: BugKind,
    /// The address of its first byte.
    pub address: u32,
    /// The size that the guest asked for.
    pub bytes: u32,
    /// Whether the guest has freed it.
    pub freed: bool,
}

/// An access that a block of the heap does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapAccess {
    /// The operation, such as `store`.
    pub what: Cow<'static, str>,
    /// The first byte accessed.
    pub address: u64,
    /// The number of bytes; 0 for the use of a sync object.
    pub bytes: u32,
    /// The block that was freed, or that ends before the access.
    pub block: Block,
}

/// An access of another worker's stack that only a pointer to a frame that has ended makes, or one out of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackAccess {
    /// The operation, such as `store`.
    pub what: Cow<'static, str>,
    /// The first byte accessed.
    pub address: u64,
    /// The number of bytes; 0 for the use of a sync object.
    pub bytes: u32,
    /// The title of the worker whose stack it is.
    pub owner: String,
    /// Whether a frame is there now.
    pub reused: bool,
}

impl Evidence {
    /// Whether this is a bug only if the execution is fair.
    pub fn is_overheating(&self) -> bool {
        matches!(self, Evidence::Hot(HotMonitor { when: HotWhen::TooLong { .. }, .. }))
    }

    /// Whether the bug is found by examining the execution, and not from the effect of the last step.
    pub fn is_of_many_steps(&self) -> bool {
        let lasso = matches!(self, Evidence::Hot(HotMonitor { when: HotWhen::ForEver { .. }, .. }));
        lasso || self.is_overheating() || matches!(self, Evidence::Round(_))
    }
}

impl From<String> for Evidence {
    fn from(text: String) -> Evidence {
        Evidence::Said(text)
    }
}
