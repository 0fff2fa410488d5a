//! The entry point of the library: load a module, explore its tests, get outcomes.
//!
//! ```no_run
//! use coyote_wasm::tester::Tester;
//!
//! let wasm = std::fs::read("test.wasm")?;
//! let mut tester = Tester::new(&wasm)?;
//! tester.budget.iterations_max = 1_000;
//! let exploration = tester.explore("two_deposits", "portfolio")?;
//! for found in &exploration.bugs {
//!     println!("{} in iteration {}: {}", found.bug.message(), found.iteration, found.path.display());
//!     assert!(tester.replay(&found.trace)?.reproduces(&found.trace));
//! }
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! A trace names the options with which it was found, so that `coyote-wasm replay` reproduces it as well. It cannot
//! name passes and detectors that the user of the library added.
//!
//! Examples: `host/examples/custom_strategy.rs` adds a strategy, `host/examples/custom_detector.rs` a detector, and
//! `host/examples/custom_pass.rs` a pass of the instrumenter.

use crate::artifact::{Artifact, engine};
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::explore::{Budget, MakeStrategy, Plan, Unwatched, sample, search};
use crate::libtest;
use crate::machine::MachineError;
use crate::module_name;
use crate::replay::{self, Replayed};
use crate::results::TestResult;
use crate::trace::Trace;
use anyhow::{Context as _, Result, anyhow};
use coyote_instrumenter::{Options, Pipeline, instrument_with};
use coyote_strategies::search::rests_on_footprints;
use coyote_strategies::{Context, by_name};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// See the module's documentation.
#[derive(Clone)]
pub struct Tester {
    artifact: Arc<Artifact>,
    /// The pipeline that instrumented the module, if it is known: the module can then be instrumented again with other
    /// options.
    pipeline: Option<Arc<Pipeline>>,
    /// How tests are executed. The defaults are those of the command line.
    pub settings: Settings,
    /// The seed of all choices. 0 unless set.
    pub seed: u64,
    /// How long each test is explored. The defaults are those of the command line: 10,000 iterations or 10 s.
    pub budget: Budget,
    /// Where traces are written; it must exist. The system's temporary directory unless set.
    pub traces: PathBuf,
}

impl Tester {
    /// Instruments and compiles a module with default options.
    ///
    /// # Errors
    /// The input is no wasm module, or needs something that is not supported: no verdict on it.
    pub fn new(wasm: &[u8]) -> Result<Tester> {
        Tester::with(wasm, &Options::default(), Pipeline::new())
    }

    /// As [`Tester::new`], with the user's options and passes.
    ///
    /// # Errors
    /// As [`Tester::new`], and errors of passes.
    pub fn with(wasm: &[u8], options: &Options, pipeline: Pipeline) -> Result<Tester> {
        let instrumented = instrument_with(wasm, options, &pipeline, &mut |_| {})?;
        let artifact = Artifact::compile(&engine(None)?, wasm.into(), instrumented, options.clone())?;
        Ok(Tester { pipeline: Some(Arc::new(pipeline)), ..Tester::of(Arc::new(artifact)) })
    }

    /// A tester of a module that is compiled already.
    pub fn of(artifact: Arc<Artifact>) -> Tester {
        Tester {
            artifact,
            pipeline: None,
            settings: Settings::default(),
            seed: 0,
            budget: Budget::default(),
            traces: std::env::temp_dir(),
        }
    }

    /// The module's tests in the order of their exports. A test binary of cargo counts as one program;
    /// [`libtest::list`] lists its tests, whose names the other functions accept.
    pub fn tests(&self) -> Vec<Test> {
        Test::all(&self.artifact.table)
    }

    fn test(&self, name: &str) -> Result<Test> {
        libtest::named(&self.artifact.table, name).with_context(|| {
            let names: Vec<String> = self.tests().into_iter().map(|t| t.name).collect();
            format!("there is no test {name}; there is {}", names.join(", "))
        })
    }

    /// Explores a test by a strategy or search that has a name on the command line. A search that relies on what steps
    /// touch, such as `dpor`, needs a module that reports it; the module is then instrumented once more.
    ///
    /// # Errors
    /// There is no such test or strategy, the search needs [`Options::footprints`] of a module that was made without
    /// ([`Tester::of`]), or the environment fails. A bug of the guest is no error: it is listed in
    /// [`TestResult::bugs`], and its trace is on disk.
    pub fn explore(&self, test: &str, strategy: &str) -> Result<TestResult> {
        if coyote_strategies::search::is_search(strategy) {
            if let Some(pipeline) = &self.pipeline
                && rests_on_footprints(strategy)
                && !self.artifact.options.footprints
            {
                return self.telling(pipeline)?.explore(test, strategy);
            }
            let test = self.test(test)?;
            let interrupted = AtomicBool::new(false);
            let settings = self.settings.in_search(&self.artifact);
            let plan = self.plan(&test);
            return Ok(search::explore(&plan.with(&settings), strategy, None, &interrupted, &Unwatched)?);
        }
        let context = Context { unfair_steps_max: self.settings.limits.unfair_steps_max };
        by_name(strategy, &context).map_err(|e| anyhow!(e))?;
        self.explore_with(test, &|context| by_name(strategy, context).expect("checked before"))
    }

    /// Explores a test by the user's own strategy, of which each job creates an instance.
    ///
    /// # Errors
    /// There is no such test, or the environment fails. A bug of the guest is no error: see [`Tester::explore`].
    pub fn explore_with(&self, test: &str, strategy: MakeStrategy) -> Result<TestResult> {
        let test = self.test(test)?;
        let interrupted = AtomicBool::new(false);
        Ok(sample::explore(&self.plan(&test), strategy, &interrupted, &Unwatched)?)
    }

    /// A tester of the same module, instrumented so that it reports what its steps touch.
    fn telling(&self, pipeline: &Pipeline) -> Result<Tester> {
        let wasm = &self.artifact.original;
        let options = Options { footprints: true, ..self.artifact.options.clone() };
        let instrumented = instrument_with(wasm, &options, pipeline, &mut |_| {})?;
        let artifact = Artifact::compile(self.artifact.engine(), wasm.clone(), instrumented, options)?;
        Ok(Tester { artifact: Arc::new(artifact), ..self.clone() })
    }

    fn plan<'a>(&'a self, test: &'a Test) -> Plan<'a> {
        Plan {
            artifact: &self.artifact,
            test,
            settings: &self.settings,
            seed: self.seed,
            budget: self.budget.clone(),
            trace_stem: self.traces.join(module_name::of_test(&test.name)),
        }
    }

    /// Executes the schedule of a trace.
    ///
    /// # Errors
    /// There is no such test, or the environment fails. A schedule that the module does not follow is no error: see
    /// [`Replayed::divergence`].
    pub fn replay(&self, trace: &Trace) -> Result<Replayed> {
        let test = self.test(&trace.header.test)?;
        let replayed = on_engine_thread(|| -> Result<Replayed, MachineError> {
            let settings = self.settings.watched_as(trace);
            let mut execution = Execution::new(&self.artifact, &test, &settings)?;
            replay::replay(&mut execution, trace, false)
        });
        Ok(replayed?)
    }
}
