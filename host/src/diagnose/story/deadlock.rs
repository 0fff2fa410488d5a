//! The cause of a deadlock: which workers wait for what, and what the notifications did.

use super::facts::Facts;
use super::looks::Look;
use super::moment::{Act, Moment};
use super::tasks::Task;
use super::within::Within;
use super::words;
use crate::outcome::{Bug, BugKind};
use crate::runtime::{ObjectId, Request};
use crate::symbols::SourceFrame;
use coyote_strategies::{Class, OpKind, WorkerId, WorkerState};
use std::collections::BTreeSet;

/// The maximum number of places with suspended tasks that are told.
const TASKS_MAX: usize = 8;

/// The maximum number of workers that are told to wait for locks of those that are stuck.
const HELD_UP_MAX: usize = 2;

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

/// Of the workers that can never go on, those that all others wait for, as far as that is known.
pub fn waited_for(facts: &Facts<'_>) -> Vec<WorkerId> {
    let stuck = facts.runtime.stuck();
    let circle = facts.circle(&stuck);
    if !circle.is_empty() {
        return circle;
    }
    let waits_for_others = |id: WorkerId| {
        facts.joined(id).is_some()
            || facts.within.get(&id) == Some(&Within::Scope)
            || facts.holders(id).iter().any(|holder| stuck.contains(&holder.worker))
    };
    let last: Vec<WorkerId> = stuck.iter().copied().filter(|id| !waits_for_others(*id)).collect();
    if last.is_empty() { stuck } else { last }
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

/// The sentence on a deadlock.
pub fn deadlock(facts: &Facts<'_>) -> Option<String> {
    let stuck = facts.runtime.stuck();
    let circle = facts.circle(&stuck);
    if !circle.is_empty() {
        return facts.in_circle(&circle);
    }
    for id in &stuck {
        let place = facts.runtime.worker(*id).request.wants();
        let ended = |holder: &WorkerId| facts.runtime.pending(*holder).state == WorkerState::Ended;
        if let Some(place) = place
            && let Some(holder) = facts.runtime.holders(place).into_iter().find(ended)
        {
            return Some(facts.kept(*id, holder, place));
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
    texts.extend(stuck.iter().find_map(|id| facts.empty_semaphore(*id)));
    let bystanders = facts.runtime.held_up(&stuck);
    let held_up = stuck.iter().find(held_up).into_iter().chain(&bystanders).take(HELD_UP_MAX);
    texts.extend(held_up.filter_map(|id| facts.waits_for_lock(*id)));
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
    /// A notification woke one of several workers that waited.
    Other,
    /// A notification came before the wait.
    Lost,
    /// It is not known what the program waits for.
    Unknown,
}

impl Facts<'_> {
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

    /// The sentence on workers that wait for each other.
    fn in_circle(&self, circle: &[WorkerId]) -> Option<String> {
        if circle.len() == 1 || circle.iter().any(|id| self.joined(*id).is_some()) {
            let link = |id: &WorkerId| match self.joined(*id) {
                Some(other) => Some(format!("{} waits for the end of {}", self.name(*id), self.name(other))),
                None => self.waits_for_lock(*id),
            };
            let links: Option<Vec<String>> = circle.iter().map(link).collect();
            return Some(links?.join(", and "));
        }
        let link = |id: &WorkerId| Some(format!("{} waits for {}", self.name(*id), self.awaited(*id)?));
        let links: Option<Vec<String>> = circle.iter().map(link).collect();
        let inferred = circle.iter().any(|id| self.holders(*id).iter().any(|holder| holder.inferred));
        let how = if inferred { ", as far as the locks' words tell" } else { "" };
        Some(format!("{}, and each of these is held by the next one{how}", links?.join(", ")))
    }

    /// The sentence on a worker that has ended with a lock, for which another one waits.
    fn kept(&self, waiter: WorkerId, holder: WorkerId, place: ObjectId) -> String {
        let (name, object) = (self.name(holder), self.object(place));
        let holders = self.holders(waiter);
        let took = holders.iter().find(|of| of.worker == holder).and_then(|of| of.took);
        let line = took.and_then(|took| took.line.as_ref());
        let (Some(took), Some(line)) = (took, line) else {
            return format!("{name} holds {object} and has ended");
        };
        let since = format!("{name} holds {object} since step {} ({})", took.step, words::place(line));
        // Where the function went that took it.
        let own = self.steps.iter().rev().filter(|step| step.worker == holder && step.number > took.step);
        let last = own.flat_map(|step| (self.frames)(&step.stack));
        let last = last.filter(|frame| frame.line.is_some()).find(|frame| {
            (&frame.function, &frame.file) == (&line.function, &line.file) && frame.line != line.line
        });
        match last {
            Some(last) => format!(
                "{since} and has ended; `{}` comes to {} without a release",
                super::short_name(&last.function),
                words::place(&last)
            ),
            None => format!("{since} and has ended"),
        }
    }

    /// The clause on a worker that waits for a semaphore.
    fn empty_semaphore(&self, id: WorkerId) -> Option<String> {
        let place =
            self.runtime.worker(id).request.wants().filter(|place| place.class == Class::Semaphore)?;
        let adds = |moment: &Moment| matches!(moment.act, Act::Object { kind: OpKind::SemaphorePost, address, .. } if address == u64::from(place.address));
        let in_vain = match self.moments.iter().any(adds) {
            false => "to which nobody adds in this schedule",
            true => "which is 0, and nobody is left to add to it",
        };
        Some(format!("{} waits for {}, {in_vain}", self.name(id), self.object(place)))
    }

    /// The clause on a worker that waits for a lock, and on who holds it.
    fn waits_for_lock(&self, id: WorkerId) -> Option<String> {
        Some(format!("{} waits for {}{}", self.name(id), self.awaited(id)?, self.held(id)))
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
        let about = |moment: &&Moment| matches!(moment.act, Act::Object { address, .. } if address == u64::from(place.address));
        let all: Vec<&Moment> = self.moments.iter().filter(about).collect();
        if place.class == Class::Barrier {
            let (arrived, count) = self.runtime.arrived(place.address);
            let opened = all.iter().any(|moment| !moment.wakes.is_empty());
            let since = if opened { " since it last let workers go on" } else { "" };
            return Some((Vain::Never, format!("only {arrived} of {count} workers come to {object}{since}")));
        }
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
        let early = self.returns_at_once(last, &all).filter(|_| last.wakes.is_empty());
        let woken: Vec<WorkerId> = last.wakes.iter().copied().chain(early).collect();
        if woken.is_empty() {
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
        let again =
            woken.iter().find(|id| waiters.contains(id) && waits(**id).is_some_and(|step| step > last.step));
        let notification = format!("the last notification of {object}, in step {}{at},", last.step);
        if let Some(id) = again {
            let (name, again) = (self.name(*id), format!("waits again from step {} on", waits(*id)?));
            let text = match early {
                Some(_) => {
                    format!("{notification} ends a wait of {name} before it sleeps, and {name} {again}")
                }
                None => format!("{notification} wakes {name}, which {again}"),
            };
            return Some((Vain::Again, text));
        }
        let late = waiters.iter().find_map(|id| Some((id, waits(*id).filter(|step| *step > last.step)?)));
        if let Some((id, step)) = late {
            let text =
                format!("{notification} comes before {} waits for it, from step {step} on", self.name(*id));
            return Some((Vain::Lost, text));
        }
        let left = waiters.iter().find(|id| waits(**id).is_some_and(|step| step < last.step))?;
        let names: Vec<String> = woken.iter().map(|id| self.name(*id)).collect();
        let text = format!(
            "{notification} wakes {}, and not {}, which waits, too",
            names.join(" and "),
            self.name(*left)
        );
        Some((Vain::Other, text))
    }

    /// A worker that a notification of a condvar of std reaches before it sleeps: it has registered already, and finds the
    /// condvar's word changed. `all`: the moments of the condvar.
    fn returns_at_once(&self, notification: &Moment, all: &[&Moment]) -> Option<WorkerId> {
        let Act::Object { address, .. } = notification.act else { return None };
        // Before it wakes anybody, it changes the word.
        let before = self.steps.iter().rev().filter(|step| step.number < notification.step);
        let mut own = before.filter(|step| step.worker == notification.worker);
        let changed = own.find(|step| step.operation.kind.writes() && step.operation.object == address);
        let changed = changed.map_or(notification.step, |step| step.number);
        let is = |moment: &Moment, wanted| matches!(moment.act, Act::Object { kind, .. } if kind == wanted);
        let returns = |(at, moment): &(usize, &&Moment)| {
            let before = all[..*at].iter().rev().find(|before| before.worker == moment.worker);
            moment.step > changed
                && moment.on_std_condvar
                && is(moment, OpKind::Relock)
                && before.is_none_or(|before| !is(before, OpKind::Wait))
        };
        all.iter().enumerate().find(returns).map(|(_, moment)| moment.worker)
    }

    /// What a blocked worker waits for, and which workers hold it.
    fn waits_for(&self, id: WorkerId) -> Option<String> {
        let name = self.name(id);
        let runtime = self.runtime;
        if !runtime.awaited(id).is_empty() {
            return Some(format!("{name} for {}", runtime.awaited_text(id)));
        }
        if let Some(other) = self.joined(id) {
            return Some(format!("{name} for the end of {}", self.name(other)));
        }
        if let Some(within) = self.within.get(&id) {
            return Some(format!("{name} for {}", self.within(id, *within)));
        }
        if let Some(place) = self.queue(id) {
            return Some(match place.class {
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
