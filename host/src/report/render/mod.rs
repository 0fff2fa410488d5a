//! The report of a run in several formats, one file each. A renderer knows the [model](super::model) and nothing of
//! what lies below it.
//!
//! - [`text`]: for reading.
//! - [`libtest`]: as Rust's test harness, in lines or in letters.
//! - [`json`], [`junit`], [`sarif`]: for programs, at the end of the run; [`markdown`]: for summaries.
//! - [`github`]: another report, and annotations of GitHub Actions.
//! - [`page`], [`perfetto`]: a bug as a file, see [`BUG_FILES`]; `step_index`: its steps by their numbers.
//! - `correlation`: what goes along with bugs. `sweep`: a sweep of faults, as a table.
//! - [`style`]: colours and links on terminals.
//! - [`bug`], [`explanation`], [`log`]: what the first two say of a bug; `story`: what happened.

pub mod bug;
mod bugs;
mod correlation;
pub mod explanation;
pub mod github;
pub mod json;
pub mod junit;
pub mod libtest;
pub mod log;
pub mod markdown;
pub mod page;
pub mod perfetto;
pub mod sarif;
mod step_index;
mod story;
pub mod style;
mod sweep;
pub mod text;

use super::model::{BugReport, IgnoredTest, RunHeader, RunReport, TestReport};
use crate::plural::counted;
use std::io::{self, Write};
use style::Styles;

/// Reports a run while it goes on. The methods are called in the order in which they stand here, those about a test
/// for one test after the other; each writes what is due by then.
pub trait Renderer {
    fn run_started(&mut self, _out: &mut dyn Write, _run: &RunHeader) -> io::Result<()> {
        Ok(())
    }

    fn test_started(&mut self, _out: &mut dyn Write, _name: &str) -> io::Result<()> {
        Ok(())
    }

    /// The test that was started is not run.
    fn test_ignored(&mut self, _out: &mut dyn Write, _test: &IgnoredTest) -> io::Result<()> {
        Ok(())
    }

    fn test_finished(&mut self, _out: &mut dyn Write, _test: &TestReport) -> io::Result<()> {
        Ok(())
    }

    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()>;
}

/// What a renderer has to know beside the report.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderOptions {
    /// The module is a test binary of cargo.
    pub harness: bool,
    /// Show the whole log of a failing iteration.
    pub verbose: bool,
    /// Show all statistics of a test.
    pub stats: bool,
    /// Show what passing tests print in their first iteration.
    pub nocapture: bool,
    /// Columns of the terminal, if there is one.
    pub width: Option<usize>,
    pub styles: Styles,
}

/// A format.
pub struct RendererEntry {
    pub name: &'static str,
    /// Another name.
    pub alias: Option<&'static str>,
    /// For the help text and the documentation.
    pub doc: &'static str,
    /// Whether its readers are programs, which want nothing else on the terminal.
    pub for_programs: bool,
    pub make: fn(&RenderOptions) -> Box<dyn Renderer>,
}

/// All formats. The command line and the documentation read this table.
pub static RENDERERS: &[RendererEntry] = &[
    RendererEntry {
        name: "text",
        alias: Some("pretty"),
        doc: "For reading; libtest for a test binary of cargo",
        for_programs: false,
        make: |options| match options.harness {
            true => Box::new(libtest::Libtest::lines(*options)),
            false => Box::new(text::Text::new(*options)),
        },
    },
    RendererEntry {
        name: "terse",
        alias: None,
        doc: "As text; one character for each test of a test binary of cargo",
        for_programs: false,
        make: |options| match options.harness {
            true => Box::new(libtest::Libtest::letters(*options)),
            false => Box::new(text::Text::new(*options)),
        },
    },
    RendererEntry {
        name: "libtest",
        alias: None,
        doc: "One line for each test, as Rust's test harness prints them",
        for_programs: false,
        make: |options| Box::new(libtest::Libtest::lines(*options)),
    },
    RendererEntry {
        name: "json",
        alias: None,
        doc: "One JSON document at the end",
        for_programs: true,
        make: |_| Box::new(json::Json),
    },
    RendererEntry {
        name: "junit",
        alias: None,
        doc: "One JUnit XML document at the end; --junit FILE writes it beside another format",
        for_programs: true,
        make: |_| Box::new(junit::Junit),
    },
    RendererEntry {
        name: "sarif",
        alias: None,
        doc: "One SARIF 2.1.0 document at the end; --sarif FILE writes it beside another format",
        for_programs: true,
        make: |_| Box::new(sarif::Sarif),
    },
    RendererEntry {
        name: "markdown",
        alias: None,
        doc: "A summary in Markdown at the end",
        for_programs: true,
        make: |_| Box::new(markdown::Markdown),
    },
    RendererEntry {
        name: "github",
        alias: None,
        doc: "As text, an annotation of GitHub Actions for each bug, and the summary of the step",
        for_programs: false,
        make: |options| Box::new(github::Github::beside((RENDERERS[0].make)(options))),
    },
];

