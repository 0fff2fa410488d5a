//! Conversion of an executed iteration to a trace, and of a trace to a schedule that can be replayed.

use crate::artifact::Artifact;
use crate::evidence::RoundKind;
use crate::evidence::{Evidence, RacingAccess};
use crate::execution::Execution;
use crate::granules::Sharing;
use crate::identity::{Identity, Party};
use crate::lasso::{Given, Lasso};
use crate::livelock::STATES_MAX;
use crate::machine::scheduler::Choice;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::trace::{Decision, Header, Trace};
use coyote_instrumenter::{Location, SiteTable};
use coyote_strategies::{OpKind, Operation, Recorded, WorkerPath};
use std::collections::{BTreeMap, BTreeSet};

/// What a trace says about its origin, in addition to the schedule itself.
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
    let decisions: Vec<Decision> = decisions.collect();
    let (kind, message) = outcome.describe();
    let identity = match outcome {
        Outcome::Bug(bug) => Some(identity(execution, bug)),
        _ => None,
    };
    let functions = identity
        .as_ref()
        .map_or(BTreeMap::new(), |identity| functions(execution.machine().artifact(), &decisions, identity));
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
            functions,
            identity,
            fingerprint: None,
        },
        decisions,
        answers: execution.machine().directories().answers().to_vec(),
    }
}

/// The names of the functions that contain the operations of these decisions, and of those in which the bug's workers were,
/// as far as the module has names.
fn functions(artifact: &Artifact, decisions: &[Decision], identity: &Identity) -> BTreeMap<u32, String> {
    let names = artifact.function_names();
    let sites = decisions.iter().filter_map(|decision| match decision {
        Decision::Step { site, .. } => site.as_ref(),
        _ => None,
    });
    let places = identity.parties.iter().flat_map(|party| &party.stack);
    let numbers: BTreeSet<u32> = sites.chain(places).map(|place| place.function).collect();
    let named = numbers.into_iter().filter_map(|number| Some((number, names.get(number as usize)?.clone())));
    named.filter(|(_, name)| !name.is_empty()).collect()
}

/// The identity of the bug with which the execution has just ended.
pub fn identity(execution: &Execution, bug: &Bug) -> Identity {
    let runtime = execution.runtime();
    if let Evidence::Race { first, second } = &bug.evidence {
        // In either order of the two accesses.
        let party = |access: &RacingAccess| Party {
            worker: runtime.worker(access.worker).path.clone(),
            stack: access.location.into_iter().collect(),
        };
        return Identity::new(bug.evidence.detail(), vec![party(first), party(second)]);
    }
    let parties = match (bug.worker, bug.kind) {
        (Some(worker), _) => vec![worker],
        (None, BugKind::Deadlock) => runtime.stuck(),
        (None, BugKind::Livelock) => {
            execution.livelock().iter().flat_map(|l| l.spinning.iter().map(|spin| spin.worker)).collect()
        }
        (None, _) => execution.lasso().map_or(Vec::new(), Lasso::parties),
    };
    let party = |id| Party { worker: runtime.worker(id).path.clone(), stack: execution.machine().stack(id) };
    Identity::new(bug.evidence.detail(), parties.into_iter().map(party).collect())
}

/// A trace's option: the bound on steps that applied, if it is not the bound that applies under replay.
pub const BOUND: &str = "bound";
/// A trace's option: the limit on the number of states that may follow a livelock, if it is not the default.
pub const LIVELOCK_STATES: &str = "livelock-states";

/// A trace's option: the step at which counting how long monitors are hot begins, if that is the bug.
pub const FAIR_FROM: &str = "fair-from";

/// A trace's option with the value 1: the trace ends where a round of steps begins that can be repeated for ever.
pub const ROUND: &str = "round";

/// A trace's option: the workers that step in the round with which it ends, by their paths, if taking turns does not lead
/// to the same round.
pub const CYCLE: &str = "cycle";

/// An option of a minimised trace: the number of switches that it had before.
pub const SWITCHES_BEFORE: &str = "switches-before";

/// Options of a found bug's trace: how many of how many iterations had the bug, as a measure of its frequency.
pub const FAILING: &str = "failing";
pub const SAMPLED: &str = "sampled";

/// The numeric ones of the options that belong to the trace and not to the run: a replay reads them where it needs them.
pub const OF_TRACE: [&str; 7] = [BOUND, LIVELOCK_STATES, FAIR_FROM, ROUND, SWITCHES_BEFORE, FAILING, SAMPLED];

