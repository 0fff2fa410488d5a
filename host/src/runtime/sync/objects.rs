//! Sync objects by address.
//!
//! An object that is in its initial state has no entry. So static initialisers work, a freed object
//! leaves nothing behind, and equal states have equal tables.

/// A sync object's state.
pub trait Object: Default + PartialEq + Clone {}

/// A table sorted by address: small, and iterated in one order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Objects<T> {
    entries: Vec<(u32, T)>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects { entries: Vec::new() }
    }
}

impl<T: Object> Objects<T> {
    pub fn get(&self, address: u32) -> Option<&T> {
        self.entries.binary_search_by_key(&address, |e| e.0).ok().map(|i| &self.entries[i].1)
    }

    /// Changes the object at an address and forgets it if it is in its initial state afterwards.
    pub fn update<R>(&mut self, address: u32, change: impl FnOnce(&mut T) -> R) -> R {
        match self.entries.binary_search_by_key(&address, |e| e.0) {
            Ok(i) => {
                let result = change(&mut self.entries[i].1);
                if self.entries[i].1 == T::default() {
                    self.entries.remove(i);
                }
                result
            }
            Err(i) => {
                let mut object = T::default();
                let result = change(&mut object);
                if object != T::default() {
                    self.entries.insert(i, (address, object));
                }
                result
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.entries.iter().map(|(a, t)| (*a, t))
    }
}
