//! Packages that replace other packages.
//!
//! - Dev-dependencies that no test uses. Cargo builds all dev-dependencies of a package for its tests, also those that
//!   only benchmarks and examples name, such as criterion: they take long, and some do not build for the target. An
//!   empty package replaces a package if only the workspace's dev-dependencies bring it, and no source of a built
//!   target names it.
//! - Packages that do something else on wasm than a test here needs ([`REPLACED`]): the replacement has the same names,
//!   and does what is possible on WASI.
//!
//! They are patched for one call of cargo (`--config patch.crates-io..`), without an effect on the crate: Cargo.lock is
//! restored afterwards.

use super::workspace::{Metadata, Package};
use crate::cli::doctor::origins::mentions;
use crate::source_tests;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The option to build all dev-dependencies.
pub const ALL: &str = "--all-dev-dependencies";

/// The only registry that cargo can patch under this name.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Tests for browsers, which [`REPLACED`] turns into ordinary tests.
const BROWSER_TESTS: &str = "wasm-bindgen-test";

/// A package that is replaced by another one.
struct Replaced {
    name: &'static str,
    source: &'static str,
    makes_macros: bool,
}

const REPLACED: &[Replaced] = &[
    Replaced {
        name: BROWSER_TESTS,
        source: include_str!("replacements/wasm_bindgen_test.rs"),
        makes_macros: true,
    },
    Replaced {
        name: "wait-timeout",
        source: include_str!("replacements/wait_timeout.rs"),
        makes_macros: false,
    },
    Replaced { name: "rusty-fork", source: include_str!("replacements/rusty_fork.rs"), makes_macros: false },
];

/// The replacement of a package that does not build for the target, or has another meaning there.
fn replacement(name: &str) -> Option<&'static Replaced> {
    REPLACED.iter().find(|replaced| replaced.name == name)
}

/// Restores Cargo.lock with its old content when cargo has ended.
#[must_use]
pub struct Lock(Option<(PathBuf, Vec<u8>)>);

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((path, text)) = self.0.take()
            && std::fs::read(&path).is_ok_and(|now| now != text)
            && let Err(error) = std::fs::write(&path, text)
        {
            eprintln!("warning: {} cannot be restored: {error}", path.display());
        }
    }
}

/// Arguments of cargo that select targets which may need every dev-dependency.
const NEED_ALL: &[&str] = &["--all-targets", "--bench", "--benches", "--doc", "--example", "--examples"];

/// Arguments of cargo that forbid the change of Cargo.lock by a patch.
const LOCKED: &[&str] = &["--frozen", "--locked"];

/// Makes cargo build replacements of some packages, and prints which. `arguments` are cargo's own.
///
/// # Errors
/// A replacement cannot be written.
pub fn prepare(cargo: &mut Command, arguments: &[&str], metadata: &Metadata, all: bool) -> Result<Lock> {
    let given =
        |options: &[&str]| arguments.iter().any(|t| options.contains(&t.split('=').next().unwrap_or(t)));
    if given(LOCKED) {
        return Ok(Lock(None));
    }
    let unused = if all || given(NEED_ALL) { Vec::new() } else { metadata.unused() };
    let is_unused = |package: &Package| unused.iter().any(|unused| unused.id == package.id);
    let is_replaced = |package: &&Package| {
        package.is_patched() && replacement(&package.name).is_some() && !is_unused(package)
    };
    let replaced: Vec<&Package> = metadata.packages.iter().filter(is_replaced).collect();
    if unused.is_empty() && replaced.is_empty() {
        return Ok(Lock(None));
    }
    let folder = metadata.target_directory.join("coyote/stand-ins");
    for (number, package) in unused.iter().chain(&replaced).enumerate() {
        let path = write(&folder, package).with_context(|| {
            format!("cannot write to {}: give --locked to build without stand-ins", folder.display())
        })?;
        let text = |text: &str| toml::Value::String(text.into());
        let (name, path) = (text(&package.name), text(&path.to_string_lossy()));
        // Each version of a package needs its own key.
        for (key, value) in [("package", name), ("path", path)] {
            cargo.args(["--config", &format!("patch.crates-io.coyote-{number}.{key}={value}")]);
        }
    }
    if replaced.iter().any(|package| package.name == BROWSER_TESTS) {
        cargo.env(source_tests::OF_BROWSERS_RUN, "1");
    }
    say(&format!("left out, since no test names them ({ALL} builds them)"), &unused);
    say("made to work on the target (docs/cargo.md)", &replaced);
    // Cargo is interrupted as well and ends; its changes are undone then.
    let _ = ctrlc::set_handler(|| {});
    let lock = metadata.workspace_root.join("Cargo.lock");
    Ok(Lock(std::fs::read(&lock).ok().map(|text| (lock, text))))
}

