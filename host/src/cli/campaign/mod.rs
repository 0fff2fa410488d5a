//! `coyote-wasm campaign`: a run in parts, executed by any number of processes that share a directory.
//!
//! | in the directory | |
//! |---|---|
//! | `campaign.json` | what to execute: the module and its hash, the arguments of `test`, the number of units; a checksum |
//! | the module | a copy |
//! | `results/K.result` | the result of unit K, complete or absent |
//! | `units/K` | locked by the process that executes unit K |
//! | `failed/K` | a line for each process that failed at unit K |
//!
//! A campaign has no other state, and no process coordinates it: a unit without a result that no process has locked is
//! open. A lock ends with its process, however that ends, so another process can then execute the unit. Unit K of N is
//! `test --shard K/N` in a process of its own: its failure does not affect other units. A search has units of another kind
//! (`stages`).

mod look;
mod page;
mod place;
mod stages;
mod status;
mod units;
mod worker;

use super::merge;
use super::report_args::interruptible;
use super::units::hash;
use crate::exit::Exit;
use crate::plural::counted;
use crate::trace::replace_file;
use crate::units::search::total;
use crate::units::{FileError, SearchUnit};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args as _, Command, FromArgMatches};
use place::{Campaign, FAILED, FILE, Place, RESULTS, UNITS, Unit, to_remove};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use units::{Next, Searched};
use worker::{WAIT, Worker};

/// The number of steps of a unit of a search, unless it is given: some ten seconds to a minute.
const UNIT_STEPS: u64 = 10_000_000;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Create the directory of a campaign
    New(New),
    /// Print the units without a result, a line each, after making the next stage of a search if one is due
    Plan(Of),
    /// Execute open units until there are none; any number of processes may do so
    Work(Work),
    /// Print how many units are done, how fast, and how many bugs were found
    Status(Status),
    /// Report what was found so far, as `coyote-wasm merge` does
    Report(Report),
}

#[derive(clap::Args)]
struct New {
    /// The directory to create
    directory: PathBuf,
    /// How many units there are; in a search, how many at a time at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    units: u64,
    /// After how many steps a unit of a search leaves the rest to others [default: 10000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    unit_steps: Option<u64>,
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
    /// Jobs of each unit, or units of a search at a time [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// End after this number of units
    #[arg(long, value_name = "N")]
    units_max: Option<u64>,
    /// Execute this unit alone, from 1 on: for engines that hand out units themselves
    #[arg(long, value_name = "K")]
    unit: Option<Unit>,
}

