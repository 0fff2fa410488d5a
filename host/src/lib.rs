//! coyote-wasm: finds a schedule that breaks a concurrent test and replays that schedule deterministically.
//!
//! [`tester`] is the entry point: it loads a module and explores its tests. Its inputs and outputs:
//! - [`artifact`]: a module, instrumented and compiled.
//! - [`execution`]: a test, and how it is executed. With [`world`]: the test's arguments, environment and files.
//!   [`libtest`]: test binaries of cargo, whose tests their own harness lists.
//! - [`explore`]: the exploration of a test, within a budget, on several cores.
//! - [`observe`]: observers, which receive the events of an execution; [`detect`]: detectors, which may report bugs.
//!   With [`orderings`]: which accesses are atomic, and their memory orderings.
//! - [`outcome`], [`evidence`], [`identity`]: how an iteration ended, the evidence of a bug, and when two bugs are the
//!   same.
//! - [`results`], [`statistics`], [`granules`]: what an exploration found, as plain data. [`verdict`]: what follows
//!   from it for the test.
//! - [`trace`]: schedules on disk. With [`options`]: options that change the meaning of a decision and are therefore
//!   named in traces. [`replay`]: executes a stored schedule again.
//! - [`symbols`]: translates places to functions and source lines.
//!
//! The modules below are `pub` only for the command line and the tests of this package, and hidden from this
//! documentation:
//! - `machine`: the guest under control: workers suspended as bytes, snapshots. `engine_thread`: threads that run it.
//!   `data_segments`: the addresses of a module's initial data.
//! - `runtime`: what operations mean: blocking, waking, time.
//! - `epochs`: how later iterations learn which memory is shared.
//! - `determinism`: executes an iteration again and compares the states after every step.
//! - `lasso`: rounds of steps that can be repeated for ever; `livelock`: states from which no end can be reached.
//! - `settings`: how tests are executed. `preview1`: the functions of WASI. `object_id`: the names of sync objects.
//! - `record`: conversion of an iteration to a trace, and of a trace to a schedule.
//! - `shrink`: makes the trace of a found bug as short to read as possible.
//! - `debug`: a replayed execution, examined step by step; `dap`: the same for editors.
//! - `explain`: why a bug happens, determined by experiment.
//! - `diagnose`: details of a found bug, collected while its execution still exists.
//! - `report`: what the user is shown, with `plural` for its words.
//! - `execution_counts`: how often instructions of the guest were executed; `coverage`: the lines that follow from it.
//! - `module_name`: names of modules without their directories.
//! - `source_tests`: tests that a crate's sources contain and its test binary does not.
//! - `units`: parts of an exploration that are executed separately, and their merged results.
//! - `bundle`: everything that a replay needs, in one file.
//! - `cache`: instrumented modules on disk.
//! - `exit`: exit codes. `cli`: the command line; `cargo`: `cargo coyote`.

pub mod artifact;
pub mod detect;
pub mod evidence;
pub mod execution;
pub mod explore;
pub mod granules;
pub mod identity;
pub mod libtest;
pub mod observe;
pub mod options;
pub mod orderings;
pub mod outcome;
pub mod replay;
pub mod results;
pub mod statistics;
pub mod symbols;
pub mod tester;
pub mod trace;
pub mod verdict;
pub mod world;

#[doc(hidden)]
pub mod bundle;
#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod cargo;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod code;
#[doc(hidden)]
pub mod coverage;
#[doc(hidden)]
pub mod dap;
#[doc(hidden)]
pub mod debug;
#[doc(hidden)]
pub mod determinism;
#[doc(hidden)]
pub mod diagnose;
#[doc(hidden)]
pub mod engine_thread;
#[doc(hidden)]
pub mod epochs;
#[doc(hidden)]
pub mod exit;
#[doc(hidden)]
pub mod explain;
#[doc(hidden)]
pub mod lasso;
#[doc(hidden)]
pub mod livelock;
#[doc(hidden)]
pub mod machine;
#[doc(hidden)]
pub mod preview1;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod runtime;
#[doc(hidden)]
pub mod shrink;
#[doc(hidden)]
pub mod units;

mod data_segments;
mod execution_counts;
mod module_name;
mod object_id;
mod plural;
mod settings;
mod source_tests;
mod toolchain;
mod uses;

pub use coyote_instrumenter as instrumenter;
pub use coyote_strategies as strategies;
