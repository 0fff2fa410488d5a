//! Evidence of what should happen and does not: hot monitors of the guest, and rounds of steps that can be repeated for
//! ever.

use crate::plural::counted;
pub use coyote_strategies::search::rounds::RoundKind;
use serde::{Deserialize, Serialize};

/// A monitor that did not become cold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotMonitor {
    /// The guest's name of the monitor.
    pub name: String,
    /// Its number among monitors of this name.
    pub number: u32,
    /// The number of steps executed before it became hot.
    pub since: u64,
    /// The worker that made it hot, by the name that reports show.
    pub by: String,
    /// Why the hot monitor is a bug.
    pub when: HotWhen,
}

/// Why a hot monitor is a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HotWhen {
    /// The execution has ended.
    AtEnd,
    /// It was hot for more steps than allowed, in a fair execution without faults.
    TooLong {
        /// The number of steps that counted.
        steps: u64,
    },
    /// A fair round of steps can be repeated for ever, and it is never cold in the round.
    ForEver {
        /// The number of steps of the round.
        steps: usize,
    },
}

/// A round of steps that leads back to the same state: see [`crate::lasso`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEvidence {
    /// The defect of the round.
    pub kind: RoundKind,
    /// The number of steps of the round.
    pub steps: usize,
    /// The workers that step in it, by the names that reports show.
    pub workers: Vec<String>,
    /// The worker that they overtake, if this is the defect.
    pub victim: Option<String>,
}

impl HotMonitor {
    pub(super) fn message(&self) -> String {
        let HotMonitor { name, number, since, by, when } = self;
        let number = if *number == 0 { String::new() } else { format!(" ({number})") };
        let since = format!("{by} made it hot after step {since}");
        match when {
            HotWhen::AtEnd => format!("the monitor `{name}`{number} is hot at the end; {since}"),
            HotWhen::TooLong { steps } => {
                let steps = counted(*steps, "step");
                format!("the monitor `{name}`{number} has been hot for {steps} of a fair execution; {since}")
            }
            HotWhen::ForEver { steps } => {
                let steps = counted(*steps as u64, "step");
                format!(
                    "the monitor `{name}`{number} never becomes cold in a fair round of {steps} that can be repeated for \
                     ever; {since}"
                )
            }
        }
    }
}

impl RoundEvidence {
    pub(super) fn message(&self) -> String {
        let RoundEvidence { kind, steps, workers, victim } = self;
        let (who, round) = (workers.join(" and "), format!("a round of {}", counted(*steps as u64, "step")));
        match (kind, victim) {
            (RoundKind::Without, Some(victim)) => format!(
                "{who} can repeat {round} for ever, in which {victim} is enabled now and again and always overtaken"
            ),
            (RoundKind::Alone, _) => {
                format!("{who} can repeat {round} for ever without giving way, while others could go on")
            }
            _ => format!("{who} can repeat {round} for ever, which is fair to all workers and gets nowhere"),
        }
    }
}

impl HotWhen {
    pub(super) fn word(&self) -> &'static str {
        match self {
            HotWhen::AtEnd => "end",
            HotWhen::TooLong { .. } => "temperature",
            HotWhen::ForEver { .. } => "lasso",
        }
    }
}
