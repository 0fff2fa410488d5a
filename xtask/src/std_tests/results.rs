//! The outcome of a test, from the output of `coyote-wasm test --format json`.

use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt;

pub struct Outcome {
    /// The test's name, preceded by its group: `sync::mutex::smoke`.
    pub test: String,
    pub end: End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// No bug was found in a number of iterations, some of which ended.
    Explored {
        iterations: u64,
        ended: u64,
        workers: u64,
    },
    /// No execution had a choice, mostly because there is only one worker.
    OneWorker,
    /// The harness did not run it.
    Ignored(String),
    /// No iteration ended within the bound on steps.
    TooLong,
    Bug(String),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Explored { iterations, ended, workers } => {
                write!(f, "passed: {iterations} iterations, {ended} to their end, up to {workers} workers")
            }
            End::OneWorker => f.write_str("passed: one worker"),
            End::Ignored(reason) => write!(f, "ignored: {reason}"),
            End::TooLong => f.write_str("no end within the bound on steps"),
            End::Bug(bug) => f.write_str(bug),
        }
    }
}

/// The tests of a group, sorted by name.
///
/// # Errors
/// A field is missing from the result.
pub fn read(group: &str, run: &Value) -> Result<Vec<Outcome>> {
    let list = |name: &str| run[name].as_array().into_iter().flatten();
    let named = |test: &Value| -> Result<String> {
        Ok(format!("{group}::{}", test["name"].as_str().context("a test has a name")?))
    };
    let mut outcomes = Vec::new();
    for test in list("tests") {
        outcomes.push(Outcome { test: named(test)?, end: end(test)? });
    }
    for test in list("ignored") {
        let reason = match test["reason"].as_str() {
            None | Some("") => "std marks it to be ignored",
            Some(reason) => reason,
        };
        outcomes.push(Outcome { test: named(test)?, end: End::Ignored(reason.into()) });
    }
    outcomes.sort_by(|a, b| a.test.cmp(&b.test));
    Ok(outcomes)
}

fn end(test: &Value) -> Result<End> {
    if let Some(bug) = test["bugs"].get(0) {
        let text = |name: &str| bug[name].as_str().unwrap_or_default();
        return Ok(End::Bug(format!("{}: {}", text("kind"), text("message"))));
    }
    if test["verdict"] == "nothing tested" {
        return Ok(End::OneWorker);
    }
    let statistics = &test["statistics"];
    let sum = |name: &str| -> Result<u64> {
        let of = |kind: &str| statistics[kind][name].as_u64().context("a test has statistics");
        Ok(of("fair")? + of("unfair")?)
    };
    let iterations = sum("explored")?;
    let ended = iterations - sum("hit_max_steps")? - sum("abandoned")?;
    let workers = statistics["workers"]["max"].as_u64().context("a test has workers")?;
    Ok(if ended == 0 { End::TooLong } else { End::Explored { iterations, ended, workers } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ends_are_read() {
        let kind =
            |explored: u64, hit: u64| json!({"explored": explored, "hit_max_steps": hit, "abandoned": 0});
        let explored = |hit: u64| json!({"fair": kind(7, hit), "unfair": kind(3, 3), "workers": {"max": 2}});
        let run = json!({
            "tests": [
                {"name": "d", "verdict": "inconclusive", "bugs": [], "statistics": explored(1)},
                {"name": "c", "verdict": "inconclusive", "bugs": [], "statistics": explored(7)},
                {"name": "b", "verdict": "nothing tested", "bugs": []},
                {"name": "a", "verdict": "bug", "bugs": [{"kind": "panic", "message": "no (a.rs:1:1)"}]},
            ],
            "ignored": [{"name": "e", "reason": ""}, {"name": "f", "reason": "flaky"}],
        });
        let read = read("sync", &run).unwrap();
        let ends: Vec<(&str, &End)> = read.iter().map(|o| (o.test.as_str(), &o.end)).collect();
        assert_eq!(
            ends,
            [
                ("sync::a", &End::Bug("panic: no (a.rs:1:1)".into())),
                ("sync::b", &End::OneWorker),
                ("sync::c", &End::TooLong),
                ("sync::d", &End::Explored { iterations: 10, ended: 6, workers: 2 }),
                ("sync::e", &End::Ignored("std marks it to be ignored".into())),
                ("sync::f", &End::Ignored("flaky".into())),
            ]
        );
    }
}
