//! Planted defects of the runtime, with which tests show that they would notice them.

/// A planted defect of the runtime.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// When a lock is released, only one of the waiting workers may take it.
    OnlyOneWaiterIsEnabled,
    /// One unlock frees a recursive mutex.
    NestedLocksAreNotCounted,
    ReaderBesideWriter,
    /// A worker whose wait for a lock timed out takes the lock.
    TimedOutTakes,
    PostWakesNobody,
    /// Every worker that passes a barrier is told that it was the last.
    SerialTwice,
    /// A signal wakes no worker if several wait.
    SignalIsLost,
    NeverSpurious,
    /// Destroying an object that is in use is not noticed.
    DestroyedUnseen,
    /// A wait for a futex begins whatever its value is.
    FutexValueUnseen,
    /// A notification for several workers wakes one.
    OneForAll,
    /// A wait that timed out returns as if it was notified.
    TimedOutUnseen,
    /// Of a node that crashes, only the worker that makes the step ends.
    NodeOutlivesItsCrash,
    /// A crash of a node loses nothing of its files.
    NodeLosesNothing,
}
