//! The native code of a module: of all of it or, if the module is large, of the functions that executions come to.
//!
//! A test binary holds its harness, the standard library and all other tests; an execution of one test comes to a few
//! percent of its functions. Compiling is most of what it costs to prepare a module, so functions are compiled when they
//! are first called ([`coyote_instrumenter::Parts`] has the transform): the *root* has the functions that earlier runs
//! called, of this module or another one, by their names; others follow in parts. Calls between parts are slower than
//! those within the root, so after a while all that was needed is compiled once more as one root, with which iterations
//! go on.
//!
//! A part has no state, and calls lead to the same instructions in the same order. So snapshots, fingerprints and traces
//! do not depend on what is compiled when. Only calls into parts take more of the native stack: an iteration that
//! exhausts it with parts is executed again with a root that has them.

mod executed;

use executed::Executed;

use crate::cache::Native;
use coyote_instrumenter::{Part, PartImport, Parts, SiteTable};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use wasmtime::{Engine, FrameInfo, Module};

/// Of modules with less instrumented code, in bytes, everything is compiled at once.
const SMALL: usize = 1 << 20;
/// The environment variable that has another number instead of [`SMALL`].
const VARIABLE: &str = "COYOTE_CODE_BYTES";
/// After how many times what it costs to compile a root another one is worth it. Code in parts took 1.5 times as long.
const PATIENCE: u32 = 3;

/// When functions are compiled on demand, and what is known beforehand.
pub struct Demand {
    /// The file that names what earlier runs executed.
    pub executed: Option<PathBuf>,
    /// Where native code is kept.
    pub native: Option<Native>,
    /// Of modules with less instrumented code, in bytes, everything is compiled at once.
    pub small: usize,
    /// After how many times what it costs to compile a root there is another one.
    pub patience: u32,
}

impl Demand {
    /// As a user wants it, with what is kept from earlier runs.
    pub fn of_user(executed: Option<PathBuf>, native: Option<Native>) -> Demand {
        let given = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok());
        Demand { executed, native, small: given.unwrap_or(SMALL), patience: PATIENCE }
    }
}

/// See the module's documentation.
pub struct Code {
    /// The module that is instantiated, if everything is compiled, or the first one.
    first: Module,
    on_demand: Option<OnDemand>,
}

struct OnDemand {
    parts: Parts,
    /// The names of functions.
    names: Vec<String>,
    executed: Option<Executed>,
    /// Keeps the native code for the next run. Sealed when the code is no longer used.
    native: Option<Native>,
    patience: u32,
    compiled: Mutex<Compiled>,
    /// How many roots there are.
    roots: AtomicUsize,
    /// Whether there are parts that the newest root does not have.
    apart: AtomicBool,
}

struct Compiled {
    /// The newest one is the last. Executions may still use earlier ones.
    roots: Vec<Root>,
    parts: Vec<Arc<CompiledPart>>,
    /// The part that was made for a function.
    of: BTreeMap<u32, usize>,
    /// All functions that are compiled.
    functions: BTreeSet<u32>,
    /// When the first part was made that the newest root does not have.
    since: Option<Instant>,
    /// How long the newest root took.
    cost: Duration,
}

struct Root {
    module: Module,
    begins: Vec<(u32, u32)>,
}

/// A part, ready to be instantiated.
pub(crate) struct CompiledPart {
    pub module: Module,
    pub imports: Vec<PartImport>,
    begins: Vec<(u32, u32)>,
}

impl Code {
    /// Compiles a whole module.
    ///
    /// # Errors
    /// The engine does not accept the module.
    pub fn whole(engine: &Engine, wasm: &[u8]) -> wasmtime::Result<Code> {
        Ok(Code { first: Module::new(engine, wasm)?, on_demand: None })
    }

    /// Compiles the functions of a module that were executed before; others follow on demand.
    ///
    /// # Errors
    /// The engine does not accept the root.
    pub fn on_demand(
        engine: &Engine,
        parts: Parts,
        table: &SiteTable,
        demand: Demand,
    ) -> wasmtime::Result<Code> {
        let Demand { executed, native, patience, .. } = demand;
        let executed = executed.map(Executed::read);
        let names = names(&parts, table);
        let kept = native.as_ref().and_then(|native| native.root(parts.functions()));
        let known = |name: &String| executed.as_ref().is_some_and(|executed| executed.contains(name));
        let numbered = || (0..).zip(&names);
        let mut functions = kept.unwrap_or_else(|| {
            let known = numbered().filter(|(_, name)| known(name));
            known.map(|(function, _)| function).collect()
        });
        let needed = numbered().filter(|(function, name)| name.is_empty() || parts.is_of_root(*function));
        functions.extend(needed.map(|(function, _)| function));
        let (root, cost) = Root::compile(engine, &parts, &functions, native.as_ref())?;
        let first = root.module.clone();
        let compiled =
            Compiled { roots: vec![root], parts: vec![], of: BTreeMap::new(), functions, since: None, cost };
        let on_demand = OnDemand {
            parts,
            names,
            executed,
            native,
            patience,
            compiled: Mutex::new(compiled),
            roots: AtomicUsize::new(1),
            apart: AtomicBool::new(false),
        };
        Ok(Code { first, on_demand: Some(on_demand) })
    }

    /// Whether there are parts besides the root.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// A module that imports and exports what all roots do.
    pub fn first(&self) -> &Module {
        &self.first
    }

