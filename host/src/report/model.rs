//! The report model of a run of `coyote-wasm test`: plain data, which every renderer uses, and which `--format json`
//! prints as it is. Field names are part of the interface, except those of skipped fields.

use super::correlation::DataReport;
use super::note::Note;
use super::progress::ProgressReport;
use crate::exit::Exit;
use crate::livelock::Look;
use crate::outcome::BugKind;
use crate::results::{
    Decisive, Findability, History, Instead, KnownBug, Rate, SearchSummary, Shrinking, Stop, Story, Suspect,
    Swept,
};
use crate::runtime::{FaultCounts, Sometimes, Stream};
use crate::source_tests::SourceTests;
use crate::statistics::Statistics;
use crate::symbols::SourceFrame;
use crate::trace::Decision;
use crate::verdict::{Unfinished, Verdict};
use coyote_instrumenter::Location;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// The header of a run, which is known before the first test.
#[derive(Clone, Debug, Serialize)]
pub struct RunHeader {
    /// The version of this tool.
    pub version: &'static str,
    /// The module's path, as the user gave it.
    pub module: String,
    pub seed: u64,
    pub strategy: String,
    /// The number of selected tests, and of others in the module.
    #[serde(skip)]
    pub tests: usize,
    #[serde(skip)]
    pub filtered_out: usize,
    /// The bounds of each test; `u64::MAX`: none.
    #[serde(skip)]
    pub iterations_max: u64,
    #[serde(skip)]
    pub timeout: Option<Duration>,
    /// The time limit of all tests together.
    #[serde(skip)]
    pub total_timeout: Option<Duration>,
    /// Whether exploration goes on after a bug.
    #[serde(skip)]
    pub explore: bool,
    /// For a test binary of cargo: tests of its sources that it does not contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_on_target: Option<SourceTests>,
}

/// The report of a whole run.
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
    /// Whether the run was interrupted, and how many tests were not run because of that.
    #[serde(skip)]
    pub not_run: Option<usize>,
    /// The number of tests without a result because of an internal error.
    #[serde(skip)]
    pub broken: usize,
    #[serde(skip)]
    pub elapsed: Duration,
}

/// A test that was not run.
#[derive(Clone, Debug, Serialize)]
pub struct IgnoredTest {
    pub name: String,
    /// Empty if the test gives no reason.
    pub reason: String,
}

/// The report of a test that was explored.
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
    /// How often conditions were evaluated, and held, that the test expects to hold sometimes.
    #[serde(skip_serializing_if = "Sometimes::is_empty")]
    pub sometimes: Sometimes,
    /// How much was new, and the detectors; only for samplers that found nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressReport>,
    /// Data with which the test failed, if exploration went on after bugs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataReport>,
    /// What the verdict does not say by itself, one sentence each.
    pub notes: Vec<Note>,
    #[serde(rename = "elapsed_seconds", serialize_with = "seconds")]
    pub elapsed: Duration,
    pub bugs: Vec<BugReport>,
    /// Whether any iteration met a choice.
    #[serde(skip)]
    pub any_choice: bool,
    /// The largest number of workers in an iteration.
    #[serde(skip)]
    pub workers_max: u32,
    /// The assumption on what loads read.
    #[serde(skip)]
    pub memory: String,
    /// The extent of the exploration, as a fragment.
    #[serde(skip)]
    pub extent: String,
    /// Whether iterations have no result, since parts were not merged.
    #[serde(skip)]
    pub missing: bool,
    /// The output of its first iteration.
    #[serde(skip)]
    pub first_output: String,
}

impl TestReport {
    /// Whether the user interrupted the exploration before it had a result: no bug was found until then, and not all was
    /// tried that had been asked for.
    pub fn is_interrupted(&self) -> bool {
        self.stopped_by == Stop::Interrupted.name()
            && matches!(self.verdict, Verdict::NotFound | Verdict::NothingTested)
    }

