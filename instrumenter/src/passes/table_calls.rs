//! Makes a call through a table that changes resume in the function in which it began.
//!
//! A worker that was suspended in a callee returns there by repeating the calls on its stack. Meanwhile
//! another worker may have put another function into the table. So the call is made through a table of all
//! functions that a table can contain, which never changes; the host says at which index a function is there.
//! Done only if the module changes tables at all.
//!
//! ```wat
//! ;; before
//! local.get 0
//! call_indirect $t (type $f)
//! ;; after
//! local.get 0
//! table.get $t
//! call $coyote_rt.function_index
//! call_indirect $__cy_functions (type $f)
//! ```
//!
//! The last entry is null, for calls of a null entry. Invalid calls trap as before.

use crate::Error;
use crate::analysis::Analyses;
use crate::code::{Code, sequences};
use crate::draft::Draft;
use coyote_abi::rt;
use std::collections::BTreeSet;
use walrus::ir::{Call, CallIndirect, Instr, TableGet, Value};
use walrus::{ConstExpr, ElementItems, ElementKind, FunctionId, LocalFunction, RefType, TableId, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.changes_tables {
        return Ok(());
    }
    let guest = draft.guest_functions();
    let functions: Vec<FunctionId> = referenced(draft, &guest).into_iter().collect();
    let size = functions.len() as u64 + 1;
    let table = draft.module.tables.add_local(false, size, Some(size), RefType::FUNCREF);
    draft.module.tables.get_mut(table).name = Some(rt::FUNCTIONS.into());
    let kind = ElementKind::Active { table, offset: ConstExpr::Value(Value::I32(0)) };
    let segment = draft.module.elements.add(kind, ElementItems::Functions(functions));
    draft.module.tables.get_mut(table).elem_segments.insert(segment);
    draft.module.exports.add(rt::FUNCTIONS, table);
    if !draft.has(|instr| matches!(instr, Instr::CallIndirect(_))) {
        return Ok(());
    }
    let index = draft.import(rt::FUNCTION_INDEX, &[ValType::Ref(RefType::FUNCREF)], &[ValType::I32]);
    for id in guest {
        draft.edit(id, |_, function| redirect(function, table, index));
    }
    Ok(())
}

/// All functions that a reference can refer to.
fn referenced(draft: &Draft, guest: &[FunctionId]) -> BTreeSet<FunctionId> {
    let mut functions = BTreeSet::new();
    let mut add = |expression: &ConstExpr| {
        if let ConstExpr::RefFunc(function) = expression {
            functions.insert(*function);
        }
    };
    for element in draft.module.elements.iter() {
        match &element.items {
            ElementItems::Functions(items) => items.iter().for_each(|f| add(&ConstExpr::RefFunc(*f))),
            ElementItems::Expressions(_, items) => items.iter().for_each(&mut add),
        }
    }
    for global in draft.module.globals.iter() {
        if let walrus::GlobalKind::Local(initial) = &global.kind {
            add(initial);
        }
    }
    for id in guest {
        let function = draft.module.funcs.get(*id).kind.unwrap_local();
        for sequence in sequences(function) {
            for (instr, _) in &function.block(sequence).instrs {
                if let Instr::RefFunc(i) = instr {
                    add(&ConstExpr::RefFunc(i.func));
                }
            }
        }
    }
    functions
}

fn redirect(function: &mut LocalFunction, table: TableId, index: FunctionId) {
    for sequence in sequences(function) {
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len());
        for (instr, at) in instrs {
            let Instr::CallIndirect(call) = &instr else {
                code.push(instr, at);
                continue;
            };
            code.push(TableGet { table: call.table }, at);
            code.push(Call { func: index }, at);
            code.push(CallIndirect { ty: call.ty, table }, at);
        }
        function.block_mut(sequence).instrs = code.into();
    }
}
