//! An observer that records what the steps of a schedule do while it is executed once more.

use super::polls::{PollEvent, Polls, TaskId, Turn};
use crate::machine::stack::SHOWN_MAX;
use crate::observe::{
    AccessSource, Ending, Event, GuestState, HbObject, Interest, MemoryAccess, Observer, ShadowFrame, Step,
    SyncEvent,
};
use crate::orderings::{Atomicity, Order};
use crate::outcome::Outcome;
use crate::runtime::heap::Change;
use crate::runtime::weak::Stale;
use crate::runtime::{FaultCounts, ObjectId, Request, Runtime};
use crate::symbols::Coroutines;
use coyote_instrumenter::Location;
use coyote_strategies::{Class, OpKind, Operation, Pick, WorkerId, WorkerState};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of steps of an iteration with a story.
const STEPS_MAX: usize = 100_000;

/// The maximum number of frames on all stacks together that are read for a story. It takes about 50 ns to read a frame.
const FRAMES_MAX: usize = 20_000_000;

/// The maximum number of accesses that are no steps of which the stacks are read. Each takes about 10 us.
const QUIET_MAX: usize = 20_000;

/// The size of the largest machine type.
const NUMBER_BYTES: u32 = 8;

/// An executed step.
#[derive(Clone, Debug)]
pub struct RawStep {
    pub worker: WorkerId,
    /// The task that it executes.
    pub task: Option<TaskId>,
    /// The step's number, from 1.
    pub number: u64,
    /// Whether a timeout of the worker fired.
    pub timeout: bool,
    pub operation: Operation,
    /// The data values chosen in it.
    pub values: Vec<u64>,
    /// The fault that happened in it, by its name.
    pub fault: Option<String>,
    /// With weak memory: what it read or stored that is not the newest.
    pub stale: Option<Stale>,
    /// The stack at which it was announced, innermost first.
    pub stack: Vec<Location>,
    /// The frame that contains its sync object.
    pub frame: Option<ShadowFrame>,
    pub accesses: Vec<RawAccess>,
    /// Mutexes and rwlocks that the worker took, and semaphores that it took from.
    pub took: Vec<ObjectId>,
    /// Mutexes and rwlocks that it no longer holds.
    pub released: Vec<ObjectId>,
    /// What the operation returned; `None` if its worker does not go on yet.
    pub result: Option<i64>,
    /// Whether its worker is blocked after it.
    pub waits: bool,
    /// Workers that the step enabled.
    pub woke: Vec<WorkerId>,
    pub spawned: Option<WorkerId>,
    /// Whether its worker ended.
    pub ended: bool,
    /// Blocks that are allocated and freed in the code after it.
    pub blocks: Vec<RawBlock>,
    /// What became of tasks in the code after it, each with the number of accesses before it.
    pub turns: Vec<(usize, PollEvent)>,
    /// Its acquisitions and releases, each with the number of accesses before it.
    pub syncs: Vec<(usize, SyncEvent)>,
    /// Workers that are blocked after the step and were not before, or now wait for something else; and workers that
    /// are no longer blocked.
    pub blocked: Vec<(WorkerId, Wait)>,
    pub unblocked: Vec<WorkerId>,
}

/// The wait of a blocked worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub request: Request,
    /// Whether its queue has already woken it: it now only needs a lock.
    pub woken: bool,
}

/// An action of the allocator.
#[derive(Clone, Debug)]
pub struct RawBlock {
    /// The number of the event.
    pub event: u32,
    /// Whether it only freed a block, and allocated none.
    pub frees: bool,
    /// The task that did so.
    pub task: Option<TaskId>,
    pub stack: Vec<Location>,
    /// The number of accesses of the step before it, and the ranges that became other memory: addresses and sizes.
    pub accesses: usize,
    pub renewed: Vec<(u64, u64)>,
}

/// An access of memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawAccess {
    pub address: u64,
    pub bytes: u32,
    pub reads: bool,
    pub writes: bool,
    /// The access's own place, which differs from the step's for an access in an atomic section.
    pub location: Option<Location>,
    /// The frame that contains the memory.
    pub frame: Option<ShadowFrame>,
    /// The content of memory before the access; `None` for more than 8 bytes.
    pub before: Option<u64>,
    /// The content after it; `None` if that is not certain.
    pub after: Option<u64>,
    /// Whether the values may be pointers, which mean nothing to a reader.
    pub pointers: bool,
    /// Its orderings, if it is known to be atomic and they are known.
    pub order: Option<Order>,
    /// Whether it is a compare-exchange, which may not write.
    pub may_fail: bool,
    /// Who makes it in the code after the step, if it is no step since its worker is alone.
    pub quiet: Option<Quiet>,
}