    /// Whether the test has passed: no bug was found in all that had been asked for.
    pub fn has_passed(&self) -> bool {
        self.verdict.is_good() && !self.is_interrupted()
    }

    /// Whether the test was executed and no execution came to an end.
    pub fn never_ended(&self) -> bool {
        let Unfinished { fair, unfair } = self.unfinished;
        let executions = match &self.search {
            Some(search) => search.counts.executions + search.counts.unfinished,
            None => self.statistics.fair.explored + self.statistics.unfair.explored,
        };
        executions > 0 && fair + unfair == executions
    }

    /// As [`TestResult::other_bugs_before`](crate::results::TestResult::other_bugs_before).
    pub fn other_bugs_before(&self) -> impl Iterator<Item = &KnownBug> {
        let known = self.search.iter().flat_map(SearchSummary::bugs_before);
        known.filter(|known| !known.is_limit() && self.bugs.iter().all(|bug| bug.identity != known.identity))
    }
}

/// The attempts and results of a sweep of faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    /// The classes and fault points.
    pub faults: Vec<String>,
    /// The number of opportunities for faults in the default schedule.
    pub opportunities: u64,
    /// The number of schedules after each fault, in addition to the default one.
    pub samples: u64,
    /// The number of executions with a fault: planned, and made so that the fault happened.
    pub planned: u64,
    pub tried: u64,
    /// The number of tried executions that the bound on steps cut off.
    pub unfinished: u64,
    /// The number of ways in which faults can happen that were not tried.
    pub left_out: u64,
    /// Whether everything was tried and came to an end.
    pub complete: bool,
    /// Whether the default schedule itself ends without a bug. If it does not, no fault was tried.
    pub baseline_passes: bool,
    /// Results by places in the guest's own source.
    pub sites: Vec<SweptSiteReport>,
}

/// The attempts and results of a sweep at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweptSiteReport {
    /// The class or fault point.
    pub fault: String,
    /// The innermost place of the guest's own source, and its callers.
    pub place: String,
    pub opportunities: u64,
    pub planned: u64,
    /// The results, with bugs by [`BugReport::identity`].
    #[serde(flatten)]
    pub swept: Swept,
}

/// A bug that was found, or a limit of this tool that was met.
#[derive(Clone, Debug, Serialize)]
pub struct BugReport {
    pub kind: BugKind,
    /// Equal only for equal bugs of a module: see [`BugIdentity`](crate::results::BugIdentity).
    pub identity: String,
    pub message: String,
    /// The iteration of the trace.
    pub iteration: u64,
    /// The strategy of a portfolio, or the profiling run, that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// The number of iterations in which it was found; for a resumed search, also by earlier runs.
    pub count: u64,
    /// Lines that a larger share of the iterations with this bug reaches than of those without, the highest rank first,
    /// if exploration went on after bugs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<Suspect>,
    /// The number of choices of the trace.
    pub steps: usize,
    pub trace: String,
    /// The path of the whole log, if it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Files that show it, by the names of their forms, see [`BUG_FILES`](super::render::BUG_FILES).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<&'static str, String>,
    pub replay_command: String,
    /// The line of the guest's own source to which the bug is attributed, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceFrame>,
    /// The story of the bug, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<Story>,
    /// Workers that have not ended.
    pub workers: Vec<WorkerReport>,
    /// Only for memory errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<BlockReport>,
    /// Only for data races: the access that came first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_access: Option<PastEventReport>,
    /// Only for data races: details of the accesses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<RaceReport>,
    /// Circumstances that may not be the program's fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Only for livelocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub livelock: Option<LivelockReport>,
    /// Only for lassos: the steps of a round, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub round: Vec<RoundStepReport>,
    pub output: Vec<OutputReport>,
    /// The results of experiments.
    #[serde(skip_serializing_if = "ExplanationReport::is_empty")]
    pub explanation: ExplanationReport,
    #[serde(skip)]
    pub timeline: Timeline,
    /// All steps, if a file needs them.
    #[serde(skip)]
    pub history: Option<History>,
    /// Whether the module's compiler could have added line tables, but was not told to.
    #[serde(skip)]
    pub lacks_lines: bool,
}

