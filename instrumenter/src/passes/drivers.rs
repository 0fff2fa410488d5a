//! Tells the host when a thread waits in tokio's driver of sockets, and when tokio wakes that driver.
//!
//! With its features `net`, `process` or `signal`, a runtime of tokio that has nothing to do waits in a call of
//! `poll_oneoff`. On other targets a pipe or an eventfd ends this wait; WASI has neither, so `unpark` of the driver does
//! nothing there, and the runtime would sleep until its next timer whatever happened meanwhile.
//!
//! ```wat
//! ;; before
//! (func $tokio::runtime::io::driver::Driver::turn (param ..) ..)
//! (func $tokio::runtime::driver::IoHandle::unpark (param i32) ..)
//! ;; after
//! (func $tokio::runtime::io::driver::Driver::turn (param ..)
//!   i32.const 1 (; all wakes are known ;) call $coyote_rt.driver_turn ..)
//! (func $tokio::runtime::driver::IoHandle::unpark (param i32)
//!   local.get 0 call $"tokio::runtime::driver::IoHandle::unpark (body)"
//!   call $coyote_rt.driver_wake)
//! ```
//!
//! The host ends the waits of all drivers: a runtime that is woken without a cause looks at its queues and waits
//! again.
//!
//! Optimisers inline `unpark` in some places or in all, and there nothing is left of it. If `Handle::unpark` still calls
//! `IoHandle::unpark`, nothing was inlined: the first is the second and hardly more, so no optimiser that inlines would leave
//! this call. Else the functions that would call it count as wakes too ([`CALLERS`]). Some of these may be inlined as well:
//! not all wakes are known, so a driver that waits for nothing else looks again when no other worker can go on.

use crate::analysis::Analyses;
use crate::code::{Code, instructions};
use crate::names::is_one_of;
use crate::{Draft, Error};
use coyote_abi::rt;
use walrus::ir::{Instr, InstrLocId};
use walrus::{FunctionId, FunctionKind, ValType};

/// The function in which a driver waits.
const TURN: [&str; 1] = ["tokio::runtime::io::driver::Driver::turn"];

/// The function that wakes the drivers of a runtime.
const HANDLES: [&str; 1] = ["tokio::runtime::driver::Handle::unpark"];

/// The function that [`HANDLES`] calls for the driver of sockets.
const DRIVERS: [&str; 1] = ["tokio::runtime::driver::IoHandle::unpark"];

/// Functions that call `unpark`, or do where it was inlined.
const CALLERS: [&str; 8] = [
    "tokio::runtime::scheduler::multi_thread::park::Unparker::unpark",
    "tokio::runtime::scheduler::Handle::spawn",
    "tokio::runtime::task::raw::schedule",
    "tokio::runtime::time::handle::Handle::reregister",
    "tokio::runtime::time::<impl tokio::runtime::time::handle::Handle>::reregister",
    "tokio::util::wake::wake_arc_raw",
    "tokio::util::wake::wake_by_ref_arc_raw",
    "<tokio::runtime::blocking::schedule::BlockingSchedule as tokio::runtime::task::Schedule>::release",
];

pub fn run(draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
    let [turns, handles, drivers, callers] = named(draft, [&TURN, &HANDLES, &DRIVERS, &CALLERS]);
    if turns.is_empty() {
        return Ok(());
    }
    let all_known = !handles.is_empty() && handles.iter().all(|handle| calls(draft, *handle, &drivers));
    let begin = draft.import(rt::DRIVER_TURN, &[ValType::I32], &[]);
    for turn in turns {
        draft.edit(turn, |_, function| {
            let mut code = Code::default();
            code.i32(all_known.into()).call(begin);
            let entry = function.entry_block();
            let told: Vec<_> = code.into();
            function.block_mut(entry).instrs.splice(0..0, told);
        });
    }
    let wake = draft.import(rt::DRIVER_WAKE, &[], &[]);
    // A wake that both tell does no harm, and the first may have inlined the second.
    let others = if all_known { Vec::new() } else { callers };
    for waker in [handles, drivers, others].concat() {
        draft.wrap(waker, " (body)", |_, wrapper| {
            let mut code = wrapper.forward(InstrLocId::default());
            code.call(wake);
            code
        });
    }
    Ok(())
}

/// Whether threads of this module may wait in a driver.
pub fn has_driver(draft: &Draft) -> bool {
    let [turns] = named(draft, [&TURN]);
    !turns.is_empty()
}

/// Whether a function calls one of these directly.
fn calls(draft: &Draft, caller: FunctionId, callees: &[FunctionId]) -> bool {
    let FunctionKind::Local(function) = &draft.module.funcs.get(caller).kind else { return false };
    let is_call = |instr: &Instr| matches!(instr, Instr::Call(call) if callees.contains(&call.func));
    instructions(function).any(|(instr, _)| is_call(instr))
}

/// The guest's functions that have a name of each list.
fn named<const LISTS: usize>(draft: &Draft, lists: [&[&str]; LISTS]) -> [Vec<FunctionId>; LISTS] {
    let mut found = [const { Vec::new() }; LISTS];
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let name = &draft.original.functions[origin as usize].name;
        for (list, found) in lists.iter().zip(&mut found) {
            if is_one_of(name, list) {
                found.push(id);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{CALLERS, DRIVERS, HANDLES, TURN};
    use crate::names::is_one_of;

    #[test]
    fn functions_of_the_driver_are_known_by_their_mangled_names() {
        for name in [
            "_ZN5tokio7runtime2io6driver6Driver4turn17h62b3f85fdc2608fdE.llvm.990233401936487312",
            "_RNvMNtNtNtCs41cV3heJQYT_5tokio7runtime2io6driverNtB2_6Driver4turn.llvm.7238172570752904547",
        ] {
            assert!(is_one_of(name, &TURN), "{name}");
        }
        for name in [
            "_ZN5tokio7runtime6driver6Handle6unpark17h3a5b590145d0e7c5E",
            "_RNvMs_NtNtCs41cV3heJQYT_5tokio7runtime6driverNtB4_6Handle6unpark",
            "_RNvMs3_NtNtCs41cV3heJQYT_5tokio7runtime6driverNtB5_8IoHandle6unpark",
        ] {
            assert!(is_one_of(name, &HANDLES) || is_one_of(name, &DRIVERS), "{name}");
        }
        for name in [
            "_ZN5tokio7runtime9scheduler12multi_thread4park8Unparker6unpark17hc7fd83a9b6ce4839E",
            "_ZN5tokio7runtime9scheduler6Handle5spawn17h04a21da0ca6b5424E",
            "_ZN5tokio7runtime4task3raw8schedule17h13a2ecfb10016463E.llvm.4900589996353209030",
            "_ZN5tokio4util4wake19wake_by_ref_arc_raw17hf6185ffc7ab2e314E",
            "_ZN103_$LT$tokio..runtime..blocking..schedule..BlockingSchedule$u20$as$u20$tokio..runtime..task..Schedule$GT$7release17h5165af55ba5e81dfE",
        ] {
            assert!(is_one_of(name, &CALLERS), "{name}");
        }
        for name in [
            "_ZN5tokio7runtime6driver6Handle11unpark_self17h9c0f6a3110895ba3E",
            "_ZN5tokio7runtime4time6handle6Handle6unpark17h3b8119138d4af925E",
            "_ZN3app5tokio7runtime6driver6Handle6unpark17h3b8119138d4af925E",
        ] {
            assert!(
                [&TURN[..], &HANDLES, &DRIVERS, &CALLERS].iter().all(|list| !is_one_of(name, list)),
                "{name}"
            );
        }
    }
}
