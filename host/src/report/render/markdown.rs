//! The run in Markdown, for GitHub's step summaries and comments: a table of tests, and the story of each bug.
//!
//! Texts of the guest must not be interpreted as markup: they are in blocks of code, whose fences are longer than any
//! fence in the text, or escaped.

use super::style::Styles;
use super::{Renderer, explanation, story, sweep};
use crate::report::model::{BugReport, RunReport, TestReport};
use std::fmt::Write as _;
use std::io::{self, Write};

/// See the module's documentation.
pub struct Markdown;

/// Columns of a story on GitHub's page.
const WIDTH: usize = 110;

impl Renderer for Markdown {
    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        out.write_all(document(run).as_bytes())
    }
}

fn document(run: &RunReport) -> String {
    let mut text = format!("### coyote-wasm: {}\n\n", escaped(&run.header.module));
    text += "| test | verdict | explored |\n|---|---|---|\n";
    for test in &run.tests {
        let (name, verdict) = (escaped(&test.name), test.verdict.name());
        let verdict = if test.is_interrupted() { format!("{verdict}, interrupted") } else { verdict.into() };
        let _ = writeln!(text, "| {name} | {verdict} | {} |", escaped(&test.extent));
    }
    for test in &run.ignored {
        let _ = writeln!(text, "| {} | ignored | {} |", escaped(&test.name), escaped(&test.reason));
    }
    if let Some(tests) = run.not_run {
        let _ = writeln!(text, "\n{}", super::not_run(tests));
    }
    for test in &run.tests {
        if let Some(swept) = &test.sweep {
            let _ = write!(text, "\n{}: {}", escaped(&test.name), escaped(&sweep::summary(swept)));
            text += "\n\n| fault | at | opportunities | tried | failed | bugs |\n|---|---|---|---|---|---|\n";
            for site in &swept.sites {
                let cells = [&site.fault, &site.place, &site.opportunities.to_string()].map(|c| escaped(c));
                let bugs = escaped(&sweep::bugs_of(site, &test.bugs));
                let cells = cells.join(" | ");
                let _ =
                    writeln!(text, "| {cells} | {} | {} | {bugs} |", sweep::tried(site), site.swept.failed);
            }
        }
        test.bugs.iter().for_each(|bug| text += &of_bug(test, bug));
        for note in &test.notes {
            let _ = writeln!(text, "\n{}: {}", escaped(&test.name), escaped(&note.to_string()));
        }
    }
    text
}

fn of_bug(test: &TestReport, bug: &BugReport) -> String {
    let what = if bug.is_limit() { "no verdict on" } else { bug.kind.name() };
    let joint = if bug.is_limit() { "" } else { " in" };
    let mut text =
        format!("\n#### {what}{joint} test {}\n\n{}", escaped(&test.name), fenced("text", &bug.message));
    if let Some(story) = &bug.story {
        if let Some(why) = &story.why {
            let _ = writeln!(text, "\n**why**: {}", escaped(why));
        }
        if !story.rows.is_empty() {
            let _ =
                write!(text, "\n{}", fenced("text", &story::story(story, Some(WIDTH), Styles::default())));
        }
        for line in &story.structure {
            let _ = writeln!(text, "\n{}", escaped(line));
        }
    }
    let facts: Vec<String> = explanation::facts(bug)
        .into_iter()
        .map(|(name, fact)| format!("- **{name}**: {}", escaped(&fact.replace('\n', ", "))))
        .collect();
    if !facts.is_empty() {
        let _ = writeln!(text, "\n{}", facts.join("\n"));
    }
    let _ = write!(text, "\n{}", fenced("sh", &bug.replay_command));
    text
}

/// A block of code with a fence that the text does not contain.
fn fenced(language: &str, text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Escapes a text for a line, or for a cell of a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped += "&lt;",
            '&' => escaped += "&amp;",
            // Names in backticks remain code; other characters would be markup.
            '\\' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => escaped.extend(['\\', character]),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_markup() {
        assert_eq!(escaped("a|b <i> [x](y) `c`\nd"), "a\\|b &lt;i> \\[x\\](y) `c` d");
        assert_eq!(fenced("text", "a\n```\n## b"), "````text\na\n```\n## b\n````\n");
    }
}
