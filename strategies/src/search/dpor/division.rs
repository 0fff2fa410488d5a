//! Shared states of an exploration that is divided into parts, which know nothing of each other until they are joined.
//!
//! Each part has a copy of the states on the way to its work. A state below which only one part has work belongs to that
//! part, as if there were no others. The other states are *common*: a part records at its copy what it has done and what
//! races require there, but begins nothing new. When the copies are joined, what all of them require is known, each pick
//! once, and the next division takes it. So an exploration in parts misses nothing, and executes every class once, as
//! [`super::shared`] says of jobs. It may begin more executions in vain: a part does not know that another one has asked
//! for a pick that would have sufficed for its race, too.

use super::shared::{Place, Shared, State, Tree};
use crate::search::Item;
use std::collections::{BTreeMap, BTreeSet};

/// The states of an exploration, by number.
pub type States = Vec<(u64, State)>;

/// Takes work that is available at the states, as more items, until there are `enough`, and some below every state.
/// Returns the states after that, and the items along the tree of the program's executions, so that neighbours have most
/// states in common.
///
/// # Errors
/// The states do not fit together, or not with the items.
pub fn take(states: States, mut items: Vec<Item>, enough: usize) -> Result<(States, Vec<Item>), String> {
    let shared = Shared::restore(states, &BTreeSet::new(), &items)?;
    while items.len() < enough
        && let Some(item) = shared.take()
    {
        items.push(item);
    }
    let states = shared.states();
    let mut deepest_first: Vec<(usize, u64)> =
        states.iter().map(|(n, state)| (state.prefix.len(), *n)).collect();
    deepest_first.sort_unstable_by(|a, b| b.cmp(a));
    let by_number = states.into_iter().collect();
    let mut with_items = above(&by_number, &items);
    for (_, number) in deepest_first {
        if !with_items.contains(&number) {
            let item =
                shared.take_at(number).ok_or_else(|| format!("nothing is left below the state {number}"))?;
            with_items.extend(above(&by_number, std::slice::from_ref(&item)));
            items.push(item);
        }
    }
    items.sort_by_cached_key(|item| item.prefix.to_vec());
    Ok((shared.states(), items))
}

/// The numbers of the states on the way to items.
pub fn above(states: &BTreeMap<u64, State>, items: &[Item]) -> BTreeSet<u64> {
    let mut above = BTreeSet::new();
    for item in items {
        let mut next = item.place;
        while let Some(Place { state, .. }) = next.filter(|place| above.insert(place.state)) {
            next = states.get(&state).and_then(|state| state.parent);
        }
    }
    above
}

/// The states of parts that are put together.
#[derive(Debug)]
pub struct Joined {
    states: BTreeMap<u64, State>,
    /// The number of the next new state.
    made: u64,
}

impl Joined {
    /// `parts`: the states of all parts when they began.
    pub fn new<'a>(parts: impl Iterator<Item = &'a States>) -> Joined {
        let made = parts.flatten().map(|(number, _)| number + 1).max().unwrap_or(0);
        Joined { states: BTreeMap::new(), made }
    }

    /// Adds the states that one part has left, and gives its new states other numbers, also in its items. `began`,
    /// `common`: its states when it began, and which of them are common.
    ///
    /// # Errors
    /// What is left cannot be of this part.
    pub fn add(
        &mut self,
        began: &States,
        common: &BTreeSet<u64>,
        left: States,
        items: &mut [Item],
    ) -> Result<(), String> {
        let began: BTreeMap<u64, &State> = began.iter().map(|(number, state)| (*number, state)).collect();
        let mut names = BTreeMap::new();
        for (number, _) in &left {
            let is_new = !began.contains_key(number);
            names.insert(*number, if is_new { self.made } else { *number });
            self.made += u64::from(is_new);
        }
        if let Some(lost) = common.iter().find(|number| !names.contains_key(number)) {
            return Err(format!("the shared state {lost} is not there"));
        }
        let rename = |place: &mut Option<Place>| match place {
            None => Ok(()),
            Some(place) => {
                let name = names.get(&place.state);
                place.state = *name.ok_or_else(|| format!("there is no shared state {}", place.state))?;
                Ok::<(), String>(())
            }
        };
        for (number, mut state) in left {
            rename(&mut state.parent)?;
            match (self.states.get_mut(&names[&number]), began.get(&number)) {
                (None, _) => drop(self.states.insert(names[&number], state)),
                (Some(known), Some(before)) if common.contains(&number) => known.absorb(state, before)?,
                _ => return Err(format!("two parts have the shared state {number}")),
            }
        }
        items.iter_mut().try_for_each(|item| rename(&mut item.place))
    }

    /// All states, without those below which everything is explored.
    pub fn states(self) -> States {
        Tree::of(self.states).settled()
    }
}
