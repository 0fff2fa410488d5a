//! A run of `coyote-wasm test` as its readers get it: plain data, from which every renderer works, and which
//! `--format json` prints as it is. Field names are part of the interface; what is skipped is not.

use super::correlation::DataReport;
use super::note::Note;
use super::progress::ProgressReport;
use crate::exit::Exit;
use crate::livelock::Look;
use crate::outcome::BugKind;
use crate::results::{
    Decisive, Findability, History, Instead, Rate, SearchSummary, Shrinking, Story, Suspect, Swept,
};
use crate::runtime::{FaultCounts, Stream};
use crate::source_tests::SourceTests;
use crate::statistics::Statistics;
use crate::symbols::SourceFrame;
use crate::trace::Decision;
use crate::verdict::{Unfinished, Verdict};
use coyote_instrumenter::Location;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is known before the first test.
#[derive(Clone, Debug, Serialize)]
pub struct RunHeader {
    /// Of this tool.
    pub version: &'static str,
    /// The module's path, as the user gave it.
    pub module: String,
    pub seed: u64,
    pub strategy: String,
    /// How many tests are selected, and how many others the module has.
    #[serde(skip)]
    pub tests: usize,
    #[serde(skip)]
    pub filtered_out: usize,
    /// Bounds of each test; `u64::MAX`: none.
    #[serde(skip)]
    pub iterations_max: u64,
    #[serde(skip)]
    pub timeout: Option<Duration>,
    /// Of all tests together.
    #[serde(skip)]
    pub total_timeout: Option<Duration>,
    /// Whether exploration goes on after a bug.
    #[serde(skip)]
    pub explore: bool,
    /// Of a test binary that cargo built: tests of its sources that it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_on_target: Option<SourceTests>,
}

/// The whole run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    #[serde(flatten)]
    pub header: RunHeader,
    pub tests: Vec<TestReport>,
    /// Tests that their harness does not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredTest>,
    #[serde(rename = "exit_code", serialize_with = "exit_code")]
    pub exit: Exit,
    /// Whether it was interrupted, and how many tests were not run because of that.
    #[serde(skip)]
    pub not_run: Option<usize>,
    #[serde(skip)]
    pub elapsed: Duration,
}

/// A test that is not run.
#[derive(Clone, Debug, Serialize)]
pub struct IgnoredTest {
    pub name: String,
    /// Empty if the test does not say.
    pub reason: String,
}

/// A test that was explored.
#[derive(Clone, Debug, Serialize)]
pub struct TestReport {
    pub name: String,
    /// Its [`Verdict::name`].
    #[serde(serialize_with = "verdict_name")]
    pub verdict: Verdict,
    /// Executions that the bound on steps cut off.
    pub unfinished: Unfinished,
    /// See [`Stop::name`](crate::results::Stop::name).
    pub stopped_by: &'static str,
    pub statistics: Statistics,
    /// Only for searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSummary>,
    /// Only for sweeps of faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepReport>,
    /// How often faults could happen, and did, by class and fault point.
    #[serde(skip_serializing_if = "FaultCounts::is_empty")]
    pub faults: FaultCounts,
    /// How much was new, and who watched; only of samplers that found nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressReport>,
    /// Data with which it failed, if exploration went on after bugs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataReport>,
    /// What the verdict does not say by itself, a sentence each.
    pub notes: Vec<Note>,
    #[serde(rename = "elapsed_seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    pub bugs: Vec<BugReport>,
    /// Whether any iteration met a choice.
    #[serde(skip)]
    pub any_choice: bool,
    /// Most workers of an iteration.
    #[serde(skip)]
    pub workers_max: u32,
    /// What loads were taken to read.
    #[serde(skip)]
    pub memory: String,
    /// How far it was explored, as a fragment.
    #[serde(skip)]
    pub extent: String,
    /// What its first iteration wrote.
    #[serde(skip)]
    pub first_output: String,
}

impl TestReport {
    /// Whether it was executed, and no execution came to an end.
    pub fn never_ended(&self) -> bool {
        let Unfinished { fair, unfair } = self.unfinished;
        let executions = match &self.search {
            Some(search) => search.counts.executions + search.counts.unfinished,
            None => self.statistics.fair.explored + self.statistics.unfair.explored,
        };
        executions > 0 && fair + unfair == executions
    }
}

/// What a sweep of faults tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// Classes and fault points.
    pub faults: Vec<String>,
    /// Places for faults that the default schedule comes to.
    pub opportunities: u64,
    /// Schedules after each fault, beside the default one.
    pub samples: u64,
    /// Executions with a fault: all, and those in which the fault struck.
    pub planned: u64,
    pub tried: u64,
    /// Of those that were tried, how many the bound on steps cut off.
    pub unfinished: u64,
    /// Ways in which faults can happen that were not tried.
    pub left_out: u64,
    /// Whether all was tried and came to an end.
    pub complete: bool,
    /// Whether the default schedule itself ends without a bug. If not, no fault was tried.
    pub baseline_passes: bool,
    /// By places in the guest's own source.
    pub sites: Vec<SweptSiteReport>,
}

/// What a sweep tried at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweptSiteReport {
    /// The class or fault point.
    pub fault: String,
    /// The innermost place of the guest's own source, and who called it.
    pub place: String,
    pub opportunities: u64,
    pub planned: u64,
    /// Its bugs by [`BugReport::identity`].
    #[serde(flatten)]
    pub swept: Swept,
}

