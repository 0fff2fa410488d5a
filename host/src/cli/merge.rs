//! `coyote-wasm merge`: merges the results of the parts of a run and reports them as one run.
//!
//! Merged results are processed like those of an exploration by `test`: the loop over the tests, the shrinking and the
//! replays of bugs, and the renderers are the same (`cli::run`).

use super::load;
use super::report_args::{ReportArgs, interruptible};
use super::run::{self, Rules};
use super::select::{Selected, ToRun};
use super::session::{Session, TestOptions};
use super::units::{check_directory, error_of, hash};
use crate::artifact::Artifact;
use crate::execution::Settings;
use crate::exit::Exit;
use crate::explain::How;
use crate::explore::Budget;
use crate::libtest;
use crate::options;
use crate::results::TestResult;
use crate::symbols::Symbols;
use crate::units::{Campaign, CampaignTest, Results};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The extension of the files that are read from a directory.
const EXTENSION: &str = "result";

#[derive(clap::Args)]
pub struct Args {
    /// Files that `test --result` or `merge --result` wrote; a directory stands for its files that end with .result
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// The module that was explored [default: the path that `test` was given]
    #[arg(long, value_name = "FILE")]
    module: Option<PathBuf>,
    /// Write the merged results into this file, to be merged again; bugs are then neither shrunk nor explained
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    /// Do not use the artifact cache
    #[arg(long)]
    no_cache: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// Results cannot be read or do not belong together, and the errors of `test`.
pub fn run(args: &Args) -> Result<Exit> {
    args.result.as_deref().map_or(Ok(()), check_directory)?;
    let results = united(&files(&args.results)?)?;
    let totals = results.campaign.tests.iter().map(|test| (test.name.clone(), results.total(test))).collect();
    let merged = Merged { campaign: &results.campaign, path: &results.path, totals };
    merged.report(args, || args.result.as_deref().map_or(Ok(()), |path| Ok(results.write(path)?)))
}

/// Reports the result of a search, which a campaign has put together.
///
/// # Errors
/// The module is not that of the results, and the errors of `test`.
pub fn run_search(args: &Args, campaign: Campaign, path: PathBuf, result: TestResult) -> Result<Exit> {
    if args.result.is_some() {
        bail!("--result: the results of a search are not merged again");
    }
    let totals = BTreeMap::from([(result.subject.test.clone(), result)]);
    Merged { campaign: &campaign, path: &path, totals }.report(args, || Ok(()))
}

/// Merged results of a campaign.
struct Merged<'a> {
    campaign: &'a Campaign,
    /// The module's path, as some unit was given it.
    path: &'a Path,
    /// The result of each test.
    totals: BTreeMap<String, TestResult>,
}

impl Merged<'_> {
    /// Reports them. `write` is called once they are known to fit the module.
    fn report(&self, args: &Args, write: impl FnOnce() -> Result<()>) -> Result<Exit> {
        let Merged { campaign, path, totals } = self;
        let module = args.module.as_deref().unwrap_or(path);
        let artifact = artifact(campaign, module, !args.no_cache)?;
        write()?;
        let how = match args.result {
            Some(_) => How { shrink: None, experiments: None },
            None => args.report.how()?,
        };
        let mut own = BTreeMap::new();
        for test in &campaign.tests {
            let total = &totals[&test.name];
            own.insert(test.name.clone(), test_options(test, total, how, args.result.is_none())?);
        }
        let first = campaign.tests.first().context("the results contain no test")?;
        let options = test_options(first, &totals[&first.name], how, false)?;
        let harness = artifact.table.libtest;
        let selected = selected(campaign, &artifact)?;
        let session = Session {
            module,
            outdir: &args.report.outdir(module),
            quiet: args.report.format.for_programs || harness,
            seed: campaign.seed,
            resuming: false,
            resume: None.into(),
            total_timeout: None,
            symbols: Symbols::new(&artifact.original),
            files: args.report.files,
            interrupted: interruptible()?,
            artifact: artifact.clone(),
            options: TestOptions { strategy: campaign.strategy.clone(), ..options },
            own,
            regressions: None,
            not_on_target: campaign.not_on_target.clone(),
            bundle: args.report.bundle(module)?,
            coverage: None,
            teller: None.into(),
        };
        let mut outputs = args.report.outputs(None, harness, module)?;
        let rules = Rules { fail_fast: false, needs_no_choice: campaign.needs_no_choice };
        run::run(&session, &selected, &rules, &mut outputs, &mut |test| {
            Ok(session.adopt(test, totals[&test.name].clone())?.into())
        })
    }
}

