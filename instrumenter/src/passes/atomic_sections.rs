//! Brackets functions of SV-COMP's programs that are atomic by their name.
//!
//! Other workers can run before such a function and after it, so its beginning is a scheduling point. There
//! are none within it, but the host is told of its accesses: in contrast to those of `atomic`, they are the
//! program's own. `coyote.atomic_begin` and `coyote.atomic_end` do the same for a part of a function.
//!
//! ```wat
//! ;; before
//! (func $__VERIFIER_atomic_acquire (param i32) ..)
//! ;; after
//! (func $__VERIFIER_atomic_acquire (param i32)
//!   atomic.fence (; a scheduling point, as `points` sees to ;)
//!   call $coyote_rt.atomic_enter
//!   local.get 0 call $"__VERIFIER_atomic_acquire (section)"
//!   call $coyote_rt.atomic_exit)
//! (func $"__VERIFIER_atomic_acquire (section)" (param i32) ..)
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::scope::Scope;
use crate::code::Code;
use crate::draft::Draft;
use crate::libraries::SECTIONS;
use crate::names::names_of;
use crate::on_exception::on_exception;
use coyote_abi::rt;
use walrus::ir::{AtomicFence, InstrLocId};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.options.atomic_defaults {
        return Ok(());
    }
    let sections = Scope::new(SECTIONS.iter().copied())?;
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let function = &draft.original.functions[origin as usize];
        if sections.matching(&names_of(&function.name)).is_none() {
            continue;
        }
        let start = InstrLocId::new(function.start);
        draft.wrap(id, " (section)", |draft, wrapper| {
            let mut code = Code::default();
            code.push(AtomicFence {}, start);
            code.call(draft.import(rt::ATOMIC_ENTER, &[], &[]));
            on_exception(draft, wrapper, &mut code, wrapper.forward(start), |draft, code| {
                code.call(draft.import(rt::ATOMIC_EXIT, &[], &[]));
            });
            code.call(draft.import(rt::ATOMIC_EXIT, &[], &[]));
            code
        });
    }
    Ok(())
}
