//! Selection of the tests to run or to list.

use super::libtest_args::HarnessArgs;
use crate::artifact::Artifact;
use crate::execution::{Settings, Test};
use crate::libtest;
use anyhow::{Context as _, Result, bail};
use globset::{Glob, GlobMatcher};
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

/// The values of `--test`: names or globs.
struct Patterns(Vec<(String, GlobMatcher)>);

impl Patterns {
    /// # Errors
    /// One is no glob.
    fn new(patterns: &[String]) -> Result<Patterns> {
        let compiled = patterns.iter().map(|pattern| {
            let glob = Glob::new(pattern).with_context(|| format!("--test {pattern}"))?;
            Ok((pattern.clone(), glob.compile_matcher()))
        });
        Ok(Patterns(compiled.collect::<Result<_>>()?))
    }

    /// Whether one of them matches the name of a test, or there are none.
    fn match_name(&self, test: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| matches(pattern, test))
    }

    /// The first one that matches none of these tests.
    fn without_match(&self, tests: &[impl AsRef<str>]) -> Option<&str> {
        let alone =
            |pattern: &&(String, GlobMatcher)| !tests.iter().any(|test| matches(pattern, test.as_ref()));
        self.0.iter().find(alone).map(|(pattern, _)| pattern.as_str())
    }
}

/// A name may have characters that mean something else in a glob.
fn matches((pattern, glob): &(String, GlobMatcher), test: &str) -> bool {
    pattern == test || glob.is_match(test)
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
        let (all, shown) = (Test::all(&self.artifact.table), self.module.display());
        if all.is_empty() {
            bail!(
                "{shown} has no test: export a function with COYOTE_TEST or #[coyote::test], or build a program with \
                 _start"
            );
        }
        let patterns = Patterns::new(self.patterns)?;
        let names: Vec<&str> = all.iter().map(|test| test.name.as_str()).collect();
        if let Some(pattern) = patterns.without_match(&names) {
            bail!("--test {pattern}: {shown} has no such test; it has {}", names.join(", "));
        }
        let named: Vec<Test> = all.into_iter().filter(|test| patterns.match_name(&test.name)).collect();
        let count = named.len();
        let selected = named.into_iter().filter(|test| self.harness.selects(&test.name));
        let tests: Vec<_> = selected.map(|test| ToRun { test, ignored: None }).collect();
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
        let all: Vec<String> = match harness.selects_all() {
            true => listed.iter().map(|test| test.name.clone()).collect(),
            false => self.all()?,
        };
        let patterns = Patterns::new(patterns)?;
        if let Some(pattern) = patterns.without_match(&all).filter(|_| !self.may_be_empty) {
            bail!("--test {pattern}: there is no such test; --list shows all");
        }
        listed.retain(|test| patterns.match_name(&test.name));
        let filtered_out = all.len() - listed.len();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_a_glob() {
        let patterns =
            |given: &[&str]| Patterns::new(&given.iter().map(|p| p.to_string()).collect::<Vec<_>>());
        let twice = patterns(&["a[1]", "a[1]"]).unwrap();
        assert_eq!(twice.without_match(&["a[1]", "b"]), None);
        assert!(twice.match_name("a[1]") && twice.match_name("a1") && !twice.match_name("b"));
        assert_eq!(patterns(&["b", "c*"]).unwrap().without_match(&["a", "b"]), Some("c*"));
        assert!(patterns(&[]).unwrap().match_name("a") && patterns(&["["]).is_err());
    }
}
