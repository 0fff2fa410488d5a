//! Lassos: a schedule that leads to a round of steps after which the state is the same as before, byte for byte. An
//! execution that repeats the round for ever therefore exists, and what is fair about the round is fair about that
//! execution:
//!
//! - *together*: every worker that is enabled somewhere in the round also steps in it. The execution is fair and never
//!   ends. If a monitor of the guest is hot somewhere in the round and cold nowhere, what it demands never happens.
//! - *without one*: the same, except for one worker that is enabled somewhere in the round, blocked elsewhere in it,
//!   and never steps: it is overtaken for ever, which is fair as long as fairness only counts workers that stay
//!   enabled.
//! - *alone*: one worker repeats the round without blocking and without giving way (`yield`, `sleep`), while another
//!   worker is enabled in it. The worker uses up its time slice for nothing: a violation of CHESS' good-Samaritan
//!   property (Musuvathi and Qadeer, PLDI 2008; OSDI 2008, section 5.4.2).
//!
//! This module holds the data of a proved lasso; `execution::prove_lasso` proves it. The search `stateful` finds them in
//! the graph of all states, by the same definitions: [`coyote_strategies::search::rounds`].

use crate::evidence::{Evidence, HotMonitor, RoundEvidence, RoundKind};
use crate::outcome::{Bug, BugKind};
use coyote_instrumenter::Location;
use coyote_strategies::{Decision, WorkerId, WorkerPath};
use serde::{Deserialize, Serialize};

/// A round of steps, and the steps that lead to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lasso {
    pub(crate) kind: RoundKind,
    /// The steps of one round.
    pub round: Vec<RoundStep>,
    /// The workers that make these steps.
    pub(crate) steps: Vec<WorkerPath>,
    /// The workers that step in the round, in the order of their creation.
    pub workers: Vec<WorkerId>,
    /// Their titles in reports.
    pub(crate) titles: Vec<String>,
    pub(crate) victim: Option<(WorkerId, String)>,
    pub(crate) hot: Option<HotMonitor>,
    pub(crate) tail: Vec<Decision>,
    /// The round, if it was given and not found by taking turns.
    pub(crate) given: Option<Given>,
}

/// A round that a search has found, to be confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Given {
    pub kind: RoundKind,
    /// The workers that step, in order.
    pub steps: Vec<WorkerPath>,
}

/// A step of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStep {
    /// The worker, by the name that reports show.
    pub title: String,
    /// The operation and its object.
    pub what: String,
    /// The operation's place in the guest's code.
    pub location: Option<Location>,
}

impl Lasso {
    /// The bug that the lasso represents.
    pub fn bug(&self) -> Bug {
        let kind = match (self.kind, &self.hot) {
            (RoundKind::Together, Some(hot)) => {
                let evidence = Evidence::Hot(hot.clone());
                return Bug { kind: BugKind::Liveness, evidence, worker: None };
            }
            (RoundKind::Together, None) => BugKind::Lasso,
            (RoundKind::Without, _) => BugKind::Starvation,
            (RoundKind::Alone, _) => BugKind::GoodSamaritan,
        };
        let evidence = Evidence::Round(RoundEvidence {
            kind: self.kind,
            steps: self.round.len(),
            workers: self.titles.clone(),
            victim: self.victim.as_ref().map(|(_, title)| title.clone()),
        });
        Bug { kind, evidence, worker: None }
    }

    /// The round, to be confirmed where the tail ends.
    pub(crate) fn to_confirm(&self) -> Given {
        Given { kind: self.kind, steps: self.steps.clone() }
    }

    /// Whether this round begins where the tail of the other one ends, and is the same.
    pub(crate) fn continues(&self, other: &Lasso) -> bool {
        let round = |lasso: &Lasso| (lasso.kind, lasso.steps.clone(), lasso.victim.clone());
        self.tail.is_empty() && round(self) == round(other)
    }

    /// The workers that cause the bug: those that step in the round, and the one that they overtake.
    pub fn parties(&self) -> Vec<WorkerId> {
        self.workers.iter().copied().chain(self.victim.as_ref().map(|(id, _)| *id)).collect()
    }
}
