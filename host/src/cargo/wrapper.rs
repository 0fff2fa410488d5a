//! This command as rustc's wrapper: compiles single crates with flags beyond those that cargo passes.

use crate::toolchain;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Set in processes of cargo that call this command as rustc's wrapper. Its value is the wrapper to be called in turn,
/// or empty.
const WRAPPED: &str = "COYOTE_RUSTC_WRAPPER";

/// Flags for the test harness, which leaves out `#[should_panic]` on wasm, except on Emscripten, where panics unwind.
const HARNESS: [&str; 4] = ["-A", "explicit_builtin_cfgs_in_flags", "--cfg", "target_os=\"emscripten\""];

/// Flags for parking_lot's core: its feature `nightly`, without which it cannot wait on wasm.
const PARKING: [&str; 2] = ["--cfg", "feature=\"nightly\""];

/// Flags for tokio: the target has atomics, which stable compilers do not say. Without them a worker of tokio sleeps out
/// the time to the next timer, whatever happens meanwhile, and keeps its own lock.
const TOKIO: [&str; 4] = ["-A", "explicit_builtin_cfgs_in_flags", "--cfg", "target_feature=\"atomics\""];

/// Flags for tokio: nothing is inlined within it, so that all calls are seen that wake its driver of sockets
/// (`passes/drivers.rs` of the instrumenter). Nothing is left of an inlined one: on WASI, such a call does nothing.
const WAKES: [&str; 2] = ["-C", "llvm-args=-inline-threshold=-1000000"];

/// Set if the tested packages are to be compiled as for Miri.
pub const LIKE_MIRI: &str = "COYOTE_LIKE_MIRI";

/// Flags for such a package.
const MIRI: [&str; 4] = ["-A", "explicit_builtin_cfgs_in_flags", "--cfg", "miri"];

/// Flags for all crates that are compiled for wasm: as for ThreadSanitizer, the optimiser adds no reads that the source
/// does not make, and which may be in a race.
const AS_WRITTEN: [&str; 2] = ["-C", "llvm-args=-force-attribute=sanitize_thread"];

/// Makes cargo call this command instead of rustc.
///
/// # Errors
/// The path of this command cannot be determined.
pub fn add(cargo: &mut Command) -> Result<()> {
    let this = std::env::current_exe().context("cannot tell where cargo-coyote is")?;
    cargo.env(WRAPPED, other()).env("RUSTC_WRAPPER", this);
    Ok(())
}

/// The wrapper that cargo would call without this one, or empty.
fn other() -> OsString {
    let given = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"].into_iter().find_map(std::env::var_os);
    let written = || {
        let files = toolchain::configurations(Path::new("."));
        files.iter().find_map(|(file, text)| written(file, text))
    };
    given.or_else(written).unwrap_or_default()
}

/// The wrapper that a configuration of cargo names. A path is relative to the directory of the configuration's
/// directory.
fn written(file: &Path, text: &str) -> Option<OsString> {
    let table = text.parse::<toml::Table>().ok()?;
    let name = table.get("build")?.get("rustc-wrapper")?.as_str()?;
    let is_path = name.contains(['/', '\\']);
    let base = file.parent()?.parent()?;
    Some(if is_path { base.join(name).into() } else { name.into() })
}

/// Compiles as rustc would, if cargo calls this command as the wrapper of rustc.
///
/// # Errors
/// rustc, or the other wrapper, cannot be started.
pub fn wrap() -> Option<Result<ExitCode>> {
    let other = std::env::var_os(WRAPPED)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // A program that cargo builds may call cargo, which then calls this command.
    let rustc = arguments.first().filter(|first| *first != "coyote")?;
    let mut compile = match other.is_empty() {
        true => Command::new(rustc),
        false => Command::new(&other),
    };
    compile.args(&arguments[usize::from(other.is_empty())..]);
    if is_for_wasm(&arguments) {
        compile.args(AS_WRITTEN);
    }
    if is_harness(&arguments) {
        compile.args(HARNESS);
    }
    if is_for_threads(&arguments, "tokio") {
        compile.args(TOKIO).args(WAKES);
    }
    if is_for_threads(&arguments, "parking_lot_core") {
        // Set only for this crate, so that no other crate takes the compiler for a nightly one.
        compile.args(PARKING).env("RUSTC_BOOTSTRAP", "1");
    }
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set(LIKE_MIRI) && is_set("CARGO_PRIMARY_PACKAGE") && is_for_wasm(&arguments) {
        compile.args(MIRI);
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

/// Whether rustc is to compile the crate of this name for wasm with threads.
fn is_for_threads(arguments: &[OsString], name: &str) -> bool {
    let has =
        |option: &str, value: &str| arguments.windows(2).any(|pair| pair[0] == option && pair[1] == value);
    has("--crate-name", name) && has("--target", toolchain::TARGET)
}

/// Whether rustc is to compile for wasm, and not for the machine itself.
fn is_for_wasm(arguments: &[OsString]) -> bool {
    let is_wasm = |target: &OsStr| target.to_str().is_some_and(|target| target.starts_with("wasm32"));
    arguments.windows(2).any(|pair| pair[0] == "--target" && is_wasm(&pair[1]))
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

    #[test]
    fn a_wrapper_of_the_configuration_is_kept() {
        let wrapper = |text: &str| written(Path::new("/home/app/.cargo/config.toml"), text);
        assert_eq!(wrapper("[build]\nrustc-wrapper = \"sccache\""), Some("sccache".into()));
        assert_eq!(wrapper("build.rustc-wrapper = \"tools/wrap\""), Some("/home/app/tools/wrap".into()));
        assert_eq!(wrapper("build.rustc-wrapper = \"/bin/wrap\""), Some("/bin/wrap".into()));
        assert_eq!(wrapper("[build]\njobs = 1"), None);
    }

    #[test]
    fn crates_that_need_threads_are_told_from_others() {
        let is = |text: &str| {
            is_for_threads(&text.split(' ').map(OsString::from).collect::<Vec<_>>(), "parking_lot_core")
        };
        assert!(is("rustc --crate-name parking_lot_core src/lib.rs --target wasm32-wasip1-threads"));
        assert!(!is("rustc --crate-name parking_lot_core src/lib.rs"), "for the machine itself");
        assert!(
            !is("rustc --crate-name parking_lot_core src/lib.rs --target wasm32-wasip1"),
            "without threads"
        );
        assert!(!is("rustc --crate-name parking_lot src/lib.rs --target wasm32-wasip1-threads"));
    }
}
