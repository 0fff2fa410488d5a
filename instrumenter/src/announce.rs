//! Calls that announce a site to the host.

use crate::code::Code;
use crate::draft::Draft;
use coyote_abi::OpKind;
use coyote_abi::rt::{self, FaultHook};
use walrus::ValType;
use walrus::ir::{Call, InstrLocId};

/// Operations that the host may leave unannounced: a fault that cannot happen, the end of faults where there are none,
/// an assumption that holds, and a poll that fails. A loop of such calls alone comes to a point by its countdown, which
/// they therefore do not reset.
const MAY_ANNOUNCE_NOTHING: [OpKind; 4] = [OpKind::Fault, OpKind::FaultStop, OpKind::Assume, OpKind::Sleep];

/// Adds what precedes every call that announces a site: the countdown is reset, unless the call may announce
/// nothing, and the site is pushed as the last argument.
pub fn call_site(draft: &Draft, code: &mut Code, site: u32) {
    let kind = draft.sites[site as usize].kind;
    if !MAY_ANNOUNCE_NOTHING.iter().any(|silent| *silent as u8 == kind) {
        code.i32(rt::COUNTDOWN).global_set(draft.budget);
    }
    code.i32(site as i32);
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
    call_site(draft, code, site);
    code.push(Call { func: import }, at);
}
