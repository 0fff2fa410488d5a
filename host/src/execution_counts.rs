//! How often instructions were executed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often execution reached the counted instructions, by their offsets in the original module; none for instructions
/// that it does not contain. Counts of parts can be added in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionCounts(pub BTreeMap<u32, u64>);

impl ExecutionCounts {
    /// Adds `times` executions of an instruction.
    pub fn add(&mut self, offset: u32, times: u64) {
        let known = self.0.entry(offset).or_default();
        *known = known.saturating_add(times);
    }

    /// Adds the counts of other executions.
    pub fn merge(&mut self, other: &ExecutionCounts) {
        other.0.iter().for_each(|(offset, times)| self.add(*offset, *times));
    }
}
