//! `cargo coyote`: explores a crate's tests and programs without any configuration.
//!
//! - `build`: calls cargo so that it builds for the guest's target and runs the programs by coyote-wasm.
//! - `flags`: additional flags for the compiler.
//! - `unwind`: builds with a std whose panics unwind.
//! - `profile`: the level of optimisation.
//! - `miri`: builds the crate as for Miri.
//! - `workspace`: cargo's metadata of the packages.
//! - `stand_ins`: packages that replace others: dev-dependencies that no test uses, and packages with another meaning
//!   on wasm.
//! - `parking`: parking_lot with a way to wait.
//! - `doctests`: this command as rustdoc.
//! - `wrapper`: this command as rustc's wrapper.
//! - `init`: writes the same settings into the crate's configuration, for plain `cargo test`.

mod build;
mod doctests;
mod flags;
mod init;
mod miri;
mod parking;
mod profile;
mod stand_ins;
mod unwind;
mod workspace;
mod wrapper;

use crate::cli::doctor;
use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command as Process, ExitCode};

/// Does what rustdoc or rustc would do, if cargo calls this command in their place.
///
/// # Errors
/// They cannot be started.
pub fn wrap() -> Option<Result<ExitCode>> {
    doctests::wrap().or_else(wrapper::wrap)
}

// What cargo starts for `cargo coyote`: the first argument is the subcommand's own name.
/// Explores the schedules of a crate's tests and programs: `cargo coyote`
#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo", disable_help_subcommand = true)]
pub enum Cli {
    /// Explores the schedules of a crate's tests and programs
    #[command(version)]
    Coyote {
        #[command(subcommand)]
        command: Command,
    },
}

/// The subcommands of `cargo coyote`.
#[derive(Subcommand)]
pub enum Command {
    /// Explore the crate's tests: `cargo test` for the target, run by coyote-wasm
    #[command(after_help = build::TEST_HELP)]
    Test(build::Arguments),
    /// Explore the crate's program: `cargo run` for the target, run by coyote-wasm
    Run(build::Arguments),
    /// Explore the crate's tests under cargo-nextest, which must be installed
    Nextest(build::Arguments),
    /// Prepare a crate: its configuration, a first coyote.toml, what git ignores
    Init(init::Arguments),
    /// Say what keeps the crate from being explored, and what helps
    Doctor(doctor::Args),
    /// Anything else that coyote-wasm does, such as `replay MODULE TRACE`
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// Reads the arguments of the process.
///
/// # Errors
/// Errors of clap, and requests for help.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // Arguments behind `--` are passed on; clap would remove the `--`.
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let rest = arguments.split_off(end);
    // Options of this command may be among those of cargo.
    for own in [build::UNWIND, build::LIKE_MIRI, stand_ins::ALL] {
        if let Some(at) = arguments.iter().position(|argument| argument == own) {
            let option = arguments.remove(at);
            arguments.insert(arguments.len().min(3), option);
        }
    }
    let Cli::Coyote { mut command } = Cli::try_parse_from(arguments)?;
    match &mut command {
        Command::Test(own) | Command::Run(own) | Command::Nextest(own) => own.add(rest),
        Command::Other(own) => own.extend(rest),
        Command::Init(_) | Command::Doctor(_) => {}
    }
    Ok(Cli::Coyote { command })
}

/// Runs a subcommand. The exit code is cargo's own where cargo was called.
///
/// # Errors
/// A required program is missing, or the arguments are invalid.
pub fn run(Cli::Coyote { command }: Cli) -> Result<ExitCode> {
    match command {
        Command::Test(arguments) => build::test(&arguments),
        Command::Run(arguments) => build::call("run", &arguments),
        Command::Nextest(arguments) => build::call("nextest", &arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Doctor(arguments) => {
            let way = doctor::Way {
                build: &build::messages,
                command: "cargo coyote test",
                flags: flags::OF_TOKIO,
                needs_runner: false,
            };
            Ok(doctor::run_for(&arguments, &way)?.into())
        }
        Command::Other(arguments) => status(Process::new(ours()).args(arguments)),
    }
}

/// The command `coyote-wasm`: in the directory of this one, where an installation puts both, or wherever the shell
/// finds it.
fn ours() -> PathBuf {
    let name = format!("coyote-wasm{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|this| this.with_file_name(&name));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

/// Runs a program to its end. Returns its exit code.
fn status(program: &mut Process) -> Result<ExitCode> {
    let name = program.get_program().to_string_lossy().into_owned();
    let status = program.status().with_context(|| format!("{name} cannot be started"))?;
    // A program without an exit code was killed by a signal, which the user has already seen.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into())
}
