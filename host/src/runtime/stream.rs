//! The step stream: what happens in an execution, as data for observers and detectors (see [`crate::observe`]).
//!
//! Everything passes one of a few doors of the runtime, which also record the footprint of the relation: so there is
//! one truth of what a step touches. An event that is in no [`Interest`] is not produced: each door tests one number.
//!
//! | door | footprint | event |
//! |---|---|---|
//! | `touch_access` | Memory | [`Event::Access`] of an operation, and of a told or a host access |
//! | `touch_place` | the class of the object | [`Event::Sync`], see [`SyncKind::of`] |
//! | `touch_worker` | Birth, End, Wake | [`Event::Sync`] |
//! | `happened` | | [`Event::Spawned`], [`Event::Woken`], [`Event::Ended`], [`Event::Hint`], for strategies too |
//!
//! # Happens-before
//! [`Event::Sync`] is what a vector clock needs: a release of an object adds the worker's clock to that of the object,
//! an acquisition the other way round. The objects and their meaning are in [`HbObject`] and [`SyncKind`].
//!
//! # What is not seen
//! - An access that is no scheduling point, unless the module was instrumented with `Options::footprints`. These are
//!   accesses in atomic functions, in functions that filters leave out, and below the level of `--points`.
//! - Accesses of a function's own frame whose address stays in the function.
//! - With `--heap-points shared`: accesses of memory that one worker has to itself.
//! - What an allocator does to its own heap: [`Event::Heap`] says what it handed out and took back.
//! - What the C library of coyote-cc does to prepare and to end threads (`UNTOLD` of the instrumenter).
//! - The one word of memory that is each worker's own ([`super::worker_local_word`]).

use super::heap::Change;
use super::{FaultClass, ObjectId, Runtime};
use coyote_strategies::{self as strategies, Class, Effect, OpKind, Operation, Pick, WorkerId};

bitflags::bitflags! {
    /// Which events are wanted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Interest: u16 {
        const STEPS = 1;
        const ACCESSES = 1 << 1;
        const SYNC = 1 << 2;
        const HEAP = 1 << 3;
        /// Workers that are created, begin, end and are woken.
        const WORKERS = 1 << 4;
        const OUTPUT = 1 << 5;
        const FAULTS = 1 << 6;
        const HINTS = 1 << 7;
        /// No worker can go on, and one should.
        const STUCK = 1 << 8;
        /// The end of an iteration.
        const ENDS = 1 << 9;
        /// At the end of a test that passed: where pointers may stand.
        const ROOTS = 1 << 10;
        /// Every access before it happens, not only those that the map of the heap does not allow.
        const VETOES = 1 << 11;
        /// The stack of every worker whose step is an event. Each worker then unwinds at every scheduling point.
        const STACKS = 1 << 12;
        const FENCES = 1 << 13;
        /// A monitor has been hot for too long.
        const OVERHEATED = 1 << 14;

        /// What keeps an access from being executed without a question.
        const ASKS = Self::STEPS.bits() | Self::FENCES.bits() | Self::ACCESSES.bits() | Self::VETOES.bits() | Self::STACKS.bits();
    }
}

/// What happened. Numbers of sites are those of the site table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A step was executed, up to what the guest's code does after it. Its other events follow.
    Step(Step<'a>),
    /// Memory is accessed. The guest's own instruction comes right after the event: of a read, the value stands in
    /// memory, of a write, the one before it.
    Access(MemoryAccess),
    /// An atomic fence is executed. Of one in a function without points, the site is [`Operation::NO_SITE`].
    Fence {
        worker: WorkerId,
        site: u32,
    },
    Sync(SyncEvent),
    /// An allocator's function returned.
    Heap {
        worker: WorkerId,
        change: Change,
    },
    Spawned {
        parent: WorkerId,
        child: WorkerId,
    },
    /// The first step of a worker.
    Started(WorkerId),
    /// A step of `by` made the blocked `worker` able to go on.
    Woken {
        by: WorkerId,
        worker: WorkerId,
    },
    Ended(WorkerId),
    /// Something was written: its index in [`Runtime::output`].
    Output {
        index: usize,
    },
    Fault {
        worker: WorkerId,
        fault: FaultClass,
    },
    Hint {
        worker: WorkerId,
        value: u64,
    },
    /// No worker can go on, and one should; or some wait in a circle, so that they never can.
    Stuck,
    /// A monitor has been hot for too long: [`crate::runtime::monitors::Monitors::overheated`] says which.
    Overheated,
}

