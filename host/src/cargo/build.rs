//! Calls cargo so that it builds for the guest's target and uses coyote-wasm as the runner of what it built.
//!
//! Nothing is written into the crate: cargo's environment variable gives the runner, and has priority over files.

use super::workspace::Metadata;
use super::{doctests, flags, miri, ours, parking, profile, stand_ins, status, unwind, wrapper};
use crate::cli::doctor::Features;
use crate::toolchain::{self, RUNNER, TARGET, variable};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode, Output};

/// The text behind the options in the help of `cargo coyote test`.
pub const TEST_HELP: &str = "\
Arguments before `--` are those of `cargo test`, those behind it are filters and options of `coyote-wasm test`:

    cargo coyote test -p queue --lib -- queue --strategy dpor

Documentation tests are left out unless --doc asks for them, since rustdoc has a harness of its own.
In the guest, the variable COYOTE is 1: a test can make fewer rounds then, since each is explored.";

/// The guest's environment variable that tells a program that it is being explored.
const VARIABLE: &str = "COYOTE=1";

/// The option to build std with unwinding.
pub const UNWIND: &str = "--unwind";

/// The option to build the crate as for Miri.
pub const LIKE_MIRI: &str = "--like-miri";

/// Arguments that are passed on.
#[derive(clap::Args)]
pub struct Arguments {
    /// Arguments of cargo, then `--` and those of `coyote-wasm test`, then, for `run`, `--` and those of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
    /// Build std with unwinding first, so that tests may catch panics: docs/unwinding.md
    #[arg(long)]
    unwind: bool,
    /// Build the crate with cfg(miri), for which its authors often choose fewer rounds and leave out slow tests
    #[arg(long)]
    like_miri: bool,
    /// Build also the dev-dependencies that no test names: docs/cargo.md
    #[arg(long)]
    all_dev_dependencies: bool,
}

impl Arguments {
    /// Adds the first `--` and the arguments behind it.
    pub fn add(&mut self, rest: Vec<OsString>) {
        self.arguments.extend(rest);
    }
}

/// Options of cargo that select what is tested.
const SELECT: &[&str] = &[
    "--lib",
    "--bin",
    "--bins",
    "--test",
    "--tests",
    "--example",
    "--examples",
    "--bench",
    "--benches",
    "--all-targets",
    "--doc",
];

/// `cargo test`, without documentation tests.
pub fn test(arguments: &Arguments) -> Result<ExitCode> {
    let named = own(&arguments.arguments).iter().any(|argument| SELECT.contains(&name(argument)));
    let more: &[&str] = if named { &[] } else { &["--tests"] };
    with("test", more, arguments)
}

/// Any subcommand of cargo that runs the programs that it builds.
pub fn call(subcommand: &str, arguments: &Arguments) -> Result<ExitCode> {
    with(subcommand, &[], arguments)
}

/// Builds the tests of the crate in a directory as [`test`] does, with cargo's messages in JSON.
///
/// # Errors
/// Cargo cannot be started, or the target's standard library is missing.
pub fn messages(directory: &Path, features: &Features) -> Result<Output> {
    let manifest = directory.join("Cargo.toml");
    let arguments = ["--no-run", "--message-format", "json", "--manifest-path"].map(OsString::from);
    let given = Arguments {
        arguments: (arguments.into_iter().chain([manifest.into()]))
            .chain(features.options().into_iter().map(OsString::from))
            .collect(),
        unwind: false,
        like_miri: false,
        all_dev_dependencies: false,
    };
    let mut prepared = prepare("test", &["--tests"], &given)?;
    prepared.cargo.output().context("cargo cannot be started")
}

/// Cargo with all arguments, and what must live until it ends.
struct Prepared {
    cargo: Command,
    _lock: Option<stand_ins::Lock>,
}

fn with(subcommand: &str, more: &[&str], given: &Arguments) -> Result<ExitCode> {
    status(&mut prepare(subcommand, more, given)?.cargo)
}

