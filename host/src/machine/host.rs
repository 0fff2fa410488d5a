//! The data of the wasmtime store, on which the guest's imports work.

use super::directories::Directories;
use super::dirty_memory::DirtyMemory;
use super::guest_memory::GuestMemory;
use super::lease::Lease;
use super::owners::{OwnerTable, Touch};
use super::parts::Instances;
use super::scheduler::{AccessResult, Context, Scheduler, Suspended};
use super::stack::SavedWorker;
use crate::artifact::Artifact;
use crate::evidence::Evidence;
use crate::observe::{AccessSource, Event, Interest, Observers};
use crate::orderings::OnDemand;
use crate::outcome::{Bug, BugKind, Outcome};
use crate::runtime::Runtime;
use crate::runtime::heap::Change;
pub use crate::world::World;
use coyote_abi::rt::{self, GLOBAL_BYTES};
use coyote_instrumenter::{Entry, Location, SiteTable};
use coyote_strategies::{Access, Class, Effect, OpKind, Operation, WorkerId, WorkerState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wasmtime::{Caller, Global, Memory, ResourceLimiter, WasmBacktrace};

/// The data of a site that is needed on the hot path.
#[derive(Clone, Copy)]
pub struct HotSite {
    kind: OpKind,
    size: u8,
    offset: u64,
    /// The first site of the same instruction.
    first: u32,
    /// Whether the instruction has several sites, one for each memory order.
    ordered: bool,
}

impl HotSite {
    #[inline]
    fn operation(&self, object: u64) -> Operation {
        Operation { kind: self.kind, site: self.first, object: object + self.offset, size: self.size.into() }
    }
}

pub struct Host {
    pub scheduler: Scheduler,
    pub dirty_memory: DirtyMemory,
    pub owners: OwnerTable,
    pub lease: Lease,
    pub saved_workers: Vec<SavedWorker>,
    pub table: Arc<SiteTable>,
    pub orderings: Arc<OnDemand>,
    pub world: Arc<World>,
    /// Directories of the host that the guest works in.
    pub directories: Directories,
    /// Indices in [`rt::FUNCTIONS`] by the engine's identity of a function of this instance; empty until first needed.
    pub functions: BTreeMap<usize, i32>,
    /// Functions that the guest called in this iteration although this tool does not implement them.
    pub refused_calls: BTreeSet<&'static str>,
    pub memory: Option<Memory>,
    pub frames: Option<Memory>,
    /// The owner table, if the guest has one.
    pub owner_table: Option<Memory>,
    /// Where the instance's code comes from.
    pub parts: Instances,
    /// The bound of the running worker's stack, if the guest has a stack pointer.
    pub stack_low: Option<Global>,
    /// The global [`rt::ME`]: the byte of the owner table with which the running worker passes.
    pub me: Option<Global>,
    pub memory_bytes_max: usize,
    /// Whether a growth of memory was refused in this iteration.
    pub memory_refused: bool,
    /// Bounds of the first worker's stack: see [`super::stack`].
    pub main_stack: Option<(u32, u32)>,
    /// See [`super::stack::main_stack_alone`].
    pub main_stack_alone: Option<(u32, u32)>,
    /// Worker globals of the first worker: a new instance may have initialised them.
    pub main_globals: Vec<u128>,
    hot: Vec<HotSite>,
    /// The worker that a trap or a report stopped, and its stack, innermost first.
    pub stopped_at: Option<(WorkerId, Vec<Location>)>,
    /// The stacks of workers when they last threw an exception, innermost first.
    pub thrown_at: BTreeMap<WorkerId, Vec<Location>>,
    /// Whether the stack and the object of each await are recorded, not only that there is one.
    pub takes_awaits: bool,
    /// Whether the stack of each call is recorded whose effect a crash may lose.
    pub takes_call_stacks: bool,
    /// Observers, including detectors: changed with [`Host::set_observers`].
    pub observers: Observers,
}

/// The host function does not return to the guest: the reason is in [`Scheduler::outcome`].
#[derive(Debug)]
pub struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("the iteration has ended")
    }
}

impl std::error::Error for Stopped {}

