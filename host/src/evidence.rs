//! The evidence of a bug, as data. The wording is derived from it ([`Evidence::message`]) and never compared: whether
//! two bugs are the same is decided by their [`identity`](crate::identity). `kind`: the kind of a bug in one word.
//! `liveness`: evidence of what should happen and does not.

mod kind;
mod liveness;

use crate::object_id::{ObjectId, UseKind};
use crate::plural::{amount, counted};
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
pub use kind::BugKind;
pub use liveness::{HotMonitor, HotWhen, RoundEvidence, RoundKind};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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

/// An access that takes part in a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RacingAccess {
    /// What it is.
    pub act: RacingAct,
    /// The first byte accessed.
    pub address: u32,
    /// The number of bytes.
    pub bytes: u32,
    /// The worker that made the access.
    pub worker: WorkerId,
    /// That worker, by the name that reports show.
    pub title: String,
    /// The number of its step, from 1.
    pub step: u64,
    /// The place in the code; `None` for an access that the host made on the worker's behalf.
    pub location: Option<Location>,
}

impl RacingAccess {
    /// The sync object that is accessed, if the access is an operation on one.
    pub fn object(&self) -> Option<ObjectId> {
        match self.act {
            RacingAct::Use(object, _) => Some(object),
            _ => None,
        }
    }

    /// The memory or the object that is accessed.
    pub fn accessed(&self) -> String {
        self.object().map_or_else(|| amount(self.bytes), |object| format!("the {}", object.noun()))
    }
}

/// What a worker does in a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RacingAct {
    /// It accesses memory.
    Access {
        /// Whether it writes.
        writes: bool,
        /// Whether the access is known to be atomic.
        atomic: bool,
        /// The ordering of an atomic access, if it is known.
        ordering: Option<Cow<'static, str>>,
    },
    /// It performs an operation on a sync object.
    Use(ObjectId, UseKind),
    /// It allocates a block.
    Allocation,
    /// It frees a block.
    Free,
}

impl RacingAct {
    /// The noun for it in reports, such as `atomic write (Relaxed)`.
    pub fn noun(&self) -> String {
        match self {
            RacingAct::Access { writes, atomic, ordering } => {
                let noun = if *writes { "write" } else { "read" };
                let atomic = if *atomic { "atomic " } else { "" };
                format!("{atomic}{noun}{}", in_brackets(ordering.as_deref()))
            }
            RacingAct::Use(_, kind) => kind.name().into(),
            RacingAct::Allocation => "allocation".into(),
            RacingAct::Free => "free".into(),
        }
    }

    /// The verb for it in reports, such as `atomically writes (Relaxed)`.
    pub fn verb(&self) -> String {
        match self {
            RacingAct::Access { writes, atomic, ordering } => {
                let verb = if *writes { "writes" } else { "reads" };
                let atomically = if *atomic { "atomically " } else { "" };
                format!("{atomically}{verb}{}", in_brackets(ordering.as_deref()))
            }
            RacingAct::Use(_, UseKind::Begins) => "initialises".into(),
            RacingAct::Use(_, UseKind::Uses) => "uses".into(),
            RacingAct::Use(_, UseKind::Ends) => "destroys".into(),
            RacingAct::Allocation => "allocates".into(),
            RacingAct::Free => "frees".into(),
        }
    }
}

fn in_brackets(ordering: Option<&str>) -> String {
    ordering.map_or(String::new(), |ordering| format!(" ({ordering})"))
}

/// A data race that is no bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceRemark {
    /// The access that was executed first.
    pub first: RacingAccess,
    /// The access that nothing orders with the first one.
    pub second: RacingAccess,
    /// The suppression that matches this race; `None` if races are only noted.
    pub suppressed_by: Option<String>,
}

impl RaceRemark {
    /// The key that two equal races share: the places of both accesses, in any order.
    pub fn key(accesses: [&RacingAccess; 2]) -> [Option<Location>; 2] {
        let mut places = accesses.map(|access| access.location);
        places.sort();
        places
    }
}

/// Locks that workers take in opposite orders, so that the workers may wait for each other. An inversion is not a bug
/// by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Inversion {
    /// Each worker wants the lock that the next one holds; the last worker wants the lock of the first.
    pub sides: Vec<Side>,
}

/// One worker's part of an inversion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Side {
    /// The worker by the name that reports show.
    pub title: String,
    /// The lock that the worker holds.
    pub held: ObjectId,
    /// Where the worker took it; `None` if that is not known.
    pub taken: Option<Location>,
    /// The second lock that the worker takes.
    pub wanted: ObjectId,
    /// Where the worker takes the second lock; `None` if that is not known.
    pub wanted_at: Option<Location>,
    /// The site index of that place.
    pub site: u32,
}

impl Inversion {
    /// The key that two equal inversions share: where the locks are taken, by whichever workers.
    pub fn key(&self) -> Vec<[Option<Location>; 2]> {
        let mut key: Vec<_> = self.sides.iter().map(|side| [side.taken, side.wanted_at]).collect();
        key.sort();
        key
    }
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
    /// The number of bytes.
    pub bytes: u32,
    /// The title of the worker whose stack it is.
    pub owner: String,
    /// Whether a frame is there now.
    pub reused: bool,
}

