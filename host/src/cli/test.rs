//! `coyote-wasm test`: explore the schedules of a module's tests.

use super::exit::Exit;
use super::load::{self, ExecuteArgs, InstrumentArgs};
use super::progress::Progress;
use super::{json, trace_options};
use crate::artifact::Artifact;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::explore::frontier::Frontier;
use crate::explore::{Budget, Exploration, Found, Plan, Stop, sample, search};
use crate::outcome::Outcome;
use crate::replay::replay;
use crate::report;
use crate::statistics::Statistics;
use crate::symbols::Symbols;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use coyote_strategies::{self as strategies, Strategy, by_name};
use rand::TryRng;
use std::path::{Path, PathBuf};
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading
    Text,
    /// One JSON document at the end
    Json,
}

/// What all tests of a run have in common.
struct Session<'a> {
    args: &'a Args,
    module: &'a Path,
    artifact: Arc<Artifact>,
    settings: Settings,
    symbols: Symbols,
    seed: u64,
    /// Whether the strategy is a search.
    searching: bool,
    resume: Option<Frontier>,
    budget: Budget,
    options: Vec<(String, String)>,
    interrupted: Arc<AtomicBool>,
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
    let session = Session {
        seed: seed(args, resume.as_ref()),
        resume,
        budget: budget(args, searching)?,
        searching,
        options: trace_options::write(&options, &settings),
        symbols: Symbols::new(&artifact.original),
        interrupted: interruptible()?,
        artifact,
        settings,
        args,
        module,
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

fn file_stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "module".into(), |s| s.to_string_lossy().into_owned())
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
        jobs: args.jobs.map_or(cores, |j| j as usize),
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

impl Session<'_> {
    fn is_text(&self) -> bool {
        self.args.format == Format::Text
    }

    fn headline(&self, tests: &[Test]) {
        if !self.is_text() {
            return;
        }
        let Budget { iterations_max, timeout, .. } = self.budget;
        let mut bounds = Vec::new();
        if iterations_max != u64::MAX {
            let plural = if iterations_max == 1 { "iteration" } else { "iterations" };
            bounds.push(format!("{iterations_max} {plural}"));
        }
        if let Some(timeout) = timeout {
            bounds.push(format!("{} s", timeout.as_secs_f64()));
        }
        println!(
            ". Testing {}: {} {}, strategy {}, seed {}, at most {} each",
            self.module.display(),
            tests.len(),
            if tests.len() == 1 { "test" } else { "tests" },
            self.args.strategy,
            self.seed,
            bounds.join(" or "),
        );
    }

    fn trace_stem(&self, test: &Test) -> PathBuf {
        let safe: String = test
            .name
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' })
            .collect();
        self.args.outdir.join(format!("{}-{safe}", file_stem(self.module)))
    }

    fn explore(&self, test: &Test) -> Result<Exploration> {
        std::fs::create_dir_all(&self.args.outdir)
            .with_context(|| format!("cannot create the directory {}", self.args.outdir.display()))?;
        if self.is_text() {
            println!("... Test {}", test.name);
        }
        let plan = Plan {
            artifact: &self.artifact,
            test,
            settings: &self.settings,
            seed: self.seed,
            budget: self.budget.clone(),
            options: self.options.clone(),
            trace_stem: self.trace_stem(test),
        };
        let name = &self.args.strategy;
        let progress = Progress::new(&test.name, self.budget.iterations_max, !self.is_text());
        let exploration = if self.searching {
            if let (Some(frontier), Some(path)) = (&self.resume, &self.args.resume) {
                frontier.check(path, &plan, name)?;
            }
            search::explore(&plan, name, self.resume.clone(), &self.interrupted, &progress)
        } else {
            let context = self.args.execute.strategy_context();
            let strategy = || -> Box<dyn Strategy> { by_name(name, &context).expect("checked before") };
            sample::explore(&plan, &strategy, &self.interrupted, &progress)
        };
        progress.finish();
        Ok(exploration?)
    }

    /// Replays every bug that was found. What does not replay is our bug, not the guest's.
    fn confirm(&self, test: &Test, exploration: &Exploration) -> Result<Option<String>> {
        for found in &exploration.found {
            let trace = &found.trace;
            let (artifact, settings) = (&self.artifact, &self.settings);
            let replayed = on_engine_thread(|| {
                let mut execution = Execution::new(artifact, test, settings)?;
                replay(&mut execution, trace, false)
            })?;
            if !replayed.reproduces(trace) {
                let how = match replayed.divergence {
                    Some(divergence) => format!("at choice {}: {}", divergence.at, divergence.reason),
                    None => format!("it ended with {:?}", replayed.outcome),
                };
                return Ok(Some(format!(
                    "the bug of iteration {} does not replay from {} {how}",
                    found.iteration,
                    found.path.display()
                )));
            }
        }
        Ok(None)
    }

    fn replay_command(&self, found: &Found) -> String {
        format!("coyote-wasm replay {} {}", shell(self.module), shell(&found.path))
    }

    /// Prints, or collects, what was found.
    fn report(&self, test: &Test, exploration: &Exploration) -> Result<json::Test> {
        for found in &exploration.found {
            let log = report::log::log(&test.name, found, &self.symbols);
            let path = found.path.with_extension("log");
            std::fs::write(&path, &log).with_context(|| format!("cannot write {}", path.display()))?;
            if self.is_text() {
                println!("{}", report::text::verdict(&test.name, found));
                print!("{}", report::text::details(found, &self.symbols));
                let by = found.by.as_ref().map_or(String::new(), |by| format!(" ({by})"));
                let choices = found.trace.decisions.len();
                let what = if self.searching { "execution" } else { "iteration" };
                println!("  found in {what} {}{by}, {choices} choices", found.iteration);
                if self.args.explore {
                    println!("  in {} of all iterations", found.count);
                }
                println!("  trace:  {}", found.path.display());
                println!("  log:    {} (--verbose prints it)", path.display());
                println!("  replay: {}", self.replay_command(found));
                if self.args.verbose {
                    print!("{log}");
                }
            }
        }
        let notes = notes(exploration);
        if self.is_text() {
            match &exploration.searched {
                Some(searched) => print!("{}", report::searched::statistics(exploration, searched)),
                None => print!("{}", exploration.statistics),
            }
            println!("{}", Statistics::elapsed(exploration.iterations(), exploration.elapsed));
            notes.iter().for_each(|note| println!("... {note}"));
        }
        let verdict = verdict(exploration);
        let command = |found: &Found| self.replay_command(found);
        Ok(json::test(&test.name, verdict, exploration, notes, &self.symbols, &command))
    }

    fn conclude(&self, exit: Exit, tests: Vec<json::Test>) -> Result<()> {
        if self.is_text() {
            let buggy: Vec<&str> =
                tests.iter().filter(|t| !t.bugs.is_empty()).map(|t| t.name.as_str()).collect();
            match exit {
                Exit::NothingTested => println!(
                    ". Nothing was tested: no test met a choice, neither of workers nor of values. Does the \
                     guest start workers? Do its scheduling points lie within --points and the filters?"
                ),
                Exit::BugFound => {
                    println!(
                        ". Found bugs in {} of {} tests: {}",
                        buggy.len(),
                        tests.len(),
                        buggy.join(", ")
                    );
                }
                _ => println!(
                    ". No bug found in {} (sequential consistency, virtual time)",
                    count(tests.len())
                ),
            }
            return Ok(());
        }
        let run = json::Run {
            version: env!("CARGO_PKG_VERSION"),
            module: self.module.display().to_string(),
            seed: self.seed,
            strategy: self.args.strategy.clone(),
            tests,
            exit_code: exit as u8,
        };
        println!("{}", serde_json::to_string_pretty(&run)?);
        Ok(())
    }
}