impl Host {
    pub fn new(
        artifact: &Artifact,
        scheduler: Scheduler,
        world: Arc<World>,
        memory_bytes_max: usize,
    ) -> Host {
        let (engine, table) = (artifact.engine(), artifact.table.clone());
        let hot = table.sites.iter().enumerate().map(|(i, s)| HotSite {
            kind: s.kind(),
            size: s.size,
            offset: s.memory_offset,
            first: i as u32 - u32::from(s.alternative),
            ordered: s.alternative > 0 || table.sites.get(i + 1).is_some_and(|next| next.alternative > 0),
        });
        let hot = hot.collect();
        Host {
            orderings: artifact.orderings.clone(),
            scheduler,
            dirty_memory: DirtyMemory::new(Arc::from([])),
            owners: OwnerTable::default(),
            lease: Lease::default(),
            saved_workers: Vec::new(),
            table,
            directories: Directories::new(engine, &world.directories),
            functions: BTreeMap::new(),
            refused_calls: BTreeSet::new(),
            world,
            memory: None,
            frames: None,
            owner_table: None,
            parts: Instances::default(),
            stack_low: None,
            me: None,
            memory_bytes_max,
            memory_refused: false,
            main_stack: None,
            main_stack_alone: None,
            main_globals: Vec::new(),
            hot,
            stopped_at: None,
            thrown_at: BTreeMap::new(),
            takes_awaits: true,
            takes_call_stacks: false,
            observers: Observers::default(),
        }
    }

    /// The operation announced at a site. The instrumenter produces no unknown site.
    #[inline]
    pub fn operation(&self, site: u32, object: u64) -> Operation {
        self.hot[site as usize].operation(object)
    }

    #[inline]
    pub fn point(&mut self, site: u32, address: u32) -> AccessResult {
        let operation = self.operation(site, u64::from(address));
        self.order_site(site);
        self.scheduler.access(operation)
    }

    /// Records which of the sites of an instruction the running worker announces.
    #[inline]
    pub fn order_site(&mut self, site: u32) {
        let HotSite { first, ordered, .. } = self.hot[site as usize];
        if ordered && let Some(worker) = self.scheduler.running {
            self.scheduler.runtime.set_ordered_site(worker, first, site);
        }
    }

