//! Counts how often instructions are executed, to find which lines were executed
//! ([`crate::Options::counted`]).
//!
//! A counter is a number in a separate memory, which is no part of the guest's state: neither snapshots nor
//! fingerprints contain it, and restoring a snapshot does not change it. The code needs no local and calls
//! nothing, so points, sites and saved frames stay the same. A worker that is rewound executes neither an
//! instruction nor its counter twice.
//!
//! ```wat
//! ;; before
//! local.get 0
//! i32.load
//! ;; after
//! i32.const 0
//! i32.const 0 i64.load $__cy_counters offset=40
//! i64.const 1 i64.add
//! i64.store $__cy_counters offset=40
//! local.get 0
//! i32.load
//! ```
//!
//! Where `orders` has removed an instruction, the next one of the same straight code is counted in its place.
//! If there is none, a removed instruction has no counter: it is not in the table.

use crate::Error;
use crate::analysis::Analyses;
use crate::code::{Code, sequences};
use crate::draft::{Draft, site_of_location};
use std::collections::BTreeSet;
use walrus::ir::*;
use walrus::{LocalFunction, MemoryId};

/// The exported memory of the counters, in the order of [`crate::SiteTable::counters`]. Exists only if
/// something is counted.
pub const COUNTERS: &str = "__cy_counters";
/// Size of a counter in bytes: a number, the lowest byte first.
pub const COUNTER_BYTES: usize = 8;

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let wanted: BTreeSet<u32> = draft.options.counted.iter().copied().collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let pages = (wanted.len() * COUNTER_BYTES).div_ceil(65536) as u64;
    let memory = draft.module.memories.add_local(false, false, pages, Some(pages), None);
    draft.module.memories.get_mut(memory).name = Some(COUNTERS.to_string());
    draft.module.exports.add(COUNTERS, memory);
    for id in draft.guest_functions() {
        let function = &draft.original.functions[draft.origin(id).expect("it is the guest's") as usize];
        let wanted: BTreeSet<u32> = wanted.range(function.start..function.end).copied().collect();
        if !wanted.is_empty() {
            draft.edit(id, |draft, function| count_in(draft, function, &wanted, memory));
        }
    }
    Ok(())
}

fn count_in(draft: &mut Draft, function: &mut LocalFunction, wanted: &BTreeSet<u32>, memory: MemoryId) {
    let all = sequences(function);
    let places = all.iter().flat_map(|sequence| &function.block(*sequence).instrs);
    let present: BTreeSet<u32> = places.filter_map(|(_, at)| offset(*at)).collect();
    for sequence in all {
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() * 2);
        // Offset of the previous instruction, unless another sequence came in between.
        let mut last = None;
        for (instr, at) in instrs {
            if let Some(offset) = offset(at) {
                let removed = last.map(|last| wanted.range(last..offset)).into_iter().flatten();
                let removed = removed.filter(|offset| !present.contains(offset));
                for counted in removed.chain(wanted.get(&offset)) {
                    count(draft, &mut code, *counted, memory);
                }
                let nests =
                    matches!(instr, Instr::Block(_) | Instr::Loop(_) | Instr::IfElse(_) | Instr::TryTable(_));
                last = (!nests).then_some(offset);
            }
            code.push(instr, at);
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// The offset of an instruction in the original module.
fn offset(at: InstrLocId) -> Option<u32> {
    if at.is_default() { None } else { site_of_location(at.data()).err() }
}

fn count(draft: &mut Draft, code: &mut Code, counted: u32, memory: MemoryId) {
    let arg = MemArg { align: 8, offset: (draft.counters.len() * COUNTER_BYTES) as u64 };
    draft.counters.push(counted);
    code.i32(0).i32(0).add(Load { memory, kind: LoadKind::I64 { atomic: false }, arg });
    code.i64(1).binary(BinaryOp::I64Add);
    code.add(Store { memory, kind: StoreKind::I64 { atomic: false }, arg });
}