#[derive(clap::Args)]
struct Status {
    #[command(flatten)]
    of: Of,
    /// Print it again every so many seconds, until the campaign has ended [default: 10]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10",
          value_parser = clap::value_parser!(u64).range(1..))]
    watch: Option<u64>,
    /// Also write it into this file as a page of HTML, with charts of what was executed and new, and the bugs
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Report {
    #[command(flatten)]
    of: Of,
    /// Options of `coyote-wasm merge`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

/// Runs the subcommand.
///
/// # Errors
/// Bad input, or errors of the environment.
pub fn run(args: &Args) -> Result<Exit> {
    match &args.what {
        What::New(args) => new(args),
        What::Plan(args) => plan(&Place::open(&args.directory)?),
        What::Work(args) => work(args),
        What::Status(args) => {
            let watch = args.watch.map(Duration::from_secs);
            status::run(&Place::open(&args.of.directory)?, watch, args.page.as_deref())
        }
        What::Report(args) => report(&Place::open(&args.of.directory)?, &args.options),
    }
}

fn new(args: &New) -> Result<Exit> {
    let (module, arguments) = args.test.split_first().expect("clap requires it");
    let name = Path::new(module).file_name().filter(|_| !module.starts_with('-'));
    let name = name.context("give the module first, and then options of `coyote-wasm test`")?;
    let name = name.to_str().context("the module's name is not UTF-8: rename the file")?.to_string();
    let ours = ["--units", "--unit-steps"];
    if let Some(option) =
        arguments.iter().find(|given| ours.contains(&given.split('=').next().unwrap_or_default()))
    {
        bail!(
            "{option}: give it before the module; what follows the module are options of `coyote-wasm test`"
        );
    }
    let mut campaign = Campaign::new(name, arguments.to_vec(), args.units);
    let of_search = campaign.of_search()?;
    campaign.unit_steps = of_search.then(|| args.unit_steps.unwrap_or(UNIT_STEPS));
    if let Some(steps) = args.unit_steps.filter(|_| !of_search) {
        bail!("--unit-steps {steps}: only searches have it; a unit of a sampler is a number of iterations");
    }
    campaign.check_heeded()?;
    // Refuses now what `test` would refuse.
    super::test::check_unit(&campaign.parsed(module)?)?;
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
    if of_search {
        stages::create(directory).with_context(cannot)?;
    }
    let wasm = fs::read(module).with_context(|| format!("cannot read {module}"))?;
    campaign.module_hash = hash(&wasm);
    replace_file(&directory.join(&campaign.module), &wasm).with_context(cannot)?;
    // This file is written last: its existence means that the campaign exists.
    replace_file(&directory.join(FILE), &campaign.to_bytes()).with_context(cannot)?;
    let units = if of_search { "a search".into() } else { counted(args.units, "unit") };
    println!(
        ". {}: {units}; execute {} by any number of `coyote-wasm campaign work {}`",
        directory.display(),
        if of_search { "it" } else { "them" },
        directory.display()
    );
    Ok(Exit::NoBug)
}

fn plan(place: &Place) -> Result<Exit> {
    loop {
        let open = place.open_units()?;
        if !open.is_empty() {
            open.iter().for_each(|unit| println!("{unit}"));
            return Ok(Exit::NoBug);
        }
        match place.go_on()? {
            Next::Units => {}
            Next::Nothing => return Ok(Exit::NoBug),
            Next::Later => std::thread::sleep(WAIT),
        }
    }
}

fn work(args: &Work) -> Result<Exit> {
    let place = Place::open(&args.of.directory)?;
    let interrupted: Arc<AtomicBool> = interruptible()?;
    if let Some(unit) = args.unit.filter(|unit| !place.has(*unit)) {
        bail!("--unit {unit}: {}", place.known()?);
    }
    let worker = Worker::new(&place, args.unit, args.units_max, &interrupted);
    let (exit, done) = match place.campaign.unit_steps {
        None => worker.run(0, args.jobs)?,
        // Each unit of a search is one job.
        Some(_) if args.unit.is_some() => worker.run(0, Some(1))?,
        Some(_) => {
            let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
            worker.run_at_once(args.jobs.unwrap_or(cores))?
        }
    };
    if exit != Exit::Again {
        println!(". {}: {} executed here", args.of.directory.display(), counted(done, "unit"));
    }
    Ok(exit)
}

fn report(place: &Place, options: &[OsString]) -> Result<Exit> {
    let any = match place.campaign.unit_steps {
        None => place.units()?.into_iter().any(|unit| place.is_done(unit)),
        Some(_) => place.is_done(Unit { stage: Some(1), number: 1 }),
    };
    if !any {
        println!(". {}: no unit is done yet", place.directory.display());
        return Ok(Exit::Inconclusive);
    }
    let module = place.directory.join(&place.campaign.module);
    let line =
        ["merge".into(), place.directory.join(RESULTS).into_os_string(), "--module".into(), module.into()];
    let command = merge::Args::augment_args(Command::new("merge"));
    let on_bugs = place.campaign.on_bugs(options)?;
    let matches = command.try_get_matches_from(line.iter().chain(&on_bugs).chain(options))?;
    let args = merge::Args::from_arg_matches(&matches)?;
    if place.campaign.unit_steps.is_some() {
        let Searched { units, visited, open } = place.searched()?;
        let result = total(&units, visited.as_deref(), open, open == 0).map_err(anyhow::Error::msg)?;
        let SearchUnit { campaign, path, .. } = units.into_iter().next().expect("the first one is done");
        return merge::run_search(&args, campaign, path, result);
    }
    merge::run(&args).map_err(|error| match error.downcast::<FileError>() {
        Ok(file) => to_remove(file),
        Err(error) => error,
    })
}
