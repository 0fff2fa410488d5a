//! Code that runs when an exception leaves a call.

use crate::Draft;
use crate::code::Code;
use crate::wrapper::Wrapper;
use walrus::ir::{Block, Br, InstrSeqType, ThrowRef, TryTable, TryTableCatch};
use walrus::{RefType, ValType};

/// Adds `call`, which leaves the wrapper's results on the stack, and runs `clean_up` if an exception leaves it. In a
/// module without tags nothing can throw, and only `call` is added.
///
/// ```wat
/// block $done (result ..)
///   block $thrown (result exnref)
///     try_table (result ..) (catch_all_ref $thrown)
///       call
///     end
///     br $done
///   end
///   clean_up
///   throw_ref
/// end
/// ```
pub fn on_exception(
    draft: &mut Draft,
    wrapper: &mut Wrapper,
    code: &mut Code,
    call: Code,
    clean_up: impl FnOnce(&mut Draft, &mut Code),
) {
    if draft.module.tags.iter().next().is_none() {
        code.append(call);
        return;
    }
    let ty = InstrSeqType::new(&mut draft.module.types, &[], &wrapper.results);
    let function = &mut wrapper.body;
    let mut sequence = |ty| function.builder_mut().dangling_instr_seq(ty).id();
    let (done, thrown, tried) =
        (sequence(ty), sequence(InstrSeqType::Simple(Some(ValType::Ref(RefType::EXNREF)))), sequence(ty));
    function.block_mut(tried).instrs = call.into();
    let mut inner = Code::default();
    inner.add(TryTable { seq: tried, catches: vec![TryTableCatch::CatchAllRef { label: thrown }] });
    inner.add(Br { block: done });
    function.block_mut(thrown).instrs = inner.into();
    let mut outer = Code::default();
    outer.add(Block { seq: thrown });
    clean_up(draft, &mut outer);
    outer.add(ThrowRef {});
    function.block_mut(done).instrs = outer.into();
    code.add(Block { seq: done });
}
