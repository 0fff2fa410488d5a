//! C guests with the pthreads of wasi-libc: one file each, `examples/musl/*.c`, modules of tests.
//!
//! Debian's wasi-libc is built without threads. Rust's target wasm32-wasip1-threads includes one with
//! threads, and Zig its headers.

use super::c::Clang;
use super::{Guest, Language, Toolchain, output, rust, zig};
use crate::files;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

const SOURCES: &str = "examples/musl";

const FLAGS: &[&str] = &[
    "--target=wasm32-wasip1-threads",
    "-std=c17",
    "-pthread",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-mexec-model=reactor",
    "-nostdinc",
    "-nostdlib",
    "-nostartfiles",
    "-Wl,--import-memory,--export-memory,--shared-memory,--max-memory=67108864",
    "-Wl,--export=wasi_thread_start,--entry=_initialize",
];

pub fn find() -> Result<Vec<Guest>> {
    super::one_file_each(SOURCES, "c", Language::Musl)
}

/// All parts of the toolchain, or the first one that is missing.
pub fn toolchain(clang: &Result<Clang, String>) -> Result<Toolchain> {
    let clang = match clang {
        Ok(clang) => &clang.version,
        Err(missing) => return Ok(Toolchain::Missing(missing.clone())),
    };
    let mut version = clang.clone();
    for part in [rust::Target::Threads.toolchain()?, zig::toolchain()] {
        match part {
            Toolchain::Found(part) => version += &format!(", {part}"),
            missing => return Ok(missing),
        }
    }
    Ok(Toolchain::Found(version))
}

pub fn compile(clang: &Clang, guest: &Guest) -> Result<Vec<u8>> {
    let root = files::root();
    let library = rust::Target::Threads.libraries()?.join("self-contained");
    let headers = zig::library()?.join("libc/include");
    let own = output(clang.command().arg("-print-resource-dir"))?;
    let own = PathBuf::from(String::from_utf8(own.stdout)?.trim()).join("include");
    let wasm = std::path::absolute(files::target().join("guests/musl").join(&guest.name))?;
    std::fs::create_dir_all(wasm.parent().context("it lies in a directory")?)?;
    let mut command = clang.command();
    command.current_dir(&root).args(FLAGS).arg(format!("-ffile-prefix-map={}=.", root.display()));
    let directories = [own, headers.join("wasm-wasi-musl"), headers.join("generic-musl")];
    for (number, directory) in directories.iter().enumerate() {
        if !directory.is_dir() {
            bail!("{} is missing: this version of Zig has its headers elsewhere", directory.display());
        }
        command.arg("-isystem").arg(directory);
        command.arg(format!("-ffile-prefix-map={}=include{number}", directory.display()));
    }
    command.arg(library.join("crt1-reactor.o")).arg(guest.sources[0].strip_prefix(&root)?);
    output(command.arg(library.join("libc.a")).arg("-o").arg(&wasm))?;
    files::read(&wasm)
}
