//! The cause of a bug, as far as the schedule itself proves it.
//!
//! Every sentence states what happened, and none what the programmer intended: for a deadlock, which workers wait for
//! what and what the notifications did; for a failing line, which worker changed what it read, or else took a lock between
//! two uses of it, or else wrote what its worker read last; for a block, which worker freed it.

use super::deadlock::deadlock;
use super::facts::{Cause, Facts};
use super::moment::{Act, Moment, SharedAccess, is_same_line};
use super::polls::Lane;
use super::recorder::RawAccess;
use super::taken_twice::taken_twice;
use super::words;
use crate::evidence::{Evidence, RacingAccess, RacingAct};
use crate::outcome::{Bug, BugKind};
use crate::plural::amount;
use crate::symbols::SourceFrame;
use coyote_strategies::WorkerId;

/// Whether the values that a worker read may explain a bug of this kind.
pub fn may_follow_from_values(kind: BugKind) -> bool {
    use BugKind::*;
    matches!(kind, Assertion | Panic | Trap | UncaughtException | ExitCode | HeapOverflow | InvalidFree)
}

/// The sentence that follows the verdict.
pub fn why(bug: &Bug, facts: &Facts<'_>) -> Option<Cause> {
    let cause = match bug.kind {
        BugKind::Deadlock => deadlock(facts).map(Cause::from),
        BugKind::UseAfterFree | BugKind::DoubleFree => freed(bug, facts).map(Cause::from),
        kind if may_follow_from_values(kind) => {
            let changed = bug.worker.and_then(|worker| changed(worker, facts));
            let differs = || bug.worker.and_then(|worker| differs(worker, facts));
            let twice = || taken_twice(facts);
            changed.or_else(differs).or_else(twice).or_else(|| facts.read.clone())
        }
        BugKind::DataRace => race(bug, facts).map(Cause::from),
        _ => None,
    };
    // A stale value comes first: it is what readers who assume sequential consistency do not expect.
    let stale = facts.moments.iter().any(|moment| matches!(moment.act, Act::Stale(_)));
    let faults = faults(facts).map(Cause::from);
    let failed = facts.moments.iter().any(|moment| matches!(moment.act, Act::Fault { how: Some(_), .. }));
    match (cause.filter(|_| !stale || faults.is_none()), faults) {
        // A call that failed is a part of the cause, whatever else is.
        (Some(cause), Some(faults)) if failed => {
            Some(Cause { sentence: format!("{}; {}", cause.sentence, faults.sentence), ..cause })
        }
        (Some(cause), _) => Some(cause),
        (None, faults) => faults,
    }
}

/// The faults that happened, if they are few.
fn faults(facts: &Facts<'_>) -> Option<String> {
    let faults = facts.moments.iter().filter_map(|moment| match &moment.act {
        Act::Fault { name, how } => {
            let at = words::in_brackets(moment.line.as_ref());
            let how = how.as_ref().map_or(String::new(), |how| format!(": {how}"));
            if let Some([happens, _]) = crate::runtime::other_order(name) {
                return Some(format!("in step {}{at}, {happens}", moment.step));
            }
            Some(format!("the fault `{name}` happens in step {}{at}{how}", moment.step))
        }
        Act::Stale(stale) => {
            let at = words::in_brackets(moment.line.as_ref());
            Some(format!("step {}{at} {stale}", moment.step))
        }
        _ => None,
    });
    let faults: Vec<String> = faults.collect();
    (!faults.is_empty() && faults.len() <= 3).then(|| faults.join(", and "))
}

/// Which worker freed a block that is used afterwards.
fn freed(bug: &Bug, facts: &Facts<'_>) -> Option<String> {
    let allocated = facts.moments.iter().find(|moment| moment.act == Act::Allocates);
    let freed = facts.moments.iter().rev().find(|moment| moment.act == Act::Frees)?;
    let block = match allocated.and_then(|moment| moment.line.as_ref()) {
        Some(line) => format!("the block of {}", words::place(line)),
        None => "the block".into(),
    };
    let by = bug.worker?;
    let at = freed.line.as_ref().map_or(String::new(), |line| format!(" at {}", words::place(line)));
    let then = match bug.kind {
        BugKind::DoubleFree => "frees it again",
        _ => "uses it afterwards",
    };
    let who = if by == freed.worker { "and".into() } else { format!("and {}", facts.name(by)) };
    Some(format!("{} frees {block}{at} in step {}, {who} {then}", facts.name(freed.worker), freed.step))
}

