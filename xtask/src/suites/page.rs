//! `docs/suites.md`: the results of suites, and why tests of them did not pass.

use super::results::Failure;
use super::{Cause, Results};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Cause {
    fn explains(&self, name: &str, failure: &Failure) -> bool {
        let full = format!("{name}::{}", failure.test);
        let matches = |pattern: &String| match pattern.split_once('*') {
            Some((before, after)) => {
                full.len() >= before.len() + after.len() && full.starts_with(before) && full.ends_with(after)
            }
            None => *pattern == full,
        };
        self.tests.iter().any(matches) && failure.message.starts_with(&self.message)
    }
}

/// The page.
pub fn page(results: &Results, causes: &[Cause]) -> Result<String> {
    let mut page = String::from("<!-- Made by `cargo xtask suites`. -->\n\n# Suites of published crates\n\n");
    write!(
        page,
        "Test suites as their crates publish them, sources unmodified, by\n\n    \
         cargo coyote test --unwind --no-fail-fast -- --timeout {} --seed 0\n\n\
         in the package's directory: so many seconds for each test that has anything to choose. Arguments beside a crate are its\n\
         own: `--like-miri` where its authors have fewer rounds for Miri. *explored* are the tests that had anything to choose;\n\
         *unfinished* those of them of which nothing is known, since executions did not come to an end; *not here* are tests that the\n\
         crate leaves out on wasm, which the run says with their lines. The seconds of building (0 or 1 where that was done before)\n\
         and of testing are those of two cores that others used as well.\n\n",
        results.timeout
    )?;
    page += "| crate | passed | failed | no verdict | ignored | not here | explored | unfinished | build | tests |\n";
    page += "|---|---|---|---|---|---|---|---|---|---|\n";
    for (name, row) in &results.rows {
        let arguments: String = row.arguments.iter().map(|argument| format!(" `{argument}`")).collect();
        write!(page, "| {name} {}{arguments} | ", row.version)?;
        match &row.not_run {
            Some(why) => writeln!(page, "not run: {} | | | | | | | {} | |", cell(why), row.building)?,
            None => writeln!(
                page,
                "{}{} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.passed,
                match row.missing {
                    0 => String::new(),
                    missing => format!(" ({missing} binaries without a result)"),
                },
                row.failed,
                row.no_verdict,
                row.ignored,
                row.not_here,
                row.explored,
                row.unfinished,
                row.building,
                row.seconds
            )?,
        }
    }
    page += "\nWhy tests failed, or nothing is known of them:\n\n| tests | why |\n|---|---|\n";
    let mut explained: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, row) in &results.rows {
        for failure in &row.failures {
            let cause = causes.iter().find(|cause| cause.explains(name, failure));
            let why = cause.map_or(failure.message.as_str(), |cause| &cause.why);
            explained.entry(why).or_default().push(format!("{name}: `{}`", failure.test));
        }
    }
    for (why, tests) in explained {
        writeln!(page, "| {} | {} |", tests.join(", "), cell(why))?;
    }
    Ok(page)
}

/// Tests that did not pass and have no explanation among the causes.
pub fn unexplained(results: &Results, causes: &[Cause]) -> Vec<String> {
    let mut names = Vec::new();
    for (name, row) in &results.rows {
        for failure in row.failures.iter().filter(|f| !causes.iter().any(|cause| cause.explains(name, f))) {
            names.push(format!("{name}::{} ({}): {}", failure.test, failure.verdict, failure.message));
        }
    }
    names
}

/// Escapes a text for a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_names_tests_and_how_they_fail() {
        let failure = |test: &str, message: &str| Failure {
            test: test.into(),
            verdict: "bug".into(),
            message: message.into(),
        };
        let cause = Cause {
            tests: vec!["once_cell::sync*stress".into()],
            message: "panic".into(),
            why: String::new(),
        };
        assert!(cause.explains("once_cell", &failure("sync::init_stress", "panic: no")));
        assert!(!cause.explains("once_cell", &failure("sync::init_stress", "deadlock: no")));
        assert!(!cause.explains("other", &failure("sync::init_stress", "panic: no")));
    }
}
