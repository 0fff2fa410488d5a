//! What an exploration found out about a test: plain data, which can be stored, sent and added up.
//!
//! [`TestResult::absorb`] takes over one iteration, [`TestResult::merge`] what another exploration of the same test
//! found in other iterations. Both give the same answer in any order and grouping, so the iterations of a sampler can be
//! shared out, and the results put together, as if one exploration had executed all of them. This does not hold for
//! explorations that stop at a bug, since what lies behind it is not counted, nor with `--heap-points shared`, where an
//! iteration begins with what those before it in the same exploration found out.
//!
//! - `bug`: a found bug, and what makes two the same.
//! - `explanation`: what was found out about a bug by experiment.
//! - `story`: what happened in a failing iteration.
//! - `history`: the same step by step, with what happened before what.
//! - `sweep`: what came of a sweep of faults.
//! - `progress`: how much was new. `correlation`: what goes along with bugs.
//! - `indices`: which iterations a result speaks of. `merge`: results of several explorations, put together.

mod bug;
mod correlation;
mod explanation;
mod history;
mod indices;
mod merge;
mod progress;
mod story;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

pub use crate::execution_counts::ExecutionCounts;
pub use bug::{
    AccessHistory, BlockHistory, BugIdentity, FoundBug, Livelock, Look, MissingEdge, OutputLine, PastEvent,
    PostMortem, REGRESSION, RaceHistory, RoundStep, Spin, Stream, WorkerAt,
};
pub use correlation::{
    CONFIGURATIONS_MAX, Configuration, Correlation, Lines, Outcomes, Passage, SourceLine, Suspect,
};
pub use explanation::{CONFIDENCE, Decisive, Explanation, Findability, Instead, Passing, Rate, Shrinking};
pub use history::{
    History, HistoryFrame, HistoryStep, HistoryWorker, Link, LinkKind, SourceText, Span, SpanKind, Thing,
};
pub use indices::Indices;
pub use merge::MergeError;
pub use progress::{ClassSeen, Classes, IterationProgress, Novelty, Progress, is_compared};
pub use story::{Story, StoryRow, StoryWorker};
pub use sweep::{Sweep, Swept, SweptExecution, SweptSite, WAYS_MAX};

use crate::evidence::{Inversion, RaceRemark};
use crate::granules::Granules;
use crate::outcome::BugKind;
use crate::runtime::FaultCounts;
use crate::statistics::{IterationRecord, Statistics, StepsMax};
use coyote_strategies::search::Counts;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// What was explored, and how: all that decides what an iteration of a number is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The artifact's identity, see [`Artifact`](crate::artifact::Artifact).
    pub module: String,
    /// The test, as the user names it.
    pub test: String,
    /// The strategy with all of its parameters.
    pub strategy: String,
    /// The seed of the run.
    pub seed: u64,
    /// See [`crate::options`].
    pub options: Vec<(String, String)>,
}

/// Why an exploration stopped. Of parts that stopped for several reasons the last one in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stop {
    /// Nothing is left to explore.
    Exhausted,
    /// The iterations of the budget were executed.
    Iterations,
    /// The time of the budget was over.
    Timeout,
    /// What is left of a search takes all the memory that it may have.
    Memory,
    /// The user interrupted it.
    Interrupted,
    /// A bug was found, and the budget does not say to go on.
    Bug,
}

impl Stop {
    /// As JSON has it.
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
    /// `None` for a profiling run that stands for no iteration: it comes before all of them.
    pub index: Option<u64>,
    /// What statistics count of it.
    pub record: IterationRecord,
    /// The bug that it ended with.
    pub bug: Option<Box<FoundBug>>,
    /// What else is to be told.
    pub notes: IterationNotes,
    /// Memory that turned out to be shared.
    pub shared: Granules,
    /// How often the iteration was repeated for that.
    pub repeats: u32,
    /// States that were compared with those of another execution of it.
    pub states_compared: u64,
    /// Of iterations that [`is_compared`] selects: what was new in it.
    #[serde(default)]
    pub progress: Option<IterationProgress>,
    /// By which lines it came, and which data it chose, if that is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<Box<Passage>>,
    /// How often instructions were executed, if they are counted: what comes before every iteration included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Box<ExecutionCounts>>,
}