/// The accesses of a data race, in their order.
fn race<'a>(bug: &Bug, facts: &'a Facts<'_>) -> Option<String> {
    let Evidence::Race { first, second } = &bug.evidence else { return None };
    let overlaps = |access: &&SharedAccess, of: &RacingAccess| {
        access.raw.address < u64::from(of.address) + u64::from(of.bytes)
            && u64::from(of.address) < access.raw.address + u64::from(access.raw.bytes)
    };
    let own = facts.moments.iter().rev().filter(|moment| moment.worker == first.worker);
    let mut own = own.filter(|moment| moment.step <= first.step);
    let (earlier, memory, same) = match first.object() {
        Some(object) => {
            let is = |moment: &&Moment| matches!(moment.act, Act::Object { address, .. } if address == u64::from(object.address));
            (own.find(is)?, facts.object(object), "it")
        }
        None if first.act == RacingAct::Allocation => {
            (own.find(|moment| moment.act == Act::Allocates)?, "the block".into(), "it")
        }
        None => {
            let accessed = |moment: &'a Moment| {
                Some((moment, moment.accesses.iter().find(|access| overlaps(access, first))?))
            };
            let (earlier, access) = own.find_map(accessed)?;
            match (facts.names.memory)(&access.raw) {
                Some(known) => (earlier, format!("`{}`", known.name), "it"),
                None => (earlier, amount(first.bytes), if first.bytes == 1 { "it" } else { "them" }),
            }
        }
    };
    let same = match (&first.act, &second.act) {
        (RacingAct::Access { .. }, RacingAct::Free) => "the block".into(),
        (RacingAct::Use(..), RacingAct::Free) => "its block".into(),
        _ if (second.address, second.bytes) == (first.address, first.bytes) => same.to_string(),
        _ => format!("a part of {same}"),
    };
    Some(format!(
        "{} {} {memory} in step {}{}, {} {} {}{}, and nothing orders the two",
        facts.name(first.worker),
        first.act.verb(),
        first.step,
        words::in_brackets(earlier.line.as_ref()),
        facts.name(second.worker),
        second.act.verb(),
        same,
        facts.place_of(second.worker),
    ))
}

/// Which worker changed what the failing line reads; if the line reads nothing, what the function read last.
fn changed(culprit: WorkerId, facts: &Facts<'_>) -> Option<Cause> {
    let line = (facts.stacks)(culprit).into_iter().find(|frame| frame.line.is_some())?;
    let culprit = (facts.lane)(culprit);
    let (at, read) = read_last(culprit, facts, &line)?;
    changed_before(culprit, at, &read.raw, facts)
}

/// Which worker changed what the failing worker reads otherwise in the nearest passing schedule.
fn differs(culprit: WorkerId, facts: &Facts<'_>) -> Option<Cause> {
    let culprit = (facts.lane)(culprit);
    let (step, read) = facts.differs.as_ref()?;
    let is = |moment: &Moment| {
        moment.step == *step
            && moment.lane() == culprit
            && moment.accesses.iter().any(|access| access.raw.address == read.address)
    };
    let at = facts.moments.iter().position(is)?;
    changed_before(culprit, at, read, facts)
}

/// Which worker changed what a worker reads in a moment.
fn changed_before(culprit: Lane, at: usize, read: &RawAccess, facts: &Facts<'_>) -> Option<Cause> {
    let before: Vec<Touch<'_>> = touches(&facts.moments[..=at], read);
    let memory = match (facts.names.memory)(read) {
        Some(known) => format!("`{}`", known.name),
        None => format!("what {} reads", words::place(facts.moments[at].line.as_ref()?)),
    };
    let mut cause =
        lost_update(&before, &memory, facts).or_else(|| changed_between(culprit, &before, &memory, facts))?;
    cause.steps.push(facts.moments[at].step);
    Some(cause)
}

