//! Samplers: strategies that are asked at every choice of an execution.
//!
//! - [`random`]: the random walk.
//! - [`probabilistic`]: the random walk that seldom switches.
//! - [`round_robin`]: workers take turns.
//! - [`pct`]: random priorities with few change points; [`pct_t`]: priorities for chains of workers.
//! - [`delay_bounding`]: a deterministic schedule with few random delays.
//! - [`pos`]: random priorities of operations.
//! - [`urw`], [`surw`]: uniform over schedules, or over the orders of one object's accesses.
//! - [`random_depth`]: a growing number of random preemptions.
//! - [`q_learning`], [`greedy`]: towards states seldom seen.
//! - [`feedback`]: mutations of schedules that showed something new.
//! - [`sequence`]: one strategy after another within an iteration.
//! - [`chess_fair`]: any strategy, made fair.
//! - [`faults`]: any strategy, with a separate rule for when faults strike; [`watchers`]: any strategy, with workers that
//!   evaluate invariants as soon as they can.
//! - [`sweep`]: every fault of the default schedule, one per iteration.
//! - [`portfolio`]: one strategy after another, iteration by iteration.
//! - [`profiler`]: the random walk, recording the profile of the program.
//! - [`replay`]: follows a recorded schedule; [`lenient`]: follows one of a program that was edited since;
//!   [`follow`]: follows a path of decisions; [`guided`]: follows a preference, as far as possible;
//!   [`steered`]: steers towards a deadlock.

mod change_points;
pub mod chess_fair;
pub mod delay_bounding;
pub mod faults;
pub mod feedback;
pub mod follow;
pub mod greedy;
pub mod guided;
mod learned;
pub mod lenient;
pub mod pct;
pub mod pct_t;
pub mod portfolio;
pub mod pos;
mod priorities;
pub mod probabilistic;
pub mod profiler;
pub mod q_learning;
pub mod random;
pub mod random_depth;
pub mod replay;
pub mod round_robin;
pub mod sequence;
mod spins;
pub mod steered;
pub mod surw;
pub mod sweep;
mod timeout;
pub mod urw;
pub mod watchers;
mod weights;
