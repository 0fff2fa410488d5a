//! `coyote-wasm test MODULE --confirm TRACE`: whether a fixed program still has the bug of a trace.
//!
//! First, the trace's schedule is followed leniently: this can show the bug, but never that it is gone. Then the
//! strategy that found the bug executes enough iterations that all of them would miss a bug of the same frequency only
//! with a probability of 5 %. The trace contains the frequency. A fix that only makes the bug rarer needs more
//! iterations: `--iterations`, which asks for more and never for fewer.
//!
//! After an edit, the same bug may be at other lines. It is recognised by its kind, by the functions in which its workers
//! were, and by its message without numbers; where these differ, the conclusion says that it may be another one.

use super::bug_files::BesideTraces;
use super::bundle::GivenTrace;
use super::output::{self, Stdout};
use super::run;
use super::same_bug::{Known, Likeness};
use super::session::{Session, TestOptions};
use super::trace_of::TraceOf;
use crate::detect::Detectors;
use crate::engine_thread::on_engine_thread;
use crate::execution::Execution;
use crate::exit::Exit;
use crate::explain::How;
use crate::explore::Budget;
use crate::outcome::Outcome;
use crate::plural::counted;
use crate::record;
use crate::replay::replay;
use crate::report::render::text::Text;
use crate::report::render::{Outputs, RenderOptions};
use crate::results::{Findability, Rate, Stop, TestResult};
use crate::symbols::Symbols;
use crate::trace::Trace;
use crate::verdict::Verdict;
use anyhow::{Result, anyhow, bail};
use coyote_strategies::{Context as StrategyContext, by_name, search};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The command line's options, without the module and the trace.
pub struct Given<'a> {
    /// The number of iterations that are enough, if the user gives it. Fewer than the frequency demands are not.
    pub iterations: Option<u64>,
    pub how: How,
    pub files: BesideTraces,
    pub verbose: bool,
    /// What the command line looks for. Where the trace's iteration was not watched for data races, it decides whether
    /// those of this run are.
    pub detectors: Detectors,
    pub seed: u64,
    pub timeout: Option<Duration>,
    pub jobs: usize,
    pub outdir: &'a Path,
    pub interrupted: Arc<AtomicBool>,
}

/// The conclusion about the bug.
enum Conclusion {
    /// The bug was not found in this number of iterations.
    Gone(u64),
    /// A bug was found: how near it is to that of the trace, and how it was found.
    StillThere(Likeness, String),
    /// Why there is no conclusion.
    NotEnough(String, Exit),
}

/// Replays the trace and explores its test.
///
/// # Errors
/// Errors of the environment, or something that the trace names is missing.
pub fn run(module: &Path, trace: &Path, given: &Given) -> Result<Exit> {
    let given_trace = GivenTrace::open(trace)?;
    let (mut loaded, trace) = (TraceOf::load(module, &given_trace.path, true, true)?, &given_trace.shown);
    loaded.settings.detectors = loaded.settings.detectors.with_races_of(&given.detectors);
    let header = &loaded.trace.header;
    if search::is_search(&header.strategy) {
        bail!(
            "{} was found by the search {}: run it again, it ends with a proof or a bug",
            trace.display(),
            header.strategy
        );
    }
    let rate = rate(&loaded.trace);
    let context = StrategyContext { unfair_steps_max: loaded.settings.limits.unfair_steps_max };
    let grows = by_name(&header.strategy, &context).is_ok_and(|strategy| strategy.grows());
    let measured = rate.map(|rate| Findability { rate, fresh: true, grows }.iterations());
    let iterations = measured.max(given.iterations).ok_or_else(|| {
        anyhow!(
            "{} does not say how frequent its bug is: give --iterations, the number of iterations without \
             the bug that is enough",
            trace.display()
        )
    })?;
    println!(
        ". Confirming {}: test {}, the schedule and {}, strategy {}, seed {}",
        trace.display(),
        header.test,
        counted(iterations, "iteration"),
        header.strategy,
        given.seed
    );
    let TraceOf { artifact, test, settings, .. } = &loaded;
    let replayed = on_engine_thread(|| {
        let mut execution = Execution::new(artifact, test, settings)?;
        replay(&mut execution, &loaded.trace, true)
    })?;
    let before = || format!("{}: {}", header.outcome, header.message);
    let conclusion = match (&replayed.outcome, &replayed.identity) {
        (Outcome::Bug(bug), Some(identity)) if replayed.outcome.is_bug() => {
            let said = format!("the schedule of the trace ends with {}: {}", bug.kind.name(), bug.message());
            let names = artifact.function_names();
            let name = |function: u32| names.get(function as usize).map(String::as_str);
            let found = Known::of(bug.kind.name(), &bug.message(), identity, name);
            Conclusion::StillThere(Known::of_trace(&loaded.trace).likeness(&found), said)
        }
        _ => explored(module, &loaded, given, iterations)?,
    };
    let (line, exit) = match conclusion {
        Conclusion::StillThere(Likeness::Same, how) => (format!("Still there: {how}"), Exit::BugFound),
        Conclusion::StillThere(Likeness::Kind, how) => (
            format!("Still there, or another bug of its kind, where the trace ends with {}: {how}", before()),
            Exit::BugFound,
        ),
        Conclusion::StillThere(Likeness::None, how) => {
            (format!("Another bug, where the trace ends with {}: {how}", before()), Exit::BugFound)
        }
        Conclusion::NotEnough(why, exit) => (format!("Not enough: {why}"), exit),
        Conclusion::Gone(passed) => {
            let how_sure = match rate {
                Some(Rate { bugs, of }) if bugs == of => "all that were measured had it before",
                Some(_) => "at its former frequency, they would show it with 95 % probability",
                None => "how frequent it was is not known",
            };
            (format!("Gone: {} without the bug; {how_sure}", counted(passed, "iteration")), Exit::NoBug)
        }
    };
    println!(". {line}");
    Ok(exit)
}

