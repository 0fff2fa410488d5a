//! What the verdict on a test does not say by itself.

use super::coverage::Coverage;
use super::progress::ProgressReport;
use crate::evidence::{RacingAccess, Side};
use crate::plural::counted;
use crate::results::{ONE_ORDER_OF_POLLS, SeenInversion, SeenRace, TestResult, UNKNOWN_ORDERINGS};
use crate::runtime::{FAULTS, FaultClass, FaultCount, FaultCounts, Faults};
use crate::verdict::{END_UNCHECKED, Verdict};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A note on a test; its text is one or more sentences.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// See [`Verdict::Inconclusive`].
    Inconclusive { what: String, advice: Option<String> },
    /// Something that this tool does not support.
    Limit(String),
    /// What has no result, though it belongs to the merged exploration.
    Missing(String),
    /// The coverage of a search.
    Coverage(Box<Coverage>),
    /// No execution had a choice among this number of workers, with these options that leave points out.
    NoChoice { workers: u32, filters: Vec<String> },
    /// Values were chosen, but no iteration had a second worker. `random`: the guest asked for random bytes.
    OneWorker { random: bool },
    /// There were several workers, but never two of them were enabled.
    NeverConcurrent { workers: u32 },
    /// Options that leave scheduling points out.
    PointsLeftOut(Vec<String>),
    /// `cut` of `all` schedules were cut off, with advice.
    ManyCut { cut: u64, all: u64, advice: String },
    /// The guest asked for random bytes, which follow from this number in every iteration.
    SameRandom { seed: u64 },
    /// The module has the runtime of tokio, and the order in which it polls tasks was not varied.
    OneOrderOfPolls,
    /// This number of operations of the program have an unknown memory ordering.
    UnknownOrderings(String),
    /// How much was new, and the detectors.
    Progress(Box<ProgressReport>),
    /// Memory that workers share, with `--heap-points shared`.
    Shared { granules: u64, repeats: u64 },
    /// `--check-determinism` compared this number of states.
    Deterministic { states: u64 },
    /// The guest requested memory and did not get it.
    MemoryRefused,
    /// Functions that the guest called and that are not implemented.
    RefusedCalls(BTreeSet<String>),
    /// Workers that were blocked when a test had passed.
    LeftBlocked(BTreeSet<String>),
    /// Workers that a program has neither joined nor detached.
    NeverJoined(BTreeSet<String>),
    /// A data race that is no bug, and where its accesses are.
    Race { first: String, second: String, iteration: Option<u64> },
    /// Locks taken in opposite orders: the actions of each worker, and the number of schedules that were steered
    /// towards a deadlock and had none.
    Inversion { sides: Vec<String>, tried: u64, iteration: Option<u64> },
    /// Known data races, with their number by suppression.
    SuppressedRaces(BTreeMap<String, u64>),
    /// How often faults could happen, and did.
    Faults(FaultCounts),
    /// Classes of faults and fault points that were given a budget, but that no worker reached.
    FaultsNeverMet(Vec<String>),
    /// Conditions that the test expects to hold sometimes and that never held, with the number of evaluations.
    NeverHeld(BTreeMap<String, u64>),
    /// The test works in a directory of the host.
    HostDirectory,
}

