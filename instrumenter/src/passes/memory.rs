//! Makes the guest's state savable, restorable and comparable.
//!
//! - Each write of guest memory marks its chunk in the dirty memory. The chunk of the first byte is
//!   enough: the host knows that a store may reach 15 bytes further. A wrapped address is harmless,
//!   since the store then traps.
//! - Passive data segments are never really dropped: a global records the drop, and `memory.init` of a
//!   dropped segment traps unless it copies nothing, as the specification requires.
//! - An instruction that changes tables or reference-typed globals sets a flag first; the host then takes a fresh
//!   instance instead of restoring.
//! - Shared mutable globals are read and written through a separate memory.
//! - Each change of the stack pointer is compared with the bound of the worker's stack.
//!
//! ```wat
//! ;; before
//! local.get 0
//! local.get 1
//! i32.store offset=8
//! global.set $__stack_pointer
//! ;; after
//! local.get 0 i32.const 8 i32.add i32.const 10 i32.shr_u
//! i32.const 1 i32.store8 $__cy_dirty
//! local.get 0
//! local.get 1
//! i32.store offset=8
//! global.set $__stack_pointer
//! global.get $__stack_pointer global.get $__cy_stack_low i32.lt_u
//! (if (then global.get $__stack_pointer call $coyote_rt.stack_overflow))
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::access::{Bulk, access, bulk};
use crate::code::{Code, sequences};
use crate::draft::{Draft, OwnGlobal};
use crate::operands::Aside;
use coyote_abi::rt;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{
    ConstExpr, DataId, Element, ElementId, ElementKind, ExportItem, FunctionId, Global, GlobalId,
    LocalFunction, LocalId, MemoryId, ValType,
};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let guest = draft.guest_functions();
    let memories = Memories::add(draft);
    let dropped = dropped_segments(draft, &guest);
    let flag = draft.module.globals.add_local(ValType::I32, true, false, zero(ValType::I32));
    draft.module.exports.add(rt::TABLES_CHANGED, flag);
    let stack = stack_bound(draft);
    let state = State { memories, dropped, flag, stack };
    for id in &guest {
        draft.edit(*id, |draft, function| keep_in(draft, function, &state));
    }
    if draft.changes_tables {
        export_references(draft);
    }
    save_and_load(draft);
    Ok(())
}

/// Exports tables and reference-typed globals, so that the host can see their contents, which are part of the
/// state.
fn export_references(draft: &mut Draft) {
    let tables = draft.module.tables.iter().map(|table| ExportItem::Table(table.id()));
    let holds = |global: &&Global| global.mutable && matches!(global.ty, ValType::Ref(_));
    let globals = draft.module.globals.iter().filter(holds).map(|global| ExportItem::Global(global.id()));
    let items: Vec<ExportItem> = tables.chain(globals).collect();
    for (number, item) in items.into_iter().enumerate() {
        draft.module.exports.add(&format!("{}{number}", rt::REFERENCES_PREFIX), item);
    }
}

/// A passive segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Data(DataId),
    Elements(ElementId),
}

/// Items that the instructions of this pass refer to.
struct State {
    memories: Memories,
    /// Flags of passive segments that some instruction drops.
    dropped: BTreeMap<Segment, GlobalId>,
    /// Set when a table changes.
    flag: GlobalId,
    /// The stack pointer, its bound, and the function to call if it is below the bound.
    stack: Option<(GlobalId, GlobalId, FunctionId)>,
}

struct Memories {
    dirty: MemoryId,
    /// `mark(address, length)`: marks all chunks of a range.
    mark: FunctionId,
}

