//! Marks where Rust's test harness calls a test, so that the host can begin each iteration there
//! and need not let the harness be interrupted.
//!
//! The harness calls every test through a function of its own, which is there to be found in backtraces.
//!
//! ```wat
//! ;; before
//! (func $test::__rust_begin_short_backtrace (param i32 i32) ..)
//! ;; after
//! (func $test::__rust_begin_short_backtrace (param i32 i32)
//!   i32.const 3 (; site ;) call $coyote_rt.test_begin
//!   local.get 0 local.get 1 call $"test::__rust_begin_short_backtrace (body)"
//!   i32.const 4 (; site ;) call $coyote_rt.test_end)
//! (func $"test::__rust_begin_short_backtrace (body)" (param i32 i32) ..)
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::code::Code;
use crate::draft::{Draft, site_location};
use crate::libtest::calls_test;
use coyote_abi::{OpKind, rt};
use walrus::ir::{Call, InstrLocId};
use walrus::{FunctionBuilder, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.original.libtest {
        return Ok(());
    }
    let begin = draft.suspending(rt::TEST_BEGIN, &[ValType::I32], &[]);
    let end = draft.suspending(rt::TEST_END, &[ValType::I32], &[]);
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        if !calls_test(&draft.original.functions[origin as usize].name) {
            continue;
        }
        let ty = draft.module.types.get(draft.module.funcs.get(id).ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let at = draft.location(origin, InstrLocId::default());
        draft.wrap(id, " (body)", |draft, inner| {
            let args: Vec<_> = params.iter().map(|ty| draft.module.locals.add(*ty)).collect();
            let mut code = Code::default();
            let announce = |draft: &mut Draft, code: &mut Code, kind, function| {
                let site = draft.site(at, kind, 0, 0);
                code.i32(site as i32).push(Call { func: function }, site_location(site));
            };
            announce(draft, &mut code, OpKind::Start, begin);
            args.iter().for_each(|arg| {
                code.get(*arg);
            });
            // The beginning of the function is no instruction's place, so it is free for this one.
            code.push(Call { func: inner }, InstrLocId::new(at.offset));
            announce(draft, &mut code, OpKind::Exit, end);
            let mut body = FunctionBuilder::new(&mut draft.module.types, &params, &results).local_func(args);
            let entry = body.entry_block();
            body.block_mut(entry).instrs = code.into();
            body
        });
    }
    Ok(())
}
