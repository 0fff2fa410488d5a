//! A guest that is ready to run: instrumented, compiled, with its site table.

use crate::cache::Native;
use crate::code::{Code, Demand};
use crate::data_segments;
use crate::orderings::{self, Counts, Orderings};
use crate::preview1;
use crate::symbols;
use anyhow::{Result, anyhow, bail};
use coyote_abi::{guest, rt};
use coyote_instrumenter::{Entry, Instrumented, Options, Parts, SiteTable};
use coyote_strategies::{Strategy, Watchers};
use std::sync::{Arc, OnceLock};
use wasmtime::{Config, Engine, ExternType, HeapType, Module, ValType};

/// Native stack for guest code. The rest of the engine thread's stack is for the host.
pub(crate) const WASM_STACK_BYTES: usize = 32 << 20;
/// Stack of a thread that runs guests.
#[doc(hidden)]
pub const THREAD_STACK_BYTES: usize = WASM_STACK_BYTES + (4 << 20);

/// See the module's documentation.
pub struct Artifact {
    code: Arc<Code>,
    /// The instrumenter's description of the module: sites, frames, globals.
    pub table: Arc<SiteTable>,
    /// The options that the module was instrumented with.
    pub options: Options,
    /// The original bytes, which reports refer to.
    pub original: Arc<[u8]>,
    /// Identifies the original code: a hash that leaves custom sections out.
    pub identity: String,
    /// Where active data segments lie in guest memory: start and end of each.
    data: Vec<(u32, u32)>,
    /// Cache of [`Artifact::function_names`].
    names: OnceLock<Vec<String>>,
    /// The atomic sites and their memory orderings.
    pub orderings: Arc<orderings::OnDemand>,
}

/// The version and build of the tool. Another build may instrument a module differently.
pub(crate) fn build() -> String {
    format!("{} {}", env!("CARGO_PKG_VERSION"), coyote_instrumenter::BUILD)
}

