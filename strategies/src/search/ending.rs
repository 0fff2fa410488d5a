//! The states from which no end was reached yet, without the graph of all states.
//!
//! A step leads from one state to another. Once an end is known to be reachable from the second, it is from the first,
//! and the step can be forgotten. So only steps to states without a known end are kept, which are few at any time: a
//! depth-first search goes on from a state until it comes to an end or to a known state. If nothing is left to explore,
//! the states that remain are those of livelocks.

use std::collections::BTreeMap;

/// See the module's documentation. `S` names a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending<S> {
    /// States from which no end was reached yet, each with states from which a step leads there.
    pub open: BTreeMap<S, Vec<S>>,
}

impl<S> Default for Ending<S> {
    fn default() -> Ending<S> {
        Ending { open: BTreeMap::new() }
    }
}

impl<S: Copy + Ord> Ending<S> {
    /// Adds a state that nobody knows yet.
    pub fn open(&mut self, state: S) {
        self.open.entry(state).or_default();
    }

    /// A step leads from one known state to another.
    pub fn leads(&mut self, from: S, to: S) {
        match self.open.get_mut(&to) {
            Some(before) => before.push(from),
            None => self.ends(from),
        }
    }

    /// An end can be reached from a known state.
    pub fn ends(&mut self, state: S) {
        let mut ending = vec![state];
        while let Some(state) = ending.pop() {
            ending.extend(self.open.remove(&state).into_iter().flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;
    use std::collections::BTreeSet;

    /// The order in which steps and ends become known does not matter, and what remains open is what a backward search
    /// from the ends does not reach.
    #[test]
    fn what_stays_open_reaches_no_end() {
        for index in 0..500 {
            let mut rng = ChoiceRng::new(Iteration { seed: 5, index });
            let states = 2 + rng.below(12);
            let edges: Vec<(u64, u64)> =
                (0..rng.below(3 * states)).map(|_| (rng.below(states), rng.below(states))).collect();
            let ends: BTreeSet<u64> = (0..1 + rng.below(2)).map(|_| rng.below(states)).collect();
            let mut reach = ends.clone();
            while let Some((from, _)) =
                edges.iter().find(|(from, to)| reach.contains(to) && !reach.contains(from))
            {
                reach.insert(*from);
            }
            let mut ending = Ending::default();
            (0..states).for_each(|state| ending.open(state));
            let at = rng.below(edges.len() as u64 + 1) as usize;
            edges[..at].iter().for_each(|(from, to)| ending.leads(*from, *to));
            ends.iter().for_each(|end| ending.ends(*end));
            edges[at..].iter().for_each(|(from, to)| ending.leads(*from, *to));
            let open: BTreeSet<u64> = ending.open.into_keys().collect();
            assert_eq!(
                open,
                (0..states).filter(|state| !reach.contains(state)).collect(),
                "{edges:?} {ends:?}"
            );
        }
    }
}
