//! Pass 3: one instance runs all workers, so what threads have of the engine becomes ours.
//!
//! A shared memory becomes private. Waiting, notifying and starting threads become calls of
//! suspending imports, and so do the synchronisation imports of module `coyote` and the WASI calls
//! that block or end: each call passes the number of its site, and resets the countdown.
//!
//! ```wat
//! ;; before
//! (import "env" "memory" (memory 17 100 shared))
//! (import "coyote" "mutex_lock" (func $lock (param i32)))
//! (func $f
//!   i32.const 8
//!   call $lock
//!   local.get 0 local.get 1 i64.const -1
//!   memory.atomic.wait32 offset=4
//!   drop)
//! ;; after
//! (import "coyote_rt" "mutex_lock" (func $coyote_rt.mutex_lock (param i32 i32)))
//! (memory 17 100)
//! (func $f
//!   i32.const 8
//!   i32.const 1000 global.set $__cy_budget
//!   i32.const 0 (; site ;) call $coyote_rt.mutex_lock
//!   local.get 0 local.get 1 i64.const -1
//!   local.set 3 local.set 2
//!   i32.const 4 i32.add local.tee 4 i32.const 4 i32.lt_u (if (then unreachable))
//!   local.get 4 local.get 2 local.get 3
//!   i32.const 1000 global.set $__cy_budget
//!   i32.const 1 (; site ;) call $coyote_rt.futex_wait
//!   drop)
//! ```
//!
//! A call of a file function ([`coyote_abi::file`]) is announced, with its descriptor, and then made:
//!
//! ```wat
//! ;; before
//! local.get 0 local.get 1 local.get 2 local.get 3 call $fd_read
//! ;; after
//! local.get 0 local.get 1 local.get 2 local.get 3
//! local.set 6 local.set 5 local.set 4
//! local.tee 7 local.get 7
//! i32.const 1000 global.set $__cy_budget
//! i32.const 2 (; site ;) call $coyote_rt.call
//! local.get 4 local.get 5 local.get 6 call $coyote_rt.fd_read
//! ```
//!
//! An import whose address is taken is routed through a function, so that there is a call to give a
//! site to.

use crate::check::WASI;
use crate::code::Code;
use crate::draft::{Draft, OwnGlobal, sequences, site_location};
use crate::stubs::Stub;
use crate::{Location, calls};
use coyote_abi::{OpKind, Type, file, guest, rt};
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{FunctionId, GlobalKind, ImportKind, LocalFunction, ValType};

pub fn threads(draft: &mut Draft) {
    own_memory(draft);
    sort_globals(draft);
    let replaced = replacements(draft);
    let mut needed = calls::taken_by_constants(&draft.module);
    needed.extend(calls::roots(&draft.module));
    for id in draft.guest_functions() {
        draft.edit(id, |draft, function| replace_in(draft, id, function, &replaced, &mut needed));
    }
    retire(draft, &replaced, &needed);
}

/// Makes the guest's memory a private one that the module defines.
fn own_memory(draft: &mut Draft) {
    let memory = draft.module.memories.get_mut(draft.memory);
    memory.shared = false;
    if let Some(import) = memory.import.take() {
        draft.module.imports.delete(import);
    }
}

/// Decides which mutable globals belong to a worker and which are shared. An instance of a
/// wasi-threads module has all of them to itself. In other modules it is the stack pointer and the
/// thread-local storage.
fn sort_globals(draft: &mut Draft) {
    for (index, global) in draft.module.globals.iter().enumerate() {
        let id = global.id();
        if !global.mutable
            || matches!(global.ty, ValType::Ref(_))
            || matches!(global.kind, GlobalKind::Import(_))
        {
            continue;
        }
        let name = draft.original.global_names.get(&(index as u32)).or(global.name.as_ref());
        let name = name.cloned().unwrap_or_else(|| format!("global[{index}]"));
        let stack_pointer = draft.stack_pointer == Some(id);
        let own = draft.original.wasi_threads
            || stack_pointer
            || id == draft.budget
            || (draft.original.spawns && name.starts_with("__tls_"));
        if own {
            draft.own_globals.push(OwnGlobal { id, name, stack_pointer });
        } else {
            draft.shared_globals.push(id);
        }
    }
}

/// What takes the place of an import of the guest.
enum Replacement {
    /// A suspending import that is told the site.
    Suspending { import: FunctionId, kind: OpKind },
    /// A plain import, announced before it is called, with the argument that is a file descriptor.
    Announced { import: FunctionId, params: Vec<ValType>, descriptor: usize },
    /// No call at all: see `stubs`.
    Stub(Stub),
}

