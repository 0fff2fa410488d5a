//! `--unwind`: std built so that panics unwind, which it does not come with for the target.
//!
//! Cargo builds std from the toolchain's component `rust-src`, by unstable options that `RUSTC_BOOTSTRAP=1` allows on every
//! toolchain, with today's exception instructions. Its harness is told by [`wrapper`] that panics unwind.

use super::{flags, wrapper};
use crate::toolchain;
use anyhow::{Result, ensure};
use std::path::Path;
use std::process::Command;

/// What the compiler is told of all crates.
const FLAGS: [&str; 6] = [
    "-C",
    "panic=unwind",
    "-C",
    "llvm-args=-wasm-use-legacy-eh=false",
    "-C",
    "target-feature=+exception-handling",
];

/// Has cargo build with unwinding.
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
    wrapper::add(cargo)?;
    flags::add(cargo, target, &FLAGS);
    Ok(())
}
