//! Rust guests: one crate each, `examples/rust/*`.
//!
//! A crate with a `main` is an unmodified program for wasm32-wasip1-threads. Any other is a module of tests
//! for wasm32-unknown-unknown, or for wasm32-wasip1 if its manifest says so, because it uses files.
//!
//! Symbols contain a hash of the crate's path relative to the workspace. The SDK is outside of the examples'
//! workspace, so its hash, and with it names and even the order of functions, would depend on the
//! repository's directory. So the crates are copied next to each other into one workspace with the same
//! layout as the repository, and built there.

use super::{Guest, Language, Toolchain, output};
use crate::files;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "examples/rust";
const MANIFEST: &str = "examples/rust/Cargo.toml";
const LOCK: &str = "examples/rust/Cargo.lock";
const SDK: &[&str] = &["guest-sdk/abi", "guest-sdk/macros", "guest-sdk/rust"];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// `wasm32-unknown-unknown`.
    Bare,
    /// `wasm32-wasip1`.
    Files,
    /// `wasm32-wasip1-threads`.
    Threads,
}

impl Target {
    pub fn triple(self) -> &'static str {
        match self {
            Target::Bare => "wasm32-unknown-unknown",
            Target::Files => "wasm32-wasip1",
            Target::Threads => "wasm32-wasip1-threads",
        }
    }

    pub fn toolchain(self) -> Result<Toolchain> {
        let triple = self.triple();
        if !self.libraries()?.exists() {
            return Ok(Toolchain::Missing(format!(
                "the Rust target {triple} is not installed: `rustup target add {triple}`"
            )));
        }
        let version = output(rustc().arg("--version"))?;
        Ok(Toolchain::Found(String::from_utf8(version.stdout)?.trim().to_string()))
    }

    /// The directory of the target's libraries.
    pub fn libraries(self) -> Result<PathBuf> {
        let printed = output(rustc().args(["--print", "target-libdir", "--target", self.triple()]))?;
        Ok(PathBuf::from(String::from_utf8(printed.stdout)?.trim()))
    }

    /// The path at which cargo leaves the module of this name.
    pub fn output(self, name: &str) -> PathBuf {
        let directory = files::target().join("guests/rust").join(self.triple()).join("release");
        directory.join(name).with_extension("wasm")
    }
}

/// The directory in which the compiler is installed, with its components.
pub fn sysroot() -> Result<PathBuf> {
    let printed = output(rustc().args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(String::from_utf8(printed.stdout)?.trim()))
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
}

pub fn find() -> Result<Vec<Guest>> {
    let root = files::root();
    let mut guests = Vec::new();
    for path in files::list(&root.join(SOURCES))? {
        if !path.join("Cargo.toml").exists() {
            continue;
        }
        let name = path.file_name().context("a crate has a directory")?.to_string_lossy().into_owned();
        let program = path.join("src/main.rs").exists();
        let mut sources = files::files_under(&path)?;
        sources.extend([root.join(MANIFEST), root.join(LOCK)]);
        // A program that uses std's threads does not link the SDK.
        if !program {
            for sdk in SDK {
                sources.extend(files::files_under(&root.join(sdk))?);
            }
        }
        let manifest = files::read_text(&path.join("Cargo.toml"))?;
        let target = match program {
            true => Target::Threads,
            false if manifest.contains("\ntarget = \"wasm32-wasip1\"\n") => Target::Files,
            false => Target::Bare,
        };
        guests.push(Guest { name, language: Language::Rust(target), sources });
    }
    Ok(guests)
}

/// Builds those guests that are written in Rust.
pub fn build(guests: &[&Guest]) -> Result<()> {
    let named = |target| -> Vec<&str> {
        let of = guests.iter().filter(|g| g.language == Language::Rust(target));
        of.map(|g| g.name.as_str()).collect()
    };
    let workspace = std::path::absolute(files::target().join("guests/source"))?;
    stage(&workspace)?;
    for target in [Target::Bare, Target::Files, Target::Threads] {
        let names = named(target);
        if !names.is_empty() {
            cargo(&workspace, target, &names)?;
        }
    }
    Ok(())
}

