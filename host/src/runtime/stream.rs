//! The step stream: the events of an execution, as data for observers and detectors (see [`crate::observe`]).
//!
//! Accesses, synchronisation and the life of workers pass through a few functions of the runtime, its *doors*, which
//! also record the footprint of the relation: so events and footprints agree on what a step touches. An event that is
//! in no [`Interest`] is not produced: each door tests one number.
//!
//! | door | footprint | event |
//! |---|---|---|
//! | `touch_access` | Memory | [`Event::Access`] of an operation, and of a reported or a host access |
//! | `touch_place` | the class of the object | [`Event::Sync`], see [`SyncKind::of`] |
//! | `touch_worker` | Birth, End, Wake | [`Event::Sync`] |
//! | `used` | | [`Event::Use`] of the objects that an operation names |
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
//! - With `--heap-points shared`: accesses of memory that only one worker uses.
//! - Accesses of an allocator to its own heap: [`Event::Heap`] has the blocks that it handed out and took
//!   back.
//! - Accesses by the C library of coyote-cc that prepare and end threads (`UNTOLD` of the instrumenter).
//! - Accesses of the worker-local word ([`super::worker_local_word`]).

use super::heap::Change;
use super::internal::Internal;
use super::{FaultClass, ObjectId, Runtime};
use crate::object_id::UseKind;
use coyote_strategies::{self as strategies, Class, Effect, OpKind, Operation, Pick, WorkerId};

bitflags::bitflags! {
    /// A set of events.
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
        /// No worker can go on, although one should.
        const STUCK = 1 << 8;
        /// The end of an iteration.
        const ENDS = 1 << 9;
        /// The places that may hold pointers, at the end of a test that passed.
        const ROOTS = 1 << 10;
        /// Every access before it happens, not only those that the map of the heap does not allow. The stacks of all
        /// other workers are known then.
        const VETOES = 1 << 11;
        /// The stack of every worker whose step is an event. Each worker then unwinds at every scheduling point where an
        /// observer wants the stack.
        const STACKS = 1 << 12;
        const FENCES = 1 << 13;
        /// A monitor has been hot for too long.
        const OVERHEATED = 1 << 14;
        /// The sync objects that operations are given.
        const USES = 1 << 15;

        /// Interests for which an access must not be executed without asking, so that no lease is given.
        const ASKS = Self::STEPS.bits() | Self::FENCES.bits() | Self::ACCESSES.bits() | Self::VETOES.bits() | Self::STACKS.bits();
    }
}

/// An event of an execution. Numbers of sites are those of the site table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A step was executed, up to what the guest's code does after it. Its other events follow.
    Step(Step<'a>),
    /// An access of memory. The guest's own instruction is executed right after the event: memory holds the value that
    /// is read, or the one before a write.
    Access(MemoryAccess),
    /// An atomic fence. In a function without points, its site is [`Operation::NO_SITE`].
    Fence {
        worker: WorkerId,
        site: u32,
    },
    Sync(SyncEvent),
    /// An operation on a sync object begins, before what it acquires or releases.
    Use(ObjectUse),
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
    /// Output of the guest: its index in [`Runtime::output`].
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
    /// No worker can go on, although one should; or some workers wait in a circle, so that they never can.
    Stuck,
    /// A monitor has been hot for too long: [`crate::runtime::monitors::Monitors::overheated`] says which.
    Overheated,
}

impl Event<'_> {
    /// The interest that the event belongs to.
    pub fn interest(&self) -> Interest {
        match self {
            Event::Step(_) => Interest::STEPS,
            Event::Fence { .. } => Interest::FENCES,
            Event::Access(_) => Interest::ACCESSES,
            Event::Sync(_) => Interest::SYNC,
            Event::Use(_) => Interest::USES,
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
    /// Number of workers' steps executed before it. Timeouts do not count.
    pub number: u64,
    pub pick: Pick,
    /// The operation that was announced; for a timeout, the operation whose wait it ends.
    pub operation: Operation,
    /// Data values chosen in it.
    pub values: &'a [u64],
    /// What the operation returned; `None` if its worker does not go on yet.
    pub result: Option<i64>,
}

/// An access of guest memory. A `memory.copy` is two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    pub worker: WorkerId,
    pub address: u64,
    /// At least 1.
    pub bytes: u32,
    pub reads: bool,
    /// For a compare-exchange that is a scheduling point: whether it may write. In a module that reports accesses
    /// (`Options::footprints`, `Options::edges`), it counts as a read, and an access that writes follows if it
    /// succeeds.
    pub writes: bool,
    /// Whether two workers may make it at once without a data race.
    pub atomic: bool,
    /// Whether it is made within an atomic function or section.
    pub in_section: bool,
    pub source: AccessSource,
    /// The site of an access by an operation; else [`Operation::NO_SITE`].
    pub site: u32,
}

/// The source of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSource {
    /// An operation that was announced.
    Operation(OpKind),
    /// A report by the guest: no scheduling point.
    Told,
    /// A report by the guest, in a function that the user has left out.
    LeftOut,
    /// The host, on the worker's behalf.
    Host,
}

/// Half of an edge of happens-before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncEvent {
    pub worker: WorkerId,
    pub object: HbObject,
    pub kind: SyncKind,
    /// Whether it belongs to a call with a timeout, which may give up.
    pub timed: bool,
}

/// An operation on a sync object, by a function that is given the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectUse {
    pub worker: WorkerId,
    pub object: ObjectId,
    pub kind: UseKind,
    /// Whether it is made within an atomic section.
    pub in_section: bool,
    pub site: u32,
}