/// What an iteration says beside its record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationNotes {
    /// Whether the guest was refused memory.
    pub memory_refused: bool,
    /// See [`TestResult::asked_random`].
    #[serde(default)]
    pub asked_random: bool,
    /// See [`TestResult::limits`].
    pub limit: Option<String>,
    /// See [`TestResult::refused_calls`].
    pub refused_calls: Vec<String>,
    /// See [`TestResult::left_blocked`].
    pub left_blocked: Vec<String>,
    /// See [`TestResult::never_joined`].
    #[serde(default)]
    pub never_joined: Vec<String>,
    /// Opportunities for faults and faults, by class and name.
    pub faults: FaultCounts,
    /// Data races that are no bugs, met up to its end by who executed it.
    pub races: Vec<RaceRemark>,
    /// Inversions of locks, met up to its end by who executed it.
    #[serde(default)]
    pub inversions: Vec<Inversion>,
    /// Of the first iteration of an exploration.
    pub first_output: Option<FirstOutput>,
}

/// A data race that is no bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRace {
    /// Of which it was met first; `None` under a search, and in a profiling run.
    pub iteration: Option<u64>,
    /// Its accesses.
    pub race: RaceRemark,
}

/// Locks that workers take in opposite orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenInversion {
    /// Of which it was met first; `None` under a search, and in a profiling run.
    pub iteration: Option<u64>,
    /// Which locks, and where.
    pub inversion: Inversion,
    /// Schedules that were steered towards its deadlock.
    pub tried: u64,
    /// Whether one of them came to a bug.
    pub confirmed: bool,
}

/// What an iteration wrote to standard output and standard error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstOutput {
    /// As [`IterationResult::index`].
    pub index: Option<u64>,
    /// Both streams, in the order of writing.
    pub text: String,
}

/// The result of an exploration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// What was explored, and how.
    pub subject: Subject,
    /// The iterations that it speaks of; none for a search.
    pub indices: Indices,
    /// Iterations that belong to the exploration and that nobody has told of, if it was put together from results of
    /// parts.
    #[serde(default, skip_serializing_if = "Indices::is_empty")]
    pub missing: Indices,
    /// How many iterations there were, and how long they were.
    pub statistics: Statistics,
    /// Different bugs. Of samplers in the order in which they were found first, of searches the simplest first.
    pub bugs: Vec<FoundBug>,
    /// Why there were no more.
    pub stop: Stop,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Whether any iteration met a choice.
    pub any_choice: bool,
    /// Most workers of an iteration.
    pub workers_max: u32,
    /// Whether the guest was refused memory in some iteration.
    pub memory_refused: bool,
    /// Whether some iteration asked for random bytes, of which all get the same.
    #[serde(default)]
    pub asked_random: bool,
    /// What some iteration needed and this tool lacks, as sentences with what to do: no verdict on the test.
    pub limits: BTreeSet<String>,
    /// Functions that the guest called in some iteration and that are not implemented.
    pub refused_calls: BTreeSet<String>,
    /// What the first iteration wrote.
    pub first_output: Option<FirstOutput>,
    /// Workers that a passing iteration left blocked for ever.
    pub left_blocked: BTreeSet<String>,
    /// Workers that a passing iteration of a program has neither joined nor detached.
    #[serde(default)]
    pub never_joined: BTreeSet<String>,
    /// How often faults could happen, and did.
    #[serde(default, skip_serializing_if = "FaultCounts::is_empty")]
    pub faults: FaultCounts,
    /// Data races that are no bugs, each pair of places once, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub races: Vec<SeenRace>,
    /// Locks that workers take in opposite orders, by places, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inversions: Vec<SeenInversion>,
    /// Memory that turned out to be shared, and how often iterations were repeated for it.
    pub shared: Granules,
    /// See [`TestResult::shared`].
    pub repeats: u64,
    /// States that were compared with those of another execution of the same iteration.
    pub states_compared: u64,
    /// How much was new, iteration by iteration.
    #[serde(default)]
    pub progress: Progress,
    /// Who watched, and what is taken for granted.
    #[serde(default)]
    pub watch: Watch,
    /// What a search says of itself.
    pub search: Option<SearchSummary>,
    /// What a sweep of faults tried, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// What iterations with a bug have in common that others have not; only of samplers that go on after bugs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlation>,
    /// How often instructions were executed, if they are counted. Executions of a search share what they begin with, so
    /// that counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<ExecutionCounts>,
}

/// Who watched, and what is taken for granted: it follows from what was explored, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// Detectors that watched.
    pub detectors: Vec<String>,
    /// Those of them that watched some iterations alone: one of this number.
    #[serde(default)]
    pub sampled: BTreeMap<String, u64>,
    /// Detectors that could have, and did not.
    pub others: Vec<String>,
    /// What a verdict of a sampler takes for granted beside the memory model and virtual time.
    pub assumptions: Vec<String>,
    /// Whether iterations are independent of each other, so that what was seen says something of what was not.
    pub independent: bool,
}

