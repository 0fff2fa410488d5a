//! Assigns the memory orders of a C or C++ program to its atomic instructions.
//!
//! `coyote_order.h` calls `coyote.order` before each atomic operation. This pass removes the call and gives
//! the order to the site of the function's next atomic instruction. An order that is known only at run time
//! is kept in a local; the instruction then has a site for each order, and announces that of the local's
//! value. So the site tells the host every order, and nothing has to be saved while a worker is suspended.
//!
//! ```wat
//! ;; before
//! i32.const 114 (; acquire ;) call $order
//! local.get 0 i32.atomic.load
//! local.get 1 i32.const 112 i32.or call $order
//! local.get 0 i32.atomic.load
//! ;; after
//! local.get 0 i32.atomic.load  ;; in the site table: acquire
//! local.get 1 i32.const 112 i32.or
//! i32.const 17 i32.add local.set $order
//! local.get 0 i32.atomic.load  ;; announced as site + ($order & 15)
//! ```
//!
//! Between a call and its instruction there is no call, no other atomic instruction, and rarely a branch.
//! Another call cancels the order: the compiler made a call of the operation. If a branch, a block or a loop
//! comes between, all atomic instructions of the function take their order from the local, which is 0 after
//! each of them.

use crate::Error;
use crate::analysis::access::access;
use crate::analysis::{Analyses, calls};
use crate::code::{Code, sequences};
use crate::draft::Draft;
use crate::marked::Marked;
use coyote_abi::{OpKind, guest};
use walrus::ir::*;
use walrus::{FunctionId, ImportKind, LocalFunction, LocalId, MemoryId, ValType};

const NAME: (&str, &str) = (guest::MODULE, guest::ORDER);

/// Added to the argument of `coyote.order`, so that 0 means none in both parts.
const ONE_OF_BOTH: i32 = 0x11;

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let Some(order) = draft.module.imports.iter().find_map(|import| match import.kind {
        ImportKind::Function(id) if (import.module.as_str(), import.name.as_str()) == NAME => Some(id),
        _ => None,
    }) else {
        return Ok(());
    };
    for id in draft.guest_functions() {
        draft.edit(id, |draft, function| mark_in(draft, id, function, order));
    }
    let mut kept = calls::taken_by_constants(&draft.module);
    kept.extend(calls::roots(&draft.module));
    if kept.contains(&order) || draft.has(|i| matches!(i, Instr::RefFunc(i) if i.func == order)) {
        let unused = draft.module.locals.add(ValType::I32);
        let builder = walrus::FunctionBuilder::new(&mut draft.module.types, &[ValType::I32], &[]);
        draft.implement_import(order, builder.local_func(vec![unused]));
    } else {
        draft.delete_import(order);
    }
    Ok(())
}

/// The part that an instruction plays for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A call of `coyote.order`.
    Order,
    /// An atomic access or a fence.
    Atomic,
    /// A call of any other function, or an instruction that waits.
    Call,
    /// Control flow: the code after it may be executed without the code before it, or the other way round.
    Branch,
    Other,
}

fn role(instr: &Instr, order: FunctionId, memory: MemoryId) -> Role {
    match instr {
        Instr::Call(call) if call.func == order => Role::Order,
        Instr::ReturnCall(call) if call.func == order => Role::Order,
        Instr::Call(_)
        | Instr::CallIndirect(_)
        | Instr::ReturnCall(_)
        | Instr::ReturnCallIndirect(_)
        | Instr::AtomicWait(_)
        | Instr::AtomicNotify(_) => Role::Call,
        Instr::AtomicFence(_) => Role::Atomic,
        Instr::Block(_)
        | Instr::Loop(_)
        | Instr::IfElse(_)
        | Instr::TryTable(_)
        | Instr::Br(_)
        | Instr::BrIf(_)
        | Instr::BrTable(_) => Role::Branch,
        other if access(other, memory).is_some_and(|access| access.kind.is_atomic()) => Role::Atomic,
        _ => Role::Other,
    }
}

