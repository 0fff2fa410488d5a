//! Tells the host where an exception is thrown: once it is known to be uncaught, the stack is gone.
//!
//! ```wat
//! ;; before
//! throw $e
//! ;; after
//! call $coyote_rt.thrown
//! throw $e
//! ```
//! `throw_ref` rethrows an earlier exception and is not reported.

use crate::analysis::Analyses;
use crate::code::sequences;
use crate::{Draft, Error};
use coyote_abi::rt;
use walrus::ir::{Call, Instr, InstrLocId};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.has(|instr| matches!(instr, Instr::Throw(_))) {
        return Ok(());
    }
    let func = draft.import(rt::THROWN, &[], &[]);
    for id in draft.guest_functions() {
        draft.edit(id, |_, function| {
            for sequence in sequences(function) {
                let block = function.block_mut(sequence);
                if block.instrs.iter().any(|(instr, _)| matches!(instr, Instr::Throw(_))) {
                    let told = std::mem::take(&mut block.instrs).into_iter().flat_map(|(instr, at)| {
                        let tell = matches!(instr, Instr::Throw(_));
                        let call = tell.then(|| (Call { func }.into(), InstrLocId::default()));
                        call.into_iter().chain([(instr, at)])
                    });
                    block.instrs = told.collect();
                }
            }
        });
    }
    Ok(())
}
