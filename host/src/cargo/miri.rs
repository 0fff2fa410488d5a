//! `--like-miri`: builds the crate as its authors intend it for Miri, the interpreter of Rust.
//!
//! Test suites that are made to run under Miri execute fewer rounds with `cfg(miri)` and leave out tests that take too
//! long, which also helps where every test is executed many times. Only the packages under test are compiled with it,
//! by the wrapper of rustc; std and other crates are not changed.

use super::{flags, wrapper};
use std::process::Command;

/// A flag that distinguishes these builds from others, since cargo does not take a wrapper's effect into account.
const BUILT_SO: [&str; 2] = ["--cfg", "coyote_like_miri"];

/// Makes cargo build the tested packages with `cfg(miri)`.
pub fn prepare(cargo: &mut Command, target: &str) {
    eprintln!(
        "note: with cfg(miri), as in Miri, the crate may make fewer rounds, leave out tests, and execute other code"
    );
    cargo.env(wrapper::LIKE_MIRI, "1");
    flags::add(cargo, target, &BUILT_SO);
}
