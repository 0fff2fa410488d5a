//! A sweep of faults: every attempt of `attempts` is one iteration, as of any sampler. See
//! [`coyote_strategies::sample::sweep`].
//!
//! Every attempt is executed from the start. A snapshot at its opportunity would only save the time for the steps
//! before it.

pub use super::attempts::prepare;
use super::{ExploreError, MakeStrategy, Plan, Watch, sample};
use crate::engine_thread::on_engine_thread;
use crate::results::TestResult;
use crate::runtime::FaultClass;
use std::sync::atomic::AtomicBool;

/// The maximum number of faults of a class in an execution in which they last. A crash lasts for the recovery: a
/// program that crashes at each opportunity would never end.
pub fn lasting(class: &str) -> u32 {
    let crashes = [FaultClass::Crash, FaultClass::CrashNode];
    if crashes.iter().any(|crash| class == crash.row().name) { 2 } else { 100 }
}

/// The default number of schedules after each fault, in addition to the default one.
pub const SAMPLES: u64 = 4;

/// Sweeps the faults that have budgets in the plan's settings. `samples`: the number of schedules of the strategy after
/// each fault.
///
/// # Errors
/// As [`sample::explore`].
pub fn explore(
    plan: &Plan,
    samples: u64,
    strategy: MakeStrategy,
    interrupted: &AtomicBool,
    watch: &dyn Watch,
) -> Result<TestResult, ExploreError> {
    let swept = on_engine_thread(|| prepare(plan, samples, interrupted))?;
    let mut budget = plan.budget.clone();
    let all = swept.attempts.len() as u64 + 1;
    budget.iterations_max = budget.iterations_max.min(all.saturating_sub(budget.first));
    // One bug proves nothing about other faults.
    budget.explore = true;
    let plan = Plan { budget, ..plan.clone() };
    let mut result = sample::explore_sweep(&plan, strategy, &swept, interrupted, watch)?;
    result.exhaust_sweep();
    Ok(result)
}