fn say(what: &str, packages: &[&Package]) {
    let names: Vec<String> =
        packages.iter().map(|package| format!("{} {}", package.name, package.version)).collect();
    if !names.is_empty() {
        eprintln!("note: {what}: {}", names.join(", "));
    }
}

impl Metadata {
    /// Packages that only dev-dependencies of the workspace bring, and that no source names from which tests are built.
    fn unused(&self) -> Vec<&Package> {
        let mut needed: BTreeSet<&str> = self.workspace_members.iter().map(String::as_str).collect();
        for node in &self.resolve.nodes {
            let member = self.workspace_members.contains(&node.id);
            let package = self.packages.iter().find(|package| package.id == node.id);
            for edge in &node.deps {
                let dev = edge.dep_kinds.iter().all(|kind| kind.kind.as_deref() == Some("dev"));
                if !(member && dev) || package.is_none_or(|package| package.tests_name(&edge.name)) {
                    needed.insert(&edge.pkg);
                }
            }
        }
        let is_unused = |package: &&Package| package.is_patched() && !needed.contains(package.id.as_str());
        self.packages.iter().filter(is_unused).collect()
    }
}

impl Package {
    /// Whether cargo can replace the package by a patch.
    fn is_patched(&self) -> bool {
        self.source.as_deref() == Some(REGISTRY)
    }

    /// Whether any source that tests are built from names a crate: the folders of all targets except benchmarks and
    /// examples.
    fn tests_name(&self, name: &str) -> bool {
        const APART: [&str; 3] = ["bench", "example", "custom-build"];
        let root = self.manifest_path.parent();
        let built =
            self.targets.iter().filter(|target| !target.kind.iter().any(|k| APART.contains(&k.as_str())));
        built.filter_map(|target| target.src_path.parent()).any(|folder| {
            // A target beside the manifest: everything lies below its folder.
            Some(folder) == root || mentions(folder, name)
        })
    }
}

