//! What may go wrong on every platform, hardly ever does, and here only by the user's leave.

use super::footprint::Footprint;
use coyote_strategies::{Class, Effect};

/// How often each may still happen in an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A wait for a notification returns without one.
    pub spurious_wakeups: u32,
    /// A try-lock fails though nobody has the lock.
    pub failing_try_locks: u32,
    /// A fault of ours, so that tests can show that they would notice it.
    #[doc(hidden)]
    pub mutant: Option<Mutant>,
}

/// Planted faults of the runtime.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// When a lock is given back, one of those that wait may take it, and no other.
    OnlyOneWaiterIsEnabled,
    /// One unlock frees a recursive mutex.
    NestedLocksAreNotCounted,
    ReaderBesideWriter,
    /// A lock is taken though its time was up.
    TimedOutTakes,
    PostWakesNobody,
    /// All that pass a barrier are told that they were the last.
    SerialTwice,
    /// A signal wakes nobody if several wait.
    SignalIsLost,
    NeverSpurious,
    /// What is destroyed may be in use.
    DestroyedUnseen,
    /// A wait for a futex begins whatever its value is.
    FutexValueUnseen,
    /// A notification for several wakes one.
    OneForAll,
    /// A wait that timed out says that it was woken.
    TimedOutUnseen,
}

/// Whether a fault happens where it may: the first value says so. The error is the bound of that value, if
/// it is missing. `number`: which fault; the budget is an object of its own in the relation.
pub(super) fn choose(
    left: &mut u32,
    number: u64,
    values: &[u64],
    footprint: &mut Footprint,
) -> Result<bool, u64> {
    if *left == 0 {
        footprint.touch(Class::Other, Effect::Read, number);
        return Ok(false);
    }
    match values.first() {
        None => Err(2),
        Some(0) => {
            footprint.touch(Class::Other, Effect::Read, number);
            Ok(false)
        }
        Some(_) => {
            footprint.touch(Class::Other, Effect::Write, number);
            *left -= 1;
            Ok(true)
        }
    }
}
