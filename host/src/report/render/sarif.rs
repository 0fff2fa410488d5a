//! SARIF 2.1.0, for code hosts and editors: a result for each bug, at the line of the guest's source to which it is
//! attributed.
//!
//! The story is a code flow with a thread flow for each worker; `executionOrder` gives their common order. The bug's
//! identity is its fingerprint. A test without a verdict is no result but a notification.

use super::Renderer;
use super::repository::Folder;
use crate::module_name;
use crate::report::model::{BugReport, RunReport, TestReport};
use crate::results::{KnownBug, Story, StoryRow};
use crate::symbols::SourceFrame;
use crate::verdict::Verdict;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// See the module's documentation. Holds the folder that paths of the report are relative to.
pub struct Sarif(pub Folder);

impl Renderer for Sarif {
    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        writeln!(out, "{}", serde_json::to_string_pretty(&document(run, &self.0))?)
    }
}

fn document(run: &RunReport, folder: &Folder) -> Value {
    let bugs = || run.tests.iter().flat_map(|test| test.bugs.iter().map(move |bug| (test, bug)));
    let found = || bugs().filter(|(_, bug)| !bug.is_limit());
    let before = || run.tests.iter().flat_map(|test| test.other_bugs_before().map(move |bug| (test, bug)));
    let now = found().map(|(_, bug)| bug.kind.name());
    let kinds: BTreeSet<&str> = now.chain(before().map(|(_, bug)| bug.kind.as_str())).collect();
    let rule = |kind: &&str| json!({ "id": kind, "shortDescription": message(&kind.replace('-', " ")) });
    let results = found().map(|(test, bug)| result(test, bug, folder));
    let results = results.chain(before().map(|(test, bug)| result_before(test, bug)));
    let notifications: Vec<Value> = run.tests.iter().flat_map(notifications).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "coyote-wasm",
                "semanticVersion": run.header.version,
                "rules": kinds.iter().map(rule).collect::<Vec<_>>(),
            }},
            // Code hosts distinguish the reports of several modules by this id.
            "automationDetails": { "id": format!("coyote-wasm/{}/", module_name::stable(Path::new(&run.header.module))) },
            "invocations": [{
                "executionSuccessful": run.not_run.is_none(),
                "exitCode": run.exit as u8,
                "toolExecutionNotifications": notifications,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn result(test: &TestReport, bug: &BugReport, folder: &Folder) -> Value {
    let why = bug.story.as_ref().and_then(|story| story.why.as_ref());
    let why = why.map_or(String::new(), |why| format!("\n{why}"));
    let text = format!(
        "{} in test {}: {}{why}\nReplay: {}",
        bug.kind.name(),
        test.name,
        bug.message,
        bug.replay_command
    );
    let mut result = json!({
        "ruleId": bug.kind.name(),
        "level": "error",
        "message": message(&text),
        "locations": bug.place.iter().filter_map(|frame| location(frame, None, folder)).collect::<Vec<_>>(),
        "partialFingerprints": { "coyoteBug/v1": bug.identity },
        "occurrenceCount": bug.count.max(1),
        "properties": { "test": test.name, "trace": bug.trace, "replay": bug.replay_command },
    });
    if let Some(flow) = bug.story.as_ref().and_then(|story| code_flow(story, folder)) {
        result["codeFlows"] = json!([flow]);
    }
    result
}

/// The result for a bug of an earlier run, of which only this is known.
fn result_before(test: &TestReport, bug: &KnownBug) -> Value {
    let text = format!("{} in test {}: {}\nTrace: {}", bug.kind, test.name, bug.message, bug.trace.display());
    json!({
        "ruleId": bug.kind,
        "level": "error",
        "message": message(&text),
        "properties": { "test": test.name, "trace": bug.trace },
    })
}

/// A code flow with a thread flow for each worker that has a row. Rows without a line of a file are left out.
fn code_flow(story: &Story, folder: &Folder) -> Option<Value> {
    let step = |order: usize, row: &StoryRow| {
        let location = location(row.place.as_ref()?, Some(&row.text), folder)?;
        let importance = if row.decisive { "essential" } else { "important" };
        // SARIF counts from 1.
        Some(json!({ "location": location, "executionOrder": order + 1, "importance": importance }))
    };
    let flow = |(index, worker): (usize, &crate::results::StoryWorker)| {
        let rows = story.rows.iter().enumerate().filter(|(_, row)| row.worker == index);
        let steps: Vec<Value> = rows.filter_map(|(order, row)| step(order, row)).collect();
        (!steps.is_empty()).then(|| json!({ "id": worker.title, "locations": steps }))
    };
    let flows: Vec<Value> = story.workers.iter().enumerate().filter_map(flow).collect();
    (!flows.is_empty()).then(|| json!({ "threadFlows": flows }))
}

/// The reasons why a test has no verdict.
fn notifications(test: &TestReport) -> Vec<Value> {
    let reasons = match &test.verdict {
        Verdict::Inconclusive { what, .. } => vec![what.clone()],
        Verdict::Limit(limits) => limits.clone(),
        _ => Vec::new(),
    };
    let notification = |why| json!({ "level": "warning", "message": message(&format!("no verdict on test {}: {why}", test.name)) });
    reasons.into_iter().map(notification).collect()
}

/// The place of a frame; `None` if no line is known.
fn location(frame: &SourceFrame, text: Option<&str>, folder: &Folder) -> Option<Value> {
    let (file, line) = (frame.file.as_deref()?, frame.line?);
    let mut region = json!({ "startLine": line });
    if let Some(column) = frame.column {
        region["startColumn"] = column.into();
    }
    let physical = json!({ "artifactLocation": { "uri": uri(&folder.path(file)) }, "region": region });
    let function = json!([{ "fullyQualifiedName": frame.function, "kind": "function" }]);
    let mut location = json!({ "physicalLocation": physical, "logicalLocations": function });
    if let Some(text) = text {
        location["message"] = message(text);
    }
    Some(location)
}

fn message(text: &str) -> Value {
    json!({ "text": text })
}

/// A path as a reference: relative to the repository's root, or with a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::from(if Path::new(path).is_absolute() { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_become_references() {
        assert_eq!(super::uri("src/a b#c:d.rs"), "src/a%20b%23c%3Ad.rs");
        assert_eq!(super::uri("/home/me/é.c"), "file:///home/me/%C3%A9.c");
    }
}
