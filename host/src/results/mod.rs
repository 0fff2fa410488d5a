//! The result of exploring a test: plain data, which can be stored, sent and merged.
//!
//! [`TestResult::absorb`] adds one iteration, [`TestResult::merge`] adds what another exploration of the same test
//! found in other iterations. Both give the same result in any order and grouping, so the iterations of a sampler can
//! be distributed, and the merged results are those of one exploration that executes all of them. This does not hold
//! for explorations that stop at a bug, since iterations behind it are not counted, nor with `--heap-points shared`,
//! where an iteration begins with what earlier ones in the same exploration discovered about sharing.
//!
//! - `bug`: a found bug and its identity.
//! - `explanation`: the results of experiments on a bug.
//! - `story`: what happened in a failing iteration.
//! - `history`: the same step by step, with happens-before.
//! - `sweep`: the results of a sweep of faults.
//! - `incidents`: what happened and is no bug. `progress`: how much was new. `correlation`: what correlates with bugs.
//! - `indices`: the iterations that a result covers. `merge`: merging the results of several explorations.

mod bug;
mod correlation;
mod explanation;
mod history;
mod incidents;
mod indices;
mod merge;
mod progress;
mod story;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

pub use crate::execution_counts::ExecutionCounts;
pub use bug::{
    AccessHistory, BlockHistory, BugIdentity, FoundBug, HeldLock, Livelock, Look, MissingEdge, OutputLine,
    PastEvent, PostMortem, REGRESSION, RaceHistory, RoundStep, Spin, Stream, WorkerAt,
};
pub use correlation::{
    CONFIGURATIONS_MAX, Configuration, Correlation, Lines, Outcomes, Passage, SourceLine, Suspect,
};
pub use explanation::{
    CONFIDENCE, Decisive, Explanation, Findability, Instead, Meaning, Passing, Rate, Shrinking,
};
pub use history::{
    History, HistoryFrame, HistoryStep, HistoryWorker, Link, LinkKind, SourceText, Span, SpanKind, Thing,
};
pub use incidents::Incidents;
pub use indices::Indices;
pub use merge::{Difference, MergeError};
pub use progress::{ClassSeen, Classes, IterationProgress, Novelty, Progress, is_compared};
pub use story::{Story, StoryRow, StoryWorker};
pub use sweep::{Sweep, Swept, SweptExecution, SweptSite, WAYS_MAX};

use crate::evidence::{Inversion, RaceRemark};
use crate::granules::Granules;
use crate::outcome::BugKind;
use crate::statistics::{IterationRecord, Statistics, StepsMax};
use coyote_strategies::search::Counts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The subject of an exploration: everything that determines the content of an iteration with a given number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The artifact's identity, see [`Artifact`](crate::artifact::Artifact).
    pub module: String,
    /// The test's name, as for the user.
    pub test: String,
    /// The strategy with all of its parameters.
    pub strategy: String,
    /// The seed of the run.
    pub seed: u64,
    /// See [`crate::options`].
    pub options: Vec<(String, String)>,
}

/// The assumption that tasks are polled in the order of tokio's queues, where nothing else varies it.
pub const ONE_ORDER_OF_POLLS: &str = "tasks polled in tokio's own order";

/// The assumption that the guest gets the same random bytes in every execution.
pub const ONE_STREAM: &str = "the same random bytes in every execution";

/// The assumption that waits return only after a notification.
pub const NO_SPURIOUS: &str = "no spurious wake-ups, which --faults spurious tries";

/// The assumption that a look at the clock belongs to the step before it, if it is no scheduling point: what versions
/// stored that had no such points.
pub const LOOKS_AT_ONCE: &str = "no time passes between a step and a look at the clock that follows it";

/// The end of the assumption about operations of the program's own code whose memory ordering is not known.
pub const UNKNOWN_ORDERINGS: &str = " of unknown ordering taken for sequentially consistent";

/// What searches leave out with `--points sync` in a program whose locks are atomics, so that the operations of these locks
/// are executed in one order: no proof.
pub const ONE_ORDER_OF_LOCKS: &str = "one order of the program's locks, which are atomics";

