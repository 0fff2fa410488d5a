//! All bugs of a test, for readers.

use super::bug::{details, headline};
use super::{RenderOptions, correlation, explanation, log};
use crate::plural::counted;
use crate::report::model::TestReport;
use crate::results::REGRESSION;
use std::fmt::Write;

/// All bugs of a test. `explore`: whether exploration goes on after bugs. Includes the whole logs if the options
/// request them.
pub fn descriptions(test: &TestReport, explore: bool, options: &RenderOptions) -> String {
    let mut text = String::new();
    for bug in &test.bugs {
        let _ = writeln!(text, "{}", headline(&test.name, bug, options.styles));
        text += &details(bug, options.width, options.styles);
        text += &explanation::lines(bug);
        let regression = bug.found_by.as_ref().filter(|by| by.starts_with(REGRESSION));
        let by = bug.found_by.as_ref().map_or(String::new(), |by| format!(" ({by})"));
        let what = if test.search.is_some() { "execution" } else { "iteration" };
        let choices = counted(bug.steps as u64, "choice");
        let _ = match regression {
            Some(regression) => writeln!(text, "  found by {regression}, {choices}"),
            None => writeln!(text, "  found in {what} {}{by}, {choices}", bug.iteration),
        };
        if explore {
            let _ = writeln!(text, "  in {} of all {what}s", bug.count);
            text += &correlation::suspects(&bug.suspects);
        }
        let _ = writeln!(text, "  trace:  {}", bug.trace);
        if let Some(log) = &bug.log {
            let _ = writeln!(text, "  log:    {log} (--verbose prints it)");
        }
        for (name, path) in &bug.files {
            let _ = writeln!(text, "  {:<7} {path}", format!("{name}:"));
        }
        let _ = writeln!(text, "  replay: {}", bug.replay_command);
        if options.verbose {
            text += &log::log(&test.name, bug);
        }
    }
    text
}