impl RawAccess {
    /// Whether it writes. A compare-exchange that leaves the value as it was has failed, or might as well have.
    pub fn changes(&self) -> bool {
        self.writes && !(self.may_fail && self.after.is_some() && self.before == self.after)
    }

    /// Who makes it, if it is no step and its worker polls a future.
    pub fn polled(&self) -> Option<&Quiet> {
        self.quiet.as_ref().filter(|quiet| !quiet.stack.is_empty())
    }
}

/// An access that is no step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quiet {
    pub task: Option<TaskId>,
    /// Empty if its worker polls no future; else the access is one of a task, or of the future of a `block_on`.
    pub stack: Vec<Location>,
    /// Whether it is in a frame, and in no future: frames of several tasks follow each other in one stack.
    pub in_frame: bool,
}

/// The recorded steps.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub steps: Vec<RawStep>,
    pub polls: Polls,
    /// The tasks whose machines are in blocks, by the indices of the allocation's step and of its block.
    pub spawned: BTreeMap<(usize, usize), Vec<TaskId>>,
    /// What workers are about to access at the end, as addresses and sizes, with the frames that contain it.
    pub pending: Vec<(u64, u32, Option<ShadowFrame>)>,
    /// Whether there were more steps, or more frames on their stacks, than the maximum.
    pub too_long: bool,
}

impl Recording {
    fn of(polls: Polls) -> Recording {
        Recording { polls, ..Recording::default() }
    }

    fn turns(&mut self, events: impl IntoIterator<Item = PollEvent>) {
        if let Some(step) = self.steps.last_mut() {
            step.turns.extend(events.into_iter().map(|event| (step.accesses.len(), event)));
        }
    }

    /// Leaves out tasks if workers tell who does what, and then what becomes of them if none is dropped.
    fn without_single_tasks(mut self) -> Recording {
        if self.polls.share_workers() {
            return self;
        }
        let turns = || self.steps.iter().flat_map(|step| &step.turns);
        let drops = turns().any(|(_, event)| event.turn == Turn::Dropped);
        self.spawned.clear();
        for step in &mut self.steps {
            step.task = None;
            step.turns.retain_mut(|(_, event)| {
                event.task = None;
                drops && event.turn != Turn::Ends
            });
            step.blocks.iter_mut().for_each(|block| block.task = None);
            step.accesses.iter_mut().for_each(|access| access.quiet = None);
        }
        self
    }
}

/// The recording, shared with the recorder's owner.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Recording>>);

impl Shared {
    pub fn take(&self) -> Recording {
        let recording = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        recording.without_single_tasks()
    }
}

/// See the module's documentation.
pub struct Recorder {
    shared: Shared,
    /// Indices of accesses of the last step whose outcome is not known yet.
    open: Vec<usize>,
    /// Blocked workers.
    blocked: BTreeMap<WorkerId, Wait>,
    /// The numbers of fault opportunities and faults up to the last step.
    faults: FaultCounts,
    /// Number of frames that were read.
    frames: usize,
    /// Number of stacks of accesses that are no steps.
    quiet: usize,
    /// Blocks in use, by address: their ends, and the indices of the step and in its blocks.
    blocks: BTreeMap<u64, (u64, usize, usize)>,
    /// Whether to record happens-before and waits, too.
    with_order: bool,
}

impl Recorder {
    /// `coroutines`: the kinds of tasks that are followed.
    pub fn new(with_order: bool, coroutines: Option<Arc<Coroutines>>) -> (Recorder, Shared) {
        let shared = Shared(Arc::new(Mutex::new(Recording::of(Polls::of(coroutines)))));
        let recorder = Recorder {
            shared: shared.clone(),
            open: Vec::new(),
            blocked: BTreeMap::new(),
            faults: FaultCounts::default(),
            frames: 0,
            quiet: 0,
            blocks: BTreeMap::new(),
            with_order,
        };
        (recorder, shared)
    }

