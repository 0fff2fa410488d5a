//! A guest under control: one store, one instance, workers suspended as bytes.
//!
//! In the order of the data:
//!
//! - The guest's calls arrive at `imports`, `operations`, `atomics`, `fault_hooks`, [`wasi`], `sockets`,
//!   `assemblyscript` and `stubs`; `calls` and `observed` have in common how these announce and report what they do.
//! - These work on the [`host`], which includes [`directories`] of the real one. Its [`scheduler`] chooses which worker
//!   goes on. A worker stands at the `gate`, and behind it if it holds a [`lease`].
//! - [`guest_memory`] is the host's access to memory, [`dirty_memory`] records what changed there, [`owners`] which
//!   worker owns it. Workers have `thread_names` and `thread_segments`.
//! - [`stack`] reads suspended stacks, `changed_frames` what becomes something else in them. `trap` interprets traps, and
//!   `limits` recognises limits of this tool.
//! - `snapshot` and `fingerprint` work on the whole state, of which there are `parts` and `references`; it can also be set
//!   `aside`. `counters` counts executed instructions.
//! - `instance` holds what wasmtime makes of the module, of which a `missing_part` is compiled on demand.

mod aside;
mod assemblyscript;
mod atomics;
mod calls;
mod changed_frames;
mod counters;
pub mod directories;
pub mod dirty_memory;
mod fault_hooks;
mod fingerprint;
mod gate;
pub mod guest_memory;
pub mod host;
mod imports;
mod instance;
pub mod lease;
mod limits;
mod missing_part;
mod observed;
mod operations;
pub mod owners;
mod parts;
mod references;
pub mod scheduler;
mod snapshot;
mod sockets;
pub mod stack;
mod stubs;
mod thread_names;
mod thread_segments;
mod trap;
pub mod wasi;

pub use fingerprint::Part;
pub use snapshot::Snapshot;

use crate::artifact::Artifact;
use crate::evidence::{Inversion, RaceRemark};
use crate::granules::{Granules, Sharing};
use crate::observe::{Ending, Finding, Interest, Observers, Roots};
use crate::outcome::Outcome;
use crate::runtime::Runtime;
use crate::runtime::heap::Heap;
use crate::symbols::Symbols;
use counters::Counters;
use coyote_abi::rt;
use coyote_instrumenter::Location;
use coyote_strategies::{Pick, WorkerId, WorkerState};
use directories::Directories;
use host::{Host, Stopped, World, original_stack};
use instance::{Exports, instantiate};
use lease::Lease;
use observed::observe;
use owners::OwnerTable;
use scheduler::{Context, Scheduler};
use stack::{Layout, SavedWorker};
use std::ops::Range;
use std::sync::Arc;
use wasmtime::{Store, Trap, Val, WasmBacktrace};

/// See the module's documentation.
pub struct Machine {
    artifact: Arc<Artifact>,
    store: Store<Host>,
    exports: Exports,
    /// The state in which every iteration starts.
    start: snapshot::State,
    /// Sets whether requests for memory always depend on each other.
    exact_addresses: bool,
    /// Whether table state has to be assumed changed: the next start takes a fresh instance.
    tables_changed: bool,
    /// Read when a function's name is first needed.
    symbols: Option<Symbols>,
    counters: Counters,
    /// The stack of the worker of the last step, before it and after it: see `changed_frames`.
    layout_before: Layout,
    layout_after: Layout,
}

/// An error of the environment or of this tool while setting up a guest.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The engine refuses the module, with its words.
    #[error("the module cannot be instantiated: {0}")]
    Instantiate(String),
    /// Code that runs before the test did not return; says how it ended.
    #[error("the module's initialisation failed: {0}")]
    Initialise(String),
    /// The module declares more memory than it may have.
    #[error("the module's memory begins with {has} MiB, a guest may have {max} MiB: raise --max-memory")]
    Memory {
        /// The declared size, in MiB.
        has: usize,
        /// The bound, in MiB.
        max: usize,
    },
    /// A detector would see nothing in the module; says why, and what to do.
    #[error("{0}")]
    Detectors(String),
    /// Weak memory is not possible with this module or these options; says why, and what to do.
    #[error("{0}")]
    WeakMemory(String),
    /// The program cannot crash and start again; says why, and what to do.
    #[error("{0}")]
    Crashes(String),
    /// A bug in this tool; says which.
    #[error("this is a bug in coyote-wasm: {0}")]
    Internal(String),
}

