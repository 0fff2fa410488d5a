//! Makes the size of guest memory virtual.
//!
//! Memory cannot shrink, but a restore must be able to shrink it. So the size that the guest sees is a
//! global, and memory has [`rt::SLACK_PAGES`] more pages than that from the beginning. Growth within them is
//! undone at no cost; only growth beyond them needs a fresh instance.
//!
//! The price: an access between the guest's size and the real one does not trap by itself. The host checks
//! every announced access against the guest's size. Accesses that are not announced (code in atomic
//! functions, and plain accesses below `--points heap`) are not checked: they read zeros, the same in every
//! iteration.
//!
//! A guest without `memory.grow` is not changed.
//!
//! ```wat
//! ;; before
//! memory.size
//! memory.grow
//! ;; after
//! global.get $__cy_pages
//! call $__cy_grow
//! ```

use super::effects;
use crate::Error;
use crate::analysis::Analyses;
use crate::code::{Code, sequences};
use crate::draft::Draft;
use coyote_abi::rt;
use walrus::ir::*;
use walrus::{ConstExpr, FunctionId, GlobalId, ValType};

/// Pages of a 32-bit address space.
const PAGES_MAX: u64 = 1 << 16;

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.has(|instr| matches!(instr, Instr::MemoryGrow(i) if i.memory == draft.memory)) {
        return Ok(());
    }
    let guest = draft.guest_functions();
    let memory = draft.module.memories.get_mut(draft.memory);
    let initial = memory.initial;
    let limit = memory.maximum.unwrap_or(PAGES_MAX).min(PAGES_MAX);
    memory.initial = (initial + rt::SLACK_PAGES).min(limit);
    let value = ConstExpr::Value(Value::I32(initial as i32));
    let pages = draft.module.globals.add_local(ValType::I32, true, false, value);
    draft.module.globals.get_mut(pages).name = Some(rt::PAGES.to_string());
    draft.module.exports.add(rt::PAGES, pages);
    let function = add_grow(draft, pages);
    for id in guest {
        draft.edit(id, |draft, body| {
            for sequence in sequences(body) {
                for (instr, _) in &mut body.block_mut(sequence).instrs {
                    match instr {
                        Instr::MemorySize(i) if i.memory == draft.memory => {
                            *instr = GlobalGet { global: pages }.into();
                        }
                        Instr::MemoryGrow(i) if i.memory == draft.memory => {
                            *instr = Call { func: function }.into();
                        }
                        _ => {}
                    }
                }
            }
        });
    }
    Ok(())
}

/// `grow(delta) -> old size, or -1`: really grows only beyond the existing pages.
fn add_grow(draft: &mut Draft, pages: GlobalId) -> FunctionId {
    let memory = draft.memory;
    let grown = draft.import(rt::MEMORY_GROWN, &[ValType::I32], &[ValType::I32]);
    // The answer of `memory.grow` depends on the size.
    let seen = draft.options.footprints.then(|| effects::import(draft));
    let delta = draft.module.locals.add(ValType::I32);
    let old = draft.module.locals.add(ValType::I32);
    let new = draft.module.locals.add(ValType::I32);
    draft.add_function("__cy_grow", &[delta], &[ValType::I32], |function| {
        let mut code = Code::default();
        if let Some(seen) = seen {
            code.i32(rt::Seen::MemorySize.of(0)).i32(0).i32(0).call(seen);
        }
        // More than the address space: `old + delta` must not wrap around.
        code.global_get(pages).set(old);
        code.get(delta).i32(PAGES_MAX as i32).get(old).binary(BinaryOp::I32Sub).binary(BinaryOp::I32GtU);
        code.if_then(function, |code| {
            code.i32(-1).add(Return {});
        });
        code.get(old).get(delta).binary(BinaryOp::I32Add).set(new);
        // The number of missing pages; growing by 0 changes nothing.
        code.get(new).add(MemorySize { memory }).binary(BinaryOp::I32Sub).i32(0);
        code.get(new).add(MemorySize { memory }).binary(BinaryOp::I32GtU).add(Select { ty: None });
        code.add(MemoryGrow { memory }).i32(-1).binary(BinaryOp::I32Eq);
        code.if_then(function, |code| {
            code.i32(-1).add(Return {});
        });
        code.get(new).call(grown).unary(UnaryOp::I32Eqz);
        code.if_then(function, |code| {
            code.i32(-1).add(Return {});
        });
        code.get(new).global_set(pages).get(old);
        code
    })
}
