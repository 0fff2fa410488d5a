//! Kinds of bugs.

use serde::{Deserialize, Serialize};

/// The kind of a bug. The names are part of the trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BugKind {
    /// No worker can continue, and at least one should.
    Deadlock,
    /// Some worker can always continue, but no end can be reached: see [`crate::livelock`].
    Livelock,
    /// An assertion or failure that the guest reported.
    Assertion,
    /// A panic of a Rust program that ended it.
    Panic,
    /// An exception left the start function of a worker.
    UncaughtException,
    /// A wasm trap: unreachable code, an access out of bounds, a division by zero.
    Trap,
    /// The program ended with an exit code that is not 0.
    ExitCode,
    /// A worker ran out of its stack.
    StackOverflow,
    /// A sync object or a worker was used against its rules.
    Misuse,
    /// A block of the heap was accessed after it was freed.
    UseAfterFree,
    /// A worker accessed a local variable of another worker's function that has returned.
    UseAfterReturn,
    /// A block was freed a second time.
    DoubleFree,
    /// An address was freed that is not the beginning of a block.
    InvalidFree,
    /// A block was accessed beyond its end.
    HeapOverflow,
    /// Two workers access the same memory, nothing orders the accesses, one writes and one is not atomic.
    DataRace,
    /// A block is never freed and no pointer to it is left, which the user declared to be a bug.
    Leak,
    /// A monitor of the guest did not become cold: see [`crate::detect::liveness`].
    Liveness,
    /// A fair round of steps can be repeated for ever: see [`crate::lasso`].
    Lasso,
    /// A worker can be overtaken for ever: see [`crate::lasso`].
    Starvation,
    /// A worker can run for ever for nothing, without giving way: see [`crate::lasso`].
    GoodSamaritan,
    /// The bound on steps was reached and the user declared that to be a bug.
    MaxSteps,
    /// The guest needs something that this tool does not support. A limit is found, traced and replayed like a bug, but
    /// is none: there is no verdict on the guest.
    Limit,
}

impl BugKind {
    /// Every kind, in the order of their declaration.
    pub const ALL: [BugKind; 22] = [
        BugKind::Deadlock,
        BugKind::Livelock,
        BugKind::Assertion,
        BugKind::Panic,
        BugKind::UncaughtException,
        BugKind::Trap,
        BugKind::ExitCode,
        BugKind::StackOverflow,
        BugKind::Misuse,
        BugKind::UseAfterFree,
        BugKind::UseAfterReturn,
        BugKind::DoubleFree,
        BugKind::InvalidFree,
        BugKind::HeapOverflow,
        BugKind::DataRace,
        BugKind::Leak,
        BugKind::Liveness,
        BugKind::Lasso,
        BugKind::Starvation,
        BugKind::GoodSamaritan,
        BugKind::MaxSteps,
        BugKind::Limit,
    ];

    /// Whether such a bug may stop a worker at an access of memory, before it is made.
    pub fn may_prevent_access(self) -> bool {
        use BugKind::*;
        matches!(self, Trap | StackOverflow | UseAfterFree | UseAfterReturn | HeapOverflow | DataRace | Limit)
    }

    /// The kind in one word, as in traces and JSON.
    pub fn name(self) -> &'static str {
        match self {
            BugKind::Deadlock => "deadlock",
            BugKind::Livelock => "livelock",
            BugKind::Assertion => "assertion",
            BugKind::Panic => "panic",
            BugKind::UncaughtException => "uncaught-exception",
            BugKind::Trap => "trap",
            BugKind::ExitCode => "exit-code",
            BugKind::StackOverflow => "stack-overflow",
            BugKind::Misuse => "misuse",
            BugKind::UseAfterFree => "use-after-free",
            BugKind::UseAfterReturn => "use-after-return",
            BugKind::DoubleFree => "double-free",
            BugKind::InvalidFree => "invalid-free",
            BugKind::HeapOverflow => "heap-overflow",
            BugKind::DataRace => "data-race",
            BugKind::Leak => "leak",
            BugKind::Liveness => "liveness",
            BugKind::Lasso => "lasso",
            BugKind::Starvation => "starvation",
            BugKind::GoodSamaritan => "good-samaritan",
            BugKind::MaxSteps => "max-steps",
            BugKind::Limit => "limit",
        }
    }
}
