//! Steps in the form in which readers see them: a line of the guest's own source, with the actions in it.

use super::condvars;
use super::lock_words::LockWord;
use super::polls::{Chain, Lane, PollEvent, TaskId, Turn};
use super::recorder::{Quiet, RawAccess, RawStep, Recording};
use super::sharing::{Others, Sharing};
use super::within::{keeps_runtime, runs_tasks};
use crate::runtime::ObjectId;
use crate::runtime::weak::Stale;
use crate::symbols::{
    SourceFrame, Suspension, Symbols, Variables, is_harness, is_library, is_of_core, is_of_locks,
    keeps_values, keeps_values_of_std, makes_text, wraps_access,
};
use coyote_instrumenter::Location;
use coyote_strategies::{OpKind, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The importance of a moment to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A worker's access of its own memory.
    #[default]
    Private,
    /// The beginning or end of a worker, or an access of memory that others only read.
    Background,
    /// An access of memory that several workers change, within a library.
    Library,
    /// A library takes a lock that several workers use, for the guest.
    Lock,
    /// The same in the guest's own lines; a lock.
    Shared,
    /// A wait, a notification or a timeout.
    Waiting,
    /// An action on the subject of the bug.
    Subject,
}

/// Whether two frames are on the same line.
pub fn is_same_line(a: &SourceFrame, b: &SourceFrame) -> bool {
    (&a.function, &a.file, a.line) == (&b.function, &b.file, b.line)
}

/// Whether two moments, one of which may be a turn, are in one line: a state machine is not named as the function that is
/// its code.
pub fn in_line_of(a: &Moment, b: &Moment) -> bool {
    match (&a.line, &b.line) {
        (Some(a), Some(b)) => (&a.file, a.line) == (&b.file, b.line),
        _ => false,
    }
}

/// The actions of one step, or something in the code after it.
#[derive(Clone, Debug)]
pub struct Moment {
    pub worker: WorkerId,
    /// The task that its worker executes, if workers do not tell who does what.
    pub task: Option<TaskId>,
    /// The index of the recorded step, and its number.
    pub at: usize,
    pub step: u64,
    /// Whether it belongs to the code after the step.
    pub is_after: bool,
    pub weight: Weight,
    /// The guest's own line; `None` if it is not known.
    pub line: Option<SourceFrame>,
    /// The site of the operation.
    pub site: Option<Location>,
    pub act: Act,
    /// The kind of lock of Rust's std within whose code a futex is used.
    pub lock: Option<LockWord>,
    /// Whether the act is one on a condvar of Rust's std.
    pub on_std_condvar: bool,
    pub accesses: Vec<SharedAccess>,
    /// Mutexes and rwlocks that the worker took, and semaphores that it took from.
    pub took: Vec<ObjectId>,
    pub wakes: Vec<WorkerId>,
}

/// The action of a step, apart from accesses of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Access,
    /// An operation on a sync object at an address.
    Object {
        kind: OpKind,
        address: u64,
        got: Got,
    },
    Spawn(WorkerId),
    SpawnTask(TaskId),
    Turn(Turn),
    Chooses(Vec<u64>),
    Timeout,
    /// A fault with this name happens; and what becomes of a call by it, if that is known.
    Fault {
        name: String,
        how: Option<String>,
    },
    /// The step reads or stores something that is not the newest.
    Stale(Stale),
    Allocates,
    Frees,
    Other(OpKind),
    End,
}

/// What comes of an operation on a sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// It takes what it wants, or wants nothing.
    It,
    /// It begins to wait.
    Waits,
    /// It takes what its worker holds already, or gives back what it holds once more.
    Again,
    /// It returns without.
    Nothing,
}