impl Replacement {
    fn kind(&self) -> OpKind {
        match self {
            Replacement::Suspending { kind, .. } => *kind,
            Replacement::Announced { .. } => OpKind::File,
            Replacement::Stub(stub) => stub.kind(),
        }
    }

    /// Makes the call, with its arguments on the stack. `at` is its place.
    fn call(&self, draft: &mut Draft, code: &mut Code, site: u32, at: InstrLocId) {
        match self {
            Replacement::Suspending { import, .. } => {
                call_site(draft, code, site);
                code.push(Call { func: *import }, at);
            }
            Replacement::Announced { import, params, descriptor } => {
                let above: Vec<_> = params[*descriptor + 1..].to_vec();
                let above: Vec<_> = above.iter().map(|ty| draft.module.locals.add(*ty)).collect();
                let object = draft.module.locals.add(ValType::I32);
                above.iter().rev().for_each(|local| {
                    code.set(*local);
                });
                code.tee(object).get(object);
                announce(draft, code, site, at);
                above.iter().for_each(|local| {
                    code.get(*local);
                });
                code.call(*import);
            }
            Replacement::Stub(stub) => stub.call(draft, code, site, at),
        }
    }
}

/// Announces a call of the object on the stack.
pub fn announce(draft: &mut Draft, code: &mut Code, site: u32, at: InstrLocId) {
    let import = draft.suspending(rt::CALL, &[ValType::I32; 2], &[]);
    call_site(draft, code, site);
    code.push(Call { func: import }, at);
}

fn replacements(draft: &mut Draft) -> BTreeMap<FunctionId, Replacement> {
    const I32: ValType = ValType::I32;
    let imported: Vec<(FunctionId, String, String)> = draft
        .module
        .imports
        .iter()
        .filter_map(|i| match i.kind {
            ImportKind::Function(id) => Some((id, i.module.clone(), i.name.clone())),
            _ => None,
        })
        .collect();
    let mut replaced = BTreeMap::new();
    for (id, module, name) in imported {
        let stub = Stub::of(draft, &module, &name, id);
        let (import, kind) = match (module.as_str(), name.as_str()) {
            _ if stub.is_some() => {
                replaced.extend(stub.map(|stub| (id, Replacement::Stub(stub))));
                continue;
            }
            // A call is a bug: the import stays.
            (module, name) if draft.options.stub(module, name).is_some() => continue,
            (guest::MODULE, name) => {
                let known = guest::import(name).expect("`check` knows all of them");
                let Some(kind) = known.operation else { continue };
                let mut params: Vec<_> = known.params.iter().map(|(_, ty)| val_type(*ty)).collect();
                params.push(I32);
                let results: Vec<_> = known.result.iter().map(|ty| val_type(*ty)).collect();
                (draft.suspending(known.name, &params, &results), kind)
            }
            ("wasi", "thread-spawn") => {
                (draft.suspending(rt::THREAD_SPAWN, &[I32; 2], &[I32]), OpKind::Spawn)
            }
            (WASI, "sched_yield") => (draft.suspending(rt::WASI_SCHED_YIELD, &[I32], &[I32]), OpKind::Yield),
            (WASI, "poll_oneoff") => {
                (draft.suspending(rt::WASI_POLL_ONEOFF, &[I32; 5], &[I32]), OpKind::Sleep)
            }
            (WASI, name) if file::call(name).is_some_and(|c| c.point) => {
                let call = file::call(name).expect("just found");
                let params: Vec<_> = call.types().map(val_type).collect();
                let import = draft.import(call.name, &params, &[I32]);
                let descriptor = call.descriptor();
                replaced.insert(id, Replacement::Announced { import, params, descriptor });
                continue;
            }
            (WASI, "proc_exit") => (draft.suspending(rt::WASI_PROC_EXIT, &[I32; 2], &[]), OpKind::Exit),
            _ => continue,
        };
        replaced.insert(id, Replacement::Suspending { import, kind });
    }
    replaced
}

fn val_type(ty: Type) -> ValType {
    match ty {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
    }
}