/// Writes the package that replaces another one. Returns its folder.
fn write(folder: &Path, package: &Package) -> std::io::Result<PathBuf> {
    #[derive(serde::Serialize)]
    struct Manifest<'a> {
        package: BTreeMap<&'a str, &'a str>,
        lib: BTreeMap<&'a str, bool>,
        features: BTreeMap<&'a str, [&'a str; 0]>,
        /// Empty: the package belongs to no workspace around it.
        workspace: BTreeMap<&'a str, &'a str>,
    }
    let path = folder.join(format!("{}-{}", package.name, package.version));
    let replaced = replacement(&package.name);
    let manifest = Manifest {
        package: BTreeMap::from([
            ("name", package.name.as_str()),
            ("version", &package.version),
            ("edition", "2024"),
        ]),
        lib: BTreeMap::from([("proc-macro", replaced.is_some_and(|replaced| replaced.makes_macros))]),
        features: package.features.keys().map(|name| (name.as_str(), [])).collect(),
        workspace: BTreeMap::new(),
    };
    let manifest = toml::to_string(&manifest).map_err(std::io::Error::other)?;
    std::fs::create_dir_all(path.join("src"))?;
    let source = replaced.map_or("", |replaced| replaced.source);
    // Unchanged files are not written again: cargo compares their times.
    for (file, text) in [(path.join("Cargo.toml"), manifest.as_str()), (path.join("src/lib.rs"), source)] {
        if std::fs::read_to_string(&file).ok().as_deref() != Some(text) {
            std::fs::write(file, text)?;
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn metadata(root: &Path, edges: &[(&str, &str, &str)], sources: &[&str]) -> Metadata {
        let package = |id: &str| {
            json!({
                "id": id, "name": id, "version": "1.2.3", "manifest_path": root.join(id).join("Cargo.toml"),
                "source": if id.starts_with("git") { Value::Null } else { json!(REGISTRY) },
                "features": {"default": ["std"], "std": []},
                "targets": sources.iter().map(|path| json!({
                    "kind": [if path.starts_with("benches") { "bench" } else { "lib" }],
                    "src_path": root.join(id).join(path),
                })).collect::<Vec<_>>(),
            })
        };
        let ids: BTreeSet<&str> = edges.iter().flat_map(|(from, to, _)| [*from, *to]).collect();
        let node = |id: &&str| {
            let own = edges.iter().filter(|(from, ..)| from == id);
            let kind = |kind: &str| if kind.is_empty() { Value::Null } else { json!(kind) };
            let deps =
                own.map(|(_, to, of)| json!({"name": to, "pkg": to, "dep_kinds": [{"kind": kind(of)}]}));
            json!({"id": id, "features": [], "deps": deps.collect::<Vec<_>>()})
        };
        let value = json!({
            "packages": ids.iter().map(|id| package(id)).collect::<Vec<_>>(),
            "workspace_members": ["me"], "workspace_root": root, "target_directory": root.join("target"),
            "resolve": {"nodes": ids.iter().map(node).collect::<Vec<_>>()},
        });
        serde_json::from_value(value).unwrap()
    }

    fn unused(metadata: &Metadata) -> Vec<&str> {
        metadata.unused().iter().map(|package| package.name.as_str()).collect()
    }

    #[test]
    fn only_what_no_test_needs_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = directory.path().join("me").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("src/lib.rs", "// criterion would be nice\nuse helper::Thing;");
        put("src/deep/mod.rs", "use proptest::prelude::*;");
        put("benches/all.rs", "use criterion::Criterion; use rand::rng;");
        let edges = [
            ("me", "criterion", "dev"),
            ("me", "helper", "dev"),
            ("me", "proptest", "dev"),
            ("me", "rand", "dev"),
            ("me", "plain", ""),
            ("me", "git-thing", "dev"),
            // A package that another package needs as well is built; a package that only a left-out one needs belongs
            // to no target.
            ("plain", "rand", ""),
            ("criterion", "plotters", ""),
        ];
        let paths = ["src/lib.rs", "benches/all.rs"];
        assert_eq!(unused(&metadata(directory.path(), &edges, &paths)), ["criterion"]);
        // A target beside the manifest: its sources are not known.
        assert!(unused(&metadata(directory.path(), &edges, &["lib.rs"])).is_empty());
    }

    #[test]
    fn a_stand_in_has_the_features_of_what_it_stands_for() {
        let directory = tempfile::tempdir().unwrap();
        let metadata = metadata(directory.path(), &[("me", "criterion", "dev")], &["src/lib.rs"]);
        let path = write(&directory.path().join("out"), metadata.unused()[0]).unwrap();
        let text = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        assert_eq!(manifest["package"]["version"].as_str(), Some("1.2.3"));
        assert!(manifest["features"]["default"].as_array().is_some_and(Vec::is_empty), "{text}");
        assert!(manifest.contains_key("workspace"), "{text}");
    }

    #[test]
    fn what_needs_all_of_them_gets_them() {
        let directory = tempfile::tempdir().unwrap();
        let edges = [("me", "criterion", "dev"), ("me", "wait-timeout", "")];
        let metadata = metadata(directory.path(), &edges, &["src/lib.rs"]);
        let patched = |arguments: &[&str], all: bool| {
            let mut cargo = Command::new("cargo");
            let _lock = prepare(&mut cargo, arguments, &metadata, all).unwrap();
            cargo.get_args().filter(|argument| *argument != "--config").count() / 2
        };
        assert_eq!(patched(&["--lib"], false), 2);
        assert_eq!(patched(&["--lib"], true), 1, "what does not build is replaced in any case");
        for argument in ["--benches", "--doc", "--example=one"] {
            assert_eq!(patched(&[argument], false), 1, "{argument}");
        }
        assert_eq!(patched(&["--locked"], false), 0);
    }
}