/// An assumption of searches without a budget for faults of class `split`.
pub const WHOLE_MESSAGES: &str = "what is sent over sockets arrives whole";

/// Why an exploration stopped. If parts stopped for several reasons, the last one in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stop {
    /// Nothing is left to explore.
    Exhausted,
    /// The iterations of the budget were executed.
    Iterations,
    /// The time of the budget was up.
    Timeout,
    /// The remaining work of a search exceeds its memory limit.
    Memory,
    /// The user interrupted it.
    Interrupted,
    /// A bug was found, and the budget says to stop.
    Bug,
}

impl Stop {
    /// The reason's name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Bug => "bug",
            Stop::Iterations => "iterations",
            Stop::Timeout => "timeout",
            Stop::Memory => "memory",
            Stop::Interrupted => "interrupt",
            Stop::Exhausted => "nothing left",
        }
    }
}

/// The result of one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationResult {
    /// The iteration's number; `None` for a profiling run that represents no iteration and comes before all of them.
    pub index: Option<u64>,
    /// The values that statistics count.
    pub record: IterationRecord,
    /// The bug that it ended with.
    pub bug: Option<Box<FoundBug>>,
    /// Further facts about the iteration.
    pub notes: IterationNotes,
    /// The granules that turned out to be shared.
    pub shared: Granules,
    /// How often the iteration was repeated because of them.
    pub repeats: u32,
    /// The number of states that were compared with those of another execution of the iteration.
    pub states_compared: u64,
    /// What was new in it, for iterations that [`is_compared`] selects.
    #[serde(default)]
    pub progress: Option<IterationProgress>,
    /// The lines that it reached and the data that it chose, if this is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<Box<Passage>>,
    /// How often instructions were executed, if they are counted, including those before every iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Box<ExecutionCounts>>,
}

/// Facts about an iteration in addition to its record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationNotes {
    /// What happened in it.
    #[serde(flatten)]
    pub incidents: Incidents,
    /// Data races that are no bugs, which detectors of the same job met in this or an earlier iteration.
    pub races: Vec<RaceRemark>,
    /// Inversions of locks, which detectors of the same job met in this or an earlier iteration.
    #[serde(default)]
    pub inversions: Vec<Inversion>,
    /// Only for the first iteration of an exploration.
    pub first_output: Option<FirstOutput>,
}

/// A data race that is no bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRace {
    /// The iteration in which it was met first; `None` under a search, and in a profiling run.
    pub iteration: Option<u64>,
    /// The race itself.
    pub race: RaceRemark,
}

/// Locks that workers take in opposite orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenInversion {
    /// The iteration in which it was met first; `None` under a search, and in a profiling run.
    pub iteration: Option<u64>,
    /// The locks, and where they are taken.
    pub inversion: Inversion,
    /// The number of schedules that were steered towards its deadlock.
    pub tried: u64,
    /// Whether one of them had a bug.
    pub confirmed: bool,
}

/// The output of an iteration to standard output and standard error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstOutput {
    /// As [`IterationResult::index`].
    pub index: Option<u64>,
    /// The text of both streams, in the order of writing.
    pub text: String,
}

