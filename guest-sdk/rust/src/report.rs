//! Reports of a guest to the tool: failures, assumptions, hints, and lines of the log.
#![allow(unsafe_code)] // Texts are passed as address and length.

use crate::sys;
use std::fmt;
use std::panic::PanicHookInfo;

/// Discards executions in which `condition` is false: the calling worker is not executed any further, and
/// the iteration has no verdict unless another worker has a bug.
///
/// For values that a test does not want to see: choose first, then assume. An assumption that hardly
/// ever holds makes a slow test; choose from the values you want instead.
pub fn assume(condition: bool) {
    sys::assume(i32::from(condition));
}

/// Says something of the program's state to strategies: `q-learning` and `greedy` tell states apart by the last hint of
/// each worker, so a hash of what matters, given whenever it changes, leads them to what was seldom seen. A strategy that
/// was written for this program can give hints any other meaning; all others ignore them. No scheduling point.
pub fn hint(value: i64) {
    sys::hint(value);
}

/// Tells detectors of data races that what the calling worker has done so far happens before what follows a
/// [`happens_after`] of the same object: for synchronisation that they cannot see, as in code that is not
/// explored. The schedule does not depend on it, and it is no scheduling point.
pub fn happens_before<T: ?Sized>(object: *const T) {
    sys::happens_before(object.cast::<()>() as usize as i32);
}

/// Tells them that what follows happens after all that came before [`happens_before`] of the same object.
pub fn happens_after<T: ?Sized>(object: *const T) {
    sys::happens_after(object.cast::<()>() as usize as i32);
}

/// Reports a failed assertion and ends the iteration. `panic!` and `assert!` come here as well, with
/// their source position.
pub fn fail(message: &str) -> ! {
    // SAFETY: address and length of a `str`.
    sys::with_text(message, |text, length| unsafe { sys::fail(text, length) });
    unreachable!("the host does not return from a failure")
}

/// Writes a line to the log of the iteration, formatted as by `format!`. The log is shown for failing
/// iterations.
#[macro_export]
macro_rules! log {
    ($($argument:tt)+) => {
        $crate::__private::log(::std::format_args!($($argument)+))
    };
}

/// Implements `log!`. A text without arguments is not copied, so that it adds no memory accesses.
#[doc(hidden)]
pub fn log(line: fmt::Arguments) {
    match line.as_str() {
        Some(text) => write_log(text),
        None => write_log(&line.to_string()),
    }
}

fn write_log(line: &str) {
    // SAFETY: address and length of a `str`.
    sys::with_text(line, |text, length| unsafe { sys::log(text, length) });
}

/// Runs a test or a setup function: the body of every export that the SDK's macros make.
#[doc(hidden)]
pub fn enter(body: fn()) {
    std::panic::set_hook(Box::new(|panic| fail(&describe(panic))));
    body();
}

/// `src/lib.rs:12:5: message`.
fn describe(panic: &PanicHookInfo) -> String {
    let message = panic.payload_as_str().unwrap_or("a panic whose payload is no text");
    match panic.location() {
        Some(location) => format!("{location}: {message}"),
        None => message.to_string(),
    }
}
