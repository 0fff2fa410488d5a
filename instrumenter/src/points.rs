//! Pass 4: announces each access to the guest's memory before it happens.
//!
//! The address is announced without the instruction's constant offset, which is in the site table.
//! Operands are set aside, unless they only push a local or a constant.
//!
//! ```wat
//! ;; before
//! local.get 0
//! i32.load offset=8
//! call $g
//! i32.store
//! ;; after
//! i32.const 1000 global.set $__cy_budget
//! i32.const 5 (; site ;) local.get 0 call $coyote_rt.point
//! local.get 0
//! i32.load offset=8
//! call $g
//! local.set 3 local.set 2
//! i32.const 1000 global.set $__cy_budget
//! i32.const 6 (; site ;) local.get 2 call $coyote_rt.point
//! local.get 2 local.get 3
//! i32.store
//! ```
//!
//! Where points are left out unless memory is shared, a question precedes this: see `owners`.
//!
//! Left out are: accesses below the level that the user chose, functions outside of the user's
//! scope, atomic functions and what only they call, and accesses to the function's own stack frame
//! as long as its address stays in the function (see `frame`).

use crate::access::{access, bulk};
use crate::code::Code;
use crate::draft::{Draft, Owners, PointPolicy, sequences, site_location};
use crate::options::{
    ALLOCATORS, C_SDK, C_SDK_OPERATIONS, EXCUSED, HARNESS, PATHS, PRINTS, Points, STDIO, UNGUARDED,
    UNNOTICED, UNTOLD,
};
use crate::scope::{Scope, library_names, names_of};
use crate::{Error, calls, calls::Calls, effects, escape};
use coyote_abi::{OpKind, rt};
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{FunctionId, LocalFunction, LocalId, ValType};

pub fn points(draft: &mut Draft, calls: &Calls) -> Result<(), Error> {
    treat(draft, calls)?;
    if draft.options.points == Points::Sync && !draft.options.footprints {
        return Ok(());
    }
    if draft.options.follows_owners() {
        draft.owners = Some(Owners::add(draft));
    }
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let points = draft.policies[origin as usize] == PointPolicy::Points;
        let told = draft.tells_footprint(origin);
        if points || told || draft.owners.is_some() && !draft.allocating.contains(&origin) {
            draft.edit(id, |draft, function| announce_in(draft, origin, function, points, told));
        }
    }
    Ok(())
}

/// Decides which functions' accesses are points.
fn treat(draft: &mut Draft, calls: &Calls) -> Result<(), Error> {
    let options = draft.options;
    let atomic = Scope::new(options.atomic_fns.iter().map(String::as_str))?;
    let unguarded = options.atomic_defaults && !draft.original.wasi_threads;
    let mut defaults: Vec<&str> =
        if options.atomic_defaults { [ALLOCATORS, PATHS].concat() } else { Vec::new() };
    if unguarded {
        defaults.extend([STDIO, PRINTS, UNGUARDED, UNNOTICED].concat());
    }
    let defaults = Scope::new(defaults)?;
    let files = if unguarded { file_functions(draft, calls) } else { BTreeSet::new() };
    let harness: &[&str] = if draft.original.libtest { HARNESS } else { &[] };
    let own = C_SDK.iter().chain(EXCUSED).chain(harness).copied();
    let untold = Scope::new(UNTOLD.iter().copied())?;
    let operations = Scope::new(C_SDK_OPERATIONS.iter().copied())?;
    let excluded = Scope::new(options.no_points_in.iter().map(String::as_str).chain(own))?;
    let included = Scope::new(options.points_only_in.iter().map(String::as_str))?;
    let functions = draft.guest_functions();
    for id in &functions {
        let origin = draft.origin(*id).expect("it is the guest's");
        let mut names = names_of(&draft.original.functions[origin as usize].name);
        let exported = draft.original.exported_as.get(&origin).into_iter().flatten();
        let library: Vec<String> = library_names(&names).cloned().chain(exported.clone().cloned()).collect();
        names.extend(exported.cloned());
        if untold.matching(&names).is_some() {
            draft.untold.insert(origin);
        }
        draft.policies[origin as usize] =
            if let Some(pattern) = atomic.matching(&names).or_else(|| defaults.matching(&library)) {
                PointPolicy::Atomic(pattern.to_string())
            } else if files.contains(id) {
                PointPolicy::FileFunction
            } else if operations.matching(&names).is_some() {
                PointPolicy::Operation
            } else if let Some(pattern) = excluded.matching(&names) {
                PointPolicy::Excluded(pattern.to_string())
            } else if !included.is_empty() && included.matching(&names).is_none() {
                PointPolicy::NotIncluded
            } else {
                PointPolicy::Points
            };
    }
    let is_atomic = |draft: &Draft, id: &FunctionId| {
        let origin = draft.origin(*id).expect("it is the guest's");
        matches!(draft.policies[origin as usize], PointPolicy::Atomic(_) | PointPolicy::FileFunction)
    };
    let is_allocator = |draft: &Draft, id: &FunctionId| {
        let origin = draft.origin(*id).expect("it is the guest's");
        let policy = &draft.policies[origin as usize];
        matches!(policy, PointPolicy::Atomic(pattern) if ALLOCATORS.contains(&pattern.as_str()))
    };
    let atomic: BTreeSet<FunctionId> = functions.iter().copied().filter(|id| is_atomic(draft, id)).collect();
    let allocators: BTreeSet<FunctionId> =
        functions.iter().copied().filter(|id| is_allocator(draft, id)).collect();
    let outside_allocators = outside(draft, calls, &allocators);
    let allocating =
        functions.iter().filter(|id| allocators.contains(id) || !outside_allocators.contains(id));
    draft.allocating = allocating.map(|id| draft.origin(*id).expect("it is the guest's")).collect();
    let outside = outside(draft, calls, &atomic);
    // What an allocator does to blocks is told, also to one that only an atomic function calls.
    let told = |id: &FunctionId| allocators.contains(id) && outside_allocators.contains(id);
    for id in functions.iter().filter(|id| !outside.contains(id) && !told(id)) {
        let origin = draft.origin(*id).expect("it is the guest's");
        draft.policies[origin as usize] = PointPolicy::OnlyFromAtomic;
    }
    Ok(())
}

