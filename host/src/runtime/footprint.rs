//! Footprints: the accesses of a step, from which happens-before follows.
//!
//! A footprint is recorded only when the execution is driven from outside; samplers do not need it. Everything that one
//! worker's step can change for another is an access, whether the guest's code does it or the host on its behalf. The
//! guest's code reports what it does between two scheduling points only if it was instrumented for that
//! ([`coyote_abi::rt::SEEN`], `Options::footprints`). Left out, and named in the verdicts of searches that rely on the
//! relation, are the addresses that an allocator hands out and which bytes a program writes to its output first.

use super::internal::Internal;
use super::stream::{Event, Interest};
use super::sync::Availability;
use super::{Lock, ObjectId, Request, Runtime, Wake};
use coyote_abi::rt::Seen;
use coyote_strategies::{Access, Class, Effect, OpKind, Operation, Pick, WorkerId};

/// The accesses of the present step.
#[derive(Debug)]
pub struct Footprint {
    pub recording: bool,
    /// Whether the guest reports what its steps touch outside scheduling points, and whether a
    /// compare-exchange wrote.
    pub told: bool,
    /// Size of memory when iterations start. An access beyond it depends on the step that made memory larger.
    pub start_bytes: u64,
    /// Number of requested bytes ([`Heap::requested`](super::heap::Heap::requested)) from which on requests and frees
    /// depend on each other, since another order may run out of memory. 0: they always do, since the addresses that an
    /// allocator hands out do.
    pub requests_max: u64,
    accesses: Vec<Access>,
    /// The accesses of the previous step, in an execution that a strategy drives.
    before: Vec<Access>,
}

impl Default for Footprint {
    fn default() -> Footprint {
        Footprint {
            recording: false,
            told: false,
            start_bytes: u64::MAX,
            requests_max: u64::MAX,
            accesses: Vec::new(),
            before: Vec::new(),
        }
    }
}

/// Number of pages of a 32-bit address space: the objects of [`Class::Size`].
const PAGES: u32 = 1 << 16;
const PAGE_BITS: u32 = 16;
/// Number of recent accesses with which a new one may be joined. A loop over a text touches a few places in
/// turn.
const JOINED: usize = 8;

/// A copy of a state belongs to no step, so its footprint is empty.
impl Clone for Footprint {
    fn clone(&self) -> Footprint {
        Footprint::default()
    }
}

impl Footprint {
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// All accesses of the previous step, including those of the guest's code that followed its operation.
    pub fn before(&self) -> &[Access] {
        &self.before
    }

    pub fn clear(&mut self) {
        self.accesses.clear();
    }

    /// Begins the next step of an execution that is not stopped at every step.
    #[inline]
    pub fn begin_step(&mut self) {
        if self.recording {
            std::mem::swap(&mut self.accesses, &mut self.before);
            self.accesses.clear();
        }
    }

    /// Adds the accesses of guest memory by a call of the host.
    pub fn extend(&mut self, accesses: Vec<Access>) {
        for Access { effect, object, size, .. } in accesses {
            self.memory(effect, object, size.into());
        }
    }

    #[inline]
    pub fn touch(&mut self, class: Class, effect: Effect, object: u64) {
        if self.recording {
            self.accesses.push(Access::new(class, effect, object));
        }
    }

    /// Adds an access of something that is in no memory.
    pub(super) fn touch_internal(&mut self, effect: Effect, object: Internal) {
        if self.recording {
            self.accesses.push(object.access(effect));
        }
    }

    /// Adds an access of guest memory.
    #[inline]
    pub fn memory(&mut self, effect: Effect, address: u64, length: u64) {
        if self.recording
            && let Some(access) = bytes(effect, address, length)
        {
            self.add(access);
        }
    }

    /// Adds the reads of the sync objects that a request uses.
    #[inline]
    pub(super) fn objects(&mut self, request: Request) {
        if self.recording {
            of_objects(request).for_each(|access| self.add(access));
        }
    }

