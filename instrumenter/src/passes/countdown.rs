//! Forces a scheduling point in loops and recursions, so that no worker runs for ever without one.
//!
//! A countdown is put at every loop header and at the entry of every function that can call itself, directly
//! or through others. At zero it forces a scheduling point. Every other scheduling point resets it, so it has
//! the same value whenever a worker is suspended, and equal states stay equal. It is a global of the worker.
//! Atomic functions count too, because they may loop as well.
//!
//! ```wat
//! ;; before
//! (loop
//!   br 0)
//! ;; after
//! (loop
//!   global.get $__cy_budget i32.const 1 i32.sub local.tee 1
//!   global.set $__cy_budget
//!   local.get 1 i32.eqz
//!   (if (then
//!     i32.const 1000 global.set $__cy_budget
//!     i32.const 7 (; site ;) call $coyote_rt.tick))
//!   br 0)
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::code::{Code, sequences};
use crate::draft::{Draft, site_location};
use coyote_abi::{OpKind, rt};
use walrus::ir::*;
use walrus::{LocalFunction, LocalId, ValType};

pub fn run(draft: &mut Draft, analyses: &mut Analyses) -> Result<(), Error> {
    let cyclic = analyses.calls(&draft.module).cyclic();
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let entry = cyclic.contains(&id);
        draft.edit(id, |draft, function| {
            let mut left = None;
            for sequence in sequences(function) {
                let loops: Vec<(InstrSeqId, InstrLocId)> = function
                    .block(sequence)
                    .instrs
                    .iter()
                    .filter_map(|(instr, at)| match instr {
                        Instr::Loop(i) => Some((i.seq, *at)),
                        _ => None,
                    })
                    .collect();
                for (body, at) in loops {
                    count_down(draft, origin, function, body, at, &mut left);
                }
            }
            if entry {
                let body = function.entry_block();
                count_down(draft, origin, function, body, InstrLocId::default(), &mut left);
            }
        });
    }
    Ok(())
}

/// Puts the countdown at the beginning of a sequence. `at` is what the site refers to.
fn count_down(
    draft: &mut Draft,
    origin: u32,
    function: &mut LocalFunction,
    sequence: InstrSeqId,
    at: InstrLocId,
    left: &mut Option<LocalId>,
) {
    let site = draft.site(draft.location(origin, at), OpKind::Loop, 0, 0);
    let tick = draft.suspending(rt::TICK, &[ValType::I32], &[]);
    let budget = draft.budget;
    let left = *left.get_or_insert_with(|| draft.module.locals.add(ValType::I32));
    let mut code = Code::default();
    code.global_get(budget).i32(1).binary(BinaryOp::I32Sub).tee(left).global_set(budget);
    code.get(left).unary(UnaryOp::I32Eqz);
    code.if_then(function, |code| {
        code.i32(rt::COUNTDOWN).global_set(budget).i32(site as i32);
        code.push(Call { func: tick }, site_location(site));
    });
    let added: Vec<_> = code.into();
    function.block_mut(sequence).instrs.splice(0..0, added);
}
