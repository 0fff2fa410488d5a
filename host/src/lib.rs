//! coyote-wasm: finds a schedule that breaks a concurrent test and replays that schedule deterministically.
//!
//! [`tester`] is the front door: it loads a module and explores its tests. What it is given and what it gives back:
//! - [`artifact`]: a module, instrumented and compiled.
//! - [`execution`]: a test, and how it is executed. With [`world`]: what it is told of the world outside: arguments,
//!   environment, files. [`libtest`]: test binaries of cargo, whose tests their own harness lists.
//! - [`explore`]: how many iterations, on how many cores.
//! - [`observe`]: who is told what is executed; [`detect`]: who may call it a bug. With [`orderings`]: which accesses
//!   are atomic, and their memory orderings.
//! - [`outcome`], [`evidence`], [`identity`]: how an iteration ended, what a bug consists of, and what makes two the
//!   same.
//! - [`results`], [`statistics`], [`granules`]: what an exploration found, as plain data. [`verdict`]: what that says
//!   of the test.
//! - [`trace`]: schedules on disk. With [`options`]: what changes the meaning of a decision, and so is named in traces.
//!   [`replay`]: a stored schedule, executed again.
//! - [`symbols`]: places as functions and source lines.
//!
//! What is behind it is `pub` for the command line and the tests of this package alone, and hidden here:
//! - `machine`: the guest under control: workers suspended as bytes, snapshots. `engine_thread`: where that runs.
//!   `data_segments`: where a module's data lies.
//! - `runtime`: what operations mean: blocking, waking, time.
//! - `epochs`: from which iteration on memory is known to be shared.
//! - `determinism`: an iteration executed again, compared after every step.
//! - `lasso`: rounds of steps that can be repeated for ever; `livelock`: states from which no end can be reached.
//! - `settings`: how tests are executed. `preview1`: the functions of WASI. `object_id`: what a sync object is called.
//! - `record`: an iteration as a trace, a trace as a schedule.
//! - `shrink`: a found bug's trace made as short to read as can be.
//! - `debug`: a replayed execution, looked into step by step; `dap`: for editors.
//! - `explain`: why a bug happens, found out by experiment.
//! - `diagnose`: a found bug, looked into while its execution is at hand.
//! - `report`: what the user is told, with `plural` for its words.
//! - `execution_counts`: how often instructions of the guest were executed; `coverage`: which lines that makes.
//! - `source_tests`: tests that a crate's sources have and its test binary has not.
//! - `units`: parts of an exploration, executed apart, and what they come to together.
//! - `bundle`: all that a replay needs, in one file.
//! - `cache`: instrumented modules on disk.
//! - `exit`: how a command ends. `cli`: the command line; `cargo`: `cargo coyote`.

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
mod object_id;
mod plural;
mod settings;
mod source_tests;
mod toolchain;

pub use coyote_instrumenter as instrumenter;
pub use coyote_strategies as strategies;
