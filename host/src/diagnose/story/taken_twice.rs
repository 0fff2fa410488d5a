//! A lock that a worker takes twice in one function, or in two that one function calls, with another worker in between: what
//! the function found the first time may no longer be so the second time. In a minimised schedule no switch can be left out,
//! so that the bug needs this one.

use super::condvars;
use super::facts::{Cause, Facts};
use super::moment::{Act, Got, Moment, is_same_line};
use super::words::place;
use crate::symbols::{SourceFrame, is_library};
use coyote_strategies::OpKind;

/// A lock is taken.
struct Taken<'a> {
    /// The index of the moment.
    at: usize,
    moment: &'a Moment,
    line: &'a SourceFrame,
    address: u64,
    exclusive: bool,
}

/// A sentence on the last such case in the schedule.
pub fn taken_twice(facts: &Facts<'_>) -> Option<Cause> {
    let taken = facts.moments.iter().enumerate().filter_map(|(at, moment)| taken(at, moment));
    // Who waits for a condvar takes its mutex again, but looks again, too.
    let taken: Vec<Taken<'_>> =
        taken.filter(|taken| !condvars::is_wait_of_mutex(&facts.frames_of(taken.moment))).collect();
    let (first, other, second) = taken.iter().rev().find_map(|second| {
        let earlier = || {
            taken.iter().rev().filter(|earlier| earlier.at < second.at && earlier.address == second.address)
        };
        let first = earlier().find(|earlier| earlier.moment.worker == second.moment.worker)?;
        // Who waits for others expects that they do something.
        let between = &facts.moments[first.at..second.at];
        if between.iter().any(|moment| moment.worker == first.moment.worker && waits_for_others(moment)) {
            return None;
        }
        let others = || earlier().filter(|earlier| earlier.at > first.at && earlier.exclusive);
        // Best the one that did the same.
        let same = others().find(|other| is_same_line(other.line, second.line));
        let other = same.or_else(|| others().next())?;
        is_later(&own(facts, first), &own(facts, second)).then_some((first, other, second))
    })?;
    let lock = facts.names.lock(first.address);
    let is_one_function = first.line.function == second.line.function;
    let at = |taken: &Taken<'_>| match is_one_function {
        true => place(taken.line),
        false => format!("`{}`, {}", super::short_name(&taken.line.function), place(taken.line)),
    };
    let sentence = format!(
        "{} locks {lock} in step {} ({}) and again in step {} ({}), and in between {} locks it in step {} ({})",
        facts.name(first.moment.worker),
        first.moment.step,
        at(first),
        second.moment.step,
        at(second),
        facts.name(other.moment.worker),
        other.moment.step,
        at(other),
    );
    Some(Cause { sentence, steps: vec![first.moment.step, other.moment.step, second.moment.step] })
}

/// Whether a worker waits for something that others do, and not for a lock.
fn waits_for_others(moment: &Moment) -> bool {
    use OpKind::*;
    match moment.act {
        Act::Object { kind: FutexWait, .. } => moment.lock.is_none(),
        Act::Object { kind, .. } => matches!(kind, Wait | BarrierWait | SemaphoreWait | Join),
        _ => false,
    }
}

/// The guest's own frames in which a lock is taken, innermost first.
fn own(facts: &Facts<'_>, taken: &Taken<'_>) -> Vec<SourceFrame> {
    let frames = facts.frames_of(taken.moment);
    frames.into_iter().filter(|frame| !is_library(frame) && frame.line.is_some()).collect()
}

/// Whether a function comes to the second of two places after the first one: in the outermost frames in which they differ,
/// it is in a later line. Otherwise it is another round of a loop, or another call.
fn is_later(first: &[SourceFrame], second: &[SourceFrame]) -> bool {
    let differ = first.iter().rev().zip(second.iter().rev()).find(|(a, b)| !is_same_line(a, b));
    differ.is_some_and(|(a, b)| (&a.function, &a.file) == (&b.function, &b.file) && a.line < b.line)
}

fn taken(at: usize, moment: &Moment) -> Option<Taken<'_>> {
    use OpKind::*;
    let line = moment.line.as_ref()?;
    let taken = |address, exclusive| Some(Taken { at, moment, line, address, exclusive });
    match moment.act {
        Act::Object { kind: Lock | TryLock | WriteLock | TryWriteLock, address, got: Got::It } => {
            taken(address, true)
        }
        Act::Object { kind: ReadLock | TryReadLock, address, got: Got::It } => taken(address, false),
        _ => moment.accesses.iter().find_map(|access| taken(access.raw.address, access.takes_lock()?)),
    }
}
