//! The gate before the import of scheduling points: it executes most steps without a call of the host.
//!
//! A *lease* is a number of steps for which the host has promised to pick the running worker, whatever it
//! accesses, as long as the table of [`rt::lease`] lets these accesses pass. The gate records the accesses
//! that it lets pass; the host reads the record before it does anything else. A module without a lease
//! behaves as one without a gate.
//!
//! ```wat
//! (func $gate (param $site i32) (param $address i32) (result i32)  (; the unwind flag ;)
//!   block $ask
//!     br_if $ask (i32.eq (local.tee $at (i32.load $lease AT)) END)
//!     $first = $address + SITES[$site].offset
//!     $last = $first + SITES[$site].last
//!     br_if $ask (i32.lt_u $last $address)                         (; it wraps around ;)
//!     br_if $ask (i32.gt_u $last (i32.load $lease BYTES))          (; behind the end of memory ;)
//!     br_if $ask (i32.eqz (i32.and $lease[$first >> 3] $lease[$last >> 3] PAGES[$first >> 14]))
//!     i64.store $lease $at ($site | $address << 32)
//!     i32.store $lease AT ($at + 8)
//!     return 0
//!   end
//!   call $coyote_rt.point $site $address)
//! ```
//! The page of the last byte is not checked: if it is closed and the page before it is open, its first
//! granule is closed.

use super::Context;
use coyote_abi::rt::lease;
use wasm_encoder::{BlockType, Function, MemArg, ValType};

const SITE: u32 = 0;
const ADDRESS: u32 = 1;
const AT: u32 = 2;
const FIRST: u32 = 3;
const LAST: u32 = 4;

/// The gate of an import of type `(i32, i32) -> i32`.
pub(super) fn gate(cx: &Context, import: u32) -> Function {
    let memory = cx.control.lease;
    let place = |offset: u32, align: u32| MemArg { offset: offset.into(), align, memory_index: memory };
    let mut function = Function::new([(3, ValType::I32)]);
    let mut out = function.instructions();
    out.block(BlockType::Empty);
    out.i32_const(0).i32_load(place(lease::AT, 2)).local_tee(AT);
    out.i32_const(lease::END as i32).i32_eq().br_if(0);
    out.local_get(SITE).i32_const(3).i32_shl().local_tee(LAST).i32_load(place(lease::SITES, 2));
    out.local_get(ADDRESS).i32_add().local_tee(FIRST);
    out.local_get(LAST).i32_load(place(lease::SITES + 4, 2)).i32_add().local_tee(LAST);
    out.local_get(ADDRESS).i32_lt_u().br_if(0);
    out.local_get(LAST).i32_const(0).i32_load(place(lease::BYTES, 2)).i32_gt_u().br_if(0);
    for (byte, unit, bytes) in
        [(FIRST, lease::GRANULE, 0), (LAST, lease::GRANULE, 0), (FIRST, lease::PAGE, lease::PAGES)]
    {
        out.local_get(byte).i32_const(unit.trailing_zeros() as i32).i32_shr_u().i32_load8_u(place(bytes, 0));
    }
    out.i32_and().i32_and().i32_eqz().br_if(0);
    out.local_get(AT).local_get(SITE).i64_extend_i32_u();
    out.local_get(ADDRESS).i64_extend_i32_u().i64_const(32).i64_shl().i64_or().i64_store(place(0, 3));
    out.i32_const(0).local_get(AT).i32_const(8).i32_add().i32_store(place(lease::AT, 2));
    out.i32_const(0).return_().end();
    out.local_get(SITE).local_get(ADDRESS).call(import).end();
    function
}
