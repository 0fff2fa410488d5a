//! From an executed iteration to a trace, and from a trace to a schedule that can be replayed.

use crate::execution::Execution;
use crate::granules::Sharing;
use crate::machine::conductor::Choice;
use crate::outcome::Outcome;
use crate::trace::{Decision, Header, Trace};
use coyote_instrumenter::{Location, SiteTable};
use coyote_strategies::{OpKind, Operation, Recorded};
use std::collections::BTreeMap;

/// What a trace says about where it comes from, beyond the schedule itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub strategy: String,
    pub seed: u64,
    pub iteration: u64,
    pub options: Vec<(String, String)>,
}

/// The trace of the iteration that the execution has just ended.
pub fn trace(execution: &Execution, outcome: &Outcome, origin: Origin) -> Trace {
    let table = &execution.machine().artifact().table;
    let workers = execution.runtime().workers();
    let decisions = execution.choices().iter().map(|choice| match *choice {
        Choice::Step { worker, kind, site } => Decision::Step {
            worker: workers[worker.index()].path.clone(),
            kind,
            site: table.sites.get(site as usize).map(|s| s.location),
        },
        Choice::Timeout { worker } => Decision::Timeout { worker: workers[worker.index()].path.clone() },
        Choice::Value { value, bound } => Decision::Value { value: value.into(), bound: bound.into() },
    });
    let (kind, message) = outcome.describe();
    Trace {
        header: Header {
            tool: env!("CARGO_PKG_VERSION").into(),
            module: execution.machine().artifact().identity.clone(),
            test: execution.test().name.clone(),
            strategy: origin.strategy,
            seed: origin.seed,
            iteration: origin.iteration,
            options: origin.options,
            shared: match execution.machine().sharing() {
                Sharing::All => None,
                Sharing::Only(granules) => Some((**granules).clone()),
            },
            outcome: kind,
            message,
            fingerprint: None,
        },
        decisions: decisions.collect(),
        answers: execution.machine().directories().answers().to_vec(),
    }
}

/// The kind under which an operation's site stands in the table: both halves of a wait are announced
/// by one call.
fn announced(kind: OpKind) -> OpKind {
    if kind == OpKind::Relock { OpKind::Wait } else { kind }
}

/// The decisions of a trace as a schedule for this module. A place that the module does not have
/// becomes a site that matches nothing.
pub fn schedule(trace: &Trace, table: &SiteTable) -> Vec<Recorded> {
    const NOWHERE: u32 = u32::MAX - 1;
    let sites: BTreeMap<(Location, u8), u32> =
        table.sites.iter().enumerate().map(|(i, s)| ((s.location, s.kind), i as u32)).collect();
    let recorded = trace.decisions.iter().map(|decision| match decision {
        Decision::Step { worker, kind, site } => Recorded::Step {
            worker: worker.clone(),
            kind: *kind,
            site: match site {
                None => Operation::NO_SITE,
                Some(location) => sites.get(&(*location, announced(*kind) as u8)).copied().unwrap_or(NOWHERE),
            },
        },
        Decision::Timeout { worker } => Recorded::Timeout { worker: worker.clone() },
        Decision::Value { value, bound } => Recorded::Value { value: *value, bound: *bound },
    });
    recorded.collect()
}
