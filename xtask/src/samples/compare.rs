//! `cargo xtask samples --strategies A,B`: iterations until each strategy finds the mistakes of samples, with the options of
//! examples/expected.json and `--points sync`, under which most steps are messages. Prints a table, and writes nothing.

use super::{Sample, in_parallel};
use anyhow::Result;

/// How strategies are compared.
pub struct Comparison<'a> {
    pub strategies: &'a [String],
    /// Seeds, from 0.
    pub seeds: u64,
    /// Iterations after which a seed gives up.
    pub iterations: u64,
}

impl Comparison<'_> {
    pub fn print_header(&self) {
        println!("| test | {} |", self.strategies.join(" | "));
        println!("|---|{}", "---|".repeat(self.strategies.len()));
    }

    /// Prints the row of a sample: the median, and how many seeds have found it if not all have.
    pub fn print_row(&self, sample: &Sample<'_>) -> Result<()> {
        let cells: Vec<String> =
            self.strategies.iter().map(|s| self.cell(sample, s)).collect::<Result<_>>()?;
        println!("| `{}`: `{}` | {} |", sample.module, sample.test, cells.join(" | "));
        Ok(())
    }

    fn cell(&self, sample: &Sample<'_>, strategy: &str) -> Result<String> {
        let iterations = self.iterations.to_string();
        let expected = sample.expected_options()?;
        let others =
            expected.iter().map(String::as_str).filter(|option| !["--points", "sync"].contains(option));
        let mut options = vec!["-i", &iterations, "-s", strategy, "--points", "sync", "--no-shrink"];
        options.extend(["--no-experiments"].into_iter().chain(others));
        let mut found = in_parallel(self.seeds, |seed| {
            let test = sample.explored(sample.test, seed, &options)?;
            Ok(test["bugs"][0]["iteration"].as_u64().unwrap_or(self.iterations))
        })?;
        found.sort();
        let median = found[found.len() / 2];
        let times = found.iter().filter(|iteration| **iteration < self.iterations).count();
        Ok(match (median < self.iterations, times as u64 == self.seeds) {
            (true, true) => format!("{median}"),
            (true, false) => format!("{median} ({times} of {})", self.seeds),
            (false, _) => format!("more than {} ({times} of {})", self.iterations, self.seeds),
        })
    }
}