impl Evidence {
    /// One sentence for the user, without the worker.
    pub fn message(&self) -> String {
        match self {
            Evidence::Said(text) => text.clone(),
            Evidence::Deadlock { blocked: 1 } => "1 worker is blocked and nobody is left to wake it".into(),
            Evidence::Deadlock { blocked } => {
                format!("{blocked} workers are blocked and nobody is left to wake them")
            }
            Evidence::Circle { waiting: 1 } => {
                "1 worker waits for itself and can never go on, while others could".into()
            }
            Evidence::Circle { waiting } => {
                format!("{waiting} workers wait for each other and can never go on, while others could")
            }
            Evidence::Livelock { spinning, waiting } => {
                let spins = if *spinning == 1 { "spins" } else { "spin" };
                let waits = match waiting {
                    0 => String::new(),
                    1 => " and 1 waits".into(),
                    n => format!(" and {n} wait"),
                };
                let workers = counted(*spinning as u64, "worker");
                format!("{workers} {spins} for ever{waits}: from here no end can be reached")
            }
            Evidence::Trap(trap) => trap.message(),
            Evidence::StackTooSmall => "the worker's stack is too small".into(),
            Evidence::Misuse(misuse) => misuse.message(),
            Evidence::ExitCode(code) => format!("the program ended with exit code {code}"),
            Evidence::TestFailed => "the test function returned a failure".into(),
            Evidence::Uncaught(None) => {
                "an exception leaves the worker's function: nothing catches it".into()
            }
            Evidence::Uncaught(Some(said)) => format!("nothing catches this panic: {said}"),
            Evidence::StepsMax(steps) => format!("the test did not end within {steps} steps"),
            Evidence::HeapAccess(access) => access.message(),
            Evidence::StackAccess(access) => access.message(),
            Evidence::Free { address, block } => block.freed_wrongly(*address),
            Evidence::Race { first, second } => {
                let RacingAccess { act, address, .. } = second;
                let (size, other) = (second.accessed(), first.accessed());
                let place = if first.address == *address {
                    String::new()
                } else {
                    format!(" at {:#x}", first.address)
                };
                format!(
                    "{} of {size} at {address:#x}, which nothing orders with the {} of {other}{place} by {}",
                    act.noun(),
                    first.act.noun(),
                    first.title
                )
            }
            Evidence::Hot(monitor) => monitor.message(),
            Evidence::Round(round) => round.message(),
            Evidence::Leak { blocks: 1, first_bytes, .. } => {
                format!("a block of {} is not freed, and nothing points to it", amount(*first_bytes))
            }
            Evidence::Leak { blocks, bytes, first_bytes } => format!(
                "{blocks} blocks are not freed, and nothing points to them: {bytes} bytes, the first one {}",
                amount(*first_bytes)
            ),
        }
    }

    /// Whether this is a bug only if the execution is fair.
    pub fn is_overheating(&self) -> bool {
        matches!(self, Evidence::Hot(HotMonitor { when: HotWhen::TooLong { .. }, .. }))
    }

    /// Whether the bug is found by examining the execution, and not from the effect of the last step.
    pub fn is_of_many_steps(&self) -> bool {
        let lasso = matches!(self, Evidence::Hot(HotMonitor { when: HotWhen::ForEver { .. }, .. }));
        lasso || self.is_overheating() || matches!(self, Evidence::Round(_))
    }

    /// What distinguishes the bug from others of its kind at the same places: one word, which no rewording changes, or
    /// nothing. Part of the trace format.
    pub fn detail(&self) -> String {
        match self {
            Evidence::Trap(trap) => trap.word().into(),
            Evidence::Misuse(misuse) => misuse.word().into(),
            Evidence::ExitCode(code) => code.to_string(),
            Evidence::Hot(monitor) => format!("{} {}", monitor.when.word(), monitor.name),
            _ => String::new(),
        }
    }
}

impl From<String> for Evidence {
    fn from(text: String) -> Evidence {
        Evidence::Said(text)
    }
}

