//! Bundles on the command line: the output of `test --bundle`, and an input wherever a trace is one.

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
            message: found.message(),
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
    _unpacked: Vec<Unpacked>,
}

impl Replayable {
    /// Opens the files that the command line names: a module and a trace as for [`GivenTrace::open`], or a bundle and, if
    /// it has several traces, the name of one. A bundle's module may also be combined with another trace.
    ///
    /// # Errors
    /// The bundle cannot be read, it has no such trace, or no trace is given.
    pub fn open(module: &Path, trace: Option<&Path>) -> Result<Replayable> {
        if !Bundle::is_one(module) {
            let trace = trace.ok_or_else(|| match module.is_file() {
                true => anyhow!("{} is no bundle: give a module and a trace", module.display()),
                false => anyhow!("there is no file {}", module.display()),
            })?;
            return Ok(Replayable::of(module.to_owned(), module, GivenTrace::open(trace)?));
        }
        let bundle = Bundle::read(module)?;
        if let Some(path) = trace
            && named(&bundle, path).is_none()
            && path.is_file()
        {
            let first = bundle.manifest.bugs.first().map_or("", |bug| &bug.trace);
            let unpacked = Unpacked::new(&bundle, first)?;
            let mut given = Replayable::of(unpacked.module(), module, GivenTrace::open(path)?);
            given._unpacked.push(unpacked);
            return Ok(given);
        }
        let given = GivenTrace::of(module, &bundle, trace)?;
        let unpacked = given.unpacked.as_ref().expect("it comes from a bundle").module();
        Ok(Replayable::of(unpacked, module, given))
    }

    fn of(module: PathBuf, shown: &Path, trace: GivenTrace) -> Replayable {
        let GivenTrace { path, shown: shown_trace, unpacked } = trace;
        Replayable {
            module,
            trace: path,
            shown_module: shown.to_owned(),
            shown_trace,
            _unpacked: unpacked.into_iter().collect(),
        }
    }
}

/// A trace, which may come from a bundle.
pub struct GivenTrace {
    /// The file to read.
    pub path: PathBuf,
    /// The trace as the user may name it.
    pub shown: PathBuf,
    unpacked: Option<Unpacked>,
}

impl GivenTrace {
    /// Opens what the command line names as a trace: the file of a trace; a bundle, for its first trace; or
    /// `BUNDLE/NAME`, for the one of this name.
    ///
    /// # Errors
    /// The bundle cannot be read, or has no such trace.
    pub fn open(path: &Path) -> Result<GivenTrace> {
        let Some(file) = path.ancestors().find(|file| Bundle::is_one(file)) else {
            return Ok(GivenTrace { path: path.to_owned(), shown: path.to_owned(), unpacked: None });
        };
        let name = path.strip_prefix(file).ok().filter(|name| !name.as_os_str().is_empty());
        let given = GivenTrace::of(file, &Bundle::read(file)?, name)?;
        Ok(GivenTrace { shown: file.join(&given.shown), ..given })
    }

    /// The trace of a bundle that has this name, or the first one, with a note if there are others. It is shown by its
    /// name in the bundle.
    fn of(path: &Path, bundle: &Bundle, name: Option<&Path>) -> Result<GivenTrace> {
        let bugs = &bundle.manifest.bugs;
        let bug = match name {
            Some(name) => named(bundle, name),
            None => bugs.first(),
        };
        let bug = bug.with_context(|| {
            let names: Vec<&str> = bugs.iter().map(|bug| bug.trace.as_str()).collect();
            format!("{} has no such trace; it has {}", path.display(), names.join(", "))
        })?;
        if name.is_none() && bugs.len() > 1 {
            let others: Vec<&str> = bugs.iter().skip(1).map(|bug| bug.trace.as_str()).collect();
            eprintln!("note: the bundle has other traces; to use one, name it: {}", others.join(", "));
        }
        let unpacked = Unpacked::new(bundle, &bug.trace)?;
        Ok(GivenTrace { path: unpacked.trace(), shown: bug.trace.clone().into(), unpacked: Some(unpacked) })
    }
}

/// The bug whose trace has this name, which may be the end of the name in the bundle.
fn named<'b>(bundle: &'b Bundle, name: &Path) -> Option<&'b BundledBug> {
    bundle.manifest.bugs.iter().find(|bug| Path::new(&bug.trace).ends_with(name))
}