impl Machine {
    /// A fresh instance, before any of its code but the start function has run. Its state is the start
    /// snapshot until [`Machine::set_start`] changes that.
    pub fn new(
        artifact: Arc<Artifact>,
        scheduler: Scheduler,
        world: Arc<World>,
        memory_bytes_max: usize,
        observers: Observers,
    ) -> Result<Machine, MachineError> {
        let files = world.files.clone();
        let mut host = Host::new(&artifact, scheduler, world, memory_bytes_max);
        host.scheduler.runtime.files = files;
        host.main_stack = stack::main_stack(&artifact);
        host.main_stack_alone = stack::main_stack_alone(&artifact);
        host.scheduler.bounds.null_bytes = stack::null_page(&artifact);
        host.set_observers(|all| *all = observers);
        host.scheduler.runtime.heap = Heap::new(artifact.options.memory_errors);
        host.scheduler.runtime.footprint.told = artifact.options.tells_exchanges();
        let (store, exports) = instantiate(&artifact, host)?;
        let has = store.data().scheduler.bounds.memory_bytes as usize;
        if has > memory_bytes_max {
            return Err(MachineError::Memory { has: has >> 20, max: memory_bytes_max >> 20 });
        }
        let start = snapshot::State::default();
        let mut machine = Machine {
            artifact,
            store,
            exports,
            start,
            exact_addresses: false,
            tables_changed: false,
            symbols: None,
            counters: Counters::default(),
            layout_before: Layout::default(),
            layout_after: Layout::default(),
        };
        machine.set_start(Runtime::default());
        machine.keep_main_globals();
        Ok(machine)
    }

    /// Keeps the present worker globals as those of the first worker. Only that worker's code must have run
    /// so far.
    pub fn keep_main_globals(&mut self) {
        let count = self.artifact.table.worker_globals.len();
        let values = (0..count).map(|n| {
            let name = format!("{}{n}", rt::WORKER_GLOBAL_PREFIX);
            let global = self.exports.instance.get_global(&mut self.store, &name);
            match global.expect("exported by the instrumenter").get(&mut self.store) {
                Val::I32(v) => u128::from(v as u32),
                Val::I64(v) => u128::from(v as u64),
                Val::F32(bits) => u128::from(bits),
                Val::F64(bits) => u128::from(bits),
                Val::V128(v) => v.as_u128(),
                other => unreachable!("a worker global is a number, not {other:?}"),
            }
        });
        let values = values.collect();
        self.store.data_mut().main_globals = values;
    }

    pub fn artifact(&self) -> &Arc<Artifact> {
        &self.artifact
    }

