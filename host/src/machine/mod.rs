//! A guest under control: one store, one instance, workers suspended as bytes.
//!
//! In the order of the data: the guest's calls arrive at [`imports`], [`operations`], [`wasi`] and
//! `assemblyscript`, which work on the [`host`]; its [`conductor`] chooses who goes on; [`guest_memory`] is
//! the door to memory, [`tracker`] knows what changed there, [`owners`] whose it is and [`memory_errors`] what
//! nobody may touch; [`stack`] reads suspended stacks, [`panic`] what Rust said before it aborted.

mod assemblyscript;
pub mod conductor;
pub mod guest_memory;
pub mod host;
mod imports;
pub mod memory_errors;
mod operations;
pub mod owners;
mod panic;
mod segments;
pub mod stack;
mod thread_names;
pub mod tracker;
pub mod wasi;

use crate::artifact::Artifact;
use crate::granules::{Granules, Sharing};
use crate::outcome::{Bound, Bug, BugKind, Outcome};
use crate::runtime::Runtime;
use crate::runtime::heap::Heap;
use conductor::{Conductor, Read, Unfinished};
use coyote_abi::rt;
use coyote_instrumenter::Location;
use coyote_strategies::{Pick, Standing, WorkerId};
use host::{Host, Image, Stopped, Watched, World, original_stack};
use owners::{Owners, OwnersSnapshot};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;
use tracker::{Chunks, Tracker};
use wasi::directories::Directories;
use wasmtime::{Global, Instance, Linker, Memory, Store, Trap, TypedFunc, Val, WasmBacktrace};
use xxhash_rust::xxh3::{Xxh3, xxh3_128_with_seed};

/// The state of a guest at a moment when all of its workers are suspended.
#[derive(Clone)]
pub struct Snapshot {
    chunks: Chunks,
    memory_bytes: usize,
    owners: OwnersSnapshot,
    globals: Arc<[u8]>,
    images: Vec<Image>,
    runtime: Runtime,
    unfinished: Option<Unfinished>,
}

/// What a fingerprint is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Memory,
    /// Whose memory is: see [`owners`].
    Owners,
    /// Sync objects, the clock, who waits for what.
    Runtime,
    /// Globals that workers share.
    Globals,
    /// A step that still needs a value.
    Unfinished,
    /// A worker's saved frames and its own globals.
    Frames(WorkerId),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Part::Memory => f.write_str("memory"),
            Part::Owners => f.write_str("the owners of memory"),
            Part::Runtime => f.write_str("the runtime's state"),
            Part::Globals => f.write_str("globals"),
            Part::Unfinished => f.write_str("the values of a step"),
            Part::Frames(worker) => write!(f, "the suspended worker number {}", worker.index()),
        }
    }
}

/// The exports that the host drives, and where the shared globals are exchanged.
struct Ports {
    instance: Instance,
    run: TypedFunc<(), ()>,
    memory: Option<Memory>,
    dirty: Option<Memory>,
    /// The owner table, if points are left out where memory is not shared.
    owners: Option<Memory>,
    /// Pages of memory as the guest sees it, if that is not all there is.
    pages: Option<Global>,
    /// Size of memory in truth, when it was new.
    real_bytes: usize,
    globals: Option<GlobalsPort>,
}

struct GlobalsPort {
    memory: Memory,
    save: TypedFunc<(), ()>,
    load: TypedFunc<(), ()>,
    bytes: usize,
}

/// See the module's documentation.
pub struct Machine {
    artifact: Arc<Artifact>,
    store: Store<Host>,
    ports: Ports,
    /// The state in which every iteration starts.
    start: Snapshot,
    /// Whether table state has to be assumed changed: the next start takes a fresh instance.
    tables_changed: bool,
    /// Whether a test that passes is searched for leaks.
    pub leaks: bool,
}

