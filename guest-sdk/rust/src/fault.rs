//! Fault points: places where the tool can inject a fault that is rare in practice.
//!
//! No fault happens unless the user gives fault points a budget: `--faults point=1` allows one fault in an
//! execution, at any point, `--faults point.disk=2` two at the points `disk`, `disk.write` and so on. Without
//! a budget, a call costs next to nothing and is no scheduling point. A fault is a choice: it is stored in
//! the trace, replayed, and left out of a minimised trace if the bug does not need it.
//!
//! ```no_run
//! # fn write(_: &[u8]) -> std::io::Result<()> { Ok(()) }
//! fn append(record: &[u8]) -> std::io::Result<()> {
//!     if coyote::fault::fail("disk.append") {
//!         return Err(std::io::ErrorKind::StorageFull.into());
//!     }
//!     write(record)
//! }
//! ```

use crate::{sys, thread};
use std::time::Duration;

/// Chooses which of `ways` faults happens here, from 1 to `ways`; 0 if none does. A name that
/// begins with `!` is that of a fault class of the SDK, such as `net.loss`, not of a fault point.
pub(crate) fn choose(name: &str, ways: u32) -> u32 {
    // SAFETY: the text is initialised, being a string.
    #[allow(unsafe_code)]
    let chosen = sys::with_text(name, |text, length| unsafe { sys::fault(text, length, ways as i32) });
    chosen as u32
}

/// Whether a fault happens here.
pub fn point(name: &str) -> bool {
    choose(name, 1) > 0
}

/// Whether an operation fails here. The same as [`point`].
pub fn fail(name: &str) -> bool {
    point(name)
}

/// Whether a message is lost here. The same as [`point`].
pub fn drop(name: &str) -> bool {
    point(name)
}

/// Whether a message arrives twice. The same as [`point`].
pub fn duplicate(name: &str) -> bool {
    point(name)
}

/// Whether an operation takes longer than its caller waits. The same as [`point`].
pub fn timeout(name: &str) -> bool {
    point(name)
}

/// Sleeps for a span of virtual time if a fault happens here. Returns whether it did.
pub fn delay(name: &str, span: Duration) -> bool {
    let late = point(name);
    if late {
        thread::sleep(span);
    }
    late
}

/// The index of the next of `length` waiting items: 0 unless a fault happens here.
pub fn reorder(name: &str, length: usize) -> usize {
    value(name, u32::try_from(length).unwrap_or(u32::MAX)) as usize
}

/// Flips one bit if a fault happens here. Returns the index of the changed byte.
pub fn corrupt(name: &str, bytes: &mut [u8]) -> Option<usize> {
    let bits = u32::try_from(bytes.len().saturating_mul(8)).unwrap_or(u32::MAX - 1);
    let bit = (choose(name, bits) as usize).checked_sub(1)?;
    bytes[bit / 8] ^= 1 << (bit % 8);
    Some(bit / 8)
}

/// A value below `bound`: 0 unless a fault happens here, and 0 if `bound` is 0.
pub fn value(name: &str, bound: u32) -> u32 {
    choose(name, bound.saturating_sub(1))
}

/// Disables faults of all classes for the rest of this execution: for the time in which a program is to recover.
pub fn stop() {
    sys::fault_stop();
}
