//! `coyote-wasm campaign`: a run in parts, executed by any number of processes that share a directory.
//!
//! | in the directory | |
//! |---|---|
//! | `campaign.json` | what to execute: the module, the arguments of `test`, the number of units |
//! | the module | a copy |
//! | `results/K.result` | the result of unit K, complete or absent |
//! | `units/K` | locked by the process that executes unit K |
//! | `failed/K` | a line for each process that failed at unit K |
//!
//! A campaign has no other state, and no process coordinates it: a unit without a result that no process has locked is
//! open. A lock ends with its process, however that ends, so another process can then execute the unit. Unit K of N is
//! `test --shard K/N` in a process of its own: its failure does not affect other units.

use super::merge;
use super::report_args::interruptible;
use crate::exit::Exit;
use crate::plural::counted;
use crate::trace::replace_file;
use crate::units::FileError;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{ArgMatches, Args as _, Command, FromArgMatches};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FILE: &str = "campaign.json";
const VERSION: u32 = 1;
/// The number of processes that may fail at a unit before it is given up.
const FAILURES_MAX: usize = 3;
/// How often a worker checks the process of its unit.
const LOOK: Duration = Duration::from_millis(20);
/// How often it checks units that other processes hold.
const WAIT: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Create the directory of a campaign
    New(New),
    /// Execute open units until there are none; any number of processes may do so
    Work(Work),
    /// Print how many units are done
    Status(Of),
    /// Report what was found so far, as `coyote-wasm merge` does
    Report(Report),
}

#[derive(clap::Args)]
struct New {
    /// The directory to create
    directory: PathBuf,
    /// How many units there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    units: u64,
    /// The module and the options of `coyote-wasm test`
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "TEST")]
    test: Vec<String>,
}

#[derive(clap::Args)]
struct Of {
    /// The campaign's directory
    directory: PathBuf,
}

#[derive(clap::Args)]
struct Work {
    #[command(flatten)]
    of: Of,
    /// Jobs of each unit [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// End after this number of units
    #[arg(long, value_name = "N")]
    units_max: Option<u64>,
    /// Execute this unit alone, from 1 on: for engines that hand out units themselves
    #[arg(long, value_name = "K")]
    unit: Option<u64>,
}

#[derive(clap::Args)]
struct Report {
    #[command(flatten)]
    of: Of,
    /// Options of `coyote-wasm merge`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

/// What the campaign executes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Campaign {
    version: u32,
    /// The module's name in the directory.
    module: String,
    /// The arguments of `test` behind the module.
    arguments: Vec<String>,
    units: u64,
}

/// Runs the subcommand.
///
/// # Errors
/// Bad input, or errors of the environment.
pub fn run(args: &Args) -> Result<Exit> {
    match &args.what {
        What::New(args) => new(args),
        What::Work(args) => work(args),
        What::Status(args) => status(&Place::open(&args.directory)?),
        What::Report(args) => report(&Place::open(&args.of.directory)?, &args.options),
    }
}

fn new(args: &New) -> Result<Exit> {
    let (module, arguments) = args.test.split_first().expect("clap requires it");
    let name = Path::new(module).file_name().filter(|_| !module.starts_with('-'));
    let name = name.context("give the module first, and then options of `coyote-wasm test`")?;
    let name = name.to_str().context("the module's name is not UTF-8: rename the file")?.to_string();
    let campaign =
        Campaign { version: VERSION, module: name, arguments: arguments.to_vec(), units: args.units };
    // Refuses now what `test` would refuse.
    super::test::check_unit(&campaign.parsed()?)?;
    let directory = &args.directory;
    let cannot = || format!("cannot make {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    ensure!(
        !directory.join(FILE).exists(),
        "{} is a campaign already: give another directory",
        directory.display()
    );
    for part in [RESULTS, UNITS, FAILED] {
        fs::create_dir_all(directory.join(part)).with_context(cannot)?;
    }
    let wasm = fs::read(module).with_context(|| format!("cannot read {module}"))?;
    replace_file(&directory.join(&campaign.module), &wasm).with_context(cannot)?;
    // This file is written last: its existence means that the campaign exists.
    replace_file(&directory.join(FILE), &serde_json::to_vec_pretty(&campaign)?).with_context(cannot)?;
    println!(
        ". {}: {}; execute them by any number of `coyote-wasm campaign work {}`",
        directory.display(),
        counted(args.units, "unit"),
        directory.display()
    );
    Ok(Exit::NoBug)
}

