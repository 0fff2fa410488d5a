//! How an iteration ended. A bug of the guest is a value, never a panic.

pub use crate::evidence::BugKind;
use crate::evidence::Evidence;
use coyote_strategies::WorkerId;
use serde::{Deserialize, Serialize};

/// The outcome of one iteration.
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
    /// Whether the outcome is a bug of the guest; [`BugKind::Limit`] is not.
    pub fn is_bug(&self) -> bool {
        matches!(self, Outcome::Bug(bug) if bug.kind != BugKind::Limit)
    }

    /// The outcome as a trace stores it: its kind in one word, and a sentence where there are details.
    pub fn describe(&self) -> (String, String) {
        match self {
            Outcome::Passed => ("passed".into(), String::new()),
            Outcome::Bug(bug) => (bug.kind.name().into(), bug.message()),
            Outcome::Bound(bound) => ("bound".into(), bound.advice()),
            Outcome::Abandoned => ("abandoned".into(), String::new()),
        }
    }
}

/// A bug of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bug {
    /// The kind of bug.
    pub kind: BugKind,
    /// The evidence of the bug.
    pub evidence: Evidence,
    /// The worker that caused it; `None` if several did.
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
    /// `--max-steps`, which was this number.
    Steps(u64),
    /// The native stack, exceeded by a very deep recursion that uses little of the guest's own stack.
    NativeStack,
    /// The memory for saved frames.
    Frames,
}

impl Bound {
    /// One sentence that says what the user can do.
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
