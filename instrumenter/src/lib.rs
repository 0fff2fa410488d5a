//! Makes wasm modules controllable: bytes in, bytes and a site table out.
//!
//! Every operation whose order other workers could observe becomes a call of a runtime import, and a worker
//! in such a call can be unwound into bytes and rewound from them. The crate does not depend on an engine and
//! reads no files. [`coyote_abi::rt`] lists what an instrumented module imports and exports.
//!
//! The modules, in the order in which a guest passes them:
//! - `options`: what the user can choose. With `answer`: the results of a stubbed import.
//! - `original`: facts about the original module. With `stack_pointer`: finds its shadow stack pointer.
//! - `stack_frame`: what is known of a function's frame in that stack.
//! - `check`: refuses what is not supported.
//! - `draft`: the module that the passes change. With `code`, `operands` and `announce`: writing instructions;
//!   `wrapper`: code around a function; `on_exception`: code that runs when a call throws.
//! - [`names`]: functions' names as programmers write them.
//! - `pass`, `pipeline`: passes as data, in their order, and where a user's pass is inserted.
//! - `passes`: the tool's own passes. With `analysis`: facts about the code; `libraries`: library functions that are
//!   known by their names, `libtest`: those of Rust's test harness.
//! - `emit`: the intermediate module, a valid one with plain calls.
//! - [`suspend`]: unwinding and rewinding.
//! - `sites`: the site table.
//! - [`parts`](Parts): cuts the result, so that only what is executed has to be compiled.
//! - `explain`, `dump`: what was done to a function, and its text.

mod analysis;
mod announce;
mod answer;
mod check;
mod code;
mod draft;
mod dump;
mod emit;
mod error;
mod explain;
mod libraries;
mod libtest;
mod marked;
pub mod names;
mod nearest;
mod on_exception;
mod operands;
mod options;
mod original;
mod parts;
mod pass;
mod passes;
mod pipeline;
mod sites;
mod stack_frame;
mod stack_pointer;
pub mod suspend;
mod wrapper;

pub use ::walrus;
pub use analysis::{Analyses, calls::Calls};
pub use check::ASSEMBLYSCRIPT_ABORT;
pub use code::Code;
pub use draft::Draft;
pub use dump::{dump, dump_after};
pub use error::Error;
pub use explain::{Explanation, explain};
pub use libraries::{ALLOCATORS, PATHS, PRINTS, STDIO, UNGUARDED};
pub use libtest::runs_libtest;
#[doc(hidden)]
pub use nearest::nearest;
#[doc(hidden)]
pub use options::Mutant;
pub use options::{HeapPoints, Options, Points};
pub use original::INITIALISERS;
pub use parts::{Part, PartImport, Parts};
pub use pass::Pass;
pub use passes::{COUNTER_BYTES, COUNTERS, RECOVER_PROGRAM};
pub use pipeline::{Pipeline, Stage, Watch};
pub use sites::*;

use emit::{Intermediate, original_place};
use pipeline::unwatched;
use suspend::Suspended;
use wasm_encoder::{CustomSection, Encode};

/// An instrumented module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumented {
    /// The module, with the table in its custom section [`coyote_abi::rt::SITES_SECTION`].
    pub wasm: Vec<u8>,
    /// The same table, decoded: what the host needs besides the module.
    pub table: SiteTable,
}

/// Instruments a module.
///
/// # Errors
/// `Invalid`, `Component` or `Instrumented` if it is not a core module as compilers make them, `Import`,
/// `Unsupported` and `UnsupportedModule` if it needs something that the tool does not support, `Option` if a
/// pattern is wrong. None of them is a verdict on the guest.
pub fn instrument(wasm: &[u8], options: &Options) -> Result<Instrumented, Error> {
    instrument_with(wasm, options, &Pipeline::new(), &mut unwatched)
}

/// As [`instrument`], with a given pipeline; `watch` is called after each stage.
///
/// # Errors
/// As [`instrument`], and every error of a pass in the pipeline.
pub fn instrument_with(
    wasm: &[u8],
    options: &Options,
    pipeline: &Pipeline,
    watch: &mut Watch,
) -> Result<Instrumented, Error> {
    let original = check::check(wasm, options)?;
    watch(Stage::Done("check"));
    let options = &options.for_module(original.waits_until);
    let mut draft = pipeline.run(wasm, &original, options, watch)?;
    let intermediate = emit::emit(&mut draft)?;
    watch(Stage::Done("emit"));
    let suspended = suspend::suspend(&intermediate.wasm, &intermediate.config)
        .map_err(|e| in_original(&draft, &intermediate, e))?;
    watch(Stage::Done("suspend"));
    let instrumented = finish(&draft, intermediate, suspended)?;
    watch(Stage::Done("finish"));
    Ok(instrumented)
}

/// Runs every stage before the suspend pass. The result is a valid module in which scheduling points are
/// plain calls.
#[doc(hidden)]
pub fn intermediate(wasm: &[u8], options: &Options) -> Result<Vec<u8>, Error> {
    let original = check::check(wasm, options)?;
    let options = &options.for_module(original.waits_until);
    let mut draft = Pipeline::new().run(wasm, &original, options, &mut unwatched)?;
    Ok(emit::emit(&mut draft)?.wasm)
}

/// Translates the place of a refusal by the suspend pass from the intermediate module to the original one.
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

/// Builds the site table and appends it to the module as a custom section.
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
            .map(|frame| {
                let location = original_place(draft, &from.places, frame.call);
                let stack = draft.stack_frame(location);
                FrameSite {
                    location,
                    size: frame.size,
                    dead: frame.dead,
                    stack_bytes: stack.map(|(_, bytes)| bytes),
                    escapes: stack.is_none_or(|(frame, _)| frame.escapes),
                    red_zone: stack.is_none_or(|(frame, _)| frame.red_zone),
                    red_zone_bytes: stack.and_then(|(frame, _)| frame.red_zone_bytes),
                }
            })
            .collect(),
        functions: draft.original.functions.clone(),
        entries: from.entries,
        worker_globals: from.worker_globals,
        shared_globals: draft.shared_globals.len() as u32,
        segment_flags: draft.segment_flags,
        tells_memory_size: draft.tells_memory_size,
        wasi_threads: draft.original.wasi_threads,
        libtest: draft.original.libtest,
        changes_tables: draft.changes_tables,
        counters: draft.counters.clone(),
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
