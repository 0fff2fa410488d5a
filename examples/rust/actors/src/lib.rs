//! Actors: samples of Microsoft's Coyote, what else actors can do, and generated machines.
//!
//! - [`raft`]: an election has two leaders, since a candidate counts the votes of one voter twice.
//! - [`coffee_machine`]: a controller that is replaced after a power failure turns on a grinder without beans.
//! - [`drinks_robot`]: an order is forgotten when a navigator fails.
//! - [`espresso_machine`]: an order that was interrupted is brewed too early.
//! - [`features`]: what actors can do besides, and mistakes.
//! - [`generated`]: random state machines, compared with a naive way to execute them.
//!
//! Expected: tests whose names begin with `bad_`, `raft`, `coffee_machine`, `drinks_robot` and `espresso_machine` have a bug, all others pass.

mod coffee_machine;
mod drinks_robot;
mod espresso_machine;
mod features;
mod generated;
mod raft;
