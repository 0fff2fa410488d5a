//! Selection of the tests to run or to list.

use super::libtest_args::HarnessArgs;
use super::load;
use crate::artifact::Artifact;
use crate::execution::{Settings, Test};
use crate::libtest;
use anyhow::{Result, bail};
use std::path::Path;
use std::sync::Arc;

/// A selected test, and why it is not run, if it is not.
pub struct ToRun {
    pub test: Test,
    pub ignored: Option<String>,
}

/// The selected tests.
pub struct Selected {
    pub tests: Vec<ToRun>,
    pub filtered_out: usize,
}

/// The options that select tests: `--test`, and those of Rust's test harness.
pub struct Selection<'a> {
    pub artifact: &'a Arc<Artifact>,
    pub module: &'a Path,
    pub settings: &'a Settings,
    /// Names or globs; all tests if there are none.
    pub patterns: &'a [String],
    pub harness: &'a HarnessArgs,
    /// Whether an empty selection is allowed.
    pub may_be_empty: bool,
}

impl Selection<'_> {
    /// The tests that are selected.
    ///
    /// # Errors
    /// No test is selected, or a given name matches none.
    pub fn tests(&self) -> Result<Selected> {
        if self.artifact.table.libtest {
            return self.of_harness();
        }
        let all = load::select(self.artifact, self.module, self.patterns)?;
        let count = all.len();
        let tests: Vec<_> = all
            .into_iter()
            .filter(|t| self.harness.selects(&t.name))
            .map(|test| ToRun { test, ignored: None })
            .collect();
        if tests.is_empty() && !self.may_be_empty {
            bail!("no test of {} is selected; --list shows its tests", self.module.display());
        }
        Ok(Selected { filtered_out: count - tests.len(), tests })
    }

    /// The names of all tests of the module, selected or not.
    ///
    /// # Errors
    /// The harness does not list its tests.
    pub fn all(&self) -> Result<Vec<String>> {
        all_names(self.artifact, self.settings)
    }

    /// The tests that the harness lists.
    fn of_harness(&self) -> Result<Selected> {
        let Selection { artifact, settings, patterns, harness, .. } = self;
        if harness.bench {
            bail!(
                "benchmarks measure nothing here, since time is virtual; without --bench they run as tests"
            );
        }
        let mut listed = libtest::list(artifact, settings, &harness.selection())?;
        let mut all = listed.len();
        if !harness.selects_all() {
            all = libtest::list(artifact, settings, &["--include-ignored".into()])?.len();
        }
        if !patterns.is_empty() {
            let mut matchers = Vec::new();
            for pattern in *patterns {
                matchers.push((pattern, globset::Glob::new(pattern)?.compile_matcher()));
            }
            listed.retain(|t| matchers.iter().any(|(name, glob)| t.name == **name || glob.is_match(&t.name)));
            if listed.is_empty() && !self.may_be_empty {
                bail!("--test {}: there is no such test; --list shows all", patterns.join(" --test "));
            }
        }
        let filtered_out = all - listed.len();
        let to_run = |t: libtest::Listed| ToRun { test: libtest::test(&t.name), ignored: t.ignored };
        Ok(Selected { tests: listed.into_iter().map(to_run).collect(), filtered_out })
    }

    /// The answer to `--list`, in one of two formats. Under Rust's test harness it is the harness's own answer, unless
    /// `plain`.
    ///
    /// # Errors
    /// As [`Selection::tests`].
    pub fn list(&self, terse: bool, plain: bool) -> Result<String> {
        if self.artifact.table.libtest && self.patterns.is_empty() && !plain {
            let mut arguments = self.harness.selection();
            arguments
                .extend(["--list", "--format", if terse { "terse" } else { "pretty" }].map(String::from));
            return libtest::ask(self.artifact, self.settings, &arguments);
        }
        let kind = if terse { ": test" } else { "" };
        Ok(self.tests()?.tests.iter().map(|t| format!("{}{kind}\n", t.test.name)).collect())
    }
}

/// The names of all tests of a module.
///
/// # Errors
/// The harness does not list its tests.
pub fn all_names(artifact: &Arc<Artifact>, settings: &Settings) -> Result<Vec<String>> {
    if !artifact.table.libtest {
        return Ok(Test::all(&artifact.table).into_iter().map(|test| test.name).collect());
    }
    let listed = libtest::list(artifact, settings, &["--include-ignored".into()])?;
    Ok(listed.into_iter().map(|test| test.name).collect())
}
