//! `cargo xtask bless`: accepts the present output of golden tests.
//!
//! These tests are found in the sources: files below `tests` that compare with a file on disk.

use crate::command::{cargo, cargo_output};
use crate::files;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// Rewrite expected outputs from what the golden tests produce now; read the diff afterwards
#[derive(clap::Args)]
pub struct Bless {
    /// Only tests whose name contains this, such as `host::bad_input` or `passes`
    filter: Option<String>,
}

/// Packages with golden tests, by their folder.
const PACKAGES: &[(&str, &str)] =
    &[("strategies", "coyote-strategies"), ("instrumenter", "coyote-instrumenter"), ("host", "coyote-wasm")];

pub fn run(arguments: &Bless) -> Result<()> {
    let filter = arguments.filter.as_deref().unwrap_or_default();
    let mut found = 0;
    for (folder, package) in PACKAGES {
        for (target, modules) in golden(folder)? {
            // A filter that begins with another test binary matches no test of this one.
            if filter.split_once("::").is_some_and(|(first, _)| first != target && is_target(first)) {
                continue;
            }
            let tests = list(package, &target, &modules)?;
            let chosen: Vec<&str> = tests
                .iter()
                .filter(|test| format!("{target}::{test}").contains(filter))
                .map(String::as_str)
                .collect();
            found += chosen.len();
            if !chosen.is_empty() {
                let test = ["test", "--release", "-p", package, "--test", &target, "--", "--exact"];
                cargo(&[&test[..], &chosen].concat(), &[("COYOTE_BLESS", "1".into())])?;
            }
        }
    }
    if found == 0 {
        bail!("no golden test is called `{filter}`");
    }
    Ok(())
}

fn is_target(name: &str) -> bool {
    PACKAGES.iter().any(|(folder, _)| golden(folder).is_ok_and(|targets| targets.contains_key(name)))
}

/// The test binaries of a package that have golden tests, with the modules in which they are.
fn golden(folder: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let tests = files::root().join(folder).join("tests");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files::files_under(&tests)? {
        if path.extension().is_none_or(|e| e != "rs") {
            continue;
        }
        let text = files::read_text(&path)?;
        if !text.contains("golden::check(") && !text.contains("var_os(\"COYOTE_BLESS\")") {
            continue;
        }
        let (target, module) = module(path.strip_prefix(&tests)?);
        found.entry(target).or_default().push(module);
    }
    Ok(found)
}

/// The test binary and the module of a file below `tests`.
fn module(path: &Path) -> (String, String) {
    let path = path.with_extension("");
    let mut names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let target = names.remove(0);
    names.retain(|name| name != "mod" && name != "main");
    (target, names.join("::"))
}

/// The tests in some modules of a test binary.
fn list(package: &str, target: &str, modules: &[String]) -> Result<Vec<String>> {
    let listed =
        cargo_output(&["test", "--release", "--quiet", "-p", package, "--test", target, "--", "--list"])?;
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    let inside = |name: &&str| {
        modules.iter().any(|module| module.is_empty() || name.starts_with(&format!("{module}::")))
    };
    Ok(names.filter(inside).map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_tests_are_found_by_their_sources() {
        let host = &golden("host").unwrap()["host"];
        assert!(host.contains(&"bad_input".to_string()) && host.contains(&"reports".to_string()), "{host:?}");
        assert!(!host.contains(&"owners".to_string()), "{host:?}");
        assert_eq!(golden("instrumenter").unwrap()["passes"], [""]);
        assert_eq!(module(Path::new("host/a/mod.rs")), ("host".into(), "a".into()));
    }
}
