//! `coyote-regressions/`: traces of found bugs, which every later run of their tests tries first.
//!
//! Traces are kept in the directory that `--regressions` names, which is created, or in `coyote-regressions` if that
//! exists. A tool that is run in many places, such as cargo's runner, must not leave files in a source tree without a
//! request; `mkdir coyote-regressions` is such a request, once for a project.
//!
//! Files are named `MODULE-TEST-IDENTITY.trace`, by the module without cargo's hash and the bug's identity, so that
//! each bug has one file. They are never deleted. A file is overwritten if its bug was found again in a changed module.

use crate::execution::Test;
use crate::explore::regressions::{Regression, Tried};
use crate::module_name;
use crate::plural::counted;
use crate::results::FoundBug;
use crate::trace::Trace;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The default directory.
const NAME: &str = "coyote-regressions";

/// Where traces are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regressions(PathBuf);

impl Regressions {
    /// The directory that `--regressions` gives, which is created, or none for `off`; without the option the default
    /// directory, if it exists.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn of(option: Option<&Path>) -> Result<Option<Regressions>> {
        match option {
            Some(path) if path.as_os_str() == "off" => Ok(None),
            Some(path) => {
                std::fs::create_dir_all(path).with_context(|| {
                    format!("--regressions: cannot create the directory {}", path.display())
                })?;
                Ok(Some(Regressions(path.to_owned())))
            }
            None => Ok(Path::new(NAME).is_dir().then(|| Regressions(NAME.into()))),
        }
    }

    /// The traces of a test, in the order of their names. Prints a note for each file that cannot be read.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn read(&self, module: &Path, test: &Test) -> Result<Vec<Regression>> {
        let mut regressions = Vec::new();
        for path in self.paths(&prefix(module, &test.name))? {
            match Trace::read(&path) {
                // The name of another test may have the same prefix.
                Ok(trace) if trace.header.test != test.name => {}
                Ok(trace) => regressions.push(Regression { path, trace }),
                Err(error) => {
                    eprintln!(
                        "note: regression {} cannot be read: {:#}",
                        path.display(),
                        anyhow::Error::from(error)
                    );
                }
            }
        }
        Ok(regressions)
    }

    /// Prints a note for each trace of the module whose test the module does not have: it was renamed or removed. `tests`
    /// returns the names of all its tests.
    ///
    /// # Errors
    /// The directory cannot be read, or those of `tests`.
    pub fn say_without_test(&self, module: &Path, tests: &dyn Fn() -> Result<Vec<String>>) -> Result<()> {
        let mut all = None;
        for path in self.paths(&format!("{}-", module_name::stable(module)))? {
            let Ok(trace) = Trace::read(&path) else { continue };
            let test = &trace.header.test;
            // The name of another module may have the same prefix.
            if !name(&path).starts_with(&prefix(module, test)) {
                continue;
            }
            if all.is_none() {
                all = Some(tests()?);
            }
            if all.iter().flatten().all(|name| name != test) {
                eprintln!("note: regression {} was not tried: there is no test {test}", path.display());
            }
        }
        Ok(())
    }

    /// The traces whose names begin like this, in the order of their names.
    fn paths(&self, prefix: &str) -> Result<Vec<PathBuf>> {
        let cannot = || format!("cannot read the directory {}", self.0.display());
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&self.0).with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            if name(&path).starts_with(prefix) && name(&path).ends_with(".trace") {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Keeps the trace of a bug.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn keep(&self, module: &Path, test: &Test, found: &FoundBug) -> Result<()> {
        let name = format!("{}{}.trace", prefix(module, &test.name), found.identity.short());
        let path = self.0.join(name);
        let known = Trace::read(&path).is_ok_and(|known| known.header.module == found.trace.header.module);
        if known || found.is_limit() {
            return Ok(());
        }
        found.trace.write(&path)?;
        eprintln!("note: the trace is kept as regression {}", path.display());
        Ok(())
    }
}

/// Prints the results: one line for each trace that fails, is obsolete or was not tried, and one for the rest.
pub fn say(regressions: &[Regression], tried: &[Tried]) {
    let mut passed = 0;
    for (regression, tried) in regressions.iter().zip(tried) {
        let path = regression.path.display();
        match tried {
            Tried::Fails(found) => {
                let same = found.bug.kind.name() == regression.trace.header.outcome;
                let what = if same { "fails" } else { "fails with another kind of bug" };
                eprintln!("note: regression {path} {what}: {}", found.bug.kind.name());
            }
            Tried::Passes => passed += 1,
            Tried::Obsolete(why) => {
                eprintln!(
                    "note: regression {path} is obsolete: its schedule is not followed any more ({why})"
                );
            }
            Tried::NotTried(why) => eprintln!("note: regression {path} was not tried: {why}"),
        }
    }
    if passed > 0 {
        eprintln!(
            "note: {} followed without a bug, which is no evidence of a fix (--confirm TRACE is)",
            counted(passed, "regression")
        );
    }
}

fn prefix(module: &Path, test: &str) -> String {
    format!("{}-{}-", module_name::stable(module), module_name::of_test(test))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
