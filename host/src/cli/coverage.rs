//! `--coverage`: the executed lines, as a tracefile of lcov.

use crate::artifact::Artifact;
use crate::coverage::lcov::lcov;
use crate::coverage::{Covered, instructions};
use crate::module_name;
use crate::results::{ExecutionCounts, TestResult};
use crate::symbols::Symbols;
use anyhow::{Context, Result, bail};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The file to be written, and the counts so far.
pub struct CoverageFile {
    path: PathBuf,
    file: File,
    executed: RefCell<ExecutionCounts>,
    /// Whether some test was resumed, so that earlier runs executed more.
    resumed: Cell<bool>,
}

/// The instructions of a module that must be counted.
pub fn counted(module: &Path, original: &[u8]) -> Result<Vec<u32>> {
    let symbols = Symbols::new(original);
    let counted = instructions(original, &symbols);
    if counted.is_empty() {
        let module = module.display();
        match symbols.has_lines() {
            true => bail!("--coverage: {module} has source lines of libraries only"),
            false => bail!(
                "--coverage: {module} has no line table: set debug = \"line-tables-only\" in the profile that built \
                 it (C: -g)"
            ),
        }
    }
    Ok(counted)
}

impl CoverageFile {
    /// Creates the file. An error is reported now, not after hours of exploration.
    pub fn create(path: &Path) -> Result<CoverageFile> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(CoverageFile { path: path.into(), file, executed: RefCell::default(), resumed: Cell::new(false) })
    }

    /// Adds the counts of the exploration of a test.
    pub fn add(&self, result: &TestResult) {
        if let Some(executed) = &result.executed {
            self.executed.borrow_mut().merge(executed);
        }
        let resumed = result.search.as_ref().is_some_and(|search| search.resumed.is_some());
        self.resumed.set(self.resumed.get() || resumed);
    }

    /// Writes the file, and returns a line that says how much was executed.
    pub fn write(&self, module: &Path, artifact: &Artifact, symbols: &Symbols) -> Result<String> {
        let covered = Covered::of(&artifact.table, symbols, &self.executed.borrow());
        let name = module_name::stem(module);
        let base = std::env::current_dir().unwrap_or_default();
        let text = lcov(&covered, &name, &base);
        let path = self.path.display();
        (&self.file).write_all(text.as_bytes()).with_context(|| format!("cannot write {path}"))?;
        let of = |(all, executed): (usize, usize), what| format!("{executed} of {all} {what}");
        let (lines, functions) = (of(covered.lines(), "lines"), of(covered.functions(), "functions"));
        let by = if self.resumed.get() { " by this run, without earlier ones" } else { "" };
        Ok(format!("{lines} and {functions} were executed{by}: {path}"))
    }
}
