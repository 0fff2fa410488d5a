//! The trait of detectors, which may report a bug of an execution.

use super::{Event, GuestState, Interest};
use crate::evidence::{Inversion, RaceRemark};
use crate::outcome::{Bug, Outcome};
use crate::runtime::heap::BlockRef;
use coyote_strategies::{Access, Operation, WorkerId};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Receives events about what is executed, as an [`Observer`](super::Observer) does, and may report a bug, which ends
/// the iteration.
///
/// A detector must be a function of the execution: the same choices give the same findings. So a trace of its bug
/// replays, on any machine, whatever was executed before.
pub trait Detector: Send {
    /// The events that it receives. Called once.
    fn interest(&self) -> Interest;

    /// Begins an iteration, or the program again after a crash: forgets everything about earlier ones.
    fn begin(&mut self, _state: &GuestState<'_>) {}

    /// The finding if a worker must not do what it is about to do. Called for what the map of the heap does not plainly
    /// allow; with [`Interest::VETOES`], for everything, of a wait also when its worker goes on.
    fn veto(&self, _state: &GuestState<'_>, _worker: WorkerId, _attempt: &Attempt<'_>) -> Option<Finding> {
        None
    }

    /// Receives an event of its interest. A finding ends the iteration with that bug.
    fn event(&mut self, _state: &GuestState<'_>, _event: &Event<'_>) -> Option<Finding> {
        None
    }

    /// Called at the end of an iteration, with [`Interest::ENDS`]. A finding counts if the test passed.
    fn end(&mut self, _ending: &Ending<'_>) -> Option<Finding> {
        None
    }

    /// Its state, which is a part of every snapshot. A detector that keeps anything must implement this and
    /// [`Detector::restore`].
    fn save(&self) -> SavedState {
        SavedState::default()
    }

    /// Restores a saved state. A detector only receives states that it saved itself, in this execution or another one
    /// of the same test.
    fn restore(&mut self, _saved: &SavedState) {}

    /// A hash of the part of its state that decides verdicts of program states that are equal otherwise, so that
    /// searches that compare states distinguish them. `None` if there is no such part.
    fn digest(&self) -> Option<u128> {
        None
    }

    /// Data races that it found since it was created and that are no bugs.
    fn remarks(&self) -> Vec<RaceRemark> {
        Vec::new()
    }

    /// Inversions of locks that it found since it was created.
    fn inversions(&self) -> Vec<Inversion> {
        Vec::new()
    }

    /// The assumptions of a proof that there is no bug, because of this detector.
    fn assumptions(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The saved state of a detector.
#[derive(Clone, Default)]
pub struct SavedState(Option<Arc<dyn Any + Send + Sync>>);

impl SavedState {
    /// Keeps the state of a detector.
    pub fn new<T: Any + Send + Sync>(state: T) -> SavedState {
        SavedState(Some(Arc::new(state)))
    }

    /// The state that [`SavedState::new`] was given, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

/// A bug that a detector has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The bug.
    pub bug: Bug,
    /// The block of the heap concerned, if there is one: the report shows where it was allocated and freed.
    pub block: Option<BlockRef>,
}

impl From<Bug> for Finding {
    fn from(bug: Bug) -> Finding {
        Finding { bug, block: None }
    }
}

/// An action that a worker is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// The operation that it announced.
    Operation(&'a Operation),
    /// An access of memory in an atomic function, which is no scheduling point.
    Unannounced(&'a Access),
    /// An access of memory by the host on its behalf. It has already been made: the iteration ends at the worker's next
    /// scheduling point.
    Host(&'a Access),
    /// The use of a sync object of which a library keeps the state in memory.
    Object {
        /// The object's address.
        address: u32,
    },
    /// A block that it gives back to the allocator.
    Free {
        /// The address that is given back, where a block should begin.
        address: u32,
    },
}

/// An iteration at its end.
pub struct Ending<'a> {
    /// The state at the end.
    pub state: &'a GuestState<'a>,
    /// The outcome of the iteration, before detectors were asked.
    pub outcome: &'a Outcome,
    /// The roots of a test that passed, with [`Interest::ROOTS`].
    pub roots: Option<Roots<'a>>,
}

/// The places that may hold pointers when a test has ended, beside memory.
pub struct Roots<'a> {
    /// Words outside of memory: globals, and frames of workers that are left.
    pub words: &'a [&'a [u8]],
    /// Ranges of memory that are dead: stacks of workers that ended, and the unused parts of the others.
    pub dead: &'a [Range<usize>],
    /// The lowest addresses of the workers' stacks.
    pub stacks: &'a [u32],
}
