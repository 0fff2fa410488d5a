//! `--unwind`: std built so that panics unwind, which it does not come with for the target.
//!
//! Cargo builds std from the toolchain's component `rust-src`, by unstable options that `RUSTC_BOOTSTRAP=1` allows on every
//! toolchain, with today's exception instructions. Rust's test harness leaves out `#[should_panic]` on wasm, except on
//! Emscripten, where panics unwind; so this command is also rustc's wrapper, and tells the crate `test`, and no other, that
//! it is there.

use super::flags;
use crate::toolchain;
use anyhow::{Context, Result, ensure};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Set where this command is called as rustc's wrapper; its value is the wrapper that is called in turn, or empty.
const WRAPPED: &str = "COYOTE_RUSTC_WRAPPER";

/// What the compiler is told of all crates.
const FLAGS: [&str; 6] = [
    "-C",
    "panic=unwind",
    "-C",
    "llvm-args=-wasm-use-legacy-eh=false",
    "-C",
    "target-feature=+exception-handling",
];

/// What the compiler is told of the test harness.
const HARNESS: [&str; 4] = ["-A", "explicit_builtin_cfgs_in_flags", "--cfg", "target_os=\"emscripten\""];

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
    let this = std::env::current_exe().context("cannot tell where cargo-coyote is")?;
    cargo
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_unwind,test")
        .env(WRAPPED, std::env::var_os("RUSTC_WRAPPER").unwrap_or_default())
        .env("RUSTC_WRAPPER", this);
    flags::add(cargo, target, &FLAGS);
    Ok(())
}

/// Compiles as rustc would, if cargo calls this command as the wrapper of rustc.
///
/// # Errors
/// rustc, or the other wrapper, cannot be started.
pub fn wrap() -> Option<Result<ExitCode>> {
    let other = std::env::var_os(WRAPPED)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // A program that cargo builds may call cargo, and that this command in turn.
    let rustc = arguments.first().filter(|first| *first != "coyote")?;
    let mut compile = match other.is_empty() {
        true => Command::new(rustc),
        false => Command::new(&other),
    };
    compile.args(&arguments[usize::from(other.is_empty())..]);
    if is_harness(&arguments) {
        compile.args(HARNESS);
    }
    Some(super::status(&mut compile))
}

/// Whether rustc is to compile the crate of Rust's test harness.
fn is_harness(arguments: &[OsString]) -> bool {
    let named = arguments.windows(2).any(|pair| pair[0] == "--crate-name" && pair[1] == "test");
    let is_source = |argument: &OsStr| {
        argument.to_str().is_some_and(|path| path.replace('\\', "/").contains("library/test/src/lib.rs"))
    };
    named && arguments.iter().any(|argument| is_source(argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_is_told_from_other_crates() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(is_harness(&words(
            "rustc --crate-name test --edition=2024 /lib/rust/library/test/src/lib.rs"
        )));
        assert!(is_harness(&words("rustc --crate-name test C:\\rust\\library\\test\\src\\lib.rs --cfg a")));
        for other in [
            "rustc --crate-name test src/lib.rs",
            "rustc --crate-name tester /lib/rust/library/test/src/lib.rs",
            "rustc -vV",
        ] {
            assert!(!is_harness(&words(other)), "{other}");
        }
    }
}
