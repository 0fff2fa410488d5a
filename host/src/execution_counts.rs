//! How often instructions were executed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often execution came to counted instructions, by their offsets in the original module; none to those that are not
/// in it. Parts add up in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionCounts(pub BTreeMap<u32, u64>);

impl ExecutionCounts {
    /// Counts an instruction that was executed so many times more.
    pub fn add(&mut self, offset: u32, times: u64) {
        let known = self.0.entry(offset).or_default();
        *known = known.saturating_add(times);
    }

    /// Adds what others executed.
    pub fn merge(&mut self, other: &ExecutionCounts) {
        other.0.iter().for_each(|(offset, times)| self.add(*offset, *times));
    }
}