/// An error of the environment or of ours while setting up a guest.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    #[error("the module cannot be instantiated: {0}")]
    Instantiate(String),
    #[error("the module's initialisation failed: {0}")]
    Initialise(String),
    #[error("the module's memory begins with {has} MiB, a guest may have {max} MiB: raise --max-memory")]
    Memory { has: usize, max: usize },
    #[error("the guest asks for {0}, which cannot be had here; this is no verdict on the guest")]
    Unsupported(String),
    #[error("this is a bug in coyote-wasm: {0}")]
    Internal(String),
}

impl Machine {
    /// A fresh instance, before any of its code but the start function has run. Its state is the
    /// start snapshot until [`Machine::set_start`] says otherwise.
    pub fn new(
        artifact: Arc<Artifact>,
        conductor: Conductor,
        world: Arc<World>,
        memory_bytes_max: usize,
    ) -> Result<Machine, MachineError> {
        let files = world.files.clone();
        let engine = artifact.engine();
        let mut host = Host::new(engine, conductor, artifact.table.clone(), world, memory_bytes_max);
        host.conductor.runtime.files = files;
        host.main_stack = stack::main_stack(&artifact);
        host.conductor.null_bytes = stack::null_page(&artifact);
        host.conductor.runtime.heap = Heap::new(artifact.options.memory_errors);
        let (store, ports) = instantiate(&artifact, host)?;
        let has = store.data().conductor.memory_bytes as usize;
        if has > memory_bytes_max {
            return Err(MachineError::Memory { has: has >> 20, max: memory_bytes_max >> 20 });
        }
        let start = Snapshot {
            chunks: Chunks::default(),
            memory_bytes: 0,
            owners: OwnersSnapshot::default(),
            globals: Arc::from([]),
            images: Vec::new(),
            runtime: Runtime::default(),
            unfinished: None,
        };
        let mut machine = Machine { artifact, store, ports, start, tables_changed: false, leaks: false };
        machine.set_start(Runtime::default());
        machine.keep_main_globals();
        Ok(machine)
    }

