//! `coyote-wasm test`: explore the schedules of a module's tests.

use super::config::{self, ConfigArgs};
use super::configured::Configured;
use super::confirm::{self, Given};
use super::coverage::{self, CoverageFile};
use super::detect::DetectArgs;
pub use super::exploration::DEFAULT_STRATEGY;
use super::exploration::ExplorationArgs;
use super::libtest_args::HarnessArgs;
use super::load::{self, ExecuteArgs, HeapPointsArg, InstrumentArgs};
use super::regressions::Regressions;
use super::report_args::{ReportArgs, interruptible, seconds};
use super::run::{self, Rules};
use super::select::Selection;
use super::session::{Session, TestOptions};
use super::shares::Shares;
use super::units::{Claim, UnitArgs};
use crate::artifact::Artifact;
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
use coyote_instrumenter::Options;
use coyote_strategies as strategies;
use rand::TryRng;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[derive(clap::Args)]
pub struct Args {
    /// The module, as the guest's compiler wrote it (.wasm or .wat)
    #[arg(required_unless_present_any = ["strategy", "faults"])]
    module: Option<PathBuf>,
    #[command(flatten)]
    harness: HarnessArgs,
    /// Arguments of the guest
    #[arg(last = true, help_heading = None::<&str>)]
    arguments: Vec<String>,
    /// Run only these tests [name or glob; can be repeated]
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// List the tests and stop
    #[arg(long)]
    list: bool,
    /// Act as cargo's runner: arguments after MODULE go to the program, and its exit ends all workers
    #[arg(long)]
    runner: bool,
    #[command(flatten)]
    exploration: ExplorationArgs,
    #[command(flatten)]
    detect: DetectArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// Write which lines and functions of the guest were executed, and how often, as a tracefile of lcov
    #[arg(long, value_name = "FILE", conflicts_with = "confirm")]
    coverage: Option<PathBuf>,
    #[command(flatten)]
    execute: ExecuteArgs,
    #[command(flatten)]
    instrument: InstrumentArgs,
    #[command(flatten)]
    units: UnitArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// What these were read from: the subcommand's name and its arguments.
    #[arg(skip)]
    pub line: Vec<OsString>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    let configured = Configured::<Args>::new(&args.line, args.config.file().as_deref())?;
    let args = &configured.all()?;
    if args.exploration.strategy == "list" {
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
    if let Some(trace) = &args.exploration.confirm {
        let given = Given {
            iterations: args.exploration.iterations,
            how: how(args)?,
            files: args.report.files,
            verbose: args.report.verbose,
            detectors: args.detect.detectors()?,
            seed: seed(args, None),
            timeout: args.exploration.timeout.map(|s| seconds("--timeout", s)).transpose()?,
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
        prepare(args, uses, &mut options)?;
    }
    let artifact = load::artifact(module, &options, !args.execute.no_cache)?;
    let harness = artifact.table.libtest;
    let options = test_options(args, module, harness, uses)?;
    let selection = selection(args, &artifact, module, &options);
    if args.list {
        let terse = args.report.format.name == "terse" || args.harness.quiet;
        print!("{}", selection.list(terse, args.report.format.for_programs)?);
        return Ok(Exit::NoBug);
    }
    let resume = match args.exploration.resume.as_deref().map(Frontier::read).transpose()? {
        None => args.units.part()?,
        given => given,
    };
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
    let regressions = match args.exploration.iteration.is_some() || resume_given || args.units.are_given() {
        // They have nothing to do with runs of single iterations, resumed searches or units.
        true => None,
        false => Regressions::of(args.exploration.regressions.as_deref())?,
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
        total_timeout: args.exploration.total_timeout.map(|s| seconds("--total-timeout", s)).transpose()?,
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
        let explored = shares.as_mut().expect("just made").explore(&session, test)?;
        let budget = &session.options_of(test).budget;
        unit.iter().try_for_each(|unit| unit.add(test, budget, &explored.result))?;
        Ok(explored)
    })?;
    if exit != Exit::InternalError {
        let interrupted = session.interrupted.load(Ordering::Relaxed);
        unit.into_iter().try_for_each(|unit| unit.write(interrupted))?;
    }
    Ok(exit)
}

/// Refuses what `run` would refuse of a unit's options and module, before anything is explored.
///
/// # Errors
/// The user's mistake.
pub fn check_unit(matches: &ArgMatches) -> Result<()> {
    let args = Args::from_arg_matches(matches)?;
    let module = args.module.as_deref().context("give the module")?;
    if args.exploration.jobs.is_some() {
        bail!(
            "--jobs: give it to `coyote-wasm campaign work`, whose machines may have other numbers of cores"
        );
    }
    let uses = Uses::of(&load::read(module)?);
    let mut options = args.instrument.options();
    prepare(&args, uses, &mut options)?;
    let artifact = load::artifact(module, &options, !args.execute.no_cache)?;
    let options = test_options(&args, module, artifact.table.libtest, uses)?;
    let tests = selection(&args, &artifact, module, &options).tests()?.tests;
    args.units.check_tests(tests.len(), tests.iter().filter(|test| test.ignored.is_none()).count())
}

/// The tests that the arguments select.
fn selection<'a>(
    args: &'a Args,
    artifact: &'a Arc<Artifact>,
    module: &'a Path,
    options: &'a TestOptions,
) -> Selection<'a> {
    Selection {
        artifact,
        module,
        settings: &options.settings,
        patterns: &args.test,
        harness: &args.harness,
        may_be_empty: args.runner,
    }
}