    pub fn scheduler(&self) -> &Scheduler {
        &self.store.data().scheduler
    }

    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.store.data_mut().scheduler
    }

    /// Sets whether requests for memory always depend on each other.
    pub fn set_exact_addresses(&mut self, exact: bool) {
        self.exact_addresses = exact;
    }

    /// See [`crate::runtime::footprint::Footprint::requests_max`]. Leaves half of all memory free, for pages that an
    /// allocator has begun.
    fn requests_max(&self) -> u64 {
        if self.exact_addresses || self.artifact.table.tells_memory_size {
            return 0;
        }
        let declared = self.exports.memory.and_then(|memory| memory.ty(&self.store).maximum());
        let all =
            declared.map_or(u64::MAX, |pages| pages << 16).min(self.store.data().memory_bytes_max as u64);
        (all / 2).saturating_sub(self.start.memory_bytes as u64)
    }

    /// Whether the guest was refused memory in this iteration.
    pub fn memory_refused(&self) -> bool {
        self.store.data().memory_refused
    }

    /// Whether a worker asked for random bytes in this iteration.
    pub fn asked_random(&self) -> bool {
        self.scheduler().runtime.asked_random(&self.start.runtime)
    }

    /// Whether the last run changed a table or a reference-typed global.
    pub fn tables_changed(&self) -> bool {
        self.tables_changed
    }

    /// Directories of the host that the guest works in.
    pub fn directories(&self) -> &Directories {
        &self.store.data().directories
    }

    pub fn directories_mut(&mut self) -> &mut Directories {
        &mut self.store.data_mut().directories
    }

    /// Functions that the guest called in this iteration although this tool does not implement them.
    pub fn refused_calls(&self) -> impl Iterator<Item = &'static str> {
        self.store.data().refused_calls.iter().copied()
    }

    /// Data races that detectors found so far and that are no bugs.
    pub fn remarks(&self) -> Vec<RaceRemark> {
        self.store.data().observers.remarks()
    }

    /// Inversions of locks that detectors found so far.
    pub fn inversions(&self) -> Vec<Inversion> {
        self.store.data().observers.inversions()
    }

    /// Sets which accesses are scheduling points from the next iteration on. Without an owner table: all.
    pub fn share(&mut self, sharing: Sharing) {
        self.store.data_mut().owners.share(sharing);
    }

    /// Which accesses are scheduling points, without what became shared in the present iteration.
    pub fn sharing(&self) -> &Sharing {
        self.store.data().owners.sharing()
    }

    /// Takes the granules that became shared since the iteration began, or since the last call.
    pub fn take_grown(&mut self) -> Granules {
        self.store.data_mut().owners.take_grown()
    }

    /// Number of granules that [`Machine::take_grown`] would return.
    pub fn grown_count(&self) -> usize {
        self.store.data().owners.grown_count()
    }

    /// The owner table's bookkeeping, for planted faults.
    #[doc(hidden)]
    pub fn owners_mut(&mut self) -> &mut OwnerTable {
        &mut self.store.data_mut().owners
    }

    /// Which leases are given, for tests, and how many steps were made under leases so far.
    #[doc(hidden)]
    pub fn lease_mut(&mut self) -> &mut Lease {
        &mut self.store.data_mut().lease
    }

    /// Brings the table of leases up to date, and returns the first granule for which it disagrees with the checks of
    /// accesses.
    #[doc(hidden)]
    pub fn lease_differs_at(&mut self) -> Option<u32> {
        let (table, host) = self.exports.lease?.data_and_store_mut(&mut self.store);
        host.table_differs_at(table)
    }

    fn with_owners<R: Default>(&mut self, function: impl FnOnce(&mut OwnerTable, &mut [u8]) -> R) -> R {
        let Some(table) = self.exports.owners else { return R::default() };
        let (table, host) = table.data_and_store_mut(&mut self.store);
        function(&mut host.owners, table)
    }

    /// Restores the start snapshot for a new iteration.
    pub fn begin(&mut self) -> Result<(), MachineError> {
        self.store.data_mut().forget_stops();
        self.reset_instance()?;
        self.with_owners(|owners, table| owners.begin(table));
        let start_bytes = self.start.memory_bytes as u64;
        let requests_max = self.requests_max();
        let host = self.store.data_mut();
        host.scheduler.runtime.footprint.start_bytes = start_bytes;
        host.scheduler.runtime.footprint.requests_max = requests_max;
        host.memory_refused = false;
        host.refused_calls.clear();
        host.directories.begin();
        host.lease.begin_iteration();
        host.start_saved_workers(&self.start.saved_workers);
        host.scheduler.begin(&self.start.runtime);
        observe(&mut self.store, |observers, state| observers.begin(state));
        Ok(())
    }

    /// Whether the native stack was exhausted, but might not have been if all code had been compiled together, as it is
    /// for the next iteration.
    pub fn overflowed_in_parts(&self) -> bool {
        self.store.data().parts.overflowed()
    }

    /// Whether the code has another root than the instance's.
    fn renew_code(&self) -> Result<bool, MachineError> {
        let now = self.overflowed_in_parts();
        self.artifact.code().renew(now).map_err(|e| MachineError::Internal(format!("{e:#}")))?;
        Ok(self.artifact.code().roots() > self.exports.root)
    }

    /// Resets memory, tables and globals to their contents at the start.
    fn reset_instance(&mut self) -> Result<(), MachineError> {
        let newer = self.renew_code()?;
        if newer || self.tables_changed || self.memory().len() > self.exports.real_bytes {
            return self.rebuild();
        }
        self.resize(self.start.memory_bytes)?;
        self.restore_memory(&self.start.chunks.clone());
        self.load_globals(&self.start.globals.clone())
    }

    /// Starts the program again after a crash: everything except its files is reset to the start. The guest must have
    /// been left.
    fn restart(&mut self) -> Result<(), MachineError> {
        self.reset_instance()?;
        self.with_owners(|owners, table| owners.restart(table));
        let host = self.store.data_mut();
        host.forget_stops();
        host.saved_workers.iter_mut().for_each(|saved| *saved = SavedWorker::default());
        host.scheduler.running = None;
        host.lease.begin_elsewhere();
        host.scheduler.runtime.restart(&self.start.runtime);
        observe(&mut self.store, |observers, state| observers.restart(state));
        Ok(())
    }

    /// Lets the guest run until it leaves: because the iteration ended or, without a strategy, because a
    /// choice is due. The scheduler then holds what happened.
    pub fn run(&mut self) -> Result<(), MachineError> {
        self.go()?;
        while self.scheduler_mut().take_crashed() {
            self.restart()?;
            self.go()?;
        }
        self.end_iteration();
        Ok(())
    }

    fn go(&mut self) -> Result<(), MachineError> {
        let result = self.exports.run.call(&mut self.store, ());
        if let Some(lease) = self.exports.lease {
            let (table, host) = lease.data_and_store_mut(&mut self.store);
            host.settle(table);
        }
        if self.artifact.table.changes_tables {
            self.tables_changed = self.read_tables_changed();
        }
        let Err(error) = result else {
            self.look_at_panic();
            return Ok(());
        };
        if let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() {
            let stack = original_stack(backtrace, self.store.data());
            let host = self.store.data_mut();
            if let Some(worker) = host.scheduler.running {
                host.stopped_at.get_or_insert((worker, stack));
            }
        }
        if error.is::<Stopped>() || self.scheduler().outcome.is_some() {
            self.look_at_panic();
            return Ok(());
        }
        if error.is::<wasmtime::ThrownException>() {
            self.store.take_pending_exception();
            let outcome = self.uncaught();
            self.scheduler_mut().outcome = Some(outcome);
            return Ok(());
        }
        let Some(trap) = error.downcast_ref::<Trap>() else {
            return Err(MachineError::Internal(format!("{error:?}")));
        };
        let outcome = self.trapped(*trap);
        self.scheduler_mut().outcome = Some(outcome);
        Ok(())
    }

    /// Executes a pick from outside, up to the next scheduling point.
    pub fn step(&mut self, pick: Pick) -> Result<(), MachineError> {
        let goes_on = self.with_context(|scheduler, context| scheduler.step(pick, context));
        self.go_on(goes_on)
    }

    /// Gives the value that a step from outside needs, and completes it.
    pub fn choose(&mut self, value: u64) -> Result<(), MachineError> {
        let goes_on = self.with_context(|scheduler, context| scheduler.choose(value, context));
        self.go_on(goes_on)
    }

    fn go_on(&mut self, goes_on: bool) -> Result<(), MachineError> {
        if goes_on {
            let worker = self.scheduler().planned().expect("it goes on");
            let mut before = std::mem::take(&mut self.layout_before);
            let is_read = self.read_layout(worker, &mut before);
            self.go()?;
            if is_read {
                self.touch_changed_frames(worker, &before);
            }
            self.layout_before = before;
        }
        if self.scheduler_mut().take_crashed() {
            self.restart()?;
        }
        self.check_end();
        self.end_iteration();
        Ok(())
    }

    /// Checks whether the iteration has ended.
    pub fn check_end(&mut self) {
        self.with_context(|scheduler, context| scheduler.check_end(Some(context)));
    }

    /// Calls `function` with the scheduler while all workers are suspended.
    fn with_context<R>(&mut self, function: impl FnOnce(&mut Scheduler, &mut Context) -> R) -> R {
        let (bytes, host) = match self.exports.memory {
            Some(memory) => memory.data_and_store_mut(&mut self.store),
            None => (&mut [][..], self.store.data_mut()),
        };
        let (scheduler, mut context) = host.context(bytes, None);
        function(scheduler, &mut context)
    }

    /// Changes the observers.
    pub fn set_observers<R>(&mut self, change: impl FnOnce(&mut Observers) -> R) -> R {
        self.store.data_mut().set_observers(change)
    }

    /// Sets whether the stack of each await is taken, from the next beginning on.
    pub fn take_awaits(&mut self, take: bool) {
        self.store.data_mut().takes_awaits = take;
    }

    /// Sets whether the stack of each call on a file is taken, from the next beginning on.
    pub fn take_call_stacks(&mut self, take: bool) {
        self.store.data_mut().takes_call_stacks = take;
    }

    /// The stack of a worker, innermost first: from its saved frames, from where the guest stopped, or from
    /// where its task awaits.
    pub fn stack(&self, worker: coyote_strategies::WorkerId) -> Vec<Location> {
        let host = self.store.data();
        if let Some((stopped, stack)) = &host.stopped_at
            && *stopped == worker
            && !stack.is_empty()
        {
            return stack.clone();
        }
        if let Some(awaited) = host.scheduler.runtime.awaited(worker).last()
            && !awaited.stack.is_empty()
        {
            return awaited.stack.to_vec();
        }
        host.saved_workers.get(worker.index()).map_or(Vec::new(), |i| stack::frames(&host.table, &i.bytes))
    }

    /// The functions on a worker's stack as in [`Self::stack`], each with the beginning of its frame in memory, if that is
    /// known.
    pub fn shadow_frames(&self, worker: coyote_strategies::WorkerId) -> Vec<(Location, Option<u32>)> {
        let host = self.store.data();
        let stack = self.stack(worker);
        let bounds = self.stack_bounds(worker);
        if let (Some(saved), Some(bounds)) = (host.saved_workers.get(worker.index()), bounds) {
            let frames = stack::shadow_frames(&host.table, saved, bounds);
            if frames.iter().map(|(location, _)| location).eq(&stack) {
                let begin = |range: Option<std::ops::Range<u32>>| range.map(|range| range.start);
                return frames.into_iter().map(|(location, range)| (location, begin(range))).collect();
            }
        }
        stack.into_iter().map(|location| (location, None)).collect()
    }

    /// The bounds of a worker's stack, as far as they are known.
    fn stack_bounds(&self, worker: coyote_strategies::WorkerId) -> Option<(u32, u32)> {
        let host = self.store.data();
        let runtime = &host.scheduler.runtime;
        runtime.stack_of(worker).or(host.main_stack.filter(|_| worker == runtime.first()))
    }

    /// Whether an address on a suspended worker's stack belongs to a frame that has not ended; `None` if it lies on no
    /// stack that is known.
    pub fn is_in_frame(&self, address: u32) -> Option<bool> {
        let host = self.store.data();
        host.saved_workers.iter().zip(0..).find_map(|(saved, index)| {
            let (low, high) = self.stack_bounds(coyote_strategies::WorkerId(index))?;
            let pointer = saved.stack_pointer(&host.table).filter(|_| saved.started)?;
            (low..high).contains(&address).then_some(pointer <= address)
        })
    }

    /// Tells observers if the iteration has ended. If it passed, a detector may report a bug.
    pub fn end_iteration(&mut self) {
        let interest = self.store.data().observers.interest();
        let Some(outcome) = self.scheduler().outcome.clone().filter(|_| interest.contains(Interest::ENDS))
        else {
            return;
        };
        let passed = outcome == Outcome::Passed;
        let finding = match passed && interest.contains(Interest::ROOTS) {
            true => self.end_with_roots(&outcome),
            false => observe(&mut self.store, |observers, state| {
                observers.end(&Ending { state, outcome: &outcome, roots: None })
            }),
        };
        if let (Some(finding), true) = (finding, passed) {
            let scheduler = self.scheduler_mut();
            scheduler.outcome = None;
            scheduler.stop_at(finding);
        }
    }

    fn end_with_roots(&mut self, outcome: &Outcome) -> Option<Finding> {
        let globals = self.save_globals();
        let host = self.store.data();
        let runtime = &host.scheduler.runtime;
        let dead = stack::dead_at_end(runtime, &host.table, &host.saved_workers, host.main_stack_alone);
        let alive = |(i, _): &(usize, &SavedWorker)| {
            runtime.workers().len() > *i && runtime.pending(WorkerId(*i as u32)).state != WorkerState::Ended
        };
        let frames =
            host.saved_workers.iter().enumerate().filter(alive).map(|(_, saved)| saved.bytes.clone());
        let frames: Vec<Vec<u8>> = frames.collect();
        let words: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).chain([&globals[..]]).collect();
        let ids = (0..runtime.workers().len() as u32).map(WorkerId);
        let stacks: Vec<u32> = ids.filter_map(|id| Some(runtime.stack_of(id)?.0)).collect();
        let roots = || Roots { words: &words, dead: &dead, stacks: &stacks };
        observe(&mut self.store, |observers, state| {
            observers.end(&Ending { state, outcome, roots: Some(roots()) })
        })
    }

    /// Guest memory, followed by the pages that the guest does not see.
    pub fn memory(&self) -> &[u8] {
        self.exports.memory.map_or(&[], |m| m.data(&self.store))
    }

    /// Size of memory as the guest sees it.
    pub fn memory_bytes(&self) -> usize {
        self.scheduler().bounds.memory_bytes as usize
    }

    fn read_tables_changed(&mut self) -> bool {
        let global = self.exports.instance.get_global(&mut self.store, rt::TABLES_CHANGED);
        global.is_none_or(|g| g.get(&mut self.store).i32() != Some(0))
    }
}

/// A range of addresses as indices.
fn indices(range: Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
