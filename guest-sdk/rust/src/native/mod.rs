//! Tests of the SDK outside of wasm: the same code on threads of the operating system, run by `cargo test`.
//!
//! Nothing is explored: the operating system schedules, values are chosen by chance, and no fault happens. What the
//! SDK's own objects know is told: a panic of any worker fails the test, so does a deadlock, and a monitor that is hot at the
//! end. Time is that of the clock, but for waits of all workers at once, which are cut short.
//!
//! - `run`: a test.
//! - `imports`: what the host does for a guest.
//! - `world`: who waits for what.
//! - `worker`: threads.
//! - `text`: texts on their way to imports.
#![allow(unsafe_code)] // Imports are unsafe as in a guest, and a futex is a word of memory.

#[allow(dead_code)] // All imports are there, whoever calls them.
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
