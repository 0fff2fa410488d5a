//! Zig guests: one file each, `examples/zig/*.zig`.
//!
//! A file with a `main` becomes a program with `_start`, any other a module of tests. Debug information names
//! files relative to the directory of the build, which therefore has the same layout everywhere: the sources
//! next to a link to Zig's own library.

use super::{Guest, Language, Toolchain, debug_info, output};
use crate::files;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "examples/zig";

/// Threads of WASI, safety checks, debug information.
const FLAGS: &[&str] = &[
    "-target",
    "wasm32-wasi",
    "-mcpu=generic+atomics+bulk_memory",
    "-fno-single-threaded",
    "--shared-memory",
    "--import-memory",
    "--export-memory",
    "--max-memory=67108864",
    // Otherwise the stack has 16 MiB, which makes every snapshot larger.
    "--stack",
    "131072",
    "--export=wasi_thread_start",
    "-O",
    "ReleaseSafe",
];

pub fn find() -> Result<Vec<Guest>> {
    super::one_file_each(SOURCES, "zig", Language::Zig)
}

pub fn toolchain() -> Toolchain {
    match Command::new("zig").arg("version").output() {
        Ok(version) if version.status.success() => {
            Toolchain::Found(format!("zig {}", String::from_utf8_lossy(&version.stdout).trim()))
        }
        _ => Toolchain::Missing(
            "Zig guests need `zig` on the path: `pip install ziglang==0.17.0` has it in its directory `ziglang`"
                .into(),
        ),
    }
}

pub fn compile(guest: &Guest) -> Result<Vec<u8>> {
    let source = &guest.sources[0];
    let file = source.file_name().context("a source file has a name")?;
    let directory = std::path::absolute(files::target().join("guests/zig"))?;
    let text = files::read_text(source)?;
    files::write(&directory.join(file), &text)?;
    link(&library()?, &directory.join("lib"))?;
    let wasm = directory.join(&guest.name).with_extension("wasm");
    let mut command = Command::new("zig");
    command.current_dir(&directory).arg("build-exe").arg(file).args(FLAGS);
    if !text.contains("pub fn main(") {
        command.args(["-fno-entry", "-rdynamic", "-mexec-model=reactor"]);
    }
    command.args(["--zig-lib-dir", "lib", "--cache-dir", "cache", "--global-cache-dir", "cache"]);
    output(command.arg(format!("-femit-bin={}", wasm.display())))?;
    debug_info::lines_only(&files::read(&wasm)?, &guest.name, SOURCES, &file.to_string_lossy())
}

/// The directory of Zig's own library.
pub fn library() -> Result<PathBuf> {
    let printed = output(Command::new("zig").arg("env"))?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("lib_dir")).context("`zig env` names its lib_dir")?;
    let path = line.split('"').rfind(|part| Path::new(part).is_dir());
    // Zig prints a path below the present directory relative to it.
    Ok(std::path::absolute(path.context("`zig env` names a directory")?)?)
}

#[cfg(unix)]
fn link(target: &Path, link: &Path) -> Result<()> {
    if std::fs::read_link(link).is_ok_and(|present| present == target) {
        return Ok(());
    }
    let _ = std::fs::remove_file(link);
    std::os::unix::fs::symlink(target, link).with_context(|| format!("{} cannot be made", link.display()))
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> Result<()> {
    anyhow::bail!("Zig guests are built on Unix")
}
