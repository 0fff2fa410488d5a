//! Programs of several nodes over `coyote::net`, each with a mistake that only what networks do can show, and its
//! correction.
//!
//! - [`frames`]: a server takes what one `read` returns for a whole header. Streams are split anywhere by choice, so this
//!   needs no fault.
//! - [`requests`]: a server that applies each request once remembers only the last one: needs a datagram that arrives twice.
//! - [`register`]: a primary and its backup, each of which goes on alone if it cannot reach the other: needs a partition.
//!
//! Run with `--points atomic`: nodes share nothing but the network, so that what is between two of its operations may
//! as well be one step. Expected: tests whose names end in `_fixed` pass, all others have a bug with the faults named.

mod frames;
mod register;
mod requests;
