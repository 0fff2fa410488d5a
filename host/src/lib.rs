//! coyote-wasm: finds a schedule that breaks a concurrent test and replays that schedule deterministically.
//!
//! In the order of the data:
//! - [`artifact`]: a module, instrumented and compiled.
//! - `data`: where its data lies.
//! - [`observe`]: who looks on while it is executed; [`detect`]: who may call what it sees a bug.
//! - [`machine`]: the guest under control: workers suspended as bytes, snapshots.
//! - [`runtime`]: what operations mean: blocking, waking, time.
//! - [`world`]: what a test is told of the world outside: arguments, environment, files.
//! - [`execution`]: one test, executed under a strategy or step by step.
//! - [`granules`], [`epochs`]: memory that is known to be shared, and from which iteration on.
//! - [`determinism`]: an iteration executed again, compared after every step.
//! - [`explore`]: many iterations, or a search, on all cores.
//! - [`options`]: what changes the meaning of a decision, and so is named in traces.
//! - [`livelock`]: whether an iteration can end at all.
//! - [`outcome`]: how an iteration ended.
//! - [`evidence`], [`identity`]: what a bug consists of, and what makes two the same.
//! - [`record`]: an iteration as a trace, a trace as a schedule.
//! - [`trace`]: schedules on disk.
//! - [`replay`]: a stored schedule, executed again.
//! - [`symbols`]: places as functions and source lines.
//! - [`orderings`]: which accesses are atomic, and their memory orderings.
//! - [`shrink`]: a found bug's trace made as short to read as can be.
//! - [`explain`]: why a bug happens, found out by experiment.
//! - [`diagnose`]: a found bug, looked into while its execution is at hand.
//! - [`results`], [`statistics`]: what an exploration found, as plain data.
//! - [`verdict`], [`report`]: what the user is told.
//! - [`cache`]: instrumented modules on disk.
//! - [`libtest`]: test binaries of cargo, whose tests their own harness lists.
//! - [`tester`]: all of this for a program that tests modules.
//! - [`exit`]: how a command ends.
//! - [`cli`]: the command line; [`cargo`]: `cargo coyote`.

pub mod artifact;
pub mod cache;
pub mod cargo;
pub mod cli;
mod data_segments;
pub mod detect;
pub mod determinism;
pub mod diagnose;
pub mod engine_thread;
pub mod epochs;
pub mod evidence;
pub mod execution;
pub mod exit;
pub mod explain;
pub mod explore;
pub mod granules;
pub mod identity;
pub mod libtest;
pub mod livelock;
pub mod machine;
pub mod observe;
pub mod options;
pub mod orderings;
pub mod outcome;
pub mod plural;
pub mod record;
pub mod replay;
pub mod report;
pub mod results;
pub mod runtime;
pub mod shrink;
pub mod statistics;
pub mod symbols;
pub mod tester;
pub mod trace;
pub mod verdict;
pub mod world;

pub use coyote_instrumenter as instrumenter;
pub use coyote_strategies as strategies;
