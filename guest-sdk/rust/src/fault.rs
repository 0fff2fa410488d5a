//! Fault points: places where something may go wrong that hardly ever does.
//!
//! Nothing goes wrong unless the user gives points a budget: `--faults point=1` allows one fault in an execution, at
//! whatever point, `--faults point.disk=2` two at the points `disk`, `disk.write` and so on. Without one a call costs next
//! to nothing and is no scheduling point. A fault is a choice: it is stored in the trace, replayed, and left out of a
//! minimised trace if the bug does not need it.
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

/// In which of `ways` ways something goes wrong here, from 1 on; 0 for none. The host takes a name that begins with `!`
/// for one of its own.
pub(crate) fn choose(name: &str, ways: u32) -> u32 {
    // SAFETY: the text is initialised, being a string.
    #[allow(unsafe_code)]
    let chosen = sys::with_text(name, |text, length| unsafe { sys::fault(text, length, ways as i32) });
    chosen as u32
}

/// Whether something goes wrong here.
pub fn point(name: &str) -> bool {
    choose(name, 1) > 0
}

/// Whether an operation fails here: as [`point`].
pub fn fail(name: &str) -> bool {
    point(name)
}

/// Whether a message, or whatever is on its way here, is lost: as [`point`].
pub fn drop(name: &str) -> bool {
    point(name)
}

/// Whether a message arrives twice: as [`point`].
pub fn duplicate(name: &str) -> bool {
    point(name)
}

/// Whether an operation takes longer than its caller waits: as [`point`].
pub fn timeout(name: &str) -> bool {
    point(name)
}

/// Sleeps for a span of virtual time, or does not. Returns whether it did.
pub fn delay(name: &str, span: Duration) -> bool {
    let late = point(name);
    if late {
        thread::sleep(span);
    }
    late
}

/// Which of `length` things that wait comes first: the one at index 0 unless something goes wrong.
pub fn reorder(name: &str, length: usize) -> usize {
    value(name, u32::try_from(length).unwrap_or(u32::MAX)) as usize
}

/// Flips a bit of one of the bytes, or none. Returns the index of the byte.
pub fn corrupt(name: &str, bytes: &mut [u8]) -> Option<usize> {
    let bits = u32::try_from(bytes.len().saturating_mul(8)).unwrap_or(u32::MAX - 1);
    let bit = (choose(name, bits) as usize).checked_sub(1)?;
    bytes[bit / 8] ^= 1 << (bit % 8);
    Some(bit / 8)
}

/// A value below `bound`, which is 0 unless something goes wrong; also if `bound` is 0.
pub fn value(name: &str, bound: u32) -> u32 {
    choose(name, bound.saturating_sub(1))
}

/// No fault happens in the rest of this execution, of whatever class: for the time in which a program is to recover.
pub fn stop() {
    sys::fault_stop();
}
