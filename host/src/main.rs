//! The command line of coyote-wasm.

use anyhow::Context as _;
use clap::error::ErrorKind;
use coyote_wasm::cli::exit::Exit;
use coyote_wasm::cli::test::InternalError;
use coyote_wasm::cli::{self, Command, output};
use coyote_wasm::explore::ExploreError;
use coyote_wasm::machine::MachineError;
use std::process::ExitCode;

/// What a full disk does to standard output.
const LOST: &str = "cannot write to standard output";

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let lost = error.print().err().filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
            if let (true, Some(error)) = (asked, &lost) {
                output::put_error(format_args!("error: {LOST}: {error}\n"));
            }
            return if asked && lost.is_none() { Exit::NoBug } else { Exit::BadInput }.into();
        }
    };
    let result = match &cli.command {
        Command::Test(args) => cli::test::run(args),
        Command::Replay(args) => cli::replay::run(args),
        Command::Instrument(args) => cli::instrument::run(args),
        Command::Doctor(args) => cli::doctor::run(args),
    };
    // The first thing that went wrong is what counts.
    let written = output::finish().context(LOST);
    match result.and_then(|exit| written.map(|()| exit)) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::put_error(format_args!("error: {error:#}\n"));
            exit_of(&error).into()
        }
    }
}

/// Whose fault an error is.
fn exit_of(error: &anyhow::Error) -> Exit {
    let ours = error.is::<InternalError>()
        || matches!(error.downcast_ref(), Some(MachineError::Internal(_)))
        || matches!(error.downcast_ref(), Some(ExploreError::Machine(MachineError::Internal(_))))
        || matches!(error.downcast_ref(), Some(coyote_wasm::instrumenter::Error::Output { .. }));
    if ours { Exit::InternalError } else { Exit::BadInput }
}
