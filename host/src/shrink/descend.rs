//! Descent to a local minimum: edits are tried one by one, and each is kept if the bug remains and the schedule weighs
//! less, until none helps. To edit a long schedule takes long even if nothing is executed, so each pass ends with the
//! attempts.

use super::attempt::{Attempt, Attempts};
use super::edits;
use crate::machine::MachineError;
use coyote_strategies::{Decision, Guided, Preference};
use std::sync::Arc;

type Result<T> = std::result::Result<T, MachineError>;

/// The maximum number of segments of a schedule in which each segment is tried in every other place, and up to each
/// later end.
const MOVED_MAX: usize = 16;
/// The maximum number of segments of a schedule in which each segment is tried up to each later end when nothing else
/// helps.
const ENDS_MAX: usize = 64;
/// The maximum number of pairs of workers that exchange their parts.
const EXCHANGED_MAX: usize = 128;

/// The local minimum that is reached from an attempt: no edit of it is lighter.
pub fn to_local_minimum(attempts: &mut Attempts, mut best: Attempt) -> Result<Attempt> {
    loop {
        let before = best.clone();
        for pass in
            [without_parts, going_on, moved, exchanged, with_smaller_values_alone, lengthened, truncated]
        {
            pass(attempts, &mut best)?;
        }
        if best == before {
            going_on_to_any_end(attempts, &mut best)?;
        }
        if best == before || !attempts.may_go_on() {
            return Ok(best);
        }
    }
}

/// Executes an edit and keeps it if it is lighter.
fn improve(attempts: &mut Attempts, best: &mut Attempt, edited: Preference) -> Result<bool> {
    let attempt = attempts.try_edit(edited, best)?;
    let improved = attempt.is_some();
    if let Some(attempt) = attempt {
        *best = attempt;
    }
    Ok(improved)
}

/// Removes segments: half of them at once, then a quarter, and so on down to single ones.
fn without_parts(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    let mut count = best.preference.segments.len() / 2;
    while count > 0 {
        let mut from = 0;
        while from + count <= best.preference.segments.len() && attempts.may_go_on() {
            let edited = edits::without(&best.preference, from, count);
            if !improve(attempts, best, edited)? {
                from += count;
            }
        }
        count = if count > 1 { count.div_ceil(2) } else { 0 };
    }
    Ok(())
}

/// Lets workers continue where they were left: in short schedules up to each later end, otherwise up to the next one.
fn going_on(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    going_on_to(attempts, best, MOVED_MAX)
}

/// As [`going_on`], but schedules of up to [`ENDS_MAX`] segments count as short.
fn going_on_to_any_end(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    going_on_to(attempts, best, ENDS_MAX)
}

fn going_on_to(attempts: &mut Attempts, best: &mut Attempt, short: usize) -> Result<()> {
    let mut at = 0;
    while at < best.preference.segments.len() && attempts.may_go_on() {
        let count = best.preference.segments.len();
        let ends = if count <= short { count } else { 1 };
        let edited = edits::going_on(&best.preference, at, ends).into_iter();
        let mut improved = false;
        for edited in edited.chain(edits::run_on(&best.preference, at)) {
            improved |= improve(attempts, best, edited)?;
        }
        at += usize::from(!improved);
    }
    Ok(())
}

/// Moves segments to other places: in long schedules to the neighbouring place, in short ones to all places.
fn moved(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    let mut from = 0;
    while from < best.preference.segments.len() && attempts.may_go_on() {
        let count = best.preference.segments.len();
        let targets = if count <= MOVED_MAX { 0..count } else { from + 1..(from + 2).min(count) };
        let mut improved = false;
        for to in targets.filter(|to| *to != from) {
            if to < best.preference.segments.len() && from < best.preference.segments.len() {
                let edited = edits::moved(&best.preference, from, to);
                improved |= improve(attempts, best, edited)?;
            }
        }
        from += usize::from(!improved);
    }
    Ok(())
}

/// Lets workers exchange their parts, which makes the schedules of equal bugs of different runs the same.
fn exchanged(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    for (one, other) in edits::siblings(&best.preference, EXCHANGED_MAX) {
        if !attempts.may_go_on() {
            break;
        }
        let edited = edits::exchanged(&best.preference, &one, &other);
        improve(attempts, best, edited)?;
    }
    Ok(())
}

/// Lowers values, one at a time.
fn with_smaller_values_alone(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    for (worker, nth, value) in edits::values(&best.preference) {
        if !attempts.may_go_on() {
            break;
        }
        for smaller in edits::smaller(value) {
            let edited = edits::with_value(&best.preference, &worker, nth, smaller);
            if improve(attempts, best, edited)? {
                break;
            }
        }
    }
    Ok(())
}

/// Lets segments end earlier.
fn truncated(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    let mut at = 0;
    while at < best.preference.segments.len() && attempts.may_go_on() {
        let mut steps = edits::length(&best.preference, at) / 2;
        while steps > 0 && at < best.preference.segments.len() {
            let improved = match edits::truncated(&best.preference, at, steps) {
                Some(edited) => improve(attempts, best, edited)?,
                None => false,
            };
            if !improved {
                steps /= 2;
            }
        }
        at += 1;
    }
    Ok(())
}

/// Lets segments end later, for the case that a worker was left while it held an object that other workers then wait
/// for: their steps in between become unnecessary. Only in short schedules.
fn lengthened(attempts: &mut Attempts, best: &mut Attempt) -> Result<()> {
    let mut at = 0;
    while at < best.preference.segments.len().min(MOVED_MAX) && attempts.may_go_on() {
        for edited in edits::lengthened(&best.preference, at) {
            if improve(attempts, best, edited)? {
                break;
            }
        }
        at += 1;
    }
    Ok(())
}

/// The number of random continuations of an execution whose value was lowered.
const CONTINUATIONS: u64 = 64;

/// Lowers values as far as some random continuation still has the bug, whatever the weight of the schedule. `None` if
/// no value can be lowered.
pub fn with_smaller_values(attempts: &mut Attempts, base: &Attempt) -> Result<Option<Attempt>> {
    let mut best: Option<Attempt> = None;
    let mut path = path(attempts, base)?;
    let mut at = 0;
    while at < path.len() && attempts.may_go_on() {
        if let Decision::Value(value) = path[at] {
            for smaller in edits::smaller(value) {
                let mut start = path[..at].to_vec();
                start.push(Decision::Value(smaller));
                if let Some(attempt) = any_continuation(attempts, &start)? {
                    path = self::path(attempts, &attempt)?;
                    best = Some(attempt);
                    break;
                }
            }
        }
        at += 1;
    }
    Ok(best)
}

/// The decisions of an attempt.
fn path(attempts: &mut Attempts, attempt: &Attempt) -> Result<Vec<Decision>> {
    super::attempt::execute(attempts.execution, &attempt.preference)?;
    Ok(attempts.execution.decisions())
}

/// An execution with the bug that begins with these decisions, if a random continuation has it.
fn any_continuation(attempts: &mut Attempts, start: &[Decision]) -> Result<Option<Attempt>> {
    for number in 0..CONTINUATIONS {
        let guided = Guided::new(Arc::default()).after(start.to_vec()).then_random();
        if let Some(attempt) = attempts.run(guided, number)? {
            return Ok(Some(attempt));
        }
    }
    Ok(None)
}
