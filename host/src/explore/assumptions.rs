//! What the verdict of a search takes for granted.

use super::Plan;
use crate::orderings::Counts;
use crate::outcome::BugKind;
use crate::plural::counted;
use crate::results::{Resumed, TestResult};
use crate::runtime::Timers;
use coyote_instrumenter::Points;

/// What the verdict of a search takes for granted.
pub(super) fn assumptions(plan: &Plan, result: &TestResult, resumed: Option<&Resumed>) -> Vec<String> {
    let options = &plan.artifact.options;
    let mut assumptions = vec!["sequential consistency".to_string(), "virtual time".into()];
    if plan.settings.timers == Timers::Ordered {
        assumptions.push("timeouts in their order".into());
    }
    match options.points {
        Points::Heap => {}
        Points::Atomic => assumptions.push("no races on plain memory".into()),
        Points::Sync => {
            assumptions.push("no races on memory, nor on atomics, of which std's locks are made".into());
        }
    }
    if options.atomic_defaults && !plan.settings.exact_addresses {
        assumptions.push("up to the addresses that malloc returns".into());
    }
    if !options.atomic_fns.is_empty()
        || !options.no_points_in.is_empty()
        || !options.points_only_in.is_empty()
    {
        assumptions.push("no races in the functions left out".into());
    }
    let table = &plan.artifact.table;
    if table.shared_globals > table.segment_flags {
        assumptions.push("no races on wasm globals".into());
    }
    if plan.artifact.has_other_references() {
        assumptions.push("references to other things than functions are equal".into());
    }
    if plan.settings.limits.fail_on_steps_max
        || result.bugs.iter().any(|b| b.bug.kind == BugKind::MaxSteps)
        || resumed.is_some_and(|resumed| resumed.done.has(BugKind::MaxSteps))
    {
        assumptions.push(format!("executions of at most {} steps", plan.settings.limits.unfair_steps_max));
    }
    assumptions.extend(plan.settings.detectors.assumptions().into_iter().map(String::from));
    if plan.settings.detectors.has("races") {
        let Counts { without_ordering, unknown, .. } = plan.artifact.orderings().counts();
        let count = (without_ordering + unknown) as u64;
        if count > 0 {
            let operations = counted(count, "operation");
            assumptions.push(format!("{operations} of unknown ordering taken for sequentially consistent"));
        }
    }
    let suppressed = result.races.iter().filter(|seen| seen.race.suppressed_by.is_some()).count() as u64;
    let noted = result.races.len() as u64 - suppressed;
    for (count, how) in [(suppressed, "suppressed"), (noted, "noted")] {
        if count > 0 {
            assumptions.push(format!("without {} that {} {how}", counted(count, "data race"), is(count)));
        }
    }
    assumptions
}

fn is(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
