//! The Debug Adapter Protocol: editors debug the replay of a trace. Workers are its threads.
//!
//! This module implements the part of the protocol of
//! <https://microsoft.github.io/debug-adapter-protocol/specification> that has a meaning for a replay. Nothing is
//! executed between two requests: each motion ends before its request is answered, so `pause` has nothing to stop and
//! is answered at once. A replay has one order of steps: continuing or stepping one worker moves all of them along the
//! schedule.
//!
//! - [`protocol`]: messages on a stream. `session`: the requests. `values`: the display of variables.

pub mod protocol;
mod session;
mod values;

pub use session::{Launch, Opened};

use crate::machine::MachineError;
use protocol::{Message, Reader, Writer};
use session::Session;
use std::io::{self, Read, Write};

/// Why a server ended before its client requested it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client sent something that is no message, or disconnected.
    #[error("the debugger's client")]
    Client(#[from] io::Error),
    /// The execution cannot continue.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Serves one client until it disconnects. `open` creates the execution that a client requests.
///
/// # Errors
/// See [`ServeError`]. An invalid request of a client gets an answer and is no error.
pub fn serve(
    from: impl Read,
    to: impl Write,
    open: &dyn Fn(&Launch) -> Result<Opened, String>,
) -> Result<(), ServeError> {
    let mut reader = Reader::new(from);
    let mut session = Session::new(Writer::new(to), open);
    while let Some(message) = reader.next()? {
        let Message::Request(request) = message else { continue };
        if session.answer(&request)?.is_break() {
            break;
        }
    }
    Ok(())
}
