//! Saves and restores the state of a guest: memory by the chunks that changed, globals, suspended workers,
//! and the runtime.

use super::dirty_memory::{Chunks, DirtyMemory};
use super::host::Host;
use super::instance::instantiate;
use super::owners::OwnersSnapshot;
use super::scheduler::{Scheduler, Unfinished};
use super::stack::SavedWorker;
use super::{Machine, MachineError};
use crate::observe::Saved;
use crate::runtime::Runtime;
use coyote_abi::rt;
use std::sync::Arc;
use wasmtime::{Store, Val};

/// The state of a guest at a moment when all of its workers are suspended. Copies share it.
#[derive(Clone, Default)]
pub struct Snapshot(Arc<State>);

/// The contents of a snapshot.
#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) chunks: Chunks,
    pub(super) memory_bytes: usize,
    pub(super) owners: OwnersSnapshot,
    pub(super) globals: Arc<[u8]>,
    pub(super) saved_workers: Vec<SavedWorker>,
    pub(super) runtime: Runtime,
    pub(super) unfinished: Option<Unfinished>,
    /// The state of the detectors.
    pub(super) detectors: Saved,
}

impl Snapshot {
    /// Number of steps executed before the snapshot.
    pub fn steps(&self) -> u64 {
        self.0.runtime.steps()
    }
}

impl Machine {
    /// Whether snapshots hold all of the guest's state: not if it can change tables or
    /// works in directories of the host.
    pub fn can_snapshot(&self) -> bool {
        !self.artifact.table.changes_tables && !self.store.data().directories.any()
    }

    /// Makes the present memory and globals, with this runtime, the state in which iterations start.
    pub fn set_start(&mut self, mut runtime: Runtime) {
        runtime.heap = self.scheduler().runtime.heap.at_start();
        self.store.data_mut().lease.begin_elsewhere();
        let base: Arc<[u8]> = Arc::from(&self.memory()[..self.memory_bytes()]);
        self.exports.real_bytes = self.memory().len();
        self.collect_marks();
        self.counted_before();
        let memory_bytes = base.len();
        self.store.data_mut().dirty_memory = DirtyMemory::new(base);
        let globals = self.save_globals();
        self.with_owners(|owners, table| owners.set_start(table));
        self.start = State { memory_bytes, globals, runtime, ..State::default() };
    }

    /// Makes the present state, with workers suspended in mid-run, the one in which iterations start.
    pub fn set_start_here(&mut self) {
        let runtime = self.scheduler().runtime.clone();
        let workers = runtime.workers().len();
        let saved_workers = self.store.data().saved_workers.iter().take(workers).cloned().collect();
        self.set_start(runtime);
        self.start.saved_workers = saved_workers;
    }

    /// Saves the state. Every worker must be suspended.
    pub fn snapshot(&mut self) -> Snapshot {
        assert!(self.can_snapshot(), "asked for a snapshot that cannot be complete");
        self.collect_marks();
        let globals = self.save_globals();
        let memory_bytes = self.memory_bytes();
        let memory = self.exports.memory;
        let chunks = match memory {
            Some(memory) => {
                let (bytes, host) = memory.data_and_store_mut(&mut self.store);
                host.dirty_memory.snapshot(bytes)
            }
            None => Chunks::default(),
        };
        let owners = self.with_owners(|owners, table| owners.snapshot(table));
        let host = self.store.data();
        let workers = host.scheduler.runtime.workers().len().min(host.saved_workers.len());
        let saved_workers = host.saved_workers[..workers].to_vec();
        // A runtime is large, so it is copied directly to its final place.
        Snapshot(Arc::new(State {
            chunks,
            memory_bytes,
            owners,
            globals,
            saved_workers,
            runtime: host.scheduler.runtime.clone(),
            unfinished: host.scheduler.unfinished(),
            detectors: host.observers.save(),
        }))
    }

