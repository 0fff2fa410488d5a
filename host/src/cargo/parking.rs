//! parking_lot, whose threads can wait on wasm only with its feature `nightly`.
//!
//! Features of a dependency's dependency cannot be chosen on cargo's command line. But this one is nothing but a condition
//! in the sources of one crate, and an unstable instruction that is the same on every toolchain: the wrapper of rustc turns
//! it on for that crate alone.

use super::workspace::Metadata;
use super::{flags, wrapper};
use anyhow::Result;
use std::process::Command;

/// Distinguishes what is built with it from what was built without: cargo does not ask what a wrapper does.
const BUILT_SO: [&str; 2] = ["--cfg", "coyote_parking"];

/// Has cargo build parking_lot with a way to wait, if it is among the packages and has none.
///
/// # Errors
/// As [`wrapper::add`].
pub fn prepare(cargo: &mut Command, metadata: &Metadata, target: &str) -> Result<()> {
    if metadata.has_without("parking_lot_core", "nightly") {
        wrapper::add(cargo)?;
        flags::add(cargo, target, &BUILT_SO);
    }
    Ok(())
}