/// The results of experiments on a bug. Indices are those of the trace's choices.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExplanationReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinking: Option<Shrinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive: Option<Decisive>,
    /// The place of the decisive choice: the frame of the guest's own source, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive_place: Option<SourceFrame>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passing: Option<PassingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findability: Option<FindabilityReport>,
    /// Whether experiments were made for what made the bug likely, but did not come to their end in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub out_of_time: bool,
    /// Whether no choice comes before the bug, so that every execution ends with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unavoidable: bool,
}

/// Another choice than the decisive one, with which the rest of the schedule passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassingReport {
    pub instead: Instead,
    /// The number of the step in which it is made.
    pub step: u64,
    /// The place of that step in the guest's own source, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceFrame>,
    /// Whether the schedule then passes; if not, it passes only with another end.
    pub certain: bool,
    /// The random continuations after that choice that still had the bug.
    pub after: Rate,
    /// The first thing that the failing worker then reads otherwise, as a clause, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
}

/// The frequency of the bug.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindabilityReport {
    #[serde(flatten)]
    pub measured: Findability,
    /// The number of iterations without the bug that make it 95 % sure that the bug is gone.
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
    /// Whether it caused the bug.
    pub culprit: bool,
    /// The operation that it is about to execute, or what it waits for.
    pub doing: String,
    /// The frames, innermost first.
    pub stack: Vec<SourceFrame>,
}

/// A step of a round that can be repeated for ever.
#[derive(Clone, Debug, Serialize)]
pub struct RoundStepReport {
    pub worker: String,
    /// The operation and its object.
    pub what: String,
    /// Its place, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceFrame>,
}

/// The block of the heap that a memory error is about.
#[derive(Clone, Debug, Serialize)]
pub struct BlockReport {
    pub address: u32,
    pub bytes: u32,
    /// Absent if the block already existed when the test began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated: Option<PastEventReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<PastEventReport>,
}

/// Details of the accesses of a data race.
#[derive(Clone, Debug, Serialize)]
pub struct RaceReport {
    pub first: AccessReport,
    pub second: AccessReport,
    /// What would order them, according to a trial; the end of a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge: Option<String>,
}

/// An access of a data race.
#[derive(Clone, Debug, Serialize)]
pub struct AccessReport {
    pub worker: String,
    /// The kind of the access, such as `atomic write (Relaxed)`.
    pub how: String,
    /// The value read or written, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// Mutexes and rwlocks that the worker held.
    pub locks: Vec<String>,
    /// The creation of the worker; absent for the first worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawned: Option<PastEventReport>,
}

/// An earlier action of a worker.
#[derive(Clone, Debug, Serialize)]
pub struct PastEventReport {
    pub worker: String,
    pub step: u64,
    pub stack: Vec<SourceFrame>,
}

/// A livelock.
#[derive(Clone, Debug, Serialize)]
pub struct LivelockReport {
    /// The number of states that can follow.
    pub states: usize,
    pub spinning: Vec<SpinReport>,
    /// The number of workers that wait for ever.
    pub waiting: usize,
}

/// A worker that spins.
#[derive(Clone, Debug, Serialize)]
pub struct SpinReport {
    pub title: String,
    /// The number of steps of one round.
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
    /// The frames at every place of these decisions, innermost first; at least one.
    pub places: BTreeMap<Location, Vec<SourceFrame>>,
}

impl RunReport {
    /// The tests whose verdict has this name.
    pub fn with(&self, verdict: &str) -> Vec<&str> {
        self.tests.iter().filter(|t| t.verdict.name() == verdict).map(|t| t.name.as_str()).collect()
    }
}

impl TestReport {
    /// The number of schedules that were executed, or of executions of a search.
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
