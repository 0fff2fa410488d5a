//! The tests that do not pass, and the reasons: `expected.json`.

use super::results::{End, Outcome};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

const FILE: &str = include_str!("expected.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    version: u32,
    /// An explanation for those who change the file.
    #[serde(rename = "about")]
    _about: Vec<String>,
    skipped: Vec<Skip>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skip {
    /// Names, each with at most one `*`.
    tests: Vec<String>,
    /// The beginning of the bug that the tests end with.
    bug: String,
    reason: String,
}

impl Expected {
    /// # Errors
    /// The file is damaged.
    pub fn read() -> Result<Expected> {
        let expected: Expected = serde_json::from_str(FILE).context("expected.json is damaged")?;
        ensure!(expected.version == 1, "expected.json has version {}", expected.version);
        Ok(expected)
    }

    /// Why a test counts as skipped, if it does.
    pub fn skipped<'a>(&'a self, outcome: &'a Outcome) -> Option<&'a str> {
        match &outcome.end {
            End::Ignored(reason) => Some(reason),
            End::Bug(bug) => {
                let skip = self.skip(&outcome.test).filter(|skip| bug.starts_with(&skip.bug));
                skip.map(|skip| skip.reason.as_str())
            }
            _ => None,
        }
    }

    /// The difference between a test's outcome and the expected one, if there is one.
    pub fn surprise(&self, outcome: &Outcome) -> Option<String> {
        let Outcome { test, end } = outcome;
        match (end, self.skip(test)) {
            (End::Bug(_) | End::Ignored(_), _) if self.skipped(outcome).is_some() => None,
            (End::Bug(bug), _) => Some(format!("{test} ends with a bug: {bug}")),
            (End::TooLong, _) => Some(format!("{test} does not come to an end within the bound on steps")),
            (_, Some(skip)) => Some(format!("{test} passes; this is no longer needed: {}", skip.reason)),
            (_, None) => None,
        }
    }

    /// Names that match no test, because std has another version.
    pub fn unused<'a>(&'a self, outcomes: &[Outcome]) -> Vec<&'a str> {
        let names = self.skipped.iter().flat_map(|skip| &skip.tests).map(String::as_str);
        names.filter(|name| !outcomes.iter().any(|o| matches(name, &o.test))).collect()
    }

    fn skip(&self, test: &str) -> Option<&Skip> {
        self.skipped.iter().find(|skip| skip.tests.iter().any(|name| matches(name, test)))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return pattern == name };
    name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_expected_is_told() {
        let skip = Skip { tests: vec!["g::mp*::f".into()], bug: "panic: b".into(), reason: "r".into() };
        let expected = Expected { version: 1, _about: Vec::new(), skipped: vec![skip] };
        let surprise = |test: &str, end| expected.surprise(&Outcome { test: test.into(), end });
        let bug = |text: &str| End::Bug(text.into());
        assert_eq!(surprise("g::mpsc::f", bug("panic: b (f.rs:1:1)")), None);
        assert_eq!(
            surprise("g::mpsc::f", bug("deadlock: d")).unwrap(),
            "g::mpsc::f ends with a bug: deadlock: d"
        );
        assert_eq!(
            surprise("g::mpsc::f", End::OneWorker).unwrap(),
            "g::mpsc::f passes; this is no longer needed: r"
        );
        assert_eq!(surprise("g::f", bug("panic: b")).unwrap(), "g::f ends with a bug: panic: b");
        assert_eq!(
            surprise("g::f", End::TooLong).unwrap(),
            "g::f does not come to an end within the bound on steps"
        );
        assert_eq!(surprise("g::f", End::OneWorker), None);
        let other = Outcome { test: "g::f".into(), end: End::OneWorker };
        assert_eq!(expected.unused(&[other]), ["g::mp*::f"]);
    }

    #[test]
    fn the_file_is_read() {
        Expected::read().unwrap();
    }
}
