//! AssemblyScript guests: one file each, `examples/assemblyscript/*.ts`, programs with `_start`.

use super::{Guest, Language, Toolchain, output};
use crate::files;
use anyhow::{Context, Result};
use std::process::Command;

const SOURCES: &str = "examples/assemblyscript";

/// Threads of WASI, names of functions. The allocator is the one that never frees: the others do not support
/// several threads.
const FLAGS: &[&str] = &[
    "--debug",
    "--enable",
    "threads",
    "--sharedMemory",
    "--importMemory",
    "--maximumMemory",
    "16",
    "--runtime",
    "stub",
];

pub fn find() -> Result<Vec<Guest>> {
    super::one_file_each(SOURCES, "ts", Language::AssemblyScript)
}

pub fn toolchain() -> Toolchain {
    match Command::new("asc").arg("--version").output() {
        Ok(version) if version.status.success() => {
            let text = String::from_utf8_lossy(&version.stdout).trim().to_lowercase();
            Toolchain::Found(format!("asc {}", text.trim_start_matches("version ")))
        }
        _ => Toolchain::Missing(
            "AssemblyScript guests need `asc` on the path: `npm install assemblyscript@0.28.20` has it in \
             node_modules/.bin"
                .into(),
        ),
    }
}

pub fn compile(guest: &Guest) -> Result<Vec<u8>> {
    let root = files::root();
    let wasm = std::path::absolute(files::target().join("guests/assemblyscript"))?
        .join(&guest.name)
        .with_extension("wasm");
    // Names of functions begin with the path of their file.
    let source = guest.sources[0].file_name().context("a source file has a name")?;
    output(Command::new("asc").current_dir(root.join(SOURCES)).arg(source).args(FLAGS).arg("-o").arg(&wasm))?;
    files::read(&wasm)
}
