//! One run of `coyote-wasm test`: how a test is explored, and its bugs are confirmed.

use super::bug_files::BesideTraces;
use super::progress::Progress;
use super::select::Selected;
use crate::artifact::Artifact;
use crate::diagnose::Teller;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::explain::{How, explain};
use crate::explore::frontier::Frontier;
use crate::explore::{Budget, Plan, sample, search};
use crate::machine::MachineError;
use crate::replay::replay;
use crate::report::model::RunHeader;
use crate::results::{Rate, TestResult};
use crate::symbols::Symbols;
use anyhow::{Context, Result, bail};
use coyote_strategies::{Context as StrategyContext, Strategy, by_name};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What all tests of a run have in common.
pub struct Session<'a> {
    pub module: &'a Path,
    pub outdir: &'a Path,
    /// Whether progress is shown on a terminal alone.
    pub quiet: bool,
    pub artifact: Arc<Artifact>,
    pub symbols: Symbols,
    pub seed: u64,
    /// Whether a search goes on with a frontier, and that one, until the search has it.
    pub resuming: bool,
    pub resume: RefCell<Option<Frontier>>,
    /// For all tests together.
    pub total_timeout: Option<Duration>,
    /// What is written beside a bug's trace.
    pub files: BesideTraces,
    pub interrupted: Arc<AtomicBool>,
    pub options: TestOptions,
    /// Tests with options of their own, by name.
    pub own: BTreeMap<String, TestOptions>,
}

/// How a test is explored.
pub struct TestOptions {
    pub strategy: String,
    /// What the strategy has to know of the other options.
    pub context: StrategyContext,
    /// Whether the strategy is a search.
    pub searching: bool,
    pub settings: Settings,
    pub budget: Budget,
    /// What is done with a found bug.
    pub how: How,
}

impl Session<'_> {
    /// How this test is explored.
    pub fn options_of(&self, test: &Test) -> &TestOptions {
        self.own.get(&test.name).unwrap_or(&self.options)
    }

    /// What is known before the first test.
    pub fn header(&self, selected: &Selected) -> RunHeader {
        RunHeader {
            version: env!("CARGO_PKG_VERSION"),
            module: self.module.display().to_string(),
            seed: self.seed,
            strategy: self.options.strategy.clone(),
            tests: selected.tests.len(),
            filtered_out: selected.filtered_out,
            iterations_max: self.options.budget.iterations_max,
            timeout: self.options.budget.timeout,
            total_timeout: self.total_timeout,
            explore: self.options.budget.explore,
        }
    }

    fn trace_stem(&self, test: &Test) -> PathBuf {
        let safe: String = test
            .name
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' })
            .collect();
        let stem = self.module.file_stem().map_or("module".into(), |stem| stem.to_string_lossy());
        self.outdir.join(format!("{stem}-{safe}"))
    }

    pub fn explore(&self, test: &Test, budget: &Budget) -> Result<TestResult> {
        std::fs::create_dir_all(self.outdir)
            .with_context(|| format!("cannot create the directory {}", self.outdir.display()))?;
        let options = self.options_of(test);
        let plan = Plan {
            artifact: &self.artifact,
            test,
            settings: &options.settings,
            seed: self.seed,
            budget: budget.clone(),
            trace_stem: self.trace_stem(test),
        };
        let name = options.strategy.as_str();
        let progress = Progress::new(&test.name, budget.iterations_max, budget.timeout, self.quiet);
        let result = if options.searching {
            let resume = self.resume.borrow_mut().take();
            match &resume {
                Some(frontier) => frontier.check(&plan, name)?,
                None if self.resuming => bail!("--resume goes on with one test; --test selects it"),
                None => {}
            }
            search::explore(&plan, name, resume, &self.interrupted, &progress)
        } else {
            let context = options.context;
            let strategy = || -> Box<dyn Strategy> { by_name(name, &context).expect("checked before") };
            sample::explore(&plan, &strategy, &self.interrupted, &progress)
        };
        progress.finish();
        Ok(result?)
    }

    /// Shrinks and explains every bug that was found.
    pub fn explain(&self, test: &Test, result: &mut TestResult) -> Result<()> {
        let explored = result.iterations();
        for found in &mut result.bugs {
            let rate = Some(Rate { bugs: found.count, of: explored });
            let TestOptions { settings, how, .. } = self.options_of(test);
            let (artifact, how) = (&self.artifact, *how);
            let interrupted = &*self.interrupted;
            on_engine_thread(|| explain(artifact, test, settings, found, rate, how, interrupted))?;
        }
        Ok(())
    }

    /// Replays every bug that was found, and tells its story. What does not replay is our bug, not the guest's.
    pub fn confirm(&self, test: &Test, result: &mut TestResult) -> Result<Option<String>> {
        for found in &mut result.bugs {
            let settings = &self.options_of(test).settings;
            let (artifact, module) = (&self.artifact, self.module);
            let with_history = self.files.any();
            let replayed = on_engine_thread(|| -> Result<_, MachineError> {
                let mut execution = Execution::new(artifact, test, settings)?;
                let replayed = replay(&mut execution, &found.trace, false)?;
                if replayed.reproduces(&found.trace) {
                    let decisive = found.explanation.decisive.as_ref().map(|decisive| decisive.step);
                    let mut teller = Teller::new(artifact, module).with_history(with_history);
                    teller.tell(&mut execution, found, decisive)?;
                }
                Ok(replayed)
            })?;
            let trace = &found.trace;
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
}
