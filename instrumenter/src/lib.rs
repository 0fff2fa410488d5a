//! Makes wasm modules controllable: bytes in, bytes and a site table out.
//!
//! Every operation that concurrent workers could tell the order of becomes a call of a runtime
//! import, and a worker in such a call can be unwound into bytes and rewound from them. Knows no
//! engine and reads no files. What an instrumented module needs and offers is in [`coyote_abi::rt`].
//!
//! The way of a module:
//! - `options`: what the user can choose.
//! - `check`: refuses what is not supported, describes the rest.
//! - `draft`: the module on its way through the passes.
//! - `names`: names for functions that have none.
//! - `entry`: calls by the real type of a table's entry.
//! - `threads`: private memory; imports that announce operations. With `stubs`: imports that nobody
//!   provides and that give an answer all the same.
//! - `thread_names`: what Rust's standard library calls its threads.
//! - `pass`: passes of a user.
//! - `sections`: functions that are atomic by their name.
//! - `points`: announces memory accesses. With `scope`: filters on function names, `access`:
//!   what instructions do to memory, `frame`: accesses that nobody else can see.
//! - `owners`: points only where memory is shared.
//! - `effects`: what steps touch that is no point, for searches that rest on that.
//! - `ticks`: the countdown. With `calls`: the call graph.
//! - `atomic`: brackets around atomic functions. With `allocator`: what allocators do to blocks.
//! - `harness`: where a test harness calls a test.
//! - `grow`: a memory size that can go back.
//! - `memory`: dirty marks and state that can be saved.
//! - `emit`: the intermediate module, a valid one with plain calls.
//! - [`suspend`]: unwinding and rewinding.
//! - `sites`: the site table.
//! - `explain`, `dump`: what was done to a function, and how it looks.

mod access;
mod allocator;
mod atomic;
mod atomic_sections;
mod calls;
mod check;
mod code;
mod draft;
mod dump;
mod effects;
mod emit;
mod entry;
mod error;
mod escape;
mod explain;
mod harness;
mod memory;
mod names;
mod nearest;
mod options;
mod owners;
mod pass;
mod points;
mod scope;
mod sites;
mod stubs;
pub mod suspend;
mod table_calls;
mod thread_names;
mod threads;
mod ticks;
mod virtual_size;

pub use ::walrus;
pub use check::ASSEMBLYSCRIPT_ABORT;
pub use code::Code;
pub use draft::Draft;
pub use dump::dump;
pub use error::Error;
pub use explain::{Explanation, explain};
pub use harness::runs_libtest;
#[doc(hidden)]
pub use options::Mutant;
pub use options::{ALLOCATORS, HARNESS, HeapPoints, Options, PATHS, Points, STDIO, UNGUARDED};
pub use pass::Pass;
pub use sites::*;

use calls::Calls;
use check::Original;
use emit::{Intermediate, original_place};
use suspend::Suspended;
use wasm_encoder::{CustomSection, Encode};

/// An instrumented module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumented {
    /// With the table in its custom section [`coyote_abi::rt::SITES_SECTION`].
    pub wasm: Vec<u8>,
    pub table: SiteTable,
}

/// Instruments a module.
///
/// # Errors
/// `Invalid`, `Component` or `Instrumented` if it is not a core module as compilers make them,
/// `Import`, `Unsupported` and `UnsupportedModule` if it needs something that does not exist here,
/// `Option` if a pattern is wrong. None of them is a verdict on the guest.
pub fn instrument(wasm: &[u8], options: &Options) -> Result<Instrumented, Error> {
    instrument_with(wasm, options, &[])
}

/// As [`instrument`], with passes of the user's.
pub fn instrument_with(wasm: &[u8], options: &Options, passes: &[&dyn Pass]) -> Result<Instrumented, Error> {
    let original = check::check(wasm, options)?;
    let mut draft = prepare(wasm, &original, options, passes)?;
    let intermediate = emit::emit(&mut draft)?;
    let suspended = suspend::suspend(&intermediate.wasm, &intermediate.config)
        .map_err(|e| in_original(&draft, &intermediate, e))?;
    finish(&draft, intermediate, suspended)
}

