//! `docs/std-tests.md`: the results in total, and the reasons for skipped tests.

use super::expected::Expected;
use super::results::{End, Outcome};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How the tests of one source file ended.
#[derive(Clone, Copy, Default)]
struct Totals {
    explored: usize,
    one_worker: usize,
    skipped: usize,
    other: usize,
}

impl Totals {
    fn all(&self) -> usize {
        self.explored + self.one_worker + self.skipped + self.other
    }

    fn add(&mut self, outcome: &Outcome, expected: &Expected) {
        *match outcome.end {
            End::Explored { .. } => &mut self.explored,
            End::OneWorker => &mut self.one_worker,
            _ if expected.skipped(outcome).is_some() => &mut self.skipped,
            _ => &mut self.other,
        } += 1;
    }
}

/// The page. `how`: the options with which the tests were run.
pub fn page(how: &str, outcomes: &[Outcome], expected: &Expected) -> Result<String> {
    let mut page = String::from(
        "<!-- Made by `cargo xtask std-tests`. -->\n\n# The tests of Rust's standard library\n\n",
    );
    page += how;
    let mut files: BTreeMap<&str, Totals> = BTreeMap::new();
    let mut total = Totals::default();
    for outcome in outcomes {
        files.entry(file(&outcome.test)).or_default().add(outcome, expected);
        total.add(outcome, expected);
    }
    page += "\n| tests | all | passed, explored | passed, one worker | skipped | failed |\n|---|---|---|---|---|---|\n";
    for (name, totals) in files.iter().chain([(&"in total", &total)]) {
        let Totals { explored, one_worker, skipped, other } = totals;
        writeln!(page, "| {name} | {} | {explored} | {one_worker} | {skipped} | {other} |", totals.all())?;
    }
    page += "\n## Skipped\n\n";
    for (reason, tests) in reasons(outcomes, expected) {
        let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
        writeln!(page, "- {reason}: {}", tests.join(", "))?;
    }
    Ok(page)
}

/// The file that a test is in: `sync::mutex` of `sync::mutex::smoke`, `time` of `time::since`.
fn file(test: &str) -> &str {
    let module = test.rsplit_once("::").map_or(test, |(module, _)| module);
    module.strip_suffix("::thread::tests").unwrap_or(module)
}

fn reasons<'a>(outcomes: &'a [Outcome], expected: &'a Expected) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for outcome in outcomes {
        if let Some(reason) = expected.skipped(outcome) {
            reasons.entry(reason).or_default().insert(&outcome.test);
        }
    }
    reasons
}
