//! The functions of WASI preview 1, by name: those that a guest may import. [`crate::machine::wasi`] defines their
//! meaning.

use coyote_abi::file;

/// The module name of the imports.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The functions that concern neither descriptors nor paths.
const OTHERS: &[&str] = &[
    "args_get",
    "args_sizes_get",
    "environ_get",
    "environ_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "random_get",
    "proc_raise",
    "poll_oneoff",
    "proc_exit",
    "sched_yield",
];

/// The names of all functions that a guest can import: those of preview 1.
pub fn functions() -> impl Iterator<Item = &'static str> {
    file::CALLS.iter().map(|call| call.name).chain(OTHERS.iter().copied())
}

/// Whether preview 1 has a function of this name.
pub fn knows(name: &str) -> bool {
    functions().any(|function| function == name)
}
