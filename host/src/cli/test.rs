//! `coyote-wasm test`: explore the schedules of a module's tests.

use super::config::{self, Config};
use super::configured::Configured;
use super::confirm::{self, Given};
use super::coverage::{self, CoverageFile};
use super::detect::DetectArgs;
use super::libtest_args::HarnessArgs;
use super::load::{self, ExecuteArgs, InstrumentArgs};
use super::regressions::Regressions;
use super::report_args::{ReportArgs, interruptible, seconds};
use super::run::{self, Rules};
use super::select::Selection;
use super::session::{Session, TestOptions};
use super::shares::Shares;
use super::units::{Claim, UnitArgs};
use super::values::positive;
use crate::execution::Execution;
use crate::exit::Exit;
use crate::explain::How;
use crate::explore::frontier::Frontier;
use crate::explore::memory::default_bound_bytes;
use crate::explore::{self, Budget, sweep};
use crate::module_name;
use crate::runtime::{FAULTS, FaultRow, Faults};
use crate::source_tests::{self, SourceTests};
use crate::symbols::Symbols;
use crate::uses::{Random, Uses};
use anyhow::{Context, Result, bail};
use clap::{ArgMatches, FromArgMatches};
use coyote_strategies::{self as strategies, by_name};
use rand::TryRng;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Default of `--strategy`.
pub const DEFAULT_STRATEGY: &str = "portfolio";

