//! Proves [lassos](crate::lasso): rounds of steps that can be repeated for ever.
//!
//! From a state of a sampled execution, the workers concerned take turns until a state repeats. The round is then
//! executed once more, and the bytes are compared. Such a proof is about one execution and not about all: others may
//! end. A round that a search has found in its graph of states, or a trace contains, is confirmed in the same way.
//!
//! The following would make the proof wrong and is left out: rounds with a chosen value (a guest that draws how long it
//! backs off does so in every round, and leaves in the end) or with a possible fault; pending timeouts; time that
//! passes, which makes states different; whatever [`super::prove_livelock`] treats as an end. Files, the heap and
//! random streams belong to the state. Output does not: a worker that prints for ever does not end either.
//!
//! Not found are rounds that a search through all states would find but taking turns does not, and rounds in which a
//! counter goes up.

use super::Execution;
use super::prove_livelock::{Key, aside, goes_on, key};
use crate::detect::rounds::Wanted;
use crate::evidence::{HotMonitor, HotWhen, RoundKind};
use crate::lasso::{Given, Lasso, RoundStep};
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::runtime::Runtime;
use crate::runtime::monitors::{Heat, MonitorId};
use coyote_strategies::{Decision, Iteration, OpKind, Pick, Status, System, WorkerId, WorkerState};
use std::collections::{BTreeMap, BTreeSet};

/// Number of steps within which a state must repeat.
const WALK_MAX: usize = 512;

/// Number of looks at one iteration.
const LOOKS: u64 = 4;

/// Number of first iterations that are all looked at; of later ones, one in 16 is.
const ALL_BELOW: u64 = 256;

/// The steps at which an iteration is looked at, ascending. The first one is drawn between a power of two and the next
/// one; the powers up to 2,048 take turns from iteration to iteration. Each other step is drawn between the one before
/// and its double.
pub fn looks(iteration: Iteration) -> Vec<u64> {
    let Iteration { seed, index } = iteration;
    if index >= ALL_BELOW && index % 16 != 0 {
        return Vec::new();
    }
    let nth = if index < ALL_BELOW { index } else { index / 16 };
    let draw = |look: u64| xxhash_rust::xxh3::xxh3_64_with_seed(&(index << 3 | look).to_le_bytes(), seed);
    let first = (1 << (nth % 12)) + draw(0) % (1 << (nth % 12));
    let mut looks = vec![first];
    for look in 1..LOOKS {
        let last = looks[looks.len() - 1];
        looks.push(last + 1 + draw(look) % last);
    }
    looks
}

/// Searches for a lasso from the present state of the execution, which is left in that state.
///
/// # Errors
/// Errors of the machine, by this tool or the environment.
pub fn prove(execution: &mut Execution, wanted: Wanted) -> Result<Option<Lasso>, MachineError> {
    let last = execution.choices().iter().rev().find_map(|choice| match Decision::from(*choice) {
        Decision::Pick(pick) => Some(pick.worker()),
        Decision::Value(_) => None,
    });
    aside(execution, |execution| {
        let start = execution.snapshot();
        for walk in walks(execution, wanted) {
            execution.restore(&start);
            if let Some(lasso) = walk.find(execution, last) {
                return Some(lasso);
            }
        }
        None
    })
}

/// Confirms a round that begins in the present state of the execution, which is left in that state.
///
/// # Errors
/// Errors of the machine, by this tool or the environment.
pub fn confirm(execution: &mut Execution, given: &Given) -> Result<Option<Lasso>, MachineError> {
    aside(execution, |execution| {
        let workers = given.steps.iter().map(|path| {
            let of = |worker: &crate::runtime::Worker| worker.path == *path;
            execution.runtime().workers().iter().position(of).map(|id| WorkerId(id as u32))
        });
        let steps: Vec<WorkerId> = workers.collect::<Option<_>>()?;
        let round: Vec<Decision> = steps.iter().map(|id| Decision::Pick(Pick::Step(*id))).collect();
        let start = execution.snapshot();
        let of = match given.kind {
            RoundKind::Together => vec![None],
            RoundKind::Alone => vec![steps.first().copied()],
            RoundKind::Without => {
                let all = (0..execution.runtime().workers().len() as u32).map(WorkerId);
                all.filter(|id| !steps.contains(id)).map(Some).collect()
            }
        };
        for of in of {
            execution.restore(&start);
            let walk = Walk { kind: given.kind, of };
            // What a first round leaves in memory that is not in use any more, a second one leaves again.
            if walk.go_round(execution, &round).is_none() {
                continue;
            }
            if let Some(lasso) = walk.repeat(execution, Vec::new(), &round) {
                let rotated = lasso.tail.len();
                let mut given = given.clone();
                given.steps.rotate_left(rotated);
                return Some(Lasso { given: Some(given), ..lasso });
            }
        }
        None
    })
}

