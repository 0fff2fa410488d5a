//! Exploration strategies for controlled concurrency testing, over plain data.
//!
//! Knows no wasm, no clock and no files: a strategy sees which operations the workers are about to
//! execute and answers who goes on. Two shapes exist:
//!
//! - a [`Strategy`] is asked at every choice of one execution (samplers, replay);
//! - a search drives a [`System`], which it can step, snapshot and restore.
//!
//! In the order of the data:
//! - [`view`]: what can be known at a choice: pending operations, who is enabled.
//! - [`strategy`]: the trait of samplers.
//! - [`system`]: the trait of programs that can be searched.
//! - [`rng`]: the one source of randomness.
//! - [`random`]: the random walk.
//! - [`replay`]: a recorded schedule.
//! - [`toy`]: a small machine, the subject of this crate's tests.

pub mod random;
pub mod replay;
pub mod rng;
pub mod strategy;
pub mod system;
pub mod toy;
pub mod view;

pub use coyote_abi::OpKind;
pub use random::RandomWalk;
pub use replay::{Divergence, Recorded, Replay, WorkerPath};
pub use strategy::{Event, Iteration, Strategy, Summary, by_name};
pub use system::{Access, Status, System};
pub use view::{Operation, Pending, Pick, Standing, View, WorkerId};
