//! The attempts of a sweep of faults: the default schedule is executed once to determine where faults can happen.

use super::{ExploreError, Plan, alarm};
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::results::{IterationResult, Sweep, SweptExecution, SweptSite, WAYS_MAX};
use crate::runtime::{FaultClass, POINT, fault_hash, of_site};
use coyote_instrumenter::Location;
use coyote_strategies::sample::sweep::{Attempt, Met, Sweep as Attempts};
use coyote_strategies::{Iteration, RandomWalk, Status, System};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

/// The plan of a sweep.
pub struct SweepPlan {
    /// The sweep, without any attempt made yet.
    pub sweep: Sweep,
    /// All attempts, in order.
    pub attempts: Arc<[Attempt]>,
    /// The site of each opportunity.
    sites: Vec<usize>,
}

/// Executes the default schedule and lists the attempts: none if it is cut off since the time is up or the user
/// interrupts.
///
/// # Errors
/// As [`Execution::run_stepwise`].
pub fn prepare(plan: &Plan, samples: u64, interrupted: &AtomicBool) -> Result<SweepPlan, ExploreError> {
    let mut execution = Execution::new(plan.artifact, plan.test, plan.settings)?;
    let mut baseline = Attempts::new(Arc::new([]), Box::new(RandomWalk::default()));
    let course = baseline.course();
    let mut stacks: Vec<Vec<Location>> = Vec::new();
    let mut look = |execution: &mut Execution| {
        let picked = course.lock().unwrap_or_else(PoisonError::into_inner).picked;
        if let (Status::Choosing { .. }, Some(worker)) = (execution.status(), picked)
            && execution.view().fault.is_some()
        {
            stacks.push(execution.machine().stack(worker));
        }
    };
    let iteration = Iteration { seed: plan.seed, index: 0 };
    let outcome = alarm::with(plan.budget.timeout, interrupted, |cancel| {
        execution.cancel_by(Some(cancel.clone()));
        execution.run_stepwise(&mut baseline, iteration, &mut look)
    })?;
    let met = course.lock().unwrap_or_else(PoisonError::into_inner).met.clone();
    debug_assert_eq!(met.len(), stacks.len());
    let names: Vec<String> = execution.runtime().fault_counts.iter().map(|(name, _)| name.into()).collect();
    // A single worker has only one schedule, with any fault that does not create other workers.
    let samples = if execution.runtime().workers().len() > 1 { samples } else { 0 };
    let baseline_passes = outcome == Outcome::Passed;
    let faults = plan.settings.faults.given();
    let sweep = Sweep { faults, samples, baseline_passes, ..Sweep::default() };
    let mut swept = SweepPlan { sweep, attempts: Arc::new([]), sites: Vec::new() };
    let mut attempts = Vec::new();
    for (number, (met, stack)) in met.iter().zip(stacks).enumerate() {
        let site = swept.site(name_of(met.kind, &names), stack);
        swept.sites.push(site);
        swept.sweep.sites[site].opportunities += 1;
        if !baseline_passes {
            continue;
        }
        let before = attempts.len();
        attempts.extend(attempts_at(number as u64, met, samples));
        swept.sweep.sites[site].planned += (attempts.len() - before) as u64;
        swept.sweep.left_out += (met.bound - 1).saturating_sub(WAYS_MAX);
    }
    swept.attempts = attempts.into();
    Ok(swept)
}

/// The attempts at an opportunity.
fn attempts_at(opportunity: u64, met: &Met, samples: u64) -> impl Iterator<Item = Attempt> + use<> {
    let ways = (met.bound - 1).min(WAYS_MAX);
    (1..=ways).flat_map(move |value| {
        [false, true].into_iter().flat_map(move |lasting| {
            (0..=samples).map(move |sample| Attempt { opportunity, value, lasting, sampled: sample > 0 })
        })
    })
}

impl SweepPlan {
    /// The index of the site of a fault that is met with this stack.
    fn site(&mut self, fault: String, stack: Vec<Location>) -> usize {
        let sites = &mut self.sweep.sites;
        let known = sites.iter().position(|site| site.fault == fault && site.stack == stack);
        known.unwrap_or_else(|| {
            sites.push(SweptSite { fault, stack, ..SweptSite::default() });
            sites.len() - 1
        })
    }

    /// Adds the result of an iteration to the sweep.
    pub fn count(&self, sweep: &mut Sweep, iteration: &IterationResult) {
        let attempt = iteration.index.and_then(|index| index.checked_sub(1));
        let attempt = attempt.and_then(|number| self.attempts.get(usize::try_from(number).ok()?));
        let Some(attempt) = attempt else { return };
        let bug = iteration.bug.as_ref().filter(|found| !found.is_limit());
        let execution = SweptExecution {
            struck: iteration.notes.incidents.faults.iter().any(|(_, count)| count.faults > 0),
            unfinished: iteration.record.hit_max_steps,
            bug: bug.map(|found| found.identity.short()),
        };
        sweep.count(self.sites[attempt.opportunity as usize], execution);
    }
}

/// The class or fault point of a kind of fault, see [`coyote_strategies::View::fault`].
fn name_of(kind: u64, names: &[String]) -> String {
    let class = FaultClass::of_kind(kind).map(|class| class.row().name.to_string());
    let point = || names.iter().find(|name| of_site(fault_hash(name)) == kind).cloned();
    class.or_else(point).unwrap_or_else(|| POINT.to_string())
}
