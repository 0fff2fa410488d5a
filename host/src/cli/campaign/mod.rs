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
//! `test --shard K/N` in a process of its own: its failure does not affect other units. A search has units of another kind
//! (`stages`).

mod place;
mod stages;

use super::merge;
use super::report_args::interruptible;
use crate::exit::Exit;
use crate::plural::counted;
use crate::trace::replace_file;
use crate::units::search::total;
use crate::units::{FileError, SearchUnit};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args as _, Command, FromArgMatches};
use place::{Campaign, Ended, FAILED, FILE, Place, RESULTS, UNITS, Unit, VERSION, to_remove};
use stages::Stage;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a worker checks units that other processes hold.
const WAIT: Duration = Duration::from_millis(200);
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
    let (arguments, units) = (arguments.to_vec(), args.units);
    let mut campaign = Campaign { version: VERSION, module: name, arguments, units, unit_steps: None };
    let of_search = campaign.of_search()?;
    campaign.unit_steps = of_search.then(|| args.unit_steps.unwrap_or(UNIT_STEPS));
    if let Some(steps) = args.unit_steps.filter(|_| !of_search) {
        bail!("--unit-steps {steps}: only searches have it; a unit of a sampler is a number of iterations");
    }
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
    replace_file(&directory.join(&campaign.module), &wasm).with_context(cannot)?;
    // This file is written last: its existence means that the campaign exists.
    replace_file(&directory.join(FILE), &serde_json::to_vec_pretty(&campaign)?).with_context(cannot)?;
    let units = if of_search { "a search".into() } else { counted(args.units, "unit") };
    println!(
        ". {}: {units}; execute {} by any number of `coyote-wasm campaign work {}`",
        directory.display(),
        if of_search { "it" } else { "them" },
        directory.display()
    );
    Ok(Exit::NoBug)
}

fn work(args: &Work) -> Result<Exit> {
    let place = Place::open(&args.of.directory)?;
    let interrupted: Arc<AtomicBool> = interruptible()?;
    if let Some(unit) = args.unit
        && !place.units()?.contains(&unit)
        && !place.is_done(unit)
    {
        bail!("--unit {unit}: {}", place.known()?);
    }
    let worker = Worker { place: &place, args, interrupted: &interrupted };
    let (exit, done) = match place.campaign.unit_steps {
        None => worker.all(0)?,
        Some(_) => {
            let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
            worker.at_once(args.jobs.map_or(cores, |jobs| jobs as usize))?
        }
    };
    if exit != Exit::Again {
        println!(". {}: {} executed here", args.of.directory.display(), counted(done, "unit"));
    }
    Ok(exit)
}

/// A process that executes units.
struct Worker<'a> {
    place: &'a Place,
    args: &'a Work,
    interrupted: &'a AtomicBool,
}

