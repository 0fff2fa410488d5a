//! Tests of the SDK outside of wasm: the same code on threads of the operating system, run by `cargo test`.
//!
//! Nothing is explored: the operating system schedules, values are random, and no fault happens. A test fails
//! by a panic of any worker, by a deadlock of workers that wait for the SDK's objects, and by a monitor that
//! is hot at the end. Time is that of the clock, but when all workers wait, it leaps to the next timeout.
//!
//! - `run`: a test.
//! - `imports`: the functions that the host provides to a guest.
//! - `world`: the state of a test: workers, objects, and waits.
//! - `worker`: threads.
//! - `text`: passes texts to imports.
#![allow(unsafe_code)] // Imports are unsafe as in a guest, and a futex is a word of memory.

#[allow(dead_code)] // Not all imports are called.
mod imports;
mod run;
mod text;
mod worker;
mod world;

pub use imports::*;
pub use run::run;
pub use text::with as with_text;
pub use worker::Running;

/// Unwinds if the test is over.
pub fn leave_if_over() {
    imports::leave_if_over(world::lock());
}
