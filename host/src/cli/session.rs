//! A run of `coyote-wasm test`: explores a test and confirms its bugs.

use super::bug_files::BesideTraces;
use super::bundle::Draft;
use super::coverage::CoverageFile;
use super::progress::Progress;
use super::regressions::{self, Regressions};
use super::select::Selected;
use crate::artifact::Artifact;
use crate::diagnose::Teller;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::explain::{How, explain};
use crate::explore::frontier::Frontier;
use crate::explore::regressions::{Tried, try_all};
use crate::explore::rehearsal::rehearse;
use crate::explore::{Budget, Plan, keep, sample, search, sweep, trace_path};
use crate::machine::MachineError;
use crate::module_name;
use crate::replay::replay;
use crate::report::model::RunHeader;
use crate::results::{FoundBug, REGRESSION, Rate, Stop, TestResult};
use crate::source_tests::SourceTests;
use crate::statistics::StepsMax;
use crate::symbols::Symbols;
use anyhow::{Context, Result, bail};
use coyote_strategies::{Context as StrategyContext, Strategy, by_name};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The time that a bug has at least for being minimised and explained, where tests share time.
const EXPLAIN_LEAST: Duration = Duration::from_millis(500);

/// The settings and state that all tests of a run share.
pub struct Session<'a> {
    pub module: &'a Path,
    pub outdir: &'a Path,
    /// Whether no progress is shown.
    pub quiet: bool,
    pub artifact: Arc<Artifact>,
    pub symbols: Symbols,
    pub seed: u64,
    /// Whether a search continues from a frontier; and the frontier, until the search has taken it.
    pub resuming: bool,
    pub resume: RefCell<Option<Frontier>>,
    /// The time for all tests together.
    pub total_timeout: Option<Duration>,
    /// The files that are written beside a bug's trace.
    pub files: BesideTraces,
    pub interrupted: Arc<AtomicBool>,
    pub options: TestOptions,
    /// Tests with options of their own, by name.
    pub own: BTreeMap<String, TestOptions>,
    /// Tests of the sources that the module does not contain because of its target.
    pub not_on_target: Option<SourceTests>,
    /// The directory of kept traces, which are tried first, if there is one.
    pub regressions: Option<Regressions>,
    /// The bundle to be written, if one is requested.
    pub bundle: Option<Draft>,
    /// The coverage file, if one is requested.
    pub coverage: Option<CoverageFile>,
    /// Creates the stories of all bugs. It is made for the first bug, since it reads the module's debug information.
    pub teller: RefCell<Option<Teller>>,
}

/// How a test is explored.
pub struct TestOptions {
    pub strategy: String,
    /// Whether the strategy is a search.
    pub searching: bool,
    pub settings: Settings,
    pub budget: Budget,
    /// The number of iterations of the whole run, if the budget is that of a part and the number is known.
    pub all: Option<u64>,
    /// How a found bug is processed.
    pub how: How,
    /// In a sweep of faults: the number of schedules of the strategy after each fault.
    pub sweep: Option<u64>,
}