impl Memories {
    fn add(draft: &mut Draft) -> Memories {
        draft.module.exports.add(rt::MEMORY, draft.memory);
        // One byte for each chunk of a 32-bit address space.
        let pages = (1 << 32) / rt::CHUNK as u64 / 65536;
        let dirty = draft.module.memories.add_local(false, false, pages, Some(pages), None);
        draft.module.memories.get_mut(dirty).name = Some(rt::DIRTY.to_string());
        draft.module.exports.add(rt::DIRTY, dirty);
        let locals: Vec<LocalId> = (0..2).map(|_| draft.module.locals.add(ValType::I32)).collect();
        let last = draft.module.locals.add(ValType::I64);
        let mark = draft.add_function("__cy_mark", &locals, &[], |function| {
            let (address, length) = (locals[0], locals[1]);
            let mut code = Code::default();
            // Computed in 64 bits and limited to the last byte: the operation itself checks its bounds.
            code.get(length).if_then(function, |code| {
                code.get(address).unary(UnaryOp::I64ExtendUI32);
                code.get(length).unary(UnaryOp::I64ExtendUI32);
                code.binary(BinaryOp::I64Add).i64(1).binary(BinaryOp::I64Sub).tee(last);
                code.i64(u32::MAX.into()).get(last).i64(u32::MAX.into());
                code.binary(BinaryOp::I64LtU).add(Select { ty: None }).set(last);
                code.get(address).i32(chunk_bits()).binary(BinaryOp::I32ShrU).i32(1);
                code.get(last).unary(UnaryOp::I32WrapI64).i32(chunk_bits()).binary(BinaryOp::I32ShrU);
                code.get(address).i32(chunk_bits()).binary(BinaryOp::I32ShrU);
                code.binary(BinaryOp::I32Sub).i32(1).binary(BinaryOp::I32Add);
                code.add(MemoryFill { memory: dirty });
            });
            code
        });
        Memories { dirty, mark }
    }
}

fn chunk_bits() -> i32 {
    rt::CHUNK.trailing_zeros() as i32
}

fn zero(ty: ValType) -> ConstExpr {
    ConstExpr::Value(match ty {
        ValType::I64 => Value::I64(0),
        ValType::F32 => Value::F32(0.0),
        ValType::F64 => Value::F64(0.0),
        ValType::V128 => Value::V128(0),
        _ => Value::I32(0),
    })
}

/// Gives each passive segment that some instruction drops a flag, which is shared state.
fn dropped_segments(draft: &mut Draft, guest: &[FunctionId]) -> BTreeMap<Segment, GlobalId> {
    let mut segments = BTreeSet::new();
    let of_elements = |element: &Element| matches!(element.kind, ElementKind::Passive);
    let passive =
        draft.module.data.iter().any(|d| d.is_passive()) || draft.module.elements.iter().any(of_elements);
    for id in guest.iter().filter(|_| passive) {
        let function = draft.module.funcs.get(*id).kind.unwrap_local();
        for sequence in sequences(function) {
            segments.extend(function.block(sequence).instrs.iter().filter_map(|(i, _)| match i {
                Instr::DataDrop(i) if draft.module.data.get(i.data).is_passive() => {
                    Some(Segment::Data(i.data))
                }
                Instr::ElemDrop(i) if of_elements(draft.module.elements.get(i.elem)) => {
                    Some(Segment::Elements(i.elem))
                }
                _ => None,
            }));
        }
    }
    let mut flags = BTreeMap::new();
    for segment in segments {
        let flag = draft.module.globals.add_local(ValType::I32, true, false, zero(ValType::I32));
        draft.shared_globals.push(flag);
        draft.segment_flags += 1;
        flags.insert(segment, flag);
    }
    flags
}

/// Adds the bound of the worker's stack, if it is known where the stack is.
fn stack_bound(draft: &mut Draft) -> Option<(GlobalId, GlobalId, FunctionId)> {
    let pointer = draft.stack_pointer?;
    let low = draft.module.globals.add_local(ValType::I32, true, false, zero(ValType::I32));
    let name = rt::STACK_LOW.to_string();
    draft.module.globals.get_mut(low).name = Some(name.clone());
    draft.module.exports.add(rt::STACK_LOW, low);
    draft.own_globals.push(OwnGlobal { id: low, name, stack_pointer: false });
    Some((pointer, low, draft.import(rt::STACK_OVERFLOW, &[ValType::I32], &[])))
}