/// The walks to try: the ways to take turns.
fn walks(execution: &Execution, wanted: Wanted) -> Vec<Walk> {
    let workers = execution.view().workers;
    let left = (0..workers.len() as u32).map(WorkerId);
    let left: Vec<WorkerId> = left.filter(|id| workers[id.index()].state != WorkerState::Ended).collect();
    let together = wanted.together.then_some(Walk { kind: RoundKind::Together, of: None });
    let of = |kind, on: bool| left.iter().filter(move |_| on).map(move |id| Walk { kind, of: Some(*id) });
    let rest = of(RoundKind::Without, wanted.without).chain(of(RoundKind::Alone, wanted.alone));
    together.into_iter().chain(rest).collect()
}

/// The workers that take turns: all, all but one, or one.
#[derive(Clone, Copy)]
struct Walk {
    kind: RoundKind,
    of: Option<WorkerId>,
}

/// Monitors that are not cold, and the step since which they are not.
type Heats = BTreeMap<MonitorId, (Heat, u64)>;

/// A state of the round, with the decision that follows it.
struct Passed {
    decision: Decision,
    enabled: BTreeSet<WorkerId>,
    heats: Heats,
    /// The operations and sites of all workers, by which the first state of the round is selected.
    places: Vec<(OpKind, u32)>,
    step: RoundStep,
}

impl Walk {
    fn find(self, execution: &mut Execution, last: Option<WorkerId>) -> Option<Lasso> {
        let mut seen: BTreeMap<(Key, Option<WorkerId>), usize> = BTreeMap::new();
        let mut path: Vec<Decision> = Vec::new();
        let mut last = last;
        let at = loop {
            if !goes_on(execution) || path.len() > WALK_MAX {
                return None;
            }
            // No value may be chosen within the round; before the round it may.
            if let Status::Choosing { .. } = execution.status() {
                seen.clear();
                coyote_strategies::system::decide(execution, Decision::Value(0));
                path.push(Decision::Value(0));
                continue;
            }
            if let Some(at) = seen.insert((key(execution), last), path.len()) {
                break at;
            }
            let worker = self.next(execution, last)?;
            last = Some(worker);
            let decision = Decision::Pick(Pick::Step(worker));
            coyote_strategies::system::decide(execution, decision);
            path.push(decision);
        };
        let round = path.split_off(at);
        self.repeat(execution, path, &round)
    }

    /// Executes a round that leads back to the present state, and compares the bytes. `path` leads to it from where the
    /// proof began.
    fn repeat(self, execution: &mut Execution, path: Vec<Decision>, round: &[Decision]) -> Option<Lasso> {
        let before = execution.machine_mut().bytes();
        let passed = self.go_round(execution, round)?;
        if before != execution.machine_mut().bytes() {
            return None;
        }
        self.lasso(execution, path, passed)
    }

    /// Executes a round; `None` if no round may contain one of its states.
    fn go_round(self, execution: &mut Execution, round: &[Decision]) -> Option<Vec<Passed>> {
        let mut passed = Vec::with_capacity(round.len());
        for decision in round {
            passed.push(self.pass(execution, *decision)?);
            coyote_strategies::system::decide(execution, *decision);
        }
        if execution.status() != Status::Ready {
            return None;
        }
        Some(passed)
    }

    fn next(self, execution: &Execution, last: Option<WorkerId>) -> Option<WorkerId> {
        let view = execution.view();
        let takes_part = |id: &&WorkerId| match self.kind {
            RoundKind::Together => true,
            RoundKind::Without => Some(**id) != self.of,
            RoundKind::Alone => Some(**id) == self.of,
        };
        let enabled: Vec<&WorkerId> = view.enabled.iter().filter(takes_part).collect();
        let later = enabled.iter().find(|id| last.is_none_or(|last| ***id > last));
        later.or(enabled.first()).map(|id| **id)
    }

    /// The data about a state of the round; `None` if no round may contain such a state.
    fn pass(self, execution: &Execution, decision: Decision) -> Option<Passed> {
        let Decision::Pick(Pick::Step(worker)) = decision else { return None };
        let (runtime, view) = (execution.runtime(), execution.view());
        if execution.status() != Status::Ready || !execution.may_repeat() || !view.can_step(worker) {
            return None;
        }
        let enabled = (0..view.workers.len() as u32).map(WorkerId);
        let enabled = enabled.filter(|id| view.workers[id.index()].state == WorkerState::Enabled).collect();
        let operation = &view.workers[worker.index()].operation;
        if self.kind == RoundKind::Alone && matches!(operation.kind, OpKind::Yield | OpKind::Sleep) {
            return None;
        }
        let table = &execution.machine().artifact().table;
        let object =
            if operation.object == 0 { String::new() } else { format!(" at {:#x}", operation.object) };
        let step = RoundStep {
            title: runtime.title(worker),
            what: format!("{}{object}", operation.kind.name()),
            location: table.sites.get(operation.site as usize).map(|site| site.location),
        };
        let places = view.workers.iter().map(|worker| (worker.operation.kind, worker.operation.site));
        Some(Passed { decision, enabled, heats: heats(runtime), places: places.collect(), step })
    }

