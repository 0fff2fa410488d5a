//! `coyote-wasm test`: explore the schedules of a module's tests.

use super::exit::Exit;
use super::load::{self, ExecuteArgs, InstrumentArgs};
use super::session::{Format, Session, file_stem};
use super::trace_options;
use crate::execution::{Execution, Settings};
use crate::explore::frontier::Frontier;
use crate::explore::{Budget, Stop};
use crate::outcome::Outcome;
use crate::symbols::Symbols;
use anyhow::{Context, Result, bail};
use coyote_strategies::{self as strategies, by_name};
use rand::TryRng;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What is used if nobody says how.
pub const DEFAULT_STRATEGY: &str = "portfolio";
/// Defaults of the budget: whichever comes first. Searches have no bound on executions by default.
const ITERATIONS: u64 = 10_000;
const TIMEOUT_SECONDS: f64 = 10.0;

#[derive(clap::Args)]
pub struct Args {
    /// The module, as the guest's compiler wrote it (.wasm or .wat)
    #[arg(required_unless_present_any = ["strategy"])]
    module: Option<PathBuf>,
    /// Arguments of the guest
    #[arg(last = true)]
    arguments: Vec<String>,
    /// Run only these tests [name or glob; can be repeated]
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// List the tests and stop
    #[arg(long)]
    list: bool,
    /// Iterations of each test [default: 10000, or no bound if --timeout is given]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Seconds for each test [default: 10, or no bound if --iterations is given]
    #[arg(short, long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// How schedules are chosen: NAME[:PARAMETER]..., `list` shows all
    #[arg(short, long, default_value = DEFAULT_STRATEGY, value_name = "NAME")]
    strategy: String,
    /// Go on with what a search left [written to the output directory when it stops early]
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Seed of all choices [default: random, or 0 if the environment says CI=true]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run this iteration alone: reproduces it without a trace
    #[arg(long, value_name = "K", conflicts_with = "iterations")]
    iteration: Option<u64>,
    /// Go on after a bug, group equal bugs and keep the shortest trace of each
    #[arg(long)]
    explore: bool,
    /// Execute every iteration twice more and compare all states, which takes some 5 times as long: a
    /// difference is an internal error
    #[arg(long)]
    check_determinism: bool,
    /// Parallel jobs; results do not depend on their number [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    /// Where traces and logs are written
    #[arg(short, long, value_name = "DIR", default_value = "coyote-output")]
    outdir: PathBuf,
    /// What is printed
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    format: Format,
    /// Print the whole log of a failing iteration
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    instrument: InstrumentArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    if args.strategy == "list" {
        print!("{}", strategies::catalog::table::listing());
        return Ok(Exit::NoBug);
    }
    let Some(module) = &args.module else {
        bail!("give a module to test, such as `coyote-wasm test test.wasm`");
    };
    let options = args.instrument.options();
    let artifact = load::artifact(module, &options, !args.execute.no_cache)?;
    let mut tests = load::select(&artifact, module, &args.test)?;
    if args.list {
        tests.iter().for_each(|t| println!("{}", t.name));
        return Ok(Exit::NoBug);
    }
    let searching = searches(args)?;
    let resume = args.resume.as_deref().map(Frontier::read).transpose()?;
    if let Some(frontier) = &resume
        && args.test.is_empty()
    {
        tests.retain(|t| t.name == frontier.test);
    }
    let mut arguments = vec![file_stem(module)];
    arguments.extend(args.arguments.iter().cloned());
    let settings = args.execute.settings(arguments)?;
    check_directories(args, searching, &settings)?;
    let session = Session {
        module,
        strategy: &args.strategy,
        context: args.execute.strategy_context(),
        outdir: &args.outdir,
        format: args.format,
        verbose: args.verbose,
        seed: seed(args, resume.as_ref()),
        resume: args.resume.as_deref().zip(resume),
        budget: budget(args, searching)?,
        searching,
        options: trace_options::write(&options, &settings),
        symbols: Symbols::new(&artifact.original),
        interrupted: interruptible()?,
        artifact,
        settings,
    };
    session.headline(&tests);
    let mut exit = Exit::NoBug;
    let mut any_choice = false;
    let mut results = Vec::new();
    for test in &tests {
        let exploration = session.explore(test)?;
        any_choice |= exploration.any_choice;
        let replays = session.confirm(test, &exploration)?;
        let buggy = !exploration.found.is_empty();
        exit = exit.max(if buggy { Exit::BugFound } else { Exit::NoBug });
        let interrupted = exploration.stop == Stop::Interrupted;
        results.push(session.report(test, &exploration)?);
        if let Some(diverged) = replays {
            bail!(InternalError(diverged));
        }
        if interrupted {
            break;
        }
    }
    if exit == Exit::NoBug && !any_choice {
        exit = Exit::NothingTested;
    }
    session.conclude(exit, results)?;
    Ok(exit)
}