impl Event<'_> {
    /// Who gets it.
    pub fn interest(&self) -> Interest {
        match self {
            Event::Step(_) => Interest::STEPS,
            Event::Fence { .. } => Interest::FENCES,
            Event::Access(_) => Interest::ACCESSES,
            Event::Sync(_) => Interest::SYNC,
            Event::Heap { .. } => Interest::HEAP,
            Event::Spawned { .. } | Event::Started(_) | Event::Woken { .. } | Event::Ended(_) => {
                Interest::WORKERS
            }
            Event::Output { .. } => Interest::OUTPUT,
            Event::Fault { .. } => Interest::FAULTS,
            Event::Hint { .. } => Interest::HINTS,
            Event::Stuck => Interest::STUCK,
            Event::Overheated => Interest::OVERHEATED,
        }
    }
}

/// An executed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Steps of workers executed before it. Timeouts do not count.
    pub number: u64,
    pub pick: Pick,
    /// The operation that was announced; of a timeout, the one that is waited in.
    pub operation: Operation,
    /// Data values chosen in it.
    pub values: &'a [u64],
}

/// An access of guest memory. A `memory.copy` is two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    pub worker: WorkerId,
    pub address: u64,
    /// At least 1.
    pub bytes: u32,
    pub reads: bool,
    /// Of a compare-exchange that is a scheduling point: whether it may write. In a module that tells accesses
    /// (`Options::footprints`, `Options::edges`) it reads, and an access that writes follows if it succeeds.
    pub writes: bool,
    /// Whether two workers may make it at once without a data race.
    pub atomic: bool,
    /// Whether it is made within an atomic function or section.
    pub in_section: bool,
    pub source: AccessSource,
    /// Of an access by an operation, its place; else [`Operation::NO_SITE`].
    pub site: u32,
}

/// How an access is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSource {
    /// It is an operation that was announced.
    Operation(OpKind),
    /// The guest told of it: no scheduling point.
    Told,
    /// The guest told of it, in a function that the user has left out.
    LeftOut,
    /// The host made it on the worker's behalf.
    Host,
}

/// Half of an edge of happens-before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncEvent {
    pub worker: WorkerId,
    pub object: HbObject,
    pub kind: SyncKind,
}

/// Through what one step happens before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HbObject {
    /// A mutex, rwlock, semaphore or barrier.
    Object(ObjectId),
    /// From a worker's creation to its first step.
    Start(WorkerId),
    /// From a worker's last step to who joins it.
    End(WorkerId),
    /// From who wakes a worker to its next step. The queue in which it waited: a condvar, whose notifications order
    /// nothing by POSIX and C++ (the mutex does); a futex; or a barrier.
    Wake { worker: WorkerId, queue: Option<ObjectId> },
    /// What the guest says at an address: `happens_before` and `happens_after`.
    Annotated(u32),
}

/// How a worker and an object exchange what happened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncKind {
    /// What was released there, shared or not, happens before what follows.
    Acquire,
    /// The same, but what readers released is left out.
    AcquireShared,
    Release,
    ReleaseShared,
    /// An arrival at a barrier.
    AcquireRelease,
}

