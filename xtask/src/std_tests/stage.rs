//! The tests of the standard library, copied into a separate crate and built for wasm32-wasip1-threads.
//!
//! Lines keep their numbers, so that reports name the lines of the installed sources.

use crate::files;
use crate::guests::output;
use crate::guests::rust::{Target, cargo_in, sysroot};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A test binary.
pub struct Group {
    pub name: &'static str,
    /// The root of its crate, below `library`.
    root: &'static str,
    /// Other sources of the test binary.
    sources: &'static [&'static str],
    /// Those of the root's modules that concern concurrency; empty if all do.
    modules: &'static [&'static str],
}

pub const GROUPS: [Group; 7] = [
    group("sync", "std/tests/sync/lib.rs", &["std/tests/sync", "std/tests/common"], &[]),
    group("thread", "std/tests/thread.rs", &[], &[]),
    group("thread_local", "std/tests/thread_local/lib.rs", &["std/tests/thread_local"], &[]),
    group("thread_unit", UNIT, &["std/src/thread/tests.rs"], &[]),
    group("time", "std/tests/time.rs", &[], &[]),
    group("alloc", "alloctests/tests/lib.rs", &["alloctests/tests"], &["arc", "sync", "task"]),
    group("core", "coretests/tests/lib.rs", &["coretests/tests"], &["atomic", "task", "waker"]),
];

/// std's own tests of its threads are a module of std. Here they are a module of a crate that has std's
/// items.
const UNIT: &str = "std/src/unit.rs";
const UNIT_TEXT: &str = r#"pub use std::{any, panic, result, sync, time};
mod thread {
    pub use std::thread::*;
    pub fn current_os_id() -> Option<u64> {
        panic!("a private function of std")
    }
    #[path = "tests.rs"]
    mod tests;
}
"#;

/// Features that the tests use beyond those that they name.
const FEATURES: &str = "sync_poison_mod";

const MANIFEST: &str = r#"[workspace]

[package]
name = "std-tests"
version = "0.0.0"
edition = "2024"
autotests = false

[lib]
path = "empty.rs"
test = false

[dev-dependencies]
rand = { version = "0.9", default-features = false, features = ["alloc"] }
rand_xorshift = { version = "0.4", default-features = false }

[profile.dev]
opt-level = 1
debug = "line-tables-only"
"#;

const fn group(
    name: &'static str,
    root: &'static str,
    sources: &'static [&'static str],
    modules: &'static [&'static str],
) -> Group {
    Group { name, root, sources, modules }
}

/// Builds the test binaries: their modules, in the order of [`GROUPS`].
///
/// # Errors
/// The sources or the target are not installed, or the tests do not build.
pub fn build() -> Result<Vec<PathBuf>> {
    let library = sysroot()?.join("lib/rustlib/src/rust/library");
    ensure!(
        library.join(GROUPS[0].root).exists(),
        "the sources of Rust's standard library are not installed: `rustup component add rust-src`"
    );
    let directory = std::path::absolute(super::directory().join("crate"))?;
    if directory.exists() {
        std::fs::remove_dir_all(&directory)
            .with_context(|| format!("{} cannot be removed", directory.display()))?;
    }
    let mut manifest = MANIFEST.to_string();
    for group in &GROUPS {
        copy(&library, &directory, group)?;
        manifest += &format!("\n[[test]]\nname = \"{}\"\npath = \"{}\"\n", group.name, group.root);
    }
    files::write(&directory.join("empty.rs"), "")?;
    files::write(&directory.join("Cargo.toml"), manifest)?;
    // So that the tests have the same dependencies as in std's own tests.
    files::write(&directory.join("Cargo.lock"), files::read(&library.join("Cargo.lock"))?)?;
    compile(&directory)
}

fn copy(library: &Path, directory: &Path, group: &Group) -> Result<()> {
    for source in group.sources {
        for file in files::files_under(&library.join(source))? {
            let text = files::read(&file)?;
            let text = String::from_utf8(text).map(|text| with_wasi(&text).into_bytes());
            // Some files are not text: a test reads them as bytes.
            let text = text.unwrap_or_else(|not_text| not_text.into_bytes());
            files::write(&directory.join(file.strip_prefix(library)?), text)?;
        }
    }
    let text = match group.root {
        UNIT => UNIT_TEXT.to_string(),
        root => with_wasi(&files::read_text(&library.join(root))?),
    };
    let text = if group.modules.is_empty() { text } else { with_modules(&text, group.modules) };
    files::write(&directory.join(group.root), format!("#![feature({FEATURES})] {text}"))
}

/// Removes attributes, on one line each, that leave an item out for WASI: they were written for targets
/// without threads.
fn with_wasi(text: &str) -> String {
    let leaves_out = |line: &str| {
        let line = line.trim_start();
        let absent = line.starts_with("#[cfg(not(") || line.starts_with("#![cfg(not(");
        let ignored = line.starts_with("#[cfg_attr(") && line.contains(", ignore");
        (absent || ignored) && line.contains("target_os = \"wasi\"")
    };
    lines(text, |line| !leaves_out(line))
}

/// A crate's root with only these modules.
fn with_modules(text: &str, modules: &[&str]) -> String {
    lines(text, |line| match line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
        Some(module) => modules.contains(&module),
        None => line.starts_with("#![") || line.starts_with("extern crate "),
    })
}

/// The text with only some of its lines; the others become empty.
fn lines(text: &str, kept: impl Fn(&str) -> bool) -> String {
    text.lines().map(|line| if kept(line) { format!("{line}\n") } else { "\n".into() }).collect()
}

fn compile(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut command = cargo_in(directory);
    command.args(["test", "--no-run", "--quiet", "--tests", "--target", Target::Threads.triple()]);
    // Allows unstable features.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args(["--message-format", "json-render-diagnostics", "--target-dir"]);
    let printed = output(command.arg(std::path::absolute(super::directory().join("build"))?))?;
    let printed = String::from_utf8(printed.stdout)?;
    let messages: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let built = |group: &Group| {
        let of = messages.iter().filter(|m| m["target"]["name"] == group.name);
        let built = of.filter_map(|m| m["executable"].as_str()).next_back();
        Ok(PathBuf::from(built.with_context(|| format!("cargo names no test binary {}", group.name))?))
    };
    GROUPS.iter().map(built).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out_for_wasi() {
        let text = "#![cfg(not(target_os = \"wasi\"))]\n\
                    #[cfg(not(any(target_os = \"emscripten\", target_os = \"wasi\")))] // No threads.\n\
                    mod a;\n  \
                    #[cfg_attr(any(target_os = \"emscripten\", target_os = \"wasi\"), ignore)] // no threads\n\
                    #[cfg_attr(miri, ignore)]\n\
                    #[cfg(target_os = \"wasi\")]\n\
                    #[cfg(not(target_os = \"windows\"))]\n";
        let kept = "\n\nmod a;\n\n#[cfg_attr(miri, ignore)]\n#[cfg(target_os = \"wasi\")]\n\
                    #[cfg(not(target_os = \"windows\"))]\n";
        assert_eq!(with_wasi(text), kept);
    }

    #[test]
    fn a_root_is_cut_to_some_modules() {
        let text =
            "#![feature(a)]\nextern crate alloc;\nuse std::b;\nmod arc;\nmod vec;\n#[test]\nfn f() {}\n";
        assert_eq!(
            with_modules(text, &["arc", "sync"]),
            "#![feature(a)]\nextern crate alloc;\n\nmod arc;\n\n\n\n"
        );
    }
}