    /// Adds an access, and the access of the size of memory that it implies.
    pub(super) fn add(&mut self, access: Access) {
        self.accesses.push(access);
        if access.class == Class::Memory && access.object + u64::from(access.size) > self.start_bytes {
            let first = access.object.max(self.start_bytes) >> PAGE_BITS;
            let last = (access.object + u64::from(access.size) - 1) >> PAGE_BITS;
            let size = (last - first + 1) as u32;
            self.join(Access { class: Class::Size, effect: Effect::Read, object: first, size });
        }
    }

    /// Adds an access, or extends a recent one by it: there may be many of these.
    fn join(&mut self, access: Access) {
        let end = |a: &Access| a.object + u64::from(a.size);
        let recent = self.accesses.len().saturating_sub(JOINED);
        let meets = |a: &&mut Access| {
            (a.class, a.effect) == (access.class, access.effect)
                && a.object <= end(&access)
                && access.object <= end(a)
        };
        match self.accesses[recent..].iter_mut().find(meets) {
            Some(known) => {
                let (first, last) = (known.object.min(access.object), end(known).max(end(&access)));
                known.object = first;
                known.size = (last - first).min(u64::from(u32::MAX)) as u32;
            }
            None if access.class == Class::Memory => self.add(access),
            None => self.accesses.push(access),
        }
    }

    /// Records that memory has grown to `to_bytes` bytes. Growth by an allocator concerns only the new pages, since
    /// other allocators do not see which pages it got. Other growth tells the guest how large memory was.
    pub fn grown(&mut self, from_bytes: u64, to_bytes: u64, allocating: bool) {
        let pages = if allocating { from_bytes >> PAGE_BITS..to_bytes >> PAGE_BITS } else { 0..PAGES.into() };
        if self.recording && !pages.is_empty() {
            let size = (pages.end - pages.start) as u32;
            self.accesses.push(Access {
                class: Class::Size,
                effect: Effect::Write,
                object: pages.start,
                size,
            });
        }
    }

    /// Records that memory could not grow: this depends on all growth by other workers.
    pub fn refused(&mut self) {
        if self.recording {
            self.accesses.push(Access { class: Class::Size, effect: Effect::Read, object: 0, size: PAGES });
        }
    }

    /// Adds an access that the guest reports between two scheduling points: see [`coyote_abi::rt::SEEN`].
    pub fn seen(&mut self, (seen, number): (Seen, u32), object: u32, size: u32) {
        use Effect::{Read, Write};
        /// The object of a table's size, above all its entries.
        const SIZE: u64 = u32::MAX as u64 - 1;
        let in_table = |object: u64| u64::from(number) << 32 | object;
        let (class, effect, object, size) = match seen {
            Seen::MemoryRead => (Class::Memory, Read, object.into(), size),
            Seen::MemoryWrite => (Class::Memory, Write, object.into(), size),
            Seen::MemorySize => (Class::Size, Read, 0, PAGES),
            Seen::TableRead => (Class::Table, Read, in_table(object.into()), size),
            Seen::TableWrite => (Class::Table, Write, in_table(object.into()), size),
            Seen::TableSize => (Class::Table, Read, in_table(SIZE), 1),
            // A read of an entry that exists only afterwards depends on it too.
            Seen::TableGrow => (Class::Table, Write, in_table(0), u32::MAX),
            Seen::GlobalRead => (Class::Global, Read, number.into(), 1),
            Seen::GlobalWrite => (Class::Global, Write, number.into(), 1),
            Seen::DataRead => (Class::Global, Read, 1 << 32 | u64::from(number), 1),
            Seen::DataDrop => (Class::Global, Write, 1 << 32 | u64::from(number), 1),
            Seen::ElementsRead => (Class::Global, Read, 2 << 32 | u64::from(number), 1),
            Seen::ElementsDrop => (Class::Global, Write, 2 << 32 | u64::from(number), 1),
            // For detectors alone.
            Seen::Fence => return,
        };
        if self.recording && size > 0 {
            self.join(Access { class, effect, object, size });
        }
    }
}

/// The reads of the sync objects that a request uses: their memory must be neither freed nor a variable of a function that
/// has returned.
fn of_objects(request: Request) -> impl Iterator<Item = Access> {
    request.uses().into_iter().filter_map(|(at, _)| bytes(Effect::Read, at.address.into(), 1))
}