    /// The innermost frames of a worker's stack.
    fn stack(&mut self, state: &GuestState<'_>, worker: WorkerId) -> Vec<Location> {
        let mut stack = state.stack(worker).unwrap_or_default();
        self.frames += stack.len();
        if stack.len() > SHOWN_MAX {
            stack.truncate(SHOWN_MAX);
            stack.shrink_to_fit();
        }
        stack
    }

    /// Completes the open accesses: memory now holds what they wrote.
    fn settle(&mut self, recording: &mut Recording, state: &GuestState<'_>) {
        let Some(step) = recording.steps.last_mut() else { return };
        for index in self.open.drain(..) {
            let access = &mut step.accesses[index];
            let weak = state.runtime.weak.as_ref();
            let hidden = weak.and_then(|weak| weak.hidden(step.number, access.address));
            access.after = hidden.or_else(|| number(state, access.address, access.bytes));
            access.pointers |= access.after.is_some_and(|value| is_pointer(state, value, access.bytes));
        }
    }

    /// Removes open accesses whose memory was changed otherwise, since their outcome cannot be known any more.
    fn forget(&mut self, recording: &Recording, address: u64, bytes: u64) {
        let Some(step) = recording.steps.last() else { return };
        self.open.retain(|index| {
            let access = &step.accesses[*index];
            let end = access.address + u64::from(access.bytes);
            end <= address || address + bytes <= access.address
        });
    }

    fn step(&mut self, recording: &mut Recording, state: &GuestState<'_>, step: &Step<'_>) {
        self.settle(recording, state);
        if recording.steps.len() == STEPS_MAX || self.frames > FRAMES_MAX {
            recording.too_long = true;
            return;
        }
        let worker = step.pick.worker();
        recording.steps.push(RawStep {
            worker,
            task: recording.polls.task(worker),
            number: step.number + 1,
            timeout: matches!(step.pick, Pick::Timeout(_)),
            operation: step.operation,
            values: step.values.to_vec(),
            fault: self.fault(state.runtime),
            stale: state.runtime.weak.as_ref().and_then(|weak| weak.stale(step.number + 1)),
            stack: self.stack(state, worker),
            frame: if is_object(step.operation.kind) { frame(state, step.operation.object) } else { None },
            accesses: Vec::new(),
            took: Vec::new(),
            released: Vec::new(),
            result: step.result,
            waits: state.runtime.pending(worker).state == WorkerState::Blocked,
            woke: Vec::new(),
            spawned: None,
            ended: false,
            blocks: Vec::new(),
            turns: Vec::new(),
            syncs: Vec::new(),
            blocked: Vec::new(),
            unblocked: Vec::new(),
        });
        if self.with_order {
            self.look_who_waits(recording, state.runtime);
        }
    }

    /// The fault of the last step, by its name.
    fn fault(&mut self, runtime: &Runtime) -> Option<String> {
        let counts = &runtime.fault_counts;
        if *counts == self.faults {
            return None;
        }
        let met = counts.iter().find(|(name, count)| count.faults > self.faults.get(name).faults);
        let name = met.map(|(name, _)| name.to_string());
        self.faults = counts.clone();
        name
    }

    /// Records changes of blocked workers. The runtime must be in the state after the last step.
    fn look_who_waits(&mut self, recording: &mut Recording, runtime: &Runtime) {
        let Some(step) = recording.steps.last_mut() else { return };
        for id in (0..runtime.workers().len() as u32).map(WorkerId) {
            let worker = runtime.worker(id);
            let wait = Wait { request: worker.request, woken: worker.wake.is_some() };
            let blocked = (runtime.pending(id).state == WorkerState::Blocked).then_some(wait);
            if self.blocked.get(&id) == blocked.as_ref() {
                continue;
            }
            if self.blocked.remove(&id).is_some() {
                step.unblocked.push(id);
            }
            if let Some(wait) = blocked {
                self.blocked.insert(id, wait);
                step.blocked.push((id, wait));
            }
        }
    }

