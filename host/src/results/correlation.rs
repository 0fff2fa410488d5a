//! What iterations with a bug have in common and others have not: lines of the source, and chosen data.
//!
//! Lines are those of the guest's own source with scheduling points. A line's rank is that of Ochiai (Meyer and others
//! 2004, for spectra of programs Abreu and others 2006): the number of failing iterations that reached it, divided by
//! the geometric mean of the number of all failing iterations and the number of all iterations that reached it. The
//! rank indicates a correlation with the bug, and is no proof of a cause.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The lines that an iteration reached, and the data that it chose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Scheduling points, by their indices in the site table, and how often each was executed.
    pub sites: BTreeMap<u32, u64>,
    /// Data in the order in which it was chosen: the site, and the value counted from 0.
    pub data: Vec<(u32, u64)>,
}

/// A line of the guest's own source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file's path in the debug information.
    pub file: String,
    /// The line's number, from 1.
    pub line: u32,
}

/// A number of iterations, and how many of them reached each line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// The number of iterations.
    pub iterations: u64,
    /// The number of iterations that reached each line.
    #[serde(with = "pairs")]
    pub lines: BTreeMap<SourceLine, u64>,
}

/// The data that an iteration chose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Configuration(pub Vec<(SourceLine, u64)>);

/// The results of iterations with a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// The number of iterations with a bug.
    pub failing: u64,
    /// The number of iterations with a bug or that passed.
    pub of: u64,
}

/// See the module's documentation. Iterations that were cut off or given up are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correlation {
    /// Lines of iterations without a bug.
    pub passing: Lines,
    /// Lines of iterations with a bug, by its [`BugIdentity::short`](super::BugIdentity::short).
    pub failing: BTreeMap<String, Lines>,
    /// Iterations by the data that they chose; at most [`CONFIGURATIONS_MAX`] different ones.
    #[serde(with = "pairs")]
    pub configurations: BTreeMap<Configuration, Outcomes>,
    /// The number of iterations with other data.
    pub left_out: u64,
}

/// The maximum number of different data that is kept.
pub const CONFIGURATIONS_MAX: usize = 100_000;

/// A line that correlates with a bug.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suspect {
    /// The line.
    #[serde(flatten)]
    pub at: SourceLine,
    /// The number of iterations with the bug that reached the line, and of all iterations with the bug.
    pub failing: u64,
    /// See [`Suspect::failing`].
    pub of_failing: u64,
    /// The number of iterations without a bug that reached the line, and of all iterations without one.
    pub passing: u64,
    /// See [`Suspect::passing`].
    pub of_passing: u64,
    /// The rank, from 0 to 1.
    pub rank: f64,
}

impl Correlation {
    /// Counts an iteration, by the lines that it reached. `bug`: the short identity of its bug.
    pub fn count(
        &mut self,
        bug: Option<String>,
        lines: impl Iterator<Item = SourceLine>,
        data: Configuration,
    ) {
        let failed = bug.is_some();
        match bug {
            Some(bug) => self.failing.entry(bug).or_default().count(lines),
            None => self.passing.count(lines),
        }
        if data.0.is_empty() {
            return;
        }
        if self.configurations.len() == CONFIGURATIONS_MAX && !self.configurations.contains_key(&data) {
            self.left_out += 1;
            return;
        }
        let outcomes = self.configurations.entry(data).or_default();
        outcomes.of += 1;
        outcomes.failing += u64::from(failed);
    }

    /// Adds the counts of other iterations.
    pub fn merge(&mut self, other: Correlation) {
        self.passing.merge(other.passing);
        for (bug, lines) in other.failing {
            self.failing.entry(bug).or_default().merge(lines);
        }
        for (data, outcomes) in other.configurations {
            let known = self.configurations.entry(data).or_default();
            known.failing += outcomes.failing;
            known.of += outcomes.of;
        }
        self.left_out += other.left_out;
    }