/// An access of `length` bytes of guest memory; `None` if that is 0.
fn bytes(effect: Effect, address: u64, length: u64) -> Option<Access> {
    let size = length.min(u64::from(u32::MAX)) as u32;
    (size > 0).then_some(Access { class: Class::Memory, effect, object: address, size })
}

/// The guest memory at an operation's object, if that is what it accesses. `told`: the guest reports
/// afterwards whether a compare-exchange wrote.
fn memory(operation: Operation, told: bool) -> Option<Access> {
    let reads = told && operation.kind == OpKind::CompareExchange;
    let effect = if operation.kind.writes() && !reads { Effect::Write } else { Effect::Read };
    let access = bytes(effect, operation.object, operation.size.into());
    access.filter(|_| operation.kind.accesses_memory())
}

impl Runtime {
    /// Whether requests for memory and frees depend on each other: their order decides which addresses the allocator
    /// hands out, and with these whether there is room for all.
    ///
    /// Not covered: the order of earlier requests may decide whether a single request for about half of all memory
    /// fits.
    pub fn requests_are_ordered(&self) -> bool {
        self.heap.requested() >= self.footprint.requests_max
    }

    /// Records that a detached thread ends, or that an ended one is detached. The library of coyote-cc frees its stack
    /// when the next thread begins or ends, and does not report that (`UNTOLD` of the instrumenter).
    pub(super) fn touch_abandoned_stack(&mut self) {
        if self.requests_are_ordered() {
            self.footprint.touch(Class::Heap, Effect::Write, 0);
        }
    }

    /// Records a memory access of the worker that is no scheduling point.
    pub fn touch(&mut self, id: WorkerId, operation: Operation) {
        self.observe_operation(id, operation);
        if self.has_predicates() {
            let accesses = self.of_memory(id, operation, self.footprint.told);
            for access in accesses.into_iter().flatten() {
                self.record_for_predicate(id, access.object, access.size);
            }
        }
        if self.footprint.recording {
            let [access, source] = self.of_memory(id, operation, self.footprint.told);
            access.into_iter().chain(source).for_each(|access| self.footprint.join(access));
        }
    }

    /// Executes the worker's pending memory access: all of [`Runtime::perform`] for one.
    pub fn step_plainly(&mut self, id: WorkerId) {
        self.stream.begin_step(Some(id));
        self.touch_plainly(id);
        self.stepped(id);
    }

    /// Records the accesses of the worker's pending memory access or first step.
    #[inline]
    pub(super) fn touch_plainly(&mut self, id: WorkerId) {
        let told = Interest::ACCESSES | Interest::FENCES | Interest::SYNC | Interest::WORKERS;
        if self.footprint.recording || self.stream.wants(told) || self.weak.is_some() {
            self.touch_pending(id);
        }
    }

    #[cold]
    fn touch_pending(&mut self, id: WorkerId) {
        let operation = self.pending(id).operation;
        if operation.kind == OpKind::Start {
            self.stream.push(Event::Started(id));
            self.touch_worker(Class::Birth, Effect::Await, id);
        }
        self.observe_operation(id, operation);
        if self.footprint.recording {
            let [access, source] = self.of_memory(id, operation, self.footprint.told);
            access.into_iter().chain(source).for_each(|access| self.footprint.add(access));
        }
    }

    /// The accesses of memory by an operation that the guest's code executes, not the runtime.
    fn of_memory(&self, id: WorkerId, operation: Operation, told: bool) -> [Option<Access>; 2] {
        let source = match operation.kind {
            OpKind::Copy => bytes(Effect::Read, self.worker(id).copy_source.into(), operation.size.into()),
            _ => None,
        };
        [memory(operation, told), source]
    }

