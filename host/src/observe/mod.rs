//! Who looks on while a test is executed: observers, and detectors, which may call what they see a bug.
//!
//! Both are told [`Event`]s, those of their [`Interest`], with the state in which they happen; what is in no interest
//! is not produced. What events there are, and what is not seen, stands in [`crate::runtime::stream`].
//!
//! - `detector`: the trait [`Detector`], and what it finds.
//! - `state`: what both may read; `filter`: what they need not be asked.
//! - `observers`: all of them together, as the machine has them.
//! - `heap_probe`: where events of the heap happen; `race_probe`: what is to be said of
//!   a data race; `class_probe`: what an execution is the same as.

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
pub use crate::runtime::stream::{
    AccessSource, Event, HbObject, Interest, MemoryAccess, Step, SyncEvent, SyncKind,
};
pub use crate::runtime::{ObjectId, Runtime};
pub use detector::{Attempt, Detector, Ending, Finding, Roots, SavedState};
pub(crate) use filter::{is_plain, plainly_allowed, uses_object};
pub(crate) use observers::{Observers, Saved};
pub(crate) use state::Program;
pub use state::{GuestState, MemoryBounds, Stacks};

/// Sees what is executed, in the order in which it happens. It can change nothing.
///
/// It is told of steps that a search executes, too, and not when a search goes back to a snapshot; not of those with
/// which an iteration that seems not to end is looked into ([`crate::livelock`]).
pub trait Observer: Send {
    /// The events that it is told. Asked once.
    fn interest(&self) -> Interest;

    /// An iteration begins. Memory is as at its start.
    fn begin(&mut self, _state: &GuestState<'_>) {}

    /// Something of its interest has happened, in this state.
    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>);

    /// The iteration has ended, with [`Interest::ENDS`].
    fn end(&mut self, _ending: &Ending<'_>) {}
}
