//! Tells the host which memory and other state a step touches without a scheduling point ([`rt::SEEN`]): for
//! searches that rely on footprints ([`crate::Options::footprints`]), or, restricted to events that order
//! other accesses, for the detector of data races ([`crate::Options::edges`]). Points and sites stay the
//! same.
//!
//! - Accesses of memory that `points` does not announce: in atomic functions, in functions that the user left out,
//!   and below the user's level of points. For functions that the user left out, also fences, and which accesses are
//!   atomic: these still order other accesses.
//! - Whether a compare-exchange wrote: it counts as a read until the host is told that it wrote.
//! - The size of memory, tables and passive segments that the guest changes, and globals that all workers share.
//!
//! ```wat
//! ;; before
//! global.get $shared
//! local.get 0
//! local.get 1
//! local.get 2
//! i32.atomic.rmw.cmpxchg offset=8
//! ;; after
//! i32.const 0x307 (; global 3 is read ;) i32.const 0 i32.const 1 call $coyote_rt.seen
//! global.get $shared
//! ..
//! i32.atomic.rmw.cmpxchg offset=8
//! local.tee 5
//! local.get 5 local.get 1 i32.eq
//! (if (then i32.const 1 (; memory is written ;) local.get 0 i32.const 8 i32.add i32.const 4 call $coyote_rt.seen))
//! ```
//!
//! What an allocator does to its heap is not reported: allocating or freeing a block counts as a write of the
//! block, and the host is told of that in any case.

use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::access::{Access, Bulk};
use crate::code::{Code, sequences};
use crate::draft::{Draft, Tells};
use crate::operands::Aside;
use coyote_abi::rt::{self, Seen};
use std::collections::BTreeMap;
use walrus::ir::*;
use walrus::{DataId, ElementId, FunctionId, GlobalId, LocalFunction, LocalId, TableId, ValType};

/// `seen(what, object, size)`.
pub fn import(draft: &mut Draft) -> FunctionId {
    draft.import(rt::SEEN, &[ValType::I32; 3], &[])
}

/// Reports an access of memory; `address` pushes its address without the offset. A compare-exchange counts as
/// a read; whether it wrote is reported afterwards: see [`tell_exchange`].
pub fn tell_access(draft: &mut Draft, code: &mut Code, access: &Access, address: &Instr, left_out: bool) {
    let writes = access.kind.writes() && access.kind != coyote_abi::OpKind::CompareExchange;
    let seen = if writes { Seen::MemoryWrite } else { Seen::MemoryRead };
    push_access(draft, code, seen, access, address, left_out);
}

/// Reports that a fence is executed.
pub fn tell_fence(draft: &mut Draft, code: &mut Code) {
    let import = import(draft);
    code.i32(Seen::Fence.of(0)).i32(0).i32(0).call(import);
}

fn push_access(
    draft: &mut Draft,
    code: &mut Code,
    seen: Seen,
    access: &Access,
    address: &Instr,
    left_out: bool,
) {
    let import = import(draft);
    let marks = match (left_out, access.kind.is_atomic()) {
        (false, _) => 0,
        (true, false) => rt::LEFT_OUT,
        (true, true) => rt::LEFT_OUT | rt::ATOMIC,
    };
    code.i32(seen.of(marks)).address(address, access.offset).i32(access.size.into()).call(import);
}

/// Reports whether a compare-exchange wrote. Its result is on the stack: it wrote if that is the expected
/// value.
pub fn tell_exchange(
    draft: &mut Draft,
    function: &mut LocalFunction,
    code: &mut Code,
    access: &Access,
    (operands, result): (&[Instr], LocalId),
    left_out: bool,
) {
    code.tee(result).get(result).add(operands[1].clone());
    let narrow = access.size < if access.values[0] == ValType::I64 { 8 } else { 4 };
    let mask = (1u64 << (u32::from(access.size) * 8 % 64)) - 1;
    match access.values[0] {
        ValType::I64 if narrow => code.i64(mask as i64).binary(BinaryOp::I64And).binary(BinaryOp::I64Eq),
        ValType::I64 => code.binary(BinaryOp::I64Eq),
        _ if narrow => code.i32(mask as i32).binary(BinaryOp::I32And).binary(BinaryOp::I32Eq),
        _ => code.binary(BinaryOp::I32Eq),
    };
    let mut wrote = Code::default();
    push_access(draft, &mut wrote, Seen::MemoryWrite, access, &operands[0], left_out);
    code.if_then(function, |code| {
        code.append(wrote);
    });
}

/// Reports a bulk operation on memory: its operands are destination, source or value, and length.
pub fn tell_bulk(draft: &mut Draft, code: &mut Code, bulk: Bulk, operands: &[Instr]) {
    let import = import(draft);
    if bulk == Bulk::Copy {
        code.i32(Seen::MemoryRead.of(0)).add(operands[1].clone()).add(operands[2].clone()).call(import);
    }
    code.i32(Seen::MemoryWrite.of(0)).add(operands[0].clone()).add(operands[2].clone()).call(import);
}

/// State that can change while the guest runs, by number. Reads of other state do not matter.
#[derive(Default)]
struct Changing {
    memory: bool,
    tables: BTreeMap<TableId, u32>,
    globals: BTreeMap<GlobalId, u32>,
    data: BTreeMap<DataId, u32>,
    elements: BTreeMap<ElementId, u32>,
}

