//! The command line of coyote-wasm.

use clap::error::ErrorKind;
use coyote_wasm::cli::exit::Exit;
use coyote_wasm::cli::test::InternalError;
use coyote_wasm::cli::{self, Command};
use coyote_wasm::explore::ExploreError;
use coyote_wasm::machine::MachineError;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            return if asked { Exit::NoBug } else { Exit::BadInput }.into();
        }
    };
    let result = match &cli.command {
        Command::Test(args) => cli::test::run(args),
        Command::Replay(args) => cli::replay::run(args),
        Command::Instrument(args) => cli::instrument::run(args),
        Command::Doctor(args) => cli::doctor::run(args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
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
