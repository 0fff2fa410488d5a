//! Snapshots that are kept during the execution, so that motions backwards are short.

use crate::machine::Snapshot;
use std::collections::BTreeMap;

/// Snapshots by position. The longer the schedule is, the larger is the distance between them.
pub struct States {
    every: usize,
    states: BTreeMap<usize, Snapshot>,
}

/// The initial distance between snapshots.
const EVERY: usize = 16;
/// If there are more snapshots, every second one is dropped.
const STATES_MAX: usize = 512;

impl Default for States {
    fn default() -> States {
        States { every: EVERY, states: BTreeMap::new() }
    }
}

impl States {
    /// Whether the state at a position should be kept.
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

    /// The last snapshot at or before a position.
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