    /// How many roots there have been.
    pub fn roots(&self) -> usize {
        self.on_demand.as_ref().map_or(1, |on_demand| on_demand.roots.load(Ordering::Relaxed))
    }

    /// The module that a new instance is made of.
    pub fn newest(&self) -> Module {
        match &self.on_demand {
            Some(on_demand) => on_demand.lock().roots.last().expect("there is a first one").module.clone(),
            None => self.first.clone(),
        }
    }

    /// Makes another root if it is time, or if it is wanted now: called where instances can be replaced.
    ///
    /// # Errors
    /// The engine does not accept the root.
    pub fn renew(&self, now: bool) -> wasmtime::Result<()> {
        match &self.on_demand {
            Some(on_demand) if on_demand.apart.load(Ordering::Relaxed) => {
                on_demand.renew(self.first.engine(), now)
            }
            _ => Ok(()),
        }
    }

    /// The offset in the whole instrumented module of a frame's instruction.
    pub fn offset(&self, frame: &FrameInfo) -> Option<u32> {
        let offset = frame.module_offset()? as u32;
        let Some(on_demand) = &self.on_demand else { return Some(offset) };
        let compiled = on_demand.lock();
        let roots = compiled.roots.iter().map(|root| (&root.module, &root.begins));
        let parts = compiled.parts.iter().map(|part| (&part.module, &part.begins));
        let (_, begins) = roots.chain(parts).find(|(module, _)| Module::same(frame.module(), module))?;
        in_whole(begins, offset)
    }

    /// The part that has a function, which is compiled if it is the first time.
    ///
    /// # Errors
    /// The engine does not accept the part.
    pub(crate) fn part(&self, function: u32) -> wasmtime::Result<Arc<CompiledPart>> {
        let on_demand = self.on_demand.as_ref().expect("only stubs ask for parts");
        on_demand.part(self.first.engine(), function)
    }
}

impl OnDemand {
    fn lock(&self) -> MutexGuard<'_, Compiled> {
        self.compiled.lock().expect("no other thread panicked")
    }

    fn part(&self, engine: &Engine, function: u32) -> wasmtime::Result<Arc<CompiledPart>> {
        let mut compiled = self.lock();
        if let Some(part) = compiled.of.get(&function) {
            return Ok(compiled.parts[*part].clone());
        }
        let failed = |e: coyote_instrumenter::Error| wasmtime::format_err!("{e}");
        let around = self.parts.around(function, |f| !compiled.functions.contains(&f)).map_err(failed)?;
        let Part { wasm, imports, begins } = self.parts.part(&around).map_err(failed)?;
        let module = Module::new(engine, &wasm)?;
        let part = Arc::new(CompiledPart { module, imports, begins });
        let number = compiled.parts.len();
        compiled.of.insert(function, number);
        compiled.parts.push(part.clone());
        if let Some(executed) = &self.executed {
            executed.add(around.iter().map(|function| self.names[*function as usize].as_str()));
        }
        compiled.functions.extend(around);
        compiled.since.get_or_insert_with(Instant::now);
        self.apart.store(true, Ordering::Relaxed);
        Ok(part)
    }

    fn renew(&self, engine: &Engine, now: bool) -> wasmtime::Result<()> {
        // Who holds the lock compiles.
        let Some(mut compiled) = (if now { Some(self.lock()) } else { self.compiled.try_lock().ok() }) else {
            return Ok(());
        };
        let due = |since: Instant| now || since.elapsed() >= compiled.cost * self.patience;
        if !compiled.since.is_some_and(due) {
            return Ok(());
        }
        let (root, cost) = Root::compile(engine, &self.parts, &compiled.functions, self.native.as_ref())?;
        compiled.roots.push(root);
        compiled.cost = cost;
        compiled.since = None;
        self.apart.store(false, Ordering::Relaxed);
        self.roots.store(compiled.roots.len(), Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for OnDemand {
    fn drop(&mut self) {
        self.native.iter().for_each(Native::seal);
    }
}

impl Root {
    /// Compiles a root, and keeps its functions for the next run; returns how long it took.
    fn compile(
        engine: &Engine,
        parts: &Parts,
        functions: &BTreeSet<u32>,
        native: Option<&Native>,
    ) -> wasmtime::Result<(Root, Duration)> {
        let begin = Instant::now();
        let Part { wasm, begins, .. } = parts.root(functions);
        let module = Module::new(engine, &wasm)?;
        if let Some(native) = native {
            native.keep_root(functions);
        }
        Ok((Root { module, begins }, begin.elapsed()))
    }
}

/// The place in the whole module of an offset in a part of it, whose functions begin there.
fn in_whole(begins: &[(u32, u32)], offset: u32) -> Option<u32> {
    let next = begins.partition_point(|(begin, _)| *begin <= offset);
    let (begin, whole) = begins.get(next.checked_sub(1)?)?;
    Some(whole + (offset - begin))
}

/// The name of the guest's function behind each function of the instrumented module; empty if there is none.
fn names(parts: &Parts, table: &SiteTable) -> Vec<String> {
    let original: BTreeMap<u32, &String> = table.functions.iter().map(|f| (f.start, &f.name)).collect();
    let mut places = table.code.iter().peekable();
    let begins = (0..parts.functions()).map(|function| parts.begin(function));
    begins
        .map(|begin| {
            while places.next_if(|(at, _)| *at < begin).is_some() {}
            let place = places.peek().filter(|(at, _)| *at == begin);
            place.and_then(|(_, offset)| original.get(offset)).map_or(String::new(), |name| (*name).clone())
        })
        .collect()
}
