//! The observer that a schedule is executed with once more, to learn what its steps do.

use crate::observe::{
    AccessSource, Event, GuestState, HbObject, Interest, MemoryAccess, Observer, Step, SyncEvent,
};
use crate::orderings::{Atomicity, Order};
use crate::runtime::heap::Change;
use crate::runtime::weak::Stale;
use crate::runtime::{FaultCounts, ObjectId, Request, Runtime};
use coyote_instrumenter::Location;
use coyote_strategies::{Class, OpKind, Operation, Pick, WorkerId, WorkerState};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Iterations of more steps have no story.
const STEPS_MAX: usize = 100_000;

/// A number is as long as the longest machine type.
const NUMBER_BYTES: u32 = 8;

/// An executed step.
#[derive(Clone, Debug)]
pub struct RawStep {
    pub worker: WorkerId,
    /// From 1.
    pub number: u64,
    /// A timeout of the worker fired.
    pub timeout: bool,
    pub operation: Operation,
    /// Data values chosen in it.
    pub values: Vec<u64>,
    /// The fault that happened in it, by its name.
    pub fault: Option<String>,
    /// What it read or stored that is not the newest, with weak memory.
    pub stale: Option<Stale>,
    /// Where it was announced, innermost first.
    pub stack: Vec<Location>,
    pub accesses: Vec<RawAccess>,
    /// Mutexes and rwlocks that it took.
    pub took: Vec<ObjectId>,
    /// Workers that it made able to go on.
    pub woke: Vec<WorkerId>,
    pub spawned: Option<WorkerId>,
    /// Its worker ended.
    pub ended: bool,
    /// Blocks that are handed out and taken back in the code after it.
    pub blocks: Vec<RawBlock>,
    /// What it acquires and releases, each with the number of accesses before it.
    pub syncs: Vec<(usize, SyncEvent)>,
    /// Workers that could not go on after it while they could before, or now wait for something else; and those of
    /// which the opposite is true.
    pub blocked: Vec<(WorkerId, Wait)>,
    pub unblocked: Vec<WorkerId>,
}

/// What a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub request: Request,
    /// The queue in which it stood has let it go: it needs a lock to go on.
    pub woken: bool,
}

/// What an allocator did.
#[derive(Clone, Debug)]
pub struct RawBlock {
    /// The number of the event.
    pub event: u32,
    /// Whether it took a block back and handed none out.
    pub frees: bool,
    pub stack: Vec<Location>,
    /// Accesses of the step before it, and the bytes that became other memory: addresses and sizes.
    pub accesses: usize,
    pub renewed: Vec<(u64, u64)>,
}

/// An access of memory.
#[derive(Clone, Debug, Default)]
pub struct RawAccess {
    pub address: u64,
    pub bytes: u32,
    pub reads: bool,
    pub writes: bool,
    /// Its own place, which is not the step's for an access in an atomic section.
    pub location: Option<Location>,
    /// What memory held before it; `None` for more than 8 bytes.
    pub before: Option<u64>,
    /// What it held afterwards; `None` if that is not certain.
    pub after: Option<u64>,
    /// Whether these may be pointers: an address says nothing to a reader.
    pub pointers: bool,
    /// Its orderings, if it is known to be atomic and which ones it has.
    pub order: Option<Order>,
    /// Whether it is a compare-exchange, which may not have written.
    pub may_fail: bool,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub steps: Vec<RawStep>,
    /// There were more steps.
    pub too_long: bool,
}

/// Where it is put.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Recording>>);

