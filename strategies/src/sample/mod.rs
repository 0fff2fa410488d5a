//! Samplers: strategies that are asked at every choice of an execution.
//!
//! - [`random`]: the random walk.
//! - [`replay`]: a recorded schedule.

pub mod random;
pub mod replay;
