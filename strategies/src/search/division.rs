//! Remaining work, divided into parts that are searched separately, and put together again.
//!
//! Everything is a function of its arguments alone, so that parts can be searched anywhere, in any order and more than
//! once: [`Work::divide`], then a search of each part, then [`Work::join`], and again until nothing is left.

use super::dpor::SharedState;
use super::dpor::division::{Joined, above, take};
use super::visited::Visited;
use super::{Item, Shared};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The remaining work of an exploration that has stopped, or a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// What is left to each of its searches.
    pub items: Vec<Item>,
    /// The states that its searches share, by number, in their order.
    pub states: Vec<(u64, SharedState)>,
    /// Of a part: the states below which other parts have work, too.
    pub common: BTreeSet<u64>,
    /// The states visited before, if the search remembers them; of what a part has left: those it has visited itself.
    pub visited: Arc<Visited>,
    /// Of a part of a search that remembers states: its number, from 1. See [`Shared::turn`].
    pub turn: u64,
}

impl Work {
    /// Everything that a search does.
    pub fn whole() -> Work {
        Work { items: vec![Item::default()], ..Work::default() }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.states.is_empty()
    }

    /// The states that [`dpor`](super::dpor) shares, for searches that go on with the items.
    ///
    /// # Errors
    /// The states do not fit together, or not with the items.
    pub fn shared(&self) -> Result<Shared, String> {
        let states = super::dpor::Shared::restore(self.states.clone(), &self.common, &self.items)?;
        Ok(Shared { dpor: Arc::new(states), turn: self.turn, ..Shared::default() })
    }

    /// Divides it into at most `parts` parts, none of them empty.
    ///
    /// # Errors
    /// It is a part itself, or its states and items do not fit together.
    pub fn divide(self, parts: usize) -> Result<Vec<Work>, String> {
        if !self.common.is_empty() {
            return Err("a part is not divided again, but joined with the others".into());
        }
        if self.states.is_empty() {
            return Ok(self.divide_items(parts));
        }
        let (states, mut items) = take(self.states, self.items, parts)?;
        let states: BTreeMap<u64, SharedState> = states.into_iter().collect();
        let mut divided = Vec::new();
        for left in (1..=parts.min(items.len())).rev() {
            let rest = items.split_off(items.len().div_ceil(left));
            let of_part = std::mem::replace(&mut items, rest);
            divided.push((above(&states, &of_part), of_part));
        }
        let mut parts_below = BTreeMap::<u64, u32>::new();
        divided
            .iter()
            .flat_map(|(above, _)| above)
            .for_each(|state| *parts_below.entry(*state).or_default() += 1);
        let part = |(above, items): (BTreeSet<u64>, _)| Work {
            items,
            states: above.iter().map(|number| (*number, states[number].clone())).collect(),
            common: above.into_iter().filter(|number| parts_below[number] > 1).collect(),
            visited: Arc::default(),
            turn: 0,
        };
        Ok(divided.into_iter().map(part).collect())
    }

    /// Each part gets its share of the items of each cost, of items that were close to each other: these begin alike, so
    /// that parts are small, and parts that remember states come to different ones.
    fn divide_items(self, parts: usize) -> Vec<Work> {
        let parts = parts.min(self.items.len());
        let remembers = !self.visited.is_empty();
        let turn = |number: usize| if remembers { number as u64 + 1 } else { 0 };
        let part = |number| Work { visited: self.visited.clone(), turn: turn(number), ..Work::default() };
        let mut divided: Vec<Work> = (0..parts).map(part).collect();
        let mut levels = BTreeMap::<u32, Vec<Item>>::new();
        self.items.into_iter().for_each(|item| levels.entry(item.level()).or_default().push(item));
        // Where the last level has ended: parts with one item more than others differ from level to level.
        let mut begin = 0;
        for items in levels.into_values() {
            let all = items.len();
            for (i, item) in items.into_iter().enumerate() {
                divided[(begin + i * parts / all.max(parts)) % parts].items.push(item);
            }
            begin += all;
        }
        divided
    }

    /// Puts together what the parts of a division have left, in their order.
    ///
    /// # Errors
    /// This is not what these parts can have left.
    pub fn join(parts: &[Work], left: Vec<Work>) -> Result<Work, String> {
        if parts.len() != left.len() {
            return Err(format!("{} parts have left {} pieces of work", parts.len(), left.len()));
        }
        let mut joined = Joined::new(parts.iter().map(|part| &part.states));
        let mut items = Vec::new();
        // It is the same of all parts.
        let mut all = parts.first().map(|part| Visited::clone(&part.visited)).unwrap_or_default();
        for (part, Work { items: mut of_part, states, common, visited, turn: _ }) in parts.iter().zip(left) {
            if common != part.common {
                return Err("what is left is of another part".into());
            }
            joined.add(&part.states, &part.common, states, &mut of_part)?;
            items.extend(of_part);
            all.join(&visited);
        }
        let states = joined.states();
        let whole = Work { items, states, common: BTreeSet::new(), visited: Arc::new(all), turn: 0 };
        whole.shared()?;
        Ok(whole)
    }
}
