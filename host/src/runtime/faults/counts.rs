//! Counts of how often a fault could happen in an execution, and how often it did.

use crate::runtime::by_name::{ByName, Count};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The hash of a name.
pub fn hash(name: &str) -> u32 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes()) as u32
}

/// Counts by the name of a class, or of a fault point, such as `point.NAME`.
pub type FaultCounts = ByName<FaultCount>;

/// Counts of one class or fault point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCount {
    /// Number of times that a worker reached the place of the fault.
    pub seen: u64,
    /// Number of those times that were opportunities: there was a budget, of which something may have been
    /// left.
    pub opportunities: u64,
    /// Number of faults.
    pub faults: u64,
}

impl AddAssign for FaultCount {
    fn add_assign(&mut self, other: FaultCount) {
        self.seen += other.seen;
        self.opportunities += other.opportunities;
        self.faults += other.faults;
    }
}

impl Count for FaultCount {
    fn happened(self) -> bool {
        self.faults > 0
    }
}

impl FaultCounts {
    /// Counts an arrival.
    pub fn see(&mut self, name: &str) {
        self.count(name).seen += 1;
    }

    /// Adds what became known about an arrival that was counted before, by the [`hash`] of its name.
    pub fn add(&mut self, name: u32, opportunity: bool, fault: bool) {
        if let Some((_, count)) = self.iter_mut().find(|(known, _)| hash(known) == name) {
            count.opportunities += u64::from(opportunity);
            count.faults += u64::from(fault);
        }
    }
}