/// The result of an exploration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// The subject of the exploration.
    pub subject: Subject,
    /// The iterations that the result covers; empty for a search.
    pub indices: Indices,
    /// Iterations of the exploration that have no result, if it was merged from parts.
    #[serde(default, skip_serializing_if = "Indices::is_empty")]
    pub missing: Indices,
    /// The number and the lengths of iterations.
    pub statistics: Statistics,
    /// The different bugs; for samplers in the order in which they were found first, for searches the simplest first.
    pub bugs: Vec<FoundBug>,
    /// Why the exploration stopped.
    pub stop: Stop,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Whether any iteration met a choice.
    pub any_choice: bool,
    /// The largest number of workers in an iteration.
    pub workers_max: u32,
    /// What happened in iterations and is no bug.
    #[serde(flatten)]
    pub incidents: Incidents,
    /// The output of the first iteration.
    pub first_output: Option<FirstOutput>,
    /// Data races that are no bugs, without duplicate pairs of places, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub races: Vec<SeenRace>,
    /// Inversions of locks, without duplicates by places, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inversions: Vec<SeenInversion>,
    /// The granules that turned out to be shared, and how often iterations were repeated because of them.
    pub shared: Granules,
    /// See [`TestResult::shared`].
    pub repeats: u64,
    /// The number of states that were compared with those of another execution of the same iteration.
    pub states_compared: u64,
    /// How much was new, iteration by iteration.
    #[serde(default)]
    pub progress: Progress,
    /// The detectors and the assumptions of a sampler.
    #[serde(default)]
    pub watch: Watch,
    /// The summary of a search, if this is one.
    pub search: Option<SearchSummary>,
    /// The sweep of faults, if this is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// What iterations with a bug have in common and others have not; only for samplers that continue after bugs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlation>,
    /// How often instructions were executed, if they are counted. Executions of a search share their beginning, which
    /// is counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<ExecutionCounts>,
}

/// The detectors and assumptions of a sampler, which follow from the subject of the exploration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Detectors that were active.
    pub detectors: Vec<String>,
    /// Those of them that watched some iterations alone: one of this number.
    #[serde(default)]
    pub sampled: BTreeMap<String, u64>,
    /// Detectors that could have been active, and were not.
    pub others: Vec<String>,
    /// The assumptions of a sampler's verdict, in addition to the memory model and virtual time.
    pub assumptions: Vec<String>,
    /// Whether iterations are independent of each other, so that seen ones allow estimates about unseen ones.
    pub independent: bool,
}

/// The summary of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSummary {
    /// The work that the search has done.
    pub counts: Counts,
    /// Whether every execution was visited that the search should visit.
    pub exhausted: bool,
    /// An estimate of the total number of executions.
    pub estimate: Option<f64>,
    /// The assumptions of its verdict, in addition to sequential consistency and virtual time.
    pub assumptions: Vec<String>,
    /// The path of the frontier with the remaining work, if there is any.
    pub frontier: Option<PathBuf>,
    /// Of a unit of a campaign: what happened in executions that were cut off. Others may have it, too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cut: Incidents,
    /// The number of units without a result, if this is the result of a campaign.
    #[serde(default, skip_serializing_if = "is_default")]
    pub open_units: u64,
    /// Of a campaign: whether steps may be repeated for ever, which no unit looks for.
    #[serde(skip)]
    pub may_repeat: bool,
    /// What earlier runs did, if this one continued with their remaining work. `counts` includes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
}

impl SearchSummary {
    /// Whether it visited every execution, also those beyond its bounds.
    pub fn has_seen_all(&self) -> bool {
        self.exhausted && !self.counts.cut && !self.leaves_locks_out()
    }

    /// See [`ONE_ORDER_OF_LOCKS`].
    pub fn leaves_locks_out(&self) -> bool {
        self.assumptions.iter().any(|assumption| assumption == ONE_ORDER_OF_LOCKS)
    }

    /// The bugs that earlier runs found.
    pub fn bugs_before(&self) -> impl Iterator<Item = &KnownBug> {
        self.resumed.iter().flat_map(|resumed| &resumed.done.bugs)
    }
}

/// Whether a value need not be written, since it is read if it is absent.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// See [`SearchSummary::resumed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The path of the frontier that was read.
    pub from: PathBuf,
    /// What earlier runs did.
    #[serde(flatten)]
    pub done: Done,
}

/// A bug that was found before a frontier was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownBug {
    /// Its [`BugKind::name`].
    pub kind: String,
    /// Its message in the report at that time.
    pub message: String,
    /// The path of its trace.
    pub trace: PathBuf,
    /// Its [`BugIdentity::short`].
    #[serde(default)]
    pub identity: String,
    /// The number of executions in which it was found.
    #[serde(default)]
    pub count: u64,
}

impl KnownBug {
    /// As [`FoundBug::is_limit`].
    pub fn is_limit(&self) -> bool {
        self.kind == BugKind::Limit.name()
    }
}

