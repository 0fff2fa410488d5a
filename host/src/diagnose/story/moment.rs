//! Steps in the form in which readers see them: a line of the guest's own source, with the actions in it.

use super::condvars;
use super::lock_words::LockWord;
use super::recorder::{RawAccess, RawStep, Recording};
use super::within::{keeps_runtime, runs_tasks};
use crate::runtime::ObjectId;
use crate::runtime::weak::Stale;
use crate::symbols::{
    SourceFrame, Symbols, Variables, is_atomic_wrapper, is_harness, is_library, keeps_values,
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

/// The actions of one step.
#[derive(Clone, Debug)]
pub struct Moment {
    pub worker: WorkerId,
    pub step: u64,
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
            frames.iter().find(|frame| !is_atomic_wrapper(frame)).cloned()
        })
    }
}

/// The number of bytes of an access that are considered; further bytes are ignored.
const BYTES_MAX: u32 = 64;

/// The use of a byte of memory.
#[derive(Default)]
struct Use {
    workers: BTreeSet<WorkerId>,
    /// The workers that wrote it, and the last step in which each did.
    writers: BTreeMap<WorkerId, u64>,
    /// Whether a worker wrote it after another one had accessed it, or accessed it after another one wrote it while
    /// both existed.
    contended: bool,
}

/// The importance of accesses, by memory.
struct Sharing(BTreeMap<u64, Use>);

impl Sharing {
    fn of(recording: &Recording) -> Sharing {
        let mut uses: BTreeMap<u64, Use> = BTreeMap::new();
        let mut born: BTreeMap<WorkerId, u64> = BTreeMap::new();
        for step in &recording.steps {
            if let Some(child) = step.spawned {
                born.insert(child, step.number);
            }
            let birth = born.get(&step.worker).copied().unwrap_or_default();
            for access in &step.accesses {
                for byte in access.address..access.address + u64::from(access.bytes.min(BYTES_MAX)) {
                    let all = uses.entry(byte).or_default();
                    let others = all.workers.iter().any(|worker| *worker != step.worker);
                    let mut news = all.writers.iter().filter(|(writer, _)| **writer != step.worker);
                    all.contended |= access.writes && others || news.any(|(_, at)| *at > birth);
                    all.workers.insert(step.worker);
                    if access.writes {
                        all.writers.insert(step.worker, step.number);
                    }
                }
            }
        }
        Sharing(uses)
    }

    fn weight(&self, access: &RawAccess, direct: bool) -> Weight {
        let bytes = access.address..access.address + u64::from(access.bytes.min(BYTES_MAX));
        let uses = || bytes.clone().filter_map(|byte| self.0.get(&byte));
        match () {
            () if uses().any(|all| all.contended) && direct => Weight::Shared,
            () if uses().any(|all| all.contended) => Weight::Library,
            () if uses().any(|all| all.workers.len() > 1 && !all.writers.is_empty()) => Weight::Background,
            () => Weight::Private,
        }
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
        let folded = of_harness || !is_guests || waits_for_tasks || places.is_in(&step.stack, keeps_runtime);
        let mut weight = Weight::Private;
        let mut accesses = Vec::new();
        for raw in &step.accesses {
            let stack = stack_of(step, raw);
            let direct = places.is_direct(stack.iter().copied());
            let word = words.get(&raw.address).copied();
            let is_of = |word: &LockWord| places.lock_of(&stack).is_some_and(|(lock, _)| lock == *word);
            let word = word.filter(|_| raw.bytes == 4).filter(is_of);
            // The story begins with what is done before a second worker exists.
            // What a library keeps for itself tells a reader nothing.
            let is_its_own = || variables.is_of_library(raw.address) || futexes.contains(&raw.address);
            let keeps = !direct && word.is_none() && is_its_own();
            let its = if keeps { Weight::Private } else { sharing.weight(raw, direct) };
            let mut its = if step.number < first_spawn { its.min(Weight::Background) } else { its };
            if !keeps && its >= Weight::Library && subject.addresses.iter().any(|at| touches(raw, *at)) {
                its = Weight::Subject;
            }
            if its >= Weight::Background {
                let is_contended = its >= Weight::Library;
                let of_library = !direct
                    && places.accessing(stack.iter().copied()).is_some_and(|frame| keeps_values(&frame));
                let access = SharedAccess { raw: raw.clone(), direct, of_library, is_contended, word };
                if its == Weight::Library && access.takes_lock().is_some() {
                    its = Weight::Lock;
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
        if folded && weight < Weight::Subject {
            weight = Weight::Private;
        }
        let site = step.stack.first().copied();
        if let Some(name) = &step.fault {
            moments.push(Moment {
                worker: step.worker,
                step: step.number,
                weight: Weight::Subject,
                line: line.clone(),
                site,
                act: step.stale.map_or_else(|| fault(name, step.number, failed_calls), Act::Stale),
                lock: None,
                on_std_condvar: false,
                accesses: Vec::new(),
                took: Vec::new(),
                wakes: Vec::new(),
            });
        }
        moments.push(Moment {
            worker: step.worker,
            step: step.number,
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
        for block in step.blocks.iter().filter(|block| subject.events.contains(&block.event)) {
            moments.push(Moment {
                worker: step.worker,
                step: step.number,
                weight: Weight::Subject,
                line: places.own(&block.stack).map(|(_, frame)| frame).or_else(|| line.clone()),
                site: block.stack.first().copied(),
                act: if block.frees { Act::Frees } else { Act::Allocates },
                lock: None,
                on_std_condvar: false,
                accesses: Vec::new(),
                took: Vec::new(),
                wakes: Vec::new(),
            });
        }
    }
    moments
}

/// The place of an access, followed by its callers.
pub fn stack_of(step: &RawStep, raw: &RawAccess) -> Vec<Location> {
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
    let took = step.took.iter().any(|place| u64::from(place.address) == step.operation.object);
    match wants(step.operation.kind) {
        // The step in which such a wait begins, and the one in which it ends, have the same operation.
        false if step.operation.kind == OpKind::FutexWait && step.waits => Got::Waits,
        false => Got::It,
        true if took => Got::It,
        true if step.waits => Got::Waits,
        true => Got::Nothing,
    }
}
