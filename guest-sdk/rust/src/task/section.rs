//! State that tasks share, each use of which is one step.
#![allow(unsafe_code)] // The section guards the cell.

use crate::sys;
use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// A guard: while it exists, no other worker runs. It must not be kept over an operation that may block.
pub(crate) struct Section(());

impl Section {
    pub(crate) fn enter() -> Section {
        sys::atomic_begin();
        Section(())
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        sys::atomic_end();
    }
}

/// A value that is used in sections, each directly after a scheduling point: an access of `turn`, which shows
/// strategies and searches the object, and whether it is only read.
pub(crate) struct Shared<S> {
    turn: AtomicU32,
    state: UnsafeCell<S>,
}

// SAFETY: the state is used in sections alone, which do not overlap.
unsafe impl<S: Send> Sync for Shared<S> {}

impl<S> Shared<S> {
    pub(crate) const fn new(state: S) -> Shared<S> {
        Shared { turn: AtomicU32::new(1), state: UnsafeCell::new(state) }
    }

    /// The address by which the host identifies the object.
    pub(crate) fn address(&self) -> i32 {
        sys::address(&self.turn)
    }

    /// Changes the state in one step. `change` must not call code of the program that may block, such as
    /// [`Waker::wake`](std::task::Waker::wake).
    pub(crate) fn step<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        // The value stays the same, so that states do not differ in how often it was used.
        self.turn.swap(1, AcqRel);
        self.at_once(change)
    }

    /// Reads the state in one step.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&S) -> R) -> R {
        self.turn.load(Acquire);
        self.at_once(|state| look(state))
    }

    /// Changes the state as a part of the worker's present step.
    pub(crate) fn at_once<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        let _section = Section::enter();
        sys::happens_after(self.address());
        // SAFETY: no other worker is in a section, and `change` does not come back here.
        let result = change(unsafe { &mut *self.state.get() });
        sys::happens_before(self.address());
        result
    }
}