/// An access of memory that several workers change.
#[derive(Clone, Debug)]
pub struct SharedAccess {
    pub raw: RawAccess,
    /// Whether the access is in the guest's own code, and not in a library.
    pub direct: bool,
    /// Whether the value is a library's own: see [`keeps_values`].
    pub of_library: bool,
    /// Whether several workers change the memory, or one changes it while others read it.
    pub is_contended: bool,
    /// The lock of Rust's std whose word it is.
    pub word: Option<LockWord>,
}

impl SharedAccess {
    /// As [`LockWord::takes`].
    pub fn takes_lock(&self) -> Option<bool> {
        self.word.filter(|_| self.raw.writes)?.takes(self.raw.before?, self.raw.after?)
    }
}

/// The frames at places, as a cache.
pub struct Places<'a> {
    symbols: &'a Symbols,
    known: BTreeMap<Location, Rc<[SourceFrame]>>,
}

impl Moment {
    /// A moment in the code after a step, of which nothing else is known.
    fn after(at: usize, step: &RawStep, task: Option<TaskId>, line: Option<SourceFrame>, act: Act) -> Moment {
        Moment {
            worker: step.worker,
            task,
            at,
            step: step.number,
            is_after: true,
            weight: Weight::Private,
            line,
            site: None,
            act,
            lock: None,
            on_std_condvar: false,
            accesses: Vec::new(),
            took: Vec::new(),
            wakes: Vec::new(),
        }
    }

    pub fn lane(&self) -> Lane {
        Lane::of(self.worker, self.task)
    }

    /// Whether a library only looks at memory in it.
    pub fn looks_in_library(&self) -> bool {
        let looks = |access: &SharedAccess| !access.direct && !access.raw.writes;
        self.act == Act::Access && !self.accesses.is_empty() && self.accesses.iter().all(looks)
    }
}