    /// Lines that a larger share of iterations with this bug reached than of iterations without one, the highest rank
    /// first; lines of equal rank are ordered by their places.
    pub fn suspects(&self, bug: &str) -> Vec<Suspect> {
        let Some(failing) = self.failing.get(bug) else { return Vec::new() };
        let suspect = |(at, count): (&SourceLine, &u64)| {
            let passing = self.passing.lines.get(at).copied().unwrap_or(0);
            let came = (*count + passing) as f64;
            Suspect {
                at: at.clone(),
                failing: *count,
                of_failing: failing.iterations,
                passing,
                of_passing: self.passing.iterations,
                rank: *count as f64 / (failing.iterations as f64 * came).sqrt(),
            }
        };
        let more_often =
            |suspect: &Suspect| suspect.failing * suspect.of_passing > suspect.passing * suspect.of_failing;
        let mut suspects: Vec<Suspect> = failing.lines.iter().map(suspect).filter(more_often).collect();
        suspects.sort_by(|a, b| b.rank.total_cmp(&a.rank).then_with(|| a.at.cmp(&b.at)));
        suspects
    }

    /// Data with which some iteration failed, the smallest first: by the sum of its values, then by its values in
    /// order.
    pub fn failing_data(&self) -> Vec<(&Configuration, Outcomes)> {
        let failing = self.configurations.iter().filter(|(_, outcomes)| outcomes.failing > 0);
        let mut failing: Vec<_> = failing.map(|(data, outcomes)| (data, *outcomes)).collect();
        let values = |data: &Configuration| data.0.iter().map(|(_, value)| *value).collect::<Vec<u64>>();
        failing.sort_by_cached_key(|(data, _)| {
            let values = values(data);
            (values.iter().map(|value| u128::from(*value)).sum::<u128>(), values)
        });
        failing
    }
}

impl Lines {
    fn count(&mut self, lines: impl Iterator<Item = SourceLine>) {
        self.iterations += 1;
        lines.for_each(|line| *self.lines.entry(line).or_default() += 1);
    }

    fn merge(&mut self, other: Lines) {
        self.iterations += other.iterations;
        for (line, count) in other.lines {
            *self.lines.entry(line).or_default() += count;
        }
    }
}

/// Serialises maps as lists of pairs, since JSON only has strings as keys.
mod pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32) -> SourceLine {
        SourceLine { file: "a.c".into(), line }
    }

    /// The lines and data of iterations, of which the first ones have the bug.
    fn correlation(failing: &[(&[u32], u64)], passing: &[(&[u32], u64)]) -> Correlation {
        let mut correlation = Correlation::default();
        let bugs = failing.iter().map(|iteration| (Some("b"), iteration));
        for (bug, (lines, value)) in bugs.chain(passing.iter().map(|iteration| (None, iteration))) {
            let data = Configuration(vec![(at(1), *value)]);
            correlation.count(bug.map(String::from), lines.iter().map(|line| at(*line)), data);
        }
        correlation
    }

    #[test]
    fn lines_of_failing_iterations_alone_come_first() {
        let found = correlation(&[(&[1, 2, 3], 0), (&[1, 2], 0)], &[(&[1, 3], 0), (&[1, 2], 1)]);
        let suspects = found.suspects("b");
        // All iterations reach line 1. Equally many of both kinds reach line 3.
        let lines: Vec<u32> = suspects.iter().map(|suspect| suspect.at.line).collect();
        assert_eq!(lines, [2]);
        let Suspect { failing, of_failing, passing, of_passing, rank, .. } = suspects[0];
        assert_eq!((failing, of_failing, passing, of_passing), (2, 2, 1, 2));
        assert!((rank - 2.0 / 6f64.sqrt()).abs() < 1e-12, "{rank}");
        assert!(found.suspects("another").is_empty());
    }

    #[test]
    fn parts_add_up() {
        let failing: [(&[u32], u64); 2] = [(&[1, 2], 3), (&[2], 1)];
        let passing: [(&[u32], u64); 2] = [(&[1], 3), (&[1, 3], 2)];
        let mut sum = correlation(&failing[..1], &passing[..1]);
        sum.merge(correlation(&failing[1..], &passing[1..]));
        assert_eq!(sum, correlation(&failing, &passing));
        let text = serde_json::to_string(&sum).unwrap();
        assert_eq!(serde_json::from_str::<Correlation>(&text).unwrap(), sum);
    }

    #[test]
    fn failing_data_is_listed_smallest_first() {
        let found = correlation(&[(&[], 3), (&[], 1), (&[], 3)], &[(&[], 3), (&[], 0)]);
        let listed: Vec<(u64, u64, u64)> = found
            .failing_data()
            .into_iter()
            .map(|(data, outcomes)| (data.0[0].1, outcomes.failing, outcomes.of))
            .collect();
        assert_eq!(listed, [(1, 1, 1), (3, 2, 3)]);
    }
}