/// We are wrong, not the user.
#[derive(Debug, thiserror::Error)]
#[error("this is a bug in coyote-wasm: {0}")]
pub struct InternalError(pub String);

/// Directories of the host cannot be put back, nor shared.
fn check_directories(args: &Args, searching: bool, settings: &Settings) -> Result<()> {
    if settings.world.directories.is_empty() {
        return Ok(());
    }
    if searching {
        bail!(
            "--dir: a search returns to earlier states, and a directory of the host has none; give --preload \
             instead, or a strategy that is no search"
        );
    }
    if args.check_determinism {
        bail!(
            "--dir: an iteration that is repeated does not meet the same directory; give --preload instead"
        );
    }
    if args.jobs.is_some_and(|jobs| jobs > 1) {
        bail!("--dir: jobs would meet each other's files in the directory; give --jobs 1 or --preload");
    }
    Ok(())
}

/// The seed: given, that of what is resumed, fixed under CI, else random.
fn seed(args: &Args, resume: Option<&Frontier>) -> u64 {
    match args.seed.or(resume.map(|f| f.seed)) {
        Some(seed) => seed,
        None if std::env::var_os("CI").is_some_and(|v| v == "true") => 0,
        None => u64::from(rand::rngs::SysRng.try_next_u32().unwrap_or(0)),
    }
}

/// Whether the strategy is a search; an error if there is none of this name.
fn searches(args: &Args) -> Result<bool> {
    let searching = strategies::search::is_search(&args.strategy);
    if searching {
        strategies::search::by_name::<Execution>(&args.strategy, 0, None).map_err(anyhow::Error::msg)?;
        if args.iteration.is_some() {
            bail!("--iteration is for strategies that choose at random; a search has no numbered iterations");
        }
        if args.check_determinism {
            bail!(
                "--check-determinism is for strategies that choose at random, such as --strategy random; a \
                 search executes the path of every bug again, and no others"
            );
        }
    } else {
        by_name(&args.strategy, &args.execute.strategy_context()).map_err(anyhow::Error::msg)?;
        if args.resume.is_some() {
            bail!("--resume goes on with a search; {} is none", args.strategy);
        }
    }
    Ok(searching)
}

fn budget(args: &Args, searching: bool) -> Result<Budget> {
    let timeout = match (args.timeout, args.iterations.or(args.iteration)) {
        (Some(seconds), _) if seconds > 0.0 && seconds.is_finite() && seconds < 1e9 => Some(seconds),
        (Some(seconds), _) => bail!("--timeout {seconds}: give a positive number of seconds"),
        (None, Some(_)) => None,
        (None, None) => Some(TIMEOUT_SECONDS),
    };
    let iterations_max = match (args.iterations, args.iteration, args.timeout) {
        (Some(n), _, _) => n,
        (None, Some(_), _) => 1,
        (None, None, Some(_)) => u64::MAX,
        (None, None, None) if searching => u64::MAX,
        (None, None, None) => ITERATIONS,
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    Ok(Budget {
        iterations_max,
        first: args.iteration.unwrap_or(0),
        timeout: timeout.map(Duration::from_secs_f64),
        explore: args.explore,
        check_determinism: args.check_determinism,
        // Jobs would meet each other's files.
        jobs: if args.execute.dir.is_empty() { args.jobs.map_or(cores, |j| j as usize) } else { 1 },
    })
}

/// A flag that Ctrl-C raises. A second one ends the process, unless it comes at once: some senders
/// signal a process and then its group.
fn interruptible() -> Result<Arc<AtomicBool>> {
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
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}

/// For the replay subcommand: the outcome as the test command would say it.
pub fn outcome_line(test: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => format!("test {test} passes"),
        Outcome::Bug(bug) => format!("bug in test {test}: {}: {}", bug.kind.name(), bug.message),
        Outcome::Bound(bound) => format!("no verdict on test {test}: {}", bound.advice()),
        Outcome::Abandoned => format!("no verdict on test {test}: the iteration was given up"),
    }
}
