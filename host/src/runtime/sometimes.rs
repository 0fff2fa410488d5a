//! Counts of conditions that a test expects to hold sometimes.

use super::by_name::{ByName, Count};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Counts by the name of a condition.
pub type Sometimes = ByName<Evaluations>;

/// Counts of one condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluations {
    /// Number of evaluations.
    pub evaluated: u64,
    /// Number of evaluations for which the condition held.
    pub held: u64,
}

impl Evaluations {
    /// Counts an evaluation.
    pub fn add(&mut self, holds: bool) {
        *self += Evaluations { evaluated: 1, held: u64::from(holds) };
    }
}

impl AddAssign for Evaluations {
    fn add_assign(&mut self, other: Evaluations) {
        self.evaluated += other.evaluated;
        self.held += other.held;
    }
}

impl Count for Evaluations {
    fn happened(self) -> bool {
        self.held > 0
    }
}

impl Sometimes {
    /// The conditions that were evaluated and never held, with the number of their evaluations.
    pub fn never(&self) -> impl Iterator<Item = (&str, u64)> {
        self.iter().filter(|(_, count)| !count.happened()).map(|(name, count)| (name, count.evaluated))
    }
}
