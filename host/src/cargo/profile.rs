//! The level of optimisation of explored code.
//!
//! Code that is not optimised at all keeps every variable in memory and calls every accessor: an execution takes about
//! ten times as long, for steps that hardly ever concern another thread. Development builds are therefore optimised a
//! little, with their assertions, overflow checks and debug information, unless the user or the workspace sets a level.

use super::workspace::Metadata;
use std::path::Path;
use std::process::Command;

/// Cargo's variable for the profile `dev`, which `test` inherits.
const VARIABLE: &str = "CARGO_PROFILE_DEV_OPT_LEVEL";

/// Options of cargo and nextest that choose a profile.
const CHOSEN: &[&str] = &["--release", "-r", "--profile", "--cargo-profile"];

/// Makes cargo optimise development builds a little, if neither the workspace nor its user sets a level.
pub fn prepare(cargo: &mut Command, arguments: &[&str], metadata: &Metadata) {
    let name = |argument: &str| argument.split('=').next().map(String::from).unwrap_or_default();
    let chosen = arguments.iter().any(|argument| CHOSEN.contains(&name(argument).as_str()));
    // The variable would override a profile that is given on the command line.
    let configured = arguments.iter().any(|argument| argument.contains("opt-level"));
    if chosen || configured || std::env::var_os(VARIABLE).is_some() || is_said(&metadata.workspace_root) {
        return;
    }
    cargo.env(VARIABLE, "1");
}

/// Whether the workspace's manifest, or cargo's configuration beside it, sets the optimisation level of development
/// builds.
fn is_said(root: &Path) -> bool {
    let files = ["Cargo.toml", ".cargo/config.toml"].map(|name| root.join(name));
    files.iter().any(|file| std::fs::read_to_string(file).is_ok_and(|text| says(&text)))
}

fn says(text: &str) -> bool {
    let Ok(table) = text.parse::<toml::Table>() else { return false };
    let level = |profile: &str| table.get("profile")?.get(profile)?.get("opt-level");
    ["dev", "test"].into_iter().any(|profile| level(profile).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_somebody_chose_is_kept() {
        assert!(says("[profile.dev]\nopt-level = 0"));
        assert!(says("[profile.test]\nopt-level = \"s\""));
        assert!(!says("[profile.dev]\ndebug = 1"));
        assert!(!says("[profile.release]\nopt-level = 2"));
        assert!(!says("[profile.dev.package.\"*\"]\nopt-level = 2"));
    }
}
