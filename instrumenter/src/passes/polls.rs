//! Lets the host postpone the poll of a task of tokio, so that tokio's runtime does not decide the order of
//! polls alone.
//!
//! A task of tokio has a table of functions, of which the first two are `poll` and `schedule`. Both are
//! called with the task's address and take over the same reference to it; `poll` changes nothing before it
//! runs the future. So a task that is about to be polled can instead be scheduled again, as if its runtime
//! had taken another one from the queue.
//!
//! ```wat
//! ;; before
//! (func $tokio::runtime::task::raw::poll (param i32) ..)
//! ;; after, with faults of class `poll`
//! (func $tokio::runtime::task::raw::poll (param i32)
//!   local.get 0 i32.const 4 i32.const 0 i32.const 7 (; site ;) call $coyote_rt.fault_hook
//!   if local.get 0 call $tokio::runtime::task::raw::schedule
//!   else local.get 0 call $"tokio::runtime::task::raw::poll (body)" end)
//! (func $"tokio::runtime::task::raw::poll (body)" (param i32) ..)
//! ```
//! The tables, which are in the module's data, tell which `schedule` belongs to a `poll`. A task that cannot
//! be scheduled again is not changed: those of `spawn_blocking`, whose `schedule` never returns.

use crate::analysis::Analyses;
use crate::announce::ask_for_fault;
use crate::code::{Code, instructions};
use crate::draft::site_location;
use crate::{Draft, Error, Location};
use coyote_abi::OpKind;
use coyote_abi::rt::FaultHook;
use std::collections::BTreeMap;
use walrus::ir::{Instr, InstrLocId, Return};
use walrus::{ConstExpr, ElementItems, ElementKind, FunctionId, FunctionKind, ValType};

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    if !draft.options.fails("poll") {
        return Ok(());
    }
    for (poll, schedule) in tasks(draft) {
        if !comes_back(draft, schedule) {
            continue;
        }
        let origin = draft.origin(poll).expect("it is the guest's");
        let start = draft.original.functions[origin as usize].start;
        draft.wrap(poll, " (body)", |draft, wrapper| {
            let task = wrapper.args[0];
            let site = draft.site(Location { function: origin, offset: start }, OpKind::Fault, 0, 0);
            let mut code = Code::default();
            code.get(task);
            ask_for_fault(draft, &mut code, (FaultHook::Poll, 0), site, site_location(site));
            code.if_then(&mut wrapper.body, |code| {
                code.get(task).call(schedule).add(Return {});
            });
            code.append(wrapper.forward(InstrLocId::default()));
            code
        });
    }
    Ok(())
}

/// Whether a function's mangled name is that of a function of `tokio::runtime::task::raw`, in either mangling.
fn is_raw(name: &str, function: &str) -> bool {
    let of_v0 =
        || name.strip_prefix("_RINvNtNtNtCs").and_then(|rest| rest.split_once('_')).map(|(_, rest)| rest);
    let rest =
        name.strip_prefix("_ZN").or_else(of_v0).and_then(|rest| rest.strip_prefix("5tokio7runtime4task3raw"));
    rest.and_then(|rest| rest.strip_prefix(&format!("{}{function}", function.len()))).is_some()
}

/// The `poll` of each kind of task, with its `schedule`. The tables in the data contain them next to each
/// other, followed by the task's `dealloc`.
fn tasks(draft: &Draft) -> BTreeMap<FunctionId, FunctionId> {
    let named = |function: FunctionId, wanted: &str| {
        let ty = draft.module.types.get(draft.module.funcs.get(function).ty());
        let origin = draft.origin(function);
        let name = origin.map(|origin| draft.original.functions[origin as usize].name.as_str());
        ty.params() == [ValType::I32]
            && ty.results().is_empty()
            && name.is_some_and(|name| is_raw(name, wanted))
    };
    let entries = table_entries(draft);
    let entry = |bytes: &[u8]| {
        let index = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        entries.get(&index).copied()
    };
    let mut tasks: BTreeMap<FunctionId, Option<FunctionId>> = BTreeMap::new();
    for data in draft.module.data.iter() {
        // A table is aligned, and so is the segment that it is in.
        for words in data.value.windows(12).step_by(4) {
            let [Some(poll), Some(schedule), Some(dealloc)] = [0, 4, 8].map(|at| entry(&words[at..at + 4]))
            else {
                continue;
            };
            if named(poll, "poll") && named(schedule, "schedule") && named(dealloc, "dealloc") {
                // Equal functions may have been merged: then it is not known to which kind of task they
                // belong.
                let known = tasks.entry(poll).or_insert(Some(schedule));
                *known = known.filter(|known| *known == schedule);
            }
        }
    }
    tasks.into_iter().filter_map(|(poll, schedule)| Some((poll, schedule?))).collect()
}

/// The functions of the module's table by their indices, if these are constant.
fn table_entries(draft: &Draft) -> BTreeMap<u32, FunctionId> {
    let mut entries = BTreeMap::new();
    for element in draft.module.elements.iter() {
        let ElementKind::Active { offset: ConstExpr::Value(walrus::ir::Value::I32(start)), .. } =
            element.kind
        else {
            continue;
        };
        if let ElementItems::Functions(functions) = &element.items {
            let indices = (start as u32)..;
            entries.extend(indices.zip(functions.iter().copied()));
        }
    }
    entries
}

/// Whether a `schedule` can return. That of tasks of `spawn_blocking` panics.
fn comes_back(draft: &Draft, schedule: FunctionId) -> bool {
    let FunctionKind::Local(function) = &draft.module.funcs.get(schedule).kind else { return false };
    let mut returns = false;
    for (instr, _) in instructions(function) {
        returns |= matches!(instr, Instr::Return(_));
        let Instr::Call(call) = instr else { continue };
        let name = draft.module.funcs.get(call.func).name.as_deref();
        if name.is_some_and(|name| name.contains("BlockingSchedule")) {
            return false;
        }
    }
    let last = function.block(function.entry_block()).instrs.last();
    returns || !matches!(last, Some((Instr::Unreachable(_), _)))
}

#[cfg(test)]
mod tests {
    use super::is_raw;

    #[test]
    fn functions_of_tasks_are_known_by_their_mangled_names() {
        assert!(is_raw("_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE", "poll"));
        assert!(is_raw("_RINvNtNtNtCs1cbpOjQgv0Q_5tokio7runtime4task3raw4pollNtB2_1TNtB3_1SE", "poll"));
        assert!(!is_raw("_ZN5tokio7runtime4task3raw7dealloc17h0123456789abcdefE", "poll"));
        assert!(!is_raw("_ZN5tokio7runtime4task3raw7RawTask4poll17h0123456789abcdefE", "poll"));
        assert!(!is_raw("_ZN3app5tokio7runtime4task3raw4poll17h0123456789abcdefE", "poll"));
    }
}
