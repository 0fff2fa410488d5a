//! Proves livelocks: states from which no end can be reached, whatever is chosen.
//!
//! A state is a livelock if the set of all states that can follow is finite and no execution ends in it. That
//! is exact, whatever the strategy: the set is computed, by snapshots, and given up beyond a bound.
//! Everything that is not understood counts as an end: a failed assumption anywhere, a loop within an atomic
//! function, workers that a program leaves behind when it has ended, a directory of the host, a table that
//! changes, memory that turns out to be shared on the way, accesses that the user's options make no
//! scheduling points. While time passes, no two states are equal, so a worker that sleeps or polls the clock
//! in a loop makes no livelock.
//!
//! First all enabled workers take turns until a state repeats: the workers that step in this cycle *spin*.
//! States are compared by their fingerprints. The cycle, which reports describe, is executed once more, and
//! its states are then compared byte for byte.
//!
//! A sampler's iteration is looked at when it reaches the bound on steps, and before that where the last half
//! of all choices did nothing but look ([`crate::machine::scheduler::Looks`]), so tests that end pay nothing.
//! Not found are livelocks of more states than the bound, and those that only unfair schedules avoid.

use super::Execution;
use crate::livelock::{Livelock, Look, Spin};
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind, Outcome};
use coyote_instrumenter::Points;
use coyote_strategies::{Class, Decision, Pick, Status, System, View, WorkerId, WorkerState};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of addresses that are named for one worker.
const LOOKS_MAX: usize = 4;

/// Bounds on the effort of a proof.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Maximum number of states that follow.
    pub states_max: usize,
    /// Number of steps within which a state must repeat while all workers take turns.
    pub walk_max: usize,
}

/// Proves that the present state of the execution is a livelock, if it is one. The execution is left in that
/// state.
///
/// # Errors
/// Errors of the machine, by this tool or the environment.
pub fn prove(execution: &mut Execution, effort: Effort) -> Result<Option<Livelock>, MachineError> {
    if !execution.runtime().may_livelock() {
        return Ok(None);
    }
    let proved = aside(execution, |execution| {
        let here = execution.snapshot();
        let (tail, mut spinning) = cycle(execution, effort.walk_max)?;
        execution.restore(&here);
        let states = states_that_follow(execution, effort.states_max, &mut spinning);
        states.map(|states| (states, tail, spinning))
    })?;
    Ok(proved.map(|(states, tail, spinning)| {
        let runtime = execution.runtime();
        let ended = runtime.view().workers.iter().filter(|w| w.state == WorkerState::Ended).count();
        let waiting = runtime.workers().len() - ended - spinning.len();
        Livelock { states, spinning, waiting, tail }
    }))
}

