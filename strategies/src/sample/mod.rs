//! Samplers: strategies that are asked at every choice of an execution.
//!
//! - [`random`]: the random walk.
//! - [`probabilistic`]: the random walk that seldom switches.
//! - [`round_robin`]: taking turns.
//! - [`pct`]: random priorities with few change points; [`pct_t`]: priorities for chains of workers.
//! - [`delay_bounding`]: a deterministic schedule with few random delays.
//! - [`pos`]: random priorities of operations.
//! - [`sequence`]: one strategy after another within an iteration.
//! - [`chess_fair`]: any strategy, made fair.
//! - [`portfolio`]: one strategy after another, iteration by iteration.
//! - [`replay`]: a recorded schedule; [`follow`]: a path of decisions.

mod change_points;
pub mod chess_fair;
pub mod delay_bounding;
pub mod follow;
pub mod pct;
pub mod pct_t;
pub mod portfolio;
pub mod pos;
mod priorities;
pub mod probabilistic;
pub mod random;
pub mod replay;
pub mod round_robin;
pub mod sequence;
mod spins;
mod timeout;
