//! Lassos: a schedule that leads to a round of steps, after which the state is the same as before, byte for byte. So an
//! execution that goes round for ever exists, and what is fair about the round is fair about that execution:
//!
//! - *together*: every worker that is enabled somewhere on the way round steps in it. The execution is fair and never
//!   ends. If a monitor of the guest is hot somewhere on the way and cold nowhere, it does not come about what should.
//! - *without one*: the same, but for one worker that is enabled somewhere on the way, blocked elsewhere on it, and
//!   never steps: it is overtaken for ever, which is fair as long as fairness only counts workers that stay enabled.
//! - *alone*: one worker goes round without blocking and without giving way (`yield`, `sleep`), while another one is enabled
//!   on the way. It runs until its time slice ends, for nothing: a violation of CHESS' good-Samaritan property (Musuvathi and
//!   Qadeer, PLDI 2008; OSDI 2008, section 5.4.2).
//!
//! This is what is proved of one; `execution::prove_lasso` proves it.

use crate::evidence::{Evidence, HotMonitor, RoundEvidence, RoundKind};
use crate::outcome::{Bug, BugKind};
use coyote_instrumenter::Location;
use coyote_strategies::{Decision, WorkerId};
use serde::{Deserialize, Serialize};

/// A round of steps, and what leads to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lasso {
    pub(crate) kind: RoundKind,
    /// The steps of one round.
    pub round: Vec<RoundStep>,
    /// Who steps in it, in the order of their creation.
    pub workers: Vec<WorkerId>,
    /// By the names that reports show.
    pub(crate) titles: Vec<String>,
    pub(crate) victim: Option<(WorkerId, String)>,
    pub(crate) hot: Option<HotMonitor>,
    pub(crate) tail: Vec<Decision>,
}

/// A step of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStep {
    /// Who, by the name that reports show.
    pub title: String,
    /// The operation and what it is about.
    pub what: String,
    /// Where it stands in the guest's code.
    pub location: Option<Location>,
}

impl Lasso {
    /// The bug that it is.
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

    /// Who makes it the bug that it is: those who go round, and whom they overtake.
    pub fn parties(&self) -> Vec<WorkerId> {
        self.workers.iter().copied().chain(self.victim.as_ref().map(|(id, _)| *id)).collect()
    }
}
