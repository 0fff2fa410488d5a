//! How an iteration ended. A bug of the guest is a value, never a panic.

use crate::evidence::Evidence;
use coyote_strategies::WorkerId;
use serde::{Deserialize, Serialize};

/// The verdict on one iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The test ran to its end.
    Passed,
    /// The guest is wrong.
    Bug(Bug),
    /// A bound of this tool was reached before the test ended: no verdict.
    Bound(Bound),
    /// An assumption of the guest does not hold, or the strategy gave up: no verdict.
    Abandoned,
}

impl Outcome {
    /// Whether the guest is wrong, which [`BugKind::Limit`] does not say.
    pub fn is_bug(&self) -> bool {
        matches!(self, Outcome::Bug(bug) if bug.kind != BugKind::Limit)
    }

    /// As a trace names it: its kind in one word, and a sentence where there is more to say.
    pub fn describe(&self) -> (String, String) {
        match self {
            Outcome::Passed => ("passed".into(), String::new()),
            Outcome::Bug(bug) => (bug.kind.name().into(), bug.message()),
            Outcome::Bound(bound) => ("bound".into(), bound.advice()),
            Outcome::Abandoned => ("abandoned".into(), String::new()),
        }
    }
}

/// What kind of bug. The names are part of the trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BugKind {
    /// No worker can go on, and one should.
    Deadlock,
    /// A worker can always go on, and no end can be reached: see [`crate::livelock`].
    Livelock,
    /// An assertion or failure that the guest reported.
    Assertion,
    /// A panic of a Rust program that ended it.
    Panic,
    /// An exception left the function that a worker began with.
    UncaughtException,
    /// A wasm trap: unreachable code, an access out of bounds, a division by zero.
    Trap,
    /// The program ended with an exit code that is not 0.
    ExitCode,
    /// A worker ran out of its stack.
    StackOverflow,
    /// A sync object was used against its rules.
    Misuse,
    /// A block of the heap was accessed after it was freed.
    UseAfterFree,
    /// A block was freed that was freed already.
    DoubleFree,
    /// What was freed is not the beginning of a block.
    InvalidFree,
    /// A block was accessed beyond its end.
    HeapOverflow,
    /// Two workers access the same memory, nothing orders the accesses, one writes and one is not atomic.
    DataRace,
    /// A block is never freed and nothing points to it, which the user declared to be a bug.
    Leak,
    /// A monitor of the guest did not become cold: see [`crate::detect::liveness`].
    Liveness,
    /// A fair round of steps can be repeated for ever: see [`crate::lasso`].
    Lasso,
    /// A worker can be overtaken for ever: see [`crate::lasso`].
    Starvation,
    /// A worker can run for ever without giving way, for nothing: see [`crate::lasso`].
    GoodSamaritan,
    /// The bound on steps was reached and the user declared that to be a bug.
    MaxSteps,
    /// The guest needs what there is not here. Found, traced and replayed as a bug is, and none: there is no
    /// verdict on the guest.
    Limit,
}

impl BugKind {
    /// Every kind, in the order of their declaration.
    pub const ALL: [BugKind; 21] = [
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

    /// The kind in one word, as traces and JSON have it.
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

/// What is wrong with an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bug {
    /// What kind of bug it is.
    pub kind: BugKind,
    /// What it consists of.
    pub evidence: Evidence,
    /// Who did it; `None` where it takes several.
    pub worker: Option<WorkerId>,
}

impl Bug {
    /// One sentence for the user, without the worker.
    pub fn message(&self) -> String {
        self.evidence.message()
    }
}

/// A bound of this tool, not a bug of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `--max-steps`.
    Steps(u64),
    /// The native stack: very deep recursion that uses little of the guest's own stack.
    NativeStack,
    /// The memory for saved frames.
    Frames,
}

impl Bound {
    /// One sentence with what to do.
    pub fn advice(&self) -> String {
        match self {
            Bound::Steps(steps) => format!(
                "the bound of {steps} steps was reached; raise --max-steps, or pass --fail-on-max-steps \
                 if the test must end by then"
            ),
            Bound::NativeStack => "the guest's calls nest too deeply for our native stack; this is no \
                                   verdict on the guest: reduce its recursion"
                .into(),
            Bound::Frames => "a suspended worker's frames do not fit into our frame memory; this is no \
                              verdict on the guest: reduce its recursion"
                .into(),
        }
    }
}
