//! Tells the host the names that Rust's standard library gives to threads.
//!
//! On this target std passes the name to no function of the system, but before it starts a thread, it creates
//! the thread's handle with `std::thread::Thread::new(id, name)`. `name` is passed by its address.
//!
//! ```wat
//! ;; before
//! (func $std::thread::thread::Thread::new (param i64 i32) (result i32) ..)
//! ;; after
//! (func $std::thread::thread::Thread::new (param i64 i32) (result i32)
//!   local.get 1 call $coyote_rt.thread_name ..)
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::draft::Draft;
use crate::names::is_one_of;
use coyote_abi::rt;
use walrus::ir::{Call, InstrLocId, LocalGet};
use walrus::{FunctionId, ValType};

/// The function's name in older releases of std, and in newer ones.
const NAMES: &[&str] = &["std::thread::Thread::new", "std::thread::thread::Thread::new"];

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    for id in draft.guest_functions() {
        if makes_thread(draft, id) {
            let import = draft.import(rt::THREAD_NAME, &[ValType::I32], &[]);
            draft.edit(id, |_, function| {
                let local = function.args[1];
                let entry = function.entry_block();
                let before = [LocalGet { local }.into(), Call { func: import }.into()];
                let before = before.map(|instr| (instr, InstrLocId::default()));
                function.block_mut(entry).instrs.splice(0..0, before);
            });
        }
    }
    Ok(())
}

fn makes_thread(draft: &Draft, id: FunctionId) -> bool {
    let origin = draft.origin(id).expect("it is the guest's");
    let name = &draft.original.functions[origin as usize].name;
    let ty = draft.module.types.get(draft.module.funcs.get(id).ty());
    ty.params() == [ValType::I64, ValType::I32] && ty.results() == [ValType::I32] && is_one_of(name, NAMES)
}

#[cfg(test)]
mod tests {
    use super::NAMES;
    use crate::names::is_one_of;

    #[test]
    fn it_is_known_by_its_mangled_names() {
        assert!(is_one_of("_RNvMs_NtNtCs1cbpOjQgv0Q_3std6thread6threadNtB4_6Thread3new", NAMES));
        assert!(is_one_of("_ZN3std6thread6Thread3new17h0123456789abcdefE", NAMES));
        assert!(!is_one_of("_RNvMs0_NtNtNtCs1cbpOjQgv0Q_3std3sys6thread4unixNtB5_6Thread3new", NAMES));
        assert!(!is_one_of("_ZN3app6thread6Thread3new17h0123456789abcdefE", NAMES), "a module of this name");
    }
}
