//! Part of pass `points`: atomic accesses with weak memory.
//!
//! The host chooses which store an access reads before the access is executed, and lets memory hold that
//! value during the access. So the host is told of every atomic access, also of those that are no scheduling
//! points: with the value that a compare-exchange expects, and again after the access was executed.
//!
//! ```wat
//! ;; before
//! local.get 0 local.get 1 local.get 2
//! i32.atomic.rmw.cmpxchg
//! ;; after
//! i32.const 1000 global.set $__cy_budget
//! i32.const 5 (; site ;) local.get 0 local.get 1 i64.extend_i32_u call $coyote_rt.atomic_point
//! local.get 0 local.get 1 local.get 2
//! i32.atomic.rmw.cmpxchg
//! call $coyote_rt.atomic_done
//! ```

use super::orders;
use crate::analysis::access::Access;
use crate::code::Code;
use crate::draft::{Draft, site_location};
use coyote_abi::{OpKind, rt};
use walrus::ValType;
use walrus::ir::*;

const PARAMETERS: [ValType; 3] = [ValType::I32, ValType::I32, ValType::I64];

/// Announces an access, by [`rt::ATOMIC_POINT`] or [`rt::ATOMIC_INSIDE`].
pub fn announcement(
    draft: &mut Draft,
    import: &'static str,
    site: u32,
    access: &Access,
    operands: &[Instr],
) -> Code {
    let mut expected = Code::default();
    match (access.kind, access.values.first()) {
        (OpKind::CompareExchange, Some(ValType::I64)) => expected.add(operands[1].clone()),
        (OpKind::CompareExchange, _) => expected.add(operands[1].clone()).unary(UnaryOp::I64ExtendUI32),
        _ => expected.i64(0),
    };
    tell(draft, import, site, operands[0].clone(), expected)
}

/// Announces a fence.
pub fn fence(draft: &mut Draft, import: &'static str, site: u32) -> Code {
    let mut expected = Code::default();
    expected.i64(0);
    tell(draft, import, site, Const { value: Value::I32(0) }.into(), expected)
}

fn tell(draft: &mut Draft, import: &'static str, site: u32, address: Instr, expected: Code) -> Code {
    let mut code = Code::default();
    let function = match import {
        rt::ATOMIC_POINT => {
            code.i32(rt::COUNTDOWN).global_set(draft.budget);
            draft.suspending(import, &PARAMETERS, &[])
        }
        _ => draft.import(import, &PARAMETERS, &[]),
    };
    orders::push_site(draft, &mut code, site);
    code.add(address).append(expected);
    code.push(Call { func: function }, site_location(site));
    code
}

/// Reports that the access was executed.
pub fn done(draft: &mut Draft, code: &mut Code) {
    let done = draft.import(rt::ATOMIC_DONE, &[], &[]);
    code.call(done);
}
