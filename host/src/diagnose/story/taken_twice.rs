//! A lock that a worker takes twice in one function, with another worker in between: what the function found the first time
//! may no longer be so the second time. In a minimised schedule no switch can be left out, so that the bug needs this one.

use super::facts::Cause;
use super::moment::{Act, Got, Moment, is_same_line};
use super::words::{Names, place};
use crate::symbols::SourceFrame;
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
pub fn taken_twice(moments: &[Moment], names: &Names<'_>) -> Option<Cause> {
    let taken: Vec<Taken<'_>> =
        moments.iter().enumerate().filter_map(|(at, moment)| taken(at, moment)).collect();
    let (first, other, second) = taken.iter().rev().find_map(|second| {
        let earlier = || {
            taken.iter().rev().filter(|earlier| earlier.at < second.at && earlier.address == second.address)
        };
        let first = earlier().find(|earlier| earlier.moment.worker == second.moment.worker)?;
        let is_one_function =
            (&first.line.function, &first.line.file) == (&second.line.function, &second.line.file);
        // Otherwise it is another round of a loop, or another call.
        let is_later = first.line.line < second.line.line;
        let others = || earlier().filter(|earlier| earlier.at > first.at && earlier.exclusive);
        // Best the one that did the same.
        let same = others().find(|other| is_same_line(other.line, second.line));
        let other = same.or_else(|| others().next())?;
        (is_one_function && is_later).then_some((first, other, second))
    })?;
    let lock = names.lock(first.address);
    let name = (names.workers)(first.moment.worker);
    let sentence = format!(
        "{name} locks {lock} in step {} ({}) and again in step {} ({}), and in between {} locks it in step {} ({})",
        first.moment.step,
        place(first.line),
        second.moment.step,
        place(second.line),
        (names.workers)(other.moment.worker),
        other.moment.step,
        place(other.line),
    );
    Some(Cause { sentence, steps: vec![first.moment.step, other.moment.step, second.moment.step] })
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