impl<'a> Places<'a> {
    pub fn new(symbols: &'a Symbols) -> Places<'a> {
        Places { symbols, known: BTreeMap::new() }
    }

    pub fn at(&mut self, location: Location) -> Rc<[SourceFrame]> {
        let read = || self.symbols.frames(location).into();
        self.known.entry(location).or_insert_with(read).clone()
    }

    /// A path of debug information as reports show it.
    pub fn shown(&self, file: &str) -> String {
        self.symbols.shown(file)
    }

    /// The place of a state machine as a frame.
    pub fn suspension(&self, place: &Suspension) -> SourceFrame {
        let file = place.file.as_deref().map(|file| self.shown(file));
        SourceFrame { function: place.function.clone(), file, line: place.line, column: None }
    }

    /// The innermost place of the guest's own source in a chain of machines that await each other.
    fn of_chain(&mut self, chain: &Chain) -> Option<SourceFrame> {
        let own = chain.iter().map(|(at, _)| self.suspension(at)).find(|frame| !is_library(frame));
        let stores: Vec<Location> = chain.iter().filter_map(|(_, stored)| *stored).collect();
        own.or_else(|| self.own(&stores).map(|(_, frame)| frame))
    }

    /// All frames of a stack, innermost first.
    pub fn frames(&mut self, stack: &[Location]) -> Vec<SourceFrame> {
        stack.iter().flat_map(|location| self.at(*location).to_vec()).collect()
    }

    /// The lock of Rust's std whose code accesses memory at the top of a stack: see [`LockWord::of`].
    fn lock_of(&mut self, stack: &[Location]) -> Option<(LockWord, bool)> {
        stack.iter().find_map(|location| LockWord::of(&self.at(*location)))
    }

    /// The innermost frame of the guest's own code with a line, and the number of frames inside it.
    pub fn own(&mut self, stack: &[Location]) -> Option<(usize, SourceFrame)> {
        let mut inside = 0;
        for location in stack {
            let frames = self.at(*location);
            if let Some(at) = frames.iter().position(|frame| !is_library(frame) && frame.line.is_some()) {
                return Some((inside + at, frames[at].clone()));
            }
            inside += frames.len();
        }
        None
    }

    /// Whether a library's function within the guest's innermost one is such a function.
    fn is_in(&mut self, stack: &[Location], wanted: fn(&SourceFrame) -> bool) -> bool {
        for location in stack {
            for frame in self.at(*location).iter() {
                if !is_library(frame) {
                    return false;
                }
                if wanted(frame) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether code of std at the top of a stack accesses what is std's own.
    fn is_std_own(&mut self, stack: &[Location]) -> bool {
        let own = stack.iter().find_map(|location| {
            let frames = self.at(*location);
            frames.iter().find(|frame| !is_of_core(frame)).cloned()
        });
        own.is_some_and(|frame| keeps_values_of_std(&frame))
    }

    /// Whether a library has called the functions at the top of a stack, which are those of a lock of Rust's std.
    fn is_lock_of_library(&mut self, stack: &[Location]) -> bool {
        let outer = stack.iter().find_map(|location| {
            let frames = self.at(*location);
            frames.iter().find(|frame| !is_of_locks(frame)).cloned()
        });
        outer.is_some_and(|frame| is_library(&frame))
    }

    /// A frame for a stack without lines: the innermost one that is not known to be a library's, or else the innermost
    /// one.
    fn without_line(&mut self, stack: &[Location]) -> Option<SourceFrame> {
        let frames = self.frames(stack);
        frames.iter().find(|frame| !is_library(frame)).or(frames.first()).cloned()
    }

    /// Whether an access is in the guest's own code: only functions that wrap an access, which are calls in code
    /// without optimisation, may be inside it. `stack`: the place of the access, followed by its callers.
    pub fn is_direct(&mut self, stack: impl Iterator<Item = Location>) -> bool {
        let inner = self.accessing(stack);
        inner.is_some_and(|frame| !is_library(&frame) && (frame.line.is_some() || !self.symbols.has_lines()))
    }

    /// The innermost frame that does more than wrap an access.
    fn accessing(&mut self, mut stack: impl Iterator<Item = Location>) -> Option<SourceFrame> {
        stack.find_map(|location| {
            let frames = self.at(location);
            frames.iter().find(|frame| !wraps_access(frame)).cloned()
        })
    }
}

/// The subject of a bug.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Numbers of the events that allocated and freed the block.
    pub events: Vec<u32>,
    /// Addresses of sync objects and memory.
    pub addresses: Vec<u64>,
}

/// All steps as moments, in order. `failed_calls`: those of the runtime.
pub fn moments(
    recording: &Recording,
    places: &mut Places<'_>,
    variables: &Variables,
    subject: &Subject,
    failed_calls: &[(u64, String)],
) -> Vec<Moment> {
    let sharing = Sharing::of(recording);
    let mut objects: BTreeMap<u64, BTreeSet<WorkerId>> = BTreeMap::new();
    for step in recording.steps.iter().filter(|step| is_object(step.operation.kind)) {
        objects.entry(step.operation.object).or_default().insert(step.worker);
    }
    let words = words(recording, places);
    // The futexes of libraries, and the kinds of operations on those that are condvars.
    let mut futexes: BTreeSet<u64> = BTreeSet::new();
    let mut kinds: BTreeMap<usize, OpKind> = BTreeMap::new();
    for (at, step) in recording.steps.iter().enumerate() {
        if !uses_futex(step.operation.kind) {
            continue;
        }
        let frames = places.frames(&step.stack);
        // The word of a `Once` tells who initialises.
        let of_once = frames.iter().any(|frame| frame.function.contains("std::sys::sync::once::"));
        if !of_once && !places.is_direct(step.stack.iter().copied()) {
            futexes.insert(step.operation.object);
        }
        let kind = condvars::kind(step, &frames);
        kinds.extend(kind.map(|kind| (at, kind)));
    }
    let first_spawn = recording.steps.iter().find(|step| step.spawned.is_some());
    let first_spawn = first_spawn.map_or(0, |step| step.number);
    let place_of = |(at, number): &(usize, usize)| (*at, recording.steps[*at].blocks[*number].accesses);
    let first_task = recording.spawned.keys().map(place_of).min().unwrap_or_default();
    let tells_tasks = recording.steps.iter().any(|step| !step.turns.is_empty());
    let mut lines: BTreeMap<WorkerId, SourceFrame> = BTreeMap::new();
    let mut moments = Vec::new();
    for (at, step) in recording.steps.iter().enumerate() {
        let own = places.own(&step.stack).map(|(_, frame)| frame);
        if let Some(line) = &own {
            lines.insert(step.worker, line.clone());
        }
        // Without lines, the guest's own code is where it was last; but not once it has returned, as at the end of a thread.
        let frames = if own.is_none() { places.frames(&step.stack) } else { Vec::new() };
        let is_guests = own.is_some() || frames.iter().any(|frame| !is_library(frame));
        let of_harness = frames.iter().any(is_harness);
        let line = own.or_else(|| lines.get(&step.worker).filter(|_| is_guests && !of_harness).cloned());
        let line = line.or_else(|| places.without_line(&step.stack));
        // What only a library does tells a reader nothing; nor does it where a runtime of tasks waits, whose call may have
        // the line of anything that its macro contains.
        let waits_for_tasks =
            step.operation.kind == OpKind::FutexWait && runs_tasks(&places.frames(&step.stack));
        // That time passes is all that happens while all tasks wait.
        let tells_time = step.timeout && waits_for_tasks && tells_tasks;
        let line = line.filter(|_| !tells_time);
        let folded = of_harness || !is_guests || waits_for_tasks || places.is_in(&step.stack, keeps_runtime);
        let mut weight = Weight::Private;
        let mut accesses = Vec::new();
        let mut after: Vec<(usize, Moment)> = Vec::new();
        for (count, raw) in step.accesses.iter().enumerate() {
            let stack = stack_of(step, raw);
            let direct = places.is_direct(stack.iter().copied());
            // What a runtime does between polls, and std's own counts, tell nothing about tasks.
            let of_runtime = |quiet: &Quiet| quiet.stack.is_empty() || places.is_std_own(&stack);
            if !direct && raw.quiet.as_ref().is_some_and(of_runtime) {
                continue;
            }
            let word = words.get(&raw.address).copied();
            let is_of = |word: &LockWord| places.lock_of(&stack).is_some_and(|(lock, _)| lock == *word);
            let word = word.filter(|_| raw.bytes == 4).filter(is_of);
            // The story begins with what is done before a second worker exists.
            // What a library keeps for itself tells a reader nothing.
            let is_its_own =
                || variables.is_of_library(raw.address) || word.is_none() && futexes.contains(&raw.address);
            // Text that is being made is no value of the program's.
            let is_text = !direct && raw.writes && !raw.reads && places.is_in(&stack, makes_text);
            let keeps = is_text || !direct && is_its_own();
            let its = if keeps {
                Weight::Private
            } else {
                match sharing.others(raw, (at, count)) {
                    Others::Contend if direct => Weight::Shared,
                    Others::Contend => Weight::Library,
                    Others::Read => Weight::Background,
                    Others::Nothing => Weight::Private,
                }
            };
            let is_early = step.number < first_spawn || (at, count) < first_task;
            let mut its = if is_early { its.min(Weight::Background) } else { its };
            if !keeps && its >= Weight::Library && subject.addresses.iter().any(|at| touches(raw, *at)) {
                its = Weight::Subject;
            }
            if its >= Weight::Background {
                let is_contended = its >= Weight::Library;
                let of_library = !direct
                    && match word {
                        Some(_) => places.is_lock_of_library(&stack),
                        None => places.accessing(stack.iter().copied()).is_some_and(|at| keeps_values(&at)),
                    };
                let access = SharedAccess { raw: raw.clone(), direct, of_library, is_contended, word };
                if its == Weight::Library && !of_library && access.takes_lock().is_some() {
                    its = Weight::Lock;
                }
                if let Some(quiet) = raw.polled() {
                    let line = places.own(&stack).map(|(_, line)| line);
                    if line.is_some() && !places.is_in(&stack, keeps_runtime) {
                        let moment = Moment::after(at, step, quiet.task, line, Act::Access);
                        let (site, accesses) = (raw.location, vec![access]);
                        after.push((count, Moment { weight: its, site, accesses, ..moment }));
                    }
                    continue;
                }
                accesses.push(access);
            }
            weight = weight.max(its);
        }
        let kind = kinds.get(&at).copied().unwrap_or(step.operation.kind);
        let (act, its) = act(step, kind, &objects);
        let lock = uses_futex(kind).then(|| places.lock_of(&step.stack)).flatten();
        weight = weight.max(its);
        let about = matches!(act, Act::Object { address, .. } if subject.addresses.contains(&address));
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
        if let Some(name) = &step.fault {
            let act = step.stale.map_or_else(|| fault(name, step.number, failed_calls), Act::Stale);
            // The line of what a runtime does for itself says nothing.
            let line = line.clone().filter(|_| !folded);
            let fault = Moment::after(at, step, step.task, line, act);
            moments.push(Moment { weight: Weight::Subject, is_after: false, site, ..fault });
        }
        moments.push(Moment {
            worker: step.worker,
            task: step.task,
            at,
            step: step.number,
            is_after: false,
            weight,
            line: line.clone(),
            site,
            act,
            lock: lock.map(|(lock, _)| lock),
            on_std_condvar: kinds.contains_key(&at),
            accesses,
            took: step.took.clone(),
            wakes: if wakes { step.woke.clone() } else { Vec::new() },
        });
        for (number, block) in step.blocks.iter().enumerate() {
            let is_subject = subject.events.contains(&block.event);
            let tasks = recording.spawned.get(&(at, number));
            let act = match tasks.and_then(|tasks| tasks.first()) {
                _ if is_subject && block.frees => Act::Frees,
                _ if is_subject => Act::Allocates,
                Some(task) => Act::SpawnTask(*task),
                None => continue,
            };
            let own = places.own(&block.stack).map(|(_, frame)| frame).or_else(|| line.clone());
            let weight = if is_subject { Weight::Subject } else { Weight::Lock };
            let moment = Moment::after(at, step, block.task, own, act);
            after.push((block.accesses, Moment { weight, site: block.stack.first().copied(), ..moment }));
        }
        let turns = step.turns.iter().map(|(count, event)| (*count, turn(at, step, event, places)));
        after.extend(turns);
        after.sort_by_key(|(count, _)| *count);
        moments.extend(after.into_iter().map(|(_, moment)| moment));
    }
    moments
}

/// What becomes of a task, as a moment.
fn turn(at: usize, step: &RawStep, event: &PollEvent, places: &mut Places<'_>) -> Moment {
    let line = places.of_chain(&event.chain);
    Moment::after(at, step, event.task, line, Act::Turn(event.turn))
}

/// The place of an access, followed by its callers.
pub fn stack_of(step: &RawStep, raw: &RawAccess) -> Vec<Location> {
    if let Some(quiet) = raw.polled() {
        let callers = quiet.stack.iter().skip(1).copied();
        return raw.location.into_iter().chain(callers).collect();
    }
    let own = raw.location.or(step.stack.first().copied());
    own.into_iter().chain(step.stack.iter().skip(1).copied()).collect()
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

/// Whether an operation concerns a sync object at an address.
pub fn is_object(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(kind, FutexWait | FutexNotify | Relock) || crate::observe::uses_object(kind)
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
    use OpKind::*;
    matches!(
        kind,
        Lock | TryLock | ReadLock | TryReadLock | WriteLock | TryWriteLock | SemaphoreWait | SemaphoreTryWait
    )
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