/// A bug that was found, or a limit of this tool that was met.
#[derive(Clone, Debug, Serialize)]
pub struct BugReport {
    pub kind: BugKind,
    /// The same for equal bugs of a module only: see [`BugIdentity`](crate::results::BugIdentity).
    pub identity: String,
    pub message: String,
    /// Of the trace.
    pub iteration: u64,
    /// The strategy of a portfolio, or the profiling run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// Iterations in which it was found.
    pub count: u64,
    /// Lines of which iterations with it are more likely, the highest rank first, if exploration went on after bugs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<Suspect>,
    /// Choices of the trace.
    pub steps: usize,
    pub trace: String,
    /// Where the whole log is, if it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Files in which it is shown, see [`BUG_FILES`](super::render::BUG_FILES): the name of the form and a path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<&'static str, String>,
    pub replay_command: String,
    /// The line of the guest's own source that it is about, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceFrame>,
    /// What happened, if it could be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
    /// Those that have not ended.
    pub workers: Vec<WorkerReport>,
    /// Only for memory errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockReport>,
    /// Only for data races: the access that came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_access: Option<PastEventReport>,
    /// Only for data races: what else is known of the accesses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<RaceReport>,
    /// What in it may not be the program's fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Only for livelocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub livelock: Option<LivelockReport>,
    /// Only for lassos: the steps of a round, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub round: Vec<RoundStepReport>,
    pub output: Vec<OutputReport>,
    /// What experiments said.
    #[serde(skip_serializing_if = "ExplanationReport::is_empty")]
    pub explanation: ExplanationReport,
    #[serde(skip)]
    pub timeline: Timeline,
    /// All steps, if a file needs them.
    #[serde(skip)]
    pub history: Option<History>,
    /// Whether the module's compiler could have said which lines there are, and was not asked to.
    #[serde(skip)]
    pub lacks_lines: bool,
}

/// What experiments said of a bug. Indices are those of the trace's choices.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplanationReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinking: Option<Shrinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive: Option<Decisive>,
    /// Where the decisive choice is made: the frame of the guest's own source, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive_place: Option<SourceFrame>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passing: Option<PassingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findability: Option<FindabilityReport>,
    /// Whether experiments were made for what made the bug likely, but did not come to their end in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_time: bool,
}

/// What would have had to happen instead of the decisive choice, for the rest of the schedule to pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassingReport {
    pub instead: Instead,
    /// Whether the schedule then passes; if not, only with another end.
    pub certain: bool,
    /// How many random continuations still had the bug after that choice.
    pub after: Rate,
}

/// How often the bug is met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindabilityReport {
    #[serde(flatten)]
    pub measured: Findability,
    /// So many iterations without the bug make it 95 % sure that it is gone.
    pub iterations: u64,
}

impl ExplanationReport {
    pub fn is_empty(&self) -> bool {
        *self == ExplanationReport::default()
    }
}

/// A worker when the bug was found.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerReport {
    pub title: String,
    /// Whether it did it.
    pub culprit: bool,
    /// What it is about to do or waits for.
    pub doing: String,
    /// Innermost first.
    pub stack: Vec<SourceFrame>,
}

/// A step of a round that can be repeated for ever.
#[derive(Clone, Debug, Serialize)]
pub struct RoundStepReport {
    pub worker: String,
    /// The operation, and what it is about.
    pub what: String,
    /// Where it is, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceFrame>,
}

/// The block of the heap that a memory error is about.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    pub address: u32,
    pub bytes: u32,
    /// Absent if it was there when the test began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated: Option<PastEventReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<PastEventReport>,
}

/// What is known of the accesses of a data race.
#[derive(Clone, Debug, Serialize)]
pub struct RaceReport {
    pub first: AccessReport,
    pub second: AccessReport,
    /// What would order them, as a sentence's end: it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
}

/// An access of a data race.
#[derive(Clone, Debug, Serialize)]
pub struct AccessReport {
    pub worker: String,
    /// As in `atomic write (Relaxed)`.
    pub how: String,
    /// What was read or written, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// Mutexes and rwlocks that the worker held.
    pub locks: Vec<String>,
    /// Absent for the first worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<PastEventReport>,
}

/// Something that a worker did before.
#[derive(Clone, Debug, Serialize)]
pub struct PastEventReport {
    pub worker: String,
    pub step: u64,
    pub stack: Vec<SourceFrame>,
}

/// What never ends.
#[derive(Clone, Debug, Serialize)]
pub struct LivelockReport {
    /// How many states can follow.
    pub states: usize,
    pub spinning: Vec<SpinReport>,
    /// How many workers wait for ever.
    pub waiting: usize,
}

/// A worker that spins.
#[derive(Clone, Debug, Serialize)]
pub struct SpinReport {
    pub title: String,
    /// Steps of one round.
    pub steps: usize,
    pub looks: Vec<Look>,
}

/// A line that the guest wrote.
#[derive(Clone, Debug, Serialize)]
pub struct OutputReport {
    pub worker: String,
    pub step: u64,
    pub stream: Stream,
    pub text: String,
}

/// The failing iteration, choice by choice.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub decisions: Vec<Decision>,
    /// The functions at every place of these decisions, the innermost first; at least one.
    pub places: BTreeMap<Location, Vec<SourceFrame>>,
}

impl RunReport {
    /// The tests whose verdict has this name.
    pub fn with(&self, verdict: &str) -> Vec<&str> {
        self.tests.iter().filter(|t| t.verdict.name() == verdict).map(|t| t.name.as_str()).collect()
    }
}

impl TestReport {
    /// Schedules that were executed, or executions of a search.
    pub fn schedules(&self) -> u64 {
        self.search.as_ref().map_or(self.statistics.iterations(), |s| s.counts.executions)
    }
}

impl BugReport {
    /// Whether it is a limit of this tool, so that there is no verdict.
    pub fn is_limit(&self) -> bool {
        self.kind == BugKind::Limit
    }
}

fn exit_code<S: Serializer>(exit: &Exit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(*exit as u8)
}

fn verdict_name<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}
