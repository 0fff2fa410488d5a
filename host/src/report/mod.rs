//! What a user is told.
//!
//! - [`model`]: a run as its readers get it: plain data, also for programs.
//! - [`build`]: from results to that model.
//! - [`note`]: what a verdict does not say by itself; [`coverage`]: what a search visited;
//!   [`progress`]: what an exploration that is none has seen.
//! - [`correlation`]: what goes along with bugs.
//! - `frames`: stacks and places in lines.
//! - [`render`]: the model in several formats.

pub mod build;
pub mod correlation;
pub mod coverage;
mod frames;
pub mod model;
pub mod note;
pub mod progress;
pub mod render;

pub use frames::stack;