    fn access(&mut self, recording: &mut Recording, state: &GuestState<'_>, access: &MemoryAccess) {
        let range = (access.address, u64::from(access.bytes));
        let polls = &mut recording.polls;
        let was_polling = polls.is_polling(access.worker);
        let spawned = polls.tasks().len();
        let events = polls.access(state, access, state.location(access.site));
        let quiet = self.quiet(state, polls, access, was_polling);
        if recording.polls.tasks().len() > spawned {
            self.look_for_block(recording, TaskId(spawned));
        }
        recording.turns(events);
        match access.source {
            // The host has already made the access.
            AccessSource::Host => return self.forget(recording, range.0, range.1),
            AccessSource::Told | AccessSource::LeftOut => return self.settle(recording, state),
            AccessSource::Operation(_) if access.in_section => self.settle(recording, state),
            AccessSource::Operation(_) => {}
        }
        let Some(step) = recording.steps.last_mut().filter(|step| step.worker == access.worker) else {
            return;
        };
        let before = number(state, access.address, access.bytes);
        // The content afterwards shows whether it wrote.
        let may_fail = access.source == AccessSource::Operation(OpKind::CompareExchange);
        let writes = access.writes || may_fail;
        let futex = access.source == AccessSource::Operation(OpKind::FutexWait);
        step.accesses.push(RawAccess {
            address: access.address,
            bytes: access.bytes,
            reads: access.reads,
            writes,
            location: if futex { None } else { state.location(access.site) },
            frame: frame(state, access.address),
            before,
            after: None,
            pointers: before.is_some_and(|value| is_pointer(state, value, access.bytes)),
            order: if self.with_order { order(state, access) } else { None },
            may_fail,
            quiet,
        });
        if writes && access.bytes <= NUMBER_BYTES {
            self.open.push(step.accesses.len() - 1);
        }
    }

    /// Who makes an access that is no step.
    fn quiet(
        &mut self,
        state: &GuestState<'_>,
        polls: &Polls,
        access: &MemoryAccess,
        polling: bool,
    ) -> Option<Quiet> {
        let is_operation = |kind: OpKind| kind != OpKind::FutexWait;
        let passes = matches!(access.source, AccessSource::Operation(kind) if is_operation(kind));
        if !passes || !state.runtime.alone_in_harness() {
            return None;
        }
        let is_read = polling && self.quiet < QUIET_MAX;
        self.quiet += usize::from(is_read);
        let stack = if is_read { self.stack(state, access.worker) } else { Vec::new() };
        let address = access.address;
        let bounds = state.runtime.stack_of(access.worker).or_else(|| state.main_stack_alone());
        let on_stack = bounds.is_some_and(|(low, high)| (low.into()..high.into()).contains(&address));
        let in_frame = on_stack && !polls.is_in_machine(address);
        Some(Quiet { task: polls.task(access.worker), stack, in_frame })
    }

    /// Finds the allocation of a new task's machine.
    fn look_for_block(&self, recording: &mut Recording, task: TaskId) {
        let address = recording.polls.tasks()[task.0].range.start;
        let around = self.blocks.range(..=address).next_back();
        if let Some((_, (_, step, block))) = around.filter(|(_, (end, ..))| address < *end) {
            recording.spawned.entry((*step, *block)).or_default().push(task);
        }
    }

    fn heap(&mut self, recording: &mut Recording, state: &GuestState<'_>, worker: WorkerId, change: &Change) {
        if let Some((address, bytes)) = change.freed() {
            let (address, bytes) = (u64::from(address), u64::from(bytes.unwrap_or(u32::MAX)));
            self.forget(recording, address, bytes);
            let dropped = recording.polls.forget(address..address + bytes);
            recording.turns(dropped);
            self.blocks.remove(&address);
        }
        self.settle(recording, state);
        let stack = self.stack(state, worker);
        let task = recording.polls.task(worker);
        let at = recording.steps.len().saturating_sub(1);
        let Some(step) = recording.steps.last_mut() else { return };
        if let Some((address, bytes)) = change.new {
            let end = u64::from(address) + u64::from(bytes);
            self.blocks.insert(address.into(), (end, at, step.blocks.len()));
        }
        // If a block's size is not known, everything behind its address.
        let old = change.old.map(|(address, bytes)| (address, bytes.unwrap_or(u32::MAX)));
        let renewed = old.into_iter().chain(change.new);
        step.blocks.push(RawBlock {
            event: change.event,
            frees: change.new.is_none(),
            task,
            stack,
            accesses: step.accesses.len(),
            renewed: renewed.map(|(address, bytes)| (address.into(), bytes.into())).collect(),
        });
    }
}

impl Observer for Recorder {
    fn interest(&self) -> Interest {
        Interest::STEPS
            | Interest::ACCESSES
            | Interest::SYNC
            | Interest::HEAP
            | Interest::WORKERS
            | Interest::STACKS
            | Interest::ENDS
    }

