//! Lets counts of rounds that nothing can tell apart grow no further: see [`crate::analysis::round_counts`]. The states of
//! rounds repeat then, so searches see that a worker spins. Adds no points and removes none.
//!
//! ```wat
//! ;; before
//! local.get $rounds i32.const 1 i32.add local.set $rounds
//! ;; after
//! local.get $rounds i32.const 1 i32.add
//! local.tee $new i32.const 7 local.get $new i32.const 7 i32.lt_u select (; at most 7 ;)
//! local.set $rounds
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::round_counts::{RoundCount, of_backoff, round_counts};
use crate::code::Code;
use crate::draft::Draft;
use walrus::ir::*;
use walrus::{LocalFunction, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.options.rounds {
        return Ok(());
    }
    for id in draft.guest_functions() {
        let function = draft.module.funcs.get(id).kind.unwrap_local();
        let mut counts = round_counts(function);
        if let Some(origin) = draft.origin(id) {
            counts.extend(of_backoff(function, &draft.original.functions[origin as usize].name));
        }
        if !counts.is_empty() {
            draft.edit(id, |draft, function| bound(draft, function, counts));
        }
    }
    Ok(())
}

fn bound(draft: &mut Draft, function: &mut LocalFunction, mut counts: Vec<RoundCount>) {
    let new = draft.module.locals.add(ValType::I32);
    counts.sort();
    // From the last one on, so that the places of the others stay.
    for RoundCount { add: (sequence, index), limit } in counts.into_iter().rev() {
        let mut code = Code::default();
        code.tee(new).i32(limit).get(new).i32(limit).binary(BinaryOp::I32LtU).add(Select { ty: None });
        let code: Vec<_> = code.into();
        function.block_mut(sequence).instrs.splice(index + 1..index + 1, code);
    }
}
