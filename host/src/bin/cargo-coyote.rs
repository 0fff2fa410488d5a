//! `cargo coyote`: see [`coyote_wasm::cargo`].

use coyote_wasm::cargo;
use coyote_wasm::exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(compiled) = cargo::wrap() {
        return ended(compiled);
    }
    let arguments = match cargo::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::BadInput } else { Exit::NoBug }.into();
        }
    };
    ended(cargo::run(arguments))
}

fn ended(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        Exit::BadInput.into()
    })
}