    /// The lasso, if the round is one of the kind that is searched for. The execution is at the end of the
    /// round.
    fn lasso(self, execution: &Execution, path: Vec<Decision>, mut passed: Vec<Passed>) -> Option<Lasso> {
        let runtime = execution.runtime();
        let steps = |id: &WorkerId| passed.iter().any(|p| p.decision == Decision::Pick(Pick::Step(*id)));
        let ever: BTreeSet<WorkerId> = passed.iter().flat_map(|p| p.enabled.iter().copied()).collect();
        let always = |id: &WorkerId| passed.iter().all(|p| p.enabled.contains(id));
        let idle: Vec<WorkerId> = ever.iter().filter(|id| !steps(id)).copied().collect();
        let holds = match self.kind {
            RoundKind::Together => idle.is_empty(),
            RoundKind::Without => {
                idle.iter().all(|id| Some(*id) == self.of && !always(id)) && !idle.is_empty()
            }
            RoundKind::Alone => !idle.is_empty(),
        };
        if !holds {
            return None;
        }
        let workers: Vec<WorkerId> = ever.iter().filter(|id| steps(id)).copied().collect();
        // The round is a circle: the choice of its first state depends on the program alone.
        let first = (0..passed.len()).min_by_key(|at| {
            let rotated = passed[*at..].iter().chain(&passed[..*at]);
            rotated.map(|p| (&p.places, p.decision)).collect::<Vec<_>>()
        })?;
        let hot = hot_for_ever(&passed, &heats(runtime)).map(|(name, number)| {
            let known = runtime.monitors.known().find(|(id, _)| **id == (name.clone(), number));
            HotMonitor {
                name,
                number,
                since: known.map_or(0, |(_, monitor)| monitor.since),
                by: known.map_or(String::new(), |(_, monitor)| runtime.title(monitor.by)),
                when: HotWhen::ForEver { steps: passed.len() },
            }
        });
        let mut tail = path;
        tail.extend(passed[..first].iter().map(|p| p.decision));
        passed.rotate_left(first);
        let steps = passed.iter().filter_map(|p| match p.decision {
            Decision::Pick(pick) => Some(runtime.worker(pick.worker()).path.clone()),
            Decision::Value(_) => None,
        });
        Some(Lasso {
            kind: self.kind,
            steps: steps.collect(),
            titles: workers.iter().map(|id| runtime.title(*id)).collect(),
            workers,
            round: passed.into_iter().map(|p| p.step).collect(),
            victim: self.of.filter(|_| self.kind == RoundKind::Without).map(|id| (id, runtime.title(id))),
            hot,
            tail,
            given: None,
        })
    }
}

fn heats(runtime: &Runtime) -> Heats {
    let known = runtime.monitors.known();
    known.map(|(id, monitor)| (id.clone(), (monitor.heat, monitor.not_cold_since))).collect()
}

/// The first monitor that is hot in some state of the round and never cold, not even within a step. `now`: the heats
/// after the round.
fn hot_for_ever(passed: &[Passed], now: &Heats) -> Option<MonitorId> {
    let first = &passed.first()?.heats;
    let hot = |id: &MonitorId| passed.iter().any(|p| p.heats[id].0 == Heat::Hot);
    let never_cold = |id: &&MonitorId| {
        let since = |heats: &Heats| heats.get(*id).map(|(_, since)| *since);
        passed.iter().map(|p| &p.heats).chain([now]).all(|heats| since(heats) == since(first))
    };
    first.keys().filter(never_cold).find(|id| hot(id)).cloned()
}

/// Executes the iteration that has just ended in a lasso again, and ends it where the round begins; the round is given if
/// taking turns from there leads to another one. Returns the bug at that point: a deadlock if workers wait in a circle by
/// then while others can go on.
///
/// # Errors
/// Errors of the machine; also if there is no round when it is executed again, which is a bug in this tool.
pub fn shorten(execution: &mut Execution) -> Result<Bug, MachineError> {
    let mut path = execution.decisions();
    let fair = execution.machine().scheduler().fair;
    path.extend(execution.lasso().iter().flat_map(|lasso| &lasso.tail));
    let found = execution.lasso().cloned();
    let given = found.as_ref().and_then(|lasso| lasso.given.clone());
    let mut outcome = execution.run_into_round(&path, fair, given.clone())?;
    // Taking turns from where the round begins may lead to another one.
    let continues = |found: &Lasso| execution.lasso().is_some_and(|again| again.continues(found));
    if let Some(found) = found.filter(|found| given.is_none() && !continues(found))
        && !matches!(&outcome, Outcome::Bug(bug) if bug.kind == BugKind::Deadlock)
    {
        outcome = execution.run_into_round(&path, fair, Some(found.to_confirm()))?;
    }
    match outcome {
        Outcome::Bug(bug) if execution.lasso().is_some() || bug.kind == BugKind::Deadlock => Ok(bug),
        outcome => {
            Err(MachineError::Internal(format!("a lasso is none when it is executed again: {outcome:?}")))
        }
    }
}
