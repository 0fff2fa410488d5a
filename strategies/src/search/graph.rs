//! The graph of a program's states, which shows the states from which no end can be reached, and, if they are wanted,
//! [rounds](super::rounds) among the others.
//!
//! States are numbered, and an edge means that some decision leads from one state to another; which decision
//! this is, is found out again when it is needed. An edge takes 8 bytes, and 12 if rounds are wanted.

use super::components::{NONE, components};
use super::rounds::{Facts, Finder, Kept, Label, Round, Wanted};
use std::collections::VecDeque;

/// The graph: see the module's documentation. State 0 is the first.
#[derive(Debug, Default)]
pub struct Graph {
    edges: Vec<(u32, u32)>,
    /// States in which an execution ends, or was cut off, so that its continuation is not known.
    ends: Vec<u32>,
    /// States that are no part of a livelock: see [`System::may_livelock`](crate::System::may_livelock).
    no_livelock: Vec<u32>,
    /// Whether there are states from which no end but such a state can be reached.
    unknown: bool,
    /// What rounds need, if they are wanted.
    kept: Option<Kept>,
    /// What was found; `None` before the first request.
    found: Option<Found>,
}

/// What was found and was not reported yet, the next one last.
#[derive(Debug, Default)]
struct Found {
    /// Paths to livelocks.
    livelocks: Vec<Vec<u32>>,
    /// Rounds, with the paths to where they begin.
    rounds: Vec<(Vec<u32>, Round)>,
}

impl Graph {
    /// An empty graph in which such rounds can be found.
    pub fn new(wanted: Wanted) -> Graph {
        let kept = wanted.any().then(|| Kept::new(wanted));
        Graph { kept, ..Graph::default() }
    }

    /// Adds a decision that leads from one state to another; `label`: the step that it is, if it can be part of a round.
    pub fn add(&mut self, from: u32, to: u32, label: Option<Label>) {
        let number = self.kept.as_mut().map(|kept| kept.label(label));
        let last = self.kept.as_ref().and_then(Kept::last);
        if self.edges.last() != Some(&(from, to)) || last != number {
            self.edges.push((from, to));
            self.kept.iter_mut().zip(number).for_each(|(kept, number)| kept.edge(number));
        }
    }

    /// Adds what rounds need to know about a state, or nothing if no round contains it.
    pub fn state(&mut self, state: u32, facts: Option<Facts>) {
        self.kept.iter_mut().zip(facts).for_each(|(kept, facts)| kept.state(state, facts));
    }

    /// Records that an execution ends in a state, or is cut off there.
    pub fn ends(&mut self, state: u32) {
        self.ends.push(state);
    }

    /// Records that a circle through a state is no livelock.
    pub fn no_livelock(&mut self, state: u32) {
        self.no_livelock.push(state);
    }

    /// Whether it is not known of some states whether an end can be reached from them: once, after livelocks were
    /// requested.
    pub fn take_unknown(&mut self) -> bool {
        std::mem::take(&mut self.unknown)
    }

    /// The states of a shortest path to a state from which no end can be reached, without the first state.
    /// The graph must be complete. There is one path for each set of such states in which each can reach each
    /// and no others; no state is reported twice.
    pub fn next_livelock(&mut self) -> Option<Vec<u32>> {
        self.found().livelocks.pop()
    }

    /// A round, with the states of a shortest path to the state that it begins in, without the first state. No state of
    /// it is part of a livelock. The graph must be complete for all rounds to be found.
    pub fn next_round(&mut self) -> Option<(Vec<u32>, Round)> {
        self.found().rounds.pop()
    }

    fn found(&mut self) -> &mut Found {
        if self.found.is_none() {
            self.found = Some(self.judge());
        }
        self.found.as_mut().expect("it was just set")
    }