/// Functions of a C library that take a path. The part of it below a preopened directory stands in a variable
/// that would be a thread's own, from where it is resolved to the call of WASI.
fn file_functions(draft: &Draft, calls: &Calls) -> BTreeSet<FunctionId> {
    let resolves = |id: &FunctionId| {
        let origin = draft.origin(*id).expect("it is the guest's");
        let name = draft.original.functions[origin as usize].name.as_str();
        RESOLVERS.contains(&name.trim_start_matches("undefined_weak:"))
    };
    let functions = draft.guest_functions();
    let resolvers: BTreeSet<FunctionId> = functions.iter().copied().filter(resolves).collect();
    let calls_one = |id: &FunctionId| calls.called_by([id]).any(|callee| resolvers.contains(&callee));
    functions.into_iter().filter(|id| !resolvers.contains(id) && calls_one(id)).collect()
}

/// What resolves paths in wasi-libc, with its own functions around it where they are not inlined.
const RESOLVERS: &[&str] = &[
    "__wasilibc_find_relpath",
    "__wasilibc_find_relpath_alloc",
    "find_relpath",
    "find_relpath2",
    "find_relpath_alt",
];

/// Whatever the host can start, whatever runs without one of some functions below it, and what that
/// calls. If these functions have brackets, then what is left runs inside of them and needs none.
fn outside(draft: &Draft, calls: &Calls, bracketed: &BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
    if bracketed.is_empty() {
        return draft.guest_functions().into_iter().collect();
    }
    let mut roots = calls::roots(&draft.module);
    roots.extend(&calls.taken);
    let mut outside = calls.reachable(roots.iter().copied(), bracketed);
    let called: Vec<_> = calls.called_by(&outside).collect();
    outside.extend(called);
    outside.extend(roots);
    outside
}

/// The position of a local for an instruction's result: none of an operand.
const RESULT: usize = usize::MAX;

/// Locals in which operands are set aside, shared by all accesses of a function.
#[derive(Default)]
pub struct Aside(BTreeMap<(ValType, usize), LocalId>);

impl Aside {
    /// The local for the operand of this type in this position.
    pub fn local(&mut self, draft: &mut Draft, ty: ValType, position: usize) -> LocalId {
        *self.0.entry((ty, position)).or_insert_with(|| draft.module.locals.add(ty))
    }

    /// Sets operands aside, so that `code` can be put before them and they can be pushed again.
    /// Returns the operands as instructions that push them, and where `code` must go.
    pub fn operands(&mut self, draft: &mut Draft, code: &mut Code, types: &[ValType]) -> (Vec<Instr>, Code) {
        if let Some(first) = code.simple_operands(types.len()) {
            let operands = (first..first + types.len()).map(|i| code.at(i)).collect();
            return (operands, code.split_off(first));
        }
        let locals: Vec<_> = types.iter().enumerate().map(|(i, ty)| self.local(draft, *ty, i)).collect();
        let mut again = Code::with_capacity(locals.len());
        for local in &locals {
            again.get(*local);
        }
        for local in locals.iter().rev() {
            code.set(*local);
        }
        (locals.iter().map(|local| LocalGet { local: *local }.into()).collect(), again)
    }
}

