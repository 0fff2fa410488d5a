//! Files that each show one bug: which ones are wanted, and where they are written.

use crate::report::model::BugReport;
use crate::report::render::{BUG_FILES, BugFileEntry};
use anyhow::{Context as _, Result};
use std::path::Path;

/// What `test` writes beside each trace.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct BesideTraces {
    /// Write each bug as a page for a browser, beside its trace
    #[arg(long)]
    pub page: bool,
    /// Write each bug as a trace for ui.perfetto.dev, beside its trace
    #[arg(long)]
    pub perfetto: bool,
}

impl BesideTraces {
    /// Whether all steps of a bug must be recorded.
    pub fn any(self) -> bool {
        self.wanted().next().is_some()
    }

    fn wanted(self) -> impl Iterator<Item = &'static BugFileEntry> {
        BUG_FILES.iter().filter(move |entry| match entry.name {
            "page" => self.page,
            "perfetto" => self.perfetto,
            _ => false,
        })
    }

    /// Writes the wanted files beside a trace.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(self, module: &Path, test: &str, bug: &mut BugReport, trace: &Path) -> Result<()> {
        for entry in self.wanted() {
            let path = trace.with_extension(entry.extension);
            if write(entry, module, test, bug, &path)? {
                bug.files.insert(entry.name, path.display().to_string());
            }
        }
        Ok(())
    }
}

/// Writes a bug into a file. Returns whether there was anything to write.
///
/// # Errors
/// The file cannot be written.
pub fn write(entry: &BugFileEntry, module: &Path, test: &str, bug: &BugReport, path: &Path) -> Result<bool> {
    let Some(content) = (entry.make)(&module.display().to_string(), test, bug) else { return Ok(false) };
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}
