//! Reads moments from recorded steps.

use super::condvars;
use super::lock_words::LockWord;
use super::moment::{Act, Got, Moment, SharedAccess, Subject, Weight, wants_lock};
use super::places::{Places, stack_of};
use super::polls::PollEvent;
use super::recorder::{Quiet, RawAccess, RawStep, Recording, is_object};
use super::sharing::{Others, Sharing};
use super::within::{keeps_runtime, runs_tasks};
use crate::runtime::ObjectId;
use crate::symbols::{
    SourceFrame, Variables, is_harness, is_library, keeps_values, keeps_values_of_std, makes_text,
};
use coyote_instrumenter::Location;
use coyote_strategies::{OpKind, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// All steps as moments, in order. `failed_calls`: those of the runtime.
pub fn moments(
    recording: &Recording,
    places: &mut Places<'_>,
    variables: &Variables,
    subject: &Subject,
    failed_calls: &[(u64, String)],
) -> Vec<Moment> {
    let whole = Whole::of(recording, places);
    let lines = BTreeMap::new();
    let mut reader = Reader { recording, places, variables, subject, failed_calls, whole, lines };
    recording.steps.iter().enumerate().flat_map(|(at, step)| reader.step(at, step)).collect()
}

/// What only the whole execution tells about its steps.
struct Whole {
    sharing: Sharing,
    /// The workers that use each sync object.
    users: BTreeMap<u64, BTreeSet<WorkerId>>,
    /// The words of locks of Rust's std.
    words: BTreeMap<u64, LockWord>,
    /// The futexes that libraries use.
    futexes: BTreeSet<u64>,
    /// What operations on futexes do with a condvar of Rust's std, by the indices of the steps.
    condvars: BTreeMap<usize, OpKind>,
    /// The number of the step that creates the second worker.
    first_spawn: u64,
    /// The index of the step that creates the first task, and the number of accesses in it before.
    first_task: (usize, usize),
    tells_tasks: bool,
}

impl Whole {
    fn of(recording: &Recording, places: &mut Places<'_>) -> Whole {
        let steps = &recording.steps;
        let mut users: BTreeMap<u64, BTreeSet<WorkerId>> = BTreeMap::new();
        for step in steps.iter().filter(|step| is_object(step.operation.kind)) {
            users.entry(step.operation.object).or_default().insert(step.worker);
        }
        let mut futexes = BTreeSet::new();
        let mut condvars = BTreeMap::new();
        for (at, step) in steps.iter().enumerate().filter(|(_, step)| uses_futex(step.operation.kind)) {
            let frames = places.frames(&step.stack);
            // The word of a `Once` tells who initialises.
            let of_once = frames.iter().any(|frame| frame.function.contains("std::sys::sync::once::"));
            if !of_once && !places.is_direct(step.stack.iter().copied()) {
                futexes.insert(step.operation.object);
            }
            condvars.extend(condvars::kind(step, &frames).map(|kind| (at, kind)));
        }
        let place_of = |(at, number): &(usize, usize)| (*at, steps[*at].blocks[*number].accesses);
        Whole {
            sharing: Sharing::of(recording),
            users,
            words: words(recording, places),
            futexes,
            condvars,
            first_spawn: steps.iter().find(|step| step.spawned.is_some()).map_or(0, |step| step.number),
            first_task: recording.spawned.keys().map(place_of).min().unwrap_or_default(),
            tells_tasks: steps.iter().any(|step| !step.turns.is_empty()),
        }
    }
}

struct Reader<'a, 'b> {
    recording: &'a Recording,
    places: &'a mut Places<'b>,
    variables: &'a Variables,
    subject: &'a Subject,
    failed_calls: &'a [(u64, String)],
    whole: Whole,
    /// The line of the guest's own code where each worker was last.
    lines: BTreeMap<WorkerId, SourceFrame>,
}

/// Where a step is.
struct Spot {
    line: Option<SourceFrame>,
    /// Whether only a library does something there.
    folded: bool,
    /// Whether a runtime of tasks waits there, and time passes.
    tells_time: bool,
}

/// The accesses of a step that matter to others.
#[derive(Default)]
struct Memory {
    accesses: Vec<SharedAccess>,
    /// The importance of the most important one.
    weight: Weight,
    /// Those in polls of tasks, with the number of accesses before.
    in_polls: Vec<(usize, Moment)>,
}

impl Reader<'_, '_> {
    /// The moments of a step: faults in it, the step itself, and what happens in the code after it.
    fn step(&mut self, at: usize, step: &RawStep) -> Vec<Moment> {
        let Spot { line, folded, tells_time } = self.spot(step);
        let Memory { accesses, mut weight, in_polls } = self.memory(at, step);
        let on_condvar = self.whole.condvars.get(&at).copied();
        let kind = on_condvar.unwrap_or(step.operation.kind);
        let (act, its) = act(step, kind, &self.whole.users);
        let lock = uses_futex(kind).then(|| self.places.lock_of(&step.stack)).flatten();
        weight = weight.max(its);
        let about = matches!(act, Act::Object { address, .. } if self.subject.addresses.contains(&address));
        // Nobody else has taken a lock that others only wait for.
        let takes = wants(step.operation.kind) && matches!(act, Act::Object { got: Got::It, .. });
        if about && (its >= Weight::Library || takes) {
            weight = Weight::Subject;
        }
        let wakes = matches!(act, Act::Object { .. }) && !step.ended && !step.woke.is_empty();
        if wakes {
            weight = weight.max(Weight::Waiting);
        }
        if folded && !tells_time && weight < Weight::Subject {
            weight = Weight::Private;
        }
        let site = step.stack.first().copied();
        let mut moments = Vec::new();
        if let Some(name) = &step.fault {
            let how = || fault(name, step.number, self.failed_calls);
            // The line of what a runtime does for itself says nothing.
            let line = line.clone().filter(|_| !folded);
            let fault = Moment::after(at, step, step.task, line, step.stale.map_or_else(how, Act::Stale));
            moments.push(Moment { weight: Weight::Subject, is_after: false, site, ..fault });
        }
        let mut after = in_polls;
        after.extend(self.blocks(at, step, line.as_ref()));
        after.extend(step.turns.iter().map(|(count, event)| (*count, self.turn(at, step, event))));
        after.sort_by_key(|(count, _)| *count);
        moments.push(Moment {
            worker: step.worker,
            task: step.task,
            at,
            step: step.number,
            is_after: false,
            weight,
            line,
            site,
            act,
            lock: lock.map(|(lock, _)| lock),
            on_std_condvar: on_condvar.is_some(),
            accesses,
            took: step.took.clone(),
            wakes: if wakes { step.woke.clone() } else { Vec::new() },
        });
        moments.extend(after.into_iter().map(|(_, moment)| moment));
        moments
    }

    fn spot(&mut self, step: &RawStep) -> Spot {
        let own = self.places.own(&step.stack).map(|(_, frame)| frame);
        if let Some(line) = &own {
            self.lines.insert(step.worker, line.clone());
        }
        // Without lines, the guest's own code is where it was last; but not once it has returned, as at the end of a thread.
        let frames = if own.is_none() { self.places.frames(&step.stack) } else { Vec::new() };
        let is_guests = own.is_some() || frames.iter().any(|frame| !is_library(frame));
        let of_harness = frames.iter().any(is_harness);
        let last = || self.lines.get(&step.worker).filter(|_| is_guests && !of_harness).cloned();
        let line = own.or_else(last).or_else(|| self.places.without_line(&step.stack));
        // What only a library does tells a reader nothing; nor does it where a runtime of tasks waits, whose call may have
        // the line of anything that its macro contains.
        let waits_for_tasks =
            step.operation.kind == OpKind::FutexWait && runs_tasks(&self.places.frames(&step.stack));
        // That time passes is all that happens while all tasks wait.
        let tells_time = step.timeout && waits_for_tasks && self.whole.tells_tasks;
        let folded =
            of_harness || !is_guests || waits_for_tasks || self.places.is_in(&step.stack, keeps_runtime);
        Spot { line: line.filter(|_| !tells_time), folded, tells_time }
    }

    fn memory(&mut self, at: usize, step: &RawStep) -> Memory {
        let mut memory = Memory::default();
        for (count, raw) in step.accesses.iter().enumerate() {
            let stack = stack_of(step, raw);
            let Some((access, weight)) = self.access(raw, &stack, (at, count)) else { continue };
            let Some(quiet) = raw.polled() else {
                memory.weight = memory.weight.max(weight);
                memory.accesses.push(access);
                continue;
            };
            let line = self.places.own(&stack).map(|(_, line)| line);
            if line.is_some() && !self.places.is_in(&stack, keeps_runtime) {
                let moment = Moment::after(at, step, quiet.task, line, Act::Access);
                let moment = Moment { weight, site: raw.location, accesses: vec![access], ..moment };
                memory.in_polls.push((count, moment));
            }
        }
        memory
    }

    /// An access that matters to others, and how much. `stack`: its place and its callers; `at`: the index of its step, and
    /// its number in it.
    fn access(
        &mut self,
        raw: &RawAccess,
        stack: &[Location],
        at: (usize, usize),
    ) -> Option<(SharedAccess, Weight)> {
        let direct = self.places.is_direct(stack.iter().copied());
        // What a runtime does between polls, and std's own counts, tell nothing about tasks.
        let of_runtime =
            |quiet: &Quiet| quiet.stack.is_empty() || self.places.is_own(stack, keeps_values_of_std);
        if !direct && raw.quiet.as_ref().is_some_and(of_runtime) {
            return None;
        }
        let word = self.whole.words.get(&raw.address).copied().filter(|_| raw.bytes == 4);
        let word = word.filter(|word| self.places.lock_of(stack).is_some_and(|(lock, _)| lock == *word));
        if !direct && self.is_its_own(raw, word, stack) {
            return None;
        }
        let others = match self.whole.sharing.others(raw, at) {
            Others::Contend if direct => Weight::Shared,
            Others::Contend => Weight::Library,
            Others::Read => Weight::Background,
            Others::Nothing => return None,
        };
        // The story begins with what is done before a second worker exists.
        let is_early =
            self.recording.steps[at.0].number < self.whole.first_spawn || at < self.whole.first_task;
        let mut weight = if is_early { Weight::Background } else { others };
        if weight >= Weight::Library && self.subject.addresses.iter().any(|at| touches(raw, *at)) {
            weight = Weight::Subject;
        }
        let of_library = !direct
            && match word {
                Some(_) => self.places.is_lock_of_library(stack),
                None => self.places.is_own(stack, keeps_values),
            };
        let is_contended = weight >= Weight::Library;
        let access = SharedAccess { raw: raw.clone(), direct, of_library, is_contended, word };
        if weight == Weight::Library && !of_library && access.takes_lock().is_some() {
            weight = Weight::Lock;
        }
        Some((access, weight))
    }

    /// Whether a library accesses what it keeps for itself, or makes text, which is no value of the program's.
    fn is_its_own(&mut self, raw: &RawAccess, word: Option<LockWord>, stack: &[Location]) -> bool {
        raw.writes && !raw.reads && self.places.is_in(stack, makes_text)
            || self.variables.is_of_library(raw.address)
            || word.is_none() && self.whole.futexes.contains(&raw.address)
    }

    /// Blocks that are the subject, and those of new tasks, with the number of accesses before.
    fn blocks(&mut self, at: usize, step: &RawStep, line: Option<&SourceFrame>) -> Vec<(usize, Moment)> {
        let mut moments = Vec::new();
        for (number, block) in step.blocks.iter().enumerate() {
            let is_subject = self.subject.events.contains(&block.event);
            let tasks = self.recording.spawned.get(&(at, number));
            let act = match tasks.and_then(|tasks| tasks.first()) {
                _ if is_subject && block.frees => Act::Frees,
                _ if is_subject => Act::Allocates,
                Some(task) => Act::SpawnTask(*task),
                None => continue,
            };
            let own = self.places.own(&block.stack).map(|(_, frame)| frame).or_else(|| line.cloned());
            let weight = if is_subject { Weight::Subject } else { Weight::Lock };
            let moment = Moment::after(at, step, block.task, own, act);
            let site = block.stack.first().copied();
            moments.push((block.accesses, Moment { weight, site, ..moment }));
        }
        moments
    }

    /// What becomes of a task, as a moment.
    fn turn(&mut self, at: usize, step: &RawStep, event: &PollEvent) -> Moment {
        let line = self.places.of_chain(&event.chain);
        Moment::after(at, step, event.task, line, Act::Turn(event.turn))
    }
}

/// The words of locks of Rust's std, by their addresses.
fn words(recording: &Recording, places: &mut Places<'_>) -> BTreeMap<u64, LockWord> {
    let mut words = BTreeMap::new();
    for step in &recording.steps {
        for raw in step.accesses.iter().filter(|raw| raw.bytes == 4 && raw.writes) {
            if let Some((word, true)) = places.lock_of(&stack_of(step, raw)) {
                words.insert(raw.address, word);
            }
        }
    }
    words
}

fn fault(name: &str, number: u64, failed_calls: &[(u64, String)]) -> Act {
    let how = failed_calls.iter().find(|(step, _)| *step == number).map(|(_, how)| how.clone());
    Act::Fault { name: name.to_string(), how }
}

fn touches(access: &RawAccess, address: u64) -> bool {
    (access.address..access.address + u64::from(access.bytes)).contains(&address)
}

/// `kind`: what the operation is to a reader.
fn act(step: &RawStep, kind: OpKind, objects: &BTreeMap<u64, BTreeSet<WorkerId>>) -> (Act, Weight) {
    use OpKind::*;
    let operation = step.operation;
    if step.timeout {
        return (Act::Timeout, Weight::Waiting);
    }
    if step.ended && !is_object(operation.kind) && step.accesses.is_empty() {
        return (Act::End, Weight::Background);
    }
    if let Some(child) = step.spawned {
        return (Act::Spawn(child), Weight::Background);
    }
    if is_object(kind) {
        let shared = objects.get(&operation.object).is_some_and(|workers| workers.len() > 1);
        let weight = match kind {
            Wait | Relock | Signal | Broadcast | BarrierWait | FutexWait => Weight::Waiting,
            Init | Destroy | SemaphoreValue => Weight::Background,
            FutexNotify if step.woke.is_empty() => Weight::Background,
            FutexNotify => Weight::Waiting,
            Unlock | RwUnlock if shared => Weight::Library,
            _ if shared => Weight::Shared,
            _ => Weight::Background,
        };
        return (Act::Object { kind, address: operation.object, got: got(step) }, weight);
    }
    if kind.accesses_memory() {
        return (Act::Access, Weight::Private);
    }
    match kind {
        ChooseBool | ChooseInt => (Act::Chooses(step.values.clone()), Weight::Shared),
        Join | Sleep | Clock => (Act::Other(kind), Weight::Background),
        _ => (Act::Other(kind), Weight::Private),
    }
}

fn uses_futex(kind: OpKind) -> bool {
    matches!(kind, OpKind::FutexWait | OpKind::FutexNotify)
}

/// Whether an operation is to take its object.
fn wants(kind: OpKind) -> bool {
    wants_lock(kind) || matches!(kind, OpKind::SemaphoreWait | OpKind::SemaphoreTryWait)
}

fn got(step: &RawStep) -> Got {
    let kind = step.operation.kind;
    let is_object =
        |places: &[ObjectId]| places.iter().any(|p| u64::from(p.address) == step.operation.object);
    let took = is_object(&step.took);
    match wants(kind) {
        false if matches!(kind, OpKind::Unlock | OpKind::RwUnlock) => match step.result {
            Some(0) if !is_object(&step.released) => Got::Again,
            Some(error) if error != 0 => Got::Nothing,
            _ => Got::It,
        },
        // The step in which such a wait begins, and the one in which it ends, have the same operation.
        false if step.operation.kind == OpKind::FutexWait && step.waits => Got::Waits,
        false => Got::It,
        true if took => Got::It,
        true if step.waits => Got::Waits,
        true if step.result == Some(0) => Got::Again,
        true => Got::Nothing,
    }
}
