//! parking_lot: its threads can wait on wasm only with its feature `nightly`.
//!
//! Cargo's command line cannot enable features of a dependency's dependency. But this feature is only a condition in
//! the sources of one crate, and an unstable instruction that is the same on every toolchain. The wrapper of rustc
//! enables it for that crate alone.

use super::flags;
use super::workspace::Metadata;
use std::process::Command;

/// A flag that distinguishes these builds from others, since cargo does not take a wrapper's effect into account.
const BUILT_SO: [&str; 2] = ["--cfg", "coyote_parking"];

/// Makes cargo build parking_lot with a way to wait, if it is among the packages without the feature.
pub fn prepare(cargo: &mut Command, metadata: &Metadata, target: &str) {
    if metadata.has_without("parking_lot_core", "nightly") {
        flags::add(cargo, target, &BUILT_SO);
    }
}