fn replace_in(
    draft: &mut Draft,
    id: FunctionId,
    function: &mut LocalFunction,
    replaced: &BTreeMap<FunctionId, Replacement>,
    taken: &mut BTreeSet<FunctionId>,
) {
    let origin = draft.origin(id).expect("it is the guest's");
    let mut concerned = |i: &Instr| match i {
        Instr::Call(i) => replaced.contains_key(&i.func),
        Instr::ReturnCall(i) => replaced.contains_key(&i.func),
        Instr::RefFunc(i) => {
            taken.insert(i.func);
            false
        }
        Instr::AtomicWait(_) | Instr::AtomicNotify(_) => true,
        _ => false,
    };
    for sequence in sequences(function) {
        // Not `any`: all functions whose address is taken are wanted.
        if function.block(sequence).instrs.iter().filter(|(i, _)| concerned(i)).count() == 0 {
            continue;
        }
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() + 8);
        for (instr, at) in instrs {
            let location = draft.location(origin, at);
            match &instr {
                Instr::Call(Call { func }) | Instr::ReturnCall(ReturnCall { func })
                    if replaced.contains_key(func) =>
                {
                    let replacement = &replaced[func];
                    let site = draft.site(location, replacement.kind(), 0, 0);
                    replacement.call(draft, &mut code, site, at);
                    if matches!(instr, Instr::ReturnCall(_)) {
                        code.add(Return {});
                        // Walrus keeps what follows a tail call, though it is never executed.
                        break;
                    }
                }
                Instr::AtomicWait(i) => {
                    let value = if i.sixty_four { ValType::I64 } else { ValType::I32 };
                    let name = if i.sixty_four { rt::FUTEX_WAIT64 } else { rt::FUTEX_WAIT };
                    let params = [ValType::I32, value, ValType::I64, ValType::I32];
                    add_offset(draft, function, &mut code, i.arg.offset, &params[1..3]);
                    let import = draft.suspending(name, &params, &[ValType::I32]);
                    let size = if i.sixty_four { 8 } else { 4 };
                    let site = draft.site(location, OpKind::FutexWait, size, 0);
                    call_site(draft, &mut code, site);
                    code.push(Call { func: import }, at);
                }
                Instr::AtomicNotify(i) => {
                    let params = [ValType::I32; 3];
                    add_offset(draft, function, &mut code, i.arg.offset, &params[1..2]);
                    let import = draft.suspending(rt::FUTEX_NOTIFY, &params, &[ValType::I32]);
                    let site = draft.site(location, OpKind::FutexNotify, 4, 0);
                    call_site(draft, &mut code, site);
                    code.push(Call { func: import }, at);
                }
                _ => {
                    code.push(instr, at);
                }
            }
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// What stands before every call that announces a site: the countdown starts anew, and the site is
/// the last argument.
pub fn call_site(draft: &Draft, code: &mut Code, site: u32) {
    code.i32(rt::COUNTDOWN).global_set(draft.budget).i32(site as i32);
}

/// Adds a constant offset to the address below the operands `above` on the stack. Where the sum
/// leaves the address space the original would trap, and so does this.
fn add_offset(
    draft: &mut Draft,
    function: &mut LocalFunction,
    code: &mut Code,
    offset: u64,
    above: &[ValType],
) {
    if offset == 0 {
        return;
    }
    let locals: Vec<_> = above.iter().map(|ty| draft.module.locals.add(*ty)).collect();
    let address = draft.module.locals.add(ValType::I32);
    locals.iter().rev().for_each(|local| {
        code.set(*local);
    });
    code.i32(offset as i32).binary(BinaryOp::I32Add).tee(address);
    code.i32(offset as i32).binary(BinaryOp::I32LtU);
    code.if_then(function, |code| {
        code.add(Unreachable {});
    });
    code.get(address);
    locals.iter().for_each(|local| {
        code.get(*local);
    });
}

/// Removes the replaced imports. One whose address is taken, or that is exported, becomes a function
/// that makes the call.
fn retire(draft: &mut Draft, replaced: &BTreeMap<FunctionId, Replacement>, needed: &BTreeSet<FunctionId>) {
    for (id, replacement) in replaced {
        if !needed.contains(id) {
            draft.delete_import(*id);
            continue;
        }
        let origin = draft.origin(*id).expect("it is the guest's");
        let site = draft.site(Location { function: origin, offset: 0 }, replacement.kind(), 0, 0);
        let ty = draft.module.types.get(draft.module.funcs.get(*id).ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let params: Vec<_> = params.iter().map(|ty| (*ty, draft.module.locals.add(*ty))).collect();
        let types: Vec<_> = params.iter().map(|(ty, _)| *ty).collect();
        let builder = walrus::FunctionBuilder::new(&mut draft.module.types, &types, &results);
        let mut body = builder.local_func(params.iter().map(|(_, local)| *local).collect());
        let mut code = Code::default();
        params.iter().for_each(|(_, local)| {
            code.get(*local);
        });
        replacement.call(draft, &mut code, site, site_location(site));
        let entry = body.entry_block();
        body.block_mut(entry).instrs = code.into();
        draft.implement_import(*id, body);
    }
}
