//! `--unwind`: builds std with panics that unwind. The target's precompiled std does not unwind.
//!
//! Cargo builds std from the toolchain's component `rust-src`, by unstable options that `RUSTC_BOOTSTRAP=1` allows on
//! every toolchain, with the standard exception instructions. [`super::wrapper`] compiles the test harness such that it
//! relies on unwinding.

use super::flags;
use crate::toolchain;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// Compiler flags for all crates.
const FLAGS: [&str; 6] = [
    "-C",
    "panic=unwind",
    "-C",
    "llvm-args=-wasm-use-legacy-eh=false",
    "-C",
    "target-feature=+exception-handling",
];

/// Makes cargo build with unwinding.
///
/// # Errors
/// The toolchain lacks std's source.
pub fn prepare(cargo: &mut Command, target: &str) -> Result<()> {
    let sysroot = toolchain::printed(Path::new("."), &["sysroot"])?;
    ensure!(
        sysroot.is_some_and(|sysroot| sysroot.join("lib/rustlib/src/rust/library/std").is_dir()),
        "--unwind builds std from its source, which the toolchain lacks: run `rustup component add rust-src`"
    );
    cargo.env("RUSTC_BOOTSTRAP", "1").env("CARGO_UNSTABLE_BUILD_STD", "std,panic_unwind,test");
    flags::add(cargo, target, &FLAGS);
    Ok(())
}
