//! Stores that may be of states of async functions: the last one of each address, see `tasks`.

use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::ops::Range;

/// The size of the largest state.
const STATE_BYTES: u32 = 2;

/// The maximum number of stores that are kept. With more, nothing is said of tasks.
const STORES_MAX: usize = 1 << 20;

/// A store that may be of a state.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    pub location: Location,
    /// Its place in the order of all such stores.
    pub number: u64,
    /// Whether the address was read since then.
    pub was_read: bool,
}

/// The last stores that may be of states.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// By address.
    stores: BTreeMap<u64, Store>,
    /// The number of all of them.
    count: u64,
    /// Whether there were more than can be kept.
    too_many: bool,
}

impl States {
    /// Adds an access by the guest. What it overwrites is no state any more.
    pub fn access(&mut self, address: u64, bytes: u32, writes: bool, location: Option<Location>) {
        if !writes {
            self.stores.entry(address).and_modify(|store| store.was_read = true);
            return;
        }
        self.clear(address..address + u64::from(bytes));
        if let Some(location) = location.filter(|_| bytes <= STATE_BYTES) {
            self.too_many |= self.stores.len() == STORES_MAX;
            if !self.too_many {
                self.count += 1;
                self.stores.insert(address, Store { location, number: self.count, was_read: false });
            }
        }
    }

    /// Forgets the states in a part of memory.
    pub fn clear(&mut self, range: Range<u64>) {
        while let Some((address, _)) = self.stores.range(range.clone()).next() {
            let address = *address;
            self.stores.remove(&address);
        }
    }

    /// The stores by their addresses, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Store)> + '_ {
        self.stores.iter().map(|(address, store)| (*address, *store))
    }

    /// Whether there is none that says anything.
    pub fn is_empty(&self) -> bool {
        self.stores.is_empty() || self.too_many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u32) -> Option<Location> {
        Some(Location { function: 0, offset })
    }

    /// A store counts until its address is read, written by another store, or freed.
    #[test]
    fn stores_are_kept_while_they_are_the_last_access() {
        let mut states = States::default();
        assert!(states.is_empty());
        states.access(100, 1, true, at(1));
        states.access(200, 1, true, at(2));
        states.access(300, 2, true, at(3));
        states.access(400, 1, true, at(4));
        // A number of four bytes, a store without a place, a read, and a block that is freed.
        states.access(98, 4, true, at(5));
        states.access(400, 1, true, None);
        states.access(200, 1, false, at(6));
        states.clear(290..310);
        let kept: Vec<_> = states.stores.iter().map(|(at, store)| (*at, store.was_read)).collect();
        assert_eq!(kept, [(200, true)]);
        states.access(200, 1, true, at(7));
        assert!(!states.stores[&200].was_read && states.stores[&200].number > 4);
    }
}
