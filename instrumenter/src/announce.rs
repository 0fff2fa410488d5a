//! Calls that announce a site to the host.

use crate::code::Code;
use crate::draft::Draft;
use coyote_abi::rt::{self, FaultHook};
use walrus::ValType;
use walrus::ir::{Call, InstrLocId};

/// Adds what precedes every call that announces a site: the countdown is reset, and the site is pushed as the
/// last argument.
///
/// Not for a call that may announce nothing: a loop with such a call alone would never come to a point.
pub fn call_site(draft: &Draft, code: &mut Code, site: u32) {
    code.i32(rt::COUNTDOWN).global_set(draft.budget).i32(site as i32);
}

/// Announces a call whose object is on the stack.
pub fn announce(draft: &mut Draft, code: &mut Code, site: u32, at: InstrLocId) {
    let import = draft.suspending(rt::CALL, &[ValType::I32; 2], &[]);
    call_site(draft, code, site);
    code.push(Call { func: import }, at);
}

/// Announces a call that may have to wait for a socket. The descriptor, the number of the function and its list of buffers
/// are on the stack. An answer without a meaning is left there.
pub fn announce_socket_call(draft: &mut Draft, code: &mut Code, site: u32, at: InstrLocId) {
    let import = draft.suspending(rt::SOCKET_CALL, &[ValType::I32; 5], &[ValType::I32]);
    call_site(draft, code, site);
    code.push(Call { func: import }, at);
}

/// Asks the host whether the following call fails; the object is on the stack. The answer is left there.
pub fn ask_for_fault(
    draft: &mut Draft,
    code: &mut Code,
    (hook, what): (FaultHook, u32),
    site: u32,
    at: InstrLocId,
) {
    let import = draft.suspending(rt::FAULT_HOOK, &[ValType::I32; 4], &[ValType::I32]);
    code.i32(hook as i32).i32(what as i32);
    match hook {
        // A call that does not fail is announced.
        FaultHook::File => call_site(draft, code, site),
        _ => {
            code.i32(site as i32);
        }
    }
    code.push(Call { func: import }, at);
}