impl Session<'_> {
    /// How this test is explored.
    pub fn options_of(&self, test: &Test) -> &TestOptions {
        self.own.get(&test.name).unwrap_or(&self.options)
    }

    /// The header of the run, which is known before the first test.
    pub fn header(&self, selected: &Selected) -> RunHeader {
        RunHeader {
            version: env!("CARGO_PKG_VERSION"),
            module: self.module.display().to_string(),
            seed: self.seed,
            strategy: self.strategies(selected),
            tests: selected.tests.len(),
            filtered_out: selected.filtered_out,
            iterations_max: self.options.budget.iterations_max,
            timeout: self.options.budget.timeout,
            total_timeout: self.total_timeout,
            explore: self.options.budget.explore,
            not_on_target: self.not_on_target.clone(),
        }
    }

    /// The strategies of the selected tests.
    fn strategies(&self, selected: &Selected) -> String {
        let mut all: Vec<&str> = Vec::new();
        for to_run in &selected.tests {
            let name = self.options_of(&to_run.test).strategy.as_str();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        if all.is_empty() { self.options.strategy.clone() } else { all.join(", ") }
    }

    /// The prefix of the names of a test's traces.
    pub fn trace_stem(&self, test: &Test) -> PathBuf {
        let safe = module_name::of_test(&test.name);
        let stem = module_name::stem(self.module);
        self.outdir.join(format!("{stem}-{safe}"))
    }

    /// The plan for exploring a test. Creates the directory for its traces.
    fn plan<'a>(&'a self, test: &'a Test, budget: &Budget) -> Result<Plan<'a>> {
        std::fs::create_dir_all(self.outdir)
            .with_context(|| format!("cannot create the directory {}", self.outdir.display()))?;
        // Before hours of exploration, not after.
        tempfile::tempfile_in(self.outdir)
            .with_context(|| format!("cannot write into the directory {}", self.outdir.display()))?;
        Ok(Plan {
            artifact: &self.artifact,
            test,
            settings: &self.options_of(test).settings,
            seed: self.seed,
            budget: budget.clone(),
            trace_stem: self.trace_stem(test),
        })
    }

    /// Completes a result that other processes have explored as [`Session::explore`] would: writes the traces of its
    /// bugs to disk and, if the result is complete, adds what follows from all of it.
    pub fn adopt(&self, test: &Test, mut result: TestResult) -> Result<TestResult> {
        let options = self.options_of(test);
        let plan = self.plan(test, &options.budget)?;
        for found in &mut result.bugs {
            found.path = trace_path(&plan.trace_stem, found.by.as_deref(), found.iteration);
            found.trace.write(&found.path)?;
        }
        if result.search.is_some() {
            search::complete(&plan, &mut result);
        } else if options.budget.steer && result.missing.is_empty() {
            sample::steer(&plan, &mut result, &self.interrupted)?;
        }
        Ok(result)
    }

    pub fn explore(&self, test: &Test, budget: &Budget) -> Result<TestResult> {
        let options = self.options_of(test);
        let plan = self.plan(test, budget)?;
        let name = options.strategy.as_str();
        let regressed = self.try_regressions(&plan)?;
        if !regressed.is_empty() && !budget.explore {
            let steps_max = options.settings.limits.into();
            let mut result = TestResult::new(plan.subject(name.into()), steps_max, false);
            result.stop = Stop::Bug;
            let regressed = regressed.into_iter().next().expect("it is not empty");
            result.any_choice = regressed.trace.switches() > 0;
            keep(&mut result, regressed)?;
            return Ok(result);
        }
        rehearse(&plan, &self.interrupted);
        let progress = Progress::new(&test.name, budget.iterations_max, budget.timeout, self.quiet);
        let result = if options.searching {
            let settings = plan.settings.in_search(plan.artifact);
            let plan = plan.with(&settings);
            let resume = self.resume.borrow_mut().take();
            match &resume {
                Some(frontier) => frontier.check(&plan, name)?,
                None if self.resuming => bail!("--resume continues one test: select it with --test"),
                None => {}
            }
            search::explore(&plan, name, resume, &self.interrupted, &progress)
        } else {
            let strategy = |context: &StrategyContext| -> Box<dyn Strategy> {
                by_name(name, context).expect("checked before")
            };
            match options.sweep {
                Some(samples) => sweep::explore(&plan, samples, &strategy, &self.interrupted, &progress),
                None => sample::explore(&plan, &strategy, &self.interrupted, &progress),
            }
        };
        progress.finish();
        let mut result = result?;
        for found in regressed {
            keep(&mut result, found)?;
        }
        Ok(result)
    }

    /// The bugs that kept traces still reproduce. Prints a note for each trace that is of no use.
    fn try_regressions(&self, plan: &Plan) -> Result<Vec<FoundBug>> {
        let Some(directory) = &self.regressions else { return Ok(Vec::new()) };
        let kept = directory.read(self.module, plan.test)?;
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        let interrupted = &*self.interrupted;
        let tried = on_engine_thread(|| try_all(plan, &kept, interrupted))?;
        regressions::say(&kept, &tried);
        Ok(tried
            .into_iter()
            .filter_map(|tried| if let Tried::Fails(found) = tried { Some(*found) } else { None })
            .collect())
    }

    /// Keeps the traces of all bugs that were found.
    pub fn keep(&self, test: &Test, result: &TestResult) -> Result<()> {
        let Some(directory) = &self.regressions else { return Ok(()) };
        result.bugs.iter().try_for_each(|found| directory.keep(self.module, test, found))
    }

    /// The settings with which the test was executed: the exploration may have raised the bounds on steps.
    fn settings_of(&self, test: &Test, result: &TestResult) -> Settings {
        let mut settings = self.options_of(test).settings.clone();
        if result.search.is_none() {
            let StepsMax { unfair, fair } = result.statistics.steps_max;
            (settings.limits.unfair_steps_max, settings.limits.fair_steps_max) = (unfair, fair);
        }
        settings
    }

    /// Shrinks and explains every bug that was found. `until`: the end of the time that the test has for this, if there is
    /// one.
    pub fn explain(&self, test: &Test, result: &mut TestResult, until: Option<Instant>) -> Result<()> {
        let explored = result.iterations();
        let settings = self.settings_of(test, result);
        for found in &mut result.bugs {
            let is_regression = found.by.as_ref().is_some_and(|by| by.starts_with(REGRESSION));
            let rate = (!is_regression).then_some(Rate { bugs: found.count, of: explored });
            let (artifact, how) = (&self.artifact, self.options_of(test).how);
            let left = |until: Instant| until.saturating_duration_since(Instant::now()).max(EXPLAIN_LEAST);
            let how = until.map_or(how, |until| how.within(left(until)));
            let interrupted = &*self.interrupted;
            let settings = settings.watched_as(&found.trace);
            on_engine_thread(|| explain(artifact, test, &settings, found, rate, how, interrupted))?;
        }
        Ok(())
    }

    /// Replays every bug that was found, and creates its story. A bug that does not replay is a bug of this tool, not
    /// of the guest.
    pub fn confirm(&self, test: &Test, result: &mut TestResult) -> Result<Option<String>> {
        let settings = &self.settings_of(test, result);
        let mut teller = self.teller.borrow_mut();
        for found in &mut result.bugs {
            let (artifact, module) = (&self.artifact, self.module);
            let with_history = self.files.any();
            let teller =
                teller.get_or_insert_with(|| Teller::new(artifact, module).with_history(with_history));
            let settings = settings.watched_as(&found.trace);
            let replayed = on_engine_thread(|| -> Result<_, MachineError> {
                let mut execution = Execution::new(artifact, test, &settings)?;
                let replayed = replay(&mut execution, &found.trace, false)?;
                if replayed.reproduces(&found.trace) {
                    teller.tell(&mut execution, found)?;
                }
                Ok(replayed)
            })?;
            let trace = &found.trace;
            if !replayed.reproduces(trace) {
                let how = match replayed.divergence {
                    Some(divergence) => format!("at choice {}: {}", divergence.at + 1, divergence.reason),
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
}