/// The notes on a test, in the order in which they are read. `place` describes the place of an access of a data race,
/// `side` a worker's part in an inversion.
pub fn of(
    result: &TestResult,
    host_directories: bool,
    place: impl Fn(&RacingAccess) -> String,
    side: impl Fn(&Side) -> String,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let verdict = result.verdict();
    match &verdict {
        Verdict::Inconclusive { what, advice } => {
            notes.push(Note::Inconclusive { what: what.clone(), advice: advice.clone() });
        }
        Verdict::Limit(limits) => notes.extend(limits.iter().cloned().map(Note::Limit)),
        _ => {}
    }
    let missing = result.missing_results().filter(|_| !matches!(verdict, Verdict::Inconclusive { .. }));
    notes.extend(missing.map(Note::Missing));
    let coverage = result.search.as_ref().map(|search| Coverage::of(result, search));
    // Where there was no choice, nothing was explored either.
    let says_something = |coverage: &Coverage| verdict != Verdict::NothingTested || !coverage.is_plain();
    notes.extend(coverage.filter(says_something).map(|coverage| Note::Coverage(coverage.into())));
    if verdict == Verdict::NothingTested && !result.any_choice {
        notes.push(Note::NoChoice { workers: result.workers_max, filters: filters(result) });
    }
    if matches!(verdict, Verdict::NotFound | Verdict::Proved { .. }) {
        notes.extend(silent(result, &verdict));
    }
    if verdict.is_good() {
        notes.extend(never_varied(result));
    }
    if !result.shared.0.is_empty() {
        let granules = result.shared.0.len() as u64;
        notes.push(Note::Shared { granules, repeats: result.repeats });
    }
    if result.states_compared > 0 {
        notes.push(Note::Deterministic { states: result.states_compared });
    }
    if result.incidents.memory_refused {
        notes.push(Note::MemoryRefused);
    }
    if !result.incidents.refused_calls.is_empty() {
        notes.push(Note::RefusedCalls(result.incidents.refused_calls.clone()));
    }
    if !result.incidents.left_blocked.is_empty() {
        notes.push(Note::LeftBlocked(result.incidents.left_blocked.clone()));
    }
    if !result.incidents.never_joined.is_empty() {
        notes.push(Note::NeverJoined(result.incidents.never_joined.clone()));
    }
    let mut suppressed = BTreeMap::new();
    for SeenRace { iteration, race } in &result.races {
        match &race.suppressed_by {
            Some(rule) => *suppressed.entry(rule.clone()).or_insert(0) += 1,
            None => notes.push(Note::Race {
                first: place(&race.first),
                second: place(&race.second),
                iteration: *iteration,
            }),
        }
    }
    if !suppressed.is_empty() {
        notes.push(Note::SuppressedRaces(suppressed));
    }
    if !result.incidents.faults.is_empty() {
        notes.push(Note::Faults(result.incidents.faults.clone()));
    }
    let never = never_met(result);
    if !never.is_empty() {
        notes.push(Note::FaultsNeverMet(never));
    }
    let never: BTreeMap<String, u64> =
        result.incidents.sometimes.never().map(|(name, evaluated)| (name.into(), evaluated)).collect();
    if !never.is_empty() {
        notes.push(Note::NeverHeld(never));
    }
    // A confirmed inversion is a bug, and an inversion that a search refutes does not matter.
    let proved = matches!(verdict, Verdict::Proved { .. });
    for SeenInversion { iteration, inversion, tried, confirmed } in &result.inversions {
        if !confirmed && !proved {
            let sides = inversion.sides.iter().map(&side).collect();
            notes.push(Note::Inversion { sides, tried: *tried, iteration: *iteration });
        }
    }
    if host_directories {
        notes.push(Note::HostDirectory);
    }
    notes
}

/// Reasons why the absence of bugs may mean little.
fn silent(result: &TestResult, verdict: &Verdict) -> Vec<Note> {
    let mut notes = Vec::new();
    let statistics = &result.statistics;
    let not_found = *verdict == Verdict::NotFound;
    let concurrency = statistics.concurrency.map(|spread| spread.max);
    match result.workers_max {
        0 => {}
        // Tasks of a runtime are not workers.
        1 if result.incidents.faults.get(FaultClass::Poll.row().name).seen > 0 => {}
        1 => notes.push(Note::OneWorker { random: result.incidents.asked_random }),
        workers if concurrency == Some(1) => notes.push(Note::NeverConcurrent { workers }),
        _ => {}
    }
    let filters = filters(result);
    if not_found && !filters.is_empty() {
        notes.push(Note::PointsLeftOut(filters));
    }
    let cut = result.unfinished();
    let all = result.iterations();
    if not_found && result.search.is_none() && 10 * (cut.fair + cut.unfair) >= all.max(1) {
        let advice = statistics.raised_for(cut.fair > 0);
        notes.push(Note::ManyCut { cut: cut.fair + cut.unfair, all, advice });
    }
    notes
}

/// What platforms and runtimes leave open and no iteration varied.
fn never_varied(result: &TestResult) -> Vec<Note> {
    let mut notes = Vec::new();
    if result.incidents.asked_random && !budgets(result).has(FaultClass::Seed) {
        let given = result.subject.options.iter().find(|(name, _)| name == "random");
        notes.push(Note::SameRandom { seed: given.and_then(|(_, seed)| seed.parse().ok()).unwrap_or(0) });
    }
    let of_search = result.search.iter().flat_map(|search| &search.assumptions);
    let mut assumptions = of_search.chain(&result.watch.assumptions);
    if assumptions.clone().any(|assumption| assumption == ONE_ORDER_OF_POLLS) {
        notes.push(Note::OneOrderOfPolls);
    }
    if let Some(operations) = assumptions.find_map(|assumption| assumption.strip_suffix(UNKNOWN_ORDERINGS)) {
        notes.push(Note::UnknownOrderings(operations.into()));
    }
    notes
}