    fn wants_stack(&self, _: u64, _: OpKind) -> bool {
        !self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).too_long
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let shared = self.shared.clone();
        let mut recording = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recording.too_long {
            return;
        }
        let settled = recording.polls.settle(state);
        recording.turns(settled);
        match event {
            Event::Step(step) => self.step(&mut recording, state, step),
            Event::Access(access) => self.access(&mut recording, state, access),
            Event::Sync(sync) => {
                let step = recording.steps.last_mut().filter(|step| step.worker == sync.worker);
                let Some(step) = step else { return };
                if self.with_order {
                    step.syncs.push((step.accesses.len(), *sync));
                }
                if let HbObject::Object(place) = sync.object
                    && matches!(place.class, Class::Mutex | Class::Rwlock | Class::Semaphore)
                {
                    let list = if sync.kind.acquires() { &mut step.took } else { &mut step.released };
                    list.push(place);
                }
            }
            Event::Heap { worker, change } => self.heap(&mut recording, state, *worker, change),
            Event::Spawned { child, .. } => {
                recording.steps.last_mut().into_iter().for_each(|step| step.spawned = Some(*child));
            }
            Event::Woken { worker, .. } => {
                recording.steps.last_mut().into_iter().for_each(|step| step.woke.push(*worker));
            }
            Event::Ended(worker) => {
                let step = recording.steps.last_mut().filter(|step| step.worker == *worker);
                step.into_iter().for_each(|step| step.ended = true);
            }
            _ => {}
        }
    }

    fn end(&mut self, ending: &Ending<'_>) {
        let runtime = ending.state.runtime;
        let operations =
            (0..runtime.workers().len() as u32).map(|id| runtime.pending(WorkerId(id)).operation);
        let accesses = operations.filter(|operation| operation.kind.accesses_memory());
        let pending =
            accesses.map(|Operation { object, size, .. }| (object, size, frame(ending.state, object)));
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).pending = pending.collect();
        let executes_last = match ending.outcome {
            Outcome::Bug(bug) => !bug.kind.may_prevent_access(),
            _ => true,
        };
        if executes_last {
            let shared = self.shared.clone();
            self.settle(&mut shared.0.lock().unwrap_or_else(PoisonError::into_inner), ending.state);
        }
    }
}

/// Whether an operation concerns a sync object at an address.
pub fn is_object(kind: OpKind) -> bool {
    matches!(kind, OpKind::FutexWait | OpKind::FutexNotify | OpKind::Relock)
        || crate::observe::uses_object(kind)
}

/// The frame that contains an address.
fn frame(state: &GuestState<'_>, address: u64) -> Option<ShadowFrame> {
    state.frame_at(address.try_into().ok()?)
}

/// The orderings of an access, as far as they are known from the program's source.
fn order(state: &GuestState<'_>, access: &MemoryAccess) -> Option<Order> {
    if !matches!(access.source, AccessSource::Operation(_)) {
        return None;
    }
    match state.atomicity(state.ordered_site(access.worker, access.site)) {
        Some(Atomicity::Atomic(order)) => order,
        _ => None,
    }
}

/// A number of up to 8 bytes; `None` for more.
fn number(state: &GuestState<'_>, address: u64, bytes: u32) -> Option<u64> {
    if bytes <= NUMBER_BYTES { state.number(address, bytes) } else { None }
}

/// The worker whose stack contains an address.
fn stack_of(runtime: &Runtime, address: u32) -> Option<WorkerId> {
    let is_in =
        |id: &WorkerId| runtime.stack_of(*id).is_some_and(|(low, high)| (low..high).contains(&address));
    (0..runtime.workers().len() as u32).map(WorkerId).find(is_in)
}

/// Whether a number may be the address of something in a block of the heap or a stack, or of the end of a block.
fn is_pointer(state: &GuestState<'_>, value: u64, bytes: u32) -> bool {
    let Some(address) = u32::try_from(value).ok().filter(|address| bytes == 4 && *address != 0) else {
        return false;
    };
    let heap = &state.runtime.heap;
    heap.block_around(address).or_else(|| heap.block_around(address - 1)).is_some()
        || stack_of(state.runtime, address).is_some()
        || state.frame_at(address).is_some()
}
