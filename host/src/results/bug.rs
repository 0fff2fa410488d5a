//! A found bug as data, and what makes two of them the same.

use super::explanation::Explanation;
use super::history::History;
use super::story::Story;
pub use crate::lasso::RoundStep;
pub use crate::livelock::{Livelock, Look, Spin};
use crate::outcome::{Bug, BugKind};
pub use crate::runtime::Stream;
use crate::trace::Trace;
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What [`FoundBug::by`] begins with where a kept trace of an earlier run showed the bug; its path follows.
pub const REGRESSION: &str = "regression ";

/// A bug and how often it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundBug {
    /// What is wrong.
    pub bug: Bug,
    /// What makes other bugs the same.
    pub identity: BugIdentity,
    /// Of the trace; 0 for a profiling run.
    pub iteration: u64,
    /// Of all traces in which an equal bug was found the one with the fewest switches, of these the shortest.
    pub trace: Trace,
    /// Where the trace is on disk.
    pub path: PathBuf,
    /// Where every worker was.
    pub post_mortem: PostMortem,
    /// What happened, if it was told: see [`diagnose::story`](crate::diagnose::story).
    pub story: Option<Story>,
    /// The same step by step, if it was asked for.
    #[serde(default)]
    pub history: Option<History>,
    /// Iterations in which an equal bug was found.
    pub count: u64,
    /// The first of them; `None`: a profiling run, before all iterations.
    pub first: Option<u64>,
    /// The strategy of a portfolio, or the profiling run, if that says more than the run's own strategy.
    pub by: Option<String>,
    /// What experiments said of it, if there were any.
    #[serde(default)]
    pub explanation: Explanation,
}

/// What makes two bugs the same: they are of one kind and happened at the same places, of who did it or of those for
/// whom all others wait; for a block of the heap also where it was allocated and freed.
///
/// Places are lines of the source where the module has them, since one line may have several instructions that go
/// wrong. Neither the wording matters nor where bystanders were, nor which of several workers did it. Stacks are
/// lists of lines, the innermost one first. (A trace holds another [identity](crate::identity), by places in the
/// module, which a replay compares.)
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BugIdentity {
    /// The kind of bug.
    pub kind: BugKind,
    /// See [`Evidence::detail`](crate::evidence::Evidence::detail).
    pub detail: String,
    /// Of those who did it, each stack once, in their order as texts.
    pub stacks: Vec<Vec<String>>,
    /// Where the block that it is about was allocated, if it is about one.
    pub allocated: Option<Vec<String>>,
    /// Where that block was freed, if it was.
    pub freed: Option<Vec<String>>,
}

impl BugIdentity {
    /// 16 hexadecimal digits that are the same for equal identities only.
    pub fn short(&self) -> String {
        let text = serde_json::to_vec(self).expect("texts and lists of texts");
        blake3::hash(&text).to_hex()[..16].to_string()
    }
}

impl FoundBug {
    /// Whether it is no bug but a limit of this tool, so that there is no verdict.
    pub fn is_limit(&self) -> bool {
        self.bug.kind == BugKind::Limit
    }

    /// Counts the same bug, keeps the simpler of the two traces, and returns the other one. Which one that is does
    /// not depend on the order in which they come.
    pub(super) fn unite(&mut self, mut other: FoundBug) -> FoundBug {
        let (count, first) = (self.count + other.count, self.first.min(other.first));
        if other.order() < self.order() {
            std::mem::swap(self, &mut other);
        }
        (self.count, self.first) = (count, first);
        other
    }

    /// Less is simpler. The decisions themselves make the order of traces total; of equal ones the first counts.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        let trace = &self.trace;
        let simplicity = (trace.switches(), trace.decisions.len(), &trace.decisions);
        (simplicity, self.iteration, self.by.is_none(), &self.path)
    }
}

/// Where every worker was when a bug was found, and what else is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostMortem {
    /// Who did it, if one did.
    pub culprit: Option<WorkerId>,
    /// Workers that have not ended, in the order of creation.
    pub workers: Vec<WorkerAt>,
    /// What happened to the block that it is about, if it is about one.
    pub block: Option<BlockHistory>,
    /// The access of a data race that came first.
    pub first_access: Option<PastEvent>,
    /// What else is to be said of a data race.
    pub race: Option<RaceHistory>,
    /// What in it may not be the program's fault.
    pub notes: Vec<String>,
    /// What never ends, if it is a livelock.
    pub livelock: Option<Livelock>,
    /// The steps that can be repeated for ever, if that is the bug.
    #[serde(default)]
    pub round: Vec<RoundStep>,
    /// What the guest wrote.
    pub output: Vec<OutputLine>,
}

/// A worker at the end of an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerAt {
    /// Its number in the execution.
    pub id: WorkerId,
    /// The worker, as reports name it.
    pub title: String,
    /// What it is about to do or waits for.
    pub doing: String,
    /// Innermost first.
    pub stack: Vec<Location>,
}

/// A line of the guest's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLine {
    /// Who wrote it, as reports name the worker.
    pub worker: String,
    /// The number of the step in which it was written, from 1.
    pub step: u64,
    /// Where to.
    pub stream: Stream,
    /// The line, without its end.
    pub text: String,
}

/// What happened to the block of the heap that a memory error is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockHistory {
    /// Where it begins.
    pub address: u32,
    /// As many as the guest asked for.
    pub bytes: u32,
    /// `None` if the block was there when the test began.
    pub allocated: Option<PastEvent>,
    /// `None` if the block is in use.
    pub freed: Option<PastEvent>,
}

/// What is known of a data race beside where its accesses are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceHistory {
    /// The access that was executed first.
    pub first: AccessHistory,
    /// The access that nothing orders with it.
    pub second: AccessHistory,
    /// What would have ordered them.
    pub edge: Option<MissingEdge>,
}

/// What is known of an access of a data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessHistory {
    /// The worker, as reports name it.
    pub title: String,
    /// As in `atomic write (Relaxed)`.
    pub how: String,
    /// What was read or written, of up to eight bytes; `None` of a write that was not executed any more.
    pub value: Option<u64>,
    /// The mutexes and rwlocks that the worker held, as reports name them.
    pub locks: Vec<String>,
    /// Where the worker was created; `None` for the first one.
    pub spawned: Option<PastEvent>,
}

/// Accesses whose orderings are too weak to order a data race. With these as they should be, the same schedule has no
/// race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEdge {
    /// A write that does not release, and should.
    pub release: Option<Location>,
    /// A read that does not acquire, and should.
    pub acquire: Option<Location>,
}

/// Something that a worker did before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastEvent {
    /// The worker, as reports name it.
    pub title: String,
    /// The number of the step, from 1.
    pub step: u64,
    /// Innermost first.
    pub stack: Vec<Location>,
}