/// What a search says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchSummary {
    /// What it has done.
    pub counts: Counts,
    /// Whether every execution was visited that the search was to visit.
    pub exhausted: bool,
    /// How many executions there may be in all.
    pub estimate: Option<f64>,
    /// What its verdict assumes beside sequential consistency and virtual time.
    pub assumptions: Vec<String>,
    /// Where the rest was written, if there is any.
    pub frontier: Option<PathBuf>,
    /// What the runs before did, if this one went on with their rest: all of it is in `counts`, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
}

/// See [`SearchSummary::resumed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// Where the rest was read from.
    pub from: PathBuf,
    /// What was done there.
    #[serde(flatten)]
    pub done: Done,
}

/// A bug that was found before a frontier was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownBug {
    /// As [`BugKind::name`] says it.
    pub kind: String,
    /// As the report worded it then.
    pub message: String,
    /// Where its trace was written.
    pub trace: PathBuf,
}

/// What a verdict needs to know of the runs before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// What the search had done.
    pub counts: Counts,
    /// Different bugs, in the order in which they were found.
    pub bugs: Vec<KnownBug>,
    /// Whether any execution met a choice.
    pub any_choice: bool,
    /// Most workers of an execution.
    pub workers_max: u32,
    /// Whether the guest was refused memory.
    pub memory_refused: bool,
    /// Advice for a bound other than steps that was reached.
    pub bound: Option<String>,
    /// See [`TestResult::left_blocked`].
    pub left_blocked: Vec<String>,
    /// Whether some part of it was read from a file that nothing protects from damage.
    pub unprotected: bool,
}

impl Done {
    /// Whether some execution had this kind of bug.
    pub fn has(&self, kind: BugKind) -> bool {
        self.bugs.iter().any(|bug| bug.kind == kind.name())
    }
}

impl TestResult {
    /// Of no iteration. `goes_on`: after a bug, so that equal bugs are counted once.
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
            memory_refused: false,
            asked_random: false,
            limits: BTreeSet::new(),
            refused_calls: BTreeSet::new(),
            first_output: None,
            left_blocked: BTreeSet::new(),
            never_joined: BTreeSet::new(),
            faults: FaultCounts::default(),
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

    /// Takes over how often instructions were executed.
    pub fn count_executed(&mut self, executed: &ExecutionCounts) {
        self.executed.get_or_insert_default().merge(executed);
    }

    /// How many different bugs there are; limits of this tool are none.
    pub fn distinct_bugs(&self) -> u64 {
        self.bugs.iter().filter(|bug| !bug.is_limit()).count() as u64
    }

    /// How many iterations, or executions of a search.
    pub fn iterations(&self) -> u64 {
        self.search.as_ref().map_or(self.statistics.iterations(), |s| s.counts.executions)
    }

    /// Whether a bug was found, be it by the runs before whose rest a search went on with.
    pub fn is_buggy(&self) -> bool {
        let before = self.search.as_ref().and_then(|search| search.resumed.as_ref());
        self.bugs.iter().any(|bug| !bug.is_limit())
            || before.is_some_and(|resumed| resumed.done.counts.bugs > 0)
    }

    /// Takes over an iteration that it does not speak of yet. Returns a bug that is not kept, see
    /// [`TestResult::add_bug`].
    pub fn absorb(&mut self, iteration: IterationResult) -> Option<FoundBug> {
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
        bug.and_then(|bug| self.add_bug(*bug))
    }

    /// Takes over what an iteration says beside its record. `index` as [`IterationResult::index`].
    pub fn note(&mut self, index: Option<u64>, notes: IterationNotes) {
        self.memory_refused |= notes.memory_refused;
        self.asked_random |= notes.asked_random;
        self.limits.extend(notes.limit);
        self.refused_calls.extend(notes.refused_calls);
        self.left_blocked.extend(notes.left_blocked);
        self.never_joined.extend(notes.never_joined);
        self.faults.merge(&notes.faults);
        notes.races.into_iter().for_each(|race| self.add_race(SeenRace { iteration: index, race }));
        for inversion in notes.inversions {
            self.add_inversion(SeenInversion { iteration: index, inversion, tried: 0, confirmed: false });
        }
        self.offer_first_output(notes.first_output);
    }

    /// Takes over an inversion of locks. Of equal ones the first is kept, with all that was tried.
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

    /// Takes over a data race that is no bug. Of equal ones the first is kept.
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

    /// Takes over a bug. If it is known it is counted, and the simplest of the two traces is kept. Returns the
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

    /// Of a sweep of faults of which all is tried, nothing is left, however many iterations the budget had.
    pub fn exhaust_sweep(&mut self) {
        if self.stop == Stop::Iterations && self.sweep.as_ref().is_some_and(Sweep::is_complete) {
            self.stop = Stop::Exhausted;
        }
    }
}
