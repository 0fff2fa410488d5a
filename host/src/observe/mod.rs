//! Observers of the execution of a test, and detectors, which may also report a bug.
//!
//! Both receive the [`Event`]s of their [`Interest`], with the state in which they happen; events that are in no
//! interest are not produced. [`crate::runtime::stream`] lists the events, and what is not seen.
//!
//! - `detector`: the trait [`Detector`], and its findings.
//! - `state`: the state that both may read; `filter`: accesses about which they need not be asked.
//! - `observers`: all of them together, as the machine has them.
//! - `heap_probe`: finds where events of the heap happen; `race_probe`: collects the content of the report of
//!   a data race; `class_probe`: computes the class of an execution.

#[doc(hidden)]
pub mod class_probe;
mod detector;
mod filter;
#[doc(hidden)]
pub mod heap_probe;
mod observers;
#[doc(hidden)]
pub mod race_probe;
mod state;

pub use crate::runtime::heap::BlockRef;
pub use crate::runtime::released::{Join, Released};
pub use crate::runtime::reuse::{ADDRESS_BYTES, Reuse};
pub use crate::runtime::stream::{
    AccessSource, Event, HbObject, Interest, MemoryAccess, ObjectUse, Step, SyncEvent, SyncKind,
};
pub use crate::runtime::{ObjectId, Runtime};
use coyote_strategies::OpKind;
pub use detector::{Attempt, Detector, Ending, Finding, Roots, SavedState};
pub(crate) use filter::{is_plain, plainly_allowed, uses_object};
pub(crate) use observers::{Observers, Saved};
pub(crate) use state::Program;
pub use state::{GuestState, MemoryBounds, ShadowFrame, StackPlace, Stacks};

/// Receives events about what is executed, in their order. It cannot change anything.
///
/// It also receives the steps that a search executes, but is not informed when a search restores a snapshot. It does
/// not receive the steps with which an iteration that seems not to end is looked into ([`crate::livelock`]).
pub trait Observer: Send {
    /// The events that it receives. Called once.
    fn interest(&self) -> Interest;

    /// Begins an iteration. Memory is as at its start.
    fn begin(&mut self, _state: &GuestState<'_>) {}

    /// Receives an event of its interest, with the present state.
    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>);

    /// With [`Interest::STACKS`]: whether it wants the stack of the running worker at its next step, which has this
    /// number, from 1, unless others' steps come before it, and executes this operation.
    fn wants_stack(&self, _step: u64, _operation: OpKind) -> bool {
        true
    }

    /// Called at the end of an iteration, with [`Interest::ENDS`].
    fn end(&mut self, _ending: &Ending<'_>) {}
}