#[derive(clap::Args)]
pub struct Args {
    /// The module, as the guest's compiler wrote it (.wasm or .wat)
    #[arg(required_unless_present_any = ["strategy", "faults"])]
    module: Option<PathBuf>,
    #[command(flatten)]
    detect: DetectArgs,
    #[command(flatten)]
    harness: HarnessArgs,
    /// Arguments of the guest
    #[arg(last = true)]
    arguments: Vec<String>,
    /// Act as cargo's runner: arguments after MODULE go to the program, and its exit ends all workers
    #[arg(long)]
    runner: bool,
    /// Run only these tests [name or glob; can be repeated]
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// List the tests and stop
    #[arg(long)]
    list: bool,
    /// Iterations of each test [default: 10000, or no bound if --timeout is given]
    #[arg(short, long, value_name = "N", value_parser = positive)]
    iterations: Option<u64>,
    /// Seconds for each test [default: 10, or no bound if --iterations is given]
    #[arg(short, long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Seconds for all tests together, shared by the tests with more than one schedule
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    total_timeout: Option<f64>,
    /// How schedules are chosen: NAME[:PARAMETER]..., `list` shows all
    #[arg(short, long, default_value = DEFAULT_STRATEGY, value_name = "NAME")]
    strategy: String,
    /// Continue a search from this frontier [a search that stops early writes one to the output directory]
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Memory in MiB at which a search stops and writes its frontier [default: half of the machine's memory; only on
    /// Linux]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    search_memory: Option<u64>,
    /// Seed of all choices [default: random, or 0 if the environment says CI=true, and for a part of the iterations]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run this iteration alone: reproduces it without a trace
    #[arg(long, value_name = "K", conflicts_with = "iterations")]
    iteration: Option<u64>,
    /// Check whether a fixed module still has the bug of this trace: execute its schedule, and as many iterations as find
    /// a bug of its frequency with a probability of 95 %. Test, strategy and options are those of the trace, which may be
    /// in a bundle: FILE or FILE/NAME
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["strategy", "test", "resume", "iteration", "explore"])]
    confirm: Option<PathBuf>,
    /// Try every fault of these classes in turn: at each opportunity of the default schedule, first a single fault, then
    /// a fault at this and every later opportunity, at most N [default of N: 100, of crashes 2; classes: --faults list]
    #[arg(long, value_name = "CLASS[=N]", value_delimiter = ',',
          conflicts_with_all = ["faults", "spurious_wakeups", "failing_try_locks", "resume", "confirm"])]
    fault_sweep: Vec<String>,
    /// Schedules of the strategy after each fault of a sweep, beside the default one [default: 4]
    #[arg(long, value_name = "S", requires = "fault_sweep")]
    sweep_samples: Option<u64>,
    /// Go on after a bug, group equal bugs and keep the trace of each with the fewest switches
    #[arg(long)]
    explore: bool,
    /// As --explore, until there are N different bugs
    #[arg(long, value_name = "N", value_parser = positive)]
    max_bugs: Option<u64>,
    /// Execute every iteration twice more and compare all states, which takes some 5 times as long: a
    /// difference is an internal error
    #[arg(long)]
    check_determinism: bool,
    /// Parallel jobs; verdicts and counts do not depend on their number
    /// [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    #[command(flatten)]
    report: ReportArgs,
    /// Keep the traces of found bugs in this directory, and try them first on each later run of their tests; `off` for none
    /// [default: coyote-regressions, if there is such a directory]
    #[arg(long, value_name = "DIR|off")]
    regressions: Option<PathBuf>,
    /// Write which lines and functions of the guest were executed, and how often, as a tracefile of lcov
    #[arg(long, value_name = "FILE", conflicts_with = "confirm")]
    coverage: Option<PathBuf>,
    #[command(flatten)]
    units: UnitArgs,
    /// Read options from this file [default: coyote.toml of this directory or the nearest above it]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no coyote.toml
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
    #[command(flatten)]
    instrument: InstrumentArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
    /// What these were read from: the subcommand's name and its arguments.
    #[arg(skip)]
    pub line: Vec<OsString>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    let file = args.config.clone().or_else(|| if args.no_config { None } else { Config::find() });
    let configured = Configured::<Args>::new(&args.line, file.as_deref())?;
    let args = &configured.all()?;
    if args.strategy == "list" {
        print!("{}", strategies::catalog::table::listing());
        return Ok(Exit::NoBug);
    }
    if args.execute.faults == ["list"] {
        print!("{}", listing());
        return Ok(Exit::NoBug);
    }
    let Some(module) = &args.module else {
        bail!("give a module to test, such as `coyote-wasm test test.wasm`");
    };
    if let Some(trace) = &args.confirm {
        let given = Given {
            iterations: args.iterations,
            how: how(args)?,
            files: args.report.files,
            verbose: args.report.verbose,
            seed: seed(args, None),
            timeout: args.timeout.map(|s| seconds("--timeout", s)).transpose()?,
            jobs: budget(args, false)?.jobs,
            outdir: &args.report.outdir(module),
            interrupted: interruptible()?,
        };
        return confirm::run(module, trace, &given);
    }
    // Held until the end of the run.
    let _claim = match args.units.claim()? {
        Claim::Taken => return Ok(Exit::Again),
        held => held,
    };
    let original = load::read(module)?;
    let uses = Uses::of(&original);
    let mut options = args.instrument.options();
    if args.coverage.is_some() && !args.list {
        options.counted = coverage::counted(module, &original)?;
    }
    for args in configured.of_some_tests()?.iter().chain([args]) {
        options.footprints |= strategies::search::rests_on_footprints(&args.strategy);
        args.detect.prepare(strategies::search::is_search(&args.strategy), &mut options);
        budgets(args, uses)?.prepare(&mut options);
    }
    let artifact = load::artifact(module, &options, !args.execute.no_cache)?;
    let harness = artifact.table.libtest;
    let options = test_options(args, module, harness, uses)?;
    let selection = Selection {
        artifact: &artifact,
        module,
        settings: &options.settings,
        patterns: &args.test,
        harness: &args.harness,
        may_be_empty: args.runner,
    };
    if args.list {
        let terse = args.report.format.name == "terse" || args.harness.quiet;
        print!("{}", selection.list(terse, args.report.format.for_programs)?);
        return Ok(Exit::NoBug);
    }
    let resume = args.resume.as_deref().map(Frontier::read).transpose()?;
    let resume_given = resume.is_some();
    let mut selected = selection.tests()?;
    if let Some(frontier) = &resume
        && args.test.is_empty()
    {
        selected.tests.retain(|t| t.test.name == frontier.test());
    }
    let mut own = BTreeMap::new();
    for test in &selected.tests {
        let name = &test.test.name;
        if let Some(args) = configured.of_test(name)? {
            let named = || format!("{}, test {name}", config::NAME);
            own.insert(name.clone(), test_options(&args, module, harness, uses).with_context(named)?);
        }
    }
    for options in own.values().chain([&options]) {
        check_directories(args, options)?;
    }
    say(&configured, own.keys());
    // Cargo runs several modules with one file, and each has other tests: `doctor` compares with all of them.
    if !args.runner {
        for said in configured.without_test(|| selection.all())? {
            eprintln!("warning: {said}");
        }
    }
    let regressions = match args.iteration.is_some() || resume_given || args.units.are_given() {
        // They have nothing to do with runs of single iterations, resumed searches or units.
        true => None,
        false => Regressions::of(args.regressions.as_deref())?,
    };
    if let Some(kept) = &regressions {
        kept.say_without_test(module, &|| selection.all())?;
    }
    let mut outputs = args.report.outputs(Some(&args.harness), harness, module)?;
    let outdir = args.report.outdir(module);
    let session = Session {
        module,
        outdir: &outdir,
        quiet: args.report.format.for_programs || harness,
        seed: seed(args, resume.as_ref()),
        resuming: resume.is_some(),
        resume: resume.into(),
        total_timeout: args.total_timeout.map(|s| seconds("--total-timeout", s)).transpose()?,
        symbols: Symbols::new(&artifact.original),
        files: args.report.files,
        interrupted: interruptible()?,
        artifact: artifact.clone(),
        options,
        own,
        regressions,
        not_on_target: if harness { not_on_target(module) } else { None },
        bundle: args.report.bundle(module)?,
        coverage: args
            .coverage
            .as_deref()
            .map(|path| CoverageFile::create(&super::output::file_of(path, module)))
            .transpose()?,
        teller: None.into(),
    };
    // Under cargo, tests with nothing to explore count as a success, even if these are all tests.
    let rules = Rules { fail_fast: args.harness.fail_fast, needs_no_choice: args.runner || harness };
    let unit = args.units.draft(&session, &selected, &rules)?;
    let mut shares = None;
    let exit = run::run(&session, &selected, &rules, &mut outputs, &mut |test| {
        if shares.is_none() {
            let to_explore = selected.tests.iter().filter(|t| t.ignored.is_none()).map(|t| &t.test);
            shares = Some(Shares::new(&session, &to_explore.collect::<Vec<_>>())?);
        }
        let result = shares.as_mut().expect("just made").explore(&session, test)?;
        unit.iter().try_for_each(|unit| unit.add(test, &session.options_of(test).budget, &result))?;
        Ok(result)
    })?;
    if exit != Exit::InternalError {
        let interrupted = session.interrupted.load(Ordering::Relaxed);
        unit.into_iter().try_for_each(|unit| unit.write(interrupted))?;
    }
    Ok(exit)
}