impl Campaign {
    /// The arguments of a unit, as `test` understands them.
    fn parsed(&self) -> Result<ArgMatches> {
        let shard = format!("1/{}", self.units);
        let ours =
            ["test", "--no-config", "--shard", &shard, "--result", "x", "--claim", "x", "--outdir", "x"];
        let line = ours.into_iter().chain([&*self.module]).chain(self.arguments.iter().map(String::as_str));
        let parsed = super::test::Args::augment_args(Command::new("test")).try_get_matches_from(line);
        parsed.map_err(|error| anyhow!("{}", error.to_string().trim().trim_start_matches("error: ")))
    }

    /// Its options for bugs, which concern the report of all units. `given`: options of the report, which override them.
    fn on_bugs(&self, given: &[OsString]) -> Result<Vec<OsString>> {
        let parsed = self.parsed()?;
        let overridden = |name: &str| {
            given
                .iter()
                .filter_map(|option| option.to_str())
                .any(|option| option.split('=').next() == Some(name))
        };
        let mut options = Vec::new();
        if !overridden("--no-shrink") && !overridden("--shrink-time") {
            if parsed.get_flag("no_shrink") {
                options.push("--no-shrink".into());
            } else if let Some(seconds) = parsed.get_one::<f64>("shrink_time") {
                options.push(format!("--shrink-time={seconds}").into());
            }
        }
        if parsed.get_flag("no_experiments") && !overridden("--no-experiments") {
            options.push("--no-experiments".into());
        }
        Ok(options)
    }
}

const RESULTS: &str = "results";
const UNITS: &str = "units";
const FAILED: &str = "failed";

/// The directory of a campaign.
struct Place {
    directory: PathBuf,
    campaign: Campaign,
}

/// How the process of a unit ended.
enum Ended {
    /// There is a result.
    Done,
    /// Another process holds the unit.
    Busy,
    Interrupted,
    /// The process refused the user's input, with its message.
    Refused(String),
    Failed(String),
}

impl Place {
    fn open(directory: &Path) -> Result<Place> {
        let path = directory.join(FILE);
        let text = fs::read(&path).with_context(|| {
            format!("{} is no campaign: `coyote-wasm campaign new` makes one", directory.display())
        })?;
        let campaign: Campaign = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        ensure!(
            campaign.version == VERSION,
            "{} is of version {}, and this tool reads version {VERSION}",
            path.display(),
            campaign.version
        );
        Ok(Place { directory: directory.to_owned(), campaign })
    }

    fn of(&self, part: &str, unit: u64) -> PathBuf {
        self.directory.join(part).join(unit.to_string())
    }

    fn result(&self, unit: u64) -> PathBuf {
        self.of(RESULTS, unit).with_extension("result")
    }

    fn is_done(&self, unit: u64) -> bool {
        self.result(unit).is_file()
    }

    /// The messages of the processes that failed at a unit.
    fn failures(&self, unit: u64) -> Vec<String> {
        let text = fs::read_to_string(self.of(FAILED, unit)).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    fn is_given_up(&self, unit: u64) -> bool {
        self.failures(unit).len() >= FAILURES_MAX
    }

    fn is_held(&self, unit: u64) -> bool {
        let file = File::open(self.of(UNITS, unit));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Units without a result that are not given up.
    fn open_units(&self) -> BTreeSet<u64> {
        (1..=self.campaign.units).filter(|unit| !self.is_done(*unit) && !self.is_given_up(*unit)).collect()
    }

    /// Executes a unit in a process of its own.
    fn execute(&self, unit: u64, jobs: Option<u64>, interrupted: &AtomicBool) -> Result<Ended> {
        let outdir = tempfile::tempdir()?;
        let mut said = tempfile::tempfile()?;
        let Campaign { module, arguments, units, .. } = &self.campaign;
        let mut command = process::Command::new(std::env::current_exe()?);
        // The campaign alone determines a unit.
        command.args(["test", "--no-config", "--shard", &format!("{unit}/{units}")]);
        command.arg("--result").arg(self.result(unit)).arg("--claim").arg(self.of(UNITS, unit));
        command.arg("--outdir").arg(outdir.path());
        command.args(jobs.iter().flat_map(|jobs| ["--jobs".to_string(), jobs.to_string()]));
        // Arguments behind the module may belong to the program.
        command.arg(self.directory.join(module)).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone()?);
        let mut child = command.spawn().context("a process for a unit cannot be started")?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if interrupted.load(Ordering::Relaxed) {
                // The result is written completely or not at all.
                child.kill()?;
                child.wait()?;
                return Ok(Ended::Interrupted);
            }
            std::thread::sleep(LOOK);
        };
        if interrupted.load(Ordering::Relaxed) && !self.is_done(unit) {
            return Ok(Ended::Interrupted);
        }
        let mut text = String::new();
        said.rewind()?;
        said.read_to_string(&mut text)?;
        Ok(match status.code() {
            _ if self.is_done(unit) => Ended::Done,
            Some(code) if code == i32::from(Exit::Again as u8) => Ended::Busy,
            Some(code) if code == i32::from(Exit::BadInput as u8) => Ended::Refused(text),
            _ => {
                let last = text.lines().last().unwrap_or_default();
                Ended::Failed(format!("{status}: {last}"))
            }
        })
    }
}