/// Makes the module tell what the tests with these arguments need to know.
fn prepare(args: &Args, uses: Uses, options: &mut Options) -> Result<()> {
    options.footprints |= strategies::search::rests_on_footprints(&args.exploration.strategy);
    args.detect.prepare(strategies::search::is_search(&args.exploration.strategy), options);
    budgets(args, uses)?.prepare(options);
    Ok(())
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
    let searching = args.exploration.searches(&args.execute.strategy_context())?;
    let island = args.exploration.island;
    if island.is_some() && args.instrument.heap_points == HeapPointsArg::Shared {
        bail!("--island: with --heap-points shared, an iteration depends on those of other islands");
    }
    args.units.check(&args.exploration.strategy, &args.execute.strategy_context(), island, &settings)?;
    settings.check_search(&args.exploration.strategy).map_err(anyhow::Error::msg)?;
    Ok(TestOptions {
        strategy: args.exploration.strategy.clone(),
        searching,
        settings,
        budget: budget(args, searching)?,
        all: args.units.all(args.exploration.iterations),
        how: how(args)?,
        sweep: args.exploration.sweeps().then(|| args.exploration.sweep_samples.unwrap_or(sweep::SAMPLES)),
    })
}

/// Tests of the package under test that this test binary does not contain.
fn not_on_target(module: &Path) -> Option<SourceTests> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")?;
    source_tests::of_binary(module, Path::new(&package)).filter(|found| found.missing() > 0)
}

/// How often each fault may happen in an execution.
fn budgets(args: &Args, uses: Uses) -> Result<Faults> {
    let random = args.execute.random;
    let usual = match strategies::search::is_search(&args.exploration.strategy) || args.exploration.sweeps() {
        true => Uses { random: random == Some(Random::Vary), ..Uses::default() }.budgets(random),
        false => uses.budgets(random),
    };
    let mut faults = args.execute.budgets(usual)?;
    for text in &args.exploration.fault_sweep {
        let given =
            if text.contains('=') { text.clone() } else { format!("{text}={}", sweep::lasting(text)) };
        faults.read(&given).context("--fault-sweep")?;
    }
    if args.exploration.sweeps() && !faults.any() {
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
    if args.exploration.jobs.is_some_and(|jobs| jobs > 1) {
        bail!("--dir: jobs would share the files in the directory; give --jobs 1 or --preload");
    }
    Ok(())
}

/// The seed: the given one, that of the resumed search, a fixed one under CI, else a random one.
fn seed(args: &Args, resume: Option<&Frontier>) -> u64 {
    match args.exploration.seed.or(resume.map(Frontier::seed)) {
        Some(seed) => seed,
        // All units of a campaign have the same seed.
        None if args.units.are_given() => 0,
        None if std::env::var_os("CI").is_some_and(|v| v == "true") => 0,
        None => u64::from(rand::rngs::SysRng.try_next_u32().unwrap_or(0)),
    }
}

fn budget(args: &Args, searching: bool) -> Result<Budget> {
    let total = args.exploration.total_timeout;
    let units = args.units.range(args.exploration.iterations, args.exploration.island)?;
    let timeout = match (args.exploration.timeout, args.exploration.iterations.or(args.exploration.iteration))
    {
        // The speed of the machine must not decide what a unit executes.
        _ if args.units.are_given() => None,
        (Some(given), _) => Some(seconds("--timeout", given)?),
        // A sweep ends by itself.
        (None, None) if total.is_none() && !args.exploration.sweeps() => Some(explore::TIMEOUT),
        (None, _) => None,
    };
    let iterations_max =
        match (args.exploration.iterations, args.exploration.iteration, args.exploration.timeout.or(total)) {
            _ if let Some(range) = &units => range.end - range.start,
            (Some(n), _, _) => n,
            (None, Some(_), _) => 1,
            (None, None, Some(_)) => u64::MAX,
            (None, None, None) if searching || args.exploration.sweeps() => u64::MAX,
            (None, None, None) => explore::ITERATIONS,
        };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    Ok(Budget {
        iterations_max,
        first: units.map_or(args.exploration.iteration.unwrap_or(0), |range| range.start),
        timeout,
        search_memory_bytes: args.exploration.search_memory.map_or_else(default_bound_bytes, |mib| mib << 20),
        bounds_follow: args.execute.max_steps.is_empty(),
        explore: args.exploration.explore || args.exploration.max_bugs.is_some() || args.exploration.sweeps(),
        bugs_max: args.exploration.max_bugs.unwrap_or(u64::MAX),
        check_determinism: args.exploration.check_determinism,
        // Jobs would see each other's files.
        jobs: match args.execute.dir.is_empty() {
            true => args.exploration.jobs.or(args.harness.test_threads).map_or(cores, |j| j as usize),
            false => 1,
        },
        island: args.exploration.island,
        unit: args.units.budget(),
        steer: !args.units.is_part(),
    })
}

/// How a found bug is processed.
fn how(args: &Args) -> Result<How> {
    let how = args.report.how()?;
    // The bugs of a unit are shrunk by `merge`.
    let shrink = how.shrink.filter(|_| !args.units.is_part());
    // A random continuation would draw many of the faults that a sweep allows.
    let experiments = how.experiments.filter(|_| !args.exploration.sweeps() && !args.units.is_part());
    Ok(How { shrink, experiments })
}
