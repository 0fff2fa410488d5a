//! One run of `coyote-wasm test`: how a test is explored, confirmed and reported.

use super::exit::Exit;
use super::json;
use super::progress::Progress;
use crate::artifact::Artifact;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::explore::frontier::Frontier;
use crate::explore::{Budget, Plan, sample, search};
use crate::replay::replay;
use crate::report;
use crate::results::{FoundBug, TestResult};
use crate::statistics::Statistics;
use crate::symbols::Symbols;
use crate::verdict::Verdict;
use crate::words::counted;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use coyote_strategies::{Context as StrategyContext, Strategy, by_name};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading
    #[value(alias = "pretty")]
    Text,
    /// For reading: one character for each test of a test harness
    Terse,
    /// One JSON document at the end
    Json,
}

/// What all tests of a run have in common.
pub struct Session<'a> {
    pub module: &'a Path,
    pub strategy: &'a str,
    /// What the strategy has to know of the other options.
    pub context: StrategyContext,
    pub outdir: &'a Path,
    pub format: Format,
    /// Whether progress is shown on a terminal alone.
    pub quiet: bool,
    /// Whether the whole log of a failing iteration is printed.
    pub verbose: bool,
    pub artifact: Arc<Artifact>,
    pub settings: Settings,
    pub symbols: Symbols,
    pub seed: u64,
    /// Whether the strategy is a search.
    pub searching: bool,
    /// Whether a search goes on with a frontier, and that one, until the search has it.
    pub resuming: bool,
    pub resume: RefCell<Option<Frontier>>,
    pub budget: Budget,
    /// For all tests together.
    pub total_timeout: Option<Duration>,
    pub interrupted: Arc<AtomicBool>,
}