/// The format of a name or of its other name.
pub fn by_name(name: &str) -> Option<&'static RendererEntry> {
    RENDERERS.iter().find(|entry| entry.name == name || entry.alias == Some(name))
}

/// A form in which one bug is written into a file.
pub struct BugFileEntry {
    pub name: &'static str,
    /// Of the file beside the trace.
    pub extension: &'static str,
    /// The file of a bug of a test of a module; `None` if its steps are not known.
    pub make: fn(module: &str, test: &str, bug: &BugReport) -> Option<Vec<u8>>,
}

/// All of them; each is an option of that name.
pub static BUG_FILES: &[BugFileEntry] = &[
    BugFileEntry {
        name: "page",
        extension: "html",
        make: |module, test, bug| page::page(module, test, bug).map(String::into_bytes),
    },
    BugFileEntry { name: "perfetto", extension: "pftrace", make: |_, test, bug| perfetto::trace(test, bug) },
];

/// Renderers, each with what it writes to.
pub struct Outputs(pub Vec<(Box<dyn Renderer>, Box<dyn Write>)>);

impl Outputs {
    /// Lets all of them do something, and passes on what they have written.
    ///
    /// # Errors
    /// Something cannot be written.
    pub fn each(
        &mut self,
        mut act: impl FnMut(&mut dyn Renderer, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        for (renderer, out) in &mut self.0 {
            act(&mut **renderer, &mut **out)?;
            out.flush()?;
        }
        Ok(())
    }
}

/// The first line of a run for readers.
fn headline(run: &RunHeader) -> String {
    let mut bounds = Vec::new();
    if run.iterations_max != u64::MAX {
        bounds.push(counted(run.iterations_max, "iteration"));
    }
    if let Some(timeout) = run.timeout {
        bounds.push(format!("{} s", timeout.as_secs_f64()));
    }
    let total = run.total_timeout.map(|t| format!("{} s for all", t.as_secs_f64()));
    let each = (!bounds.is_empty()).then(|| bounds.join(" or ") + " each");
    let bounds: Vec<String> = each.into_iter().chain(total).collect();
    // A sweep of faults ends by itself.
    let bounds = if bounds.is_empty() { String::new() } else { format!(", at most {}", bounds.join(", ")) };
    format!(
        ". Testing {}: {}, strategy {}, seed {}{bounds}",
        run.module,
        counted(run.tests as u64, "test"),
        run.strategy,
        run.seed,
    )
}

/// What an interruption left out.
fn not_run(tests: usize) -> String {
    match tests {
        0 => "Interrupted.".into(),
        n => format!("Interrupted: {} not run.", counted(n as u64, "test")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table that users read names all formats.
    #[test]
    fn the_documentation_has_every_format() {
        let row = |entry: &RendererEntry| {
            let alias = entry.alias.map_or(String::new(), |alias| format!(", `{alias}`"));
            format!("| `{}`{alias} | {} |\n", entry.name, entry.doc)
        };
        let table: String = RENDERERS.iter().map(row).collect();
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reports.md");
        let text = std::fs::read_to_string(path).expect("a document");
        assert!(text.contains(&format!("| `--format` | |\n|---|---|\n{table}\n")), "{table}");
    }
}