fn prepare(subcommand: &str, more: &[&str], given: &Arguments) -> Result<Prepared> {
    let arguments = given.arguments.as_slice();
    let target = target(own(arguments))?;
    if !toolchain::has(target, Path::new("."))? {
        bail!("the toolchain has no standard library for {target}: run `rustup target add {target}`");
    }
    let mut cargo = toolchain::cargo();
    // Nextest has subcommands, and its options follow them.
    let (first, rest) = arguments.split_at(usize::from(subcommand == "nextest" && !arguments.is_empty()));
    cargo.arg(subcommand).args(first).args(more);
    if own(arguments).iter().all(|argument| name(argument) != "--target") {
        cargo.args(["--target", target]);
    }
    wrapper::add(&mut cargo)?;
    if given.unwind {
        unwind::prepare(&mut cargo, target)?;
    }
    let texts: Vec<&str> = own(arguments).iter().filter_map(|argument| argument.to_str()).collect();
    if subcommand == "test" {
        doctests::prepare(&mut cargo, &texts)?;
    }
    if given.like_miri {
        miri::prepare(&mut cargo, target);
    }
    let mut _lock = None;
    if let Some(metadata) = Metadata::of(&texts, target) {
        profile::prepare(&mut cargo, &texts, &metadata);
        flags::add_for_tokio(&mut cargo, &metadata, target);
        parking::prepare(&mut cargo, &metadata, target);
        // Dev-dependencies that a program or nextest needs are not known here, so cargo builds all of them.
        let all = subcommand != "test" || given.all_dev_dependencies;
        _lock = Some(stand_ins::prepare(&mut cargo, &texts, &metadata, all)?);
    }
    let mut runner = format!("{RUNNER} --env {VARIABLE}");
    // Last, since the arguments may end with those behind `--`.
    match behind_dashes(rest).filter(|_| subcommand == "run") {
        None => cargo.args(rest),
        Some(behind) => {
            // Cargo gives what is behind its `--` to the program.
            for option in own(behind) {
                let text =
                    option.to_str().filter(|text| !text.is_empty() && !text.contains(char::is_whitespace));
                let text = text.with_context(|| {
                    format!(
                        "{:?}: cargo splits the command of a runner at spaces, so none of its options may have one: \
                         put this one into coyote.toml",
                        option.to_string_lossy()
                    )
                })?;
                runner += &format!(" {text}");
            }
            cargo.args(own(rest)).arg("--").args(behind_dashes(behind).unwrap_or_default())
        }
    };
    cargo.env("PATH", path()?).env(variable(target, "RUNNER"), runner);
    Ok(Prepared { cargo, _lock })
}

/// What is behind the first `--`, if there is one.
fn behind_dashes(arguments: &[OsString]) -> Option<&[OsString]> {
    let at = arguments.iter().position(|argument| argument == "--")?;
    Some(&arguments[at + 1..])
}

/// The arguments for cargo itself.
fn own(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    &arguments[..end]
}

/// An argument without its value.
fn name(argument: &OsStr) -> &str {
    argument.to_str().and_then(|text| text.split('=').next()).unwrap_or_default()
}

/// The target: the one that the user names, which this tool must be able to run, or the default.
fn target(arguments: &[OsString]) -> Result<&str> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let Some(text) = argument.to_str() else { continue };
        let given = match text.split_once('=') {
            Some(("--target", value)) => Some(value),
            _ if text == "--target" => rest.next().and_then(|value| value.to_str()),
            _ => continue,
        };
        let Some(given) = given else { bail!("--target needs the name of a target, such as {TARGET}") };
        ensure!(
            given.starts_with("wasm32-wasi"),
            "--target {given}: tests are built for wasm32 with WASI, such as {TARGET}"
        );
        return Ok(given);
    }
    Ok(TARGET)
}

/// The directories in which programs are searched, this tool's own first. The runner is given by its name, since cargo
/// splits a runner at spaces, which a path may contain.
fn path() -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let ours = ours().parent().map(Path::to_path_buf).filter(|folder| !folder.as_os_str().is_empty());
    std::env::join_paths(ours.into_iter().chain(std::env::split_paths(&path)))
        .context("the directory of cargo-coyote cannot be part of PATH: its name contains the separator")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_target_is_the_users_if_it_can_be_run() {
        assert_eq!(target(&words("--lib")).unwrap(), TARGET);
        assert_eq!(target(&words("--target wasm32-wasip1 --lib")).unwrap(), "wasm32-wasip1");
        assert_eq!(target(&words("--target=wasm32-wasip1")).unwrap(), "wasm32-wasip1");
        assert!(target(&words("--target x86_64-unknown-linux-gnu")).is_err());
        assert!(target(&words("--target wasm32-unknown-unknown")).is_err());
        assert!(target(&words("--target")).is_err());
        // Arguments behind `--` are not cargo's.
        assert_eq!(target(own(&words("-p a -- --target b"))).unwrap(), TARGET);
    }
}
