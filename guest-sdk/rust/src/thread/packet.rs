//! Passes the value of a worker to the worker that joins it.
#![allow(unsafe_code)] // The cell is written before the worker ends and read after.

use super::Builder;
use crate::worker::{self, Worker};
use std::cell::UnsafeCell;
use std::sync::Arc;

/// The place in which a worker leaves its value.
pub(super) struct Packet<T>(UnsafeCell<Option<T>>);

// SAFETY: the worker alone uses the cell until it drops its `Arc`; then whoever owns the last `Arc`.
unsafe impl<T: Send> Sync for Packet<T> {}

impl<T> Packet<T> {
    pub(super) fn new() -> Packet<T> {
        Packet(UnsafeCell::new(None))
    }

    /// The value of a worker that was joined.
    pub(super) fn open(packet: Arc<Packet<T>>) -> T {
        let value = Arc::into_inner(packet).and_then(|packet| packet.0.into_inner());
        value.expect("a worker that was joined left its value: this is a bug in the coyote SDK")
    }
}

/// Starts a worker that puts the value of `main` into the packet.
pub(super) fn start<T: Send + 'static>(
    builder: Builder,
    packet: &Arc<Packet<T>>,
    main: impl FnOnce() -> T + Send + 'static,
) -> Worker {
    // SAFETY: `'static` is never outlived.
    unsafe { start_unchecked(builder, packet, main) }
}

/// As [`start`], for a worker that borrows.
///
/// # Safety
/// The worker must be joined before anything that `main` borrows or `T` contains ends.
pub(super) unsafe fn start_unchecked<'a, T: Send + 'a>(
    builder: Builder,
    packet: &Arc<Packet<T>>,
    main: impl FnOnce() -> T + Send + 'a,
) -> Worker {
    let packet = Arc::clone(packet);
    let main = Box::new(move || {
        let value = main();
        // SAFETY: no other worker uses the cell before this `Arc` is dropped, at the end of this closure.
        unsafe { *packet.0.get() = Some(value) };
    });
    let stack_bytes = builder.stack_bytes.unwrap_or(super::STACK_BYTES);
    // SAFETY: this function has the contract of `worker::start`.
    unsafe { worker::start(builder.name, stack_bytes, main) }
}