fn count(tests: usize) -> String {
    if tests == 1 { "1 test".into() } else { format!("{tests} tests") }
}

fn verdict(exploration: &Exploration) -> &'static str {
    match () {
        () if !exploration.found.is_empty() => "bug",
        () if !exploration.any_choice => "no choice",
        () => "no bug found",
    }
}

/// What a verdict does not say by itself.
fn notes(exploration: &Exploration) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(searched) = &exploration.searched {
        notes.push(report::searched::verdict(exploration, searched));
    }
    if exploration.found.is_empty() && !exploration.any_choice {
        notes.push(match exploration.workers_max {
            0 | 1 => "This test met no choice: it has one worker and asks for no value.".into(),
            n => format!("This test met no choice, though it has {n} workers."),
        });
    }
    let ended = [&exploration.statistics.fair, &exploration.statistics.unfair]
        .iter()
        .any(|s| s.explored > s.hit_max_steps + s.abandoned);
    if exploration.found.is_empty() && !ended && exploration.searched.is_none() {
        notes.push("No iteration ran to its end: this says nothing about the test.".into());
    }
    if !exploration.shared.0.is_empty() {
        let count = |n: u64, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
        notes.push(format!(
            "Workers share {} of {} bytes; found in {} of iterations.",
            count(exploration.shared.0.len() as u64, "granule"),
            coyote_abi::rt::GRANULE,
            count(exploration.repeats, "repeat"),
        ));
    }
    if exploration.memory_refused {
        notes.push("The guest was refused memory in some iteration: raise --max-memory.".into());
    }
    if let Some(advice) = &exploration.bound {
        notes.push(format!("In some iteration {advice}."));
    }
    if !exploration.left_blocked.is_empty() {
        notes.push(format!(
            "Blocked for ever when a test had ended: {}. This is no bug for detached workers.",
            exploration.left_blocked.join(", ")
        ));
    }
    notes
}

/// A path as a shell takes it.
pub fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
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
