//! Which errors are bugs of this tool, and the exit codes of errors.

use super::output::put_error;
use crate::exit::Exit;
use crate::explore::ExploreError;
use crate::machine::MachineError;

/// An error that is a bug of this tool, not a mistake of the user.
#[derive(Debug, thiserror::Error)]
#[error("this is a bug in coyote-wasm: {0}")]
pub struct InternalError(pub String);

/// From now on, a panic of any thread ends the process as an internal error does: with its message and exit code 3.
pub fn end_at_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        put_error(format_args!("error: this is a bug in coyote-wasm: please report it\n"));
        std::process::exit(Exit::InternalError as i32)
    }));
}

/// The exit code of an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    let internal = error.is::<InternalError>()
        || matches!(error.downcast_ref(), Some(MachineError::Internal(_)))
        || matches!(error.downcast_ref(), Some(ExploreError::Machine(MachineError::Internal(_))))
        || matches!(error.downcast_ref(), Some(coyote_instrumenter::Error::Output { .. }));
    if internal { Exit::InternalError } else { Exit::BadInput }
}
