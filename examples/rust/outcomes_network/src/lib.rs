//! Small programs over `coyote::net` that log what arrives: a search must come to exactly those outcomes that a naive model
//! of each preset allows, without faults and with (`host/tests/host/network.rs`).
//!
//! - [`crashes`]: nodes that crash and start again.
//! - [`datagrams`]: two nodes send three datagrams to a third one, which receives what has arrived, waits until what is late
//!   has arrived as well, and receives that.
//! - [`streams`]: four bytes in two writes, read three at a time.
//! - [`links`]: what the program itself cuts, holds, slows down and mends. It has one outcome.

mod crashes;
mod datagrams;
mod links;
mod streams;

/// Logs a word.
fn say(word: impl std::fmt::Display) {
    coyote::log!("{word}");
}