/// Everything up to, and without, the suspend pass: a valid module in which scheduling points are
/// plain calls.
#[doc(hidden)]
pub fn intermediate(wasm: &[u8], options: &Options) -> Result<Vec<u8>, Error> {
    let original = check::check(wasm, options)?;
    let mut draft = prepare(wasm, &original, options, &[])?;
    Ok(emit::emit(&mut draft)?.wasm)
}

/// The passes over walrus' form of the module.
fn prepare<'a>(
    wasm: &[u8],
    original: &'a Original,
    options: &'a Options,
    passes: &[&dyn Pass],
) -> Result<Draft<'a>, Error> {
    let mut draft = Draft::new(wasm, original, options)?;
    names::name(&mut draft);
    entry::entry(&mut draft);
    threads::threads(&mut draft);
    thread_names::thread_names(&mut draft);
    for pass in passes {
        pass.run(&mut draft)?;
    }
    atomic_sections::sections(&mut draft)?;
    let calls = Calls::new(&draft.module);
    points::points(&mut draft, &calls)?;
    effects::effects(&mut draft);
    ticks::ticks(&mut draft, &calls);
    atomic::atomic(&mut draft);
    harness::harness(&mut draft);
    virtual_size::grow(&mut draft);
    memory::memory(&mut draft);
    table_calls::table_calls(&mut draft);
    Ok(draft)
}

/// A refusal of the suspend pass speaks of the intermediate module. The user knows the original.
fn in_original(draft: &Draft, intermediate: &Intermediate, error: Error) -> Error {
    match error {
        Error::Unsupported { what, location, .. } => {
            let location = original_place(draft, &intermediate.places, location.offset);
            let function = draft.original.display_name(location.function);
            Error::Unsupported { what, function, location }
        }
        Error::Invalid { message, offset } => Error::Output {
            message: format!("before the suspend pass: {message} (at offset {offset:#x})"),
            wasm: intermediate.wasm.clone(),
        },
        other => other,
    }
}

/// Puts the site table together and the last hand to the module.
fn finish(draft: &Draft, from: Intermediate, suspended: Suspended) -> Result<Instrumented, Error> {
    let Suspended { mut wasm, frames, code, .. } = suspended;
    if let Err(e) = wasmparser::Validator::new_with_features(check::FEATURES).validate_all(&wasm) {
        return Err(Error::Output { message: e.to_string(), wasm });
    }
    let table = SiteTable {
        abi: coyote_abi::VERSION,
        sites: draft.sites.clone(),
        frames: frames
            .into_iter()
            .map(|frame| FrameSite {
                location: original_place(draft, &from.places, frame.call),
                size: frame.size,
                dead: frame.dead,
            })
            .collect(),
        functions: draft.original.functions.clone(),
        entries: from.entries,
        worker_globals: from.worker_globals,
        shared_globals: draft.shared_globals.len() as u32,
        segment_flags: draft.segment_flags,
        wasi_threads: draft.original.wasi_threads,
        libtest: draft.original.libtest,
        changes_tables: draft.changes_tables,
        code: code.into_iter().filter_map(|(out, at)| original_code(draft, &from.places, out, at)).collect(),
    };
    let bytes = table.to_bytes();
    wasm.push(0);
    CustomSection { name: coyote_abi::rt::SITES_SECTION.into(), data: bytes.into() }.encode(&mut wasm);
    Ok(Instrumented { wasm, table })
}

/// An entry of [`SiteTable::code`], if there is one for an instruction of the intermediate module.
/// Offset 0 stands for code that no original function contains.
fn original_code(draft: &Draft, places: &emit::Places, out: u32, at: u32) -> Option<(u32, u32)> {
    if at == 0 {
        return Some((out, 0));
    }
    if let Some(function) = places.body(at) {
        return Some((out, function.map_or(0, |f| draft.original.functions[f as usize].start)));
    }
    Some((
        out,
        match places.instruction(at)? {
            Ok(site) => draft.sites[site as usize].location.offset,
            Err(offset) => offset,
        },
    ))
}

/// Identifies this build of the instrumenter: equal builds write equal bytes.
pub const BUILD: &str = env!("COYOTE_INSTRUMENTER_BUILD");
