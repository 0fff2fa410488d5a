//! The Debug Adapter Protocol: editors debug the replay of a trace. Workers are its threads.
//!
//! The protocol is that of <https://microsoft.github.io/debug-adapter-protocol/specification>, as far as a replay has a
//! meaning for it. Nothing runs between two requests: each motion is executed to its end before it is answered, so that
//! `pause` has nothing to stop and is answered at once. A replay has one order of steps: continuing or stepping one
//! worker moves all of them along the schedule.
//!
//! - [`protocol`]: messages on a stream. `session`: what requests do. `values`: what variables are shown.

pub mod protocol;
mod session;
mod values;

pub use session::{Launch, Opened};

use crate::machine::MachineError;
use protocol::{Message, Reader, Writer};
use session::Session;
use std::io::{self, Read, Write};

/// Why a server has ended before its client wanted that.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client said what is no message, or is gone.
    #[error("the debugger's client")]
    Client(#[from] io::Error),
    /// The execution cannot go on.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Serves one client until it disconnects. `open`: makes the execution that a client asks for.
///
/// # Errors
/// See [`ServeError`]. What a client asks wrongly is answered, and no error.
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
