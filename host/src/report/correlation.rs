//! What goes along with bugs, as it is reported: lines of the source, and data that was chosen.

use crate::results::{Configuration, Correlation, SourceLine, Suspect};
use crate::symbols::Symbols;
use serde::Serialize;

/// Lines of a bug that are reported, and failing configurations of a test.
const SUSPECTS_MAX: usize = 20;
const CONFIGURATIONS_MAX: usize = 1_000;

/// Data with which some iteration had a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataReport {
    /// The smallest first.
    pub failing: Vec<FailingData>,
    /// How many more there are.
    pub more: u64,
    /// Different data of all iterations.
    pub of: u64,
    /// Iterations whose data was not counted, since there was too much of it.
    pub left_out: u64,
}

/// What an iteration chose, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailingData {
    /// In the order of choosing.
    pub values: Vec<ChosenValue>,
    /// Iterations with a bug, and all that chose this.
    pub failing: u64,
    /// See [`FailingData::failing`].
    pub of: u64,
}

/// A value, and where it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChosenValue {
    #[serde(flatten)]
    pub at: SourceLine,
    /// From 0, which stands for the lowest one.
    pub value: u64,
}

/// The data of a test; `None` if it chose none, or none with which it failed.
pub fn data(correlation: &Correlation, symbols: &Symbols) -> Option<DataReport> {
    let all = correlation.failing_data();
    if all.is_empty() {
        return None;
    }
    let values = |data: &Configuration| {
        let values =
            data.0.iter().map(|(at, value)| ChosenValue { at: shown(at.clone(), symbols), value: *value });
        values.collect()
    };
    let failing = all.iter().take(CONFIGURATIONS_MAX).map(|(data, outcomes)| FailingData {
        values: values(data),
        failing: outcomes.failing,
        of: outcomes.of,
    });
    Some(DataReport {
        failing: failing.collect(),
        more: all.len().saturating_sub(CONFIGURATIONS_MAX) as u64,
        of: correlation.configurations.len() as u64,
        left_out: correlation.left_out,
    })
}

/// The lines that go along with a bug.
pub fn suspects(correlation: &Correlation, bug: &str, symbols: &Symbols) -> Vec<Suspect> {
    let suspects = correlation.suspects(bug).into_iter().take(SUSPECTS_MAX);
    suspects.map(|suspect| Suspect { at: shown(suspect.at, symbols), ..suspect }).collect()
}

/// With the path as all of the report has it.
fn shown(at: SourceLine, symbols: &Symbols) -> SourceLine {
    SourceLine { file: symbols.shown(&at.file), ..at }
}