    fn judge(&mut self) -> Found {
        let states = self.edges.iter().map(|(a, b)| a.max(b) + 1).chain([1]).max().unwrap_or(1) as usize;
        let backward = Adjacent::new(states, self.edges.iter().map(|(from, to)| (*to, *from)));
        let mut ending = vec![false; states];
        mark(&mut ending, std::mem::take(&mut self.ends), &backward);
        let no_livelock = std::mem::take(&mut self.no_livelock);
        self.unknown = no_livelock.iter().any(|state| !ending[*state as usize]);
        mark(&mut ending, no_livelock, &backward);
        let livelocks = ending.iter().any(|ending| !*ending);
        if !livelocks && self.kept.is_none() {
            return Found::default();
        }
        let edges = std::mem::take(&mut self.edges);
        let forward = Adjacent::new(states, edges.iter().copied());
        let (parents, order) = breadth_first(&forward);
        let mut found = Found::default();
        if let Some(kept) = self.kept.take() {
            let allowed = |state: u32| ending[state as usize];
            let rounds = Finder::new(&kept, &edges, &order, states, &allowed).rounds();
            let rounds = rounds.into_iter().rev();
            found.rounds = rounds.map(|(state, round)| (path(&parents, state), round)).collect();
        }
        if livelocks {
            found.livelocks = livelocks_of(&forward, &backward, &ending, &order)
                .into_iter()
                .rev()
                .map(|state| path(&parents, state))
                .collect();
        }
        found
    }
}

/// The states of livelocks that are reported, the nearest of each.
fn livelocks_of(forward: &Adjacent, backward: &Adjacent, ending: &[bool], order: &[u32]) -> Vec<u32> {
    // The nearest state comes first. All states that can be reached from it are reported with it.
    let mut told: Vec<u32> = Vec::new();
    for bottom in bottoms(forward, ending) {
        let mut leads_there = vec![false; ending.len()];
        leads_there[bottom as usize] = true;
        let mut open = vec![bottom];
        while let Some(state) = open.pop() {
            for &before in backward.of(state).iter().filter(|before| !ending[**before as usize]) {
                if !std::mem::replace(&mut leads_there[before as usize], true) {
                    open.push(before);
                }
            }
        }
        let nearest = order.iter().find(|state| leads_there[**state as usize]);
        told.extend(nearest.filter(|state| !told.contains(state)));
    }
    told
}

/// The states of the path to a state, without the first one.
fn path(parents: &[u32], state: u32) -> Vec<u32> {
    let mut path = Vec::new();
    let mut at = state;
    while parents[at as usize] != NONE {
        path.push(at);
        at = parents[at as usize];
    }
    path.reverse();
    path
}

/// Marks states, and all from which they can be reached.
fn mark(marked: &mut [bool], mut open: Vec<u32>, backward: &Adjacent) {
    open.iter().for_each(|state| marked[*state as usize] = true);
    while let Some(state) = open.pop() {
        for &before in backward.of(state) {
            if !std::mem::replace(&mut marked[before as usize], true) {
                open.push(before);
            }
        }
    }
}