/// The object through which one step happens before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HbObject {
    /// A mutex, rwlock, semaphore or barrier.
    Object(ObjectId),
    /// From a worker's creation to its first step.
    Start(WorkerId),
    /// From a worker's last step to the worker that joins it.
    End(WorkerId),
    /// From the step that wakes a worker to its own next step. `queue`: where it waited: a condvar, whose notifications
    /// order nothing by POSIX and C++ (the mutex does); a futex; or a barrier.
    Wake { worker: WorkerId, queue: Option<ObjectId> },
    /// An annotation by the guest at an address: `happens_before` and `happens_after`.
    Annotated(u32),
    /// What has arrived at an end of a connection, or connections at a listening socket: see [`super::files::sockets`].
    Socket(u64),
}

/// How a worker and an object exchange knowledge of what happened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncKind {
    /// Everything that was released there, shared or not, happens before what follows.
    Acquire,
    /// As [`SyncKind::Acquire`], without what readers released.
    AcquireShared,
    Release,
    ReleaseShared,
    /// An arrival at a barrier.
    AcquireRelease,
}

impl SyncKind {
    /// The kind of an effect on an object.
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
    /// Everything else orders nothing for the program: a failed attempt, the initialisation and destruction of an
    /// object, the queues of condvars and futexes. Two effects are reported separately where they happen, since the
    /// relation does not distinguish them from others: an arrival at a barrier, and an unlock by a worker that does not
    /// hold the mutex.
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
    /// The worker that executes the step; `None` while a timeout fires.
    by: Option<WorkerId>,
}

/// A copy of a state belongs to no step, so its stream is empty.
impl Clone for EventStream {
    fn clone(&self) -> EventStream {
        EventStream::default()
    }
}

impl EventStream {
    /// Sets which events are produced.
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

    /// Takes back the allocation of the events that [`EventStream::take`] returned.
    pub fn recycle(&mut self, mut events: Vec<Event<'static>>) {
        if self.events.is_empty() {
            events.clear();
            self.events = events;
        }
    }

    /// Drops events that were not delivered, since they belong to no step.
    pub fn clear(&mut self) {
        self.events.clear();
        self.by = None;
    }

    pub(super) fn begin_step(&mut self, by: Option<WorkerId>) {
        self.by = by;
    }
}

impl Runtime {
    /// Records an event that strategies receive too.
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

    /// Records a hint that the guest gives.
    pub fn hint(&mut self, worker: WorkerId, value: u64) {
        self.happened(strategies::Event::Hint { worker, value });
    }

    /// Records an effect on a sync object.
    #[inline]
    pub(super) fn touch_place(&mut self, place: ObjectId, effect: Effect) {
        self.footprint.touch(place.class, effect, place.address.into());
        if self.orders()
            && let Some(kind) = SyncKind::of(effect)
        {
            self.synchronise(HbObject::Object(place), kind);
        }
    }

    /// Records which sync objects the operation uses that the worker is about to execute.
    #[inline]
    pub(super) fn used<T>(&mut self, id: WorkerId, uses: impl FnOnce() -> T)
    where
        T: IntoIterator<Item = (ObjectId, UseKind)>,
    {
        if !self.stream.wants(Interest::USES) {
            return;
        }
        let (in_section, site) = (self.worker(id).atomic_depth > 0, self.pending(id).operation.site);
        for (object, kind) in uses() {
            self.stream.push(Event::Use(ObjectUse { worker: id, object, kind, in_section, site }));
        }
    }

    /// Records that a worker is created, begins, ends, is joined or woken, or goes on. `class`: Birth, End or
    /// Wake.
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

    /// Records that the worker of the present step acquires or releases an object. A timeout does neither.
    #[inline]
    pub(super) fn synchronise(&mut self, object: HbObject, kind: SyncKind) {
        if self.orders() {
            self.push_sync(object, kind);
        }
    }

    /// Whether acquires and releases must be recorded.
    #[inline]
    fn orders(&self) -> bool {
        self.stream.wants(Interest::SYNC) || self.weak.is_some()
    }

    #[cold]
    fn push_sync(&mut self, object: HbObject, kind: SyncKind) {
        if let Some(worker) = self.stream.by {
            let timed = self.worker(worker).request.is_timed_lock();
            let event = SyncEvent { worker, object, kind, timed };
            if let Some(weak) = &mut self.weak {
                weak.synchronise(&event);
            }
            self.stream.push(Event::Sync(event));
        }
    }

    /// Records that the running worker acquires or releases something that the runtime does not know.
    pub fn annotate(&mut self, address: u32, kind: SyncKind) {
        let effect = if kind.releases() { Effect::Write } else { Effect::Read };
        self.footprint.touch_internal(effect, Internal::Annotation(address));
        self.synchronise(HbObject::Annotated(address), kind);
    }

    /// Records an access of memory by an operation that the worker announced.
    #[inline]
    pub fn observe_operation(&mut self, id: WorkerId, operation: Operation) {
        if self.stream.wants(Interest::ACCESSES) && operation.kind.accesses_memory() && operation.size > 0 {
            self.push_operation(id, operation);
        } else if operation.kind == OpKind::Fence {
            self.observe_fence(id, operation.site);
        }
    }

    /// Records an atomic fence of the worker.
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

    /// Records another access of memory: one that the guest reports, one by the host, or the read of a futex
    /// wait.
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

    /// Records a fault in the present step.
    pub(super) fn faulted(&mut self, fault: FaultClass) {
        if let Some(worker) = self.stream.by {
            self.stream.push(Event::Fault { worker, fault });
        }
    }
}
