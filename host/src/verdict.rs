//! The verdict of an exploration on its test: computed only here, for every report.
//!
//! | verdict | condition |
//! |---|---|
//! | bug | a bug was found |
//! | limit | in some execution, the test needs something that this tool does not support |
//! | inconclusive | iterations of the exploration have no result; a fair schedule, or an execution of a search, was cut off by the bound on steps; or no execution came to an end, for example because the time was up or the run was interrupted before |
//! | nothing tested | no execution met a choice; a sweep of faults met no opportunity for one |
//! | proved | a search visited everything |
//! | not found | otherwise: the verdict concerns only what was tried |
//!
//! The first row that applies is the verdict. An unfair schedule that is cut off says nothing: it may just starve a
//! worker that the others wait for. (A livelock that is proved is a bug, see [`crate::livelock`].)

use crate::plural::counted;
use crate::results::{SearchSummary, Stop, TestResult};
use crate::statistics::{Schedules, Statistics};
use serde::Serialize;

/// What a search leaves open that has met states again and does not look at what follows for ever.
pub const END_UNCHECKED: &str = "it was not checked that an end can be reached from each repeated state";

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are bugs, listed in [`TestResult::bugs`].
    Bug,
    /// No verdict on the test: what it needs and this tool does not support, one sentence each.
    Limit(Vec<String>),
    /// No verdict: what did not end, and what the user can do, as fragments that can be put in parentheses.
    Inconclusive {
        /// What did not end.
        what: String,
        /// An option to try, if one may help.
        advice: Option<String>,
    },
    /// No execution met a choice.
    NothingTested,
    /// The test has no bug, under these assumptions.
    Proved {
        /// The assumptions of the proof, one sentence each.
        assumptions: Vec<String>,
    },
    /// No bug in what was tried.
    NotFound,
}

impl Verdict {
    /// Every name, in the order of precedence.
    pub const NAMES: [&str; 6] = ["bug", "limit", "inconclusive", "nothing tested", "proved", "not found"];

    /// The name of the verdict in JSON.
    pub fn name(&self) -> &'static str {
        Verdict::NAMES[match self {
            Verdict::Bug => 0,
            Verdict::Limit(_) => 1,
            Verdict::Inconclusive { .. } => 2,
            Verdict::NothingTested => 3,
            Verdict::Proved { .. } => 4,
            Verdict::NotFound => 5,
        }]
    }

    /// Whether no bug was found and the exploration came to a verdict (no limit, not inconclusive).
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::NothingTested | Verdict::Proved { .. } | Verdict::NotFound)
    }

    fn of(result: &TestResult) -> Verdict {
        if result.is_buggy() {
            return Verdict::Bug;
        }
        let before =
            result.search.iter().flat_map(SearchSummary::bugs_before).map(|known| known.message.clone());
        let lacks = result.bugs.iter().map(|found| found.bug.message()).chain(before);
        let mut limits: Vec<String> = Vec::new();
        for limit in lacks.chain(result.incidents.limits.iter().cloned()) {
            if !limits.contains(&limit) {
                limits.push(limit);
            }
        }
        if !limits.is_empty() {
            return Verdict::Limit(limits);
        }
        if let Some(missing) = result.missing_results() {
            let what = format!("the results of {missing} are missing");
            return Verdict::Inconclusive { what, advice: None };
        }
        if let Some(what) = unfinished(result) {
            return Verdict::Inconclusive { what, advice: advice(result) };
        }
        if !result.any_choice || result.sweep.as_ref().is_some_and(|sweep| sweep.opportunities() == 0) {
            return Verdict::NothingTested;
        }
        match &result.search {
            Some(searched) if searched.has_seen_all() => {
                Verdict::Proved { assumptions: searched.assumptions.clone() }
            }
            _ => Verdict::NotFound,
        }
    }
}

impl TestResult {
    /// What has no result of the units that the result was merged from, as a fragment.
    pub fn missing_results(&self) -> Option<String> {
        let open = self.search.as_ref().map_or(0, |search| search.open_units);
        match () {
            () if open > 0 => Some(format!("{} and what they leave", counted(open, "unit"))),
            () if !self.missing.is_empty() => Some(format!("iterations {}", self.missing)),
            () => None,
        }
    }

    /// The verdict on the test.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }

    /// The number of executions that the bound on steps cut off. Schedules of a search are not fair.
    pub fn unfinished(&self) -> Unfinished {
        match &self.search {
            Some(searched) => Unfinished { fair: 0, unfair: searched.counts.unfinished },
            None => Unfinished {
                fair: self.statistics.fair.hit_max_steps,
                unfair: self.statistics.unfair.hit_max_steps,
            },
        }
    }

    /// The extent of the exploration, as a fragment.
    pub fn extent(&self) -> String {
        if let Some(sweep) = &self.sweep {
            return sweep.extent();
        }
        match &self.search {
            None => {
                let Unfinished { fair, unfair } = self.unfinished();
                format!("{}, {} unfinished", counted(self.iterations(), "schedule"), fair + unfair)
            }
            Some(searched) => {
                let executions = counted(searched.counts.executions, "execution");
                let all = searched.has_seen_all()
                    && searched.counts.unfinished == 0
                    && matches!(self.verdict(), Verdict::Proved { .. } | Verdict::Bug);
                match searched.counts.states {
                    _ if !all => format!("{executions}, not all"),
                    0 => format!("all {executions}"),
                    states => format!("all {}", counted(states, "state")),
                }
            }
        }
    }
}

/// Executions that the bound on steps cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// Under fair strategies.
    pub fair: u64,
    /// Under strategies that are not fair, or in a search.
    pub unfair: u64,
}

/// Executions whose end a verdict needs and that did not end, as a fragment.
fn unfinished(result: &TestResult) -> Option<String> {
    let statistics = &result.statistics;
    if let Some(searched) = &result.search {
        let counts = &searched.counts;
        let all = counts.executions + counts.unfinished;
        return match (counts.unfinished, counts.executions) {
            (0, 0) => Some("no execution came to its end".into()),
            (0, _) if searched.exhausted && counts.cyclic => Some(END_UNCHECKED.into()),
            (0, _) => None,
            (n, _) => Some(cut_off(n, all, "execution", statistics.steps_max.unfair)),
        };
    }
    let (fair, unfair) = (&statistics.fair, &statistics.unfair);
    if fair.hit_max_steps > 0 {
        return Some(cut_off(fair.hit_max_steps, fair.explored, "fair schedule", statistics.steps_max.fair));
    }
    let ended = |s: &Schedules| s.explored - s.hit_max_steps - s.abandoned;
    if result.iterations() == 0 {
        return match result.stop {
            Stop::Timeout => Some(
                "no schedule came to its end before the time was over: the test needs more time, or fewer rounds"
                    .into(),
            ),
            Stop::Interrupted => Some("no schedule came to its end before the run was interrupted".into()),
            _ => None,
        };
    }
    if ended(fair) + ended(unfair) > 0 {
        return None;
    }
    Some(match unfair.hit_max_steps {
        0 => "no schedule came to its end: an assumption failed in each".into(),
        n => cut_off(n, unfair.explored, "unfair schedule", statistics.steps_max.unfair),
    })
}

fn cut_off(count: u64, all: u64, noun: &str, bound: u64) -> String {
    format!("{count} of {} did not end within {bound} steps", counted(all, noun))
}

/// Advice to the user, as a clause that begins with a verb.
fn advice(result: &TestResult) -> Option<String> {
    let statistics = &result.statistics;
    let raised = match &result.search {
        Some(searched) if searched.counts.unfinished > 0 => {
            statistics.raised(false, searched.counts.unfinished, searched.counts.executions)
        }
        Some(searched) if searched.counts.cyclic => {
            // Only a search that saw all states has their graph.
            let asks = match result.subject.strategy == "stateful" {
                false => "--strategy stateful asks that",
                true if searched.resumed.is_some() => "a search that is not resumed asks that",
                true => "a search in one process asks that",
            };
            return Some(asks.into());
        }
        None if statistics.fair.hit_max_steps > 0 => statistics.raised_for(true),
        None if statistics.unfair.hit_max_steps > 0 => statistics.raised_for(false),
        _ => return None,
    };
    // A few may just have starved the first worker.
    let Statistics { fair, unfair, .. } = statistics;
    let cut: &Schedules = if fair.hit_max_steps > 0 { fair } else { unfair };
    let kill = match result.search {
        None if 2 * cut.hit_after_main >= cut.hit_max_steps => {
            "--at-exit kill if the end of the first worker is to end the others, "
        }
        _ => "",
    };
    Some(format!("try {kill}{raised} if they should end, or --fail-on-max-steps to see where one is then"))
}