impl Trap {
    fn message(&self) -> String {
        match self {
            Trap::Unreachable => "the guest aborted (unreachable code was reached)".into(),
            Trap::NullPointer { address } => {
                format!("access through a null pointer (address {address:#x})")
            }
            Trap::Memory => "access outside of memory".into(),
            Trap::Table => "access outside of a table".into(),
            Trap::MisalignedAtomic => "misaligned atomic access".into(),
            Trap::NullFunction => "call through a null function pointer".into(),
            Trap::FunctionType => "call through a function pointer of another type".into(),
            Trap::DivisionByZero => "integer division by zero".into(),
            Trap::IntegerOverflow => "integer overflow".into(),
            Trap::Conversion => "conversion of NaN to an integer".into(),
            Trap::MisalignedWait { address } => format!("misaligned wait at {address:#x}"),
            Trap::WaitOutside { address } => format!("wait at {address:#x}, outside of memory"),
            Trap::Stub(name) => format!("{name} is called, which is stubbed without an answer"),
            Trap::WasiOutside(name) => format!("{name} is given an address outside of memory"),
            Trap::WasiMisaligned(name) => format!("{name} is given a misaligned address"),
            Trap::Other(text) => text.clone(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Trap::Unreachable => "unreachable",
            Trap::NullPointer { .. } => "null-pointer",
            Trap::Memory | Trap::WaitOutside { .. } | Trap::WasiOutside(_) => "memory",
            Trap::Table => "table",
            Trap::MisalignedAtomic | Trap::MisalignedWait { .. } | Trap::WasiMisaligned(_) => "misaligned",
            Trap::NullFunction => "null-function",
            Trap::FunctionType => "function-type",
            Trap::DivisionByZero => "division-by-zero",
            Trap::IntegerOverflow => "integer-overflow",
            Trap::Conversion => "conversion",
            Trap::Stub(_) => "stub",
            Trap::Other(_) => "other",
        }
    }
}

impl Misuse {
    fn message(&self) -> String {
        let Misuse::Object { act, place, state } = self else {
            return match self {
                Misuse::JoinOfNobody { handle } => format!("join of worker {handle}, which does not exist"),
                Misuse::Told { what, object: 0 } => what.clone(),
                Misuse::Told { what, object } => format!("{what} (at {object:#x})"),
                Misuse::TextOutside { address, bytes } => {
                    format!("a text of {bytes} bytes at {address:#x} lies outside of memory")
                }
                Misuse::Resume => "scheduling points are resumed that are not suppressed".into(),
                Misuse::Heat { heat } => format!("a monitor is made {heat}, which is neither 0, 1 nor 2"),
                _ => "a choice among no values".into(),
            };
        };
        let act = match act {
            Act::Unlock => "unlock of",
            Act::Init => "initialisation of",
            Act::Destroy => "destruction of",
            Act::WaitWith => "wait with",
            Act::WaitAt => "wait at",
        };
        let state = match state {
            ObjectState::Unlocked => "which is not locked".into(),
            ObjectState::Held { by } => {
                let verb = if by.len() == 1 { "holds" } else { "hold" };
                format!("which {} {verb}", by.join(" and "))
            }
            ObjectState::HeldByItself => "which the worker itself holds".into(),
            ObjectState::Awaited { by } => format!("for which {by} waits"),
            ObjectState::OtherMutex { of } => {
                format!("while {of} waits for the same condvar with another mutex")
            }
            ObjectState::Uninitialised => "which was not initialised".into(),
        };
        format!("{act} the {}, {state}", place.title())
    }

    fn word(&self) -> &'static str {
        match self {
            Misuse::JoinOfNobody { .. } => "join",
            Misuse::Told { .. } => "told",
            Misuse::NoValues => "choice",
            Misuse::Resume => "resume",
            Misuse::Heat { .. } => "heat",
            Misuse::TextOutside { .. } => "text",
            Misuse::Object { act, .. } => match act {
                Act::Unlock => "unlock",
                Act::Init => "init",
                Act::Destroy => "destroy",
                Act::WaitWith | Act::WaitAt => "wait",
            },
        }
    }
}

impl Block {
    /// Describes what is wrong with freeing this address.
    fn freed_wrongly(&self, address: u32) -> String {
        let block = amount(self.bytes);
        if self.kind == BugKind::DoubleFree {
            return format!("the block of {block} at {address:#x} is freed already");
        }
        let into = amount(address - self.address);
        let freed = if self.freed { " that is freed already" } else { "" };
        format!("{address:#x} is freed, which is {into} into a block of {block}{freed}")
    }
}

impl StackAccess {
    fn message(&self) -> String {
        let StackAccess { what, address, bytes, owner, reused } = self;
        let place = format!("{what} of {} at {address:#x} in the stack of {owner}", amount(*bytes));
        match reused {
            false => format!("{place}: a local variable of a function that has returned"),
            true => format!(
                "{place}, in the frame of a function that gives no address of its frame away: the pointer is to a local \
                 variable of a function that has returned, or out of its bounds"
            ),
        }
    }
}

impl HeapAccess {
    fn message(&self) -> String {
        let HeapAccess { what, address, bytes, block } = self;
        let place = match bytes {
            0 => format!("{what} at {address:#x}"),
            _ => format!("{what} of {} at {address:#x}", amount(*bytes)),
        };
        let start = u64::from(block.address);
        let size = amount(block.bytes);
        if !block.freed {
            let end = address + u64::from(*bytes) - (start + u64::from(block.bytes));
            let behind = counted(end, "byte");
            return format!("{place}, up to {behind} behind the end of a block of {size}");
        }
        if *address < start {
            return format!("{place}, in front of and in a freed block of {size}");
        }
        if *address == start {
            return format!("{place}, the beginning of a freed block of {size}");
        }
        format!("{place}, {} into a freed block of {size}", counted(address - start, "byte"))
    }
}
