//! The report of a run in several formats, one file each. A renderer only depends on the [model](super::model), not on
//! the modules below it.
//!
//! - [`text`]: for readers.
//! - [`libtest`]: in the format of Rust's test harness, in lines or in letters.
//! - [`json`], [`junit`], [`sarif`]: for programs, at the end of the run; [`markdown`]: for summaries.
//! - [`github`]: another report, with annotations of GitHub Actions.
//! - [`page`], [`perfetto`]: a bug as a file, see [`BUG_FILES`]; `step_index`: indices of its steps by their numbers.
//! - `correlation`: lines and data that correlate with bugs. `sweep`: a sweep of faults, as a table.
//! - [`repository`]: paths as code hosts know them.
//! - [`style`]: colours and links on terminals.
//! - [`bug`], [`explanation`], [`log`]: the parts about a bug for [`text`] and [`libtest`]; `story`: what happened.

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
pub mod repository;
pub mod sarif;
mod step_index;
mod story;
pub mod style;
mod sweep;
pub mod text;

use super::model::{BugReport, IgnoredTest, RunHeader, RunReport, TestReport};
use crate::plural::counted;
use repository::Folder;
use std::io::{self, Write};
use style::Styles;

/// Reports a run during its execution. The methods are called in the order of their declaration, those about a test for
/// one test after the other. Each writes what can be written at that time.
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

    /// The test that was started has no result, because of an internal error.
    fn test_broken(&mut self, _out: &mut dyn Write, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn test_finished(&mut self, _out: &mut dyn Write, _test: &TestReport) -> io::Result<()> {
        Ok(())
    }

    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()>;
}

/// What a renderer needs in addition to the report.
#[derive(Clone, Debug, Default)]
pub struct RenderOptions {
    /// Whether the module is a test binary of cargo.
    pub harness: bool,
    /// Whether to show the whole log of a failing iteration.
    pub verbose: bool,
    /// Whether to show all statistics of a test.
    pub stats: bool,
    /// Whether to show the output of passing tests in their first iteration.
    pub nocapture: bool,
    /// The terminal's number of columns, if there is a terminal.
    pub width: Option<usize>,
    pub styles: Styles,
    /// The current directory in the repository, for code hosts.
    pub folder: Folder,
}

/// A format.
pub struct RendererEntry {
    pub name: &'static str,
    /// An alternative name.
    pub alias: Option<&'static str>,
    /// A description, for the help text and the documentation.
    pub doc: &'static str,
    /// Whether it is read by programs, which want nothing else on the terminal.
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
            true => Box::new(libtest::Libtest::lines(options.clone())),
            false => Box::new(text::Text::new(options.clone())),
        },
    },
    RendererEntry {
        name: "terse",
        alias: None,
        doc: "As text; one character for each test of a test binary of cargo",
        for_programs: false,
        make: |options| match options.harness {
            true => Box::new(libtest::Libtest::letters(options.clone())),
            false => Box::new(text::Text::new(options.clone())),
        },
    },
    RendererEntry {
        name: "libtest",
        alias: None,
        doc: "One line for each test, as Rust's test harness prints them",
        for_programs: false,
        make: |options| Box::new(libtest::Libtest::lines(options.clone())),
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
        make: |options| Box::new(sarif::Sarif(options.folder.clone())),
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
        make: |options| {
            Box::new(github::Github::beside((RENDERERS[0].make)(options), options.folder.clone()))
        },
    },
];

/// The format with this name or alternative name.
pub fn by_name(name: &str) -> Option<&'static RendererEntry> {
    RENDERERS.iter().find(|entry| entry.name == name || entry.alias == Some(name))
}

/// A form of files that each show one bug.
pub struct BugFileEntry {
    pub name: &'static str,
    /// The extension of the file beside the trace.
    pub extension: &'static str,
    /// Creates the file for a bug of a test of a module; `None` if its steps are not known.
    pub make: fn(module: &str, test: &str, bug: &BugReport) -> Option<Vec<u8>>,
}

/// All forms; each is also the name of an option.
pub static BUG_FILES: &[BugFileEntry] = &[
    BugFileEntry {
        name: "page",
        extension: "html",
        make: |module, test, bug| page::page(module, test, bug).map(String::into_bytes),
    },
    BugFileEntry { name: "perfetto", extension: "pftrace", make: |_, test, bug| perfetto::trace(test, bug) },
];

/// Renderers, each with its output.
pub struct Outputs(pub Vec<(Box<dyn Renderer>, Box<dyn Write>)>);

impl Outputs {
    /// Calls a function for each renderer, and flushes its output.
    ///
    /// # Errors
    /// An output cannot be written.
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

/// The first line of a run's report for readers.
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

/// The text about tests that were not run because of an interruption.
fn not_run(tests: usize) -> String {
    match tests {
        0 => "Interrupted.".into(),
        n => format!("Interrupted: {} not run.", counted(n as u64, "test")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table in the documentation lists all formats.
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
