//! Programs of other projects that steps need: mostly compilers, to build the guests again. A step whose programs are
//! missing is skipped.

use super::Done;
use crate::command::{install_of_python, succeeds};
use crate::files;
use anyhow::Result;
use std::path::Path;

const TARGETS: &[&str] = &["wasm32-unknown-unknown", "wasm32-wasip1", "wasm32-wasip1-threads"];

const PACKAGES: &[&str] = &[
    "clang-19",
    "lld-19",
    "wasi-libc",
    "libclang-rt-19-dev-wasm32",
    "libc++-19-dev-wasm32",
    "libc++abi-19-dev-wasm32",
    "cmake",
    "make",
];

/// The versions of Zig and AssemblyScript, for two of the examples.
const ZIG: &str = "ziglang==0.17.0";
const ASSEMBLYSCRIPT: &str = "assemblyscript@0.28.20";

/// A check of files that GitHub Actions read.
const SCHEMAS: &str = "check-jsonschema";

/// The programs of this machine.
pub struct Toolchains {
    /// Whether missing programs are to be installed.
    pub installs: bool,
    /// Description of a missing compiler, if there is one.
    missing: Option<&'static str>,
    /// The variable PATH with which programs are found.
    path: String,
    /// The folder of Python's packages.
    python: String,
}

impl Toolchains {
    /// Looks for the compilers; with `install`, installs missing ones first.
    pub fn find(install: bool) -> Toolchains {
        let producers = files::target().join("producers");
        if install {
            self::install(&producers);
        }
        let producers = std::path::absolute(&producers).unwrap_or(producers);
        let python = producers.join("python");
        let own = [python.join("ziglang"), python.join("bin"), producers.join("node/node_modules/.bin")];
        let old = std::env::var_os("PATH").unwrap_or_default();
        let all = own.into_iter().chain(std::env::split_paths(&old));
        let path = std::env::join_paths(all).unwrap_or(old).to_string_lossy().into_owned();
        let installed = |target: &&str| {
            let list = std::process::Command::new("rustup").args(["target", "list", "--installed"]).output();
            list.is_ok_and(|list| String::from_utf8_lossy(&list.stdout).lines().any(|line| line == *target))
        };
        let missing = if !TARGETS.iter().all(installed) {
            Some("Rust's wasm targets are missing")
        } else if !succeeds("clang-19", &["--version"]) || !succeeds("cmake", &["--version"]) {
            Some("clang-19 or cmake is missing")
        } else if !Path::new("/usr/lib/wasm32-wasi/libc++.a").exists() {
            Some("libc++ for wasm32 is missing")
        } else {
            None
        };
        Toolchains { installs: install, missing, path, python: python.to_string_lossy().into_owned() }
    }

    /// The variables with which programs are found that are installed here.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [("PATH", self.path.clone()), ("PYTHONPATH", self.python.clone())]
    }

    /// Calls `run` with the PATH of the compilers, if none is missing.
    pub fn with(&self, run: impl FnOnce(String) -> Result<()>) -> Result<Done> {
        match self.missing {
            Some(missing) => Ok(Done::Skipped(format!("{missing}; --install tries to get it"))),
            None => run(self.path.clone()).map(|()| Done::Passed),
        }
    }
}

/// Tries to install the programs. Failures show up later, as missing ones.
fn install(producers: &Path) {
    succeeds("rustup", &["component", "add", "rustfmt", "clippy"]);
    succeeds("rustup", &[&["target", "add"], TARGETS].concat());
    if !(succeeds("clang-19", &["--version"])
        && succeeds("cmake", &["--version"])
        && Path::new("/usr/lib/wasm32-wasi/libc++.a").exists())
    {
        succeeds("apt-get", &["update"]);
        succeeds("apt-get", &[&["install", "-y"], PACKAGES].concat());
    }
    // Needed by the tests of pages.
    if !succeeds("chromium", &["--version"]) {
        succeeds("apt-get", &["install", "-y", "--no-install-recommends", "chromium"]);
    }
    let python = producers.join("python");
    // Packages that are installed later put no programs into the folder of those that are there.
    install_of_python(&python, &[ZIG, SCHEMAS]);
    let node = producers.join("node").to_string_lossy().into_owned();
    succeeds("npm", &["install", "--silent", "--no-save", "--prefix", &node, ASSEMBLYSCRIPT]);
}