fn keep_in(draft: &mut Draft, function: &mut LocalFunction, state: &State) {
    let memory = draft.memory;
    let mut aside = Aside::default();
    for sequence in sequences(function) {
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() * 2);
        for (instr, at) in instrs {
            if let Some(access) = access(&instr, memory)
                && access.kind.writes()
            {
                let mut types = vec![ValType::I32];
                types.extend(access.values);
                let (operands, again) = aside.operands(draft, &mut code, &types);
                mark(&mut code, &operands[0], access.offset, state.memories.dirty);
                code.append(again);
            } else if let Some(kind) = bulk(&instr, memory) {
                let (operands, again) = aside.operands(draft, &mut code, &[ValType::I32; 3]);
                code.add(operands[0].clone()).add(operands[2].clone()).call(state.memories.mark);
                if let (Bulk::Init, Instr::MemoryInit(i)) = (kind, &instr)
                    && let Some(flag) = state.dropped.get(&Segment::Data(i.data))
                {
                    trap_if_dropped(function, &mut code, &operands, *flag, memory);
                }
                code.append(again);
            }
            match &instr {
                Instr::DataDrop(i) if state.dropped.contains_key(&Segment::Data(i.data)) => {
                    code.push(Const { value: Value::I32(1) }, at);
                    code.global_set(state.dropped[&Segment::Data(i.data)]);
                    continue;
                }
                Instr::TableSet(_)
                | Instr::TableGrow(_)
                | Instr::TableFill(_)
                | Instr::TableCopy(_)
                | Instr::TableInit(_)
                | Instr::ElemDrop(_) => {
                    draft.changes_tables = true;
                    code.i32(1).global_set(state.flag);
                    if let Instr::ElemDrop(i) = &instr
                        && let Some(flag) = state.dropped.get(&Segment::Elements(i.elem))
                    {
                        code.i32(1).global_set(*flag);
                    }
                }
                Instr::GlobalSet(i) if matches!(draft.module.globals.get(i.global).ty, ValType::Ref(_)) => {
                    draft.changes_tables = true;
                    code.i32(1).global_set(state.flag);
                }
                _ => {}
            }
            let sets = match &instr {
                Instr::GlobalSet(i) => Some(i.global),
                _ => None,
            };
            code.push(instr, at);
            if let Some((pointer, low, overflow)) = state.stack
                && sets == Some(pointer)
            {
                code.global_get(pointer).global_get(low).binary(BinaryOp::I32LtU);
                code.if_then(function, |code| {
                    code.global_get(pointer).call(overflow);
                });
            }
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// Marks the chunk of an address, given as the instruction that pushes it.
fn mark(code: &mut Code, address: &Instr, offset: u64, dirty: MemoryId) {
    if let Instr::Const(Const { value: Value::I32(address) }) = address {
        let chunk = (*address as u32).wrapping_add(offset as u32) >> chunk_bits();
        code.i32(chunk as i32);
    } else {
        code.address(address, offset).i32(chunk_bits()).binary(BinaryOp::I32ShrU);
    }
    code.i32(1).store8(dirty);
}

/// A dropped segment is empty: only reading 0 bytes at 0 is allowed. The trap must be the one of
/// `memory.init`, so it comes from an operation that is out of bounds in any memory.
fn trap_if_dropped(
    function: &mut LocalFunction,
    code: &mut Code,
    operands: &[Instr],
    flag: GlobalId,
    memory: MemoryId,
) {
    code.add(operands[1].clone()).add(operands[2].clone()).binary(BinaryOp::I32Or);
    code.i32(0).binary(BinaryOp::I32Ne).global_get(flag).binary(BinaryOp::I32And);
    code.if_then(function, |code| {
        code.i32(-1).i32(0).i32(-1).add(MemoryFill { memory });
    });
}

/// Adds the functions that copy the shared globals to and from their memory.
fn save_and_load(draft: &mut Draft) {
    if draft.shared_globals.is_empty() {
        return;
    }
    let pages = (draft.shared_globals.len() * rt::GLOBAL_BYTES).div_ceil(65536) as u64;
    let memory = draft.module.memories.add_local(false, false, pages, Some(pages), None);
    draft.module.memories.get_mut(memory).name = Some(rt::GLOBALS.to_string());
    draft.module.exports.add(rt::GLOBALS, memory);
    let (mut save, mut load) = (Code::default(), Code::default());
    for (index, global) in draft.shared_globals.iter().enumerate() {
        let (stores, loads, align) = match draft.module.globals.get(*global).ty {
            ValType::I64 => (StoreKind::I64 { atomic: false }, LoadKind::I64 { atomic: false }, 8),
            ValType::F32 => (StoreKind::F32, LoadKind::F32, 4),
            ValType::F64 => (StoreKind::F64, LoadKind::F64, 8),
            ValType::V128 => (StoreKind::V128, LoadKind::V128, 16),
            _ => (StoreKind::I32 { atomic: false }, LoadKind::I32 { atomic: false }, 4),
        };
        let arg = MemArg { align, offset: (index * rt::GLOBAL_BYTES) as u64 };
        save.i32(0).global_get(*global).add(Store { memory, kind: stores, arg });
        load.i32(0).add(Load { memory, kind: loads, arg }).global_set(*global);
    }
    for (name, code) in [(rt::SAVE_GLOBALS, save), (rt::LOAD_GLOBALS, load)] {
        let id = draft.add_function(name, &[], &[], |_| code);
        draft.module.exports.add(name, id);
    }
}
