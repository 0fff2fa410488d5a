//! Distributed protocols and services as actors, after samples of P and of Microsoft's Coyote.
//!
//! - [`bank`]: a server handles a request while another one waits for the database.
//! - [`chain_replication`]: after a failure in the chain, updates are applied twice.
//! - [`chord`]: a node that joins the ring answers for keys that it does not have yet.
//! - [`failure_detector`]: a late answer counts for the next round.
//! - [`paxos`]: a proposer counts promises of its former ballot.
//! - [`replicating_storage`]: the report of a node that has failed is recorded.
//! - [`two_phase_commit`]: a participant that has agreed gives up by itself.
//!
//! Expected: tests whose names end with `_fixed` pass, all others have a bug.

mod bank;
mod chain_replication;
mod chord;
mod failure_detector;
mod paxos;
mod replicating_storage;
mod two_phase_commit;
