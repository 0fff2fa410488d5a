//! Executions without an end, in the graph of states that a finished search leaves.

use super::super::graph::Graph;
use super::{Advance, Dfs};
use crate::Pick;
use crate::system::{Decision, Status, System, decide};

impl<S: System> Dfs<S> {
    /// Nothing is left for this search: goes to the next livelock, then to the next round, if there is one and no other
    /// search has work.
    pub(super) fn next_endless(&mut self, system: &mut S) -> Advance {
        self.round = None;
        if !self.graph || !self.cache.seen().is_finished() {
            return Advance::Exhausted;
        }
        if let Some(path) = self.cache.seen().with_graph(Graph::next_livelock).flatten() {
            self.go_along(system, path);
            self.counts.bugs += 1;
            return Advance::Livelock;
        }
        if let Some((path, round)) = self.cache.seen().with_graph(Graph::next_round).flatten() {
            self.go_along(system, path);
            self.counts.bugs += 1;
            self.round = Some(round);
            return Advance::Round;
        }
        let unknown = self.cache.seen().with_graph(Graph::take_unknown).unwrap_or(false);
        self.counts.unfinished += u64::from(unknown);
        self.cache.seen().judged();
        Advance::Exhausted
    }

    /// Goes from the start to the last of these states.
    fn go_along(&mut self, system: &mut S, path: Vec<u32>) {
        self.path.clear();
        system.restart();
        for state in path {
            let found = self.go_to(system, state);
            assert!(found, "the same decisions lead to other states: this is a bug in coyote-wasm");
        }
    }

    /// Makes the decision that leads to the state of this number, if there is one.
    fn go_to(&mut self, system: &mut S, state: u32) -> bool {
        let decisions: Box<dyn Iterator<Item = Decision>> = match system.status() {
            Status::Choosing { bound } => Box::new((0..bound).map(Decision::Value)),
            _ => {
                let picks: Vec<Pick> = system.view().picks().collect();
                Box::new(picks.into_iter().map(Decision::Pick))
            }
        };
        for decision in decisions {
            let snapshot = system.can_snapshot().then(|| system.snapshot());
            decide(system, decision);
            self.counts.steps += u64::from(matches!(decision, Decision::Pick(_)));
            if self.cache.number(system) == Some(state) {
                self.path.push(decision);
                return true;
            }
            match &snapshot {
                Some(snapshot) => system.restore(snapshot),
                None => {
                    system.restart();
                    self.path.iter().for_each(|decision| decide(system, *decision));
                }
            }
        }
        false
    }
}
