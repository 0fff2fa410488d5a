//! `cargo xtask soak`: the randomised tests, for a long time.
//!
//! - [`alarms`]: correct examples under every strategy, with all detectors.
//! - [`drivers`]: campaigns on engines that are really started.

mod alarms;
pub mod drivers;

use crate::command::cargo;
use anyhow::Result;

/// Run the randomised tests for long: ten million forced rewinds, thousands of iterations and programs
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Soak {
    #[command(subcommand)]
    part: Option<Part>,
    /// Rounds of the suspend corpora; 100 are at least ten million forced rewinds
    #[arg(long, default_value_t = 100)]
    suspend_rounds: u32,
    /// Iterations of each example whose replay is compared step by step
    #[arg(long, default_value_t = 1_000)]
    host_iterations: u32,
    /// Random modules that are instrumented and validated
    #[arg(long, default_value_t = 20_000)]
    modules: u32,
    /// Generated C programs of each class of effect, on which all searches must reach the same ends
    #[arg(long, default_value_t = 1_000)]
    programs: u32,
    /// Random schedules of each of these programs and sampler
    #[arg(long, default_value_t = 1_000)]
    iterations: u32,
    /// Another seed makes other programs
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What is executed instead of the randomised tests.
#[derive(clap::Subcommand)]
enum Part {
    Alarms(alarms::Arguments),
    Drivers(drivers::Arguments),
}

/// The test command of the README.
pub const TEST: &[&str] = &["test", "--release", "--workspace"];

pub fn run(arguments: &Soak) -> Result<()> {
    match &arguments.part {
        Some(Part::Alarms(arguments)) => return alarms::run(arguments),
        Some(Part::Drivers(arguments)) => return drivers::run(arguments),
        None => {}
    }
    cargo(
        &["test", "--release", "-p", "coyote-wasm", "-p", "coyote-instrumenter", "--", "--nocapture"],
        &[
            ("COYOTE_SUSPEND_ROUNDS", arguments.suspend_rounds.to_string()),
            ("COYOTE_HOST_ITERATIONS", arguments.host_iterations.to_string()),
            ("COYOTE_SMITH", arguments.modules.to_string()),
            ("COYOTE_FUZZ_PROGRAMS", arguments.programs.to_string()),
            ("COYOTE_FUZZ_ITERATIONS", arguments.iterations.to_string()),
            ("COYOTE_FUZZ_SEED", arguments.seed.to_string()),
        ],
    )
}