/// Refuses the options of a unit that `run` would refuse, before anything is explored.
///
/// # Errors
/// The user's mistake.
pub fn check_unit(matches: &ArgMatches) -> Result<()> {
    let args = Args::from_arg_matches(matches)?;
    let module = args.module.as_deref().context("give the module")?;
    if args.jobs.is_some() {
        bail!(
            "--jobs: give it to `coyote-wasm campaign work`, whose machines may have other numbers of cores"
        );
    }
    let uses = Uses::of(&load::read(module)?);
    test_options(&args, module, false, uses).map(|_| ())
}

/// How the tests are explored that have these options.
fn test_options(args: &Args, module: &Path, harness: bool, uses: Uses) -> Result<TestOptions> {
    let mut arguments = vec![module_name::stem(module)];
    arguments.extend(args.arguments.iter().cloned());
    let mut execute = args.execute.clone();
    execute.env.extend(uses.environment(&args.execute.env));
    let mut settings = execute.settings(arguments, args.runner || harness)?;
    args.detect.apply(&mut settings.detectors)?;
    settings.faults = budgets(args, uses)?;
    let searching = searches(args)?;
    args.units.check(&args.strategy, &args.execute.strategy_context(), &settings)?;
    settings.check_search(&args.strategy).map_err(anyhow::Error::msg)?;
    Ok(TestOptions {
        strategy: args.strategy.clone(),
        searching,
        settings,
        budget: budget(args, searching)?,
        all: args.units.all(args.iterations),
        how: how(args)?,
        sweep: sweeping(args).then(|| args.sweep_samples.unwrap_or(sweep::SAMPLES)),
    })
}

/// Tests of the package under test that this test binary does not contain.
fn not_on_target(module: &Path) -> Option<SourceTests> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")?;
    source_tests::of_binary(module, Path::new(&package)).filter(|found| found.missing() > 0)
}

fn sweeping(args: &Args) -> bool {
    !args.fault_sweep.is_empty()
}

/// How often each fault may happen in an execution.
fn budgets(args: &Args, uses: Uses) -> Result<Faults> {
    let random = args.execute.random;
    let usual = match strategies::search::is_search(&args.strategy) || sweeping(args) {
        true => Uses { random: random == Some(Random::Vary), ..Uses::default() }.budgets(random),
        false => uses.budgets(random),
    };
    let mut faults = args.execute.budgets(usual)?;
    for text in &args.fault_sweep {
        let given =
            if text.contains('=') { text.clone() } else { format!("{text}={}", sweep::lasting(text)) };
        faults.read(&given).context("--fault-sweep")?;
    }
    if sweeping(args) && !faults.any() {
        bail!("--fault-sweep: with 0 faults there is nothing to sweep");
    }
    Ok(faults)
}

