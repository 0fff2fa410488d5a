//! The Rust toolchain that guests are built with, as `cargo coyote` and `doctor` find it: its programs, the target, and
//! the names of cargo's settings for the target.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target for which guests are built unless the user names another.
pub const TARGET: &str = "wasm32-wasip1-threads";

/// The runner of that target, as cargo's configuration names it.
pub const RUNNER: &str = "coyote-wasm test --runner";

/// The cargo that called this process, or the one that the shell finds.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The environment variable for a target's setting in cargo, such as its `RUNNER`.
pub fn variable(target: &str, what: &str) -> String {
    format!("CARGO_TARGET_{}_{what}", target.to_uppercase().replace('-', "_"))
}

/// Cargo's configuration files that apply to a directory, with their texts; the nearest one first.
pub fn configurations(directory: &Path) -> Vec<(PathBuf, String)> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.into());
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let folders = absolute.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    let files = folders.flat_map(|folder| [folder.join("config.toml"), folder.join("config")]);
    files.filter_map(|file| std::fs::read_to_string(&file).ok().map(|text| (file, text))).collect()
}

/// The path that `rustc --print` prints in a directory. `None` if rustc refuses.
///
/// # Errors
/// rustc cannot be started.
pub fn printed(directory: &Path, what: &[&str]) -> Result<Option<PathBuf>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--print").args(what).current_dir(directory).output();
    let output = output.context("rustc cannot be started: install Rust, see https://rustup.rs")?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(output.status.success().then_some(path))
}

/// Whether the toolchain that is used in a directory has the standard library of a target.
///
/// # Errors
/// As [`printed`].
pub fn has(target: &str, directory: &Path) -> Result<bool> {
    let libraries = printed(directory, &["target-libdir", "--target", target])?;
    Ok(libraries.is_some_and(|libraries| libraries.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::{TARGET, variable};

    #[test]
    fn a_target_has_a_variable() {
        assert_eq!(variable(TARGET, "RUNNER"), "CARGO_TARGET_WASM32_WASIP1_THREADS_RUNNER");
    }
}