    /// The scheduler, and what it needs of the guest. `running`: a worker that is not suspended.
    pub fn context<'a>(
        &'a mut self,
        memory: &'a mut [u8],
        running: Option<WorkerId>,
    ) -> (&'a mut Scheduler, Context<'a>) {
        let Host { scheduler, observers, table, orderings, saved_workers, dirty_memory, .. } = self;
        let main_stack_alone = self.main_stack_alone;
        let written = &mut dirty_memory.host_written;
        let suspended = Suspended { table, saved_workers, running, main_stack_alone };
        (scheduler, Context { memory, written, observers, orderings, suspended })
    }

    /// Changes the observers, and has the events of their interest produced.
    pub fn set_observers<R>(&mut self, change: impl FnOnce(&mut Observers) -> R) -> R {
        let result = change(&mut self.observers);
        self.scheduler.runtime.stream.want(self.observers.interest());
        result
    }

    /// Records an access by the running worker of memory that may not be its own. Returns whether it is a
    /// scheduling point.
    pub fn touch(&mut self, table: &mut [u8], touch: Touch) -> bool {
        // Before the first worker runs, nothing is shared.
        let Some(worker) = self.scheduler.running else { return false };
        // An access outside of the guest's memory is a bug, which the point reports.
        let within = u64::from(touch.address) + u64::from(touch.bytes) <= self.scheduler.bounds.memory_bytes
            && u64::from(touch.address) >= self.scheduler.bounds.null_bytes;
        if !within {
            return true;
        }
        if self.scheduler.runtime.is_worker_local(touch.address.into(), touch.bytes) {
            return false;
        }
        let clean = touch.bytes == 0 || self.scheduler.runtime.heap.clean(touch.address.into(), touch.bytes);
        self.owners.touch(table, &self.scheduler.runtime, worker, touch)
            || !clean && !self.scheduler.runtime.heap.allocating(worker)
    }

    /// See [`coyote_abi::rt::SEEN`].
    pub fn seen(&mut self, what: i32, object: u32, size: u32) {
        let Some(worker) = self.scheduler.running else { return };
        let runtime = &mut self.scheduler.runtime;
        let seen = rt::Seen::from_argument(what).expect("it comes from our instrumenter");
        let own = match seen.0 {
            rt::Seen::MemoryRead | rt::Seen::MemoryWrite => runtime.is_worker_local(object.into(), size),
            // The size that an allocator queries only decides which addresses it hands out.
            rt::Seen::MemorySize => runtime.heap.allocating(worker),
            _ => false,
        };
        if own {
            return;
        }
        runtime.footprint.seen(seen, object, size);
        if matches!(seen.0, rt::Seen::MemoryRead | rt::Seen::MemoryWrite) {
            runtime.record_for_predicate(worker, object.into(), size);
        }
        let effect = match seen.0 {
            rt::Seen::MemoryRead => Effect::Read,
            rt::Seen::MemoryWrite => Effect::Write,
            rt::Seen::Fence => return runtime.observe_fence(worker, Operation::NO_SITE),
            _ => return,
        };
        let access = Access { class: Class::Memory, effect, object: object.into(), size };
        let left_out = seen.1 & rt::LEFT_OUT != 0;
        let source = if left_out { AccessSource::LeftOut } else { AccessSource::Told };
        runtime.observe_access(worker, &access, source, seen.1 & rt::ATOMIC != 0);
    }

    /// The worker that calls are attributed to: the first worker before any worker runs.
    pub fn running_or_first(&self) -> WorkerId {
        self.scheduler.running.unwrap_or(self.scheduler.runtime.first())
    }

    /// See [`coyote_abi::rt::ALLOCATOR_ENTER`]. Returns whether detectors must be asked about the block that is given
    /// back.
    pub fn allocator_enter(&mut self, old: u32) -> bool {
        self.scheduler.within_section(Runtime::atomic_enter);
        let worker = self.running_or_first();
        let wrong = self.scheduler.runtime.heap.enter(worker, old).is_some();
        wrong || old != 0 && self.scheduler.runtime.stream.wants(Interest::VETOES)
    }

    /// See [`coyote_abi::rt::ALLOCATOR_EXIT`].
    pub fn allocator_exit(&mut self, table: &mut [u8], change: (u32, u32, u32)) {
        self.scheduler.within_section(Runtime::atomic_exit);
        let worker = self.running_or_first();
        let before = self.scheduler.runtime.heap.is_known();
        let failed = self.scheduler.runtime.heap.fails(worker, change);
        let change = self.scheduler.runtime.heap.exit(worker, change);
        let known = self.scheduler.runtime.heap.is_known();
        let footprint = &mut self.scheduler.runtime.footprint;
        if failed || before != known {
            // A failed request depends on what other workers took, and an unknown heap may have any content.
            footprint.touch(Class::Heap, Effect::Write, 0);
        }
        let Some(change) = change else { return };
        self.lease.heap_changed(&change);
        self.scheduler.runtime.stream.push(Event::Heap { worker, change });
        if let Some(weak) = &mut self.scheduler.runtime.weak {
            weak.heap(worker, &change);
        }
        let effect = if self.scheduler.runtime.requests_are_ordered() { Effect::Write } else { Effect::Read };
        let footprint = &mut self.scheduler.runtime.footprint;
        footprint.touch(Class::Heap, effect, 0);
        if let Some((address, bytes)) = change.freed() {
            footprint.touch(Class::Heap, Effect::Read, Access::FREES);
            self.scheduler.runtime.forget_freed(worker, address, bytes.unwrap_or(0));
        }
        let footprint = &mut self.scheduler.runtime.footprint;
        if change.new.is_some() {
            footprint.touch(Class::Heap, Effect::Read, Access::ALLOCATES);
        }
        self.touch_blocks(&change);
        let runtime = &self.scheduler.runtime;
        let (saved_workers, site_table) = (&self.saved_workers, &self.table);
        let done = |other: WorkerId, block: std::ops::RangeInclusive<u32>| {
            let on_its_stack = || saved_workers.get(other.index()).and_then(|i| i.stack_pointer(site_table));
            let ended = runtime.pending(other).state == WorkerState::Ended;
            site_table.wasi_threads && (ended || on_its_stack().is_some_and(|sp| block.contains(&sp)))
        };
        self.owners.allocator_exit(table, runtime, worker, &change, &done);
    }

    /// Records freeing a block, or handing it out, as a write of the block: an access of it by another worker, through
    /// a stale pointer or beyond the end of another block, depends on it. Stacks that are freed are left out: see
    /// [`crate::detect::memory_errors`] for those of workers that have not ended. Of one whose worker has, an access by
    /// another worker depends on the steps in which its frames ended, and is an error since then.
    fn touch_blocks(&mut self, change: &Change) {
        let runtime = &mut self.scheduler.runtime;
        if !runtime.footprint.recording {
            return;
        }
        let heap = &runtime.heap;
        let freed = change.old.and_then(|(old, _)| heap.freed_at(old));
        let taken_back = change.old.and_then(|(old, bytes)| {
            let gap = freed.map_or(0, |freed| freed.range().end - old);
            Some((old, bytes?.max(gap)))
        });
        // The new block with the gap behind it, where an access is an overflow.
        let mut touched = change.new.map(|(new, bytes)| (new, bytes.max(heap.extent(new))));
        if let Some((old, bytes)) = taken_back {
            let (block, end) = (old..=old.saturating_add(bytes), old.saturating_add(bytes));
            let stack = runtime.workers().iter().zip(runtime.view().workers).find_map(|(worker, pending)| {
                let (low, high) = worker.start.stack.filter(|(_, high)| block.contains(high))?;
                if pending.state != WorkerState::Ended {
                    return Some(old..end);
                }
                let its_own =
                    worker.stack_block.is_some_and(|by| freed.is_some_and(|f| f.block.allocated == by));
                (its_own && !worker.joined).then_some(low.max(old)..high)
            });
            touched = match touched {
                // The block is resized in place.
                Some((new, size)) if new == old => Some((new, size.max(bytes))),
                touched => {
                    let stack = stack.unwrap_or(end..end);
                    for part in [old..stack.start, stack.end..end] {
                        runtime.footprint.memory(Effect::Write, part.start.into(), part.len() as u64);
                    }
                    touched
                }
            };
        }
        if let Some((new, bytes)) = touched {
            runtime.footprint.memory(Effect::Write, new.into(), bytes.into());
        }
    }

    /// Handles the guest's request to have `pages` pages of memory. Returns whether it is granted.
    pub fn memory_grown(&mut self, pages: u32) -> bool {
        let bytes = u64::from(pages) << 16;
        let fits = bytes <= self.memory_bytes_max as u64;
        if fits {
            let allocating =
                self.scheduler.running.is_some_and(|w| self.scheduler.runtime.heap.allocating(w));
            let before = std::mem::replace(&mut self.scheduler.bounds.memory_bytes, bytes);
            self.scheduler.runtime.footprint.grown(before, bytes, allocating);
        } else {
            self.refuse_memory();
        }
        fits
    }

    fn refuse_memory(&mut self) {
        self.memory_refused = true;
        self.scheduler.runtime.memory_refused = true;
        self.scheduler.runtime.footprint.refused();
    }

    /// Forgets where workers stopped or threw.
    pub fn forget_stops(&mut self) {
        self.stopped_at = None;
        self.thrown_at.clear();
    }

    /// Records a bug of the running worker as the outcome, unless there is one already.
    pub fn stop(&mut self, kind: BugKind, evidence: impl Into<Evidence>) -> Stopped {
        let worker = self.scheduler.running;
        self.scheduler.outcome.get_or_insert(Outcome::Bug(Bug { kind, evidence: evidence.into(), worker }));
        Stopped
    }

    /// Writes the worker globals of a worker that starts.
    pub fn write_fresh_globals(&mut self, worker: WorkerId, bytes: &mut Vec<u8>) {
        let me = self.owners.begin_segment(worker, 0);
        let (start, first) = (self.scheduler.runtime.worker(worker).start, self.scheduler.runtime.first());
        let stack = match start.stack {
            None if worker == first => self.main_stack.map(|(low, _)| (low, None)),
            stack => stack.map(|(low, high)| (low, Some(high))),
        };
        let learns = matches!(self.table.entries[start.entry as usize], Entry::WasiThread);
        bytes.clear();
        for (i, global) in self.table.worker_globals.iter().enumerate() {
            let value = match stack {
                Some((_, Some(high))) if global.stack_pointer => u128::from(high & !15),
                Some((low, _)) if global.name == coyote_abi::rt::STACK_LOW => u128::from(low),
                None if learns && global.name == coyote_abi::rt::STACK_LOW => u128::from(u32::MAX),
                _ if global.name == coyote_abi::rt::ME => u128::from(me),
                _ if worker == first => self.main_globals.get(i).copied().unwrap_or(global.initial),
                _ => global.initial,
            };
            let slot: [u8; GLOBAL_BYTES] = value.to_le_bytes();
            bytes.extend_from_slice(&slot);
        }
    }

    /// Returns the bound of the stack when the stack pointer is below the known bound. A worker of
    /// wasi-threads sets its stack pointer itself when it begins: its stack is bounded by the beginning of
    /// the block in which that pointer lies. `None`: the stack overflowed.
    pub fn learn_stack(&mut self, stack_pointer: u32) -> Option<u32> {
        let runtime = &mut self.scheduler.runtime;
        let worker = self.scheduler.running?;
        let start = runtime.worker(worker).start;
        if start.stack.is_some() || !matches!(self.table.entries[start.entry as usize], Entry::WasiThread) {
            return None;
        }
        let block = stack_pointer.checked_sub(1).and_then(|last| runtime.heap.block_around(last));
        if let Some(block) = block {
            runtime.set_stack(worker, (block.address, stack_pointer));
        }
        Some(block.map_or(0, |block| block.address))
    }

    /// Resets the saved workers to the start of an iteration: `started` has those in mid-run, the others have no
    /// frames.
    pub fn start_saved_workers(&mut self, started: &[SavedWorker]) {
        for image in &mut self.saved_workers {
            image.started = false;
            image.bytes.clear();
        }
        let slot = self.table.worker_globals.iter().position(|g| g.name == coyote_abi::rt::ME);
        for (worker, from) in started.iter().enumerate() {
            let id = WorkerId(worker as u32);
            // The worker owns its memory again.
            let me = self.owners.begin_segment(id, 0);
            let image = self.image(id);
            image.started = from.started;
            image.bytes.clone_from(&from.bytes);
            if let Some(slot) = slot
                && let Some(bytes) = image.bytes.get_mut(slot * GLOBAL_BYTES..(slot + 1) * GLOBAL_BYTES)
            {
                bytes.copy_from_slice(&u128::from(me).to_le_bytes());
            }
        }
    }

    /// Saves the worker-local word when its worker is suspended: see [`crate::runtime::worker_local_word`].
    pub fn put_own_word_away(&mut self, bytes: &mut [u8], worker: WorkerId) {
        let Some(address) = self.scheduler.runtime.worker_local_word() else { return };
        let mut memory = GuestMemory::new(bytes, &mut self.dirty_memory.host_written);
        let word = memory.peek(address, 4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("4 bytes")));
        if word != 0 {
            memory.write(address, &[0; 4]).expect("it was read there");
        }
        self.scheduler.runtime.keep_own_word(worker, word);
    }

    /// Restores the worker-local word when its worker continues.
    pub fn bring_own_word_back(&mut self, bytes: &mut [u8], worker: WorkerId) {
        let Some(address) = self.scheduler.runtime.worker_local_word() else { return };
        let word = self.scheduler.runtime.take_own_word(worker);
        if word != 0 {
            let mut memory = GuestMemory::new(bytes, &mut self.dirty_memory.host_written);
            memory.write(address, &word.to_le_bytes()).expect("it was read there");
        }
    }

    pub fn image(&mut self, worker: WorkerId) -> &mut SavedWorker {
        let needed = worker.index() + 1;
        if self.saved_workers.len() < needed {
            self.saved_workers.resize_with(needed, SavedWorker::default);
        }
        &mut self.saved_workers[worker.index()]
    }
}

/// A stack in terms of the original module, innermost first.
pub fn original_stack(backtrace: &WasmBacktrace, host: &Host) -> Vec<Location> {
    let Some(code) = host.parts.code() else { return vec![] };
    let offsets = backtrace.frames().iter().filter_map(|frame| code.offset(frame));
    offsets.filter_map(|offset| host.table.original(offset)).collect()
}

/// Guest memory and the rest of the host, side by side.
pub fn split<'a>(caller: &'a mut Caller<'_, Host>) -> (&'a mut [u8], &'a mut Host) {
    let memory = caller.data().memory;
    // The start function runs before the host knows the exports.
    let memory = memory.or_else(|| caller.get_export(coyote_abi::rt::MEMORY)?.into_memory());
    match memory {
        Some(memory) => memory.data_and_store_mut(caller),
        None => (&mut [], caller.data_mut()),
    }
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // The initial memory of a module is not growth.
        let fits = current == 0 || desired <= self.memory_bytes_max;
        if !fits {
            self.refuse_memory();
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 10_000_000)
    }
}
