//! Counts of how often a fault could happen in an execution, and how often it did.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The hash of a name.
pub fn hash(name: &str) -> u32 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes()) as u32
}

/// Counts by the name of a class, or of a fault point, such as `point.NAME`. Not part of the state: nothing
/// depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultCounts(BTreeMap<String, FaultCount>);

/// Counts of one class or fault point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCount {
    /// Number of times that a worker reached the place of the fault.
    pub seen: u64,
    /// Number of those times that were opportunities: there was a budget, of which something may have been
    /// left.
    pub opportunities: u64,
    pub faults: u64,
}

impl FaultCounts {
    /// Counts an arrival.
    pub fn see(&mut self, name: &str) {
        match self.0.get_mut(name) {
            Some(count) => count.seen += 1,
            None => _ = self.0.insert(name.into(), FaultCount { seen: 1, ..FaultCount::default() }),
        }
    }

    /// Adds what became known about an arrival that was counted before, by the [`hash`] of its name.
    pub fn add(&mut self, name: u32, opportunity: bool, fault: bool) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| hash(known) == name) {
            count.opportunities += u64::from(opportunity);
            count.faults += u64::from(fault);
        }
    }

    /// Adds the counts of another execution.
    pub fn merge(&mut self, other: &FaultCounts) {
        for (name, count) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            sum.seen += count.seen;
            sum.opportunities += count.opportunities;
            sum.faults += count.faults;
        }
    }

    /// The counts of places that no worker reached in others, or of faults that did not happen in others.
    pub fn missing_in(&self, others: &FaultCounts) -> FaultCounts {
        let news = |name: &String, count: &FaultCount| {
            others.0.get(name).is_none_or(|known| known.faults == 0 && count.faults > 0)
        };
        let missing = self.0.iter().filter(|(name, count)| news(name, count));
        FaultCounts(missing.map(|(name, count)| (name.clone(), *count)).collect())
    }

    /// All counts, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, FaultCount)> {
        self.0.iter().map(|(name, count)| (&**name, *count))
    }

    /// Whether no worker reached the place of any fault.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