    /// Returns to a saved state.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), MachineError> {
        let Snapshot(snapshot) = snapshot;
        self.store.data_mut().forget_stops();
        if self.renew_code()? {
            self.rebuild()?;
        }
        self.resize(snapshot.memory_bytes)?;
        self.restore_memory(&snapshot.chunks);
        self.with_owners(|owners, table| owners.restore(table, &snapshot.owners));
        self.load_globals(&snapshot.globals)?;
        let host = self.store.data_mut();
        host.lease.begin_elsewhere();
        host.saved_workers.clear();
        host.saved_workers.extend_from_slice(&snapshot.saved_workers);
        host.scheduler.begin(&snapshot.runtime);
        host.observers.restore(&snapshot.detectors);
        match &snapshot.unfinished {
            Some(unfinished) => host.scheduler.resume_unfinished(unfinished),
            None => self.check_end(),
        }
        Ok(())
    }

    /// Changes the size of memory. `DirtyMemory` restores the bytes beyond a smaller size to zeros.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), MachineError> {
        let internal = |e: wasmtime::Error| MachineError::Internal(e.to_string());
        let (Some(memory), true) = (self.exports.memory, bytes != self.memory_bytes()) else { return Ok(()) };
        let missing = bytes.saturating_sub(memory.data_size(&self.store)) as u64 / 65536;
        memory.grow(&mut self.store, missing).map_err(internal)?;
        if let Some(pages) = self.exports.pages {
            pages.set(&mut self.store, Val::I32((bytes >> 16) as i32)).map_err(internal)?;
        }
        self.scheduler_mut().bounds.memory_bytes = bytes as u64;
        Ok(())
    }

    /// Passes the guest's marks to `DirtyMemory`.
    pub(super) fn collect_marks(&mut self) {
        let chunks = self.memory().len().div_ceil(rt::CHUNK).next_multiple_of(8);
        if let Some(dirty) = self.exports.dirty {
            let (marks, host) = dirty.data_and_store_mut(&mut self.store);
            let chunks = chunks.min(marks.len());
            host.dirty_memory.collect(&mut marks[..chunks]);
        }
    }

    pub(super) fn restore_memory(&mut self, target: &Chunks) {
        self.collect_marks();
        if let Some(memory) = self.exports.memory {
            let (bytes, host) = memory.data_and_store_mut(&mut self.store);
            host.dirty_memory.restore(bytes, target);
        }
    }

    pub(super) fn save_globals(&mut self) -> Arc<[u8]> {
        let Some(port) = &self.exports.globals else { return Arc::from([]) };
        port.save.call(&mut self.store, ()).expect("saving globals cannot trap");
        Arc::from(&port.memory.data(&self.store)[..port.bytes])
    }

    pub(super) fn load_globals(&mut self, globals: &[u8]) -> Result<(), MachineError> {
        let Some(port) = &self.exports.globals else { return Ok(()) };
        port.memory.data_mut(&mut self.store)[..globals.len()].copy_from_slice(globals);
        port.load.call(&mut self.store, ()).map_err(|e| MachineError::Internal(e.to_string()))
    }

    /// Replaces the instance by a fresh one in the start state. Takes some 50 us: needed only where a
    /// restore cannot undo what the guest did, or if there is newer code.
    pub(super) fn rebuild(&mut self) -> Result<(), MachineError> {
        self.read_counters();
        let placeholder = Host::new(
            &self.artifact,
            Scheduler::new(self.scheduler().limits),
            self.store.data().world.clone(),
            0,
        );
        let old = std::mem::replace(&mut self.store, Store::new(self.artifact.engine(), placeholder));
        let mut host = old.into_data();
        host.scheduler.running = None;
        let (store, exports) = instantiate(&self.artifact, host)?;
        self.store = store;
        self.exports = exports;
        self.reset_counters();
        self.tables_changed = false;
        let base = self.store.data().dirty_memory.base().clone();
        self.resize(base.len())?;
        if let Some(memory) = self.exports.memory {
            // Pages that are equal, most of them zero, need not be touched.
            let now = memory.data_mut(&mut self.store);
            for (now, base) in now.chunks_mut(4096).zip(base.chunks(4096)) {
                if now[..base.len()] != *base {
                    now[..base.len()].copy_from_slice(base);
                }
            }
        }
        self.exports.real_bytes = self.memory().len();
        self.collect_marks();
        self.store.data_mut().dirty_memory.rebased();
        self.with_owners(|owners, table| owners.rebuilt(table));
        self.load_globals(&self.start.globals.clone())
    }
}
