//! What iterations with a bug have in common that others have not: lines of the source, and data that was chosen.
//!
//! Lines are those with scheduling points, of the guest's own source. A line's rank is that of Ochiai (Meyer and others
//! 2004, for spectra of programs Abreu and others 2006): failing iterations that came there, by the geometric mean of all
//! failing ones and of all that came there. It names what goes along with the bug and is no proof of a cause.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one iteration came by, and the data that it chose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Scheduling points, by the numbers of the site table, and how often each was executed.
    pub sites: BTreeMap<u32, u64>,
    /// Data in the order in which it was chosen: the site, and the value, from 0.
    pub data: Vec<(u32, u64)>,
}

/// A line of the guest's own source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourceLine {
    /// As debug information names it.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// Iterations, and how many of them came to which line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// All of them.
    pub iterations: u64,
    /// Those that came there.
    #[serde(with = "pairs")]
    pub lines: BTreeMap<SourceLine, u64>,
}

/// Data that iterations chose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Configuration(pub Vec<(SourceLine, u64)>);

/// Iterations with a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Those with a bug.
    pub failing: u64,
    /// Those with a bug, and those that passed.
    pub of: u64,
}

/// See the module's documentation. Iterations that were cut off or given up do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correlation {
    /// Of iterations without a bug.
    pub passing: Lines,
    /// Of iterations with a bug, by its [`BugIdentity::short`](super::BugIdentity::short).
    pub failing: BTreeMap<String, Lines>,
    /// Iterations by the data that they chose; at most [`CONFIGURATIONS_MAX`] different ones.
    #[serde(with = "pairs")]
    pub configurations: BTreeMap<Configuration, Outcomes>,
    /// Iterations with others.
    pub left_out: u64,
}

/// Different data that is kept.
pub const CONFIGURATIONS_MAX: usize = 100_000;

/// A line that goes along with a bug.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suspect {
    /// Which one.
    #[serde(flatten)]
    pub at: SourceLine,
    /// Iterations with the bug that came there, of all with the bug.
    pub failing: u64,
    /// See [`Suspect::failing`].
    pub of_failing: u64,
    /// Iterations without a bug that came there, of all without one.
    pub passing: u64,
    /// See [`Suspect::passing`].
    pub of_passing: u64,
    /// From 0 to 1.
    pub rank: f64,
}

impl Correlation {
    /// Counts an iteration, by the lines that it came to. `bug`: the short identity of its bug.
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

    /// Takes over what others came to.
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

    /// Lines that more of the iterations with this bug came to than of those without one, the highest rank first; of
    /// equal ones by their places.
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

    /// Data with which some iteration failed, the smallest first: by its sum, then by its values in order.
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

/// Maps as lists of pairs, since JSON has no keys but strings.
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

    /// Lines and data of iterations, the first ones with the bug.
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
        // Line 1 is met by all. Line 3 by as many of both.
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