/// Prints the options that `coyote.toml` adds: a verdict refers to options, and these are not on the command line.
fn say<'a>(configured: &Configured<Args>, tests: impl Iterator<Item = &'a String>) {
    if let Some(said) = configured.said(None) {
        eprintln!("note: options of {said}");
    }
    for name in tests {
        if let Some(said) = configured.said(Some(name)) {
            eprintln!("note: options of test {name}, of {said}");
        }
    }
}

/// The classes of faults, as `--faults list` prints them.
fn listing() -> String {
    let line = |row: &FaultRow| {
        format!("{:10} {}; at {} [budget if none is given: {}]\n", row.name, row.does, row.at, row.usual)
    };
    FAULTS.iter().map(line).collect()
}

/// Checks the restrictions of `--dir`: directories of the host can be neither restored nor shared.
fn check_directories(args: &Args, options: &TestOptions) -> Result<()> {
    if options.settings.world.directories.is_empty() {
        return Ok(());
    }
    if options.searching {
        bail!(
            "--dir: a search returns to earlier states, and a directory of the host has none; give --preload \
             instead, or a strategy that is no search"
        );
    }
    if options.budget.check_determinism {
        bail!("--dir: a repeated iteration does not find the directory unchanged; give --preload instead");
    }
    if args.jobs.is_some_and(|jobs| jobs > 1) {
        bail!("--dir: jobs would share the files in the directory; give --jobs 1 or --preload");
    }
    Ok(())
}

/// The seed: the given one, that of the resumed search, a fixed one under CI, else a random one.
fn seed(args: &Args, resume: Option<&Frontier>) -> u64 {
    match args.seed.or(resume.map(Frontier::seed)) {
        Some(seed) => seed,
        // All units of a campaign have the same seed.
        None if args.units.are_given() => 0,
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
        if sweeping(args) {
            bail!(
                "--fault-sweep follows the default schedule; {} tries all faults with all schedules by itself: give \
                 --faults instead",
                args.strategy
            );
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
            bail!("--resume continues a search, and {} is none: give a search", args.strategy);
        }
    }
    Ok(searching)
}

fn budget(args: &Args, searching: bool) -> Result<Budget> {
    let total = args.total_timeout;
    let units = args.units.range(args.iterations)?;
    let timeout = match (args.timeout, args.iterations.or(args.iteration)) {
        // The speed of the machine must not decide what a unit executes.
        _ if units.is_some() => None,
        (Some(given), _) => Some(seconds("--timeout", given)?),
        // A sweep ends by itself.
        (None, None) if total.is_none() && !sweeping(args) => Some(explore::TIMEOUT),
        (None, _) => None,
    };
    let iterations_max = match (args.iterations, args.iteration, args.timeout.or(total)) {
        _ if let Some(range) = &units => range.end - range.start,
        (Some(n), _, _) => n,
        (None, Some(_), _) => 1,
        (None, None, Some(_)) => u64::MAX,
        (None, None, None) if searching || sweeping(args) => u64::MAX,
        (None, None, None) => explore::ITERATIONS,
    };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    Ok(Budget {
        iterations_max,
        first: units.map_or(args.iteration.unwrap_or(0), |range| range.start),
        timeout,
        search_memory_bytes: args.search_memory.map_or_else(default_bound_bytes, |mib| mib << 20),
        bounds_follow: args.execute.max_steps.is_empty(),
        explore: args.explore || args.max_bugs.is_some() || sweeping(args),
        bugs_max: args.max_bugs.unwrap_or(u64::MAX),
        check_determinism: args.check_determinism,
        // Jobs would see each other's files.
        jobs: match args.execute.dir.is_empty() {
            true => args.jobs.or(args.harness.test_threads).map_or(cores, |j| j as usize),
            false => 1,
        },
        steer: !args.units.is_part(),
    })
}

/// How a found bug is processed.
fn how(args: &Args) -> Result<How> {
    let how = args.report.how()?;
    // The bugs of a unit are shrunk by `merge`.
    let shrink = how.shrink.filter(|_| !args.units.is_part());
    // A random continuation would draw many of the faults that a sweep allows.
    let experiments = how.experiments.filter(|_| !sweeping(args) && !args.units.is_part());
    Ok(How { shrink, experiments })
}
