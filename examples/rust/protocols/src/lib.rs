//! Distributed protocols as processes that send each other messages, each in a correct version and with
//! bugs that take a rare order of messages or failures.
//!
//! Run with `--points sync`: then everything between two operations of the mailboxes is one step, as in
//! languages for actors, and a search has no states but those of the protocol.
//!
//! - [`actor`]: processes and their mailboxes.
//! - [`two_phase_commit`]: a late vote is counted for the next transaction; a participant forgets what it
//!   told another one.
//! - [`chain_replication`]: two neighbours fail at once; a request that is sent again is applied twice.
//! - [`paxos`]: an acceptor forgets a promise; a proposer takes over the wrong value.
//!
//! Expected: tests whose names end in `_correct` pass, all others have a bug.

mod actor;
mod chain_replication;
mod paxos;
mod two_phase_commit;
