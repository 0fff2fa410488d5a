//! Project tasks: the same command at home and in CI.
//!
//! - [`codegen`]: files that are made from others. With [`support`]: the page about supported guests.
//! - [`crates`]: tests programs that use published crates. [`bugs`]: reproduces bugs of published crates.
//! - [`std_tests`]: the tests of Rust's standard library, explored; [`suites`]: those of published crates.
//! - [`guests`]: the example guests, from their sources.
//! - [`orderings`]: the memory orderings of lines of Rust's atomics.
//! - [`ci`]: all checks, and those that take a minute. [`bless`]: accepts the output of golden tests. [`soak`]:
//!   randomised tests that run for a long time.
//! - [`mod@bench`]: measures the engine and its peers.
//! - [`large`]: large modules for the host's tests.
//! - [`modules`]: refuses circles of imports, and imports from higher floors.
//! - [`dist`]: the archives of a release. [`workflows`]: files of GitHub Actions against their schemas.
//! - [`package`]: the packages as a registry gets them, and a build from these alone.
//! - `variables`: a test that all variables of the environment are documented.
//! - [`command`]: running other programs.
//! - [`files`]: reading and writing with errors that name the file.

mod bench;
mod bless;
mod bugs;
mod ci;
mod codegen;
mod command;
mod crates;
mod dist;
mod files;
mod guests;
mod large;
mod modules;
mod orderings;
mod package;
mod samples;
mod soak;
mod std_tests;
mod suites;
mod support;
#[cfg(test)]
mod variables;
mod workflows;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Project tasks of coyote-wasm")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Bench(bench::Arguments),
    Bless(bless::Bless),
    Bugs(bugs::Arguments),
    Ci(ci::Ci),
    Codegen(codegen::Arguments),
    Crates(crates::Arguments),
    Dist(dist::Arguments),
    Guests(guests::Arguments),
    Large(large::Arguments),
    /// Refuse circles of imports between modules, and imports that run up the floors
    Modules,
    Orderings(orderings::Arguments),
    Package(package::Arguments),
    Quick(ci::Quick),
    Samples(samples::Arguments),
    Soak(soak::Soak),
    StdTests(std_tests::Arguments),
    Suites(suites::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Bless(arguments) => bless::run(&arguments),
        Task::Bugs(arguments) => bugs::run(&arguments),
        Task::Ci(arguments) => ci::ci(&arguments),
        Task::Quick(arguments) => ci::quick(&arguments),
        Task::Soak(arguments) => soak::run(&arguments),
        Task::Codegen(arguments) => codegen::run(&arguments),
        Task::Crates(arguments) => crates::run(&arguments),
        Task::Dist(arguments) => dist::run(&arguments),
        Task::Guests(arguments) => guests::run(&arguments),
        Task::Orderings(arguments) => orderings::run(&arguments),
        Task::Large(arguments) => large::run(&arguments),
        Task::Modules => modules::run(),
        Task::Package(arguments) => package::run(&arguments),
        Task::Samples(arguments) => samples::run(&arguments),
        Task::StdTests(arguments) => std_tests::run(&arguments),
        Task::Suites(arguments) => suites::run(&arguments),
    }
}
