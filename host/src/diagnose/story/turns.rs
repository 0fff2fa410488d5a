//! The importance of what becomes of tasks.

use super::moment::{Act, Moment, Weight, in_line_of};
use super::polls::{Lane, Turn};
use std::collections::BTreeMap;

/// Sets the weights of moments in which tasks suspend, end or are dropped. A task that waits in the line in which it waited
/// before has come no further, and what it did there meanwhile tells nothing.
pub fn weigh(moments: &mut [Moment]) {
    let mut last: BTreeMap<Lane, usize> = BTreeMap::new();
    // The moments of each lane since its last turn.
    let mut since: BTreeMap<Lane, Vec<usize>> = BTreeMap::new();
    for at in 0..moments.len() {
        let lane = moments[at].lane();
        let Act::Turn(turn) = moments[at].act else {
            since.entry(lane).or_default().push(at);
            continue;
        };
        let since = since.remove(&lane).unwrap_or_default();
        let before = last.insert(lane, at).filter(|before| moments[*before].act == moments[at].act);
        let again = before.is_some_and(|before| in_line_of(&moments[before], &moments[at]));
        if again {
            for own in since {
                if moments[own].weight < Weight::Shared && in_line_of(&moments[own], &moments[at]) {
                    moments[own].weight = Weight::Private;
                }
            }
        }
        moments[at].weight = match turn {
            Turn::Ends => Weight::Library,
            _ if again || moments[at].line.is_none() => Weight::Private,
            Turn::Suspends => Weight::Shared,
            Turn::Dropped => Weight::Waiting,
        };
    }
    // Where a task waits in the end.
    for at in last.into_values() {
        let moment = &mut moments[at];
        if moment.act == Act::Turn(Turn::Suspends) && moment.weight == Weight::Shared {
            moment.weight = Weight::Waiting;
        }
    }
}
