//! An instance of the instrumented module, with the exports that the host uses.

use super::host::Host;
use super::parts::Instances;
use super::{MachineError, assemblyscript, imports, references, sockets, stubs, wasi};
use crate::artifact::Artifact;
use coyote_abi::rt;
use coyote_instrumenter::COUNTERS;
use wasmtime::{Extern, Global, Instance, Linker, Memory, Store, Trap, TypedFunc, Val};

/// The exports that the host uses, and the place where the shared globals are exchanged.
pub(super) struct Exports {
    pub instance: Instance,
    pub run: TypedFunc<(), ()>,
    pub memory: Option<Memory>,
    pub dirty: Option<Memory>,
    /// Execution counts of instructions, if the module counts them.
    pub counters: Option<Memory>,
    /// The lease memory, if points are gated.
    pub lease: Option<Memory>,
    /// The owner table, if points are left out where memory is not shared.
    pub owners: Option<Memory>,
    /// Pages of memory that the guest sees, if there are more.
    pub pages: Option<Global>,
    /// Real size of memory in bytes after instantiation; the guest may see less.
    pub real_bytes: usize,
    pub globals: Option<GlobalsPort>,
    /// How many roots of the code there had been.
    pub root: usize,
    /// The guest's tables and mutable globals that hold references, if any of them can change.
    pub references: Vec<Extern>,
}

pub(super) struct GlobalsPort {
    pub memory: Memory,
    pub save: TypedFunc<(), ()>,
    pub load: TypedFunc<(), ()>,
    pub bytes: usize,
}

pub(super) fn instantiate(
    artifact: &Artifact,
    mut host: Host,
) -> Result<(Store<Host>, Exports), MachineError> {
    host.memory = None;
    host.frames = None;
    host.owner_table = None;
    host.lease.begin_instance(None, &host.table);
    host.stack_low = None;
    host.me = None;
    host.scheduler.running = None;
    host.functions.clear();
    let failed = |e: wasmtime::Error| MachineError::Instantiate(format!("{e:#}"));
    let mut store = Store::new(artifact.engine(), host);
    store.limiter(|host| host);
    let mut linker = Linker::new(artifact.engine());
    imports::define(&mut linker).map_err(failed)?;
    wasi::define(&mut linker).and_then(|()| sockets::define(&mut linker)).map_err(failed)?;
    stubs::define(&mut linker, artifact).map_err(failed)?;
    assemblyscript::define(&mut linker, artifact.module(), &artifact.options.stubs).map_err(failed)?;
    let root = artifact.code().roots();
    let parts = Instances::new(artifact.code(), &linker, &mut store);
    store.data_mut().parts = parts;
    let instance = linker.instantiate(&mut store, &artifact.code().newest()).map_err(|e| {
        match e.downcast_ref::<Trap>() {
            Some(trap) => MachineError::Initialise(format!("the start function stops with: {trap}")),
            None => failed(e),
        }
    })?;
    let memory = instance.get_memory(&mut store, rt::MEMORY);
    let dirty = instance.get_memory(&mut store, rt::DIRTY);
    let counters = instance.get_memory(&mut store, COUNTERS);
    let frames = instance.get_memory(&mut store, rt::FRAMES);
    let owners = instance.get_memory(&mut store, rt::OWNERS);
    let lease = instance.get_memory(&mut store, rt::LEASE);
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
        // Changes by the start function are part of a fresh instance.
        changed.set(&mut store, Val::I32(0)).map_err(failed)?;
    }
    let pages = instance.get_global(&mut store, rt::PAGES);
    let me = artifact.table.worker_globals.iter().position(|g| g.name == rt::ME);
    let me = me.map(|n| format!("{}{n}", rt::WORKER_GLOBAL_PREFIX));
    let me = me.and_then(|name| instance.get_global(&mut store, &name));
    let stack_low = instance.get_global(&mut store, rt::STACK_LOW);
    let real_bytes = memory.map_or(0, |m| m.data_size(&store));
    let seen = pages.and_then(|p| p.get(&mut store).i32()).map(|p| u64::from(p as u32) << 16);
    let references = references::exported(&instance, &mut store);
    if let Some(lease) = lease {
        let (table, host) = lease.data_and_store_mut(&mut store);
        host.lease.begin_instance(Some((lease, table)), &host.table);
    }
    let host = store.data_mut();
    host.memory = memory;
    host.frames = frames;
    host.owner_table = owners;
    host.stack_low = stack_low;
    host.me = me;
    host.scheduler.bounds.memory_bytes = seen.unwrap_or(real_bytes as u64);
    let exports = Exports {
        instance,
        run,
        memory,
        dirty,
        counters,
        lease,
        owners,
        pages,
        real_bytes,
        globals,
        root,
        references,
    };
    Ok((store, exports))
}
