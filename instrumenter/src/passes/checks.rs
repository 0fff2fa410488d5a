//! Asks the host whether accesses may be made that are no scheduling points: those of atomic functions, such as `printf`,
//! and of functions that only they call. So a freed block that is printed is found like one that is read.
//!
//! Left out are allocators, which may do to memory what they like; the SDK's own functions; and accesses of a function's
//! own frame. Where plain accesses are no points by the user's choice, they are not checked either.
//!
//! ```wat
//! ;; before
//! local.get 0
//! i32.load8_u offset=8
//! ;; after
//! local.get 0 i32.const 8 i32.add i32.const 1 i32.const 0 (; a read ;) call $coyote_rt.check
//! local.get 0
//! i32.load8_u offset=8
//! ```

use crate::Draft;
use crate::analysis::access::{Access, Bulk};
use crate::code::Code;
use crate::options::Points;
use coyote_abi::rt;
use walrus::ValType;
use walrus::ir::Instr;

/// Whether the accesses of a function are checked.
pub fn are_wanted(draft: &Draft, origin: u32) -> bool {
    draft.options.memory_errors && draft.options.points == Points::Heap && draft.checked.contains(&origin)
}

/// Asks about an access; `address` pushes its address without the offset.
pub fn ask(draft: &mut Draft, code: &mut Code, access: &Access, address: &Instr) {
    code.address(address, access.offset).i32(access.size.into());
    call(draft, code, access.kind.writes());
}

/// Asks about a bulk operation: its operands are destination, source or value, and length.
pub fn ask_bulk(draft: &mut Draft, code: &mut Code, bulk: Bulk, operands: &[Instr]) {
    if bulk == Bulk::Copy {
        code.add(operands[1].clone()).add(operands[2].clone());
        call(draft, code, false);
    }
    code.add(operands[0].clone()).add(operands[2].clone());
    call(draft, code, true);
}

fn call(draft: &mut Draft, code: &mut Code, write: bool) {
    let import = draft.import(rt::CHECK, &[ValType::I32; 3], &[]);
    code.i32(write.into()).call(import);
}