impl Worker<'_> {
    /// Executes so many units at once, as so many processes would.
    fn at_once(&self, threads: usize) -> Result<(Exit, u64)> {
        let ended: Vec<Result<(Exit, u64)>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..threads as u64).map(|thread| scope.spawn(move || self.all(thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
        });
        let ended: Vec<(Exit, u64)> = ended.into_iter().collect::<Result<_>>()?;
        let worst = ended.iter().map(|(exit, _)| *exit).max().unwrap_or(Exit::NoBug);
        Ok((worst, ended.iter().map(|(_, done)| done).sum()))
    }

    /// Executes open units until there are none. Returns how many. `number`: of the thread that does so.
    fn all(&self, number: u64) -> Result<(Exit, u64)> {
        let Worker { place, args, interrupted } = *self;
        // Each thread of a search is one job.
        let jobs = if place.campaign.unit_steps.is_some() { Some(1) } else { args.jobs };
        let (mut left, mut done) = (args.units_max.unwrap_or(u64::MAX), 0);
        'units: loop {
            let mut open = place.open_units()?;
            open.retain(|unit| args.unit.is_none_or(|only| *unit == only));
            if open.is_empty() && args.unit.is_some() || left == 0 {
                break;
            }
            if open.is_empty() {
                match place.go_on()? {
                    Next::Nothing => break,
                    Next::Units => continue,
                    Next::Later if interrupted.load(Ordering::Relaxed) => return Ok((Exit::Again, done)),
                    Next::Later => std::thread::sleep(WAIT),
                }
                continue;
            }
            // Workers that begin at the same time do not all start with the first unit.
            let open: Vec<Unit> = open.into_iter().collect();
            let from = (u64::from(process::id()) + number) as usize % open.len();
            let mut waits = true;
            for unit in open[from..].iter().chain(&open[..from]) {
                if left == 0 {
                    break 'units;
                }
                if interrupted.load(Ordering::Relaxed) {
                    return Ok((Exit::Again, done));
                }
                if place.is_held(*unit) || place.is_done(*unit) {
                    continue;
                }
                match place.execute(*unit, place.selected(*unit)?, jobs, interrupted)? {
                    Ended::Done => {
                        (left, done, waits) = (left - 1, done + 1, false);
                    }
                    Ended::Busy => {}
                    Ended::Interrupted => return Ok((Exit::Again, done)),
                    Ended::Refused(said) => {
                        bail!("unit {unit}: {}", said.trim_end().trim_start_matches("error: "))
                    }
                    Ended::Failed(how) => {
                        waits = false;
                        eprintln!("note: unit {unit} failed: {how}");
                        let path = place.failed(*unit);
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
        let mut asked_for = match args.unit {
            Some(unit) => vec![unit],
            None => place.units()?,
        }
        .into_iter();
        let given_up = left > 0 && asked_for.any(|unit| !place.is_done(unit));
        Ok((if given_up { Exit::InternalError } else { Exit::NoBug }, done))
    }
}

/// What follows when no unit is open.
enum Next {
    /// More units.
    Units,
    /// Another process knows soon.
    Later,
    /// The campaign has ended, or a unit was given up.
    Nothing,
}

impl Place {
    /// The units that are known: of a search, those of all stages so far.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn units(&self) -> Result<Vec<Unit>> {
        match self.campaign.unit_steps {
            None => Ok((1..=self.campaign.units).map(|number| Unit { stage: None, number }).collect()),
            Some(_) => Ok(Stage::all(self)?.iter().flat_map(Stage::units).collect()),
        }
    }

    /// The arguments of `test` that select a unit.
    fn selected(&self, unit: Unit) -> Result<Vec<OsString>> {
        match unit.stage {
            Some(_) => Ok(Stage::of(self, unit)?.arguments(self, unit)),
            None => Ok(vec!["--shard".into(), format!("{}/{}", unit.number, self.campaign.units).into()]),
        }
    }

    /// Units without a result that are not given up.
    fn open_units(&self) -> Result<BTreeSet<Unit>> {
        let open = |unit: &Unit| !self.is_done(*unit) && !self.is_given_up(*unit);
        Ok(self.units()?.into_iter().filter(open).collect())
    }

    /// Makes the next stage of a search if all units of the present one are done.
    fn go_on(&self) -> Result<Next> {
        if self.campaign.unit_steps.is_none() {
            return Ok(Next::Nothing);
        }
        let stage = Stage::last(self)?;
        if stage.is_end() || stage.units().any(|unit| self.is_given_up(unit)) {
            return Ok(Next::Nothing);
        }
        Ok(if stage.make_next(self)? { Next::Units } else { Next::Later })
    }

    /// A sentence about the units that there are.
    fn known(&self) -> Result<String> {
        let units = self.units()?;
        Ok(match (units.first(), units.last()) {
            (Some(first), Some(last)) => format!("the campaign has units {first} to {last}"),
            _ => "the campaign has ended".into(),
        })
    }

    /// The results of a search so far, in the order of stages and parts, and how many units have none.
    ///
    /// # Errors
    /// A file is damaged, or they do not belong together.
    fn search_units(&self) -> Result<(Vec<SearchUnit>, u64)> {
        let stages = Stage::all(self)?;
        let (mut units, mut open) = (Vec::new(), 0);
        for (stage, unit) in stages.iter().flat_map(|stage| stage.units().map(move |unit| (stage, unit))) {
            match self.is_done(unit) {
                true => units.push(stage.result(self, unit)?),
                false => open += 1,
            }
        }
        match &stages[..] {
            [.., last, end] if end.is_end() && open == 0 => last.check_end(self)?,
            [.., end] if end.is_end() => {}
            // What a stage leaves is not known until the next one is made.
            _ => open += u64::from(open == 0),
        }
        Ok((units, open))
    }
}

fn status(place: &Place) -> Result<Exit> {
    let units = place.units()?;
    let of_search = place.campaign.unit_steps.is_some();
    let (mut done, mut held, mut given_up) = (0, 0, Vec::new());
    for unit in &units {
        match () {
            () if place.is_done(*unit) => done += 1,
            () if place.is_given_up(*unit) => given_up.push(*unit),
            () if place.is_held(*unit) => held += 1,
            () => {}
        }
    }
    let open = units.len() as u64 - done - held - given_up.len() as u64;
    print!(". {}: ", place.directory.display());
    let mut is_done = done == units.len() as u64;
    if of_search {
        let stage = Stage::last(place)?;
        is_done &= stage.is_end();
        let (all, _) = place.search_units()?;
        let executions: u64 = all.iter().map(|unit| unit.result.iterations()).sum();
        let buggy: u64 = all.iter().map(|unit| unit.result.statistics.buggy).sum();
        print!("{}, {buggy} with a bug; ", counted(executions, "execution"));
        if is_done {
            println!("the search has ended in stage {}", stage.number() - 1);
            return Ok(Exit::NoBug);
        }
        print!("stage {}: ", stage.number());
    }
    println!("{done} of {} done, {held} at work, {open} open", counted(units.len() as u64, "unit"));
    for unit in &given_up {
        let failures = place.failures(*unit);
        let last = failures.last().map_or("", |last| last);
        println!("... Unit {unit} was given up after {} failures, the last with {last}", failures.len());
    }
    Ok(if is_done { Exit::NoBug } else { Exit::Inconclusive })
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
        let (units, open) = place.search_units()?;
        let result = total(&units, open, open == 0).map_err(anyhow::Error::msg)?;
        let SearchUnit { campaign, path, .. } = units.into_iter().next().expect("the first one is done");
        return merge::run_search(&args, campaign, path, result);
    }
    merge::run(&args).map_err(|error| match error.downcast::<FileError>() {
        Ok(file) => to_remove(file),
        Err(error) => error,
    })
}