/// Announces the accesses of a function; if they are no points, only keeps the owner table, and tells of
/// them if the host wants to know.
fn announce_in(draft: &mut Draft, origin: u32, function: &mut LocalFunction, points: bool, told: bool) {
    let level = draft.options.points;
    let private = match draft.stack_pointer {
        Some(sp) if level == Points::Heap || told => {
            escape::private_accesses(&draft.module, function, sp, draft.memory)
        }
        _ => Default::default(),
    };
    let mut aside = Aside::default();
    for sequence in sequences(function) {
        let memory = draft.memory;
        let concerned = |i: &Instr| {
            access(i, memory).is_some() || bulk(i, memory).is_some() || matches!(i, Instr::AtomicFence(_))
        };
        if !function.block(sequence).instrs.iter().any(|(i, _)| concerned(i)) {
            continue;
        }
        let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
        let mut code = Code::with_capacity(instrs.len() * 4);
        for (index, (instr, at)) in instrs.into_iter().enumerate() {
            let location = draft.location(origin, at);
            if let Some(access) = access(&instr, memory) {
                let counts = level == Points::Heap || access.kind.is_atomic() && level == Points::Atomic;
                if level == Points::Heap && private.contains(&(sequence, index)) {
                    *draft.private_accesses.entry(origin).or_default() += u32::from(points);
                } else if counts || told && !private.contains(&(sequence, index)) {
                    let mut types = vec![ValType::I32];
                    types.extend(&access.values);
                    let (operands, again) = aside.operands(draft, &mut code, &types);
                    if counts && let Some(owners) = draft.owners {
                        let address = (&operands[0], access.offset);
                        owners.ask(function, &mut code, address, access.size, access.kind.writes());
                    }
                    let call = (points && counts).then(|| {
                        let site = draft.site(location, access.kind, access.size, access.offset);
                        announcement(draft, rt::POINT, site, &operands[..1])
                    });
                    if told && call.is_none() {
                        effects::tell_access(draft, &mut code, &access, &operands[0]);
                    }
                    if counts {
                        conclude(draft, function, &mut code, call);
                    }
                    code.append(again);
                    if told && access.kind == OpKind::CompareExchange {
                        code.push(instr, at);
                        let result = aside.local(draft, access.values[0], RESULT);
                        effects::tell_exchange(draft, function, &mut code, &access, &operands, result);
                        continue;
                    }
                }
            } else if let Some(bulk) = bulk(&instr, memory)
                && (told || level == Points::Heap)
            {
                let (operands, again) = aside.operands(draft, &mut code, &[ValType::I32; 3]);
                if !(points && level == Points::Heap) && told {
                    effects::tell_bulk(draft, &mut code, bulk, &operands);
                }
                if level != Points::Heap {
                    code.append(again);
                    code.push(instr, at);
                    continue;
                }
                if let Some(owners) = draft.owners {
                    owners.ask_range(&mut code, &operands[0], &operands[2], true);
                    if bulk.kind() == OpKind::Copy {
                        owners.ask_range(&mut code, &operands[1], &operands[2], false);
                        code.binary(BinaryOp::I32Or);
                    }
                }
                let call = points.then(|| {
                    let site = draft.site(location, bulk.kind(), 0, 0);
                    let source = match bulk.kind() {
                        OpKind::Copy => operands[1].clone(),
                        _ => Const { value: Value::I32(0) }.into(),
                    };
                    let arguments = [operands[0].clone(), source, operands[2].clone()];
                    announcement(draft, rt::POINT_BULK, site, &arguments)
                });
                conclude(draft, function, &mut code, call);
                code.append(again);
            } else if matches!(instr, Instr::AtomicFence(_)) && points && level != Points::Sync {
                let site = draft.site(location, OpKind::Fence, 0, 0);
                let zero = Const { value: Value::I32(0) }.into();
                code.append(announcement(draft, rt::POINT, site, &[zero]));
            }
            code.push(instr, at);
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

/// Puts an announcement behind the question whether it is one.
fn conclude(draft: &Draft, function: &mut LocalFunction, code: &mut Code, call: Option<Code>) {
    match (call, draft.owners) {
        (Some(call), None) => {
            code.append(call);
        }
        (Some(call), Some(_)) => {
            code.if_then(function, |code| {
                code.append(call);
            });
        }
        (None, Some(_)) => {
            code.add(Drop {});
        }
        (None, None) => {}
    }
}

/// Resets the countdown and calls `point(site, address)` or `point_bulk(site, destination, source,
/// length)`.
fn announcement(draft: &mut Draft, import: &'static str, site: u32, arguments: &[Instr]) -> Code {
    let point = draft.suspending(import, &vec![ValType::I32; arguments.len() + 1], &[]);
    let mut code = Code::default();
    code.i32(rt::COUNTDOWN).global_set(draft.budget).i32(site as i32);
    for argument in arguments {
        code.add(argument.clone());
    }
    code.push(Call { func: point }, site_location(site));
    code
}
