//! Turns waiting, notifying and starting threads into calls of suspending imports.
//!
//! The same is done to the synchronisation imports of module `coyote` and the WASI calls that block or exit:
//! each call passes the number of its site and resets the countdown. `replacement` says what replaces each
//! import.
//!
//! ```wat
//! ;; before
//! (import "coyote" "mutex_lock" (func $lock (param i32)))
//! (func $f
//!   i32.const 8
//!   call $lock
//!   local.get 0 local.get 1 i64.const -1
//!   memory.atomic.wait32 offset=4
//!   drop)
//! ;; after
//! (import "coyote_rt" "mutex_lock" (func $coyote_rt.mutex_lock (param i32 i32)))
//! (func $f
//!   i32.const 8
//!   i32.const 1000 global.set $__cy_budget
//!   i32.const 0 (; site ;) call $coyote_rt.mutex_lock
//!   local.get 0 local.get 1 i64.const -1
//!   local.set 3 local.set 2
//!   i32.const 4 i32.add local.tee 4 i32.const 4 i32.lt_u (if (then unreachable))
//!   local.get 4 local.get 2 local.get 3
//!   i32.const 1000 global.set $__cy_budget
//!   i32.const 1 (; site ;) call $coyote_rt.futex_wait
//!   drop)
//! ```
//!
//! An import whose address is taken is called through an added function, which has a call that can have a
//! site.

use super::replacement::{Replacement, replacements};
use crate::analysis::{Analyses, calls};
use crate::announce::call_site;
use crate::code::{Code, sequences};
use crate::draft::{Draft, site_location};
use crate::{Error, Location};
use coyote_abi::{OpKind, rt};
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{FunctionId, LocalFunction, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let replaced = replacements(draft);
    let mut needed = calls::taken_by_constants(&draft.module);
    needed.extend(calls::roots(&draft.module));
    for id in draft.guest_functions() {
        draft.edit(id, |draft, function| replace_in(draft, id, function, &replaced, &mut needed));
    }
    retire(draft, &replaced, &needed);
    Ok(())
}

fn replace_in(
    draft: &mut Draft,
    id: FunctionId,
    function: &mut LocalFunction,
    replaced: &BTreeMap<FunctionId, Replacement>,
    taken: &mut BTreeSet<FunctionId>,
) {
    let origin = draft.origin(id).expect("it is the guest's");
    let mut concerned = |i: &Instr| match i {
        Instr::Call(i) => replaced.contains_key(&i.func),
        Instr::ReturnCall(i) => replaced.contains_key(&i.func),
        Instr::RefFunc(i) => {
            taken.insert(i.func);
            false
        }
        Instr::AtomicWait(_) | Instr::AtomicNotify(_) => true,
        _ => false,
    };
    for sequence in sequences(function) {
        // Not `any`: `concerned` also collects all functions whose address is taken.
        if function.block(sequence).instrs.iter().filter(|(i, _)| concerned(i)).count() == 0 {
            continue;
        }
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() + 8);
        for (instr, at) in instrs {
            let location = draft.location(origin, at);
            match &instr {
                Instr::Call(Call { func }) | Instr::ReturnCall(ReturnCall { func })
                    if replaced.contains_key(func) =>
                {
                    let replacement = &replaced[func];
                    let site = draft.site(location, replacement.kind(), 0, 0);
                    replacement.call(draft, &mut code, (site, location), at);
                    if matches!(instr, Instr::ReturnCall(_)) {
                        code.add(Return {});
                        // Walrus keeps the code after a tail call, though it is never executed.
                        break;
                    }
                }
                Instr::AtomicWait(i) => {
                    let value = if i.sixty_four { ValType::I64 } else { ValType::I32 };
                    let name = if i.sixty_four { rt::FUTEX_WAIT64 } else { rt::FUTEX_WAIT };
                    let params = [ValType::I32, value, ValType::I64, ValType::I32];
                    add_offset(draft, function, &mut code, i.arg.offset, &params[1..3]);
                    let import = draft.suspending(name, &params, &[ValType::I32]);
                    let size = if i.sixty_four { 8 } else { 4 };
                    let site = draft.site(location, OpKind::FutexWait, size, 0);
                    call_site(draft, &mut code, site);
                    code.push(Call { func: import }, at);
                }
                Instr::AtomicNotify(i) => {
                    let params = [ValType::I32; 3];
                    add_offset(draft, function, &mut code, i.arg.offset, &params[1..2]);
                    let import = draft.suspending(rt::FUTEX_NOTIFY, &params, &[ValType::I32]);
                    let site = draft.site(location, OpKind::FutexNotify, 4, 0);
                    call_site(draft, &mut code, site);
                    code.push(Call { func: import }, at);
                }
                _ => {
                    code.push(instr, at);
                }
            }
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// Adds a constant offset to the address below the operands `above` on the stack. If the sum exceeds the
/// address space, the original traps, and so does this code.
fn add_offset(
    draft: &mut Draft,
    function: &mut LocalFunction,
    code: &mut Code,
    offset: u64,
    above: &[ValType],
) {
    if offset == 0 {
        return;
    }
    let locals: Vec<_> = above.iter().map(|ty| draft.module.locals.add(*ty)).collect();
    let address = draft.module.locals.add(ValType::I32);
    locals.iter().rev().for_each(|local| {
        code.set(*local);
    });
    code.i32(offset as i32).binary(BinaryOp::I32Add).tee(address);
    code.i32(offset as i32).binary(BinaryOp::I32LtU);
    code.if_then(function, |code| {
        code.add(Unreachable {});
    });
    code.get(address);
    locals.iter().for_each(|local| {
        code.get(*local);
    });
}

/// Removes the replaced imports. An import whose address is taken, or that is exported, becomes a function
/// that makes the call.
fn retire(draft: &mut Draft, replaced: &BTreeMap<FunctionId, Replacement>, needed: &BTreeSet<FunctionId>) {
    for (id, replacement) in replaced {
        if !needed.contains(id) {
            draft.delete_import(*id);
            continue;
        }
        let origin = draft.origin(*id).expect("it is the guest's");
        let location = Location { function: origin, offset: 0 };
        let site = draft.site(location, replacement.kind(), 0, 0);
        let ty = draft.module.types.get(draft.module.funcs.get(*id).ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let params: Vec<_> = params.iter().map(|ty| (*ty, draft.module.locals.add(*ty))).collect();
        let types: Vec<_> = params.iter().map(|(ty, _)| *ty).collect();
        let builder = walrus::FunctionBuilder::new(&mut draft.module.types, &types, &results);
        let mut body = builder.local_func(params.iter().map(|(_, local)| *local).collect());
        let mut code = Code::default();
        params.iter().for_each(|(_, local)| {
            code.get(*local);
        });
        replacement.call(draft, &mut code, (site, location), site_location(site));
        let entry = body.entry_block();
        body.block_mut(entry).instrs = code.into();
        draft.implement_import(*id, body);
    }
}
