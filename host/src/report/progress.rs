//! The progress report of an exploration without a bug: its detectors, how much was new at its end, how much is left,
//! and what to do next.

use crate::plural::counted;
use crate::results::{Novelty, Stop, TestResult, Watch};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// See the module's documentation. Only for samplers: a search itself says what is left.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgressReport {
    /// Iterations that came to their ends and were compared.
    pub compared: u64,
    /// Classes of executions: executions of one class have the same steps, with dependent steps in the same order.
    pub classes: Novelty,
    /// Pairs of places of dependent, successive steps of two workers.
    pub pairs: Novelty,
    /// Scheduling points that compared iterations reached.
    pub points: u64,
    /// The estimated share of further executions whose class no compared one has; absent if iterations are not
    /// independent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<f64>,
    /// Active detectors.
    pub detectors: Vec<String>,
    /// Those of them that watched one of some iterations, with the number of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sampled: BTreeMap<String, u64>,
    /// Detectors that were not active.
    pub others: Vec<String>,
    /// The assumptions of the verdict, in addition to sequential consistency and virtual time.
    pub assumptions: Vec<String>,
    /// The options to try next, after `coyote-wasm test MODULE`.
    pub next: String,
}

/// The minimum number of compared executions for an estimate.
const ENOUGH: u64 = 20;
/// If the share of unseen classes is at least this, more iterations are the best next step.
const MUCH: f64 = 0.05;

impl ProgressReport {
    /// The report of the test with this name.
    pub fn of(name: &str, result: &TestResult) -> ProgressReport {
        let progress = &result.progress;
        let Watch { detectors, sampled, others, assumptions, independent } = result.watch.clone();
        let unseen = progress.unseen().filter(|_| independent && progress.compared >= ENOUGH);
        ProgressReport {
            compared: progress.compared,
            classes: progress.of_classes(&result.indices),
            pairs: progress.of_pairs(&result.indices),
            points: progress.points.len() as u64,
            unseen,
            next: next(name, result, unseen),
            detectors,
            sampled,
            others,
            assumptions,
        }
    }
}

/// The next step: more iterations are of little use where hardly anything is new; a search may then come to an end, and
/// detectors find what no assertion checks.
fn next(name: &str, result: &TestResult, unseen: Option<f64>) -> String {
    let test = format!("--test {name}");
    // Neither is available under weak memory.
    if !result.subject.options.iter().any(|(option, _)| option == "memory") {
        let Watch { sampled, others, .. } = &result.watch;
        if sampled.contains_key("races") || others.iter().any(|other| other == "races") {
            return format!("{test} --detect races,lock-order");
        }
        if unseen.is_none_or(|share| share < MUCH) {
            return format!("{test} --strategy dpor");
        }
    }
    match result.stop {
        Stop::Timeout => {
            format!("{test} --timeout {}", (10.0 * result.elapsed.as_secs_f64()).ceil().max(10.0))
        }
        _ => format!("{test} --iterations {}", result.iterations().saturating_mul(10)),
    }
}

impl fmt::Display for ProgressReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let detector = |name: &String| match self.sampled.get(name) {
            Some(one_in) => format!("{name} (1 of {one_in} iterations)"),
            None => name.clone(),
        };
        let detectors: Vec<String> = self.detectors.iter().map(detector).collect();
        write!(f, "Watched: {}", detectors.join(", "))?;
        if !self.others.is_empty() {
            write!(f, "; not: {}", self.others.join(", "))?;
        }
        let (classes, pairs) = (&self.classes, &self.pairs);
        let seen = (
            several(classes.seen, "class of executions", "classes of executions"),
            several(pairs.seen, "dependent pair of places", "dependent pairs of places"),
            counted(self.compared, "compared iteration"),
        );
        match self.compared {
            0 => {}
            // A tenth of fewer than ten is 0.
            1..10 => write!(f, ". {} and {} in {}", seen.0, seen.1, seen.2)?,
            _ => {
                let (class, pair) = (classes.in_last_tenth, pairs.in_last_tenth);
                write!(
                    f,
                    ". New in the last tenth of {}: {class} of {} and {pair} of {}",
                    seen.2, seen.0, seen.1
                )?;
            }
        }
        if let Some(unseen) = self.unseen {
            write!(f, "; about {} of further ones would be of a class not seen yet", percent(unseen))?;
        }
        write!(f, ". Next: {}.", self.next)
    }
}

fn several(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".into(),
        percent if percent < 1.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
