//! The rehearsal: an execution that counts for nothing, so that most of what a test executes is compiled before the
//! test's time begins (see [`crate::code`]).

use super::{Plan, alarm};
use crate::detect::Detectors;
use crate::engine_thread::on_engine_thread;
use crate::execution::Execution;
use coyote_strategies::{Iteration, RandomWalk};
use std::sync::atomic::AtomicBool;

/// Later steps of a test mostly execute the same functions.
const STEPS_MAX: u64 = 10_000;

/// Executes the test once, if its module is compiled on demand and it works in no directory of the host, for at most the
/// time that the test has.
pub fn rehearse(plan: &Plan, interrupted: &AtomicBool) {
    if !plan.artifact.code().is_on_demand() || !plan.settings.world.directories.is_empty() {
        return;
    }
    let mut settings = plan.settings.clone();
    settings.detectors = Detectors::none();
    alarm::with(plan.budget.timeout, interrupted, |cancel| {
        on_engine_thread(|| {
            // An error of the machine is reported where the test is executed.
            let Ok(mut execution) = Execution::new(plan.artifact, plan.test, &settings) else { return };
            execution.set_bound(Some(STEPS_MAX));
            execution.cancel_by(Some(cancel.clone()));
            let _ = execution.run(Box::new(RandomWalk::default()), Iteration { seed: plan.seed, index: 0 });
        });
    });
}
