//! The native code of a module: of all of it or, if the module is large, of the functions that executions come to.
//!
//! A test binary holds its harness, the standard library and all other tests; an execution of one test comes to a few
//! percent of its functions. Compiling is most of what it costs to prepare a module, so functions are compiled when they
//! are first called ([`coyote_instrumenter::Parts`] has the transform): the *root* has the functions that earlier runs
//! called, of this module or another one, by their names; others follow in parts.
//!
//! A part has no state, and calls lead to the same instructions in the same order. So snapshots, fingerprints and traces
//! do not depend on what is compiled when.

mod executed;

pub use executed::Executed;

use crate::cache::Native;
use coyote_instrumenter::{Part, PartImport, Parts, SiteTable};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use wasmtime::{Engine, FrameInfo, Module};

/// Of modules with less instrumented code, in bytes, everything is compiled at once.
const SMALL: usize = 1 << 20;
/// The environment variable that has another number instead of [`SMALL`].
const VARIABLE: &str = "COYOTE_CODE_BYTES";

/// When functions are compiled on demand, and what is known beforehand.
pub struct Demand {
    /// What earlier runs executed.
    pub executed: Option<Executed>,
    /// Where native code is kept.
    pub native: Option<Native>,
    /// Of modules with less instrumented code, in bytes, everything is compiled at once.
    pub small: usize,
}

impl Demand {
    /// As a user wants it, with what is kept from earlier runs.
    pub fn of_user(executed: Option<Executed>, native: Option<Native>) -> Demand {
        let given = std::env::var(VARIABLE).ok().and_then(|number| number.parse().ok());
        Demand { executed, native, small: given.unwrap_or(SMALL) }
    }
}

/// See the module's documentation.
pub struct Code {
    root: Module,
    on_demand: Option<OnDemand>,
}

struct OnDemand {
    parts: Parts,
    /// Functions that are compiled with the root, by their numbers among the defined ones.
    in_root: BTreeSet<u32>,
    /// Where the root's functions begin: in the root, and in the module.
    begins: Vec<(u32, u32)>,
    /// The names of functions.
    names: Vec<String>,
    compiled: Mutex<Compiled>,
    executed: Option<Executed>,
    /// Keeps the native code for the next run. Sealed when the code is no longer used.
    native: Option<Native>,
}

#[derive(Default)]
struct Compiled {
    parts: Vec<Arc<CompiledPart>>,
    /// The part that was made for a function.
    of: BTreeMap<u32, usize>,
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
        Ok(Code { root: Module::new(engine, wasm)?, on_demand: None })
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
        let Demand { executed, native, .. } = demand;
        let names = names(&parts, table);
        let of_guest = |name: &String| !name.is_empty();
        let hot = |name: &String| executed.as_ref().is_some_and(|executed| executed.contains(name));
        let numbered = || (0..).zip(&names);
        let wanted = native.as_ref().and_then(|native| native.root(parts.functions()));
        let mut in_root = wanted.unwrap_or_else(|| {
            numbered().filter(|(_, name)| hot(name)).map(|(function, _)| function).collect()
        });
        if let Some(native) = &native {
            native.keep_root(&in_root);
        }
        let needed = numbered().filter(|(f, name)| !of_guest(name) || parts.is_of_root(*f));
        in_root.extend(needed.map(|(function, _)| function));
        let Part { wasm, begins, .. } = parts.root(&in_root);
        let root = Module::new(engine, &wasm)?;
        let on_demand =
            OnDemand { parts, in_root, begins, names, compiled: Mutex::default(), executed, native };
        Ok(Code { root, on_demand: Some(on_demand) })
    }

    /// Whether there are parts besides the root.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// The module that is instantiated first.
    pub fn root(&self) -> &Module {
        &self.root
    }

    /// The offset in the whole instrumented module of a frame's instruction.
    pub fn offset(&self, frame: &FrameInfo) -> Option<u32> {
        let offset = frame.module_offset()? as u32;
        let Some(on_demand) = &self.on_demand else { return Some(offset) };
        if Module::same(frame.module(), &self.root) {
            return in_whole(&on_demand.begins, offset);
        }
        let compiled = on_demand.compiled.lock().expect("no other thread panicked");
        let part = compiled.parts.iter().find(|part| Module::same(frame.module(), &part.module))?;
        in_whole(&part.begins, offset)
    }

    /// The part that has a function, which is compiled if it is the first time.
    pub(crate) fn part(&self, function: u32) -> wasmtime::Result<Arc<CompiledPart>> {
        let on_demand = self.on_demand.as_ref().expect("only stubs ask for parts");
        let mut compiled = on_demand.compiled.lock().expect("no other thread panicked");
        if let Some(part) = compiled.of.get(&function) {
            return Ok(compiled.parts[*part].clone());
        }
        let parts = &on_demand.parts;
        let functions = parts
            .around(function, |f| !on_demand.in_root.contains(&f))
            .map_err(|e| wasmtime::format_err!("{e}"))?;
        let Part { wasm, imports, begins } =
            parts.part(&functions).map_err(|e| wasmtime::format_err!("{e}"))?;
        let module = Module::new(self.root.engine(), &wasm)?;
        let part = Arc::new(CompiledPart { module, imports, begins });
        let number = compiled.parts.len();
        compiled.of.insert(function, number);
        compiled.parts.push(part.clone());
        if let Some(executed) = &on_demand.executed {
            executed.add(functions.iter().map(|function| on_demand.names[*function as usize].as_str()));
        }
        Ok(part)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(native) = self.on_demand.as_ref().and_then(|on_demand| on_demand.native.as_ref()) {
            native.seal();
        }
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
