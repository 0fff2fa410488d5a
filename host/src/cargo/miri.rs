//! `--like-miri`: the crate as its authors have it for Miri, the interpreter of Rust.
//!
//! Suites that are made to run under Miri make fewer rounds with `cfg(miri)`, and leave out what takes too long: just what
//! helps where every test is executed many times. Only the packages that are tested are compiled with it, by the wrapper of
//! rustc: std and the other crates stay what they are.

use super::{flags, wrapper};
use anyhow::Result;
use std::process::Command;

/// Distinguishes what is built so from what is not: cargo does not ask what a wrapper does.
const BUILT_SO: [&str; 2] = ["--cfg", "coyote_like_miri"];

/// Has cargo build the tested packages with `cfg(miri)`.
///
/// # Errors
/// As [`wrapper::add`].
pub fn prepare(cargo: &mut Command, target: &str) -> Result<()> {
    eprintln!(
        "note: with cfg(miri), as its authors have it for Miri, the crate may make fewer rounds, leave tests out, and take other ways"
    );
    wrapper::add(cargo)?;
    cargo.env(wrapper::LIKE_MIRI, "1");
    flags::add(cargo, target, &BUILT_SO);
    Ok(())
}