/// How frequent the bug was, if the trace says so.
fn rate(trace: &Trace) -> Option<Rate> {
    let bugs = record::number(trace, record::FAILING)?;
    let of = record::number(trace, record::SAMPLED).filter(|of| bugs > 0 && *of >= bugs)?;
    Some(Rate { bugs, of })
}

fn explored(module: &Path, loaded: &TraceOf, given: &Given, iterations: u64) -> Result<Conclusion> {
    let header = &loaded.trace.header;
    let budget = Budget {
        iterations_max: iterations,
        timeout: given.timeout,
        jobs: given.jobs,
        bounds_follow: false,
        ..Budget::default()
    };
    let session = Session {
        module,
        outdir: given.outdir,
        quiet: true,
        artifact: loaded.artifact.clone(),
        symbols: Symbols::new(&loaded.artifact.original),
        seed: given.seed,
        resuming: false,
        resume: None.into(),
        total_timeout: None,
        files: given.files,
        interrupted: given.interrupted.clone(),
        options: TestOptions {
            strategy: header.strategy.clone(),
            searching: false,
            settings: loaded.settings.clone(),
            budget: budget.clone(),
            all: None,
            sweep: None,
            how: given.how,
        },
        own: BTreeMap::new(),
        not_on_target: None,
        regressions: None,
        bundle: None,
        coverage: None,
        teller: None.into(),
    };
    let mut result = session.explore(&loaded.test, &budget)?;
    session.explain(&loaded.test, &mut result, None)?;
    if let Some(diverged) = session.confirm(&loaded.test, &mut result)? {
        bail!(super::error::InternalError(diverged));
    }
    let report = run::report(&session, &loaded.test, &result)?;
    let options = RenderOptions {
        verbose: given.verbose,
        stats: given.verbose,
        width: output::width(),
        styles: output::styles(),
        ..RenderOptions::default()
    };
    let mut outputs = Outputs(vec![(Box::new(Text::new(options)), Box::new(Stdout))]);
    outputs.each(|renderer, out| renderer.test_finished(out, &report))?;
    Ok(conclude(&loaded.trace, &result, iterations))
}

/// The conclusion that follows from the exploration.
fn conclude(trace: &Trace, result: &TestResult, iterations: u64) -> Conclusion {
    let done = result.iterations();
    let so_far = format!("only {done} of {} were executed", counted(iterations, "iteration"));
    match result.verdict() {
        Verdict::Bug => {
            let wanted = Known::of_trace(trace);
            let bugs = result.bugs.iter().filter(|found| !found.is_limit());
            let alike = bugs.map(|found| (wanted.likeness(&Known::of_trace(&found.trace)), &found.bug));
            let (likeness, bug) = alike.min_by_key(|(likeness, _)| *likeness).expect("the verdict is a bug");
            let (kind, after) = (bug.kind.name(), counted(done, "iteration"));
            Conclusion::StillThere(likeness, format!("after {after}, {kind}: {}", bug.message()))
        }
        _ if result.stop == Stop::Interrupted => Conclusion::NotEnough(so_far, Exit::Interrupted),
        Verdict::Limit(what) => Conclusion::NotEnough(what.join("; "), Exit::Limit),
        Verdict::Inconclusive { what, .. } => Conclusion::NotEnough(what, Exit::Inconclusive),
        // Also if there was no time for any iteration.
        _ if result.stop == Stop::Timeout && done < iterations => {
            Conclusion::NotEnough(so_far, Exit::Inconclusive)
        }
        // No choice came before the bug, and none comes now: there is only one execution.
        Verdict::NothingTested if rate(trace) == Some(Rate { bugs: 1, of: 1 }) => Conclusion::Gone(done),
        Verdict::NothingTested => {
            let why = "no iteration met a choice".into();
            Conclusion::NotEnough(why, Exit::NothingTested)
        }
        Verdict::Proved { .. } | Verdict::NotFound if done < iterations => {
            Conclusion::NotEnough(so_far, Exit::Inconclusive)
        }
        Verdict::Proved { .. } | Verdict::NotFound => Conclusion::Gone(done),
    }
}
