//! The wording of evidence, and the words in traces that distinguish bugs of a kind, which no rewording changes.

use super::{
    Act, Block, BugKind, Evidence, HeapAccess, Misuse, ObjectState, RacingAccess, StackAccess, Trap,
};
use crate::object_id::ObjectId;
use crate::plural::{amount, counted};

/// How memory and objects are called in a sentence.
pub struct Naming<'a> {
    /// The name of these bytes, if it is known.
    pub memory: &'a dyn Fn(u32, u32) -> Option<String>,
    /// What a sync object is called.
    pub object: &'a dyn Fn(ObjectId) -> String,
}

impl Naming<'static> {
    /// By sizes and addresses.
    pub const BY_ADDRESS: Naming<'static> = Naming { memory: &|_, _| None, object: &|object| object.title() };
}

impl Naming<'_> {
    fn accessed(&self, access: &RacingAccess) -> String {
        if let Some(object) = access.object() {
            return format!("the {}", (self.object)(object));
        }
        let name = (self.memory)(access.address, access.bytes).map(|name| format!("`{name}`"));
        name.unwrap_or_else(|| format!("{} at {:#x}", amount(access.bytes), access.address))
    }

    fn race(&self, first: &RacingAccess, second: &RacingAccess) -> String {
        let (this, other) = (self.accessed(second), self.accessed(first));
        let of = if this == other { String::new() } else { format!(" of {other}") };
        let (act, before, by) = (second.act.noun(), first.act.noun(), &first.title);
        format!("{act} of {this}, which nothing orders with the {before}{of} by {by}")
    }
}

impl Evidence {
    /// One sentence for the user, without the worker.
    pub fn message(&self) -> String {
        self.sentence(&Naming::BY_ADDRESS)
    }

    /// As [`Evidence::message`], with names from the program's source.
    pub fn sentence(&self, naming: &Naming<'_>) -> String {
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
            Evidence::Misuse(misuse) => misuse.message(naming),
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
            Evidence::Race { first, second } => naming.race(first, second),
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
    fn message(&self, naming: &Naming<'_>) -> String {
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
        format!("{act} the {}, {state}", (naming.object)(*place))
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

/// An access, or the use of a sync object if it has no bytes.
fn accessed(what: &str, address: u64, bytes: u32) -> String {
    match bytes {
        0 => format!("{what} at {address:#x}"),
        _ => format!("{what} of {} at {address:#x}", amount(bytes)),
    }
}

impl StackAccess {
    fn message(&self) -> String {
        let StackAccess { what, address, bytes, owner, reused } = self;
        let place = format!("{} in the stack of {owner}", accessed(what, *address, *bytes));
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
        let place = accessed(what, *address, *bytes);
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