fn work(args: &Work) -> Result<Exit> {
    let place = Place::open(&args.of.directory)?;
    let interrupted: Arc<AtomicBool> = interruptible()?;
    let units = 1..=place.campaign.units;
    if let Some(unit) = args.unit.filter(|unit| !units.contains(unit)) {
        bail!("--unit {unit}: the campaign has units 1 to {}", units.end());
    }
    let (mut left, mut done) = (args.units_max.unwrap_or(u64::MAX), 0);
    'units: loop {
        let mut open = place.open_units();
        open.retain(|unit| args.unit.is_none_or(|only| *unit == only));
        let Some(first) = open.first() else { break };
        // Workers that begin at the same time do not all start with the first unit.
        let from = first + u64::from(process::id()) % open.len() as u64;
        let mut waits = true;
        for unit in open.range(from..).chain(open.range(..from)) {
            if left == 0 {
                break 'units;
            }
            if interrupted.load(Ordering::Relaxed) {
                return Ok(Exit::Again);
            }
            if place.is_held(*unit) || place.is_done(*unit) {
                continue;
            }
            match place.execute(*unit, args.jobs, &interrupted)? {
                Ended::Done => {
                    (left, done, waits) = (left - 1, done + 1, false);
                }
                Ended::Busy => {}
                Ended::Interrupted => return Ok(Exit::Again),
                Ended::Refused(said) => {
                    bail!("unit {unit}: {}", said.trim_end().trim_start_matches("error: "))
                }
                Ended::Failed(how) => {
                    waits = false;
                    eprintln!("note: unit {unit} failed: {how}");
                    let path = place.of(FAILED, *unit);
                    let file = File::options().create(true).append(true).open(&path);
                    let written = file.and_then(|mut file| writeln!(file, "{how}"));
                    written.with_context(|| format!("cannot write {}", path.display()))?;
                }
            }
        }
        // Other processes execute the remaining units, and may die.
        if waits {
            std::thread::sleep(WAIT);
        }
    }
    println!(". {}: {} executed here", args.of.directory.display(), counted(done, "unit"));
    let mut asked_for = units.filter(|unit| args.unit.is_none_or(|only| *unit == only));
    let given_up = left > 0 && asked_for.any(|unit| !place.is_done(unit));
    Ok(if given_up { Exit::InternalError } else { Exit::NoBug })
}

fn status(place: &Place) -> Result<Exit> {
    let units = place.campaign.units;
    let (mut done, mut held, mut given_up) = (0, 0, Vec::new());
    for unit in 1..=units {
        match () {
            () if place.is_done(unit) => done += 1,
            () if place.is_given_up(unit) => given_up.push(unit),
            () if place.is_held(unit) => held += 1,
            () => {}
        }
    }
    let open = units - done - held - given_up.len() as u64;
    println!(
        ". {}: {done} of {} done, {held} at work, {open} open",
        place.directory.display(),
        counted(units, "unit")
    );
    for unit in &given_up {
        let failures = place.failures(*unit);
        let last = failures.last().map_or("", |last| last);
        println!("... Unit {unit} was given up after {} failures, the last with {last}", failures.len());
    }
    Ok(if done == units { Exit::NoBug } else { Exit::Inconclusive })
}

fn report(place: &Place, options: &[OsString]) -> Result<Exit> {
    let done: Vec<PathBuf> = (1..=place.campaign.units)
        .filter(|unit| place.is_done(*unit))
        .map(|unit| place.result(unit))
        .collect();
    if done.is_empty() {
        println!(". {}: no unit is done yet", place.directory.display());
        return Ok(Exit::Inconclusive);
    }
    let module = place.directory.join(&place.campaign.module);
    let line =
        ["merge".into(), place.directory.join(RESULTS).into_os_string(), "--module".into(), module.into()];
    let command = merge::Args::augment_args(Command::new("merge"));
    let on_bugs = place.campaign.on_bugs(options)?;
    let matches = command.try_get_matches_from(line.iter().chain(&on_bugs).chain(options))?;
    merge::run(&merge::Args::from_arg_matches(&matches)?).map_err(|error| {
        match error.downcast::<FileError>() {
            Ok(file) => anyhow!("{file}: remove it, and `coyote-wasm campaign work` executes it again"),
            Err(error) => error,
        }
    })
}