/// The neighbours of each state.
struct Adjacent {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Adjacent {
    fn new(states: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Adjacent {
        let mut starts = vec![0; states + 1];
        edges.clone().for_each(|(from, _)| starts[from as usize + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        let (mut next, mut neighbours) = (starts.clone(), vec![0; starts[states] as usize]);
        for (from, to) in edges {
            neighbours[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Adjacent { starts, neighbours }
    }

    fn of(&self, state: u32) -> &[u32] {
        &self.neighbours[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }
}

/// The predecessor of each state on a shortest path from the first, and all states that can be reached, the
/// nearest first.
fn breadth_first(forward: &Adjacent) -> (Vec<u32>, Vec<u32>) {
    let mut parents = vec![NONE; forward.starts.len() - 1];
    let (mut order, mut open) = (vec![], VecDeque::from([0]));
    while let Some(state) = open.pop_front() {
        order.push(state);
        for &next in forward.of(state) {
            if next != 0 && parents[next as usize] == NONE {
                parents[next as usize] = state;
                open.push_back(next);
            }
        }
    }
    (parents, order)
}

/// A state of each strongly connected component that has no edge out of it, among states from which no end
/// can be reached.
fn bottoms(forward: &Adjacent, ending: &[bool]) -> Vec<u32> {
    let part: Vec<u32> = ending.iter().map(|ending| if *ending { NONE } else { 0 }).collect();
    let (found, count) = components(&part, &|state, at| forward.of(state).get(at).map(|to| (*to, true)));
    let mut bottoms = vec![NONE; count as usize];
    let mut out = vec![false; count as usize];
    for state in (0..ending.len() as u32).filter(|state| found[*state as usize] != NONE) {
        let component = found[state as usize];
        out[component as usize] |= forward.of(state).iter().any(|to| found[*to as usize] != component);
        bottoms[component as usize] = state;
    }
    let open = |(component, _): &(usize, u32)| out[*component];
    bottoms.into_iter().enumerate().filter(|bottom| !open(bottom)).map(|(_, state)| state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;

    /// The livelocks that a graph with these edges and ends reports.
    fn told(edges: &[(u32, u32)], ends: &[u32]) -> Vec<Vec<u32>> {
        let mut graph = Graph::default();
        edges.iter().for_each(|(from, to)| graph.add(*from, *to, None));
        ends.iter().for_each(|state| graph.ends(*state));
        std::iter::from_fn(|| graph.next_livelock()).collect()
    }

    #[test]
    fn the_nearest_state_of_each() {
        assert_eq!(told(&[(0, 1), (1, 0), (1, 2)], &[2]), Vec::<Vec<u32>>::new());
        assert_eq!(told(&[(0, 1), (1, 1), (0, 2)], &[2]), [[1]]);
        // Two of them, and one state that leads to both: reported once.
        assert_eq!(told(&[(0, 1), (0, 2), (1, 1), (2, 2), (0, 3)], &[3]).len(), 2);
        assert_eq!(told(&[(0, 4), (0, 3), (4, 1), (4, 2), (1, 1), (2, 2)], &[3]), [[4]]);
        // No end can be reached even from the first state.
        assert_eq!(told(&[(0, 1), (1, 0)], &[]), [Vec::<u32>::new()]);
        assert_eq!(told(&[], &[0]), Vec::<Vec<u32>>::new());
    }

    /// A circle in which something else can still happen is no livelock, and not known to end.
    #[test]
    fn what_leads_to_no_livelock_is_unknown() {
        let told = |no_livelock: &[u32]| {
            let mut graph = Graph::default();
            [(0, 1), (1, 2), (2, 1), (0, 3), (3, 3), (0, 4)]
                .iter()
                .for_each(|(from, to)| graph.add(*from, *to, None));
            graph.ends(4);
            no_livelock.iter().for_each(|state| graph.no_livelock(*state));
            let told: Vec<Vec<u32>> = std::iter::from_fn(|| graph.next_livelock()).collect();
            (told, graph.take_unknown())
        };
        assert_eq!(told(&[]), (vec![vec![1], vec![3]], false));
        assert_eq!(told(&[2]), (vec![vec![3]], true));
        assert_eq!(told(&[1, 3]), (vec![], true));
        // An end can be reached all the same.
        assert_eq!(told(&[0]), (vec![vec![1], vec![3]], false));
    }

    #[test]
    fn random_graphs_against_plain_reachability() {
        let mut rng = ChoiceRng::new(Iteration { seed: 5, index: 0 });
        let mut livelocks = 0;
        for _ in 0..2_000 {
            let states = 2 + rng.below(8) as u32;
            let mut any = || rng.below(u64::from(states)) as u32;
            let edges: Vec<(u32, u32)> =
                (1..states).flat_map(|to| [(any() % to, to), (any(), any())]).collect();
            let leaves: Vec<u32> = (0..states).filter(|s| edges.iter().all(|(from, _)| from != s)).collect();
            let reach = |from: u32| {
                let mut seen = vec![from];
                let mut at = 0;
                while at < seen.len() {
                    let next = edges.iter().filter(|(from, _)| *from == seen[at]).map(|(_, to)| *to);
                    let new: Vec<u32> = next.filter(|to| !seen.contains(to)).collect();
                    new.iter().for_each(|to| {
                        if !seen.contains(to) {
                            seen.push(*to)
                        }
                    });
                    at += 1;
                }
                seen
            };
            let stuck = |s: &u32| !reach(*s).iter().any(|s| leaves.contains(s));
            let bottoms =
                (0..states).filter(stuck).filter(|s| reach(*s).iter().all(|r| reach(*r).contains(s)));
            let bottoms: Vec<u32> = bottoms.collect();
            let told = told(&edges, &leaves);
            for path in &told {
                let state = path.last().copied().unwrap_or(0);
                assert!(stuck(&state), "{edges:?} {path:?}");
                assert!(path.iter().rev().skip(1).all(|s| !stuck(s)), "{edges:?} {path:?} is not the first");
                let steps = [0].iter().chain(path).zip(path);
                steps.for_each(|(a, b)| assert!(edges.contains(&(*a, *b))));
            }
            let ends: Vec<u32> = told.iter().map(|path| path.last().copied().unwrap_or(0)).collect();
            assert!(bottoms.iter().all(|b| ends.iter().any(|e| reach(*e).contains(b))), "{edges:?} {told:?}");
            livelocks += told.len();
        }
        assert!(livelocks > 100);
    }
}
