//! Livelocks: states from which no end can be reached, whatever is chosen. This module holds the data of a proved
//! livelock; `execution::prove_livelock` proves it.

use crate::evidence::Evidence;
use crate::outcome::{Bug, BugKind};
use crate::plural::counted;
use coyote_strategies::{Decision, WorkerId};
use serde::{Deserialize, Serialize};

/// The default limit on the number of states that may follow a livelock; larger after a search that found more states.
pub const STATES_MAX: usize = 10_000;

/// A proved livelock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Livelock {
    /// How many states can follow.
    pub states: usize,
    /// Workers that step for ever, if all take turns.
    pub spinning: Vec<Spin>,
    /// How many workers wait for ever.
    pub waiting: usize,
    /// The steps that lead to where the workers spin, if all take turns.
    pub(crate) tail: Vec<Decision>,
}

/// A worker that spins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spin {
    pub worker: WorkerId,
    /// The worker by the name that reports show.
    pub title: String,
    /// The number of steps of one round.
    pub steps: usize,
    /// The first few memory accesses of a round.
    pub looks: Vec<Look>,
}

/// Memory that a spinning worker looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    pub address: u64,
    pub bytes: u32,
    /// The bytes as a little-endian number.
    pub value: u64,
    /// Whether it still changes in any state that can follow.
    pub changes: bool,
}

impl Livelock {
    pub fn bug(&self) -> Bug {
        Bug {
            kind: BugKind::Livelock,
            evidence: Evidence::Livelock { spinning: self.spinning.len(), waiting: self.waiting },
            worker: match self.spinning.as_slice() {
                [only] => Some(only.worker),
                _ => None,
            },
        }
    }
}

impl Spin {
    /// The worker's behaviour, in the words of reports.
    pub fn doing(&self) -> String {
        let round = counted(self.steps as u64, "step");
        if self.looks.is_empty() {
            return format!("spins, {round} a round, and accesses nothing");
        }
        let looks: Vec<String> = self.looks.iter().map(Look::describe).collect();
        format!("spins, {round} a round: {}", looks.join("; "))
    }
}

impl Look {
    fn describe(&self) -> String {
        let Look { address, bytes, value, changes } = self;
        let who = if *changes { "changes on the way" } else { "nobody is left to change it" };
        format!("{} at {address:#x} = {value:#x}, {who}", counted(u64::from(*bytes), "byte"))
    }
}
