//! Counts by the name of what is counted. They are no part of the state: nothing depends on them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Counts of one name.
pub trait Count: Copy + Default + AddAssign {
    /// Whether what is counted happened at least once, of all the times when it could have.
    fn happened(self) -> bool;
}

/// Counts by name, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByName<C>(BTreeMap<String, C>);

impl<C: Count> ByName<C> {
    /// The counts of a name, to be changed.
    pub fn count(&mut self, name: &str) -> &mut C {
        if !self.0.contains_key(name) {
            self.0.insert(name.into(), C::default());
        }
        self.0.get_mut(name).expect("it is there by now")
    }

    /// The counts of a name; zeros if it was not counted.
    pub fn get(&self, name: &str) -> C {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// The counts of all names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, C)> {
        self.0.iter().map(|(name, count)| (&**name, *count))
    }

    /// The counts of all names, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut C)> {
        self.0.iter_mut().map(|(name, count)| (&**name, count))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the counts of other executions.
    pub fn merge(&mut self, other: &ByName<C>) {
        other.iter().for_each(|(name, count)| *self.count(name) += count);
    }

    /// The counts of names that others do not have, or that happened although they did not in others.
    #[must_use]
    pub fn missing_in(&self, others: &ByName<C>) -> ByName<C> {
        let news = |name: &str, count: C| {
            others.0.get(name).is_none_or(|known| count.happened() && !known.happened())
        };
        let missing = self.iter().filter(|(name, count)| news(name, *count));
        ByName(missing.map(|(name, count)| (name.into(), count)).collect())
    }
}
