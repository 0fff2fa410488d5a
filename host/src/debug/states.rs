//! Snapshots that are kept on the way, so that going back is short.

use crate::machine::Snapshot;
use std::collections::BTreeMap;

/// States by their positions: the longer the schedule, the farther from each other.
pub struct States {
    every: usize,
    states: BTreeMap<usize, Snapshot>,
}

/// How far from each other they are at first.
const EVERY: usize = 16;
/// With more than these, every second one is dropped.
const STATES_MAX: usize = 512;

impl Default for States {
    fn default() -> States {
        States { every: EVERY, states: BTreeMap::new() }
    }
}

impl States {
    /// Whether the state at a position is to be kept.
    pub fn wants(&self, position: usize) -> bool {
        position.is_multiple_of(self.every) && !self.states.contains_key(&position)
    }

    pub fn keep(&mut self, position: usize, state: Snapshot) {
        self.states.insert(position, state);
        if self.states.len() > STATES_MAX {
            self.every *= 2;
            let every = self.every;
            self.states.retain(|position, _| position.is_multiple_of(every));
        }
    }

    /// The last one at or before a position.
    pub fn before(&self, position: usize) -> Option<(usize, &Snapshot)> {
        self.states.range(..=position).next_back().map(|(position, state)| (*position, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_too_many_and_none_is_far() {
        let mut states = States::default();
        for position in 0..100_000 {
            if states.wants(position) {
                states.keep(position, Snapshot::default());
            }
            assert!(states.states.len() <= STATES_MAX);
            let (before, _) = states.before(position).unwrap();
            assert!(position - before < states.every, "{position} {before}");
        }
        assert_eq!(states.every, 256);
    }
}
