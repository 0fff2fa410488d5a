//! The graph of a program's states, which shows the states from which no end can be reached.
//!
//! States are numbered, and an edge means that some decision leads from one state to another; which decision
//! this is, is found out again when it is needed. An edge takes 8 bytes.

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
    /// Paths to livelocks that were not reported yet, the next one last; `None` before the first request.
    livelocks: Option<Vec<Vec<u32>>>,
}

/// No state.
const NONE: u32 = u32::MAX;

impl Graph {
    /// Adds a decision that leads from one state to another.
    pub fn add(&mut self, from: u32, to: u32) {
        if self.edges.last() != Some(&(from, to)) {
            self.edges.push((from, to));
        }
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
        if self.livelocks.is_none() {
            self.livelocks = Some(self.livelocks());
        }
        self.livelocks.as_mut().and_then(Vec::pop)
    }

    fn livelocks(&mut self) -> Vec<Vec<u32>> {
        let states = self.edges.iter().map(|(a, b)| a.max(b) + 1).chain([1]).max().unwrap_or(1) as usize;
        let backward = Adjacent::new(states, self.edges.iter().map(|(from, to)| (*to, *from)));
        let mut ending = vec![false; states];
        mark(&mut ending, std::mem::take(&mut self.ends), &backward);
        let no_livelock = std::mem::take(&mut self.no_livelock);
        self.unknown = no_livelock.iter().any(|state| !ending[*state as usize]);
        mark(&mut ending, no_livelock, &backward);
        if ending.iter().all(|ending| *ending) {
            return Vec::new();
        }
        let forward = Adjacent::new(states, std::mem::take(&mut self.edges).into_iter());
        let (parents, order) = breadth_first(&forward);
        // The nearest state comes first. All states that can be reached from it are reported with it.
        let mut told: Vec<u32> = Vec::new();
        for bottom in bottoms(&forward, &ending) {
            let mut leads_there = vec![false; states];
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
        let path = |state: u32| {
            let mut path = Vec::new();
            let mut at = state;
            while parents[at as usize] != NONE {
                path.push(at);
                at = parents[at as usize];
            }
            path.reverse();
            path
        };
        told.into_iter().rev().map(path).collect()
    }
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
/// can be reached (Tarjan 1972, without recursion).
fn bottoms(forward: &Adjacent, ending: &[bool]) -> Vec<u32> {
    let states = ending.len();
    let (mut index, mut low, mut on_stack) = (vec![NONE; states], vec![0; states], vec![false; states]);
    let (mut stack, mut calls, mut count) = (Vec::<u32>::new(), Vec::<(u32, usize)>::new(), 0);
    // Whether an edge out of its component was seen from a state or from those below it.
    let mut out = vec![false; states];
    let mut bottoms = Vec::new();
    for root in (0..states as u32).filter(|state| !ending[*state as usize]) {
        if index[root as usize] != NONE {
            continue;
        }
        calls.push((root, 0));
        while let Some((state, next)) = calls.pop() {
            let s = state as usize;
            if next == 0 {
                (index[s], low[s], on_stack[s]) = (count, count, true);
                count += 1;
                stack.push(state);
            }
            if let Some(&to) = forward.of(state).get(next) {
                calls.push((state, next + 1));
                let t = to as usize;
                if index[t] == NONE {
                    calls.push((to, 0));
                } else if on_stack[t] {
                    low[s] = low[s].min(index[t]);
                } else {
                    out[s] = true;
                }
                continue;
            }
            if low[s] == index[s] {
                if !out[s] {
                    bottoms.push(state);
                }
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    if member == state {
                        break;
                    }
                }
            }
            if let Some((parent, _)) = calls.last() {
                let p = *parent as usize;
                low[p] = low[p].min(low[s]);
                out[p] |= out[s] || low[s] == index[s];
            }
        }
    }
    bottoms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;

    /// The livelocks that a graph with these edges and ends reports.
    fn told(edges: &[(u32, u32)], ends: &[u32]) -> Vec<Vec<u32>> {
        let mut graph = Graph::default();
        edges.iter().for_each(|(from, to)| graph.add(*from, *to));
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
                .for_each(|(from, to)| graph.add(*from, *to));
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
