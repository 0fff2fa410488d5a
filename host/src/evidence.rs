//! What a bug consists of, as data. The wording is made from it ([`Evidence::message`]) and never compared:
//! what makes two bugs the same is their [`identity`](crate::identity). `kind`: its kind in one word.
//! `liveness`: of what does not come about.

mod kind;
mod liveness;

use crate::object_id::ObjectId;
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
    /// In the guest's own words: an assertion's text, a panic's message.
    Said(String),
    /// No worker can go on.
    Deadlock {
        /// How many workers are blocked.
        blocked: usize,
    },
    /// Some workers wait for each other, while others could go on.
    Circle {
        /// How many workers wait for each other.
        waiting: usize,
    },
    /// No end can be reached.
    Livelock {
        /// How many workers go on for ever.
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
    /// An exception that nothing catches; what a panic said, if it is one.
    Uncaught(Option<String>),
    /// The bound on steps was reached.
    StepsMax(u64),
    /// An access of freed memory, or of memory behind a block of the heap.
    HeapAccess(HeapAccess),
    /// An address was given back to the allocator, and must not be.
    Free {
        /// What was given back.
        address: u32,
        /// The block that the address belongs to.
        block: Block,
    },
    /// Nothing orders two accesses of the same memory.
    Race {
        /// The one that was executed first.
        first: RacingAccess,
        /// That of the bug's worker.
        second: RacingAccess,
    },
    /// A monitor is hot, and should have become cold.
    Hot(HotMonitor),
    /// Workers can go round for ever.
    Round(RoundEvidence),
    /// Blocks were not freed, and nothing points to them.
    Leak {
        /// How many.
        blocks: usize,
        /// Their sizes together.
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
    /// An integer division whose result does not fit: the smallest number by -1.
    IntegerOverflow,
    /// A number without an integer, or one too large for it, converted to an integer.
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
    /// This import was called, which is stubbed without an answer.
    Stub(String),
    /// This function of WASI was given an address outside of memory.
    WasiOutside(String),
    /// This function of WASI was given a misaligned address.
    WasiMisaligned(String),
    /// In the engine's words.
    Other(String),
}

/// What POSIX leaves undefined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misuse {
    /// A join of a handle that no worker has.
    JoinOfNobody {
        /// What the guest gave as the worker.
        handle: u32,
    },
    /// A sync object was used in a state that does not allow it.
    Object {
        /// What was done.
        act: Act,
        /// The object.
        place: ObjectId,
        /// Why it must not be done.
        state: ObjectState,
    },
    /// A choice among no values.
    NoValues,
    /// A monitor was given a state that there is not.
    Heat {
        /// The number that the guest gave.
        heat: u32,
    },
    /// A text that the guest passed does not lie in memory.
    TextOutside {
        /// Where it begins.
        address: u32,
        /// Its length.
        bytes: u32,
    },
}

/// What is done with a sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Unlock it.
    Unlock,
    /// Give it its initial state.
    Init,
    /// Destroy it.
    Destroy,
    /// Wait for a condvar with this mutex.
    WaitWith,
    /// Wait at this barrier.
    WaitAt,
}

/// Why something must not be done with a sync object. Workers by the names that reports show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ObjectState {
    /// No worker holds it.
    Unlocked,
    /// Others hold it.
    Held {
        /// Who.
        by: Vec<String>,
    },
    /// The worker holds it already.
    HeldByItself,
    /// This worker waits for it.
    Awaited {
        /// Who.
        by: String,
    },
    /// This worker waits for the same condvar with another mutex.
    OtherMutex {
        /// Who.
        of: String,
    },
    /// It was never initialised.
    Uninitialised,
}

/// A block of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// What is wrong with its use: a memory error.
    pub kind: BugKind,
    /// Where it begins.
    pub address: u32,
    /// As many as the guest asked for.
    pub bytes: u32,
    /// Whether the guest has given it back.
    pub freed: bool,
}

/// An access that is in a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RacingAccess {
    /// As in `atomic write`.
    pub how: Cow<'static, str>,
    /// The first byte accessed.
    pub address: u32,
    /// How many bytes.
    pub bytes: u32,
    /// Who accessed them.
    pub worker: WorkerId,
    /// The worker by the name that reports show.
    pub title: String,
    /// The number of its step, from 1.
    pub step: u64,
    /// `None` for what is done on the worker's behalf.
    pub location: Option<Location>,
}

/// A data race that is no bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceRemark {
    /// The access that was executed first.
    pub first: RacingAccess,
    /// The one that nothing orders with it.
    pub second: RacingAccess,
    /// The suppression that it is known by; `None` if races are notes.
    pub suppressed_by: Option<String>,
}

impl RaceRemark {
    /// What makes two races the same: the places of both accesses, in any order.
    pub fn key(accesses: [&RacingAccess; 2]) -> [Option<Location>; 2] {
        let mut places = accesses.map(|access| access.location);
        places.sort();
        places
    }
}

/// Locks that workers take in opposite orders, so that these may wait for each other: no bug by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Inversion {
    /// Each worker wants what the next one holds, the last one what the first one does.
    pub sides: Vec<Side>,
}

/// One worker's part of an inversion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Side {
    /// The worker by the name that reports show.
    pub title: String,
    /// The lock that the worker has.
    pub held: ObjectId,
    /// Where it took it; `None` if that is not known.
    pub taken: Option<Location>,
    /// The lock that it takes besides.
    pub wanted: ObjectId,
    /// Where it takes that one; `None` if that is not known.
    pub wanted_at: Option<Location>,
    /// The number of that place.
    pub site: u32,
}

impl Inversion {
    /// What makes two inversions the same: where the locks are taken, whoever does it.
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
    /// 0 for the use of a sync object.
    pub bytes: u32,
    /// The block that was freed, or that ends before the access.
    pub block: Block,
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
            Evidence::Free { address, block } => block.freed_wrongly(*address),
            Evidence::Race { first, second } => {
                let RacingAccess { how, address, bytes, .. } = second;
                let (size, other) = (amount(*bytes), amount(first.bytes));
                let place = if first.address == *address {
                    String::new()
                } else {
                    format!(" at {:#x}", first.address)
                };
                format!(
                    "{how} of {size} at {address:#x}, which nothing orders with the {} of {other}{place} by {}",
                    first.how, first.title
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

    /// Whether it takes a fair execution for it to be a bug.
    pub fn is_overheating(&self) -> bool {
        matches!(self, Evidence::Hot(HotMonitor { when: HotWhen::TooLong { .. }, .. }))
    }

    /// Whether it is found by who looks at the execution, and not by what the last step does.
    pub fn is_of_many_steps(&self) -> bool {
        let lasso = matches!(self, Evidence::Hot(HotMonitor { when: HotWhen::ForEver { .. }, .. }));
        lasso || self.is_overheating() || matches!(self, Evidence::Round(_))
    }

    /// What tells the bug from others of its kind at the same places: one word, which no rewording changes,
    /// or nothing. Part of the trace format.
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
            Trap::Conversion => "conversion of a float that no integer can hold".into(),
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
                Misuse::TextOutside { address, bytes } => {
                    format!("a text of {bytes} bytes at {address:#x} lies outside of memory")
                }
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
            Misuse::NoValues => "choice",
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
    /// What is wrong with giving this address back.
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