/// The options of a run that leave scheduling points out, as the user gave them.
fn filters(result: &TestResult) -> Vec<String> {
    let leaves_out = |(name, value): &&(String, String)| match name.as_str() {
        "points" => value != "heap",
        "atomic-fn" | "no-points-in" | "points-only-in" => true,
        _ => false,
    };
    let options = result.subject.options.iter().filter(leaves_out);
    options.map(|(name, value)| format!("--{name} {value}")).collect()
}

/// The budgets that the test was given.
pub fn budgets(result: &TestResult) -> Faults {
    let mut budgets = Faults::default();
    for (name, value) in &result.subject.options {
        // The options have been parsed before, so there are no errors.
        match FAULTS.iter().find(|row| row.option == Some(name)) {
            Some(row) if row.class == FaultClass::Stale => _ = budgets.read_memory(value),
            Some(row) => budgets.set(row.class, value.parse().unwrap_or(0)),
            None if name == "faults" => _ = budgets.read(value),
            None => {}
        }
    }
    budgets
}

/// Classes and points with a budget that had no opportunity.
fn never_met(result: &TestResult) -> Vec<String> {
    let budgets = budgets(result);
    // An opportunity `point.disk.write` also counts for a budget of `point` or `point.disk`.
    let met = |given: &String| {
        result.incidents.faults.iter().any(|(name, count)| {
            let rest = name.strip_prefix(&**given);
            count.seen > 0 && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    // These classes have a budget by default.
    let open = FaultClass::OPEN.map(|class| class.row().name);
    budgets.given().into_iter().filter(|given| !met(given) && !open.contains(&given.as_str())).collect()
}

/// The text about one class or fault point.
fn fault_count((name, count): (&str, FaultCount)) -> String {
    match count {
        FaultCount { seen, opportunities: 0, .. } => format!("{name} has no budget ({seen} seen)"),
        FaultCount { opportunities, faults, .. } => {
            format!("{name} {faults} times in {}", counted_opportunities(opportunities))
        }
    }
}

fn counted_opportunities(count: u64) -> String {
    if count == 1 { "1 opportunity".into() } else { format!("{count} opportunities") }
}

impl Note {
    /// Whether the note says that the absence of bugs may mean little.
    pub fn doubts(&self) -> bool {
        use Note::{
            ManyCut, NeverConcurrent, NeverHeld, OneOrderOfPolls, OneWorker, PointsLeftOut, SameRandom,
            UnknownOrderings,
        };
        matches!(
            self,
            OneWorker { .. }
                | NeverConcurrent { .. }
                | PointsLeftOut(_)
                | ManyCut { .. }
                | SameRandom { .. }
                | OneOrderOfPolls
                | UnknownOrderings(_)
                | NeverHeld(_)
        )
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Note::Inconclusive { what, advice: Some(advice) } if what == END_UNCHECKED => {
                write!(f, "Inconclusive: {what}: {advice}.")
            }
            Note::Inconclusive { what, advice: Some(advice) } => {
                write!(f, "Inconclusive: {what}. They may never end: {advice}.")
            }
            Note::Race { first, second, iteration } => {
                let when = iteration.map_or(String::new(), |number| format!(", first in iteration {number}"));
                write!(f, "Data race: {first}, and {second}{when}. It is no bug with --races warn.")
            }
            Note::Inversion { sides, tried, iteration } => {
                let when = iteration.map_or(String::new(), |number| format!(", first in iteration {number}"));
                let tried = match tried {
                    0 => "no schedule was steered towards one".into(),
                    1 => "a schedule that was steered towards one had none".into(),
                    n => format!("{n} schedules that were steered towards one had none"),
                };
                write!(f, "Potential deadlock: {}{when}; {tried}.", sides.join(", "))
            }
            Note::SuppressedRaces(rules) => {
                let all = counted(rules.values().sum(), "pair");
                let rules: Vec<String> =
                    rules.iter().map(|(rule, count)| format!("{rule} ({count})")).collect();
                write!(f, "Data races of {all} of places are suppressed: {}.", rules.join(", "))
            }
            Note::Faults(counts) => {
                let counts: Vec<String> = counts.iter().map(fault_count).collect();
                write!(f, "Faults: {}.", counts.join(", "))
            }
            Note::FaultsNeverMet(names) => {
                write!(f, "No worker came to a place for these faults: {}.", names.join(", "))
            }
            Note::NeverHeld(conditions) => {
                let conditions: Vec<String> = conditions
                    .iter()
                    .map(|(name, evaluated)| format!("`{name}` ({})", counted(*evaluated, "evaluation")))
                    .collect();
                write!(f, "Expected to hold sometimes, and never did: {}.", conditions.join(", "))
            }
            Note::Inconclusive { what, advice: None } => write!(f, "Inconclusive: {what}."),
            Note::Limit(limit) => write!(f, "No verdict: {limit}."),
            Note::Missing(missing) => write!(
                f,
                "The results of {missing} are missing: all numbers are of the others alone, and a bug may \
                 come before."
            ),
            Note::Coverage(coverage) => coverage.fmt(f),
            Note::NoChoice { workers: 0 | 1, .. } => {
                f.write_str("This test met no choice: it has one worker and asks for no value.")
            }
            Note::NoChoice { workers, filters } if filters.is_empty() => {
                write!(f, "This test met no choice, though it has {workers} workers.")
            }
            Note::NoChoice { workers, filters } => write!(
                f,
                "This test met no choice, though it has {workers} workers: run it without {}.",
                filters.join(" ")
            ),
            Note::OneWorker { random } => write!(
                f,
                "No iteration had a second worker: only values were chosen{}. Does the test start its threads?",
                if *random { ", such as random bytes (a `HashMap` asks for some)" } else { "" }
            ),
            Note::NeverConcurrent { workers } => write!(
                f,
                "In no iteration could two of {workers} workers run at once: these schedules only differ in values. \
                 Is each worker joined as soon as it is started?"
            ),
            Note::PointsLeftOut(filters) => write!(
                f,
                "Accesses of memory were left out as scheduling points, and bugs that need them are not found: run \
                 it without {}.",
                filters.join(" ")
            ),
            Note::ManyCut { cut, all, advice } => write!(
                f,
                "{cut} of {} did not end, so that what follows was not seen: try {advice}.",
                counted(*all, "schedule")
            ),
            Note::SameRandom { seed } => write!(
                f,
                "The guest asked for random bytes and got the same in every iteration, so that what follows from \
                 them (the order of a HashMap, of a select!) never varied: try --random {}.",
                seed.saturating_add(1)
            ),
            Note::UnknownOrderings(operations) => write!(
                f,
                "The memory ordering of {operations} is not known and was taken for sequentially consistent, so that \
                 bugs of a weaker one are not found: `coyote-wasm doctor` says why."
            ),
            Note::OneOrderOfPolls => write!(
                f,
                "Tasks were polled in tokio's own order alone, which tokio does not promise: try --faults {}={}.",
                FaultClass::Poll.row().name,
                FaultClass::Poll.row().usual
            ),
            Note::Progress(progress) => progress.fmt(f),
            Note::Shared { granules, repeats } => write!(
                f,
                "Workers share {} of {} bytes; found in {} of iterations.",
                counted(*granules, "granule"),
                coyote_abi::rt::GRANULE,
                counted(*repeats, "repeat"),
            ),
            Note::Deterministic { states } => {
                write!(f, "Every iteration was executed twice more: equal after each of {states} steps.")
            }
            Note::MemoryRefused => {
                f.write_str("The guest was refused memory in some iteration: raise --max-memory.")
            }
            Note::RefusedCalls(names) => write!(
                f,
                "The guest called {} with a descriptor that is no socket: --listen N makes one (docs/wasi.md).",
                joined(names)
            ),
            Note::LeftBlocked(workers) => write!(
                f,
                "Blocked for ever when a test had ended: {}. This is no bug for detached workers.",
                joined(workers)
            ),
            Note::NeverJoined(workers) => write!(
                f,
                "Neither joined nor detached when the program had ended: {}. What such a thread holds is never freed.",
                joined(workers)
            ),
            Note::HostDirectory => f.write_str(
                "With --dir an iteration starts with what the directory then holds, and what it writes there \
                 stays: only traces reproduce it.",
            ),
        }
    }
}

/// A note is serialised as its text.
impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