/// What a verdict needs to know about earlier runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// The work of the search.
    pub counts: Counts,
    /// The different bugs, in the order in which they were found.
    pub bugs: Vec<KnownBug>,
    /// Whether any execution met a choice.
    pub any_choice: bool,
    /// The largest number of workers in an execution.
    pub workers_max: u32,
    /// See [`TestResult::notes`].
    pub notes: IterationNotes,
    /// Whether some part was read from a file without a checksum.
    pub unprotected: bool,
}

impl Done {
    /// Adds the bugs of a run that continued with the remaining work.
    pub fn add_bugs(&mut self, found: &[FoundBug]) {
        for found in found {
            let identity = found.identity.short();
            match self.bugs.iter_mut().find(|known| known.identity == identity) {
                Some(known) => known.count += found.count,
                None => self.bugs.push(KnownBug {
                    kind: found.bug.kind.name().into(),
                    message: found.bug.message(),
                    trace: found.path.clone(),
                    identity,
                    count: found.count,
                }),
            }
        }
    }

    /// The number of executions that ended at a limit of this tool.
    pub fn at_limits(&self) -> u64 {
        self.bugs.iter().filter(|bug| bug.is_limit()).map(|bug| bug.count.max(1)).sum()
    }

    /// The number of executions with a bug.
    pub fn buggy(&self) -> u64 {
        self.counts.bugs.saturating_sub(self.at_limits())
    }

    /// Whether some execution had this kind of bug.
    pub fn has(&self, kind: BugKind) -> bool {
        self.bugs.iter().any(|bug| bug.kind == kind.name())
    }
}

impl TestResult {
    /// The result of no iterations. `goes_on`: whether the exploration continues after a bug, so that equal bugs are
    /// counted once.
    pub fn new(subject: Subject, steps_max: StepsMax, goes_on: bool) -> TestResult {
        let mut statistics = Statistics::new(steps_max);
        statistics.distinct_bugs = goes_on.then_some(0);
        TestResult {
            subject,
            indices: Indices::default(),
            missing: Indices::default(),
            statistics,
            bugs: Vec::new(),
            stop: Stop::Iterations,
            elapsed: Duration::ZERO,
            any_choice: false,
            workers_max: 0,
            incidents: Incidents::default(),
            first_output: None,
            races: Vec::new(),
            inversions: Vec::new(),
            shared: Granules::default(),
            repeats: 0,
            states_compared: 0,
            progress: Progress::default(),
            watch: Watch::default(),
            search: None,
            sweep: None,
            correlation: None,
            executed: None,
        }
    }

    /// Adds counts of executed instructions.
    pub fn count_executed(&mut self, executed: &ExecutionCounts) {
        self.executed.get_or_insert_default().merge(executed);
    }

    /// The number of different bugs, without limits of this tool.
    pub fn distinct_bugs(&self) -> u64 {
        self.bugs.iter().filter(|bug| !bug.is_limit()).count() as u64
    }

    /// The number of iterations, or of executions of a search.
    pub fn iterations(&self) -> u64 {
        self.search.as_ref().map_or(self.statistics.iterations(), |s| s.counts.executions)
    }

    /// Whether a bug was found, possibly by earlier runs with whose remaining work a search continued.
    pub fn is_buggy(&self) -> bool {
        let before = self.search.as_ref().and_then(|search| search.resumed.as_ref());
        self.bugs.iter().any(|bug| !bug.is_limit()) || before.is_some_and(|resumed| resumed.done.buggy() > 0)
    }

    /// The bugs that earlier runs found and this one did not meet, without limits of this tool.
    pub fn other_bugs_before(&self) -> impl Iterator<Item = &KnownBug> {
        let known = self.search.iter().flat_map(SearchSummary::bugs_before);
        let is_met = |known: &KnownBug| self.bugs.iter().any(|bug| bug.identity.short() == known.identity);
        known.filter(move |known| !known.is_limit() && !is_met(known))
    }

