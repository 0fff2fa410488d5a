//! Guests with published crates: `examples/crates/*`, one ordinary program each.
//!
//! Each is a separate workspace, because two versions of a crate cannot be in one Cargo.lock. They are built
//! in their own directories: they do not contain the SDK's crates, so nothing in a module depends on the
//! directory.

use super::rust::{self, Target};
use super::{Guest, Language, Toolchain, output};
use crate::files;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

const SOURCES: &str = "examples/crates";

/// The name of the directory of published crates in debug information; `debug_info` keeps what is in it.
/// Absolute, so that no other directory is prepended.
pub const REGISTRY: &str = "/registry";

/// All guests with published crates. The program may be outside of its package, because both versions of a
/// crate run the same program.
pub fn find() -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for path in files::list(&files::root().join(SOURCES))? {
        let manifest = path.join("Cargo.toml");
        if !manifest.exists() {
            continue;
        }
        let name = path.file_name().context("a crate has a directory")?.to_string_lossy().into_owned();
        let mut sources = files::files_under(&path)?;
        sources.extend(program(&files::read_text(&manifest)?).map(|program| path.join(program)));
        guests.push(Guest { name, language: Language::Crate, sources });
    }
    Ok(guests)
}

/// The path of a manifest's program, if it names one.
fn program(manifest: &str) -> Option<&str> {
    let path = manifest.lines().find_map(|line| line.strip_prefix("path = "))?;
    path.strip_prefix('"')?.strip_suffix('"')
}

/// Rust's toolchain, and the crates themselves.
pub fn toolchain(guests: &[Guest]) -> Result<Toolchain> {
    let rust = Target::Threads.toolchain()?;
    if matches!(rust, Toolchain::Found(_)) {
        for guest in guests.iter().filter(|g| g.language == Language::Crate) {
            if let Err(error) =
                output(rust::cargo_in(&directory(guest)).args(["fetch", "--quiet", "--locked"]))
            {
                return Ok(Toolchain::Missing(format!(
                    "the crates of `{}` cannot be fetched; they need a network the first time: {error:#}",
                    guest.name
                )));
            }
        }
    }
    Ok(rust)
}

/// Builds those guests that use published crates.
pub fn build(guests: &[&Guest]) -> Result<()> {
    for guest in guests.iter().filter(|g| g.language == Language::Crate) {
        let directory = directory(guest);
        let flags = [rust::renamed(&files::root(), "."), rust::renamed(&registry(&directory)?, REGISTRY)];
        output(rust::build_command(&directory, Target::Threads, &flags)?.arg("--locked"))?;
    }
    Ok(())
}

fn directory(guest: &Guest) -> PathBuf {
    files::root().join(SOURCES).join(&guest.name)
}

/// The directory in which cargo stores the sources of published crates.
pub fn registry(workspace: &Path) -> Result<PathBuf> {
    let printed = output(rust::cargo_in(workspace).args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_slice(&printed.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has packages")?;
    let published = packages.iter().find(|package| package["source"].is_string());
    let manifest = published.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("the guest has no published crate")?);
    Ok(manifest.ancestors().nth(2).context("a package has a directory")?.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn a_manifest_may_name_its_program() {
        assert_eq!(program("[[bin]]\nname = \"a\"\npath = \"../a.rs\"\n"), Some("../a.rs"));
        assert_eq!(program("[package]\nname = \"a\"\n"), None);
    }
}
