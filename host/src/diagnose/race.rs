//! Details of a data race: where the first access was, the values read and written, the locks held, which workers
//! created the others, and what would have ordered the accesses.
//!
//! A detector keeps the step of an access, but not its stack: executing the same schedule once more shows the stack. A
//! remedy is determined by trial: candidates are pairs of an atomic write by the first worker and an atomic read of the
//! same memory by the second one, both between the racing accesses, of which at least one is too weak. The schedule is
//! executed with both as release and acquire. If it then has no race, the report says so. This is no proof that other
//! schedules have none.

use crate::detect::races::{Races, Stronger};
use crate::evidence::{Evidence, RacingAccess, RacingAct};
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::observe::heap_probe::ProbeHit;
use crate::observe::race_probe::{RaceProbe, RaceSeen, SeenAccess, SeenAtomic};
use crate::observe::{Detector, Event, GuestState, Interest, Observer};
use crate::outcome::Bug;
use crate::replay::replay;
use crate::results::{AccessHistory, HeldLock, MissingEdge, PastEvent, RaceHistory};
use crate::trace::Trace;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of pairs of a write and a read that are tried: the last ones before the second access.
const TRIED_MAX: usize = 16;

/// Replays `trace`, the trace of the iteration that the execution has just ended. `None` if the bug is no data race.
pub fn history(
    execution: &mut Execution,
    bug: &Bug,
    trace: &Trace,
) -> Result<Option<(PastEvent, RaceHistory)>, MachineError> {
    let Evidence::Race { first, second } = &bug.evidence else { return Ok(None) };
    let (probe, seen) = RaceProbe::new([first.clone(), second.clone()]);
    super::watched(execution, Box::new(probe), |execution| replay(execution, trace, false))?;
    let mut seen = seen.take();
    let of_block =
        [first, second].iter().any(|access| matches!(access.act, RacingAct::Allocation | RacingAct::Free));
    let edge = missing_edge(execution, trace, &seen, of_block)?;
    let [seen_first, seen_second] = std::mem::take(&mut seen.accesses).map(Option::unwrap_or_default);
    // For an access that is no scheduling point, the place is known, but not the stack.
    let stack = match first.location {
        Some(at) if seen_first.stack.first() != Some(&at) => vec![at],
        _ => seen_first.stack.clone(),
    };
    let event = PastEvent { title: first.title.clone(), step: first.step, stack };
    let first = access(execution, &seen, first, seen_first);
    let second = access(execution, &seen, second, seen_second);
    Ok(Some((event, RaceHistory { first, second, edge })))
}

fn access(execution: &Execution, seen: &RaceSeen, access: &RacingAccess, of: SeenAccess) -> AccessHistory {
    let past = |hit: &ProbeHit| PastEvent {
        title: execution.runtime().title(hit.worker),
        step: hit.step,
        stack: hit.stack.clone(),
    };
    AccessHistory {
        title: access.title.clone(),
        how: access.act.noun(),
        value: of.value,
        locks: of.locks.iter().map(|lock| HeldLock { object: *lock, title: lock.title() }).collect(),
        spawned: seen.spawned.get(&access.worker).map(past),
    }
}

/// A write and a read, at least one of them too weak, that would order the accesses as release and acquire.
fn missing_edge(
    execution: &mut Execution,
    trace: &Trace,
    seen: &RaceSeen,
    of_block: bool,
) -> Result<Option<MissingEdge>, MachineError> {
    let candidates = candidates(seen);
    if candidates.is_empty() {
        return Ok(None);
    }
    let races = |(write, read): &(SeenAtomic, SeenAtomic)| {
        Races::with(Stronger { release: write.site, acquire: read.site }, of_block)
    };
    let found = Arc::new(Mutex::new(vec![false; candidates.len()]));
    let trial = Trial { races: candidates.iter().map(races).collect(), found: found.clone() };
    super::watched(execution, Box::new(trial), |execution| replay(execution, trace, false))?;
    let found = found.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(at) = found.iter().position(|found| !found) else { return Ok(None) };
    let (write, read) = candidates[at];
    let sites = &execution.machine().artifact().table.sites;
    let place = |site: u32| sites.get(site as usize).map(|site| site.location);
    Ok(Some(MissingEdge {
        release: place(write.site).filter(|_| !write.order.success.releases()),
        acquire: place(read.site).filter(|_| !acquires(&read)),
    }))
}

fn acquires(read: &SeenAtomic) -> bool {
    read.order.success.acquires() && read.order.failure.acquires()
}

/// The candidates, the last ones first, without duplicate pairs of places.
fn candidates(seen: &RaceSeen) -> Vec<(SeenAtomic, SeenAtomic)> {
    let mut found: Vec<(SeenAtomic, SeenAtomic)> = Vec::new();
    for read in seen.reads.iter().rev() {
        let before = |write: &&SeenAtomic| write.number < read.number && write.address == read.address;
        for write in seen.writes.iter().rev().filter(before) {
            let weak = !write.order.success.releases() || !acquires(read);
            let known = found.iter().any(|(w, r)| (w.site, r.site) == (write.site, read.site));
            if weak && !known && found.len() < TRIED_MAX {
                found.push((*write, *read));
            }
        }
    }
    found
}

/// Looks for races while some accesses have stronger orderings than in the program.
struct Trial {
    races: Vec<Races>,
    /// For each detector, whether it found a race.
    found: Arc<Mutex<Vec<bool>>>,
}

impl Observer for Trial {
    fn interest(&self) -> Interest {
        self.races[0].interest()
    }

    fn begin(&mut self, state: &GuestState<'_>) {
        self.races.iter_mut().for_each(|races| races.begin(state));
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for (races, found) in self.races.iter_mut().zip(found.iter_mut()) {
            *found |= races.event(state, event).is_some();
        }
    }
}
