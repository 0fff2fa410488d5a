//! How much the compiler optimises what is explored.
//!
//! Code that is not optimised at all keeps every variable in memory and calls every accessor: an execution takes about ten
//! times as long, for steps that hardly ever concern another thread. So development builds are optimised a little, with
//! their assertions, overflow checks and debug information, unless somebody chose otherwise.

use super::workspace::Metadata;
use std::path::Path;
use std::process::Command;

/// Cargo's variable for the profile `dev`, which `test` inherits.
const VARIABLE: &str = "CARGO_PROFILE_DEV_OPT_LEVEL";

/// Options of cargo and nextest that choose a profile.
const CHOSEN: &[&str] = &["--release", "-r", "--profile", "--cargo-profile"];

/// Has cargo optimise development builds a little, where the workspace and its user do not say how much.
pub fn prepare(cargo: &mut Command, arguments: &[&str], metadata: &Metadata) {
    let name = |argument: &str| argument.split('=').next().map(String::from).unwrap_or_default();
    let chosen = arguments.iter().any(|argument| CHOSEN.contains(&name(argument).as_str()));
    // A profile that stands on the command line counts less than the variable would.
    let configured = arguments.iter().any(|argument| argument.contains("opt-level"));
    if chosen || configured || std::env::var_os(VARIABLE).is_some() || is_said(&metadata.workspace_root) {
        return;
    }
    cargo.env(VARIABLE, "1");
}

/// Whether the workspace's manifest, or cargo's configuration beside it, says how much development builds are optimised.
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
