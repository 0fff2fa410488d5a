//! Tests of the host from outside: guests in this process through the library, and the program `coyote-wasm`
//! in other processes.
//!
//! - [`examples`]: every example has the verdict that its index states, and its bug replays.
//! - [`crates`]: bugs that published crates had; correct tests with others.
//! - [`determinism`]: the same seed gives the same results; inline and step by step; after restoring a snapshot.
//! - [`traces`]: of the library, with other wording, of older versions.
//! - [`grouping`]: the same bug is reported once.
//! - [`reports`]: a run in every format.
//! - [`pages`]: bugs as pages, in a [`browser`].
//! - [`formats`]: reports for other programs, by their schemas.
//! - [`shrink`]: minimised traces: nothing in them can be left out.
//! - [`explain`]: the results of experiments on a bug, against exact probabilities; whether a fix is believed.
//! - [`stories`]: what happened, in few rows; [`names`]: the names of memory.
//! - [`results`]: merged parts of an exploration; [`units`]: runs in parts, by their files; [`campaign`]: by
//!   processes that are killed.
//! - [`lenient`]: traces of programs that were edited since.
//! - [`debugger`]: replays in the debugger, forwards and backwards; [`dap`]: by editors.
//! - [`regressions`]: traces that are kept and tried first; bundles.
//! - [`corrupted`]: a wrong decision in a trace is reported at its own step.
//! - [`bad_input`]: every mistake is reported in one message, word for word.
//! - [`hangs`]: a program that does not end is never reported as correct.
//! - [`faults`]: faults that occur only if the user enables them.
//! - [`files`]: the guest's files, preloaded ones, those of the host; imports that the user stubbed.
//! - [`wasi`]: clocks, polls and other things that a guest sees of the world.
//! - [`preview1`]: WASI's functions, one by one, as the documentation lists them.
//! - [`cases`]: programs that contain their expectations.
//! - [`c_programs`]: C and C++ programs, compiled by coyote-cc.
//! - [`outcomes`]: what primitives of C's threads and Rust's tasks allow, exhaustively.
//! - [`network`]: what presets and faults of the guest's network allow, exhaustively.
//! - [`nodes`]: crashes of nodes of that network, exhaustively.
//! - [`orderings`]: the memory ordering of every atomic access.
//! - [`memory_errors`]: errors in the use of memory, and correct uses that look like one.
//! - [`observers`]: the step stream, and detectors of the user.
//! - [`properties`]: invariants that are judged in every state.
//! - [`owners`]: points only where memory is shared.
//! - [`rounds`]: counts of rounds that nothing can tell apart.
//! - [`libc_locks`]: locks that wasi-libc has for itself.
//! - [`leases`]: steps without a call of the host change nothing.
//! - [`state`]: changes of an iteration are not visible in the next one.
//! - [`semantics`]: sync objects against a naive model, all schedules.
//! - [`std_conformance`]: Rust's std against a naive model.
//! - [`relation`]: independent steps commute.
//! - [`runtime`]: the runtime alone: its fingerprint, and what its operations touch.
//! - [`effects`]: for each class of effect that a step can have, all searches reach the same ends.
//! - [`frontier`]: what searches leave on disk, continued and damaged.
//! - [`damage`]: output that is not read, damaged caches, time that is up.
//! - [`searches`]: known numbers of executions, verdicts, resumed work.
//! - [`brief_spins`]: loops in which a lock waits for a moment.
//! - [`spins`]: searches of programs with loops that wait, and livelocks.
//! - [`generated`]: random programs, every class of executions.
//! - [`published`]: mean numbers of iterations that papers published.
//! - [`cargo`]: test binaries of cargo, and cargo itself.
//! - [`on_demand`]: code that is compiled when it is first called.
//! - [`tasks`]: thousands of them.
//! - [`thread_names`]: names of threads.
//! - [`weak`]: litmus tests with weak memory, against RC11 by its axioms.
//! - [`weakened`]: lock-free algorithms with each ordering weakened by one step.
//! - [`doctor`]: what prevents crates and modules from being explored.
//! - [`readme`]: the first example of the README.
//!
//! `COYOTE_BLESS=1` rewrites the files in `golden`; `COYOTE_HOST_ITERATIONS=1000` sets the number of
//! iterations of the determinism tests, for soaking; `COYOTE_STD_ROUNDS=20` multiplies the programs of `std_conformance`.

mod bad_input;
mod brief_spins;
mod browser;
mod c_orderings;
mod c_programs;
mod c_races;
mod campaign;
mod cargo;
mod cases;
mod classes;
mod config;
mod corrupted;
mod coverage;
mod crates;
mod damage;
mod dap;
mod debugger;
mod determinism;
mod doctor;
mod effects;
mod examples;
mod exceptions;
mod expected;
mod explain;
mod faults;
mod files;
mod formats;
mod frontier;
mod generated;
mod golden;
mod grouping;
mod guest;
mod hangs;
mod leases;
mod lenient;
mod libc_locks;
mod liveness;
mod lock_order;
mod manual;
mod memory_errors;
mod names;
mod network;
mod nodes;
mod observers;
mod on_demand;
mod orderings;
mod outcomes;
mod owners;
mod pages;
mod preview1;
mod process;
mod properties;
mod published;
mod races;
mod readme;
mod regressions;
mod relation;
mod reports;
mod results;
mod resumed;
mod rounds;
mod runtime;
mod rust_limits;
mod search;
mod searches;
mod semantics;
mod shrink;
mod spins;
mod state;
mod std_conformance;
mod stories;
mod tasks;
mod thread_names;
mod timers;
mod tokio;
mod toy_as_wasm;
mod traces;
mod units;
mod views;
mod wasi;
mod watching;
mod weak;
mod weakened;
