//! A found bug as data, and its identity.

use super::explanation::Explanation;
use super::history::History;
use super::story::Story;
pub use crate::lasso::RoundStep;
pub use crate::livelock::{Livelock, Look, Spin};
use crate::object_id::ObjectId;
use crate::outcome::{Bug, BugKind};
pub use crate::runtime::Stream;
use crate::trace::Trace;
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The prefix of [`FoundBug::by`] if a kept trace of an earlier run showed the bug; the trace's path follows.
pub const REGRESSION: &str = "regression ";

/// A bug and how often it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundBug {
    /// The bug itself.
    pub bug: Bug,
    /// Its identity, which equal bugs share.
    pub identity: BugIdentity,
    /// The iteration of the trace; 0 for a profiling run.
    pub iteration: u64,
    /// Among all traces with an equal bug, the one with the fewest switches, and among these the shortest.
    pub trace: Trace,
    /// The path of the trace on disk.
    pub path: PathBuf,
    /// The state of every worker when the bug was found.
    pub post_mortem: PostMortem,
    /// The bug's message with names from the program's source, if its story was created and knows such names.
    #[serde(default)]
    pub named_message: Option<String>,
    /// The story of the bug, if it was created: see [`diagnose::story`](crate::diagnose::story).
    pub story: Option<Story>,
    /// What happened step by step, if it was requested.
    #[serde(default)]
    pub history: Option<History>,
    /// The number of iterations in which an equal bug was found.
    pub count: u64,
    /// The first of these iterations; `None`: a profiling run, before all iterations.
    pub first: Option<u64>,
    /// The strategy of a portfolio, the profiling run, a kept trace, or that the schedule was steered: if that says more
    /// than the run's own strategy.
    pub by: Option<String>,
    /// The results of experiments, if any were made.
    #[serde(default)]
    pub explanation: Explanation,
}

/// The identity of a bug. Two bugs are equal if they are of the same kind and happened at the same places of the
/// workers that caused the bug, or of those that all others wait for; for a heap block also if it was allocated and
/// freed at the same places.
///
/// Places are lines of the source if the module has line tables, since one line may have several instructions that
/// fail. The wording does not matter, nor where uninvolved workers were, nor which of several workers caused the bug.
/// Stacks are lists of lines, the innermost first. (A trace contains another [identity](crate::identity), by places in
/// the module, which a replay compares.)
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BugIdentity {
    /// The kind of bug.
    pub kind: BugKind,
    /// See [`Evidence::detail`](crate::evidence::Evidence::detail).
    pub detail: String,
    /// The stacks of the workers that caused the bug, without duplicates, in their order as texts.
    pub stacks: Vec<Vec<String>>,
    /// Where the block was allocated, if the bug is about one.
    pub allocated: Option<Vec<String>>,
    /// Where the block was freed, if it was.
    pub freed: Option<Vec<String>>,
}

impl BugIdentity {
    /// 16 hexadecimal digits that are equal only for equal identities.
    pub fn short(&self) -> String {
        let text = serde_json::to_vec(self).expect("texts and lists of texts");
        blake3::hash(&text).to_hex()[..16].to_string()
    }
}

impl FoundBug {
    /// Whether this is not a bug but a limit of this tool, so that there is no verdict.
    pub fn is_limit(&self) -> bool {
        self.bug.kind == BugKind::Limit
    }

    /// One sentence for the user, without the worker, with names from the program's source if they are known.
    pub fn message(&self) -> String {
        self.named_message.clone().unwrap_or_else(|| self.bug.message())
    }

    /// Adds the count of an equal bug, keeps the simpler of the two traces, and returns the other one. Which one is
    /// kept does not depend on the order of the calls.
    pub(super) fn unite(&mut self, mut other: FoundBug) -> FoundBug {
        let (count, first) = (self.count + other.count, self.first.min(other.first));
        if other.order() < self.order() {
            std::mem::swap(self, &mut other);
        }
        (self.count, self.first) = (count, first);
        other
    }

    /// The order of simplicity: smaller is simpler. The decisions themselves make the order of traces total; among
    /// equal traces that of the first iteration is smaller.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        let trace = &self.trace;
        let simplicity = (trace.switches(), trace.decisions.len(), &trace.decisions);
        (simplicity, self.iteration, self.by.is_none(), &self.path)
    }
}

/// The state of every worker when a bug was found, and details of the bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostMortem {
    /// The worker that caused the bug, if a single one did.
    pub culprit: Option<WorkerId>,
    /// Workers that have not ended, in the order of creation.
    pub workers: Vec<WorkerAt>,
    /// In a deadlock, the workers that all others wait for, as far as that is known.
    #[serde(default)]
    pub waited_for: Vec<WorkerId>,
    /// The history of the heap block, if the bug is about one.
    pub block: Option<BlockHistory>,
    /// The first access of a data race.
    pub first_access: Option<PastEvent>,
    /// Details of a data race.
    pub race: Option<RaceHistory>,
    /// Circumstances that may not be the program's fault.
    pub notes: Vec<String>,
    /// The livelock, if the bug is one.
    pub livelock: Option<Livelock>,
    /// The steps of a round that can be repeated for ever, if that is the bug.
    #[serde(default)]
    pub round: Vec<RoundStep>,
    /// The output of the guest.
    pub output: Vec<OutputLine>,
}

/// A worker at the end of an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerAt {
    /// Its id in the execution.
    pub id: WorkerId,
    /// The worker by the name that reports show.
    pub title: String,
    /// The operation that it is about to execute, or what it waits for.
    pub doing: String,
    /// The frames, innermost first.
    pub stack: Vec<Location>,
}

/// A line of the guest's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLine {
    /// The worker that wrote it, by the name that reports show.
    pub worker: String,
    /// The number of the step in which it was written, from 1.
    pub step: u64,
    /// The stream to which it was written.
    pub stream: Stream,
    /// The line, without its end.
    pub text: String,
}

/// The history of the heap block of a memory error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockHistory {
    /// The address of its first byte.
    pub address: u32,
    /// The size that the guest asked for.
    pub bytes: u32,
    /// The allocation; `None` if the block already existed when the test began.
    pub allocated: Option<PastEvent>,
    /// The free; `None` if the block is in use.
    pub freed: Option<PastEvent>,
}

/// Details of a data race, beyond the places of its accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceHistory {
    /// The access that was executed first.
    pub first: AccessHistory,
    /// The access that nothing orders with it.
    pub second: AccessHistory,
    /// The orderings that would have ordered them.
    pub edge: Option<MissingEdge>,
}

/// Details of an access of a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessHistory {
    /// The worker by the name that reports show.
    pub title: String,
    /// The kind of the access, such as `atomic write (Relaxed)`.
    pub how: String,
    /// The value read or written, of up to eight bytes; `None` for a write that was not executed any more.
    pub value: Option<u64>,
    /// The mutexes and rwlocks that the worker held.
    pub locks: Vec<HeldLock>,
    /// Where the worker was created; `None` for the first one.
    pub spawned: Option<PastEvent>,
}

/// A lock that a worker held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The lock.
    pub object: ObjectId,
    /// Its name in reports.
    pub title: String,
}

/// Accesses whose orderings are too weak to order a data race. If these are release and acquire, the same schedule has
/// no race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEdge {
    /// A write that does not release, and should.
    pub release: Option<Location>,
    /// A read that does not acquire, and should.
    pub acquire: Option<Location>,
}

/// An earlier action of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastEvent {
    /// The worker by the name that reports show.
    pub title: String,
    /// The number of the step, from 1.
    pub step: u64,
    /// The frames, innermost first.
    pub stack: Vec<Location>,
}
