//! Annotations of GitHub Actions in addition to another report: an error for each bug, at the line of the guest's
//! source to which it is attributed, and a warning for each test without a verdict.
//!
//! A workflow command is a line `::error file=F,line=L,title=T::MESSAGE`. Percent signs and line ends are escaped in
//! it, and in properties also their separators (`escapeData` and `escapeProperty` of GitHub's own toolkit,
//! `packages/core/src/command.ts`).

use super::Renderer;
use super::repository::Folder;
use crate::report::model::{BugReport, IgnoredTest, RunHeader, RunReport, TestReport};
use crate::symbols::SourceFrame;
use crate::verdict::Verdict;
use std::io::{self, Write};

/// See the module's documentation.
pub struct Github {
    report: Box<dyn Renderer>,
    folder: Folder,
}

impl Github {
    /// Annotations follow the output of `report`. Paths of the report are relative to `folder`.
    pub fn beside(report: Box<dyn Renderer>, folder: Folder) -> Github {
        Github { report, folder }
    }
}

impl Renderer for Github {
    fn run_started(&mut self, out: &mut dyn Write, run: &RunHeader) -> io::Result<()> {
        self.report.run_started(out, run)
    }

    fn test_started(&mut self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        self.report.test_started(out, name)
    }

    fn test_ignored(&mut self, out: &mut dyn Write, test: &IgnoredTest) -> io::Result<()> {
        self.report.test_ignored(out, test)
    }

    fn test_broken(&mut self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        self.report.test_broken(out, name)
    }

    fn test_finished(&mut self, out: &mut dyn Write, test: &TestReport) -> io::Result<()> {
        self.report.test_finished(out, test)
    }

    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        self.report.run_finished(out, run)?;
        let lines = run.tests.iter().flat_map(|test| annotations(test, &self.folder));
        lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

/// The workflow commands of a test.
fn annotations(test: &TestReport, folder: &Folder) -> Vec<String> {
    let bugs = test.bugs.iter().map(|bug| {
        let message = format!("{}\n{}", bug.message, bug.replay_command);
        let (level, title) = match bug.is_limit() {
            true => ("warning", format!("no verdict on test {}", test.name)),
            false => ("error", format!("{} in test {}", bug.kind.name(), test.name)),
        };
        command(level, bug.place.as_ref().map(|place| (place, folder)), &title, &message)
    });
    let before = test.other_bugs_before().map(|bug| {
        let title = format!("{} in test {}", bug.kind, test.name);
        command("error", None, &title, &format!("{}\ntrace: {}", bug.message, bug.trace.display()))
    });
    let without_verdict = match &test.verdict {
        Verdict::Inconclusive { what, .. } => Some(what.clone()),
        Verdict::Limit(limits) if !test.bugs.iter().any(BugReport::is_limit) => Some(limits.join("; ")),
        _ => None,
    };
    let title = format!("no verdict on test {}", test.name);
    bugs.chain(before).chain(without_verdict.map(|what| command("warning", None, &title, &what))).collect()
}

fn command(level: &str, place: Option<(&SourceFrame, &Folder)>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    if let Some((SourceFrame { file: Some(file), line: Some(line), .. }, folder)) = place {
        properties.push(format!("file={}", property(&folder.path(file))));
        properties.push(format!("line={line}"));
    }
    properties.push(format!("title={}", property(title)));
    format!("::{level} {}::{}", properties.join(","), data(message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_part_is_escaped() {
        let place =
            SourceFrame { function: "f".into(), file: Some("a,b:c%.rs".into()), line: Some(7), column: None };
        assert_eq!(
            command(
                "error",
                Some((&place, &Folder::default())),
                "panic in test a::b, c",
                "100% of a, b::c\r\nand\nmore"
            ),
            "::error file=a%2Cb%3Ac%25.rs,line=7,title=panic in test a%3A%3Ab%2C c\
             ::100%25 of a, b::c%0D%0Aand%0Amore"
        );
        let nowhere = SourceFrame { file: None, ..place };
        assert_eq!(
            command("warning", Some((&nowhere, &Folder::default())), "t", "m"),
            "::warning title=t::m"
        );
    }
}
