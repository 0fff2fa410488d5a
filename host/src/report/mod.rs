//! What a user is told about a bug.
//!
//! - [`findings`]: where every worker was when it happened.
//! - `frames`: stacks and places in lines.
//! - [`history`]: what happened to a block of the heap.
//! - `notes`: what in it may not be the program's fault.
//! - [`searched`]: what a search says of itself.
//! - [`text`]: the report for a terminal.
//! - [`log`]: the whole iteration, step by step.

pub mod findings;
mod frames;
pub mod history;
pub mod log;
mod notes;
pub mod searched;
pub mod text;

pub use findings::{Findings, WorkerAt};
pub use frames::stack;
pub use history::History;