/// A wasmtime engine for instrumented modules, caching native code if a cache is given.
///
/// # Errors
/// Wasmtime does not work on this machine; the message is Wasmtime's.
pub fn engine(cache: Option<wasmtime::Cache>) -> Result<Engine> {
    let mut config = Config::new();
    config
        .wasm_multi_memory(true)
        .wasm_threads(true)
        .wasm_tail_call(true)
        .wasm_simd(true)
        .wasm_relaxed_simd(true)
        .relaxed_simd_deterministic(true)
        .cranelift_nan_canonicalization(true)
        .wasm_function_references(true)
        .wasm_gc(true)
        .wasm_exceptions(true)
        .wasm_extended_const(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        // Not used, but Wasmtime checks it against `max_wasm_stack`.
        .async_stack_size(WASM_STACK_BYTES)
        .cache(cache);
    Engine::new(&config).map_err(|e| anyhow!("the wasm engine cannot be set up: {e:#}"))
}

fn not_compiled(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("the instrumented module cannot be compiled: {error:#}")
}

/// Whether a module imports this function of the host, under its own name or that which the instrumenter gives it.
fn imports(module: &Module, name: &str) -> bool {
    let ours = [guest::MODULE, rt::MODULE];
    module.imports().any(|import| ours.contains(&import.module()) && import.name() == name)
}

impl Artifact {
    /// Compiles an instrumented module, all of it.
    ///
    /// # Errors
    /// The engine does not accept the module, or there is no memory for its code.
    pub fn compile(
        engine: &Engine,
        original: Arc<[u8]>,
        instrumented: Instrumented,
        options: Options,
    ) -> Result<Artifact> {
        let code = Code::whole(engine, &instrumented.wasm).map_err(not_compiled)?;
        Artifact::of(code, original, instrumented.table, options)
    }

    /// As [`Artifact::compile`], but functions of a large module are compiled when they are first called, unless they
    /// were executed before.
    ///
    /// # Errors
    /// As [`Artifact::compile`].
    pub fn compile_on_demand(
        engine: &Engine,
        original: Arc<[u8]>,
        instrumented: Instrumented,
        options: Options,
        demand: Demand,
    ) -> Result<Artifact> {
        let Instrumented { wasm, table } = instrumented;
        let wasm: Arc<[u8]> = wasm.into();
        // References to functions can be told apart only within one instance.
        let parts = match table.changes_tables {
            true => None,
            false => Parts::read(wasm.clone())?.filter(|parts| parts.code_bytes() >= demand.small),
        };
        let code = match parts {
            Some(parts) => Code::on_demand(engine, parts, &table, demand).map_err(not_compiled)?,
            None => {
                let code = Code::whole(engine, &wasm).map_err(not_compiled)?;
                demand.native.inspect(Native::seal);
                code
            }
        };
        Artifact::of(code, original, table, options)
    }

    fn of(code: Code, original: Arc<[u8]>, table: SiteTable, mut options: Options) -> Result<Artifact> {
        let module = code.first();
        let unknown = module.imports().find(|i| i.module() == preview1::MODULE && !preview1::knows(i.name()));
        if let Some(import) = unknown {
            bail!("WASI preview 1 has no function {}: the module cannot be linked", import.name());
        }
        let table = Arc::new(table);
        let watches = imports(module, guest::WATCH);
        options.footprints |= watches || imports(module, guest::WAIT_UNTIL);
        Ok(Artifact {
            code: Arc::new(code),
            orderings: Arc::new(orderings::OnDemand::new(original.clone(), table.clone())),
            table,
            options,
            identity: identity(&original),
            data: data_segments::ranges(&original),
            names: OnceLock::new(),
            original,
        })
    }

    /// Whether the module throws exceptions: a panic of a Rust program can then be caught.
    pub fn unwinds(&self) -> bool {
        self.code.first().imports().any(|import| import.module() == rt::MODULE && import.name() == rt::THROWN)
    }

    /// The engine that the module was compiled for.
    pub fn engine(&self) -> &Engine {
        self.code.first().engine()
    }

    /// The compiled code.
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// A module with the imports and exports of what is instantiated.
    pub(crate) fn module(&self) -> &Module {
        self.code.first()
    }

    /// Names of the original functions by index, as in the source; empty for a function without a name.
    pub(crate) fn function_names(&self) -> &[String] {
        self.names.get_or_init(|| symbols::function_names(&self.original))
    }

    /// The atomic sites and their memory orderings, computed at the first call.
    pub fn orderings(&self) -> &Orderings {
        self.orderings.get()
    }

    /// The number of atomic sites of the program's own code by what is known of them.
    pub(crate) fn own_orderings(&self) -> Counts {
        self.orderings.own_counts()
    }

    /// Where active data segments lie in guest memory: start and end of each.
    pub(crate) fn data(&self) -> &[(u32, u32)] {
        &self.data
    }

    /// The number of the entry that is the export of this name.
    pub fn entry(&self, export: &str) -> Option<u32> {
        let is = |e: &Entry| matches!(e, Entry::Export(name) if name == export);
        self.table.entries.iter().position(is).map(|i| i as u32)
    }

    /// Whether tables or globals that the guest can change hold references to anything but functions. Fingerprints do
    /// not distinguish such references.
    pub(crate) fn has_other_references(&self) -> bool {
        let exports =
            self.module().exports().filter(|export| export.name().starts_with(rt::REFERENCES_PREFIX));
        exports.map(|export| export.ty()).any(|ty| match ty {
            ExternType::Table(table) => !table.element().heap_type().matches(&HeapType::Func),
            ExternType::Global(global) => !global.content().matches(&ValType::FUNCREF),
            _ => false,
        })
    }

    /// Whether the guest imports this function of module `coyote`.
    pub(crate) fn imports(&self, name: &str) -> bool {
        imports(self.module(), name)
    }

    /// Wraps a sampler so that invariants are evaluated as soon as they may have changed, if the guest may have any.
    pub fn watching(&self, schedules: Box<dyn Strategy>) -> Box<dyn Strategy> {
        if self.imports(guest::WATCH) { Box::new(Watchers::new(schedules)) } else { schedules }
    }

    /// Whether the guest can observe the time: from a clock, from how long it waits until a point in time, or from the
    /// modification time of a file.
    pub(crate) fn tells_time(&self) -> bool {
        const TELLING: &[&str] =
            &["now", "clock_time_get", rt::WASI_POLL_ONEOFF, "fd_filestat_get", "path_filestat_get"];
        self.module().imports().any(|import| TELLING.contains(&import.name()))
    }
}

/// A hash of a module without its custom sections, in hexadecimal.
pub fn identity(wasm: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    for payload in wasmparser::Parser::new(0).parse_all(wasm).map_while(Result::ok) {
        if let Some((id, range)) = payload.as_section()
            && !matches!(payload, wasmparser::Payload::CustomSection(_))
        {
            hasher.update(&[id]);
            hasher.update(&wasm[range]);
        }
    }
    hasher.finalize().to_hex().to_string()
}
