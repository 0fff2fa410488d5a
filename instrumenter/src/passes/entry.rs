//! Calls functions of the table by their own types.
//!
//! C programs start threads with functions that were declared without an argument or without a result. The
//! import `coyote.call_entry` of type (i32) -> i32 becomes a function that knows the type of each entry which
//! a constant element segment puts into the table. `coyote.call_main` does the same for up to three arguments.
//!
//! ```wat
//! ;; before
//! (import "coyote" "call_entry" (func $call_entry (param i32 i32) (result i32)))
//! (type $nothing (func))
//! (table 3 funcref)
//! (elem (i32.const 1) $takes_and_gives_one $neither)
//! ;; after
//! (func $call_entry (param $entry i32) (param $argument i32) (result i32)
//!   block $other
//!     block $neither
//!       local.get $entry
//!       br_table $other $other $neither $other
//!     end
//!     local.get $entry
//!     call_indirect (type $nothing)
//!     i32.const 0
//!     return
//!   end
//!   local.get $argument
//!   local.get $entry
//!   call_indirect (param i32) (result i32))
//! ```
//!
//! An unknown entry is called as if it took all arguments and returned an i32: this traps if it is wrong.

use crate::Error;
use crate::analysis::Analyses;
use crate::code::Code;
use crate::draft::Draft;
use coyote_abi::guest;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::{Block, BrTable, CallIndirect, InstrSeqId, Return, Unreachable, Value};
use walrus::{
    ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId, ImportKind, LocalFunction, LocalId,
    TableId, ValType,
};

/// How many arguments an entry takes, and whether it has a result; all are i32.
type Shape = (usize, bool);

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    for name in [guest::CALL_ENTRY, guest::CALL_MAIN] {
        let import = draft.module.imports.iter().find_map(|i| match i.kind {
            ImportKind::Function(id) if i.module == guest::MODULE && i.name == name => Some(id),
            _ => None,
        });
        if let Some(import) = import {
            implement(draft, import);
        }
    }
    Ok(())
}

fn implement(draft: &mut Draft, import: FunctionId) {
    let table = draft.module.tables.iter().next().map(|table| table.id());
    let shapes = table.map_or_else(BTreeMap::new, |table| shapes(draft, table));
    let params = draft.module.types.get(draft.module.funcs.get(import).ty()).params().to_vec();
    // The entry, then its arguments.
    let locals: Vec<LocalId> = params.iter().map(|ty| draft.module.locals.add(*ty)).collect();
    let usual: Shape = (locals.len() - 1, true);
    let builder = FunctionBuilder::new(&mut draft.module.types, &params, &[ValType::I32]);
    let mut body = builder.local_func(locals.clone());
    let mut code = Code::default();
    match table {
        None => {
            code.add(Unreachable {});
        }
        Some(table) => {
            let known: BTreeSet<Shape> = shapes.values().copied().collect();
            let unusual: Vec<Shape> = known.into_iter().filter(|s| *s != usual && s.0 <= usual.0).collect();
            if !unusual.is_empty() {
                dispatch(draft, &mut body, &mut code, table, &locals, &shapes, &unusual);
            }
            call(draft, &mut code, table, &locals, usual);
        }
    }
    let block = body.entry_block();
    body.block_mut(block).instrs = code.into();
    draft.implement_import(import, body);
}

/// The shapes of a table's entries, where they are known and can be called.
fn shapes(draft: &Draft, table: TableId) -> BTreeMap<u32, Shape> {
    let mut shapes = BTreeMap::new();
    for element in draft.module.elements.iter() {
        let ElementKind::Active { table: into, offset: ConstExpr::Value(Value::I32(offset)) } = &element.kind
        else {
            continue;
        };
        if *into != table {
            continue;
        }
        let functions: Vec<Option<FunctionId>> = match &element.items {
            ElementItems::Functions(functions) => functions.iter().copied().map(Some).collect(),
            ElementItems::Expressions(_, items) => items
                .iter()
                .map(|item| match item {
                    ConstExpr::RefFunc(function) => Some(*function),
                    _ => None,
                })
                .collect(),
        };
        for (index, function) in (*offset as u32..).zip(functions) {
            // A later segment overwrites an earlier one.
            shapes.remove(&index);
            let Some(function) = function else { continue };
            let ty = draft.module.types.get(draft.module.funcs.get(function).ty());
            let ints = |types: &[ValType]| types.iter().all(|ty| *ty == ValType::I32);
            if ints(ty.params()) && ints(ty.results()) && ty.results().len() < 2 {
                shapes.insert(index, (ty.params().len(), ty.results().len() == 1));
            }
        }
    }
    shapes
}

/// Calls entries of unusual shapes and returns; falls through for all others.
fn dispatch(
    draft: &mut Draft,
    body: &mut LocalFunction,
    code: &mut Code,
    table: TableId,
    locals: &[LocalId],
    shapes: &BTreeMap<u32, Shape>,
    unusual: &[Shape],
) {
    let blocks: Vec<InstrSeqId> =
        (0..=unusual.len()).map(|_| body.builder_mut().dangling_instr_seq(None).id()).collect();
    // The last block is the outermost one; the usual call follows it.
    let other = blocks[unusual.len()];
    let entries = shapes.keys().next_back().map_or(0, |last| last + 1);
    let target = |index: u32| {
        let shape = shapes.get(&index).and_then(|shape| unusual.iter().position(|u| u == shape));
        shape.map_or(other, |number| blocks[number])
    };
    let mut inner = Code::default();
    inner.get(locals[0]).add(BrTable { blocks: (0..entries).map(target).collect(), default: other });
    for (number, shape) in unusual.iter().enumerate() {
        body.block_mut(blocks[number]).instrs = inner.into();
        inner = Code::default();
        inner.add(Block { seq: blocks[number] });
        call(draft, &mut inner, table, locals, *shape);
        inner.add(Return {});
    }
    body.block_mut(other).instrs = inner.into();
    code.add(Block { seq: other });
}

/// Leaves the result of an entry, or 0, on the stack.
fn call(draft: &mut Draft, code: &mut Code, table: TableId, locals: &[LocalId], (takes, gives): Shape) {
    for argument in &locals[1..=takes] {
        code.get(*argument);
    }
    let ty = draft.module.types.add(&vec![ValType::I32; takes], &vec![ValType::I32; usize::from(gives)]);
    code.get(locals[0]).add(CallIndirect { ty, table });
    if !gives {
        code.i32(0);
    }
}