/// Calls `function`, which executes what can follow, without bounds, and then restores the state of the execution.
/// `None` if nothing can be concluded: not all that can happen is seen, or memory turned out to be shared.
///
/// # Errors
/// Errors of the machine, by this tool or the environment.
pub(crate) fn aside<R>(
    execution: &mut Execution,
    function: impl FnOnce(&mut Execution) -> Option<R>,
) -> Result<Option<R>, MachineError> {
    if !is_exact(execution) {
        return Ok(None);
    }
    let grown = execution.machine().grown_count();
    let aside = execution.machine_mut().set_aside();
    let here = aside.snapshot().clone();
    execution.restore(&here);
    let mut result = function(execution);
    if execution.machine().grown_count() != grown {
        result = None;
    }
    let error = execution.take_error();
    execution.machine_mut().bring_back(aside)?;
    match error {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// Whether all that can happen is seen at scheduling points, and states can be compared.
pub(super) fn is_exact(execution: &Execution) -> bool {
    let options = &execution.machine().artifact().options;
    execution.can_snapshot()
        && options.points != Points::Sync
        && options.no_points_in.is_empty()
        && options.points_only_in.is_empty()
}

/// The key that distinguishes states of the program. It includes the time, which the fingerprint leaves out if the program
/// can never know it, and nothing of detectors, whose clocks differ after each round of a loop.
pub(crate) type Key = (u128, u64);

pub(crate) fn key(execution: &mut Execution) -> Key {
    (execution.machine_mut().fingerprint_of_program(), execution.runtime().time_ns())
}

pub(crate) fn goes_on(execution: &Execution) -> bool {
    !execution.status().is_final() && execution.runtime().may_livelock()
}

/// Lets the workers take turns until a state repeats, and executes the cycle once more. Returns the decisions that lead
/// to the cycle, and the workers that step in it; `None` if no state repeats, or not byte for byte.
fn cycle(execution: &mut Execution, walk_max: usize) -> Option<(Vec<Decision>, Vec<Spin>)> {
    let mut seen: BTreeMap<(Key, Option<WorkerId>), usize> = BTreeMap::new();
    let mut path: Vec<Decision> = Vec::new();
    let mut last = None;
    let round = loop {
        if !goes_on(execution) || path.len() > walk_max {
            return None;
        }
        let decision = match execution.status() {
            Status::Choosing { .. } => Decision::Value(0),
            _ => {
                if let Some(at) = seen.insert((key(execution), last), path.len()) {
                    break path.split_off(at);
                }
                let pick = next_in_turn(&execution.view(), last)?;
                last = Some(pick.worker());
                Decision::Pick(pick)
            }
        };
        coyote_strategies::system::decide(execution, decision);
        path.push(decision);
    };
    let before = execution.machine_mut().bytes();
    let mut spinning: BTreeMap<WorkerId, Spin> = BTreeMap::new();
    for decision in round {
        let memory = execution.machine().memory().to_vec();
        coyote_strategies::system::decide(execution, decision);
        let Decision::Pick(Pick::Step(worker)) = decision else { continue };
        let title = execution.runtime().title(worker);
        let spin = spinning.entry(worker).or_insert(Spin { worker, title, steps: 0, looks: Vec::new() });
        spin.steps += 1;
        for access in execution.footprint().iter().filter(|a| a.class == Class::Memory) {
            let known = spin.looks.iter().any(|l| l.address == access.object);
            let Some(value) = number(&memory, access.object, access.size) else { continue };
            if !known && spin.looks.len() < LOOKS_MAX {
                spin.looks.push(Look { address: access.object, bytes: access.size, value, changes: false });
            }
        }
    }
    (before == execution.machine_mut().bytes()).then(|| (path, spinning.into_values().collect()))
}

/// The next enabled worker by number, or a timeout if there is none.
fn next_in_turn(view: &View, last: Option<WorkerId>) -> Option<Pick> {
    let later = view.enabled.iter().find(|worker| last.is_none_or(|last| **worker > last));
    let worker = later.or(view.enabled.first());
    worker.map(|worker| Pick::Step(*worker)).or_else(|| view.picks().next())
}

/// A number of up to 8 bytes in memory.
fn number(memory: &[u8], address: u64, bytes: u32) -> Option<u64> {
    let start = usize::try_from(address).ok()?;
    let stored = memory.get(start..start.checked_add(bytes as usize)?)?;
    let mut number = [0; 8];
    number.get_mut(..stored.len())?.copy_from_slice(stored);
    Some(u64::from_le_bytes(number))
}

/// Visits all states that can follow. Returns their number; `None` if they are too many, or one is an end.
fn states_that_follow(execution: &mut Execution, states_max: usize, spinning: &mut [Spin]) -> Option<usize> {
    let mut seen: BTreeSet<Key> = BTreeSet::from([key(execution)]);
    let mut left = vec![execution.snapshot()];
    while let Some(state) = left.pop() {
        execution.restore(&state);
        for look in spinning.iter_mut().flat_map(|spin| &mut spin.looks) {
            look.changes |=
                number(execution.machine().memory(), look.address, look.bytes) != Some(look.value);
        }
        for (nth, decision) in decisions(execution, states_max)?.into_iter().enumerate() {
            if nth > 0 {
                execution.restore(&state);
            }
            coyote_strategies::system::decide(execution, decision);
            if !goes_on(execution) {
                return None;
            }
            if seen.insert(key(execution)) {
                if seen.len() > states_max {
                    return None;
                }
                left.push(execution.snapshot());
            }
        }
    }
    Some(seen.len())
}

/// All decisions that are possible now; `None` if there are too many, or none.
fn decisions(execution: &Execution, max: usize) -> Option<Vec<Decision>> {
    match execution.status() {
        Status::Ready => Some(execution.view().picks().map(Decision::Pick).collect()),
        Status::Choosing { bound } if bound <= max as u64 => Some((0..bound).map(Decision::Value).collect()),
        _ => None,
    }
}

/// Executes the iteration that has just ended in a livelock again. Takes the earliest state in which the
/// livelock can be proved, and from there goes on to the state in which the workers begin to spin if they
/// take turns: from a livelock only livelocks follow. Returns the bug in that state: a deadlock if others
/// wait in a circle by then.
///
/// # Errors
/// Errors of the machine; also if the livelock cannot be proved again, which is a bug in this tool.
pub fn shorten(execution: &mut Execution) -> Result<Bug, MachineError> {
    let path = execution.decisions();
    let fair = execution.machine().scheduler().fair;
    // Accesses of a worker that is alone in a test harness are no choices, but a proof sees them: what it finds there
    // cannot be executed from the start.
    let alone_at_end = execution.runtime().alone_in_harness();
    let (mut first, mut proved) = (0, path.len());
    while first < proved {
        let middle = first + (proved - first) / 2;
        let outcome = execution.run_into_livelock(&path[..middle], fair)?;
        let is_livelock = matches!(outcome, Outcome::Bug(bug) if bug.kind == BugKind::Livelock);
        if is_livelock && (alone_at_end || !execution.runtime().alone_in_harness()) {
            proved = middle;
        } else {
            first = middle + 1;
        }
    }
    let mut path = path[..proved].to_vec();
    execution.run_into_livelock(&path, fair)?;
    path.extend(execution.livelock().iter().flat_map(|livelock| &livelock.tail));
    match execution.run_into_livelock(&path, fair)? {
        Outcome::Bug(bug) if matches!(bug.kind, BugKind::Livelock | BugKind::Deadlock) => Ok(bug),
        outcome => {
            Err(MachineError::Internal(format!("a livelock is none when it is executed again: {outcome:?}")))
        }
    }
}