/// Removes the calls from a function, and records the order of each atomic instruction.
fn mark_in(draft: &mut Draft, id: FunctionId, function: &mut LocalFunction, order: FunctionId) {
    let memory = draft.memory;
    let roles = |function: &LocalFunction, sequence| -> Vec<Role> {
        function.block(sequence).instrs.iter().map(|(i, _)| role(i, order, memory)).collect()
    };
    let all: Vec<(InstrSeqId, Vec<Role>)> =
        sequences(function).into_iter().map(|s| (s, roles(function, s))).collect();
    if !all.iter().any(|(_, roles)| roles.contains(&Role::Order)) {
        return;
    }
    let crosses = all.iter().any(|(_, roles)| crosses_branch(roles));
    let local = draft.module.locals.add(ValType::I32);
    let origin = draft.origin(id).expect("it is the guest's");
    for (sequence, roles) in all {
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len());
        let mut pending = None;
        for ((instr, at), role) in instrs.into_iter().zip(roles) {
            match role {
                Role::Order => {
                    pending = Some(match code.take_constant() {
                        Some(orders) if !crosses => Marked::Known(known(orders)),
                        constant => {
                            if let Some(orders) = constant {
                                code.i32(orders);
                            }
                            code.i32(ONE_OF_BOTH).binary(BinaryOp::I32Add).set(local);
                            Marked::Local(local)
                        }
                    });
                    if matches!(instr, Instr::ReturnCall(_)) {
                        code.add(Return {});
                        break;
                    }
                    continue;
                }
                Role::Atomic => {
                    let marked = if crosses { Some(Marked::Local(local)) } else { pending.take() };
                    let location = draft.location(origin, at);
                    draft.orders.extend(marked.map(|marked| (location.offset, marked)));
                }
                Role::Call => pending = None,
                Role::Branch | Role::Other => {}
            }
            let ends = matches!(instr, Instr::ReturnCall(_) | Instr::ReturnCallIndirect(_));
            code.push(instr, at);
            if crosses && matches!(role, Role::Atomic | Role::Call) && !ends {
                code.i32(0).set(local);
            }
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// Whether an order may be for an instruction of another sequence, or for one after a branch.
fn crosses_branch(roles: &[Role]) -> bool {
    let mut pending = false;
    for role in roles {
        match role {
            Role::Order => pending = true,
            Role::Atomic | Role::Call => pending = false,
            Role::Branch if pending => return true,
            Role::Branch | Role::Other => {}
        }
    }
    pending
}

/// The value of [`crate::Site::orders`] for an argument of `coyote.order`; 0 if the argument is no order.
fn known(argument: i32) -> u8 {
    let orders = argument.wrapping_add(ONE_OF_BOTH);
    let (success, failure) = (orders & 15, orders >> 4);
    match (success, failure) {
        (1..=6, 1..=6) => orders as u8,
        (1..=6, 8) => success as u8,
        _ => 0,
    }
}

/// Pushes a site's number. If the instruction has a site for each order, pushes that of the order in its
/// local.
pub fn push_site(draft: &Draft, code: &mut Code, site: u32) {
    code.i32(site as i32);
    let registered = draft.sites[site as usize];
    if let Some(Marked::Local(local)) = draft.orders_at(registered.location, registered.kind()) {
        add_order(code, local, registered.kind() == OpKind::CompareExchange);
    }
}

/// Adds the number of the order in a local, as [`orders_of_sites`] counts, to the site's number on the stack.
fn add_order(code: &mut Code, local: LocalId, compares: bool) {
    let clamped = |code: &mut Code, shift: i32| {
        let part = |code: &mut Code| {
            code.get(local).i32(shift).binary(BinaryOp::I32ShrU);
            if shift == 0 {
                code.i32(15).binary(BinaryOp::I32And);
            }
        };
        part(code);
        code.i32(0);
        part(code);
        code.i32(6).binary(BinaryOp::I32LeU).add(Select { ty: None });
    };
    clamped(code, 0);
    code.binary(BinaryOp::I32Add);
    if compares {
        clamped(code, 4);
        code.i32(7).binary(BinaryOp::I32Mul).binary(BinaryOp::I32Add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn arguments_that_are_no_orders_are_none() {
        let orders: BTreeSet<u8> = (-1..=0x100).map(known).collect();
        let legal = (1..=6).flat_map(|s| (1..=6).map(move |f| f << 4 | s)).chain(0..=6);
        assert_eq!(orders, legal.collect());
        assert_eq!((known(0x72), known(0x04), known(6), known(0x175)), (3, 0x15, 0, 0));
    }

    #[test]
    fn an_order_belongs_to_the_same_straight_code() {
        use Role::*;
        assert!(!crosses_branch(&[Branch, Order, Other, Atomic, Branch]));
        assert!(!crosses_branch(&[Order, Call, Branch]));
        assert!(crosses_branch(&[Order, Branch, Atomic]));
        assert!(crosses_branch(&[Order, Atomic, Order]));
    }
}
