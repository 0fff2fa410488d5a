//! Running other programs.

use crate::files::target;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cargo that runs this task.
pub fn program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs cargo in the directory of this workspace.
///
/// # Errors
/// It cannot be started, or fails.
pub fn cargo(arguments: &[&str], variables: &[(&str, String)]) -> Result<()> {
    println!("$ cargo {}", arguments.join(" "));
    let mut command = Command::new(program());
    command.args(arguments).envs(variables.iter().map(|(k, v)| (*k, v.as_str())));
    let status = command.status().context("cargo cannot be started")?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}

/// The absolute path of a coyote-wasm: of the `given` one, or else of the one that this workspace builds.
///
/// # Errors
/// It does not build.
pub fn tool(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(std::path::absolute(given)?);
    }
    cargo(&["build", "--release", "-p", "coyote-wasm"], &[])?;
    Ok(std::path::absolute(target().join("release/coyote-wasm"))?)
}

/// The text that cargo prints to its standard output.
///
/// # Errors
/// It cannot be started, or fails.
pub fn cargo_output(arguments: &[&str]) -> Result<String> {
    let output = Command::new(program()).args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo {} failed", arguments.join(" "));
    String::from_utf8(output.stdout).context("cargo prints text")
}

/// Whether a program runs and succeeds; its output is discarded.
pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let silent = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    silent.is_ok_and(|status| status.success())
}

/// Tries to install packages of Python into a folder. Failures show up later, as missing programs.
pub fn install_of_python(folder: &Path, packages: &[&str]) {
    let folder = folder.to_string_lossy();
    let arguments = ["-m", "pip", "install", "--quiet", "--target", &*folder];
    succeeds("python3", &[&arguments, packages].concat());
}
