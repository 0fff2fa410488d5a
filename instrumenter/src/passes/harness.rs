//! Marks where Rust's test harness calls a test, so that the host can begin each iteration there and does not
//! interrupt the harness.
//!
//! The harness calls every test through a dedicated function, which exists so that backtraces show it.
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
//! If panics unwind, a panic that leaves the test is announced by `test_unwound` instead.

use crate::Error;
use crate::analysis::Analyses;
use crate::code::Code;
use crate::draft::{Draft, site_location};
use crate::libtest::calls_test;
use crate::on_exception::on_exception;
use coyote_abi::{OpKind, rt};
use walrus::ValType;
use walrus::ir::{Call, InstrLocId};

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
        let at = draft.location(origin, InstrLocId::default());
        draft.wrap(id, " (body)", |draft, wrapper| {
            let mut code = Code::default();
            let begins = draft.site(at, OpKind::Start, 0, 0);
            let ends = draft.site(at, OpKind::Exit, 0, 0);
            code.i32(begins as i32).push(Call { func: begin }, site_location(begins));
            // The offset of the function's beginning is not that of an instruction, so this call can use it.
            let call = wrapper.forward(InstrLocId::new(at.offset));
            on_exception(draft, wrapper, &mut code, call, |draft, code| {
                // A trace identifies a site by its place, so this is the same site as that of a normal end.
                code.i32(ends as i32).call(draft.suspending(rt::TEST_UNWOUND, &[ValType::I32], &[]));
            });
            code.i32(ends as i32).push(Call { func: end }, site_location(ends));
            code
        });
    }
    Ok(())
}
