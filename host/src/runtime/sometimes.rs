//! Counts of conditions that a test expects to hold sometimes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts by the name of a condition. Not part of the state: nothing depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sometimes(BTreeMap<String, Evaluations>);

/// Counts of one condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluations {
    /// Number of evaluations.
    pub evaluated: u64,
    /// Number of evaluations for which the condition held.
    pub held: u64,
}

impl Sometimes {
    /// Counts an evaluation.
    pub fn count(&mut self, name: String, holds: bool) {
        let count = self.0.entry(name).or_default();
        count.evaluated += 1;
        count.held += u64::from(holds);
    }

    /// Adds the counts of other executions.
    pub fn merge(&mut self, other: &Sometimes) {
        for (name, count) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            sum.evaluated += count.evaluated;
            sum.held += count.held;
        }
    }

    /// The conditions that were never evaluated in others, or held although they did not in others.
    pub fn missing_in(&self, others: &Sometimes) -> Sometimes {
        let news = |name: &String, count: &Evaluations| {
            others.0.get(name).is_none_or(|known| known.held == 0 && count.held > 0)
        };
        let missing = self.0.iter().filter(|(name, count)| news(name, count));
        Sometimes(missing.map(|(name, count)| (name.clone(), *count)).collect())
    }

    /// The conditions that were evaluated and never held, with the number of their evaluations.
    pub fn never(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().filter(|(_, count)| count.held == 0).map(|(name, count)| (&**name, count.evaluated))
    }

    /// Whether no condition was evaluated.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
