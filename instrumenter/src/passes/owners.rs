//! Scheduling points only where memory is shared: the guest's part of the owner table.
//!
//! A byte in a separate memory records the owner of each granule of guest memory. A worker that finds its own
//! byte there continues at once. All other accesses call `__cy_touched`, which answers two cases without the
//! host and asks the host for all others. Only an access that turns out to be a scheduling point resets the
//! countdown: a loop around accesses that pass must still yield.
//!
//! ```wat
//! ;; before
//! local.get 0
//! i32.load offset=8
//! ;; after
//! local.get 0 i32.const 8 i32.add i32.const 0xffffffc3 i32.and i32.const 6 i32.rotr
//! i32.load8_u $__cy_owners
//! i32.const 1 i32.or                  (; a load: also what the worker has only read ;)
//! global.get $__cy_me i32.ne
//! (if (result i32)
//!   (then local.get 0 i32.const 8 i32.add i32.const 4 (; bytes ;) i32.const 0 (; no write ;)
//!         call $__cy_touched)
//!   (else i32.const 0))
//! (if (then
//!   i32.const 1000 global.set $__cy_budget
//!   i32.const 5 (; site ;) local.get 0 call $coyote_rt.point))
//! local.get 0
//! i32.load offset=8
//! ```
//!
//! An access that is aligned to its size lies in one granule. The index of a misaligned access has its
//! misalignment as topmost bits, where the table is always 0: such an access goes to the host, which checks
//! all granules that it touches. For an address that wraps around, the byte does not matter: the access
//! traps.
//!
//! Functions whose accesses are no points also maintain the table, because otherwise another worker's
//! accesses of the same memory would not become points; except for allocators, whose accesses are not the
//! program's.

use crate::code::Code;
use crate::draft::{Draft, OwnGlobal, Owners};
use crate::options::Mutant;
use coyote_abi::rt::{self, Granule};
use walrus::ir::*;
use walrus::{ConstExpr, FunctionId, LocalFunction, LocalId, MemoryId, ValType};

const GRANULE_BITS: u32 = rt::GRANULE.trailing_zeros();

impl Owners {
    /// Adds the table, the globals and the functions that belong to it.
    pub fn add(draft: &mut Draft) -> Owners {
        // The table of a 32-bit address space, and 15 times as much for misaligned accesses.
        let pages = (1 << 32) / u64::from(rt::GRANULE) * 16 / 65536;
        let table = draft.module.memories.add_local(false, false, pages, Some(pages), None);
        draft.module.memories.get_mut(table).name = Some(rt::OWNERS.to_string());
        draft.module.exports.add(rt::OWNERS, table);
        let zero = ConstExpr::Value(Value::I32(0));
        let me = draft.module.globals.add_local(ValType::I32, true, false, zero);
        draft.module.globals.get_mut(me).name = Some(rt::ME.to_string());
        draft.own_globals.push(OwnGlobal { id: me, name: rt::ME.to_string(), stack_pointer: false });
        let touch = draft.import(rt::TOUCH, &[ValType::I32; 3], &[ValType::I32]);
        let touched = add_touched(draft, table, touch);
        Owners { table, me, touched, touch, budget: draft.budget, mutant: draft.options.mutant }
    }

    /// Pushes whether an access is a scheduling point. `address` pushes its address without the offset.
    pub fn ask(
        &self,
        function: &mut LocalFunction,
        code: &mut Code,
        (address, offset): (&Instr, u64),
        bytes: u8,
        write: bool,
    ) {
        let aligned = if self.mutant == Some(Mutant::PassesStraddling) { 0 } else { u32::from(bytes) - 1 };
        let mask = !(rt::GRANULE - 1) | aligned;
        if self.mutant == Some(Mutant::PassingResetsCountdown) {
            code.i32(rt::COUNTDOWN).global_set(self.budget);
        }
        code.address(address, offset);
        code.i32(mask as i32).binary(BinaryOp::I32And);
        code.i32(GRANULE_BITS as i32).binary(BinaryOp::I32Rotr).load8(self.table);
        if !write {
            code.i32(1).binary(BinaryOp::I32Or);
        }
        code.global_get(self.me).binary(BinaryOp::I32Ne);
        let touched = self.touched;
        code.if_else(
            function,
            |code| {
                code.address(address, offset);
                code.i32(bytes.into()).i32(write.into()).call(touched);
            },
            |code| {
                code.i32(0);
            },
        );
    }

    /// The same for a range of any length; `start` and `length` push its beginning and its length.
    pub fn ask_range(&self, code: &mut Code, start: &Instr, length: &Instr, write: bool) {
        code.add(start.clone()).add(length.clone()).i32(write.into()).call(self.touch);
    }
}

/// `touched(address, bytes, write) -> i32`: answers for shared granules and for reads of granules that are
/// only read, and asks the host about all others.
fn add_touched(draft: &mut Draft, table: MemoryId, touch: FunctionId) -> FunctionId {
    let parameters: Vec<LocalId> = (0..3).map(|_| draft.module.locals.add(ValType::I32)).collect();
    let state = draft.module.locals.add(ValType::I32);
    draft.add_function("__cy_touched", &parameters, &[ValType::I32], |function| {
        let (address, bytes, write) = (parameters[0], parameters[1], parameters[2]);
        let mut code = Code::default();
        code.get(address).i32(GRANULE_BITS as i32).binary(BinaryOp::I32ShrU).load8(table).set(state);
        code.get(state).i32(Granule::Shared as i32).binary(BinaryOp::I32Eq);
        code.if_then(function, |code| {
            code.i32(1).add(Return {});
        });
        code.get(state).i32(Granule::Read as i32).binary(BinaryOp::I32Eq);
        code.get(write).unary(UnaryOp::I32Eqz).binary(BinaryOp::I32And);
        code.get(address).i32(rt::GRANULE as i32 - 1).binary(BinaryOp::I32And);
        code.get(bytes).binary(BinaryOp::I32Add).i32(rt::GRANULE as i32).binary(BinaryOp::I32LeU);
        code.binary(BinaryOp::I32And);
        code.if_then(function, |code| {
            code.i32(0).add(Return {});
        });
        code.get(address).get(bytes).get(write).call(touch);
        code
    })
}
