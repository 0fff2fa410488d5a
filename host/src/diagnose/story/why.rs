//! The cause of a bug, as far as the schedule itself proves it.
//!
//! Every sentence states what happened, and none what the programmer intended: for a deadlock, which workers wait for
//! what and what the notifications did; for a failing line, which worker changed what it read, or else took a lock between
//! two uses of it, or else wrote what its worker read last; for a block, which worker freed it.

use super::looks::Look;
use super::moment::{Act, Moment, SharedAccess, is_same_line};
use super::polls::Lane;
use super::recorder::RawStep;
use super::taken_twice::taken_twice;
use super::tasks::Task;
use super::within::Within;
use super::words::{self, Names};
use crate::evidence::{Evidence, RacingAccess, RacingAct};
use crate::outcome::{Bug, BugKind};
use crate::plural::amount;
use crate::runtime::{ObjectId, Request, Runtime};
use crate::symbols::SourceFrame;
use coyote_instrumenter::Location;
use coyote_strategies::{Class, OpKind, WorkerId, WorkerState};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of places with suspended tasks that are told.
const TASKS_MAX: usize = 8;

/// The facts from which sentences are made.
pub struct Facts<'a> {
    pub runtime: &'a Runtime,
    pub moments: &'a [Moment],
    pub steps: &'a [RawStep],
    pub names: &'a Names<'a>,
    /// The worker, or the task that it executes at the end.
    pub lane: &'a dyn Fn(WorkerId) -> Lane,
    /// For each worker that has not ended: the guest's own frames on its stack, innermost first.
    pub stacks: &'a dyn Fn(WorkerId) -> Vec<SourceFrame>,
    /// The guest's own line of the code at a location, if that code is inlined there.
    pub line_of: &'a dyn Fn(Location) -> Option<SourceFrame>,
    /// For such a worker: its innermost functions, including those of libraries, that do more than wait for a futex and
    /// belong to the same part of the library.
    pub innermost: &'a dyn Fn(WorkerId) -> Vec<String>,
    /// The workers that wait within libraries.
    pub within: &'a BTreeMap<WorkerId, Within>,
    /// The tasks that are suspended, if all workers wait.
    pub tasks: &'a [Task],
    /// What workers that wait for ever saw before others changed it.
    pub looks: &'a [Look],
    /// The sentence on the value that the failing worker read.
    pub read: Option<String>,
}

/// Whether the values that a worker read may explain a bug of this kind.
pub fn may_follow_from_values(kind: BugKind) -> bool {
    use BugKind::*;
    matches!(kind, Assertion | Panic | Trap | UncaughtException | ExitCode | HeapOverflow | InvalidFree)
}

