//! What a user is told about a bug.
//!
//! - `frames`: stacks and places in lines.
//! - [`searched`]: what a search says of itself.
//! - [`text`]: the report for a terminal.
//! - [`log`]: the whole iteration, step by step.

mod frames;
pub mod log;
pub mod searched;
pub mod text;

pub use frames::stack;
