//! The command line: one file for each subcommand.

// First, because the following modules use its macros.
#[macro_use]
pub mod output;

mod bug_files;
mod bundle;
pub mod campaign;
pub mod config;
mod configured;
mod confirm;
mod coverage;
pub mod dap;
mod debug;
mod detect;
pub mod doctor;
pub mod error;
mod exploration;
pub mod frontier;
pub mod generate;
pub mod instrument;
mod libtest_args;
pub mod load;
pub mod merge;
pub mod progress;
mod regressions;
pub mod replay;
mod report_args;
mod run;
mod same_bug;
mod select;
mod session;
mod shares;
pub mod shrink;
pub mod test;
mod trace_of;
mod units;
mod values;

use crate::exit;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;

/// Finds a schedule that breaks a concurrent test compiled to WebAssembly, and replays it deterministically.
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
    /// Merge the results of parts of a run, and report them as one run
    Merge(Box<merge::Args>),
    /// Execute a run in parts by processes that share a directory
    Campaign(campaign::Args),
    /// Say whether files that searches leave are whole, what they belong to, and what is left
    Frontier(frontier::Args),
    /// Reproduce a bug from its trace
    Replay(replay::Args),
    /// Let an editor debug a replay: a server of the Debug Adapter Protocol on standard input and output
    Dap(dap::Args),
    /// Minimise a trace
    Shrink(shrink::Args),
    /// Write the instrumented module, or show what instrumentation does
    Instrument(instrument::Args),
    /// Say what keeps a crate or a module from being explored, and what helps
    Doctor(doctor::Args),
    /// Print a script that completes this command in a shell
    Completions(generate::CompletionsArgs),
    /// Write the manual as pages for man
    Man(generate::ManArgs),
}

/// Reads the command line.
///
/// With `--runner`, arguments behind the module (the first argument with the name of a module) belong to the program.
/// If the program runs Rust's test harness, these are options that both the harness and this tool understand.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut arguments = arguments();
    let is_module = |a: &OsString| matches!(Path::new(a).extension(), Some(e) if e == "wasm" || e == "wat");
    let ours = arguments.iter().take_while(|a| *a != "--");
    let module = ours.clone().position(is_module).filter(|_| ours.clone().any(|a| a == "--runner"));
    if let Some(at) = module {
        let (path, rest) = (Path::new(&arguments[at]), &arguments[at + 1..]);
        if !load::understands_harness_options(path, rest) {
            arguments.insert(at + 1, "--".into());
        } else if let Some(dashes) = rest.iter().position(|a| a == "--") {
            // The harness gives nothing to the program: what is behind `--` are names of tests.
            arguments.remove(at + 1 + dashes);
        }
    }
    let matches = Cli::command().try_get_matches_from(&arguments).map_err(|error| match module {
        Some(_) => about_cargo(error),
        None => error,
    })?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let Command::Test(args) = &mut cli.command {
        args.line = arguments[1..].to_vec();
    }
    Ok(cli)
}

/// Options of cargo that users may put behind its `--`, where they are this tool's.
const OF_CARGO: [&str; 14] = [
    "--all-features",
    "--all-targets",
    "--exclude",
    "--features",
    "--lib",
    "--like-miri",
    "--manifest-path",
    "--no-default-features",
    "--no-fail-fast",
    "--package",
    "--release",
    "--tests",
    "--unwind",
    "--workspace",
];

/// Says where an unknown option belongs if cargo has it, in the place of similar options of this tool.
fn about_cargo(mut error: clap::Error) -> clap::Error {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) if error.kind() == ErrorKind::UnknownArgument => name,
        _ => return error,
    };
    if OF_CARGO.contains(&unknown.as_str()) {
        let tip = format!("{unknown} is an option of cargo: put it before `--`");
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The arguments of the process; `-ms`, as Coyote spells it, stands for `--max-steps`.
fn arguments() -> Vec<OsString> {
    let mut options = true;
    std::env::args_os()
        .map(|argument| {
            options &= argument != "--";
            if options && argument == "-ms" { "--max-steps".into() } else { argument }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Cli, about_cargo};
    use clap::CommandFactory;

    #[test]
    fn options_of_cargo_belong_before_the_dashes() {
        let said = |option: &str| {
            let line = ["coyote-wasm", "test", "--runner", "m.wasm", option];
            let error = Cli::command().try_get_matches_from(line).expect_err("it is no option of ours");
            about_cargo(error).to_string()
        };
        for option in super::OF_CARGO {
            let text = said(option);
            assert!(
                text.contains(&format!("tip: {option} is an option of cargo: put it before `--`")),
                "{text}"
            );
            assert_eq!(text.matches("tip:").count(), 1, "{text}");
        }
        let text = said("--iteratoins");
        assert!(text.contains("a similar argument exists: '--iterations'"), "{text}");
    }
}
