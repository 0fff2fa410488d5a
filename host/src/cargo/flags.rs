//! Additional flags for the compiler.

use super::workspace::Metadata;
use crate::toolchain;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The flag that tokio requires to build with more than a few of its features for the target.
const TOKIO: [&str; 2] = ["--cfg", "tokio_unstable"];

/// The same as one text.
pub const OF_TOKIO: &str = "--cfg tokio_unstable";

/// Makes cargo pass these flags to the compiler as well, for everything that it builds for the target.
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

/// Makes cargo build tokio with the flag that the target requires, if tokio is among the packages.
pub fn add_for_tokio(cargo: &mut Command, metadata: &Metadata, target: &str) {
    let used = metadata.packages.iter().any(|package| package.name == "tokio");
    let (name, _) = variable(target);
    let given = set_for(cargo, &name).unwrap_or_default();
    if used && !given.to_string_lossy().contains(TOKIO[1]) {
        add(cargo, target, &TOKIO);
    }
}

/// The environment variable from which cargo takes the flags for the target, and the separator of its flags. A variable
/// that is set hides those that come later in this order.
fn variable(target: &str) -> (String, &'static str) {
    let set = |name: &str| std::env::var_os(name).is_some();
    match () {
        () if set("CARGO_ENCODED_RUSTFLAGS") => ("CARGO_ENCODED_RUSTFLAGS".into(), "\x1f"),
        () if set("RUSTFLAGS") => ("RUSTFLAGS".into(), " "),
        () => (toolchain::variable(target, "RUSTFLAGS"), " "),
    }
}

/// The value of an environment variable for a command that is to be started.
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