    /// Adds an iteration that the result does not cover yet.
    pub fn absorb(&mut self, iteration: IterationResult) {
        let IterationResult {
            index,
            record,
            bug,
            notes,
            shared,
            repeats,
            states_compared,
            progress,
            passage: _,
            executed,
        } = iteration;
        executed.iter().for_each(|executed| self.count_executed(executed));
        self.indices.extend(index);
        self.statistics.add(&record);
        self.any_choice |= record.decisions > 0;
        self.workers_max = self.workers_max.max(record.workers);
        self.note(index, notes);
        self.shared.0.extend(shared.0);
        self.repeats += u64::from(repeats);
        self.states_compared += states_compared;
        if let (Some(index), Some(progress)) = (index, progress) {
            self.progress.absorb(index, progress);
        }
        if let Some(bug) = bug {
            self.add_bug(*bug);
        }
    }

    /// Its notes, as those of a single iteration.
    pub fn notes(&self) -> IterationNotes {
        IterationNotes {
            incidents: self.incidents.clone(),
            races: self.races.iter().map(|seen| seen.race.clone()).collect(),
            inversions: self.inversions.iter().map(|seen| seen.inversion.clone()).collect(),
            first_output: None,
        }
    }

    /// Adds the notes of an iteration. `index`: as [`IterationResult::index`].
    pub fn note(&mut self, index: Option<u64>, notes: IterationNotes) {
        self.incidents.merge(notes.incidents);
        notes.races.into_iter().for_each(|race| self.add_race(SeenRace { iteration: index, race }));
        for inversion in notes.inversions {
            self.add_inversion(SeenInversion { iteration: index, inversion, tried: 0, confirmed: false });
        }
        self.offer_first_output(notes.first_output);
    }

    /// Adds an inversion of locks. Among equal ones the first is kept, with the sum of the schedules tried.
    fn add_inversion(&mut self, mut seen: SeenInversion) {
        let key = seen.inversion.key();
        match self.inversions.binary_search_by_key(&key, |seen| seen.inversion.key()) {
            Ok(at) => {
                let known = &mut self.inversions[at];
                let (tried, confirmed) = (known.tried + seen.tried, known.confirmed | seen.confirmed);
                let rank = |seen: &SeenInversion| (seen.iteration, seen.inversion.clone());
                if rank(&seen) < rank(known) {
                    std::mem::swap(known, &mut seen);
                }
                (known.tried, known.confirmed) = (tried, confirmed);
            }
            Err(at) => self.inversions.insert(at, seen),
        }
    }

    /// Adds a data race that is no bug. Among equal ones the first is kept.
    fn add_race(&mut self, seen: SeenRace) {
        let key = |seen: &SeenRace| RaceRemark::key([&seen.race.first, &seen.race.second]);
        match self.races.binary_search_by_key(&key(&seen), key) {
            Ok(at) if seen.iteration < self.races[at].iteration => self.races[at] = seen,
            Ok(_) => {}
            Err(at) => self.races.insert(at, seen),
        }
    }

    fn offer_first_output(&mut self, offered: Option<FirstOutput>) {
        let both = [self.first_output.take(), offered];
        self.first_output = both.into_iter().flatten().min_by_key(|output| output.index);
    }

    /// Adds a bug. If an equal bug is known, it is counted, and the simpler of the two traces is kept. Returns the
    /// other one.
    pub fn add_bug(&mut self, bug: FoundBug) -> Option<FoundBug> {
        let other = match self.bugs.iter_mut().find(|known| known.identity == bug.identity) {
            Some(known) => Some(known.unite(bug)),
            None => {
                self.bugs.push(bug);
                None
            }
        };
        self.bugs.sort_by_key(|bug| bug.first);
        if self.statistics.distinct_bugs.is_some() {
            self.statistics.distinct_bugs = Some(self.distinct_bugs());
        }
        other
    }

    /// Records that a complete sweep of faults has nothing left, whatever the number of iterations in the budget.
    pub fn exhaust_sweep(&mut self) {
        if self.stop == Stop::Iterations && self.sweep.as_ref().is_some_and(Sweep::is_complete) {
            self.stop = Stop::Exhausted;
        }
    }
}
