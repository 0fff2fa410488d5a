//! The results of a suite, from the output of `coyote-wasm test --format json` for each test binary.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A suite's row.
#[derive(Default, Deserialize, Serialize)]
pub struct Row {
    pub version: String,
    /// Arguments of `cargo coyote test`, besides those that all suites have.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Tests in which no bug was found.
    pub passed: usize,
    pub failed: usize,
    /// Tests without a verdict because of a limit of the tool.
    pub no_verdict: usize,
    pub ignored: usize,
    /// Tests in the sources that do not exist on the target.
    pub not_here: u64,
    /// How many of the tests that passed or failed had a choice.
    pub explored: usize,
    /// How many of these had no execution that ended, or were inconclusive.
    pub unfinished: usize,
    /// Test binaries that printed a result.
    #[serde(default)]
    pub binaries: usize,
    /// Test binaries that printed none.
    #[serde(default)]
    pub missing: usize,
    /// Seconds of building, including std if no suite before it needed it.
    #[serde(default)]
    pub building: u64,
    /// Seconds of the tests, including instrumenting and compiling them.
    pub seconds: u64,
    /// Why no test was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    pub failures: Vec<Failure>,
}

/// A test that did not pass.
#[derive(Deserialize, Serialize)]
pub struct Failure {
    pub test: String,
    pub verdict: String,
    pub message: String,
}

impl Row {
    /// Adds the tests of a binary.
    pub fn add(&mut self, run: &Value) {
        let list = |name: &str| run[name].as_array().into_iter().flatten();
        for test in list("tests") {
            let verdict = test["verdict"].as_str().unwrap_or_default();
            self.explored += usize::from(verdict != "nothing tested" && verdict != "limit");
            match verdict {
                "bug" => self.failed += 1,
                "limit" => self.no_verdict += 1,
                "inconclusive" => self.unfinished += 1,
                _ => self.passed += 1,
            }
            if ["bug", "limit", "inconclusive"].contains(&verdict) {
                self.failures.push(Failure {
                    test: test["name"].as_str().unwrap_or_default().into(),
                    verdict: verdict.into(),
                    message: message(test),
                });
            }
        }
        self.ignored += list("ignored").count();
        let left_out = run["not_on_target"]["left_out"].as_array().into_iter().flatten();
        self.not_here += left_out.filter_map(|part| part["tests"].as_u64()).sum::<u64>();
    }

    /// The line that is printed after the suite.
    pub fn line(&self, name: &str) -> String {
        let Row { passed, failed, no_verdict, explored, unfinished, building, seconds, missing, .. } = self;
        match &self.not_run {
            Some(why) => format!("{name}: not run: {why}"),
            None => format!(
                "{name}: {passed} passed, {failed} failed, {no_verdict} without a verdict, {explored} explored, \
                 {unfinished} unfinished, {missing} binaries without a result, {building} and {seconds} s"
            ),
        }
    }
}

/// Why a test did not pass, in one line.
fn message(test: &Value) -> String {
    let text = |value: &Value| value.as_str().map(str::to_string);
    let bug = &test["bugs"][0];
    let said = match text(&bug["message"]) {
        Some(message) => format!("{}: {message}", bug["kind"].as_str().unwrap_or_default()),
        None => {
            let notes = test["notes"].as_array().into_iter().flatten().filter_map(text);
            let inconclusive = notes.into_iter().find(|note| note.starts_with("Inconclusive"));
            inconclusive
                .or_else(|| text(&test["reason"]))
                .or_else(|| text(&test["limits"][0]))
                .unwrap_or_default()
        }
    };
    said.lines().next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tests_are_counted_by_their_verdicts() {
        let run = json!({
            "tests": [
                {"name": "a", "verdict": "not found", "bugs": []},
                {"name": "b", "verdict": "nothing tested", "bugs": []},
                {"name": "c", "verdict": "inconclusive", "bugs": []},
                {"name": "d", "verdict": "limit", "bugs": []},
                {"name": "e", "verdict": "bug", "bugs": [{"kind": "panic", "message": "no\nmore"}]},
            ],
            "ignored": [{"name": "f"}],
            "not_on_target": {"tests": 9, "left_out": [{"tests": 2}, {"tests": 1}]},
        });
        let mut row = Row::default();
        row.add(&run);
        row.add(&json!({"tests": [{"name": "g", "verdict": "proved"}]}));
        let counts = (row.passed, row.failed, row.no_verdict, row.ignored, row.not_here);
        assert_eq!(counts, (3, 1, 1, 1, 3));
        assert_eq!((row.explored, row.unfinished), (4, 1));
        let failures: Vec<&str> = row.failures.iter().map(|failure| failure.test.as_str()).collect();
        assert_eq!(failures, ["c", "d", "e"]);
        assert_eq!(row.failures[2].message, "panic: no");
    }
}
