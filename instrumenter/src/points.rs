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
//! Left out are: accesses below the level that the user chose, functions outside of the user's
//! scope, atomic functions and what only they call, and accesses to the function's own stack frame
//! as long as its address stays in the function (see `frame`).

use crate::access::{access, bulk};
use crate::code::Code;
use crate::draft::{Draft, Treatment, sequences, site_location};
use crate::options::{ALLOCATORS, Points, STDIO};
use crate::scope::{Scope, names_of};
use crate::{Error, calls, calls::Calls, frame};
use coyote_abi::{OpKind, rt};
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{FunctionId, LocalFunction, LocalId, ValType};

pub fn points(draft: &mut Draft, calls: &Calls) -> Result<(), Error> {
    treat(draft, calls)?;
    if draft.options.points == Points::Sync {
        return Ok(());
    }
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        if draft.treatments[origin as usize] == Treatment::Points {
            draft.edit(id, |draft, function| announce_in(draft, origin, function));
        }
    }
    Ok(())
}

/// Decides which functions' accesses are points.
fn treat(draft: &mut Draft, calls: &Calls) -> Result<(), Error> {
    let options = draft.options;
    let mut atomic: Vec<&str> = options.atomic_fns.iter().map(String::as_str).collect();
    if options.atomic_defaults {
        atomic.extend(ALLOCATORS);
        if !draft.original.wasi_threads {
            atomic.extend(STDIO);
        }
    }
    let atomic = Scope::new(atomic)?;
    let excluded = Scope::new(options.no_points_in.iter().map(String::as_str))?;
    let included = Scope::new(options.points_only_in.iter().map(String::as_str))?;
    let functions = draft.guest_functions();
    for id in &functions {
        let origin = draft.origin(*id).expect("it is the guest's");
        let mut names = names_of(&draft.original.functions[origin as usize].name);
        names.extend(draft.original.exported_as.get(&origin).into_iter().flatten().cloned());
        draft.treatments[origin as usize] = if let Some(pattern) = atomic.matching(&names) {
            Treatment::Atomic(pattern.to_string())
        } else if let Some(pattern) = excluded.matching(&names) {
            Treatment::Excluded(pattern.to_string())
        } else if !included.is_empty() && included.matching(&names).is_none() {
            Treatment::NotIncluded
        } else {
            Treatment::Points
        };
    }
    let is_atomic = |draft: &Draft, id: &FunctionId| {
        let origin = draft.origin(*id).expect("it is the guest's");
        matches!(draft.treatments[origin as usize], Treatment::Atomic(_))
    };
    let atomic: BTreeSet<FunctionId> = functions.iter().copied().filter(|id| is_atomic(draft, id)).collect();
    if !atomic.is_empty() {
        // Whatever the host can start, and whatever runs without an atomic function below it. What is
        // left runs inside of brackets, and needs none of its own.
        let mut roots = calls::roots(&draft.module);
        roots.extend(&calls.taken);
        let mut outside = calls.reachable(roots.iter().copied(), &atomic);
        let called: Vec<_> = calls.called_by(&outside).collect();
        outside.extend(called);
        outside.extend(roots);
        for id in functions.iter().filter(|id| !outside.contains(id)) {
            let origin = draft.origin(*id).expect("it is the guest's");
            draft.treatments[origin as usize] = Treatment::OnlyFromAtomic;
        }
    }
    Ok(())
}

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

fn announce_in(draft: &mut Draft, origin: u32, function: &mut LocalFunction) {
    let private = match draft.stack_pointer {
        Some(sp) if draft.options.points == Points::Heap => {
            frame::private_accesses(&draft.module, function, sp, draft.memory)
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
                if private.contains(&(sequence, index)) {
                    *draft.private_accesses.entry(origin).or_default() += 1;
                } else if access.kind.is_atomic() || draft.options.points == Points::Heap {
                    let mut types = vec![ValType::I32];
                    types.extend(&access.values);
                    let (operands, again) = aside.operands(draft, &mut code, &types);
                    let site = draft.site(location, access.kind, access.size, access.offset);
                    let point = point(draft);
                    announce(draft, &mut code, site);
                    code.add(operands[0].clone());
                    code.push(Call { func: point }, site_location(site)).append(again);
                }
            } else if let Some(bulk) = bulk(&instr, memory)
                && draft.options.points == Points::Heap
            {
                let (operands, again) = aside.operands(draft, &mut code, &[ValType::I32; 3]);
                let site = draft.site(location, bulk.kind(), 0, 0);
                let point = point_bulk(draft);
                announce(draft, &mut code, site);
                code.add(operands[0].clone());
                match bulk.kind() {
                    OpKind::Copy => code.add(operands[1].clone()),
                    _ => code.i32(0),
                };
                code.add(operands[2].clone());
                code.push(Call { func: point }, site_location(site)).append(again);
            } else if matches!(instr, Instr::AtomicFence(_)) {
                let site = draft.site(location, OpKind::Fence, 0, 0);
                let point = point(draft);
                announce(draft, &mut code, site);
                code.i32(0).push(Call { func: point }, site_location(site));
            }
            code.push(instr, at);
        }
        function.block_mut(sequence).instrs = code.into();
    }
}

fn announce(draft: &Draft, code: &mut Code, site: u32) {
    code.i32(rt::COUNTDOWN).global_set(draft.budget).i32(site as i32);
}

/// `point(site, address)`.
fn point(draft: &mut Draft) -> FunctionId {
    draft.suspending(rt::POINT, &[ValType::I32; 2], &[])
}

/// `point_bulk(site, destination, source, length)`.
fn point_bulk(draft: &mut Draft) -> FunctionId {
    draft.suspending(rt::POINT_BULK, &[ValType::I32; 4], &[])
}
