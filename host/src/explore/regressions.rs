//! Traces of bugs that were found before, tried first.
//!
//! Each trace is followed leniently, under the options of this run. A bug that is met belongs to this run: it gets its
//! own trace, which is replayed strictly like any other. If no bug is met, this proves nothing: only one schedule was
//! executed, and it may differ from that of the trace.

use super::{ExploreError, Finder, Plan, alarm, found};
use crate::detect::{RACES, USE_AFTER_RETURN};
use crate::diagnose::SourceLines;
use crate::execution::Execution;
use crate::module_name::without_hash;
use crate::options;
use crate::outcome::Outcome;
use crate::record;
use crate::replay::replay;
use crate::results::{FoundBug, REGRESSION};
use crate::settings::Settings;
use crate::trace::Trace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// A kept trace.
pub struct Regression {
    /// The trace's path.
    pub path: PathBuf,
    /// The trace's content.
    pub trace: Trace,
}

/// The result for one trace.
pub enum Tried {
    /// A bug was met, possibly another one than the trace's.
    Fails(Box<FoundBug>),
    /// The schedule has no bug.
    Passes,
    /// The program does not follow the schedule any more, and no bug was met: why, as a clause.
    Obsolete(String),
    /// The trace was not tried: why, as a clause.
    NotTried(String),
}

/// Tries all traces in order, up to the first one that fails, unless the budget says to continue after bugs.
///
/// # Errors
/// The machine's, or a trace cannot be written.
pub fn try_all(
    plan: &Plan,
    regressions: &[Regression],
    interrupted: &AtomicBool,
) -> Result<Vec<Tried>, ExploreError> {
    alarm::with(plan.budget.timeout, interrupted, |cancel| {
        let lines = Mutex::new(SourceLines::new(plan.artifact));
        let mut tried = Vec::new();
        for (number, regression) in regressions.iter().enumerate() {
            let mut settings = plan.settings.watched_as(&regression.trace);
            for name in [RACES, USE_AFTER_RETURN] {
                // The user does not want to know.
                if !plan.settings.detectors.has(name) {
                    settings.detectors.set(name, false);
                }
            }
            let settings = &settings;
            let plan = &plan_of(plan, settings, &regression.trace, number);
            if let Some(why) = cannot_be_tried(plan, &regression.trace) {
                tried.push(Tried::NotTried(why));
                continue;
            }
            // A new execution, since the livelock bound and the shared memory of a trace must not affect the next one.
            let mut execution = Execution::new(plan.artifact, plan.test, settings)?;
            execution.cancel_by(Some(cancel.clone()));
            let replayed = replay(&mut execution, &regression.trace, true)?;
            execution.cancel_by(None);
            tried.push(match &replayed.outcome {
                _ if execution.cancelled() => Tried::NotTried("there was no time left".into()),
                Outcome::Bug(bug) if replayed.outcome.is_bug() => {
                    let finder = finder(regression);
                    Tried::Fails(Box::new(found(plan, &mut execution, bug, finder, &lines)?))
                }
                _ => match &replayed.divergence {
                    Some(left) => Tried::Obsolete(format!("left at choice {}: {}", left.at + 1, left.reason)),
                    None => Tried::Passes,
                },
            });
            if matches!(tried.last(), Some(Tried::Fails(_))) && !plan.budget.explore {
                break;
            }
        }
        Ok(tried)
    })
}

/// The plan for the trace of a bug: it contains the seed of the regression's run, and is written beside the traces of
/// this run.
fn plan_of<'a>(plan: &'a Plan, settings: &'a Settings, trace: &Trace, number: usize) -> Plan<'a> {
    let mut stem = plan.trace_stem.clone().into_os_string();
    stem.push(format!("-regression-{}", number + 1));
    Plan { seed: trace.header.seed, trace_stem: stem.into(), settings, ..plan.clone() }
}

fn finder(regression: &Regression) -> Finder {
    let header = &regression.trace.header;
    Finder {
        strategy: header.strategy.clone(),
        iteration: header.iteration,
        index: None,
        by: Some(label(&regression.path)),
    }
}

fn label(path: &Path) -> String {
    format!("{REGRESSION}{}", path.display())
}

/// Why a regression cannot be tried, if it cannot: its bug must be one under the options of this run.
fn cannot_be_tried(plan: &Plan, trace: &Trace) -> Option<String> {
    if !plan.settings.world.directories.is_empty() {
        return Some("the run works in directories of the host".into());
    }
    let read = options::read(&trace.header.options);
    let of_trace = match read {
        Ok((instrument, settings)) => options::write(&instrument, &settings),
        Err(error) => return Some(error.to_string()),
    };
    let own = |options: Vec<(String, String)>| -> BTreeSet<(String, String)> {
        let options = options.into_iter().filter(|(name, _)| !record::is_of_trace(name));
        // The first argument is the module's name.
        options
            .map(|(name, value)| match name.as_str() {
                "argument" => (name, without_hash(&value).to_string()),
                _ => (name, value),
            })
            .collect()
    };
    let (of_trace, of_run) = (own(of_trace), own(plan.options()));
    // Bounds that nobody gave follow the length of the test's executions.
    let may_differ = |name: &str| name == "max-steps" && plan.budget.bounds_follow;
    let differ: Vec<String> = of_trace
        .symmetric_difference(&of_run)
        .map(|(name, _)| name.clone())
        .filter(|name| !may_differ(name))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    (!differ.is_empty()).then(|| format!("it is of a run with another {}", differ.join(", ")))
}
