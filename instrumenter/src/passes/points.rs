//! Announces each access to the guest's memory before it happens.
//!
//! The address is announced without the instruction's constant offset, which is in the site table.
//! Operands are moved aside, unless they only push a local or a constant.
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
//! If points are left out where memory is not shared, a check precedes the announcement: see `owners`.
//!
//! With weak memory, all atomic accesses and fences are announced in another way: see `weak`.
//!
//! Rounds of some loops are one scheduling point: see [`crate::analysis::brief_spins`].
//!
//! Left out are: accesses below the level that the user chose, functions outside of the user's scope, atomic
//! functions and functions that only they call, accesses to the function's own stack frame as long as its
//! address does not leave the function (see `escape`), and those of a lock of wasi-libc (see `libc_locks`).

use super::checks;
use super::effects;
use super::orders;
use super::weak;
use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::access::{access, bulk};
use crate::analysis::brief_spins::{BriefSpin, brief_spins};
use crate::analysis::escape;
use crate::analysis::flow::Place;
use crate::analysis::frame_size::frame_size;
use crate::code::{Code, sequences};
use crate::draft::{Draft, Owners, PointPolicy, Tells, site_location, site_of_location};
use crate::operands::Aside;
use crate::options::Points;
use coyote_abi::{OpKind, rt};
use std::collections::BTreeSet;
use walrus::ir::*;
use walrus::{FunctionId, LocalFunction, LocalId, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let weak = draft.options.weak_memory();
    if draft.options.points == Points::Sync && !draft.options.tells_exchanges() && !weak {
        return Ok(());
    }
    if draft.options.follows_owners() {
        draft.owners = Some(Owners::add(draft));
    }
    // In a module without atomic instructions, what was atomic in the source is a plain access.
    let lowered =
        draft.options.edges && !draft.has(|i| access(i, draft.memory).is_some_and(|a| a.kind.is_atomic()));
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let private = own_frame(draft, origin, id);
        let points = *draft.policy(id) == PointPolicy::Points;
        // Functions that the user left out may order the accesses of the others.
        let left_out = draft.is_left_out_by_user(origin);
        let checked = !points && checks::are_wanted(draft, origin);
        let told = match draft.tells(origin) {
            Tells::Nothing => Told { checked, ..Told::default() },
            Tells::Footprints => Told { plain: true, atomic: true, exchanges: true, left_out, checked },
            Tells::Edges => {
                let (plain, exchanges) = (left_out && lowered, points || left_out);
                Told { plain, atomic: left_out, exchanges, left_out, checked }
            }
        };
        let owned = draft.owners.is_some() && !draft.allocating.contains(&origin);
        if points || told.atomic || weak || owned || checked {
            draft.edit(id, |draft, function| announce_in(draft, origin, function, &private, points, told));
        }
    }
    Ok(())
}

/// Which of a function's accesses the host is told of.
#[derive(Clone, Copy, Default)]
struct Told {
    /// Plain accesses that are no points, and bulk operations.
    plain: bool,
    /// Atomic accesses that are no points.
    atomic: bool,
    /// Whether a compare-exchange wrote.
    exchanges: bool,
    /// Whether the function has no points because the user said so.
    left_out: bool,
    /// Whether the host is asked about each access that it may be made: see [`checks`].
    checked: bool,
}

/// The position of the local for an instruction's result, which no operand has.
const RESULT: usize = usize::MAX;

/// The accesses of a function that touch only its own frame. Notes what is known of the frame.
fn own_frame(draft: &mut Draft, origin: u32, id: FunctionId) -> BTreeSet<(InstrSeqId, usize)> {
    let Some(sp) = draft.stack_pointer else { return BTreeSet::new() };
    let function = draft.module.funcs.get(id).kind.unwrap_local();
    // With weak memory, a barrier is an operation of its own.
    let atomics = draft.options.brief_spins && !draft.options.weak_memory();
    let private = escape::private_accesses(&draft.module, function, sp, draft.memory, atomics);
    let offset = |at: InstrLocId| if at.is_default() { None } else { site_of_location(at.data()).err() };
    if let Some(frame) = frame_size(function, sp, private.is_none(), offset) {
        draft.stack_frames.insert(origin, frame);
    }
    private.unwrap_or_default()
}

