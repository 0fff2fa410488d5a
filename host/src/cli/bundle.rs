//! Bundles on the command line: the output of `test --bundle`, and an input of `replay` instead of a module and a
//! trace.

use crate::bundle::{Bundle, BundledBug, MODULE, Manifest, REPORT, Unpacked};
use crate::report::model::RunReport;
use crate::report::render::{RenderOptions, by_name};
use crate::results::FoundBug;
use anyhow::{Context, Result, anyhow, bail};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The bundle of a run that has not ended yet.
pub struct Draft {
    path: PathBuf,
    bugs: RefCell<Vec<(BundledBug, Vec<u8>)>>,
}

impl Draft {
    /// A bundle that will be written to this file.
    ///
    /// # Errors
    /// Its directory does not exist. This is checked early, before hours of exploration.
    pub fn new(path: &Path) -> Result<Draft> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            bail!("--bundle: there is no directory {}", directory.display());
        }
        Ok(Draft { path: path.to_owned(), bugs: RefCell::default() })
    }

    /// Adds a bug.
    pub fn add(&self, test: &str, found: &FoundBug) {
        let name = found.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bug = BundledBug {
            trace: format!("traces/{name}"),
            test: test.to_string(),
            kind: found.bug.kind.name().into(),
            message: found.bug.message(),
        };
        self.bugs.borrow_mut().push((bug, found.trace.to_text().into_bytes()));
    }

    /// Writes the bundle if there is a bug. `wasm`: the content of the module.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, module: &Path, wasm: &[u8], identity: &str, run: &RunReport) -> Result<()> {
        let bugs = self.bugs.borrow();
        if bugs.is_empty() {
            eprintln!("note: no bug was found: {} was not written", self.path.display());
            return Ok(());
        }
        let mut report = Vec::new();
        let json = by_name("json").expect("it is in the table");
        (json.make)(&RenderOptions::default()).run_finished(&mut report, run)?;
        let mut files = BTreeMap::from([(MODULE.to_string(), wasm.to_vec()), (REPORT.to_string(), report)]);
        files.extend(bugs.iter().map(|(bug, trace)| (bug.trace.clone(), trace.clone())));
        let manifest = Manifest {
            tool: env!("CARGO_PKG_VERSION").into(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            module: module.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            identity: identity.to_string(),
            seed: run.header.seed,
            strategy: run.header.strategy.clone(),
            bugs: bugs.iter().map(|(bug, _)| bug.clone()).collect(),
            ..Manifest::default()
        };
        Bundle { manifest, files }.write(&self.path)?;
        eprintln!("note: coyote-wasm replay {} replays it anywhere", self.path.display());
        Ok(())
    }
}

/// A module and a trace, which may come from a bundle.
pub struct Replayable {
    /// The files to read.
    pub module: PathBuf,
    pub trace: PathBuf,
    /// The same files as the user named them, for messages that show how to replay again.
    pub shown_module: PathBuf,
    pub shown_trace: PathBuf,
    _unpacked: Option<Unpacked>,
}

impl Replayable {
    /// Opens the files that the command line names: a module and a trace, or a bundle and, if it has several traces,
    /// the name of one.
    ///
    /// # Errors
    /// The bundle cannot be read, it has no such trace, or no trace is given.
    pub fn open(module: &Path, trace: Option<&Path>) -> Result<Replayable> {
        if !Bundle::is_one(module) {
            let trace = trace.ok_or_else(|| match module.is_file() {
                true => anyhow!("{} is no bundle: give a module and a trace", module.display()),
                false => anyhow!("there is no file {}", module.display()),
            })?;
            return Ok(Replayable {
                module: module.to_owned(),
                trace: trace.to_owned(),
                shown_module: module.to_owned(),
                shown_trace: trace.to_owned(),
                _unpacked: None,
            });
        }
        let bundle = Bundle::read(module)?;
        let bugs = &bundle.manifest.bugs;
        let is = |bug: &&BundledBug| {
            trace.is_none_or(|trace| Path::new(&bug.trace) == trace || Path::new(&bug.trace).ends_with(trace))
        };
        let bug = bugs.iter().find(is).with_context(|| {
            let names: Vec<&str> = bugs.iter().map(|bug| bug.trace.as_str()).collect();
            format!("{} has no such trace; it has {}", module.display(), names.join(", "))
        })?;
        if trace.is_none() && bugs.len() > 1 {
            let others: Vec<&str> = bugs.iter().skip(1).map(|bug| bug.trace.as_str()).collect();
            eprintln!("note: the bundle has other traces; to use one, name it: {}", others.join(", "));
        }
        let unpacked = Unpacked::new(&bundle, &bug.trace)?;
        Ok(Replayable {
            module: unpacked.module(),
            trace: unpacked.trace(),
            shown_module: module.to_owned(),
            shown_trace: bug.trace.clone().into(),
            _unpacked: Some(unpacked),
        })
    }
}
