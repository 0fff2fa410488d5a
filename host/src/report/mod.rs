//! Reports for the user.
//!
//! - [`model`]: the report model of a run: plain data, also for programs.
//! - [`build`]: creates the model from results.
//! - [`note`]: what a verdict does not say by itself; [`coverage`]: what a search visited; [`progress`]: what an
//!   exploration without a search has seen.
//! - [`correlation`]: lines and data that correlate with bugs.
//! - `frames`: stacks and places in lines.
//! - [`render`]: renders the model in several formats.

pub mod build;
pub mod correlation;
pub mod coverage;
mod frames;
pub mod model;
pub mod note;
pub mod progress;
pub mod render;

pub use frames::stack;
