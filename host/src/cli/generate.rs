//! `coyote-wasm completions` and `coyote-wasm man`: files generated from the command line's definition.

use super::Cli;
use super::output::Stdout;
use crate::exit::Exit;
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

/// The command's name.
const NAME: &str = "coyote-wasm";

/// Options of `completions`.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Options of `man`.
#[derive(clap::Args)]
pub struct ManArgs {
    /// Where the pages are written, one for each subcommand
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Prints a script that completes this command in a shell.
pub fn completions(args: &CompletionsArgs) -> Result<Exit> {
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut Stdout);
    Ok(Exit::NoBug)
}

/// Writes the manual.
pub fn man(args: &ManArgs) -> Result<Exit> {
    let directory = &args.directory;
    let written =
        std::fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
    written.with_context(|| format!("cannot write the manual to {}", directory.display()))?;
    Ok(Exit::NoBug)
}
