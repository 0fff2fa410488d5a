//! Flags for the compiler, beside those that are given anyway.

use super::workspace::Metadata;
use crate::toolchain;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// What tokio wants to be told before it builds with more than a few of its features for the target.
const TOKIO: [&str; 2] = ["--cfg", "tokio_unstable"];

/// Has cargo give the compiler these flags too, for what it builds for the target.
pub fn add(cargo: &mut Command, target: &str, more: &[&str]) {
    let (name, separator) = variable(target);
    let mut flags = set_for(cargo, &name).unwrap_or_default();
    for flag in more {
        if !flags.is_empty() {
            flags.push(separator);
        }
        flags.push(flag);
    }
    cargo.env(name, flags);
}

/// Has cargo build tokio as it has to be built for the target, if it is among the packages.
pub fn add_for_tokio(cargo: &mut Command, metadata: &Metadata, target: &str) {
    let used = metadata.packages.iter().any(|package| package.name == "tokio");
    let (name, _) = variable(target);
    let given = set_for(cargo, &name).unwrap_or_default();
    if used && !given.to_string_lossy().contains(TOKIO[1]) {
        add(cargo, target, &TOKIO);
    }
}

/// The variable of cargo from which the flags for the target come, and what separates them there. One that is set hides
/// those behind it.
fn variable(target: &str) -> (String, &'static str) {
    let set = |name: &str| std::env::var_os(name).is_some();
    match () {
        () if set("CARGO_ENCODED_RUSTFLAGS") => ("CARGO_ENCODED_RUSTFLAGS".into(), "\x1f"),
        () if set("RUSTFLAGS") => ("RUSTFLAGS".into(), " "),
        () => (toolchain::variable(target, "RUSTFLAGS"), " "),
    }
}

/// What a variable is for a command that is to be started.
fn set_for(command: &Command, name: &str) -> Option<OsString> {
    let own = command.get_envs().find(|(key, _)| *key == OsStr::new(name));
    own.map_or_else(|| std::env::var_os(name), |(_, value)| value.map(OsString::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_added_to_those_that_are_there() {
        let mut cargo = Command::new("cargo");
        let (name, separator) = variable("wasm32-x");
        cargo.env(&name, "-Cone");
        add(&mut cargo, "wasm32-x", &["-Ctwo"]);
        add(&mut cargo, "wasm32-x", &["-Cthree"]);
        let wanted = ["-Cone", "-Ctwo", "-Cthree"].join(separator);
        assert_eq!(set_for(&cargo, &name), Some(wanted.into()));
    }
}
