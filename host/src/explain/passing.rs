//! The nearest passing schedule: that of the trace with another decisive choice, executed.

use super::states::States;
use super::{Ended, Subject};
use crate::execution::Execution;
use crate::outcome::Outcome;
use crate::record::{self, Origin};
use crate::results::{Instead, Passing, Rate};
use coyote_strategies::{Decision, Pick, Preference, Segment};
use std::sync::Arc;

/// Random continuations after each alternative.
const CONTINUATIONS: u64 = 100;
/// How many random ends of the schedule are tried where the one by default does not pass.
const RANDOM_ENDS: u64 = 32;

/// Of the schedules that differ in this choice and pass, the one after whose choice random continuations have the bug
/// least often; of equal ones the one that differs least. One that passes only with another end than the default comes
/// behind all others. `None` if none passes.
pub fn nearest(
    execution: &mut Execution,
    subject: &Subject,
    states: &mut States,
    choice: usize,
) -> Result<Option<Passing>, Ended> {
    let table = &execution.machine().artifact().table;
    let rest = Preference::of(&record::schedule(subject.trace, table));
    let mut best: Option<Passing> = None;
    for other in states.others(choice).to_vec() {
        let Some(passing) = passing_with(execution, subject, states, (choice, other), &rest)? else {
            continue;
        };
        let key = |passing: &Passing| (!passing.certain, passing.after.bugs);
        let better = best.as_ref().is_none_or(|best| key(&passing) < key(best));
        if better {
            best = Some(passing);
        }
    }
    Ok(best)
}

/// The passing schedule with this choice, if there is one.
fn passing_with(
    execution: &mut Execution,
    subject: &Subject,
    states: &mut States,
    (choice, other): (usize, Decision),
    rest: &Preference,
) -> Result<Option<Passing>, Ended> {
    let mut rests = vec![(false, rest.clone())];
    if let Decision::Pick(Pick::Step(worker)) = other {
        let mut runs_on = rest.clone();
        let worker = states.worker(worker).clone();
        runs_on.segments.insert(0, Segment::Run { worker, until: u64::MAX });
        rests.push((true, runs_on));
    }
    let rests: Vec<(bool, Arc<Preference>)> =
        rests.into_iter().map(|(runs_on, rest)| (runs_on, Arc::new(rest))).collect();
    // What follows when the schedule is at its end is more likely to have the bug again the longer it is.
    let ends = std::iter::once(None).chain((0..RANDOM_ENDS).map(Some));
    let tries = ends.flat_map(|end| rests.iter().map(move |(runs_on, rest)| (*runs_on, rest, end)));
    for (runs_on, rest, end) in tries {
        let outcome = states.with(execution, choice, other, rest.clone(), end)?;
        if outcome != Outcome::Passed {
            continue;
        }
        let title = |pick: Pick| {
            let runtime = execution.runtime();
            (runtime.worker(pick.worker()).path.clone(), runtime.title(pick.worker()))
        };
        let instead = match other {
            Decision::Pick(pick) => match (pick, title(pick)) {
                (Pick::Step(_), (worker, title)) if runs_on => Instead::RunsOn { worker, title },
                (Pick::Step(_), (worker, title)) => Instead::Step { worker, title },
                (Pick::Timeout(_), (worker, title)) => Instead::Timeout { worker, title },
            },
            Decision::Value(value) => match subject.trace.decisions.get(choice) {
                Some(crate::trace::Decision::Value { value: was, bound }) => {
                    Instead::Value { value, bound: *bound, was: *was }
                }
                _ => return Ok(None),
            },
        };
        let header = &subject.trace.header;
        let origin = Origin {
            strategy: header.strategy.clone(),
            seed: header.seed,
            iteration: header.iteration,
            options: header.options.clone(),
        };
        let trace = record::trace(execution, &outcome, origin);
        let mut after = Rate::default();
        states.go_on(execution, subject, choice, Some(other), &mut after, CONTINUATIONS)?;
        let certain = end.is_none();
        return Ok(Some(Passing {
            instead,
            step: states.step(choice),
            place: None,
            certain,
            after,
            read: None,
            trace,
        }));
    }
    Ok(None)
}