impl SyncKind {
    /// What an effect on an object means.
    ///
    /// | class | effect | kind |
    /// |---|---|---|
    /// | mutex, rwlock, semaphore | Acquire, TryAcquire | Acquire |
    /// | rwlock | Share, TryShare | AcquireShared |
    /// | mutex, rwlock, semaphore | Release | Release |
    /// | rwlock | Unshare | ReleaseShared |
    /// | start and end of a worker, wake-up | Enable | Release |
    /// | the same | Await | Acquire |
    ///
    /// Everything else orders nothing for the program: a failed attempt, the making and destroying of an object, the
    /// queues of condvars and futexes. Two effects are said apart where they happen, since the relation does not
    /// tell them from others: an arrival at a barrier, and an unlock by a worker that does not hold the mutex.
    pub fn of(effect: Effect) -> Option<SyncKind> {
        match effect {
            Effect::Acquire | Effect::TryAcquire | Effect::Await => Some(SyncKind::Acquire),
            Effect::Share | Effect::TryShare => Some(SyncKind::AcquireShared),
            Effect::Release | Effect::Enable => Some(SyncKind::Release),
            Effect::Unshare => Some(SyncKind::ReleaseShared),
            Effect::Read | Effect::Write => None,
        }
    }

    pub fn acquires(self) -> bool {
        matches!(self, SyncKind::Acquire | SyncKind::AcquireShared | SyncKind::AcquireRelease)
    }

    pub fn releases(self) -> bool {
        matches!(self, SyncKind::Release | SyncKind::ReleaseShared | SyncKind::AcquireRelease)
    }
}

/// Events that were not delivered yet.
#[derive(Debug, Default)]
pub struct EventStream {
    wanted: Interest,
    events: Vec<Event<'static>>,
    /// Who executes the step; `None` while a timeout fires.
    by: Option<WorkerId>,
}

/// A copy of a state belongs to no step.
impl Clone for EventStream {
    fn clone(&self) -> EventStream {
        EventStream::default()
    }
}

impl EventStream {
    /// Only these events are produced.
    pub fn want(&mut self, wanted: Interest) {
        self.wanted = wanted;
        self.events.clear();
    }

    #[inline]
    pub fn wants(&self, any: Interest) -> bool {
        self.wanted.intersects(any)
    }

    #[inline]
    pub fn push(&mut self, event: Event<'static>) {
        if self.wants(event.interest()) {
            self.events.push(event);
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes the events, in the order in which they happened.
    pub fn take(&mut self) -> Vec<Event<'static>> {
        std::mem::take(&mut self.events)
    }

    /// Gives the memory back that [`EventStream::take`] took.
    pub fn recycle(&mut self, mut events: Vec<Event<'static>>) {
        if self.events.is_empty() {
            events.clear();
            self.events = events;
        }
    }

    /// Drops what was not delivered: it belongs to no step.
    pub fn clear(&mut self) {
        self.events.clear();
        self.by = None;
    }

    pub(super) fn begin_step(&mut self, by: Option<WorkerId>) {
        self.by = by;
    }
}

impl Runtime {
    /// Something happened that strategies want to know, too.
    pub(super) fn happened(&mut self, event: strategies::Event) {
        if self.stream.wants(Interest::WORKERS | Interest::HINTS) {
            self.push_happened(event);
        }
        self.events.push(event);
    }

    #[cold]
    fn push_happened(&mut self, event: strategies::Event) {
        self.stream.push(match event {
            strategies::Event::Spawned { parent, child } => Event::Spawned { parent, child },
            strategies::Event::Woken { by, worker } => Event::Woken { by, worker },
            strategies::Event::Ended(worker) => Event::Ended(worker),
            strategies::Event::Hint { worker, value } => Event::Hint { worker, value },
        });
    }

    /// The guest gives a hint to its own explorer.
    pub fn hint(&mut self, worker: WorkerId, value: u64) {
        self.happened(strategies::Event::Hint { worker, value });
    }

    /// Something is done with a sync object.
    #[inline]
    pub(super) fn touch_place(&mut self, place: ObjectId, effect: Effect) {
        self.footprint.touch(place.class, effect, place.address.into());
        if self.orders()
            && let Some(kind) = SyncKind::of(effect)
        {
            self.synchronise(HbObject::Object(place), kind);
        }
    }