impl Session<'_> {
    pub fn is_text(&self) -> bool {
        self.format != Format::Json
    }

    pub fn headline(&self, tests: usize) {
        if !self.is_text() {
            return;
        }
        let Budget { iterations_max, timeout, .. } = self.budget;
        let mut bounds = Vec::new();
        if iterations_max != u64::MAX {
            bounds.push(counted(iterations_max, "iteration"));
        }
        if let Some(timeout) = timeout {
            bounds.push(format!("{} s", timeout.as_secs_f64()));
        }
        let total = self.total_timeout.map(|t| format!("{} s for all", t.as_secs_f64()));
        let each = (!bounds.is_empty()).then(|| bounds.join(" or ") + " each");
        let bounds: Vec<String> = each.into_iter().chain(total).collect();
        println!(
            ". Testing {}: {}, strategy {}, seed {}, at most {}",
            self.module.display(),
            counted(tests as u64, "test"),
            self.strategy,
            self.seed,
            bounds.join(", "),
        );
    }

    fn trace_stem(&self, test: &Test) -> PathBuf {
        let safe: String = test
            .name
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' })
            .collect();
        self.outdir.join(format!("{}-{safe}", file_stem(self.module)))
    }

    pub fn explore(&self, test: &Test, budget: &Budget) -> Result<TestResult> {
        std::fs::create_dir_all(self.outdir)
            .with_context(|| format!("cannot create the directory {}", self.outdir.display()))?;
        let plan = Plan {
            artifact: &self.artifact,
            test,
            settings: &self.settings,
            seed: self.seed,
            budget: budget.clone(),
            trace_stem: self.trace_stem(test),
        };
        let name = self.strategy;
        let progress = Progress::new(&test.name, budget.iterations_max, self.quiet);
        let exploration = if self.searching {
            let resume = self.resume.borrow_mut().take();
            match &resume {
                Some(frontier) => frontier.check(&plan, name)?,
                None if self.resuming => bail!("--resume goes on with one test; --test selects it"),
                None => {}
            }
            search::explore(&plan, name, resume, &self.interrupted, &progress)
        } else {
            let context = self.context;
            let strategy = || -> Box<dyn Strategy> { by_name(name, &context).expect("checked before") };
            sample::explore(&plan, &strategy, &self.interrupted, &progress)
        };
        progress.finish();
        Ok(exploration?)
    }

    /// Replays every bug that was found. What does not replay is our bug, not the guest's.
    pub fn confirm(&self, test: &Test, exploration: &TestResult) -> Result<Option<String>> {
        for found in &exploration.bugs {
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

    fn replay_command(&self, found: &FoundBug) -> String {
        format!("coyote-wasm replay {} {}", shell(self.module), shell(&found.path))
    }

    /// Writes the logs of the bugs that were found, and describes them.
    pub fn describe(&self, test: &Test, exploration: &TestResult) -> Result<String> {
        let mut text = String::new();
        for found in &exploration.bugs {
            let log = report::log::log(&test.name, found, &self.symbols);
            let path = found.path.with_extension("log");
            std::fs::write(&path, &log).with_context(|| format!("cannot write {}", path.display()))?;
            let _ = writeln!(text, "{}", report::text::verdict(&test.name, found));
            text += &report::text::details(found, &self.symbols);
            let by = found.by.as_ref().map_or(String::new(), |by| format!(" ({by})"));
            let choices = found.trace.decisions.len();
            let what = if self.searching { "execution" } else { "iteration" };
            let _ = writeln!(text, "  found in {what} {}{by}, {choices} choices", found.iteration);
            if self.budget.explore {
                let _ = writeln!(text, "  in {} of all iterations", found.count);
            }
            let _ = writeln!(text, "  trace:  {}", found.path.display());
            let _ = writeln!(text, "  log:    {} (--verbose prints it)", path.display());
            let _ = writeln!(text, "  replay: {}", self.replay_command(found));
            if self.verbose {
                text += &log;
            }
        }
        Ok(text)
    }

    /// Prints what was found.
    pub fn print(&self, exploration: &TestResult, bugs: &str) {
        if !self.is_text() {
            return;
        }
        print!("{bugs}");
        match &exploration.search {
            Some(searched) => print!("{}", report::searched::statistics(exploration, searched)),
            None => print!("{}", exploration.statistics),
        }
        println!("{}", Statistics::elapsed(exploration.iterations(), exploration.elapsed));
        self.notes(exploration).iter().for_each(|note| println!("... {note}"));
    }

    /// The result of a test for programs.
    pub fn result(&self, test: &Test, exploration: &TestResult) -> json::Test {
        let command = |found: &FoundBug| self.replay_command(found);
        let notes = self.notes(exploration);
        json::test(&test.name, exploration, notes, &self.symbols, &command)
    }

    /// What a verdict does not say by itself.
    pub fn notes(&self, exploration: &TestResult) -> Vec<String> {
        let mut notes = notes(exploration);
        if !self.settings.world.directories.is_empty() {
            notes.push(
                "With --dir an iteration starts with what the directory then holds, and what it writes there \
                 stays: only traces reproduce it."
                    .into(),
            );
        }
        notes
    }

    /// The last words of a run.
    pub fn conclude(&self, exit: Exit, tests: Vec<json::Test>) -> Result<()> {
        if !self.is_text() {
            return self.print_json(exit, tests, Vec::new());
        }
        let count = counted(tests.len() as u64, "test");
        let with = |verdict: &str| -> Vec<&str> {
            tests.iter().filter(|t| t.verdict == verdict).map(|t| t.name.as_str()).collect()
        };
        let some_of =
            |names: &[&str]| format!("{} of {} tests: {}", names.len(), tests.len(), names.join(", "));
        match exit {
            Exit::NothingTested => println!(
                ". Nothing was tested: no test met a choice, neither of workers nor of values. Does the \
                 guest start workers? Do its scheduling points lie within --points and the filters?"
            ),
            Exit::BugFound => println!(". Found bugs in {}", some_of(&with("bug"))),
            Exit::Limit => {
                println!(". No verdict on {}, for which this tool lacks something", some_of(&with("limit")))
            }
            Exit::Inconclusive => println!(
                ". Inconclusive: executions did not come to an end in {}",
                some_of(&with("inconclusive"))
            ),
            Exit::Interrupted => println!(". No bug found until then."),
            _ => println!(". {}", no_bug(&tests, &count)),
        }
        Ok(())
    }

    pub fn print_json(&self, exit: Exit, tests: Vec<json::Test>, ignored: Vec<json::Ignored>) -> Result<()> {
        let run = json::Run {
            version: env!("CARGO_PKG_VERSION"),
            module: self.module.display().to_string(),
            seed: self.seed,
            strategy: self.strategy.to_string(),
            tests,
            ignored,
            exit_code: exit as u8,
        };
        println!("{}", serde_json::to_string_pretty(&run)?);
        Ok(())
    }
}

/// That no test has a bug, and how much is known of that.
fn no_bug(tests: &[json::Test], count: &str) -> String {
    let proved = tests.iter().filter(|t| t.verdict == "proved").count();
    let sum = |number: fn(&json::Test) -> u64| tests.iter().map(number).sum::<u64>();
    let schedules = counted(sum(|t| t.schedules()), "schedule");
    let unfinished = sum(|t| t.unfinished.fair + t.unfinished.unfair);
    let mut assumptions = vec!["sequential consistency".to_string(), "virtual time".into()];
    for assumption in tests.iter().filter_map(|t| t.search.as_ref()).flat_map(|s| &s.assumptions) {
        if !assumptions.contains(assumption) {
            assumptions.push(assumption.clone());
        }
    }
    let what = match proved {
        0 => format!("No bug found in {count}: {schedules}, {unfinished} unfinished"),
        n if n == tests.len() => format!("Proved: no bug in {count}"),
        n => format!("No bug found in {count}, {n} of them proved: {schedules}, {unfinished} unfinished"),
    };
    format!("{what} ({})", assumptions.join(", "))
}

/// What an exploration says beside its verdict.
fn notes(exploration: &TestResult) -> Vec<String> {
    let mut notes = Vec::new();
    match exploration.verdict() {
        Verdict::Inconclusive { what, advice } => notes.push(match advice {
            Some(advice) => format!("Inconclusive: {what}. They may never end: {advice}."),
            None => format!("Inconclusive: {what}."),
        }),
        Verdict::Limit(limits) => notes.extend(limits.iter().map(|limit| format!("No verdict: {limit}."))),
        _ => {}
    }
    if let Some(searched) = &exploration.search {
        notes.push(report::searched::verdict(exploration, searched));
    }
    if exploration.verdict() == Verdict::NothingTested {
        notes.push(match exploration.workers_max {
            0 | 1 => "This test met no choice: it has one worker and asks for no value.".into(),
            n => format!("This test met no choice, though it has {n} workers."),
        });
    }
    if !exploration.shared.0.is_empty() {
        notes.push(format!(
            "Workers share {} of {} bytes; found in {} of iterations.",
            counted(exploration.shared.0.len() as u64, "granule"),
            coyote_abi::rt::GRANULE,
            counted(exploration.repeats, "repeat"),
        ));
    }
    if exploration.states_compared > 0 {
        notes.push(format!(
            "Every iteration was executed twice more: equal after each of {} steps.",
            exploration.states_compared
        ));
    }
    if exploration.memory_refused {
        notes.push("The guest was refused memory in some iteration: raise --max-memory.".into());
    }
    if !exploration.refused_calls.is_empty() {
        notes.push(format!(
            "The guest called {}, which nobody serves: the calls failed with ENOTSUP.",
            joined(&exploration.refused_calls)
        ));
    }
    if !exploration.left_blocked.is_empty() {
        notes.push(format!(
            "Blocked for ever when a test had ended: {}. This is no bug for detached workers.",
            joined(&exploration.left_blocked)
        ));
    }
    notes
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
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

pub fn file_stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "module".into(), |s| s.to_string_lossy().into_owned())
}
