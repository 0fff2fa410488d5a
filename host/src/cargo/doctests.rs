//! Documentation tests: this command as rustdoc, which compiles and runs them.
//!
//! From edition 2024 on, rustdoc makes one program of a crate's doctests, which runs all of them when it is started. Each
//! must be a program of its own, to be explored by itself.

use super::status;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Set in processes of cargo that call this command as rustdoc. Its value is the rustdoc to be called in turn.
const WRAPPED: &str = "COYOTE_RUSTDOC";

/// The option that keeps doctests apart, and the one that allows it on stable toolchains with `RUSTC_BOOTSTRAP`.
const APART: &str = "--merge-doctests";
const UNSTABLE: [&str; 2] = ["-Z", "unstable-options"];

/// Makes cargo call this command instead of rustdoc, if its arguments ask for doctests.
///
/// # Errors
/// The path of this command cannot be determined.
pub fn prepare(cargo: &mut Command, arguments: &[&str]) -> Result<()> {
    if arguments.contains(&"--doc") {
        let this = std::env::current_exe().context("cannot tell where cargo-coyote is")?;
        let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
        cargo.env(WRAPPED, rustdoc).env("RUSTDOC", this);
    }
    Ok(())
}

/// Does what rustdoc would do, if cargo calls this command as rustdoc.
///
/// # Errors
/// Rustdoc cannot be started.
pub fn wrap() -> Option<Result<ExitCode>> {
    let rustdoc = std::env::var_os(WRAPPED)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Cargo calls this command as rustc's wrapper, too, with the path of rustc.
    let is_option = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"-");
    let is_rustdoc = arguments.first().is_some_and(is_option);
    is_rustdoc.then(|| {
        let mut command = Command::new(&rustdoc);
        command.args(&arguments);
        if arguments.iter().any(|argument| argument == "--test") {
            if knows_apart(&rustdoc) {
                command.args(UNSTABLE).args([APART, "no"]).env("RUSTC_BOOTSTRAP", "1");
            }
            let sources = arguments.iter().map(Path::new).filter(|path| path.extension() == Some(OsStr::new("rs")));
            match sources.filter_map(Path::parent).map(expected_panics).sum() {
                0 => {}
                n => eprintln!(
                    "note: {n} documentation {} `should_panic`, and {} nothing: rustdoc takes whatever makes coyote-wasm \
                     fail for the panic (docs/cargo.md)",
                    if n == 1 { "test has" } else { "tests have" },
                    if n == 1 { "says" } else { "say" },
                ),
            }
        }
        status(&mut command)
    })
}

/// Whether this rustdoc has the option [`APART`].
fn knows_apart(rustdoc: &OsStr) -> bool {
    let help = Command::new(rustdoc).arg("--help").output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains(APART))
}

/// The number of doctests with `should_panic` in a directory of sources.
fn expected_panics(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let in_entry = |path: &Path| match path.extension() {
        _ if path.is_dir() => expected_panics(path),
        Some(extension) if extension == "rs" => std::fs::read_to_string(path)
            .map_or(0, |text| text.lines().filter(|line| expects_panic(line)).count()),
        _ => 0,
    };
    entries.map(|entry| in_entry(&entry.path())).sum()
}

/// Whether a line begins a doctest with `should_panic`.
fn expects_panic(line: &str) -> bool {
    let line = line.trim_start();
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or(line).trim_start();
    let fence = comment.strip_prefix("```").or_else(|| comment.strip_prefix("~~~"));
    fence.is_some_and(|tags| tags.split([',', ' ']).any(|tag| tag.trim() == "should_panic"))
}

#[cfg(test)]
mod tests {
    use super::expects_panic;

    #[test]
    fn fences_of_doctests() {
        for line in ["/// ```should_panic", "    //! ``` rust,should_panic", "```should_panic,edition2021"] {
            assert!(expects_panic(line), "{line}");
        }
        for line in ["/// ```", "/// should_panic", "#[should_panic]", "// ```text: should_panicking"] {
            assert!(!expects_panic(line), "{line}");
        }
    }
}
