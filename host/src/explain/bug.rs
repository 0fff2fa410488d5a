//! A found bug, shrunk and explained.

use super::Allowance;
use crate::artifact::Artifact;
use crate::diagnose::{Discovery, SourceLines, found_bug};
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::explore::alarm;
use crate::machine::MachineError;
use crate::record;
use crate::replay::replay;
use crate::results::{Explanation, Findability, FoundBug, Rate};
use crate::shrink::{self, Effort};
use crate::trace::TraceError;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a trace is shrunk if nothing else is said.
pub const SHRINK_TIME: Duration = Duration::from_secs(2);

/// How long experiments may be made, at least. Few take more than a second; where executions are slow, they end without
/// a result.
pub const EXPERIMENTS_TIME: Duration = Duration::from_secs(10);

/// What is done with a found bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// How long its trace may be shrunk; `None`: not at all.
    pub shrink: Option<Duration>,
    /// How long experiments may be made on the trace: on its states, and then on how often the bug is met; `None`: none.
    pub experiments: Option<Duration>,
}

impl How {
    /// The same within a span: minimising takes half of it at most, and each of the two kinds of experiments a quarter.
    pub fn within(self, span: Duration) -> How {
        let at_most = |limit: Option<Duration>, part: u32| limit.map(|limit| limit.min(span / part));
        How { shrink: at_most(self.shrink, 2), experiments: at_most(self.experiments, 4) }
    }
}

/// What `coyote-wasm test` uses if it is told nothing.
impl Default for How {
    fn default() -> How {
        How { shrink: Some(SHRINK_TIME), experiments: Some(EXPERIMENTS_TIME) }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// Shrinks and explains a bug. Its trace is replaced by the minimised one, also on disk, where the original then is kept
/// beside it (`NAME.trace.original`). `explored`: how often the exploration met it. To be called on an engine thread.
///
/// # Errors
/// The machine's, or a trace cannot be written. The bug is then as it was.
pub fn explain(
    artifact: &Arc<Artifact>,
    test: &Test,
    settings: &Settings,
    found: &mut FoundBug,
    explored: Option<Rate>,
    how: How,
    interrupted: &AtomicBool,
) -> Result<(), ExplainError> {
    let mut execution = Execution::new(artifact, test, settings)?;
    let lines = Mutex::new(SourceLines::new(artifact));
    if shrink::refused(&execution, &found.trace).is_some() {
        return Ok(());
    }
    // Of an earlier run.
    let _ = std::fs::remove_file(original(&found.path));
    if how.experiments.is_some() && is_unavoidable(&mut execution, found)? {
        let findability = Findability { rate: Rate { bugs: 1, of: 1 }, fresh: true, grows: false };
        found.explanation.unavoidable = true;
        found.explanation.findability = Some(findability);
        return with_rate(found, findability);
    }
    let Some(limit) = how.experiments else {
        return match how.shrink {
            Some(limit) => shrink_found(&mut execution, found, limit, &lines, interrupted),
            None => Ok(()),
        };
    };
    let allowance = Allowance { time: limit, interrupted };
    // How often the bug is met does not depend on the schedule that shows it.
    let (trace, identity) = (found.trace.clone(), found.identity.clone());
    let measure = || -> Result<Option<Findability>, MachineError> {
        let mut execution = Execution::new(artifact, test, settings)?;
        super::findability(&mut execution, &trace, &identity, &lines, explored, allowance)
    };
    let (explained, findability) = std::thread::scope(|scope| {
        let measuring = scope.spawn(|| on_engine_thread(measure));
        let explained = explain_schedule(&mut execution, found, how.shrink, &lines, allowance);
        (explained, measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    explained?;
    if interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    found.explanation.findability = findability?;
    if let Some(findability) = found.explanation.findability {
        with_rate(found, findability)?;
    }
    Ok(())
}

/// Shrinks the schedule, and explains what is left of it.
fn explain_schedule(
    execution: &mut Execution,
    found: &mut FoundBug,
    shrink: Option<Duration>,
    lines: &Mutex<SourceLines>,
    allowance: Allowance<'_>,
) -> Result<(), ExplainError> {
    if let Some(limit) = shrink {
        shrink_found(execution, found, limit, lines, allowance.interrupted)?;
    }
    if allowance.interrupted.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut explanation = found.explanation.clone();
    let FoundBug { trace, identity, .. } = &*found;
    super::experiments(execution, trace, identity, lines, allowance, &mut explanation)?;
    found.explanation = explanation;
    Ok(())
}

/// Whether no choice comes before the bug.
fn is_unavoidable(execution: &mut Execution, found: &FoundBug) -> Result<bool, MachineError> {
    replay(execution, &found.trace, false)?;
    Ok(execution.machine().scheduler().decisions == 0)
}

/// Adds the frequency of the bug to its trace, also on disk.
fn with_rate(found: &mut FoundBug, Findability { rate, .. }: Findability) -> Result<(), ExplainError> {
    let mut trace = found.trace.clone();
    trace.header.options.retain(|(name, _)| name != record::FAILING && name != record::SAMPLED);
    let named = [(record::FAILING, rate.bugs), (record::SAMPLED, rate.of)];
    trace.header.options.extend(named.map(|(name, number)| (name.into(), number.to_string())));
    trace.write(&found.path)?;
    found.trace = trace;
    Ok(())
}

fn shrink_found(
    execution: &mut Execution,
    found: &mut FoundBug,
    limit: Duration,
    lines: &Mutex<SourceLines>,
    interrupted: &AtomicBool,
) -> Result<(), ExplainError> {
    let shrunk = alarm::with(Some(limit), interrupted, |stop| {
        shrink::shrink(execution, &found.trace, Effort::default(), stop, lines)
    })?;
    // A bug that does not replay is told where bugs are confirmed.
    let Some(shrunk) = shrunk else { return Ok(()) };
    if shrunk.trace.decisions == found.trace.decisions {
        found.explanation.shrinking = Some(shrunk.shrinking);
        return Ok(());
    }
    let explanation = Explanation { shrinking: Some(shrunk.shrinking), ..found.explanation.clone() };
    let discovery =
        Discovery { trace: shrunk.trace, path: found.path.clone(), index: found.first, by: found.by.clone() };
    let minimal = found_bug(execution, &shrunk.bug, discovery, lines)?;
    if minimal.identity != found.identity {
        return Ok(());
    }
    found.trace.write(original(&found.path))?;
    minimal.trace.write(&found.path)?;
    *found = FoundBug { count: found.count, explanation, ..minimal };
    Ok(())
}

/// Where the trace is kept with which a bug was found, beside the minimised one.
fn original(path: &Path) -> PathBuf {
    path.with_extension("trace.original")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minimising, and experiments on states and on frequency.
    #[test]
    fn all_of_it_fits_into_a_span() {
        for milliseconds in [0, 500, 3_000, 60_000] {
            let span = Duration::from_millis(milliseconds);
            let How { shrink, experiments } = How::default().within(span);
            let (shrink, experiments) = (shrink.unwrap(), experiments.unwrap());
            assert!(shrink + 2 * experiments <= span, "{span:?}");
            assert!(shrink <= SHRINK_TIME && experiments <= EXPERIMENTS_TIME);
        }
        assert_eq!(How { shrink: None, experiments: None }.within(SHRINK_TIME).shrink, None);
    }
}