/// The last access of shared memory in a line, with its moment; if that line has none, the last one in the same
/// function. `None` if the line reads several pieces of memory.
fn read_last<'a>(
    culprit: Lane,
    facts: &'a Facts<'_>,
    line: &SourceFrame,
) -> Option<(usize, &'a SharedAccess)> {
    let own = facts.moments.iter().enumerate().rev().filter(|(_, moment)| moment.lane() == culprit);
    let is = |moment: &Moment, same: &dyn Fn(&SourceFrame) -> bool| moment.line.as_ref().is_some_and(same);
    let in_line = |moment: &Moment| is(moment, &|other| is_same_line(other, line));
    let in_function = |moment: &Moment| is(moment, &|other| other.function == line.function);
    let reads =
        own.flat_map(|(at, moment)| moment.accesses.iter().rev().map(move |access| (at, moment, access)));
    let reads = reads.filter(|(_, _, access)| access.direct && access.is_contended && access.raw.reads);
    let reads: Vec<_> = reads.take_while(|(_, moment, _)| in_function(moment)).collect();
    let (at, moment, read) = *reads.first()?;
    let mut others = reads.iter().take_while(|(_, other, _)| in_line(moment) && in_line(other));
    let same = |(_, _, other): &(usize, &Moment, &SharedAccess)| other.raw.address == read.raw.address;
    others.all(same).then_some((at, read))
}

/// A worker's access of a piece of memory.
#[derive(Clone, Copy)]
struct Touch<'a> {
    moment: &'a Moment,
    reads: bool,
    writes: bool,
}

/// All accesses of the memory that this access reads, in order.
fn touches<'a>(moments: &'a [Moment], read: &RawAccess) -> Vec<Touch<'a>> {
    let (start, end) = (read.address, read.address + u64::from(read.bytes));
    let all =
        moments.iter().flat_map(|moment| moment.accesses.iter().map(move |access| (moment, &access.raw)));
    let these = all.filter(|(_, raw)| raw.address < end && start < raw.address + u64::from(raw.bytes));
    these.map(|(moment, raw)| Touch { moment, reads: raw.reads, writes: raw.changes() }).collect()
}

/// A lost update: the last writer had read the memory, in the same function, before another worker wrote it.
fn lost_update(before: &[Touch<'_>], memory: &str, facts: &Facts<'_>) -> Option<Cause> {
    let last = before.iter().rposition(|touch| touch.writes && !touch.reads)?;
    let writer = before[last].moment;
    let read = before[..last].iter().rposition(|touch| touch.moment.lane() == writer.lane())?;
    let reader = before[read].moment;
    let lines = reader.line.as_ref().zip(writer.line.as_ref());
    let line = lines.filter(|(a, b)| (&a.function, &a.file) == (&b.function, &b.file))?.1;
    let lost =
        before[read..last].iter().rfind(|touch| touch.moment.lane() != writer.lane() && touch.writes)?;
    if before[last + 1..].iter().any(|touch| touch.writes) || !before[read].reads {
        return None;
    }
    let name = facts.names.lane(writer.lane());
    let sentence = format!(
        "{name} reads {memory} in step {}, {} changes it in step {}, and {name} writes over that in step {} ({})",
        reader.step,
        facts.names.lane(lost.moment.lane()),
        lost.moment.step,
        writer.step,
        words::place(line),
    );
    Some(Cause { sentence, steps: vec![reader.step, lost.moment.step, writer.step] })
}

/// A change by another worker between two accesses of the worker that fails.
fn changed_between(culprit: Lane, before: &[Touch<'_>], memory: &str, facts: &Facts<'_>) -> Option<Cause> {
    let at = before.iter().rposition(|touch| touch.writes && touch.moment.lane() != culprit)?;
    let other = before[at].moment;
    let own = |touch: &&Touch<'_>| touch.moment.lane() == culprit;
    // A write before, or only a read afterwards, proves little.
    let earlier = before[..at].iter().rfind(own).filter(|touch| touch.reads && !touch.writes)?.moment.step;
    let later = before[at..].iter().find(own)?.moment.step;
    let line = words::in_brackets(other.line.as_ref());
    let sentence = format!(
        "{} changes {memory} in step {}{line}, between step {earlier} and step {later} of {}",
        facts.names.lane(other.lane()),
        other.step,
        facts.names.lane(culprit),
    );
    Some(Cause { sentence, steps: vec![earlier, other.step, later] })
}
