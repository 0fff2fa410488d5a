//! The trait of what may call an execution a bug.

use super::{Event, GuestState, Interest};
use crate::evidence::{Inversion, RaceRemark};
use crate::outcome::{Bug, Outcome};
use crate::runtime::heap::BlockRef;
use coyote_strategies::{Access, Operation, WorkerId};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Sees what is executed, as an [`Observer`](super::Observer) does, and may call it a bug. The iteration then ends.
///
/// A detector must be a function of the execution: the same choices, the same findings. So a trace of its bug replays,
/// on any machine, whatever was executed before.
pub trait Detector: Send {
    /// The events that it is told. Asked once.
    fn interest(&self) -> Interest;

    /// An iteration begins, or the program starts again after a crash: everything that it knows of others is forgotten.
    fn begin(&mut self, _state: &GuestState<'_>) {}

    /// What is wrong with what a worker is about to do, so that it must not be done. Asked of what the map of the heap
    /// does not allow plainly; with [`Interest::VETOES`], of everything.
    fn veto(&self, _state: &GuestState<'_>, _worker: WorkerId, _attempt: &Attempt<'_>) -> Option<Finding> {
        None
    }

    /// Something of its interest has happened. What it returns ends the iteration with that bug.
    fn event(&mut self, _state: &GuestState<'_>, _event: &Event<'_>) -> Option<Finding> {
        None
    }

    /// The iteration has ended, with [`Interest::ENDS`]. A finding counts if the test passed.
    fn end(&mut self, _ending: &Ending<'_>) -> Option<Finding> {
        None
    }

    /// What it knows of the execution so far: a part of every snapshot. A detector that keeps anything must implement
    /// this and [`Detector::restore`].
    fn save(&self) -> SavedState {
        SavedState::default()
    }

    /// Goes back to what it knew. A detector is only given what it saved itself, in this execution or another one of
    /// the same test.
    fn restore(&mut self, _saved: &SavedState) {}

    /// A hash of what it knows, if that decides verdicts of states that are equal otherwise: searches that compare
    /// states then tell them apart. `None`: nothing does.
    fn digest(&self) -> Option<u128> {
        None
    }

    /// Data races that it found since it was made and that are no bugs.
    fn remarks(&self) -> Vec<RaceRemark> {
        Vec::new()
    }

    /// Inversions of locks that it found since it was made.
    fn inversions(&self) -> Vec<Inversion> {
        Vec::new()
    }

    /// What a proof that there is no bug takes for granted because of it.
    fn assumptions(&self) -> &'static [&'static str] {
        &[]
    }
}

/// What a detector saved.
#[derive(Clone, Default)]
pub struct SavedState(Option<Arc<dyn Any + Send + Sync>>);

impl SavedState {
    /// Keeps a copy of what a detector knows.
    pub fn new<T: Any + Send + Sync>(state: T) -> SavedState {
        SavedState(Some(Arc::new(state)))
    }

    /// What [`SavedState::new`] was given, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

/// A bug that a detector has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub bug: Bug,
    /// The block of the heap concerned, if there is one: the report shows where it was allocated and freed.
    pub block: Option<BlockRef>,
}

impl From<Bug> for Finding {
    fn from(bug: Bug) -> Finding {
        Finding { bug, block: None }
    }
}

/// What a worker is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt<'a> {
    /// The operation that it announced.
    Operation(&'a Operation),
    /// The host accesses memory on its behalf. It has done so: the iteration ends at the worker's next scheduling point.
    Host(&'a Access),
    /// It gives this address back to the allocator.
    Free {
        /// What is given back: where a block begins, or ought to.
        address: u32,
    },
}

/// An iteration at its end.
pub struct Ending<'a> {
    /// The state at the end.
    pub state: &'a GuestState<'a>,
    /// How the iteration ended, before detectors were asked.
    pub outcome: &'a Outcome,
    /// With [`Interest::ROOTS`], of a test that passed.
    pub roots: Option<Roots<'a>>,
}

/// Where pointers may stand when a test has ended, beside memory.
pub struct Roots<'a> {
    /// Words outside of memory: globals, and frames of workers that are left.
    pub words: &'a [&'a [u8]],
    /// Ranges of memory that hold nothing any more: stacks of workers that ended, and what is below the others'.
    pub dead: &'a [Range<usize>],
    /// Where the stacks of workers begin.
    pub stacks: &'a [u32],
}