fn cargo(workspace: &Path, target: Target, names: &[&str]) -> Result<()> {
    let mut flags = vec![renamed(workspace, ".")];
    if target != Target::Threads {
        flags.push("-Ctarget-feature=+atomics".into());
    }
    let mut command = build_command(workspace, target, &flags)?;
    for name in names {
        command.args(["--package", name]);
    }
    output(&mut command)?;
    Ok(())
}

/// A flag that replaces a directory's name in everything that is compiled.
pub fn renamed(directory: &Path, name: &str) -> String {
    format!("--remap-path-prefix={}={name}", directory.display())
}

/// `cargo build` with the options of all guests; [`Target::output`] finds the result.
pub fn build_command(workspace: &Path, target: Target, flags: &[String]) -> Result<Command> {
    let triple = target.triple();
    let mut flags = flags.to_vec();
    flags.extend(library()?);
    let flags = serde_json::to_string(&flags)?;
    let mut command = cargo_in(workspace);
    command
        .args(["build", "--quiet", "--release", "--target", triple])
        // A list of strings is the same in JSON and TOML.
        .args(["--config", &format!("target.{triple}.rustflags={flags}")])
        .arg("--target-dir")
        .arg(std::path::absolute(files::target().join("guests/rust"))?);
    Ok(command)
}

/// A cargo without the user's flags and profiles, which would change the bytes.
pub fn cargo_in(workspace: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(workspace).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let settings = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in settings.filter(|name| name.starts_with("CARGO_PROFILE_") || name == "CARGO_INCREMENTAL") {
        command.env_remove(name);
    }
    command
}

/// A flag that gives sources of the standard library the same name whether they are installed (`rust-src`) or
/// not.
fn library() -> Result<Option<String>> {
    let version = String::from_utf8(output(rustc().arg("-vV"))?.stdout)?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let sources = sysroot()?.join("lib/rustlib/src/rust");
    Ok(commit.map(|commit| renamed(&sources, &format!("/rustc/{commit}"))))
}

/// Copies SDK and examples into one workspace.
fn stage(workspace: &Path) -> Result<()> {
    let root = files::root();
    if workspace.exists() {
        std::fs::remove_dir_all(workspace)
            .with_context(|| format!("{} cannot be removed", workspace.display()))?;
    }
    for directory in SDK.iter().chain([&SOURCES]) {
        for file in files::files_under(&root.join(directory))? {
            let name = file.strip_prefix(&root)?;
            if name != Path::new(MANIFEST)
                && name != Path::new(LOCK)
                && !name.starts_with("examples/rust/.cargo")
            {
                files::write(&workspace.join(name), files::read(&file)?)?;
            }
        }
    }
    let manifest =
        manifest(&files::read_text(&root.join("Cargo.toml"))?, &files::read_text(&root.join(MANIFEST))?)?;
    files::write(&workspace.join("Cargo.toml"), manifest)?;
    files::write(&workspace.join("Cargo.lock"), files::read(&root.join(LOCK))?)
}

/// The manifest of the combined workspace: members inherit from the repository's, profiles are those of the
/// examples'. Both manifests belong to this repository, so cutting their text where a table begins is
/// sufficient.
fn manifest(repository: &str, examples: &str) -> Result<String> {
    let begin = repository.find("[workspace.package]").context("Cargo.toml has no [workspace.package]")?;
    let end = repository.find("[profile.").unwrap_or(repository.len());
    let profiles = examples.find("[profile.").map_or("", |at| &examples[at..]);
    let inherited = repository.get(begin..end).context("Cargo.toml has a profile before its packages")?;
    Ok(format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"guest-sdk/*\", \"examples/rust/*\"]\n\n{inherited}{profiles}"
    ))
}
