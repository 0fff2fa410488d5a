//! How often a strategy meets the bug, by iterations that are executed to find that out.

use super::{Allowance, Subject, in_time};
use crate::diagnose::SourceLines;
use crate::epochs;
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::results::{BugIdentity, Findability, Rate};
use crate::trace::Trace;
use coyote_strategies::{Context, Iteration, Profiler, by_name};
use std::sync::Mutex;

/// Iterations at least and at most, and steps beyond which there are as few as possible.
const ITERATIONS_MIN: u64 = 100;
const ITERATIONS_MAX: u64 = 1_000;
const STEPS_MAX: u64 = 2_000_000;

/// The seed of all such samples: another one than that of the run, in which the bug was found, and the same for all
/// bugs.
const SEED: u64 = 0x5eed;

/// Executes iterations of the strategy that the trace names. If none of them has the bug, or they take too long, those of
/// the exploration are counted, too, which met the bug in some of the `explored`. `None` for searches and strategies
/// that the user wrote, and where all of them are too few to say anything.
///
/// # Errors
/// The machine's: of ours or of the environment.
pub fn measure(
    execution: &mut Execution,
    trace: &Trace,
    identity: &BugIdentity,
    lines: &Mutex<SourceLines>,
    explored: Option<Rate>,
    allowance: Allowance,
) -> Result<Option<Findability>, MachineError> {
    let context = Context { unfair_steps_max: execution.machine().scheduler().limits.unfair_steps_max };
    let Ok(strategy) = by_name(&trace.header.strategy, &context) else { return Ok(None) };
    let strategy = execution.machine().artifact().watching(strategy);
    let mut strategy = execution.runtime().faults().sampled(strategy);
    let grows = strategy.grows();
    let subject = Subject { identity, lines, path: Vec::new(), trace };
    let known = trace.header.sharing();
    let mut rate = Rate::default();
    let sampled = in_time(execution, allowance, |execution, time| {
        if strategy.needs_profile() {
            let profiler = Profiler::default();
            let profile = profiler.result();
            let first = Iteration { seed: SEED, index: 0 };
            epochs::run(execution, Box::new(profiler), first, &known)?;
            time.check()?;
            let profile = profile.lock().map_or_else(|e| e.into_inner().clone(), |profile| profile.clone());
            strategy.prepare(&profile);
        }
        let mut steps = 0;
        while rate.of < ITERATIONS_MAX && (rate.of < ITERATIONS_MIN || steps < STEPS_MAX) {
            let iteration = Iteration { seed: SEED, index: rate.of };
            let ran = epochs::run(execution, strategy, iteration, &known)?;
            time.check()?;
            strategy = ran.strategy;
            steps += execution.runtime().steps();
            rate.of += 1;
            rate.bugs += u64::from(subject.is_met(execution, &ran.outcome));
        }
        Ok(())
    })?;
    let fresh = sampled.is_some() && rate.bugs > 0;
    if let (false, Some(explored)) = (fresh, explored) {
        rate = Rate { bugs: rate.bugs + explored.bugs, of: rate.of + explored.of };
    }
    Ok((rate.bugs > 0 && rate.of >= ITERATIONS_MIN).then_some(Findability { rate, fresh, grows }))
}
