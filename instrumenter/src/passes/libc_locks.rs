//! Makes sections atomic in which a worker holds a lock that wasi-libc has for itself.
//!
//! - That of the list of threads: see [`crate::analysis::thread_list`].
//! - That of the keys of thread-specific data, which is not even taken then: see [`crate::analysis::key_lock`].
//!
//! Without this, a search would try each order in which threads begin and end. `points` leaves out what is noted in [`Draft::unseen`]. The end of a thread wakes
//! those that wait for the lock only if there are some: otherwise ends of threads would not commute.
//!
//! ```wat
//! ;; before
//! i32.const 1024 i32.const 0 local.get $own i32.atomic.rmw.cmpxchg
//! ..
//! i32.const 1024 i32.const 0 i32.atomic.store
//! i32.const 1024 i32.const 1 memory.atomic.notify
//! ;; after
//! i32.const 1024 i32.const 0 local.get $own
//! call $coyote_rt.atomic_enter
//! i32.atomic.rmw.cmpxchg local.set 1
//! local.get 1 if call $coyote_rt.atomic_exit end (; others hold it ;)
//! local.get 1
//! ..
//! i32.const 1024 i32.const 0 i32.atomic.store
//! call $coyote_rt.atomic_exit
//! i32.const 1024 i32.const 1 drop drop
//! i32.const 1028 (; waiters ;) i32.load
//! if (result i32) i32.const 1024 i32.const 1 memory.atomic.notify else i32.const 0 end
//! ```

use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::key_lock::{self, KeyLock};
use crate::analysis::thread_list::{Act, ThreadList};
use crate::code::{Code, sequences};
use crate::draft::Draft;
use coyote_abi::rt;
use walrus::ir::*;
use walrus::{FunctionId, LocalFunction, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.options.libc_locks || draft.options.weak_memory() {
        return Ok(());
    }
    if let Some(list) = ThreadList::find(&draft.module, draft.memory) {
        for id in draft.guest_functions() {
            let unseen = list.unseen(&draft.module, id, draft.memory);
            draft.unseen.extend(unseen);
            draft.edit(id, |draft, function| bracket(draft, function, (id, list)));
        }
    }
    let keys = {
        let with_body = |(id, name)| (id, name, draft.module.funcs.get(id).kind.unwrap_local());
        KeyLock::find(names(draft).into_iter().map(with_body))
    };
    if let Some(keys) = keys {
        for (id, _) in names(draft).into_iter().filter(|(_, name)| key_lock::USERS.contains(name)) {
            draft.edit(id, |draft, function| replace(draft, function, &keys));
        }
    }
    Ok(())
}

/// The guest's functions and their names.
fn names<'a>(draft: &Draft<'a>) -> Vec<(FunctionId, &'a str)> {
    let original = draft.original;
    let named = |id| draft.origin(id).map(|origin| (id, &*original.functions[origin as usize].name));
    draft.guest_functions().into_iter().filter_map(named).collect()
}

/// Replaces calls that take and release the lock of the keys.
fn replace(draft: &mut Draft, function: &mut LocalFunction, keys: &KeyLock) {
    let (enter, exit) = (draft.import(rt::ATOMIC_ENTER, &[], &[]), draft.import(rt::ATOMIC_EXIT, &[], &[]));
    for sequence in sequences(function) {
        for at in 1..function.block(sequence).instrs.len() {
            let instrs = &mut function.block_mut(sequence).instrs;
            if let Some(act) = keys.act(Some(&instrs[at - 1].0), &instrs[at].0) {
                let func = if act == key_lock::Act::Acquire { enter } else { exit };
                // The constant that was the lock's address is the result.
                instrs[at - 1].0 = Call { func }.into();
                instrs[at].0 = Const { value: Value::I32(0) }.into();
            }
        }
    }
}

fn bracket(draft: &mut Draft, function: &mut LocalFunction, (id, list): (FunctionId, ThreadList)) {
    for sequence in sequences(function) {
        let instrs = &function.block(sequence).instrs;
        let acts: Vec<Option<Act>> = (0..instrs.len()).map(|at| list.act(instrs, at, draft.memory)).collect();
        let alone: Vec<bool> = (0..instrs.len()).map(|at| list.notes_alone(id, instrs, at)).collect();
        if acts.iter().flatten().all(|act| *act == Act::Load) && !alone.contains(&true) {
            continue;
        }
        let (enter, exit) =
            (draft.import(rt::ATOMIC_ENTER, &[], &[]), draft.import(rt::ATOMIC_EXIT, &[], &[]));
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() + 8);
        for (((instr, at), act), alone) in instrs.into_iter().zip(acts).zip(alone) {
            match act {
                _ if alone => {
                    code.add(Drop {}).add(Drop {});
                }
                Some(Act::Acquire) => {
                    let owner = draft.module.locals.add(ValType::I32);
                    code.call(enter);
                    code.push(instr, at).set(owner).get(owner);
                    code.if_then(function, |code| {
                        code.call(exit);
                    });
                    code.get(owner);
                }
                Some(Act::Release) => {
                    code.push(instr, at).call(exit);
                }
                Some(Act::Notify) => {
                    let (address, count) = (code.at_end(1), code.at_end(0));
                    code.add(Drop {}).add(Drop {});
                    let arg = MemArg { align: 4, offset: 0 };
                    code.i32(list.waiters as i32);
                    draft.unseen.insert(at.data());
                    code.push(Load { memory: draft.memory, kind: LoadKind::I32 { atomic: false }, arg }, at);
                    code.if_else(
                        function,
                        |code| {
                            code.add(address).add(count).push(instr, at);
                        },
                        |code| {
                            code.i32(0);
                        },
                    );
                }
                Some(Act::Load) | None => {
                    code.push(instr, at);
                }
            }
        }
        function.block_mut(sequence).instrs = code.into();
    }
}