/// The given files, and those of given directories in the order of their names.
fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let cannot = || format!("cannot read the directory {}", path.display());
        let before = files.len();
        for entry in std::fs::read_dir(path).with_context(cannot)? {
            let file = entry.with_context(cannot)?.path();
            files.extend(Some(file).filter(|file| file.extension().is_some_and(|e| e == EXTENSION)));
        }
        if files.len() == before {
            bail!("{} has no file that ends with .{EXTENSION}", path.display());
        }
        files[before..].sort();
    }
    Ok(files)
}

/// Merges all results.
fn united(files: &[PathBuf]) -> Result<Results> {
    let (first, others) = files.split_first().context("give results that `test --result` wrote")?;
    let mut results = Results::read(first)?;
    for file in others {
        let other = Results::read(file)?;
        let named = || format!("{} does not fit {} and the files between", file.display(), first.display());
        results.unite(other).map_err(error_of).with_context(named)?;
    }
    Ok(results)
}

/// The module of the results, instrumented with the same options.
fn artifact(campaign: &Campaign, module: &Path, cached: bool) -> Result<Arc<Artifact>> {
    let build = crate::artifact::build();
    if campaign.build != build {
        bail!(
            "the results are of build {} of coyote-wasm, and this one is {build}: merge them with the one that wrote them",
            campaign.build
        );
    }
    let wasm = load::read(module).context("--module names the module of the results")?;
    if hash(&wasm) != campaign.module {
        bail!("{} is not the module of the results: give that module with --module", module.display());
    }
    load::artifact(module, &campaign.options, cached)
}

/// The tests in the order in which they were selected.
fn selected(campaign: &Campaign, artifact: &Artifact) -> Result<Selected> {
    let to_run = |test: &CampaignTest| {
        let found = libtest::named(&artifact.table, &test.name);
        let found = found.with_context(|| format!("the module has no test {}", test.name))?;
        Ok(ToRun { test: found, ignored: test.ignored.clone() })
    };
    let tests = campaign.tests.iter().map(to_run).collect::<Result<_>>()?;
    Ok(Selected { tests, filtered_out: campaign.filtered_out })
}

/// How a test was explored, according to its results.
fn test_options(test: &CampaignTest, total: &TestResult, how: How, steer: bool) -> Result<TestOptions> {
    let (_, mut settings) = options::read(&total.subject.options)?;
    open_world(&mut settings)?;
    let budget = Budget {
        iterations_max: test.iterations.unwrap_or(u64::MAX),
        timeout: None,
        island: test.island,
        explore: test.explore,
        check_determinism: test.check_determinism,
        steer,
        ..Budget::default()
    };
    let (strategy, all) = (test.strategy.clone(), test.iterations);
    let searching = total.search.is_some();
    Ok(TestOptions { strategy, searching, settings, budget, all, how, sweep: None })
}

/// Loads the files with which the test was explored.
fn open_world(settings: &mut Settings) -> Result<()> {
    let world = Arc::make_mut(&mut settings.world);
    let recorded = world.preload_hash.take();
    world.open(settings.memory_bytes_max).context("the files that --preload named")?;
    if world.preload_hash != recorded {
        let names: Vec<String> = world.preloads.iter().map(|p| p.host.display().to_string()).collect();
        bail!(
            "{} does not hold the files with which the results were made: restore them",
            names.join(" or ")
        );
    }
    Ok(())
}
