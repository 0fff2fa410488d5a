//! Project tasks: the same command at home and in CI.
//!
//! - [`codegen`]: files that are made from others. With [`support`]: what guests may be made of.
//! - [`crates`]: programs that use published crates, tested.
//! - [`std_tests`]: the tests of Rust's standard library, explored.
//! - [`guests`]: the example guests, from their sources.
//! - [`orderings`]: which lines of Rust's atomics stand for which memory ordering.
//! - [`tests`]: all tests, blessing their expectations, running them for long.
//! - [`bench`]: what the engine costs, beside its peers.
//! - [`large`]: large modules for the host's tests.
//! - [`files`]: reading and writing with errors that name the file.

mod bench;
mod codegen;
mod crates;
mod files;
mod guests;
mod large;
mod orderings;
mod std_tests;
mod support;
mod tests;

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
    Bless(tests::Bless),
    Ci(tests::Ci),
    Codegen(codegen::Arguments),
    Crates(crates::Arguments),
    Guests(guests::Arguments),
    Large(large::Arguments),
    Orderings(orderings::Arguments),
    Soak(tests::Soak),
    StdTests(std_tests::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Bench(arguments) => bench::run(&arguments),
        Task::Bless(arguments) => tests::bless(&arguments),
        Task::Ci(arguments) => tests::ci(&arguments),
        Task::Soak(arguments) => tests::soak(&arguments),
        Task::Codegen(arguments) => codegen::run(&arguments),
        Task::Crates(arguments) => crates::run(&arguments),
        Task::Guests(arguments) => guests::run(&arguments),
        Task::Large(arguments) => large::run(&arguments),
        Task::Orderings(arguments) => orderings::run(&arguments),
        Task::StdTests(arguments) => std_tests::run(&arguments),
    }
}
