//! Makes sections atomic in which a worker holds a lock that wasi-libc has for itself.
//!
//! - That of the list of threads: see [`crate::analysis::thread_list`].
//! - That of the keys of thread-specific data, which is not even taken then: see [`crate::analysis::key_lock`].
//!
//! Without this, a search would try each order in which threads begin and end. `points` leaves out what is noted in
//! [`Draft::unseen`]. The end of a thread wakes those that wait for the lock only if there are some: otherwise ends of
//! threads would not commute.
//!
//! ```wat
//! ;; before
//! i32.const 1024 i32.const 0 local.get $own i32.atomic.rmw.cmpxchg
//! ..
//! i32.const 1024 i32.const 0 i32.atomic.store
//! i32.const 1024 i32.const 1 memory.atomic.notify
//! ;; after
//! i32.const 1024 i32.const 0 local.get $own
//! local.get $inside i32.eqz if call $coyote_rt.atomic_enter i32.const 1 local.set $inside end
//! i32.atomic.rmw.cmpxchg local.set 1
//! local.get 1 if call $coyote_rt.atomic_exit i32.const 0 local.set $inside end (; others hold it ;)
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
use crate::code::{Code, instructions, sequences};
use crate::draft::Draft;
use crate::names::names_of;
use coyote_abi::rt;
use walrus::ir::*;
use walrus::{ConstExpr, ElementItems, FunctionId, LocalFunction, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.options.libc_locks || draft.options.weak_memory() {
        return Ok(());
    }
    if let Some(list) = ThreadList::find(&draft.module, draft.memory).filter(|_| !sees_list(draft)) {
        for id in &list.users {
            let unseen = list.unseen(&draft.module, *id, draft.memory);
            draft.unseen.extend(unseen);
            draft.edit(*id, |draft, function| bracket(draft, function, *id, &list));
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

/// Whether somebody but Rust's std may delete a key. In a module without names, this is not known.
fn sees_list(draft: &Draft) -> bool {
    let deletes = |name: &str| matches!(name, "__pthread_key_delete" | "pthread_key_delete");
    let functions = names(draft);
    if functions.iter().all(|(_, name)| *name != "__pthread_create") {
        return true;
    }
    let deletions: Vec<FunctionId> =
        functions.iter().filter(|(_, name)| deletes(name)).map(|(id, _)| *id).collect();
    let in_table = draft.module.elements.iter().any(|element| match &element.items {
        ElementItems::Functions(functions) => functions.iter().any(|id| deletions.contains(id)),
        ElementItems::Expressions(_, items) => {
            items.iter().any(|item| matches!(item, ConstExpr::RefFunc(id) if deletions.contains(id)))
        }
    });
    let of_std = |name: &str| names_of(name).iter().any(|name| name.starts_with("std::sys::thread_local::"));
    in_table
        || functions.iter().any(|(id, name)| {
            let function = draft.module.funcs.get(*id).kind.unwrap_local();
            let uses = instructions(function).any(|(instr, _)| match instr {
                Instr::Call(Call { func })
                | Instr::ReturnCall(ReturnCall { func })
                | Instr::RefFunc(RefFunc { func }) => deletions.contains(func),
                _ => false,
            });
            uses && !deletes(name) && !of_std(name)
        })
}

/// The guest's functions and their names.
fn names<'a>(draft: &Draft<'a>) -> Vec<(FunctionId, &'a str)> {
    let original = draft.original;
    let named = |id| draft.origin(id).map(|origin| (id, &*original.functions[origin as usize].name));
    draft.guest_functions().into_iter().filter_map(named).collect()
}

/// What an instruction is for the lock of the list of threads.
enum Found {
    Act(Act),
    BeginsToEnd,
    NotesAlone,
}

/// Replaces calls that take and release the lock of the keys.
fn replace(draft: &mut Draft, function: &mut LocalFunction, keys: &KeyLock) {
    let (enter, exit) = (draft.import(rt::ATOMIC_ENTER, &[], &[]), draft.import(rt::ATOMIC_EXIT, &[], &[]));
    for sequence in sequences(function) {
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() + 8);
        let mut before = None;
        for (instr, at) in instrs {
            match keys.act(before.as_ref(), &instr) {
                // The section begins with a scheduling point. Nobody changes the lock.
                Some(key_lock::Act::Acquire) => {
                    let arg = MemArg { align: 4, offset: 0 };
                    code.push(Load { memory: draft.memory, kind: LoadKind::I32 { atomic: false }, arg }, at);
                    code.add(Drop {}).call(enter).i32(0);
                }
                Some(key_lock::Act::Release) => {
                    code.add(Drop {}).call(exit).i32(0);
                }
                None => {
                    code.push(instr.clone(), at);
                }
            }
            before = Some(instr);
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// Makes the sections of a function atomic.
fn bracket(draft: &mut Draft, function: &mut LocalFunction, id: FunctionId, list: &ThreadList) {
    let (memory, i32) = (draft.memory, ValType::I32);
    // Whether the worker is in the section.
    let mut inside = None;
    for sequence in sequences(function) {
        let instrs = &function.block(sequence).instrs;
        let what = |at: usize| match list.act(instrs, at, memory) {
            Some(act) => Some(Found::Act(act)).filter(|_| act != Act::Load),
            None if list.notes_alone(instrs, at) => Some(Found::NotesAlone),
            None => list.begins_to_end(id, instrs, at).then_some(Found::BeginsToEnd),
        };
        let found: Vec<Option<Found>> = (0..instrs.len()).map(what).collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        let (enter, exit) =
            (draft.import(rt::ATOMIC_ENTER, &[], &[]), draft.import(rt::ATOMIC_EXIT, &[], &[]));
        let inside = *inside.get_or_insert_with(|| draft.module.locals.add(i32));
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() + 8);
        for ((instr, at), found) in instrs.into_iter().zip(found) {
            match found {
                None => {
                    code.push(instr, at);
                }
                // The scheduling point is in front of the access, and so of the section.
                Some(Found::BeginsToEnd) => {
                    code.push(instr, at).call(enter).i32(1).set(inside);
                }
                Some(Found::Act(Act::Acquire)) => {
                    let owner = draft.module.locals.add(i32);
                    code.get(inside).unary(UnaryOp::I32Eqz);
                    code.if_then(function, |code| {
                        code.call(enter).i32(1).set(inside);
                    });
                    code.push(instr, at).set(owner).get(owner);
                    code.if_then(function, |code| {
                        code.call(exit).i32(0).set(inside);
                    });
                    code.get(owner);
                }
                Some(Found::Act(Act::Release)) => {
                    code.push(instr, at).call(exit).i32(0).set(inside);
                }
                Some(Found::Act(Act::Notify)) => {
                    let (address, count) = (code.at_end(1), code.at_end(0));
                    code.add(Drop {}).add(Drop {});
                    let arg = MemArg { align: 4, offset: 0 };
                    code.i32(list.waiters as i32);
                    draft.unseen.insert(at.data());
                    code.push(Load { memory, kind: LoadKind::I32 { atomic: false }, arg }, at);
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
                Some(Found::NotesAlone) => {
                    code.add(Drop {}).add(Drop {});
                }
                Some(Found::Act(Act::Load)) => unreachable!("left out above"),
            }
        }
        function.block_mut(sequence).instrs = code.into();
    }
}
