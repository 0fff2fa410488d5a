//! Strongly connected components of a part of a graph.

/// No state, or no component.
pub const NONE: u32 = u32::MAX;

/// The component of each state, by number; [`NONE`] for states that are not in the part, and for those that no edge
/// leads back to. An edge counts if both of its states have the same number in `part`, which is not [`NONE`]. `next`
/// returns the edge of a state with this index: where it leads and whether it counts at all. Also returns the number of
/// components.
///
/// Tarjan 1972, without recursion.
pub fn components(part: &[u32], next: &dyn Fn(u32, usize) -> Option<(u32, bool)>) -> (Vec<u32>, u32) {
    let states = part.len();
    let (mut index, mut low, mut on_stack) = (vec![NONE; states], vec![0; states], vec![false; states]);
    let (mut stack, mut calls, mut count) = (Vec::<u32>::new(), Vec::<(u32, usize)>::new(), 0);
    let (mut found, mut components) = (vec![NONE; states], 0);
    for root in (0..states as u32).filter(|state| part[*state as usize] != NONE) {
        if index[root as usize] != NONE {
            continue;
        }
        calls.push((root, 0));
        while let Some((state, at)) = calls.pop() {
            let s = state as usize;
            if at == 0 {
                (index[s], low[s], on_stack[s]) = (count, count, true);
                count += 1;
                stack.push(state);
            }
            if let Some((to, counts)) = next(state, at) {
                calls.push((state, at + 1));
                let t = to as usize;
                if !counts || part[t] != part[s] {
                    continue;
                }
                if index[t] == NONE {
                    calls.push((to, 0));
                } else if on_stack[t] {
                    low[s] = low[s].min(index[t]);
                }
                continue;
            }
            if low[s] == index[s] {
                let alone = stack.last() == Some(&state) && !leads_to_itself(state, next);
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    found[member as usize] = if alone { NONE } else { components };
                    if member == state {
                        break;
                    }
                }
                components += u32::from(!alone);
            }
            if let Some((parent, _)) = calls.last() {
                let p = *parent as usize;
                low[p] = low[p].min(low[s]);
            }
        }
    }
    (found, components)
}

fn leads_to_itself(state: u32, next: &dyn Fn(u32, usize) -> Option<(u32, bool)>) -> bool {
    (0..).map_while(|at| next(state, at)).any(|(to, counts)| counts && to == state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;

    #[test]
    fn random_graphs_against_plain_reachability() {
        let mut rng = ChoiceRng::new(Iteration { seed: 6, index: 0 });
        let mut sizes = [0; 10];
        for _ in 0..2_000 {
            let states = 1 + rng.below(9) as u32;
            let part: Vec<u32> = (0..states).map(|_| [0, 0, 0, 1, NONE][rng.below(5) as usize]).collect();
            let edges: Vec<(u32, u32, bool)> = (0..rng.below(20))
                .map(|_| (rng.below(states.into()) as u32, rng.below(states.into()) as u32, !rng.one_in(6)))
                .collect();
            let of = |state: u32| edges.iter().filter(move |(from, ..)| *from == state);
            let next = |state: u32, at: usize| of(state).nth(at).map(|(_, to, counts)| (*to, *counts));
            let (found, count) = components(&part, &next);
            let reaches = |from: u32, to: u32| {
                let (mut seen, mut open) = (vec![false; states as usize], vec![from]);
                while let Some(state) = open.pop() {
                    for (_, to, counts) in of(state) {
                        let inside =
                            part[state as usize] != NONE && part[state as usize] == part[*to as usize];
                        if *counts && inside && !std::mem::replace(&mut seen[*to as usize], true) {
                            open.push(*to);
                        }
                    }
                }
                seen[to as usize]
            };
            for a in 0..states {
                let (inside, of_a) = (reaches(a, a), found[a as usize]);
                assert_eq!(of_a != NONE, inside, "{edges:?} {part:?} {found:?}");
                for b in (0..states).filter(|_| inside) {
                    let together = reaches(a, b) && reaches(b, a);
                    assert_eq!(found[b as usize] == of_a, together, "{edges:?} {part:?} {found:?}");
                }
            }
            (0..count).for_each(|c| sizes[found.iter().filter(|of| **of == c).count()] += 1);
        }
        assert_eq!(sizes[0], 0);
        assert!(sizes[1] > 100 && sizes[2] > 100 && sizes[4] > 20, "{sizes:?}");
    }
}
