//! Planted defects of the runtime: tests show with them that they would notice.

/// A planted defect of the runtime.
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
    /// A signal wakes no worker if several wait.
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