/// Announces the accesses of a function. If they are no points, only maintains the owner table, and reports
/// them if the host needs that.
fn announce_in(
    draft: &mut Draft,
    origin: u32,
    function: &mut LocalFunction,
    private: &BTreeSet<(InstrSeqId, usize)>,
    points: bool,
    told: Told,
) {
    let level = draft.options.points;
    let weak = draft.options.weak_memory();
    let left_out = told.left_out;
    let mut aside = Aside::default();
    let spins = Spins::of(draft, origin, function, private);
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
            if !at.is_default() && draft.unseen.contains(&at.data()) {
                code.push(instr, at);
                continue;
            }
            if let Some(access) = access(&instr, memory) {
                let private_access = private.contains(&(sequence, index));
                let is_weak = weak && access.kind.is_atomic() && !private_access;
                let counts = level == Points::Heap || access.kind.is_atomic() && level == Points::Atomic;
                let told_of = if access.kind.is_atomic() { told.atomic } else { told.plain };
                let exchange = told.exchanges && access.kind == OpKind::CompareExchange;
                if private_access && (level == Points::Heap || counts) {
                    *draft.private_accesses.entry(origin).or_default() += u32::from(points);
                } else if counts && (points || draft.owners.is_some())
                    || is_weak
                    || told.checked
                    || (told_of || exchange) && !private_access
                {
                    let mut types = vec![ValType::I32];
                    types.extend(&access.values);
                    let (operands, again) = aside.operands(draft, &mut code, &types);
                    if counts && let Some(owners) = draft.owners {
                        let address = (&operands[0], access.offset);
                        owners.ask(function, &mut code, address, access.size, access.kind.writes());
                    }
                    let call = (points && counts).then(|| {
                        let site = draft.site(location, access.kind, access.size, access.offset);
                        match is_weak {
                            true => weak::announcement(draft, rt::ATOMIC_POINT, site, &access, &operands),
                            false => announcement(draft, rt::POINT, site, &operands[..1]),
                        }
                    });
                    let call = call.map(|call| spins.once(function, call, (sequence, index)));
                    if told.checked {
                        checks::ask(draft, &mut code, &access, &operands[0]);
                    }
                    if told_of && call.is_none() {
                        effects::tell_access(draft, &mut code, &access, &operands[0], left_out);
                    }
                    if is_weak && call.is_none() {
                        let site = draft.site(location, access.kind, access.size, access.offset);
                        code.append(weak::announcement(draft, rt::ATOMIC_INSIDE, site, &access, &operands));
                    }
                    if counts {
                        conclude(draft, function, &mut code, call);
                    }
                    code.append(again);
                    if is_weak || exchange {
                        code.push(instr, at);
                        if is_weak {
                            weak::done(draft, &mut code);
                        }
                        if exchange {
                            let result = aside.local(draft, access.values[0], RESULT);
                            let seen = (&operands[..], result);
                            effects::tell_exchange(draft, function, &mut code, &access, seen, left_out);
                        }
                        continue;
                    }
                }
            } else if let Some(bulk) = bulk(&instr, memory)
                && (told.plain || level == Points::Heap)
            {
                let (operands, again) = aside.operands(draft, &mut code, &[ValType::I32; 3]);
                if told.checked {
                    checks::ask_bulk(draft, &mut code, bulk, &operands);
                }
                if !(points && level == Points::Heap) && told.plain {
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
            } else if matches!(instr, Instr::AtomicFence(_)) {
                let counts = points && level != Points::Sync;
                if left_out {
                    effects::tell_fence(draft, &mut code);
                }
                if weak {
                    let site = draft.site(location, OpKind::Fence, 0, 0);
                    let import = if counts { rt::ATOMIC_POINT } else { rt::ATOMIC_INSIDE };
                    code.append(weak::fence(draft, import, site));
                } else if counts {
                    let site = draft.site(location, OpKind::Fence, 0, 0);
                    let zero = Const { value: Value::I32(0) }.into();
                    code.append(announcement(draft, rt::POINT, site, &[zero]));
                }
            }
            code.push(instr, at);
        }
        function.block_mut(sequence).instrs = code.into();
    }
    spins.begin_anew(function);
}

/// The loops of a function of which only the first round has points, each with the local that counts these points.
struct Spins(Vec<(BriefSpin, LocalId)>);

impl Spins {
    fn of(draft: &mut Draft, origin: u32, function: &LocalFunction, private: &BTreeSet<Place>) -> Spins {
        if !draft.options.brief_spins || draft.options.weak_memory() {
            return Spins(Vec::new());
        }
        let name = &draft.original.functions[origin as usize].name;
        let spins = brief_spins(function, name, draft.memory, private);
        Spins(spins.into_iter().map(|spin| (spin, draft.module.locals.add(ValType::I32))).collect())
    }

    /// The announcement of the access at a place, only in the first round if it belongs to such a loop.
    fn once(&self, function: &mut LocalFunction, call: Code, at: Place) -> Code {
        let Some((spin, count)) = self.0.iter().find(|(spin, _)| spin.loads.contains(&at)) else {
            return call;
        };
        let mut code = Code::default();
        code.get(*count).i32(spin.first as i32).binary(BinaryOp::I32LtU);
        code.if_then(function, |code| {
            code.append(call);
            code.get(*count).i32(1).binary(BinaryOp::I32Add).set(*count);
        });
        code
    }

    /// Begins to count in front of each loop.
    fn begin_anew(&self, function: &mut LocalFunction) {
        if self.0.is_empty() {
            return;
        }
        for sequence in sequences(function) {
            let instrs = std::mem::take(&mut function.block_mut(sequence).instrs);
            let mut code = Code::with_capacity(instrs.len());
            for (instr, at) in instrs {
                let begins = |(spin, _): &&(BriefSpin, LocalId)| matches!(&instr, Instr::Loop(i) if i.seq == spin.body);
                if let Some((_, count)) = self.0.iter().find(begins) {
                    code.i32(0).set(*count);
                }
                code.push(instr, at);
            }
            function.block_mut(sequence).instrs = code.into();
        }
    }
}

/// Puts an announcement behind the check whether the access is a scheduling point.
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
    code.i32(rt::COUNTDOWN).global_set(draft.budget);
    orders::push_site(draft, &mut code, site);
    for argument in arguments {
        code.add(argument.clone());
    }
    code.push(Call { func: point }, site_location(site));
    code
}
