//! After pass 2: calls a function of the table by its own type.
//!
//! C programs start threads with functions that were declared without an argument or without a result. The
//! import `coyote.call_entry` of type (i32) -> i32 becomes a function that knows the type of each entry which
//! a constant element segment puts into the table.
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
//! An entry that is not known is called as if it took and gave an i32: it traps if that is wrong.

use crate::code::Code;
use crate::draft::Draft;
use coyote_abi::guest;
use std::collections::BTreeMap;
use walrus::ir::{Block, BrTable, CallIndirect, InstrSeqId, Return, Unreachable, Value};
use walrus::{
    ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId, ImportKind, LocalFunction, LocalId,
    TableId, ValType,
};

/// Whether an entry takes an argument, and whether it has a result.
type Shape = (bool, bool);

/// What is called directly: an i32 in, an i32 out.
const USUAL: Shape = (true, true);

pub fn entry(draft: &mut Draft) {
    let import = draft.module.imports.iter().find_map(|i| match i.kind {
        ImportKind::Function(id) if i.module == guest::MODULE && i.name == guest::CALL_ENTRY => Some(id),
        _ => None,
    });
    let Some(import) = import else { return };
    let table = draft.module.tables.iter().next().map(|table| table.id());
    let shapes = table.map_or_else(BTreeMap::new, |table| shapes(draft, table));
    let (entry, argument) = (draft.module.locals.add(ValType::I32), draft.module.locals.add(ValType::I32));
    let types = &mut draft.module.types;
    let builder = FunctionBuilder::new(types, &[ValType::I32; 2], &[ValType::I32]);
    let mut body = builder.local_func(vec![entry, argument]);
    let mut code = Code::default();
    match table {
        None => {
            code.add(Unreachable {});
        }
        Some(table) => {
            let unusual: Vec<Shape> = [(false, false), (false, true), (true, false)]
                .into_iter()
                .filter(|shape| shapes.values().any(|s| s == shape))
                .collect();
            if !unusual.is_empty() {
                dispatch(draft, &mut body, &mut code, table, (entry, argument), &shapes, &unusual);
            }
            call(draft, &mut code, table, (entry, argument), USUAL);
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
            let ints = |types: &[ValType]| match types {
                [] => Some(false),
                [ValType::I32] => Some(true),
                _ => None,
            };
            if let (Some(takes), Some(gives)) = (ints(ty.params()), ints(ty.results())) {
                shapes.insert(index, (takes, gives));
            }
        }
    }
    shapes
}

/// Calls entries of unusual shapes and returns; goes on with all others.
fn dispatch(
    draft: &mut Draft,
    body: &mut LocalFunction,
    code: &mut Code,
    table: TableId,
    locals: (LocalId, LocalId),
    shapes: &BTreeMap<u32, Shape>,
    unusual: &[Shape],
) {
    let blocks: Vec<InstrSeqId> =
        (0..=unusual.len()).map(|_| body.builder_mut().dangling_instr_seq(None).id()).collect();
    // The last block is the outermost one, behind which the usual call stands.
    let other = blocks[unusual.len()];
    let entries = shapes.keys().next_back().map_or(0, |last| last + 1);
    let target = |index: u32| {
        let shape = shapes.get(&index).and_then(|shape| unusual.iter().position(|u| u == shape));
        shape.map_or(other, |number| blocks[number])
    };
    let mut inner = Code::default();
    inner.get(locals.0).add(BrTable { blocks: (0..entries).map(target).collect(), default: other });
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
fn call(
    draft: &mut Draft,
    code: &mut Code,
    table: TableId,
    (entry, argument): (LocalId, LocalId),
    (takes, gives): Shape,
) {
    let int = |is: bool| if is { vec![ValType::I32] } else { vec![] };
    if takes {
        code.get(argument);
    }
    let ty = draft.module.types.add(&int(takes), &int(gives));
    code.get(entry).add(CallIndirect { ty, table });
    if !gives {
        code.i32(0);
    }
}