    /// Takes the worker globals as they are now for those of the first worker. What ran before must
    /// have been that worker's code alone.
    pub fn keep_main_globals(&mut self) {
        let count = self.artifact.table.worker_globals.len();
        let values = (0..count).map(|n| {
            let name = format!("{}{n}", rt::WORKER_GLOBAL_PREFIX);
            let global = self.ports.instance.get_global(&mut self.store, &name);
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

    pub fn conductor(&self) -> &Conductor {
        &self.store.data().conductor
    }

    pub fn conductor_mut(&mut self) -> &mut Conductor {
        &mut self.store.data_mut().conductor
    }

    /// Whether the guest was refused memory in this iteration.
    pub fn memory_refused(&self) -> bool {
        self.store.data().memory_refused
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

    /// Functions that the guest called in this iteration though nobody can serve them.
    pub fn refused_calls(&self) -> impl Iterator<Item = &'static str> {
        self.store.data().refused_calls.iter().copied()
    }

    /// Whether snapshots and fingerprints hold all of the guest's state: not if it can change tables or
    /// works in directories of the host.
    pub fn can_snapshot(&self) -> bool {
        !self.artifact.table.changes_tables && !self.store.data().directories.any()
    }

    /// Makes the present memory and globals, with this runtime, the state in which iterations start.
    pub fn set_start(&mut self, mut runtime: Runtime) {
        runtime.heap = self.conductor().runtime.heap.at_start();
        let base: Arc<[u8]> = Arc::from(&self.memory()[..self.memory_bytes()]);
        self.ports.real_bytes = self.memory().len();
        self.collect_marks();
        let memory_bytes = base.len();
        self.store.data_mut().tracker = Tracker::new(base);
        let globals = self.save_globals();
        self.with_owners(|owners, table| owners.set_start(table));
        let (chunks, owners, images) = (Chunks::default(), OwnersSnapshot::default(), Vec::new());
        self.start = Snapshot { chunks, memory_bytes, owners, globals, images, runtime, unfinished: None };
    }

    /// Makes the present state, with workers suspended in mid-run, the one in which iterations start.
    pub fn set_start_here(&mut self) {
        let runtime = self.conductor().runtime.clone();
        let workers = runtime.workers().len();
        let images = self.store.data().images.iter().take(workers).cloned().collect();
        self.set_start(runtime);
        self.start.images = images;
    }

    /// Which accesses are scheduling points from the next iteration on. Without an owner table: all.
    pub fn share(&mut self, sharing: Sharing) {
        self.store.data_mut().owners.share(sharing);
    }

    /// Which accesses are scheduling points, but for what has become shared in the present iteration.
    pub fn sharing(&self) -> &Sharing {
        self.store.data().owners.sharing()
    }

    /// Granules that became shared since the iteration began, or since this was last asked.
    pub fn take_grown(&mut self) -> Granules {
        self.store.data_mut().owners.take_grown()
    }

    /// The owner table's bookkeeping, for planted faults.
    #[doc(hidden)]
    pub fn owners_mut(&mut self) -> &mut Owners {
        &mut self.store.data_mut().owners
    }

    /// Notes where these events of the heap happen, from now on.
    pub fn watch(&mut self, events: &[u32]) {
        let watched = events.iter().map(|event| Watched { event: *event, seen: None });
        self.store.data_mut().watched = watched.collect();
    }

    /// What was found out about the watched events.
    pub fn watched(&self) -> &[Watched] {
        &self.store.data().watched
    }

    fn with_owners<R: Default>(&mut self, function: impl FnOnce(&mut Owners, &mut [u8]) -> R) -> R {
        let Some(table) = self.ports.owners else { return R::default() };
        let (table, host) = table.data_and_store_mut(&mut self.store);
        function(&mut host.owners, table)
    }

    /// Goes back to the start snapshot.
    pub fn begin(&mut self) -> Result<(), MachineError> {
        self.store.data_mut().stopped_at = None;
        if self.tables_changed || self.memory().len() > self.ports.real_bytes {
            self.rebuild()?;
        } else {
            self.resize(self.start.memory_bytes)?;
            self.restore_memory(&self.start.chunks.clone());
            self.load_globals(&self.start.globals.clone())?;
        }
        self.with_owners(|owners, table| owners.begin(table));
        let host = self.store.data_mut();
        host.memory_refused = false;
        host.refused_calls.clear();
        host.directories.begin();
        host.start_images(&self.start.images);
        host.conductor.begin(&self.start.runtime);
        Ok(())
    }

    /// Lets the guest run until it leaves: because the iteration ended or, without a strategy, because
    /// a choice is due. What happened stands in the conductor.
    pub fn run(&mut self) -> Result<(), MachineError> {
        self.go()?;
        self.find_leaks();
        Ok(())
    }

    fn go(&mut self) -> Result<(), MachineError> {
        let result = self.ports.run.clone().call(&mut self.store, ());
        if self.artifact.table.changes_tables {
            self.tables_changed = self.read_tables_changed();
        }
        let Err(error) = result else { return Ok(()) };
        if let Some(what) = self.store.data_mut().unsupported.take() {
            return Err(MachineError::Unsupported(what));
        }
        if let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() {
            let stack = original_stack(backtrace, &self.artifact.table);
            let host = self.store.data_mut();
            if let Some(worker) = host.conductor.running {
                host.stopped_at.get_or_insert((worker, stack));
            }
        }
        if error.is::<Stopped>() || self.conductor().outcome.is_some() {
            return Ok(());
        }
        let Some(trap) = error.downcast_ref::<Trap>() else {
            return Err(MachineError::Internal(format!("{error:?}")));
        };
        let outcome = self.trapped(*trap);
        self.conductor_mut().outcome = Some(outcome);
        Ok(())
    }

    /// Executes a pick from outside, up to the next scheduling point.
    pub fn step(&mut self, pick: Pick) -> Result<(), MachineError> {
        let goes_on = self.with_reader(|conductor, read| conductor.step(pick, read));
        self.go_on(goes_on)
    }

    /// Gives the value that a step from outside needs, and completes it.
    pub fn choose(&mut self, value: u64) -> Result<(), MachineError> {
        let goes_on = self.with_reader(|conductor, read| conductor.choose(value, read));
        self.go_on(goes_on)
    }

    fn go_on(&mut self, goes_on: bool) -> Result<(), MachineError> {
        if goes_on {
            self.go()?;
        }
        self.conductor_mut().settle();
        self.find_leaks();
        Ok(())
    }

    fn with_reader(&mut self, function: impl FnOnce(&mut Conductor, Read) -> bool) -> bool {
        match self.ports.memory {
            Some(memory) => {
                let (bytes, host) = memory.data_and_store_mut(&mut self.store);
                function(&mut host.conductor, &mut host::reader(bytes))
            }
            None => function(&mut self.store.data_mut().conductor, &mut |_, _| None),
        }
    }

    /// What a trap means.
    fn trapped(&mut self, trap: Trap) -> Outcome {
        let worker = self.conductor().running;
        if trap == Trap::UnreachableCodeReached
            && let Some(message) = panic::last_words(&self.conductor().runtime.output, worker)
        {
            return Outcome::Bug(Bug { kind: BugKind::Panic, message, worker });
        }
        let message = match trap {
            Trap::StackOverflow => return Outcome::Bound(Bound::NativeStack),
            Trap::MemoryOutOfBounds if self.below_stack() => {
                let message = "the worker's stack is too small".into();
                return Outcome::Bug(Bug { kind: BugKind::StackOverflow, message, worker });
            }
            Trap::UnreachableCodeReached => "the guest aborted (unreachable code was reached)".into(),
            Trap::MemoryOutOfBounds => "access outside of memory".into(),
            Trap::TableOutOfBounds => "access outside of a table".into(),
            Trap::HeapMisaligned => "misaligned atomic access".into(),
            Trap::IndirectCallToNull => "call through a null function pointer".into(),
            Trap::BadSignature => "call through a function pointer of another type".into(),
            Trap::IntegerDivisionByZero => "integer division by zero".into(),
            Trap::IntegerOverflow => "integer overflow".into(),
            Trap::BadConversionToInteger => "conversion of a float that no integer can hold".into(),
            other => format!("{other}"),
        };
        Outcome::Bug(Bug { kind: BugKind::Trap, message, worker })
    }

    /// Whether the running worker's stack pointer has wrapped around below zero: a linker that puts
    /// the stack first makes an overflow look like an access outside of memory.
    fn below_stack(&mut self) -> bool {
        let slot = self.artifact.table.worker_globals.iter().position(|g| g.stack_pointer);
        let name = format!("{}{}", rt::WORKER_GLOBAL_PREFIX, slot.unwrap_or(usize::MAX));
        let Some(global) = self.ports.instance.get_global(&mut self.store, &name) else { return false };
        let high = self.store.data().main_stack.map(|s| s.1);
        global
            .get(&mut self.store)
            .i32()
            .is_some_and(|sp| high.is_some_and(|high| sp as u32 > high && sp < 0))
    }

    /// Where a worker is, innermost first: from its saved frames, or from where the guest stopped.
    pub fn stack(&self, worker: coyote_strategies::WorkerId) -> Vec<Location> {
        let host = self.store.data();
        if let Some((stopped, stack)) = &host.stopped_at
            && *stopped == worker
            && !stack.is_empty()
        {
            return stack.clone();
        }
        host.images.get(worker.index()).map_or(Vec::new(), |i| stack::frames(&host.table, &i.bytes))
    }

    /// A test that passed and lost a block has a bug, if the user wants it so.
    fn find_leaks(&mut self) {
        if !self.leaks || self.conductor().outcome != Some(Outcome::Passed) {
            return;
        }
        let globals = self.save_globals();
        let host = self.store.data();
        let dead = stack::dead_at_end(host, stack::main_stack_alone(&self.artifact));
        let runtime = &host.conductor.runtime;
        let alive = |(i, _): &(usize, &Image)| {
            runtime.workers().len() > *i && runtime.pending(WorkerId(*i as u32)).standing != Standing::Ended
        };
        let frames = host.images.iter().enumerate().filter(alive).map(|(_, image)| &image.bytes[..]);
        let roots: Vec<&[u8]> = frames.chain([&globals[..]]).collect();
        let stacks: Vec<u32> = runtime.workers().iter().filter_map(|w| Some(w.start.stack?.0)).collect();
        let leaks = runtime.heap.leaks(&self.memory()[..self.memory_bytes()], &dead, &roots, &stacks);
        if let Some(violation) = memory_errors::leak(&leaks) {
            let conductor = self.conductor_mut();
            conductor.outcome = None;
            conductor.stop_at(violation);
        }
    }

    /// Saves the state. Every worker must be suspended.
    pub fn snapshot(&mut self) -> Snapshot {
        assert!(self.can_snapshot(), "asked for a snapshot that cannot be complete");
        self.collect_marks();
        let globals = self.save_globals();
        let memory_bytes = self.memory_bytes();
        let memory = self.ports.memory;
        let chunks = match memory {
            Some(memory) => {
                let (bytes, host) = memory.data_and_store_mut(&mut self.store);
                host.tracker.snapshot(bytes)
            }
            None => Chunks::default(),
        };
        let owners = self.with_owners(|owners, table| owners.snapshot(table));
        let host = self.store.data();
        let workers = host.conductor.runtime.workers().len().min(host.images.len());
        let images = host.images[..workers].to_vec();
        let runtime = host.conductor.runtime.clone();
        let unfinished = host.conductor.unfinished();
        Snapshot { chunks, memory_bytes, owners, globals, images, runtime, unfinished }
    }

    /// Returns to a saved state.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), MachineError> {
        self.store.data_mut().stopped_at = None;
        self.resize(snapshot.memory_bytes)?;
        self.restore_memory(&snapshot.chunks);
        self.with_owners(|owners, table| owners.restore(table, &snapshot.owners));
        self.load_globals(&snapshot.globals)?;
        let host = self.store.data_mut();
        host.images.clear();
        host.images.extend_from_slice(&snapshot.images);
        host.conductor.begin(&snapshot.runtime);
        match &snapshot.unfinished {
            Some(unfinished) => host.conductor.resume_unfinished(unfinished),
            None => host.conductor.settle(),
        }
        Ok(())
    }

    /// A hash of everything that decides how the guest goes on. Every worker must be suspended.
    pub fn fingerprint(&mut self) -> u128 {
        self.fingerprint_with(stack::RED_ZONE)
    }

    /// With another red zone than compilers use: a fault that tests must notice.
    #[doc(hidden)]
    pub fn fingerprint_with(&mut self, red_zone: u32) -> u128 {
        let mut print = 0u128;
        self.each_part(red_zone, |_, part| print = print.wrapping_add(part));
        print
    }

    /// What the fingerprint is the sum of, each with a name. Every worker must be suspended.
    pub fn fingerprint_parts(&mut self) -> Vec<(Part, u128)> {
        let mut parts = Vec::new();
        self.each_part(stack::RED_ZONE, |part, print| parts.push((part, print)));
        parts
    }

    fn each_part(&mut self, red_zone: u32, mut each: impl FnMut(Part, u128)) {
        self.collect_marks();
        let globals = self.save_globals();
        let dead = stack::dead_ranges(self.store.data(), red_zone);
        if let Some(memory) = self.ports.memory {
            let (bytes, host) = memory.data_and_store_mut(&mut self.store);
            let size = host.conductor.memory_bytes as usize;
            each(Part::Memory, host.tracker.hash(&bytes[..size], dead));
        }
        each(Part::Owners, self.with_owners(|owners, table| owners.digest(table)));
        let host = self.store.data();
        // A step that must not be taken changes nothing but the outcome.
        let bug = match &host.conductor.outcome {
            Some(Outcome::Bug(bug)) => xxh3_128_with_seed(bug.kind.name().as_bytes(), 3),
            _ => 0,
        };
        each(Part::Runtime, host.conductor.runtime.digest().wrapping_add(bug));
        each(Part::Globals, xxh3_128_with_seed(&globals, 1));
        if let Some(unfinished) = host.conductor.unfinished() {
            let mut hasher = Xxh3::with_seed(2);
            unfinished.hash(&mut hasher);
            each(Part::Unfinished, hasher.digest128());
        }
        let workers = host.conductor.runtime.view().workers.iter().zip(host.conductor.runtime.workers());
        for (number, ((pending, worker), image)) in workers.zip(&host.images).enumerate() {
            // A worker that has not begun is all in the runtime, and one that has ended is no more.
            if image.started && pending.standing != Standing::Ended {
                let bytes = stack::canonical(&host.table, &image.bytes);
                each(Part::Frames(WorkerId(number as u32)), xxh3_128_with_seed(&bytes, worker.key));
            }
        }
    }

    /// Guest memory, and behind it what the guest does not see.
    pub fn memory(&self) -> &[u8] {
        self.ports.memory.map_or(&[], |m| m.data(&self.store))
    }

    /// Size of memory as the guest sees it.
    pub fn memory_bytes(&self) -> usize {
        self.conductor().memory_bytes as usize
    }

    /// Gives memory another size. What lies beyond a smaller one is restored to zeros by the tracker.
    fn resize(&mut self, bytes: usize) -> Result<(), MachineError> {
        let internal = |e: wasmtime::Error| MachineError::Internal(e.to_string());
        let (Some(memory), true) = (self.ports.memory, bytes != self.memory_bytes()) else { return Ok(()) };
        let missing = bytes.saturating_sub(memory.data_size(&self.store)) as u64 / 65536;
        memory.grow(&mut self.store, missing).map_err(internal)?;
        if let Some(pages) = self.ports.pages {
            pages.set(&mut self.store, Val::I32((bytes >> 16) as i32)).map_err(internal)?;
        }
        self.conductor_mut().memory_bytes = bytes as u64;
        Ok(())
    }

    /// Hands the guest's marks over to the tracker.
    fn collect_marks(&mut self) {
        let chunks = self.memory().len().div_ceil(rt::CHUNK).next_multiple_of(8);
        if let Some(dirty) = self.ports.dirty {
            let (marks, host) = dirty.data_and_store_mut(&mut self.store);
            let chunks = chunks.min(marks.len());
            host.tracker.collect(&mut marks[..chunks]);
        }
    }

    fn restore_memory(&mut self, target: &Chunks) {
        self.collect_marks();
        if let Some(memory) = self.ports.memory {
            let (bytes, host) = memory.data_and_store_mut(&mut self.store);
            host.tracker.restore(bytes, target);
        }
    }

    fn save_globals(&mut self) -> Arc<[u8]> {
        let Some(port) = &self.ports.globals else { return Arc::from([]) };
        port.save.clone().call(&mut self.store, ()).expect("saving globals cannot trap");
        Arc::from(&port.memory.data(&self.store)[..port.bytes])
    }

    fn load_globals(&mut self, globals: &[u8]) -> Result<(), MachineError> {
        let Some(port) = &self.ports.globals else { return Ok(()) };
        port.memory.data_mut(&mut self.store)[..globals.len()].copy_from_slice(globals);
        port.load.clone().call(&mut self.store, ()).map_err(|e| MachineError::Internal(e.to_string()))
    }

    fn read_tables_changed(&mut self) -> bool {
        let global = self.ports.instance.get_global(&mut self.store, rt::TABLES_CHANGED);
        global.is_none_or(|g| g.get(&mut self.store).i32() != Some(0))
    }

    /// Replaces the instance by a fresh one in the start state. Takes some 50 us: needed only where a
    /// restore cannot undo what the guest did.
    fn rebuild(&mut self) -> Result<(), MachineError> {
        let placeholder = Host::new(
            self.artifact.engine(),
            Conductor::new(self.conductor().limits),
            self.artifact.table.clone(),
            self.store.data().world.clone(),
            0,
        );
        let old = std::mem::replace(&mut self.store, Store::new(self.artifact.engine(), placeholder));
        let mut host = old.into_data();
        host.conductor.running = None;
        let (store, ports) = instantiate(&self.artifact, host)?;
        self.store = store;
        self.ports = ports;
        self.tables_changed = false;
        let base = self.store.data().tracker.base().clone();
        self.resize(base.len())?;
        if let Some(memory) = self.ports.memory {
            // Pages that are equal, most of them zero, need not be touched.
            let now = memory.data_mut(&mut self.store);
            for (now, base) in now.chunks_mut(4096).zip(base.chunks(4096)) {
                if now[..base.len()] != *base {
                    now[..base.len()].copy_from_slice(base);
                }
            }
        }
        self.ports.real_bytes = self.memory().len();
        self.collect_marks();
        self.store.data_mut().tracker.rebased();
        self.with_owners(|owners, table| owners.rebuilt(table));
        self.load_globals(&self.start.globals.clone())
    }
}

fn instantiate(artifact: &Artifact, mut host: Host) -> Result<(Store<Host>, Ports), MachineError> {
    host.memory = None;
    host.frames = None;
    host.owner_table = None;
    host.stack_low = None;
    host.me = None;
    host.conductor.running = None;
    let failed = |e: wasmtime::Error| MachineError::Instantiate(format!("{e:#}"));
    let mut store = Store::new(artifact.engine(), host);
    store.limiter(|host| host);
    let mut linker = Linker::new(artifact.engine());
    imports::define(&mut linker).map_err(failed)?;
    wasi::define(&mut linker, artifact.module()).map_err(failed)?;
    artifact.define_stubs(&mut linker).map_err(failed)?;
    assemblyscript::define(&mut linker, artifact.module(), &artifact.options.stubs).map_err(failed)?;
    let instance =
        linker.instantiate(&mut store, artifact.module()).map_err(|e| match e.downcast_ref::<Trap>() {
            Some(trap) => MachineError::Initialise(format!("the start function stops with: {trap}")),
            None => failed(e),
        })?;
    let memory = instance.get_memory(&mut store, rt::MEMORY);
    let dirty = instance.get_memory(&mut store, rt::DIRTY);
    let frames = instance.get_memory(&mut store, rt::FRAMES);
    let owners = instance.get_memory(&mut store, rt::OWNERS);
    let run = instance.get_typed_func(&mut store, rt::RUN).map_err(failed)?;
    let globals = match instance.get_memory(&mut store, rt::GLOBALS) {
        Some(memory) => Some(GlobalsPort {
            memory,
            save: instance.get_typed_func(&mut store, rt::SAVE_GLOBALS).map_err(failed)?,
            load: instance.get_typed_func(&mut store, rt::LOAD_GLOBALS).map_err(failed)?,
            bytes: artifact.table.shared_globals as usize * rt::GLOBAL_BYTES,
        }),
        None => None,
    };
    if let Some(changed) = instance.get_global(&mut store, rt::TABLES_CHANGED) {
        // What the start function does belongs to a fresh instance.
        changed.set(&mut store, Val::I32(0)).map_err(failed)?;
    }
    let pages = instance.get_global(&mut store, rt::PAGES);
    let me = artifact.table.worker_globals.iter().position(|g| g.name == rt::ME);
    let me = me.map(|n| format!("{}{n}", rt::WORKER_GLOBAL_PREFIX));
    let me = me.and_then(|name| instance.get_global(&mut store, &name));
    let stack_low = instance.get_global(&mut store, rt::STACK_LOW);
    let real_bytes = memory.map_or(0, |m| m.data_size(&store));
    let seen = pages.and_then(|p| p.get(&mut store).i32()).map(|p| u64::from(p as u32) << 16);
    let host = store.data_mut();
    host.memory = memory;
    host.frames = frames;
    host.owner_table = owners;
    host.stack_low = stack_low;
    host.me = me;
    host.conductor.memory_bytes = seen.unwrap_or(real_bytes as u64);
    Ok((store, Ports { instance, run, memory, dirty, owners, pages, real_bytes, globals }))
}

/// A range of addresses as indices.
fn indices(range: Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
