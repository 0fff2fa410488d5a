//! Project tasks: the same command at home and in CI.
//!
//! - [`codegen`]: files that are made from the contract.
//! - [`guests`]: the example guests, from their sources.
//! - [`files`]: reading and writing with errors that name the file.

mod codegen;
mod files;
mod guests;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project tasks of coyote-wasm")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Codegen(codegen::Arguments),
    Guests(guests::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Codegen(arguments) => codegen::run(&arguments),
        Task::Guests(arguments) => guests::run(&arguments),
    }
}
