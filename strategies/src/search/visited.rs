//! The states that an exploration has visited, as they are stored and joined.
//!
//! What a search with a cache relies on is this set alone: every decision at a visited state was made, or is left in
//! some item. So searches that begin with the same set and have different items may visit a state twice, but all of
//! them together miss none; and after their sets are joined, none of it is visited again.

use super::Counts;
use super::ending::Ending;
use crate::system::Status;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// How an execution ended at a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum End {
    /// [`Status::Passed`].
    Passed,
    /// [`Status::Bug`].
    Bug,
    /// [`Status::Abandoned`].
    Abandoned,
    /// [`Status::Unfinished`]: whoever reaches the state with fewer steps may go on from there.
    Unfinished,
}

impl End {
    /// The end of this status, if it is final.
    pub fn of(status: Status) -> Option<End> {
        match status {
            Status::Ready | Status::Choosing { .. } => None,
            Status::Passed => Some(End::Passed),
            Status::Bug => Some(End::Bug),
            Status::Abandoned => Some(End::Abandoned),
            Status::Unfinished => Some(End::Unfinished),
        }
    }

    fn status(self) -> Status {
        match self {
            End::Passed => Status::Passed,
            End::Bug => Status::Bug,
            End::Abandoned => Status::Abandoned,
            End::Unfinished => Status::Unfinished,
        }
    }
}

/// What is known of a visited state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// The smallest number of steps by which it was reached.
    pub steps: u32,
    /// How an execution ended there, if one did.
    pub end: Option<End>,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visited {
    /// By their hashes.
    pub states: BTreeMap<u128, Visit>,
    /// Whether an execution was cut off that could have continued.
    pub cut_off: bool,
    /// Whether a state was reached with different numbers of steps: see [`Counts::cyclic`].
    pub cyclic: bool,
    /// From which of these states no end was reached yet. Others may also be named, for the steps that lead there.
    pub ending: Ending<u128>,
}

impl Visited {
    /// Whether nothing was visited.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Adds what others have visited.
    pub fn join(&mut self, others: &Visited) {
        self.cut_off |= others.cut_off;
        self.cyclic |= others.cyclic;
        let mut ended = Vec::new();
        for (state, visit) in &others.states {
            let is_open = others.ending.open.contains_key(state);
            match self.states.entry(*state) {
                Entry::Vacant(entry) => {
                    entry.insert(*visit);
                    if is_open {
                        self.ending.open(*state);
                    }
                }
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    self.cyclic |= known.steps != visit.steps;
                    *known = Visit { steps: known.steps.min(visit.steps), end: known.end.max(visit.end) };
                    ended.extend((!is_open).then_some(*state));
                }
            }
        }
        for (to, from) in &others.ending.open {
            from.iter().for_each(|from| self.ending.leads(*from, *to));
        }
        ended.into_iter().for_each(|state| self.ending.ends(state));
    }

    /// Whether an execution may never end, if nothing is left to explore: see [`Counts::cyclic`].
    pub fn may_not_end(&self) -> bool {
        self.cyclic && !self.ending.open.is_empty()
    }

    /// The ends of executions, each counted once.
    pub fn ends(&self) -> Counts {
        let mut counts = Counts::default();
        let ends = self.states.values().filter_map(|visit| visit.end);
        ends.for_each(|end| counts.ended(end.status()));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visited(states: &[(u128, u32, Option<End>)]) -> Visited {
        let states = states.iter().map(|(state, steps, end)| (*state, Visit { steps: *steps, end: *end }));
        Visited { states: states.collect(), ..Visited::default() }
    }

    #[test]
    fn states_of_several_are_counted_once() {
        let mut all = visited(&[(1, 0, None), (2, 3, Some(End::Passed)), (3, 4, Some(End::Bug))]);
        all.join(&visited(&[(2, 3, Some(End::Passed)), (4, 2, Some(End::Unfinished))]));
        let ends = all.ends();
        assert_eq!((all.states.len(), ends.executions, ends.bugs, ends.unfinished), (4, 2, 1, 1));
        assert!(!all.cyclic);
    }

    #[test]
    fn another_number_of_steps_may_be_a_cycle_and_the_smaller_one_counts() {
        for (one, other) in [(3, 5), (5, 3)] {
            let mut all = visited(&[(7, one, None)]);
            all.join(&visited(&[(7, other, None)]));
            assert!(all.cyclic);
            assert_eq!(all.states[&7].steps, 3);
        }
    }
}
