//! The command line: one file a subcommand.

pub mod exit;
pub mod instrument;
mod json;
pub mod load;
pub mod progress;
pub mod replay;
mod session;
pub mod test;
mod trace_options;

use clap::{Parser, Subcommand};

/// Finds the schedule that breaks a concurrent test compiled to WebAssembly, and replays it for ever.
#[derive(Parser)]
#[command(name = "coyote-wasm", version, max_term_width = 100, after_help = exit::HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Explore the schedules of a module's tests until one breaks
    Test(Box<test::Args>),
    /// Reproduce a bug from its trace
    Replay(replay::Args),
    /// Write the instrumented module, or show what instrumentation does
    Instrument(instrument::Args),
}

/// The arguments of the process; `-ms`, as Coyote spells it, stands for `--max-steps`.
pub fn arguments() -> Vec<std::ffi::OsString> {
    let mut options = true;
    std::env::args_os()
        .map(|argument| {
            options &= argument != "--";
            if options && argument == "-ms" { "--max-steps".into() } else { argument }
        })
        .collect()
}
