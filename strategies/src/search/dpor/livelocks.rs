//! Finds out whether an end can be reached from a state in which every enabled worker spins.

use super::Dpor;
use crate::Pick;
use crate::search::Advance;
use crate::system::{Decision, Status, System, decide};
use std::collections::BTreeSet;

/// Maximal number of remembered states from which an end can be reached.
const ENDING_MAX: usize = 1 << 16;

/// Maximal number of steps to find out whether an end can be reached.
const STEPS_MAX: u64 = 20_000;

/// Whether an end can be reached from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    AnEnd,
    NoEnd,
    /// It could not be determined.
    Unknown,
}

/// A state with decisions to be tried.
struct Open<T> {
    snapshot: T,
    fingerprint: u128,
    /// Decisions to be tried, the next one last.
    left: Vec<Decision>,
}

impl<S: System> Dpor<S> {
    /// Handles a present state in which every worker that can be picked spins. Some may stop spinning,
    /// because others have written what they read, or may write what others read: only a search of all states
    /// that can be reached from here can decide. A livelock is counted; a state that cannot be decided is
    /// counted as unfinished.
    pub(super) fn judge(&mut self, system: &mut S) -> Option<Advance> {
        let reach = self.reach(system);
        let node = self.nodes.last_mut().expect("the present state");
        match reach {
            Reach::AnEnd => return None,
            Reach::NoEnd => self.counts.bugs += 1,
            Reach::Unknown => self.counts.unfinished += 1,
        }
        // It has been counted, so it is not redundant.
        node.fresh = false;
        (reach == Reach::NoEnd).then_some(Advance::Livelock)
    }

    /// Searches states depth-first. Afterwards the system is in its present state again.
    fn reach(&mut self, system: &mut S) -> Reach {
        if !system.can_snapshot() {
            return Reach::Unknown;
        }
        let here = system.snapshot();
        let (reach, stack) = self.reach_from(system);
        if reach == Reach::AnEnd {
            if self.ending.len() > ENDING_MAX {
                self.ending.clear();
            }
            self.ending.extend(stack.iter().map(|open| open.fingerprint));
        }
        system.restore(&here);
        reach
    }

    /// What can be reached; if it is an end, also the states on the way.
    fn reach_from(&mut self, system: &mut S) -> (Reach, Vec<Open<S::Snapshot>>) {
        let (mut stack, mut seen) = (Vec::new(), BTreeSet::new());
        let (mut steps, mut cut) = (0, false);
        loop {
            let fingerprint = system.fingerprint_of_program();
            match system.status() {
                Status::Passed | Status::Abandoned => return (Reach::AnEnd, stack),
                // Equal states of the program may have different data races ahead of them.
                Status::Bug => return (Reach::AnEnd, Vec::new()),
                Status::Unfinished => cut = true,
                _ if self.ending.contains(&fingerprint) => return (Reach::AnEnd, stack),
                _ if seen.insert(fingerprint) => {
                    cut |= !system.may_livelock();
                    let left = decisions(system);
                    stack.push(Open { snapshot: system.snapshot(), fingerprint, left });
                }
                _ => {}
            }
            while stack.pop_if(|open: &mut Open<_>| open.left.is_empty()).is_some() {}
            let Some(open) = stack.last_mut() else {
                return (if cut { Reach::Unknown } else { Reach::NoEnd }, stack);
            };
            if steps == STEPS_MAX {
                return (Reach::Unknown, stack);
            }
            let decision = open.left.pop().expect("it is not done");
            system.restore(&open.snapshot);
            decide(system, decision);
            steps += 1;
            self.counts.steps += 1;
        }
    }
}

/// The possible decisions in a state; the last one continues with the worker of the last step.
fn decisions<S: System>(system: &S) -> Vec<Decision> {
    if let Status::Choosing { bound } = system.status() {
        // More than can be tried are not needed, and there may be 2^32.
        return (0..bound.min(STEPS_MAX + 1)).rev().map(Decision::Value).collect();
    }
    let view = system.view();
    let mut picks: Vec<Pick> = view.picks().collect();
    picks.sort_by_key(|pick| Some(pick.worker()) == view.current && matches!(pick, Pick::Step(_)));
    picks.into_iter().map(Decision::Pick).collect()
}