/// Whether an option belongs to the trace and not to the run.
pub fn is_of_trace(name: &str) -> bool {
    OF_TRACE.contains(&name) || name == CYCLE
}

/// The options that a trace must name for the iteration that the execution has just ended, in addition to those of the
/// run.
pub fn bounds(execution: &Execution) -> Vec<(String, String)> {
    let scheduler = execution.machine().scheduler();
    let (bound, states) = (scheduler.steps_max(), execution.livelock_states_max);
    let mut options = Vec::new();
    if bound != scheduler.limits.fair_steps_max {
        options.push((BOUND.into(), bound.to_string()));
    }
    if let Some(Outcome::Bug(bug)) = &scheduler.outcome
        && bug.evidence.is_overheating()
    {
        options.extend(scheduler.fair_from.map(|step| (FAIR_FROM.into(), step.to_string())));
    }
    if execution.lasso().is_some() {
        options.push((ROUND.into(), "1".into()));
        let given = execution.lasso().and_then(|lasso| lasso.given.as_ref());
        options.extend(given.map(|given| (CYCLE.into(), cycle(&given.steps))));
    }
    if states != STATES_MAX {
        options.push((LIVELOCK_STATES.into(), states.to_string()));
    }
    options
}

/// The value of [`CYCLE`].
fn cycle(steps: &[WorkerPath]) -> String {
    steps.iter().map(WorkerPath::to_string).collect::<Vec<_>>().join(",")
}

/// The inverse of `cycle`; `None` if it is malformed.
pub fn read_cycle(value: &str) -> Option<Vec<WorkerPath>> {
    value.split(',').map(crate::trace::read_worker).collect()
}

/// The round with which a trace ends, if the trace contains it.
pub(crate) fn given(trace: &Trace) -> Option<Given> {
    let (_, value) = trace.header.options.iter().find(|(name, _)| name == CYCLE)?;
    let kind = match BugKind::ALL.into_iter().find(|kind| kind.name() == trace.header.outcome)? {
        BugKind::Starvation => RoundKind::Without,
        BugKind::GoodSamaritan => RoundKind::Alone,
        _ => RoundKind::Together,
    };
    Some(Given { kind, steps: read_cycle(value)? })
}

/// The numeric value of an option of the trace.
pub fn number(trace: &Trace, name: &str) -> Option<u64> {
    let option = trace.header.options.iter().find(|(n, _)| n == name);
    option.and_then(|(_, value)| value.parse().ok())
}

/// The kind under which the site table lists an operation's site: one call announces both halves of a wait.
fn announced(kind: OpKind) -> OpKind {
    if kind == OpKind::Relock { OpKind::Wait } else { kind }
}

/// The decisions of a trace as a schedule for this module. A place that does not exist in the module becomes a site
/// that matches no operation.
pub fn schedule(trace: &Trace, table: &SiteTable) -> Vec<Recorded> {
    const NOWHERE: u32 = u32::MAX - 1;
    let firsts = table.sites.iter().enumerate().filter(|(_, site)| site.alternative == 0);
    let sites: BTreeMap<(Location, u8), u32> =
        firsts.map(|(i, s)| ((s.location, s.kind), i as u32)).collect();
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

/// The decisions of a trace as a schedule for a module that may be a different one. Operations are considered alike if
/// they have the same group number. The schedule has group numbers instead of sites, and the list gives the group
/// number of each site of the module. In the module that the trace belongs to, the group number is the site itself;
/// otherwise there is one group for each function name.
pub fn alike(trace: &Trace, artifact: &Artifact) -> (Vec<Recorded>, Vec<u32>) {
    let table = &artifact.table;
    let mut schedule = schedule(trace, table);
    if artifact.identity == trace.header.module {
        return (schedule, (0..table.sites.len() as u32).collect());
    }
    // A trace without names only contains the kinds of operations: all places are then alike.
    let functions = &trace.header.functions;
    let names: &[String] = if functions.is_empty() { &[] } else { artifact.function_names() };
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut groups = Vec::with_capacity(table.sites.len());
    for site in &table.sites {
        let name = names.get(site.location.function as usize).map_or("", String::as_str);
        let next = numbers.len() as u32;
        groups.push(*numbers.entry(name).or_insert(next));
    }
    for (recorded, decision) in schedule.iter_mut().zip(&trace.decisions) {
        if let (Recorded::Step { site, .. }, Decision::Step { site: Some(place), .. }) = (recorded, decision)
        {
            let name = functions.get(&place.function).map_or("", String::as_str);
            let next = numbers.len() as u32;
            *site = *numbers.entry(name).or_insert(next);
        }
    }
    (schedule, groups)
}