    /// Adds the accesses of a pick that are known before it is executed: see `System::announced`.
    pub fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        let id = pick.worker();
        let worker = self.worker(id);
        if pick == Pick::Step(id) && worker.request == Request::Step {
            let operation = self.pending(id).operation;
            // It is not known yet whether a compare-exchange writes. A worker that exists has been created, so its
            // first step is in no race.
            return into.extend(self.of_memory(id, operation, false).into_iter().flatten());
        }
        let mut add = |class, effect, object: u32| into.push(Access::new(class, effect, object.into()));
        let wake = |effect| Access::new(Class::Wake, effect, worker.key);
        if let Pick::Timeout(_) = pick {
            if let Some(queue) = worker.request.queue() {
                add(queue.class, Effect::Write, queue.address);
            }
            if let Request::Lock { lock, .. } = worker.request {
                add(lock.place().class, Effect::Read, lock.place().address);
            }
            into.extend(self.clock.accesses_of_timeout(id));
            if let Request::Socket { .. } | Request::Poll { .. } = worker.request {
                into.push(Internal::Wait(worker.key).access(Effect::Write));
            }
            return into.push(wake(Effect::Enable));
        }
        let awaits = match worker.wake {
            Some(wake) => wake != Wake::Spurious,
            None => !matches!(worker.request, Request::Lock { .. }),
        };
        if worker.waiting && awaits {
            into.push(wake(Effect::Await));
        }
        if !worker.waiting {
            into.extend(of_objects(worker.request));
        }
        let mut add = |class, effect, object: u32| into.push(Access::new(class, effect, object.into()));
        match worker.request {
            Request::Join { handle } => {
                let ended = self.worker_of(handle).map(|w| self.worker(w).key);
                into.extend(ended.map(|key| Access::new(Class::End, Effect::Await, key)));
            }
            // The wait timed out.
            Request::Lock { .. } if worker.wake.is_some() => {}
            Request::Lock { lock, span_ns } => {
                let ObjectId { class, address } = lock.place();
                let (availability, timed) = (self.availability(id, lock), span_ns.is_some());
                // A worker that waits without a timeout announces to take the lock even while it is taken.
                let begins = timed && !worker.waiting;
                match availability {
                    Availability::Busy if begins => add(class, Effect::Read, address),
                    Availability::Busy => add(class, lock.effect(false), address),
                    Availability::Free => add(class, lock.effect(begins), address),
                    Availability::Again | Availability::Refused(_) => {}
                }
                if worker.waiting || begins && availability == Availability::Busy {
                    add(Class::Clock, Effect::Write, 0);
                }
            }
            Request::Relock { mutex, .. } => {
                let lock = Lock::Mutex(mutex);
                if self.availability(id, lock) != Availability::Again {
                    add(Class::Mutex, Effect::Acquire, mutex);
                }
            }
            Request::TryLock { lock } => {
                let ObjectId { class, address } = lock.place();
                match self.availability(id, lock) {
                    Availability::Free => add(class, lock.effect(true), address),
                    Availability::Busy => add(class, Effect::Read, address),
                    Availability::Again | Availability::Refused(_) => {}
                }
            }
            Request::Unlock { place } => {
                let effect = match self.sync.is_shared(place) {
                    true => Effect::Unshare,
                    false if self.unlocks_for_others(place) && !self.holders(place).contains(&id) => {
                        Effect::Write
                    }
                    false => Effect::Release,
                };
                add(place.class, effect, place.address);
            }
            Request::Init { place, .. } | Request::Destroy { place, .. } | Request::Notify { place, .. } => {
                add(place.class, Effect::Write, place.address);
            }
            Request::SemaphoreValue { semaphore } => add(Class::Semaphore, Effect::Write, semaphore),
            Request::BarrierWait { barrier } if !worker.waiting => {
                add(Class::Barrier, Effect::Write, barrier);
            }
            Request::Wait { condvar, mutex, .. } => {
                add(Class::Mutex, Effect::Release, mutex);
                add(Class::Condvar, Effect::Write, condvar);
            }
            Request::FutexWait { address, bytes: width, .. } if !worker.waiting => {
                into.extend(bytes(Effect::Read, address.into(), width.into()));
            }
            Request::Outside { object, effect } => add(Class::Outside, effect, object),
            Request::Sleep { .. } if !worker.waiting => add(Class::Clock, Effect::Write, 0),
            _ => {}
        }
    }
}
