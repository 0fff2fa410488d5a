//! Pass 6: brackets atomic functions, so that the host does not switch at memory accesses in what
//! they call. (Their own accesses, and those of functions that only they call, are no points at all.)
//!
//! ```wat
//! ;; before
//! (func $malloc (param i32) (result i32) ..)
//! ;; after
//! (func $malloc (param i32) (result i32)
//!   call $coyote_rt.atomic_enter
//!   local.get 0 call $"malloc (atomic)"
//!   call $coyote_rt.atomic_exit)
//! (func $"malloc (atomic)" (param i32) (result i32) ..)
//! ```
//!
//! An exception that leaves an atomic function skips the exit: the host closes what is open when the
//! worker ends.

use crate::code::Code;
use crate::draft::{Draft, Treatment};
use coyote_abi::rt;
use walrus::FunctionBuilder;
use walrus::ir::{Call, InstrLocId};

pub fn atomic(draft: &mut Draft) {
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        if !matches!(draft.treatments[origin as usize], Treatment::Atomic(_)) {
            continue;
        }
        let enter = draft.import(rt::ATOMIC_ENTER, &[], &[]);
        let exit = draft.import(rt::ATOMIC_EXIT, &[], &[]);
        let ty = draft.module.types.get(draft.module.funcs.get(id).ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let start = draft.original.functions[origin as usize].start;
        draft.wrap(id, " (atomic)", |draft, inner| {
            let args: Vec<_> = params.iter().map(|ty| draft.module.locals.add(*ty)).collect();
            let mut code = Code::default();
            code.call(enter);
            args.iter().for_each(|arg| {
                code.get(*arg);
            });
            // The beginning of the function is no instruction's place, so it is free for this one.
            code.push(Call { func: inner }, InstrLocId::new(start)).call(exit);
            let mut body = FunctionBuilder::new(&mut draft.module.types, &params, &results).local_func(args);
            let entry = body.entry_block();
            body.block_mut(entry).instrs = code.into();
            body
        });
    }
}