/// The sentence that follows the verdict.
pub fn why(bug: &Bug, facts: &Facts<'_>) -> Option<String> {
    let sentence = match bug.kind {
        BugKind::Deadlock => deadlock(facts),
        BugKind::UseAfterFree | BugKind::DoubleFree => freed(bug, facts),
        kind if may_follow_from_values(kind) => {
            let changed = bug.worker.and_then(|worker| changed(worker, facts));
            let twice = || taken_twice(facts.moments, facts.names);
            changed.or_else(twice).or_else(|| facts.read.clone())
        }
        BugKind::DataRace => race(bug, facts),
        _ => None,
    };
    // A stale value comes first: it is what readers who assume sequential consistency do not expect.
    let stale = facts.moments.iter().any(|moment| matches!(moment.act, Act::Stale(_)));
    let stale = if stale { faults(facts) } else { None };
    let failed = facts.moments.iter().any(|moment| matches!(moment.act, Act::Fault { how: Some(_), .. }));
    match (stale.or(sentence), faults(facts)) {
        // A call that failed is a part of the cause, whatever else is.
        (Some(sentence), Some(faults)) if failed && !sentence.contains(&faults) => {
            Some(format!("{sentence}; {faults}"))
        }
        (Some(sentence), _) => Some(sentence),
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

/// Which workers wait for what, and hints on possible causes.
pub fn structure(bug: &Bug, facts: &Facts<'_>) -> Vec<String> {
    if bug.kind != BugKind::Deadlock {
        return Vec::new();
    }
    let runtime = facts.runtime;
    let blocked = (0..runtime.workers().len() as u32).map(WorkerId);
    let blocked = blocked.filter(|id| runtime.pending(*id).state == WorkerState::Blocked);
    let waits: Vec<String> = blocked.filter_map(|id| facts.waits_for(id)).collect();
    let mut lines = vec![format!("who waits: {}", waits.join("; "))];
    lines.extend(facts.tasks.chunk_by(|a, b| a == b).take(TASKS_MAX).map(suspended));
    lines.extend(facts.hints());
    lines
}

/// A sentence on equal tasks.
fn suspended(tasks: &[Task]) -> String {
    let Task { begins, at, source } = &tasks[0];
    let of = super::short_name(&begins.function);
    let function = super::short_name(&at.function);
    let within = if function == of { String::new() } else { format!(" in `{function}`") };
    let source = source.as_ref().map_or(String::new(), |source| format!(": `{source}`"));
    let at = if at == begins { String::new() } else { format!(" at {}{within}", words::place(at)) };
    let begins = words::place(begins);
    match tasks.len() {
        1 => format!("the task of `{of}` ({begins}) waits{at}{source}"),
        n => format!("{n} tasks of `{of}` ({begins}) wait{at}{source}"),
    }
}

fn deadlock(facts: &Facts<'_>) -> Option<String> {
    let stuck = facts.runtime.stuck();
    let circle = facts.circle(&stuck);
    match circle.as_slice() {
        [] => {}
        [only] => {
            return Some(format!(
                "{} waits for {}{}",
                facts.name(*only),
                facts.awaited(*only)?,
                facts.held(*only)
            ));
        }
        several if several.iter().any(|id| facts.joined(*id).is_some()) => {
            let link = |id: &WorkerId| match facts.joined(*id) {
                Some(other) => {
                    Some(format!("{} waits for the end of {}", facts.name(*id), facts.name(other)))
                }
                None => {
                    Some(format!("{} waits for {}{}", facts.name(*id), facts.awaited(*id)?, facts.held(*id)))
                }
            };
            let links: Option<Vec<String>> = several.iter().map(link).collect();
            return Some(links?.join(", and "));
        }
        several => {
            let links: Option<Vec<String>> = several
                .iter()
                .map(|id| Some(format!("{} waits for {}", facts.name(*id), facts.awaited(*id)?)))
                .collect();
            let inferred = several.iter().any(|id| facts.holders(*id).iter().any(|holder| holder.inferred));
            let how = if inferred { ", as far as the locks' words tell" } else { "" };
            return Some(format!("{}, and each of these is held by the next one{how}", links?.join(", ")));
        }
    }
    for id in &stuck {
        let place = facts.runtime.worker(*id).request.wants();
        let ended = |holder: &WorkerId| facts.runtime.pending(*holder).state == WorkerState::Ended;
        if let Some(place) = place
            && let Some(holder) = facts.runtime.holders(place).into_iter().find(ended)
        {
            return Some(format!("{} holds {} and has ended", facts.name(holder), facts.object(place)));
        }
    }
    if let Some(task) = stuck.iter().copied().find(|id| !facts.runtime.awaited(*id).is_empty()) {
        let what = facts.runtime.awaited_text(task);
        let at = facts.place_of(task);
        return Some(format!("{} awaits {what}{at}, and nobody is left to wake it", facts.name(task)));
    }
    let on_socket = |id: &WorkerId| facts.runtime.awaited_sockets(*id).filter(|what| !what.is_empty());
    if let Some((id, what)) = stuck.iter().find_map(|id| Some((*id, on_socket(id)?))) {
        let act = if facts.runtime.worker(id).driver.turns { "wake it" } else { "send or connect" };
        return Some(format!("{} waits for {what}, and nobody is left to {act}", facts.name(id)));
    }
    // Who joins a thread waits for what that one waits for, and who waits for a lock, for what its holder waits for.
    let held_up = |id: &&WorkerId| facts.holders(**id).iter().any(|holder| stuck.contains(&holder.worker));
    let others = stuck.iter().filter(|id| !facts.within.contains_key(id) && facts.joined(**id).is_none());
    let queues = others.filter(|id| !held_up(id)).filter_map(|id| facts.queue(*id));
    let places: BTreeSet<ObjectId> = queues.collect();
    let mut all: Vec<InVain> =
        places.into_iter().filter_map(|place| facts.waited_in_vain(place, &stuck)).collect();
    all.sort_by_key(|waits| (waits.unnamed, waits.why));
    // That one place is waited at in vain may follow from another one, and it is not known which. What has no name tells a
    // reader little.
    let told = all.iter().enumerate().filter(|(at, waits)| *at == 0 || !waits.unnamed).take(2);
    let mut texts: Vec<String> = told.map(|(_, waits)| waits.text.clone()).collect();
    if texts.is_empty() {
        texts.extend(facts.within_libraries(&stuck));
    }
    if let Some(id) = stuck.iter().find(held_up)
        && let Some(awaited) = facts.awaited(*id)
    {
        texts.push(format!("{} waits for {awaited}{}", facts.name(*id), facts.held(*id)));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// A place at which workers wait in vain.
struct InVain {
    /// Whether it is a futex without a name.
    unnamed: bool,
    why: Vain,
    text: String,
}

/// Why nobody wakes the workers that wait at a place, the clearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Vain {
    /// Too few come, or nobody ever notifies.
    Never,
    /// A notification woke a worker that waits again.
    Again,
    /// A notification came before the wait.
    Lost,
    /// It is not known what the program waits for.
    Unknown,
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
fn changed(culprit: WorkerId, facts: &Facts<'_>) -> Option<String> {
    let line = (facts.stacks)(culprit).into_iter().find(|frame| frame.line.is_some())?;
    let culprit = (facts.lane)(culprit);
    let (at, read) = read_last(culprit, facts, &line)?;
    let before: Vec<Touch<'_>> = touches(&facts.moments[..=at], read);
    let memory = match (facts.names.memory)(&read.raw) {
        Some(known) => format!("`{}`", known.name),
        None => format!("what {} reads", words::place(facts.moments[at].line.as_ref()?)),
    };
    lost_update(&before, &memory, facts).or_else(|| changed_between(culprit, &before, &memory, facts))
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
fn touches<'a>(moments: &'a [Moment], read: &SharedAccess) -> Vec<Touch<'a>> {
    let (start, end) = (read.raw.address, read.raw.address + u64::from(read.raw.bytes));
    let all =
        moments.iter().flat_map(|moment| moment.accesses.iter().map(move |access| (moment, &access.raw)));
    let these = all.filter(|(_, raw)| raw.address < end && start < raw.address + u64::from(raw.bytes));
    these.map(|(moment, raw)| Touch { moment, reads: raw.reads, writes: raw.writes }).collect()
}

/// A lost update: the last writer had read the memory, in the same function, before another worker wrote it.
fn lost_update(before: &[Touch<'_>], memory: &str, facts: &Facts<'_>) -> Option<String> {
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
    Some(format!(
        "{name} reads {memory} in step {}, {} changes it in step {}, and {name} writes over that in step {} ({})",
        reader.step,
        facts.names.lane(lost.moment.lane()),
        lost.moment.step,
        writer.step,
        words::place(line),
    ))
}

/// A change by another worker between two accesses of the worker that fails.
fn changed_between(culprit: Lane, before: &[Touch<'_>], memory: &str, facts: &Facts<'_>) -> Option<String> {
    let at = before.iter().rposition(|touch| touch.writes && touch.moment.lane() != culprit)?;
    let other = before[at].moment;
    let own = |touch: &&Touch<'_>| touch.moment.lane() == culprit;
    // A write before, or only a read afterwards, proves little.
    let earlier = before[..at].iter().rfind(own).filter(|touch| touch.reads && !touch.writes)?.moment.step;
    let later = before[at..].iter().find(own)?.moment.step;
    let line = words::in_brackets(other.line.as_ref());
    Some(format!(
        "{} changes {memory} in step {}{line}, between step {earlier} and step {later} of {}",
        facts.names.lane(other.lane()),
        other.step,
        facts.names.lane(culprit),
    ))
}

impl Facts<'_> {
    pub fn name(&self, id: WorkerId) -> String {
        (self.names.workers)(id)
    }

    /// The guest's own line in which a worker is, in brackets; or nothing.
    fn place_of(&self, id: WorkerId) -> String {
        let own = (self.stacks)(id);
        words::in_brackets(own.iter().find(|frame| frame.line.is_some()))
    }

    /// The sentence on workers that wait within libraries.
    fn within_libraries(&self, stuck: &[WorkerId]) -> Option<String> {
        let within = || stuck.iter().filter_map(|id| Some((*id, *self.within.get(id)?)));
        if let Some((id, _)) = within().find(|(_, within)| *within == Within::Tasks) {
            return Some(self.runs_tasks(id));
        }
        within().find_map(|(id, within)| {
            let (name, at) = (self.name(id), self.place_of(id));
            Some(format!("{name} waits for {}{at}, and {}", self.within(id, within), within.in_vain()?))
        })
    }

    /// What a worker waits for within a library, with the name of the object if it has one.
    fn within(&self, id: WorkerId, within: Within) -> String {
        let name = self.queue(id).and_then(|place| self.names.objects.get(&place.address.into()));
        within.awaited().to_string() + &name.map_or(String::new(), |name| format!(" (`{name}`)"))
    }

    /// The sentence on a worker whose tasks all wait.
    fn runs_tasks(&self, id: WorkerId) -> String {
        let (name, at) = (self.name(id), self.place_of(id));
        let mut places: Vec<String> = self.tasks.iter().map(|task| words::place(&task.at)).collect();
        places.dedup();
        let wait = match places.as_slice() {
            [] => "nobody is left to wake one".to_string(),
            [place] => format!("nobody wakes what waits at {place}"),
            [before @ .., last] if before.len() < 4 => {
                format!("nobody wakes what waits at {} and {last}", before.join(", "))
            }
            [first, second, rest @ ..] => {
                format!("nobody wakes what waits at {first}, {second} and {} more lines", rest.len())
            }
        };
        format!("{name} runs tasks{at}, none of which can go on: {wait}")
    }

    /// The lock that a worker waits for.
    fn awaited(&self, id: WorkerId) -> Option<String> {
        match self.queue(id) {
            Some(futex) => Some(self.lock_of(futex)),
            None => Some(self.object(self.runtime.worker(id).request.wants()?)),
        }
    }

    /// The name of the lock that is implemented with a futex.
    fn lock_of(&self, futex: ObjectId) -> String {
        self.names.lock(futex.address.into())
    }

    fn object(&self, place: ObjectId) -> String {
        match self.names.objects.get(&place.address.into()) {
            Some(name) => format!("`{name}`"),
            None => format!("a {}", place.noun()),
        }
    }

    /// The condvar, futex or barrier at which a worker waits to be woken.
    pub fn queue(&self, id: WorkerId) -> Option<ObjectId> {
        let worker = self.runtime.worker(id);
        worker.request.queue().filter(|_| worker.wake.is_none())
    }

    /// The worker whose end a worker waits for.
    fn joined(&self, id: WorkerId) -> Option<WorkerId> {
        match self.runtime.worker(id).request {
            Request::Join { handle } => self.runtime.worker_of(handle),
            _ => self.queue(id).and_then(|place| match place.class {
                Class::Futex => self.runtime.joined_at(id, place.address),
                _ => None,
            }),
        }
    }

    /// The workers among `stuck` that wait for locks and for ends of each other in a circle, in its order.
    fn circle(&self, stuck: &[WorkerId]) -> Vec<WorkerId> {
        let next = |id: WorkerId| match self.holders(id).as_slice() {
            [only] => Some(only.worker),
            _ => self.joined(id),
        };
        for first in stuck {
            let mut circle = vec![*first];
            while let Some(id) = next(circle[circle.len() - 1]) {
                if id == *first {
                    return circle;
                }
                if circle.contains(&id) {
                    break;
                }
                circle.push(id);
            }
        }
        Vec::new()
    }

    /// Why workers wait at a place in vain, if that is known.
    fn waited_in_vain(&self, place: ObjectId, stuck: &[WorkerId]) -> Option<InVain> {
        let unnamed = place.class == Class::Futex && !self.names.objects.contains_key(&place.address.into());
        let (why, text) = self.notifications(place, unnamed, stuck)?;
        let waits = |look: &&Look| self.queue(look.worker) == Some(place);
        let text = match self.looks.iter().find(waits).filter(|_| !unnamed) {
            Some(look) => format!("{}; {text}", self.looks_too_early(look)),
            None => text,
        };
        Some(InVain { unnamed, why, text })
    }

    /// The clause on a look that comes too early.
    fn looks_too_early(&self, look: &Look) -> String {
        let (sees, changes) = (&self.moments[look.look], &self.moments[look.change]);
        let [seen_at, changed_at] = [sees, changes].map(|moment| words::in_brackets(moment.line.as_ref()));
        let (worker, other) = (self.name(sees.worker), self.name(changes.worker));
        match (self.names.memory)(&look.access) {
            Some(known) => format!(
                "{worker} looks at `{}` in step {}{seen_at}, and {other} changes it in step {}{changed_at}",
                known.name, sees.step, changes.step
            ),
            None => format!(
                "{worker} looks in step {}{seen_at}, and {other} changes in step {}{changed_at} what it saw there",
                sees.step, changes.step
            ),
        }
    }

    /// What the notifications did that workers wait for in vain.
    fn notifications(&self, place: ObjectId, unnamed: bool, stuck: &[WorkerId]) -> Option<(Vain, String)> {
        let object = if unnamed { "a futex".to_string() } else { self.object(place) };
        if place.class == Class::Barrier {
            let (arrived, count) = self.runtime.arrived(place.address);
            return Some((Vain::Never, format!("only {arrived} of {count} workers come to {object}")));
        }
        let about = |moment: &&Moment| matches!(moment.act, Act::Object { address, .. } if address == u64::from(place.address));
        let all: Vec<&Moment> = self.moments.iter().filter(about).collect();
        let is = |moment: &Moment, kinds: &[OpKind]| matches!(moment.act, Act::Object { kind, .. } if kinds.contains(&kind));
        let notifies =
            |moment: &Moment| is(moment, &[OpKind::Signal, OpKind::Broadcast, OpKind::FutexNotify]);
        let waiters: Vec<WorkerId> =
            stuck.iter().copied().filter(|id| self.queue(*id) == Some(place)).collect();
        let last_wait = |id: WorkerId| {
            let waits =
                |moment: &&&Moment| moment.worker == id && is(moment, &[OpKind::Wait, OpKind::FutexWait]);
            all.iter().rev().find(waits)
        };
        let waits = |id: WorkerId| last_wait(id).map(|moment| moment.step);
        if unnamed
            && (all.iter().any(|moment| notifies(moment)) || self.runtime.stack_at(place.address).is_some())
        {
            // It may be what a library waits with, and not what the program waits for: a thread's parker, or a record on
            // its stack.
            let waiter = *waiters.first()?;
            let line = last_wait(waiter)?.line.as_ref()?;
            let text =
                format!("{} waits at {}, and nobody wakes it there", self.name(waiter), words::place(line));
            return Some((Vain::Unknown, text));
        }
        let Some(last) = all.iter().rev().find(|moment| notifies(moment)) else {
            let who = waiters.first().map(|id| self.name(*id))?;
            let text = format!("{who} waits for {object}, which is never notified in this schedule");
            return Some((Vain::Never, text));
        };
        let at = words::in_brackets(last.line.as_ref());
        if last.wakes.is_empty() {
            let since = waiters.iter().copied().find(|id| waits(*id).is_some_and(|step| step > last.step))?;
            let text = format!(
                "{} notifies {object} in step {}{at} while no worker waits for it, and {} waits for it from step {} on",
                self.name(last.worker),
                last.step,
                self.name(since),
                waits(since)?
            );
            return Some((Vain::Lost, text));
        }
        // The worker was woken for nothing and waits again.
        let again = last
            .wakes
            .iter()
            .find(|id| waiters.contains(id) && waits(**id).is_some_and(|step| step > last.step));
        let notification = format!("the last notification of {object}, in step {}{at},", last.step);
        if let Some(id) = again {
            return Some((
                Vain::Again,
                format!("{notification} wakes {}, which waits again", self.name(*id)),
            ));
        }
        let late = waiters.iter().find_map(|id| Some((id, waits(*id).filter(|step| *step > last.step)?)));
        late.map(|(id, step)| {
            let text =
                format!("{notification} comes before {} waits for it, from step {step} on", self.name(*id));
            (Vain::Lost, text)
        })
    }

    /// What a blocked worker waits for, and which workers hold it.
    fn waits_for(&self, id: WorkerId) -> Option<String> {
        let name = self.name(id);
        let runtime = self.runtime;
        if !runtime.awaited(id).is_empty() {
            return Some(format!("{name} for {}", runtime.awaited_text(id)));
        }
        if let Some(place) = self.queue(id) {
            return Some(match place.class {
                Class::Futex if let Some(thread) = runtime.joined_at(id, place.address) => {
                    format!("{name} for the end of {}", self.name(thread))
                }
                Class::Futex if let Some(within) = self.within.get(&id) => {
                    format!("{name} for {}", self.within(id, *within))
                }
                Class::Futex => match self.held(id) {
                    held if held.is_empty() => match self.names.objects.get(&place.address.into()) {
                        Some(object) => format!("{name} to be woken at `{object}`"),
                        None => format!("{name} to be woken"),
                    },
                    held => format!("{name} for {}{held}", self.lock_of(place)),
                },
                _ => format!("{name} for {}", self.object(place)),
            });
        }
        match runtime.worker(id).request {
            Request::Join { handle } => {
                Some(format!("{name} for the end of {}", self.name(runtime.worker_of(handle)?)))
            }
            Request::Socket { .. } | Request::Poll { .. } => {
                Some(format!("{name} for {}", runtime.awaited_sockets(id)?))
            }
            request => Some(format!("{name} for {}{}", self.object(request.wants()?), self.held(id))),
        }
    }

    /// A hint: a notification for one worker can reach the wrong one if workers wait for different conditions.
    fn hints(&self) -> Option<String> {
        let runtime = self.runtime;
        let stuck = runtime.stuck();
        let signals = |place: ObjectId| {
            self.moments.iter().any(|moment| {
                matches!(moment.act, Act::Object { kind: OpKind::Signal, address, .. } if address == u64::from(place.address))
            })
        };
        for id in &stuck {
            // The condvars of Rust's std are futexes.
            let Some(place) = self.queue(*id).filter(|place| signals(*place)) else { continue };
            let waiters: Vec<WorkerId> =
                stuck.iter().copied().filter(|other| self.queue(*other) == Some(place)).collect();
            let stacks: Vec<Vec<SourceFrame>> = waiters.iter().map(|id| (self.stacks)(*id)).collect();
            // The innermost line in which two of the stacks differ distinguishes the waiters.
            let first = stacks.first()?;
            let other = stacks.iter().find(|stack| differ(first, stack).is_some())?;
            let (a, b) = differ(first, other)?;
            return Some(format!(
                "hint: {} has waiters from two places ({}, {}; {}, {}) and is notified for one worker: a wake-up \
                 can reach a worker that it is of no use to",
                self.object(place),
                super::short_name(&a.function),
                words::place(a),
                super::short_name(&b.function),
                words::place(b),
            ));
        }
        None
    }
}

/// The innermost frames in which two stacks differ.
fn differ<'a>(a: &'a [SourceFrame], b: &'a [SourceFrame]) -> Option<(&'a SourceFrame, &'a SourceFrame)> {
    // Compares lines, since generic functions have several names.
    a.iter().zip(b).find(|(a, b)| (&a.file, a.line) != (&b.file, b.line))
}
