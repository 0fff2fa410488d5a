//! The task that runs in the calling worker.
#![allow(unsafe_code)] // The host keeps a separate value of a word for each worker.

#[cfg(not(std_threads))]
mod word {
    use crate::sys;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// An address, or 0. `thread_local!` is shared by all workers here, so the host keeps a value for each worker.
    static CURRENT: AtomicU32 = AtomicU32::new(0);

    /// Makes the word worker-local before each use: until then workers share it, and accesses are scheduling points.
    fn own() -> &'static AtomicU32 {
        // SAFETY: a static of four bytes, and an atomic.
        unsafe { sys::own_word(sys::address(&CURRENT)) };
        &CURRENT
    }

    pub(super) fn get() -> usize {
        own().load(Relaxed) as usize
    }

    pub(super) fn set(address: usize) {
        own().store(address as u32, Relaxed);
    }
}

#[cfg(std_threads)]
mod word {
    use std::cell::Cell;

    thread_local! {
        static CURRENT: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn get() -> usize {
        CURRENT.get()
    }

    pub(super) fn set(address: usize) {
        CURRENT.set(address);
    }
}

/// The address of what the calling worker polls; 0 if it polls nothing.
pub(super) fn get() -> usize {
    word::get()
}

/// A guard: while it exists, the calling worker polls a task.
pub(super) struct Polling(usize);

impl Polling {
    pub(super) fn begin(task: usize) -> Polling {
        let before = word::get();
        word::set(task);
        Polling(before)
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        word::set(self.0);
    }
}