    /// A worker is created, begins, ends, is joined or woken, or goes on. `class`: Birth, End or Wake.
    #[inline]
    pub(super) fn touch_worker(&mut self, class: Class, effect: Effect, id: WorkerId) {
        self.footprint.touch(class, effect, self.worker(id).key);
        if self.orders()
            && let Some(kind) = SyncKind::of(effect)
        {
            let object = match class {
                Class::Birth => HbObject::Start(id),
                Class::End => HbObject::End(id),
                _ => HbObject::Wake { worker: id, queue: self.worker(id).request.queue() },
            };
            self.synchronise(object, kind);
        }
    }

    /// The worker whose step it is acquires or releases an object. A timeout does neither.
    #[inline]
    pub(super) fn synchronise(&mut self, object: HbObject, kind: SyncKind) {
        if self.orders() {
            self.push_sync(object, kind);
        }
    }

    /// Whether it matters what acquires and releases what.
    #[inline]
    fn orders(&self) -> bool {
        self.stream.wants(Interest::SYNC) || self.weak.is_some()
    }

    #[cold]
    fn push_sync(&mut self, object: HbObject, kind: SyncKind) {
        if let Some(worker) = self.stream.by {
            let event = SyncEvent { worker, object, kind };
            if let Some(weak) = &mut self.weak {
                weak.synchronise(&event);
            }
            self.stream.push(Event::Sync(event));
        }
    }

    /// The running worker says that it acquires or releases something that the runtime does not know.
    pub fn annotate(&mut self, address: u32, kind: SyncKind) {
        // Beside locks, which the same class has at 2^32.
        let effect = if kind.releases() { Effect::Write } else { Effect::Read };
        self.footprint.touch(Class::Other, effect, 1 << 40 | u64::from(address));
        self.synchronise(HbObject::Annotated(address), kind);
    }

    /// The worker accesses memory by an operation that it announced.
    #[inline]
    pub fn observe_operation(&mut self, id: WorkerId, operation: Operation) {
        if self.stream.wants(Interest::ACCESSES) && operation.kind.accesses_memory() && operation.size > 0 {
            self.push_operation(id, operation);
        } else if operation.kind == OpKind::Fence {
            self.observe_fence(id, operation.site);
        }
    }

    /// The worker executes an atomic fence.
    pub fn observe_fence(&mut self, worker: WorkerId, site: u32) {
        if self.stream.wants(Interest::FENCES) {
            self.stream.push(Event::Fence { worker, site });
        }
    }

    #[cold]
    fn push_operation(&mut self, id: WorkerId, operation: Operation) {
        let kind = operation.kind;
        let told = self.footprint.told && kind == OpKind::CompareExchange;
        let access = MemoryAccess {
            worker: id,
            address: operation.object,
            bytes: operation.size,
            reads: !matches!(kind, OpKind::Store | OpKind::AtomicStore | OpKind::Fill | OpKind::Copy),
            writes: kind.writes() && !told,
            atomic: kind.is_atomic(),
            in_section: self.worker(id).atomic_depth > 0,
            source: AccessSource::Operation(kind),
            site: operation.site,
        };
        if kind == OpKind::Copy {
            let address = self.worker(id).copy_source.into();
            self.stream.push(Event::Access(MemoryAccess { address, reads: true, writes: false, ..access }));
        }
        self.stream.push(Event::Access(access));
    }

    /// Memory is accessed otherwise.
    pub fn observe_access(
        &mut self,
        worker: WorkerId,
        access: &strategies::Access,
        source: AccessSource,
        atomic: bool,
    ) {
        if !self.stream.wants(Interest::ACCESSES) || access.size == 0 {
            return;
        }
        let writes = access.effect == Effect::Write;
        self.stream.push(Event::Access(MemoryAccess {
            worker,
            address: access.object,
            bytes: access.size,
            reads: !writes,
            writes,
            atomic,
            in_section: self.worker(worker).atomic_depth > 0,
            source,
            site: Operation::NO_SITE,
        }));
    }

    /// A fault happened in the present step.
    pub(super) fn faulted(&mut self, fault: FaultClass) {
        if let Some(worker) = self.stream.by {
            self.stream.push(Event::Fault { worker, fault });
        }
    }
}