impl Changing {
    fn of(draft: &Draft) -> Changing {
        let module = &draft.module;
        let number = |n: usize| n as u32;
        let tables: BTreeMap<_, _> =
            module.tables.iter().enumerate().map(|(n, t)| (t.id(), number(n))).collect();
        let data: BTreeMap<_, _> = module.data.iter().enumerate().map(|(n, d)| (d.id(), number(n))).collect();
        let elements: BTreeMap<_, _> =
            module.elements.iter().enumerate().map(|(n, e)| (e.id(), number(n))).collect();
        let own: Vec<GlobalId> = draft.own_globals.iter().map(|g| g.id).chain([draft.budget]).collect();
        let theirs = module.globals.iter().enumerate().filter(|(_, g)| g.mutable && !own.contains(&g.id()));
        let globals = theirs.map(|(n, g)| (g.id(), number(n))).collect();
        let mut changing = Changing { globals, ..Changing::default() };
        for id in draft.guest_functions() {
            let function = module.funcs.get(id).kind.unwrap_local();
            for sequence in sequences(function) {
                for (instr, _) in &function.block(sequence).instrs {
                    match instr {
                        Instr::MemoryGrow(i) if i.memory == draft.memory => changing.memory = true,
                        Instr::TableSet(TableSet { table })
                        | Instr::TableGrow(TableGrow { table })
                        | Instr::TableFill(TableFill { table })
                        | Instr::TableCopy(TableCopy { dst: table, .. })
                        | Instr::TableInit(TableInit { table, .. }) => {
                            changing.tables.insert(*table, tables[table]);
                        }
                        Instr::DataDrop(i) => {
                            changing.data.insert(i.data, data[&i.data]);
                        }
                        Instr::ElemDrop(i) => {
                            changing.elements.insert(i.elem, elements[&i.elem]);
                        }
                        _ => {}
                    }
                }
            }
        }
        changing
    }
}

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.options.footprints {
        return Ok(());
    }
    let changing = Changing::of(draft);
    let import = import(draft);
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        if draft.tells(origin) == Tells::Footprints {
            draft.edit(id, |draft, function| tell_in(draft, function, &changing, import));
        }
    }
    Ok(())
}

fn tell_in(draft: &mut Draft, function: &mut LocalFunction, changing: &Changing, import: FunctionId) {
    let mut aside = Aside::default();
    for sequence in sequences(function) {
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len());
        for (instr, at) in instrs {
            tell(draft, &mut aside, &mut code, &instr, changing, import);
            code.push(instr, at);
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// A range of a table: the table, the kind of access, and the operands that are its beginning and length.
type Entries = (TableId, Seen, usize, Option<usize>);

/// Reports the state that an instruction touches, before the instruction.
fn tell(
    draft: &mut Draft,
    aside: &mut Aside,
    code: &mut Code,
    instr: &Instr,
    changing: &Changing,
    import: FunctionId,
) {
    let mut whole = |seen: Seen, number: Option<&u32>| {
        if let Some(number) = number {
            code.i32(seen.of(*number)).i32(0).i32(1).call(import);
        }
    };
    match instr {
        Instr::GlobalGet(i) => return whole(Seen::GlobalRead, changing.globals.get(&i.global)),
        Instr::GlobalSet(i) => return whole(Seen::GlobalWrite, changing.globals.get(&i.global)),
        Instr::MemorySize(i) if i.memory == draft.memory => {
            return whole(Seen::MemorySize, changing.memory.then_some(&0));
        }
        Instr::TableSize(i) => return whole(Seen::TableSize, changing.tables.get(&i.table)),
        Instr::TableGrow(i) => return whole(Seen::TableGrow, changing.tables.get(&i.table)),
        Instr::DataDrop(i) => return whole(Seen::DataDrop, changing.data.get(&i.data)),
        Instr::MemoryInit(i) => return whole(Seen::DataRead, changing.data.get(&i.data)),
        Instr::ElemDrop(i) => return whole(Seen::ElementsDrop, changing.elements.get(&i.elem)),
        Instr::TableInit(i) => whole(Seen::ElementsRead, changing.elements.get(&i.elem)),
        _ => {}
    }
    const I32: ValType = ValType::I32;
    let element = |table: &TableId| ValType::Ref(draft.module.tables.get(*table).element_ty);
    let (types, ranges): (Vec<ValType>, Vec<Entries>) = match instr {
        Instr::CallIndirect(CallIndirect { table, .. })
        | Instr::ReturnCallIndirect(ReturnCallIndirect { table, .. })
        | Instr::TableGet(TableGet { table }) => (vec![I32], vec![(*table, Seen::TableRead, 0, None)]),
        Instr::TableSet(TableSet { table }) => {
            (vec![I32, element(table)], vec![(*table, Seen::TableWrite, 0, None)])
        }
        Instr::TableFill(TableFill { table }) => {
            (vec![I32, element(table), I32], vec![(*table, Seen::TableWrite, 0, Some(2))])
        }
        Instr::TableCopy(TableCopy { src, dst }) => {
            let read = (*src, Seen::TableRead, 1, Some(2));
            (vec![I32; 3], vec![read, (*dst, Seen::TableWrite, 0, Some(2))])
        }
        Instr::TableInit(TableInit { table, .. }) => {
            (vec![I32; 3], vec![(*table, Seen::TableWrite, 0, Some(2))])
        }
        _ => return,
    };
    if !ranges.iter().any(|(table, ..)| changing.tables.contains_key(table)) {
        return;
    }
    let (operands, again) = aside.operands(draft, code, &types);
    for (table, seen, first, count) in ranges {
        let Some(number) = changing.tables.get(&table) else { continue };
        code.i32(seen.of(*number)).add(operands[first].clone());
        match count {
            Some(count) => code.add(operands[count].clone()),
            None => code.i32(1),
        };
        code.call(import);
    }
    code.append(again);
}