impl Shared {
    pub fn take(&self) -> Recording {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// See the module's documentation.
pub struct Recorder {
    shared: Shared,
    /// Accesses of the last step whose outcome is not known yet, by their indices.
    open: Vec<usize>,
    /// Workers that cannot go on.
    blocked: BTreeMap<WorkerId, Wait>,
    /// Opportunities for faults, and faults, up to the last step.
    faults: FaultCounts,
    /// Whether what orders steps, and who waits, is recorded too.
    with_order: bool,
}

impl Recorder {
    pub fn new(with_order: bool) -> (Recorder, Shared) {
        let shared = Shared::default();
        let (open, blocked, faults) = (Vec::new(), BTreeMap::new(), FaultCounts::default());
        (Recorder { shared: shared.clone(), open, blocked, faults, with_order }, shared)
    }

    /// The open accesses are over: memory holds what they wrote.
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

    /// Memory was changed by something else: what open accesses wrote there is not known any more.
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
        if recording.steps.len() == STEPS_MAX {
            recording.too_long = true;
            return;
        }
        let worker = step.pick.worker();
        recording.steps.push(RawStep {
            worker,
            number: step.number + 1,
            timeout: matches!(step.pick, Pick::Timeout(_)),
            operation: step.operation,
            values: step.values.to_vec(),
            fault: self.fault(state.runtime),
            stale: state.runtime.weak.as_ref().and_then(|weak| weak.stale(step.number + 1)),
            stack: state.stack(worker).unwrap_or_default(),
            accesses: Vec::new(),
            took: Vec::new(),
            woke: Vec::new(),
            spawned: None,
            ended: false,
            blocks: Vec::new(),
            syncs: Vec::new(),
            blocked: Vec::new(),
            unblocked: Vec::new(),
        });
        if self.with_order {
            self.look_who_waits(recording, state.runtime);
        }
    }

    /// The fault that the last step met, by its name.
    fn fault(&mut self, runtime: &Runtime) -> Option<String> {
        let counts = &runtime.fault_counts;
        if *counts == self.faults {
            return None;
        }
        let before =
            |name: &str| self.faults.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| n.faults);
        let met = counts.iter().find(|(name, count)| count.faults > before(name));
        let name = met.map(|(name, _)| name.to_string());
        self.faults = counts.clone();
        name
    }

    /// The runtime's state is the one after the last step.
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
        match access.source {
            // The host has made it already.
            AccessSource::Host => return self.forget(recording, range.0, range.1),
            AccessSource::Told | AccessSource::LeftOut => return self.settle(recording, state),
            AccessSource::Operation(_) if access.in_section => self.settle(recording, state),
            AccessSource::Operation(_) => {}
        }
        let Some(step) = recording.steps.last_mut().filter(|step| step.worker == access.worker) else {
            return;
        };
        let before = number(state, access.address, access.bytes);
        // Whether it wrote shows in what is there afterwards.
        let may_fail = access.source == AccessSource::Operation(OpKind::CompareExchange);
        let writes = access.writes || may_fail;
        let futex = access.source == AccessSource::Operation(OpKind::FutexWait);
        step.accesses.push(RawAccess {
            address: access.address,
            bytes: access.bytes,
            reads: access.reads,
            writes,
            location: if futex { None } else { state.location(access.site) },
            before,
            after: None,
            pointers: before.is_some_and(|value| is_pointer(state, value, access.bytes)),
            order: if self.with_order { order(state, access) } else { None },
            may_fail,
        });
        if writes && access.bytes <= NUMBER_BYTES {
            self.open.push(step.accesses.len() - 1);
        }
    }

    fn heap(&mut self, recording: &mut Recording, state: &GuestState<'_>, worker: WorkerId, change: &Change) {
        if let Some((address, bytes)) = change.freed() {
            self.forget(recording, address.into(), bytes.unwrap_or(u32::MAX).into());
        }
        self.settle(recording, state);
        let stack = state.stack(worker).unwrap_or_default();
        let Some(step) = recording.steps.last_mut() else { return };
        // Of a block whose size is not known, all that lies behind its address.
        let old = change.old.map(|(address, bytes)| (address, bytes.unwrap_or(u32::MAX)));
        let renewed = old.into_iter().chain(change.new);
        step.blocks.push(RawBlock {
            event: change.event,
            frees: change.new.is_none(),
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
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let shared = self.shared.clone();
        let mut recording = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recording.too_long {
            return;
        }
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
                    && sync.kind.acquires()
                    && matches!(place.class, Class::Mutex | Class::Rwlock)
                {
                    step.took.push(place);
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
}

/// The orderings of an access, as far as the program's source is known to have them.
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

/// The worker in whose stack an address lies.
fn stack_of(runtime: &Runtime, address: u32) -> Option<WorkerId> {
    let is_in =
        |id: &WorkerId| runtime.stack_of(*id).is_some_and(|(low, high)| (low..high).contains(&address));
    (0..runtime.workers().len() as u32).map(WorkerId).find(is_in)
}

/// Whether a number may be the address of something in a block of the heap or a stack.
fn is_pointer(state: &GuestState<'_>, value: u64, bytes: u32) -> bool {
    let Some(address) = u32::try_from(value).ok().filter(|_| bytes == 4) else { return false };
    address != 0
        && (state.runtime.heap.block_around(address).is_some() || stack_of(state.runtime, address).is_some())
}
