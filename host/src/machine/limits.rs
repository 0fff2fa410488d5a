//! Recognises traps and panics that are limits of this tool, not mistakes of the guest.
//!
//! The decision must be certain: a limit is no verdict, so a wrong one hides a bug. It rests on the names of the
//! functions on the stack and on the texts of panics, which std and the linker chose. A cause that is only likely
//! becomes a note in the report of the bug ([`crate::report`]).

use super::Machine;
use crate::symbols::Symbols;
use coyote_strategies::WorkerId;

/// The prefix of functions that wasm-ld generates for calls with other types than the callee has. They trap.
const MISMATCH: &str = "signature_mismatch:";

/// The message of std when there is no memory for a thread.
const NO_THREAD: &str = "failed to spawn thread";

/// The function in which Rust aborts when there is no memory.
const OUT_OF_MEMORY: &str = "handle_alloc_error";

const NO_THREADS: &str = "std has threads on the target wasm32-wasip1-threads alone: build for that one (cargo coyote does by default)";

/// Messages of panics that no program could avoid here, each with advice.
const UNSUPPORTED: &[(&str, &str)] = &[
    (
        "no filesystem on wasm",
        "std::env::temp_dir() is not there on this target: let the test use a directory of its own, such as \
         \"/tmp\"; all files are in memory",
    ),
    (
        "Parking not supported on this platform",
        "parking_lot parks threads of this target only with its feature `nightly`: see docs/guests.md",
    ),
    // As std says it on targets of WebAssembly without threads, with an operating system and without.
    ("failed to spawn thread: Os { code: 58, kind: Unsupported", NO_THREADS),
    ("failed to spawn thread: Error { kind: Unsupported", NO_THREADS),
    (
        "not supported on this platform",
        "this target has no processes, sockets and the like: leave the test out, with \
         #[cfg(not(target_family = \"wasm\"))] or --skip",
    ),
    (
        // As std prints its own errors; a program may have errors with a field of this name and value.
        ", kind: Unsupported, message: \"",
        "this target has no processes, sockets and the like: leave the test out, with \
         #[cfg(not(target_family = \"wasm\"))] or --skip",
    ),
];

impl Machine {
    /// The limit that a worker's panic shows, if it is not a bug.
    pub(super) fn limit_of_panic(&mut self, worker: WorkerId, message: &str) -> Option<String> {
        if let Some(limit) = self.limit_of_message(message) {
            return Some(limit);
        }
        if self.artifact.unwinds() {
            // A panic that the program can catch is not a trap.
            return None;
        }
        let (own, stack) = (self.functions(self.scheduler().runtime.first()), self.functions(worker));
        catches(&stack, own_crate(&own)?).then(|| {
            format!(
                "the program catches this panic, which ends it where panics abort: {message}; build it with \
                 unwinding: see docs/unwinding.md"
            )
        })
    }

    /// The limit that `unreachable` without a panic shows, if it is not a bug.
    pub(super) fn limit_of_unreachable(&mut self, worker: WorkerId) -> Option<String> {
        let stack = self.functions(worker);
        if stack.iter().any(|function| function.ends_with(OUT_OF_MEMORY)) {
            return self.refused();
        }
        let name = stack.first()?.strip_prefix(MISMATCH)?;
        Some(format!(
            "{name} is called with other types than it is defined with, which cannot be linked on this target: \
             declare it as it is defined (the linker's warning names both)"
        ))
    }

    /// The limit that a panic's message shows, if it is not a bug: something that no program can do here, or memory
    /// beyond the user's limit.
    pub(super) fn limit_of_message(&self, message: &str) -> Option<String> {
        unsupported(message).or_else(|| self.refused().filter(|_| message.contains(NO_THREAD)))
    }

    fn refused(&self) -> Option<String> {
        let host = self.store.data();
        host.scheduler.runtime.memory_refused.then(|| {
            format!(
                "the program needs more than {} MiB of memory, which it was refused: raise --max-memory",
                host.memory_bytes_max >> 20
            )
        })
    }

    /// The functions on a worker's stack, innermost first.
    fn functions(&mut self, worker: WorkerId) -> Vec<String> {
        let stack = self.stack(worker);
        let symbols = self.symbols.get_or_insert_with(|| Symbols::new(&self.artifact.original));
        stack.iter().flat_map(|place| symbols.frames(*place)).map(|frame| frame.function).collect()
    }
}

/// The text for a panic that no program could avoid here.
fn unsupported(message: &str) -> Option<String> {
    let (_, help) = UNSUPPORTED.iter().find(|(text, _)| message.contains(text))?;
    Some(format!("panic: {message}; {help}"))
}

/// The crate that a function of Rust belongs to.
fn crate_of(function: &str) -> Option<&str> {
    let path = function.trim_start_matches(['<', '&', '*', '[', '(']);
    let (name, _) = path.split_once("::")?;
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(name)
}

/// Crates of the Rust distribution.
const DISTRIBUTION: [&str; 5] = ["std", "core", "alloc", "test", "__rustc"];

/// The crate of the test or program, by the stack of the first worker.
fn own_crate(functions: &[String]) -> Option<&str> {
    functions.iter().rev().filter_map(|f| crate_of(f)).find(|name| !DISTRIBUTION.contains(name))
}

/// Whether a function of the crate `own`, not of a library that passes panics on, calls catch_unwind.
fn catches(functions: &[String], own: &str) -> bool {
    let is_catch = |f: &String| f.split("::<").next().is_some_and(|path| path == "std::panic::catch_unwind");
    functions.windows(2).any(|pair| is_catch(&pair[0]) && crate_of(&pair[1]) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(text: &str) -> Vec<String> {
        text.lines().map(|line| line.trim().to_string()).collect()
    }

    #[test]
    fn only_the_program_s_own_catch_is_a_limit() {
        let main = stack(
            "app::tests::a::{{closure}}
             core::ops::function::FnOnce::call_once
             test::__rust_begin_short_backtrace
             std::panic::catch_unwind::<test::run_test_in_process::{closure#0}, ()>
             test::run_test
             main",
        );
        let own = own_crate(&main).unwrap();
        assert_eq!(own, "app");
        assert!(!catches(&main, own));
        let caught = "core::panicking::panic
                      app::tests::a::{{closure}}::{{closure}}
                      std::panicking::catch_unwind
                      std::panic::catch_unwind\n";
        for (caller, limit) in [
            ("app::tests::a::{{closure}}", true),
            ("<app::Pool as core::ops::Drop>::drop", true),
            ("rayon_core::unwind::halt_unwinding", false),
            ("std::thread::Builder::spawn_unchecked_::{{closure}}", false),
        ] {
            assert_eq!(catches(&stack(&format!("{caught}{caller}")), own), limit, "{caller}");
        }
    }

    #[test]
    fn crates_are_told_by_paths() {
        for (function, name) in [
            ("app::f", Some("app")),
            ("<alloc::boxed::Box<F> as core::ops::FnOnce<A>>::call_once", Some("alloc")),
            ("<&mut app::It as Iterator>::next", None),
            ("main", None),
            ("__main_void", None),
        ] {
            assert_eq!(crate_of(function), name, "{function}");
        }
    }
}
