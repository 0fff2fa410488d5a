//! Correlation with bugs, for reports: lines of the source, and chosen data.

use crate::results::{Configuration, Correlation, SourceLine, Suspect};
use crate::symbols::Symbols;
use serde::Serialize;

/// The maximum number of reported lines of a bug, and of failing configurations of a test.
const SUSPECTS_MAX: usize = 20;
const CONFIGURATIONS_MAX: usize = 1_000;

/// The data with which some iteration had a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataReport {
    /// Failing data, the smallest first.
    pub failing: Vec<FailingData>,
    /// The number of further failing data.
    pub more: u64,
    /// The number of different data of all iterations.
    pub of: u64,
    /// The number of iterations whose data was not counted, since there was too much data.
    pub left_out: u64,
}

/// Chosen data, and how many iterations with it failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailingData {
    /// The values, in the order of choosing.
    pub values: Vec<ChosenValue>,
    /// The number of iterations with a bug, and of all iterations that chose this data.
    pub failing: u64,
    /// See [`FailingData::failing`].
    pub of: u64,
}

/// A chosen value, and where it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChosenValue {
    #[serde(flatten)]
    pub at: SourceLine,
    /// The value counted from 0, which represents the lowest one.
    pub value: u64,
}

/// The data of a test; `None` if no data was chosen, or the test failed with none.
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

/// The lines that correlate with a bug.
pub fn suspects(correlation: &Correlation, bug: &str, symbols: &Symbols) -> Vec<Suspect> {
    let suspects = correlation.suspects(bug).into_iter().take(SUSPECTS_MAX);
    suspects.map(|suspect| Suspect { at: shown(suspect.at, symbols), ..suspect }).collect()
}

/// The line with its path as in the rest of the report.
fn shown(at: SourceLine, symbols: &Symbols) -> SourceLine {
    SourceLine { file: symbols.shown(&at.file), ..at }
}
