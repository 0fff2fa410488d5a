//! Options for the content and the destination of reports, of all subcommands that report a run.

use super::bug_files::BesideTraces;
use super::bundle;
use super::libtest_args::HarnessArgs;
use super::output::{self, Stdout};
use crate::explain::{EXPERIMENTS_TIME, How, SHRINK_TIME};
use crate::report::render::repository::Folder;
use crate::report::render::{self, Outputs, RENDERERS, RenderOptions, RendererEntry};
use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(next_help_heading = Self::HEADING)]
pub struct ReportArgs {
    /// What is printed
    #[arg(long, value_parser = formats(), default_value = "text", value_name = "FORMAT")]
    pub format: &'static RendererEntry,
    /// Print the whole log of a failing iteration, and all statistics
    #[arg(short, long)]
    pub verbose: bool,
    /// Print all statistics of the explored schedules, not one line
    #[arg(long)]
    stats: bool,
    /// Where traces and logs are written
    #[arg(short, long, value_name = "DIR", default_value = "coyote-output")]
    outdir: PathBuf,
    #[command(flatten)]
    pub files: BesideTraces,
    /// Write a report as JUnit XML as well
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a report as SARIF as well
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Pack the module, the traces of found bugs, the report and versions into this file, which replays anywhere
    /// [`{module}` in FILE, also of --junit, --sarif and --coverage, is the module's name]
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Do not minimise the traces of bugs
    #[arg(long, conflicts_with = "shrink_time")]
    no_shrink: bool,
    /// Seconds for minimising the trace of a bug, which is kept beside the minimised one. Experiments get as much time,
    /// and at least 10 seconds
    #[arg(long, value_name = "SECONDS", default_value_t = SHRINK_TIME.as_secs_f64())]
    shrink_time: f64,
    /// Do not find out by experiments which choice made a bug likely, and how many iterations have the bug
    #[arg(long)]
    no_experiments: bool,
}

/// The formats of the renderers' table, as a parser for `--format`.
fn formats() -> impl TypedValueParser<Value = &'static RendererEntry> {
    let value = |entry: &RendererEntry| PossibleValue::new(entry.name).help(entry.doc).aliases(entry.alias);
    PossibleValuesParser::new(RENDERERS.iter().map(value))
        .map(|name| render::by_name(&name).expect("only names of the table are possible"))
}

impl ReportArgs {
    /// The heading of these options in the help.
    pub const HEADING: &str = "Reports";

    /// How a found bug is processed.
    ///
    /// # Errors
    /// The given time is invalid.
    pub fn how(&self) -> Result<How> {
        let time = seconds("--shrink-time", self.shrink_time)?;
        Ok(How {
            shrink: (!self.no_shrink).then_some(time),
            experiments: (!self.no_experiments).then_some(time.max(EXPERIMENTS_TIME)),
        })
    }

    /// The directory for traces and logs, as a path that is valid for the caller. A caller that names the module by an
    /// absolute path may be in another directory: cargo executes its runner in the package's directory, wherever the
    /// user is.
    pub fn outdir(&self, module: &Path) -> PathBuf {
        match module.is_absolute() {
            true => std::path::absolute(&self.outdir).unwrap_or_else(|_| self.outdir.clone()),
            false => self.outdir.clone(),
        }
    }

    /// The bundle to be written, if one is requested.
    ///
    /// # Errors
    /// As [`bundle::Draft::new`].
    pub fn bundle(&self, module: &Path) -> Result<Option<bundle::Draft>> {
        self.bundle.as_deref().map(|path| bundle::Draft::new(&output::file_of(path, module))).transpose()
    }

    /// The outputs and their formats. `given`: the command line's options of a test harness; `harness`: whether the
    /// module has one.
    ///
    /// # Errors
    /// A file cannot be written. This is checked early, before hours of exploration.
    pub fn outputs(&self, given: Option<&HarnessArgs>, harness: bool, module: &Path) -> Result<Outputs> {
        let named = |name| render::by_name(name).expect("it is in the table");
        let format = if given.is_some_and(|given| given.quiet) { named("terse") } else { self.format };
        let options = RenderOptions {
            harness,
            verbose: self.verbose,
            stats: self.stats || self.verbose,
            nocapture: given.is_some_and(|given| given.nocapture),
            width: output::width(),
            styles: output::styles(),
            folder: folder(),
        };
        let mut outputs = Outputs(vec![((format.make)(&options), Box::new(Stdout))]);
        for (name, path) in [("junit", &self.junit), ("sarif", &self.sarif)] {
            let Some(path) = path else { continue };
            let path = &output::file_of(path, module);
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            outputs.0.push(((named(name).make)(&options), Box::new(BufWriter::new(file))));
        }
        // The step summary of GitHub Actions, to which several commands may append.
        let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|_| format.name == "github");
        if let Some(path) = summary.filter(|path| !path.is_empty()).map(PathBuf::from) {
            let file = File::options().create(true).append(true).open(&path);
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            outputs.0.push(((named("markdown").make)(&options), Box::new(BufWriter::new(file))));
        }
        Ok(outputs)
    }
}

/// The current directory in the repository that GitHub Actions has checked out: cargo runs the tests of each package in
/// the package's directory.
fn folder() -> Folder {
    let root = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from).filter(|root| root.is_absolute());
    let real = |path: &Path| path.canonicalize().ok();
    let place = root.and_then(|root| Some((real(&root)?, real(&std::env::current_dir().ok()?)?)));
    place.map_or_else(Folder::default, |(root, here)| Folder::of(&here, &root))
}

/// The duration that an option gives.
///
/// # Errors
/// The number is not a positive duration.
pub fn seconds(option: &str, given: f64) -> Result<Duration> {
    if given > 0.0 && given < 1e9 {
        return Ok(Duration::from_secs_f64(given));
    }
    bail!("{option} {given}: give a positive number of seconds")
}

/// A flag that Ctrl-C raises, as do SIGTERM and SIGHUP, with which engines end processes. A second signal ends the
/// process, unless it follows immediately: some senders signal a process and then its group.
///
/// # Errors
/// The system does not allow a handler.
pub fn interruptible() -> Result<Arc<AtomicBool>> {
    const AT_ONCE: Duration = Duration::from_millis(500);
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        raised.store(true, std::sync::atomic::Ordering::Relaxed);
        if first.get_or_insert_with(Instant::now).elapsed() > AT_ONCE {
            std::process::exit(130);
        }
    })
    .context("cannot handle signals")?;
    Ok(flag)
}
