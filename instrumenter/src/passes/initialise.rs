//! Makes libc ready for tests and for the recovery of a program that has a `main`, as `main` finds it.
//!
//! `_start` prepares libc and calls constructors before `main`. A test in a module with `main`
//! ([`guest::TEST_PREFIX`]) is called without `_start`, so the functions that do this become exports, which
//! the host calls before the first iteration. A recovery after a crash of the program itself
//! ([`guest::RECOVER`]) begins with memory as it was before `_start`: it gets an entry that prepares libc
//! first.
//!
//! ```wat
//! ;; before
//! (export "_start" (func $_start))
//! (export "coyote.recover" (func $recover))
//! ;; after
//! (export "_start" (func $_start))
//! (export "coyote.recover" (func $recover))
//! (export "__wasi_init_tp" (func $__wasi_init_tp))
//! (export "__wasm_call_ctors" (func $__wasm_call_ctors))
//! (export "__cy_recover_program" (func $__cy_recover_program))
//! (func $__cy_recover_program
//!   call $__wasi_init_tp
//!   call $__wasm_call_ctors
//!   call $recover)
//! ```
//!
//! The functions are found by their names. A module without names keeps its exports: the host says what is
//! missing. If the linker wrapped the exports, so that each calls the constructors itself, nothing is
//! changed.

use crate::Error;
use crate::analysis::Analyses;
use crate::code::Code;
use crate::draft::Draft;
use crate::original::INITIALISERS;
use coyote_abi::guest;
use walrus::{ExportItem, FunctionId};

/// The entry of a recovery that begins with memory as it was before `_start`.
pub const RECOVER_PROGRAM: &str = "__cy_recover_program";

/// The suffix of functions that a linker wrapped exports in.
const WRAPPED: &str = ".command_export";

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let recover = exported(draft, guest::RECOVER);
    let wrapped = draft.original.functions.iter().any(|function| function.name.ends_with(WRAPPED));
    let tests = draft.module.exports.iter().any(|export| export.name.starts_with(guest::TEST_PREFIX));
    if exported(draft, "_start").is_none()
        || exported(draft, "_initialize").is_some()
        || !tests && recover.is_none()
        || wrapped
    {
        return Ok(());
    }
    let mut initialisers = Vec::new();
    for name in INITIALISERS {
        let Some(id) = exported(draft, name).or_else(|| named(draft, name)) else { continue };
        if exported(draft, name).is_none() {
            draft.module.exports.add(name, id);
        }
        initialisers.push(id);
    }
    if let Some(recover) = recover {
        let recovery = draft.add_function(RECOVER_PROGRAM, &[], &[], |_| {
            let mut code = Code::default();
            for id in initialisers.into_iter().chain([recover]) {
                code.call(id);
            }
            code
        });
        draft.module.exports.add(RECOVER_PROGRAM, recovery);
    }
    Ok(())
}

fn exported(draft: &Draft, name: &str) -> Option<FunctionId> {
    draft.module.exports.iter().find_map(|export| match export.item {
        ExportItem::Function(id) if export.name == name => Some(id),
        _ => None,
    })
}

/// The function of this name, which takes nothing and has no result.
fn named(draft: &Draft, name: &str) -> Option<FunctionId> {
    draft.guest_functions().into_iter().find(|id| {
        let origin = draft.origin(*id).expect("it is the guest's");
        let ty = draft.module.types.get(draft.module.funcs.get(*id).ty());
        draft.original.functions[origin as usize].name == name
            && ty.params().is_empty()
            && ty.results().is_empty()
    })
}
