//! `cargo xtask bless`, `soak` and `ci`: the tests, with other settings.

use anyhow::{Result, bail, ensure};
use std::process::Command;

/// Rewrite all expected outputs from what the tests produce now; read the diff afterwards
#[derive(clap::Args)]
pub struct Bless {}

/// Run the randomised tests for long: ten million forced rewinds, thousands of iterations and programs
#[derive(clap::Args)]
pub struct Soak {
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

/// Everything that must hold before a change lands
#[derive(clap::Args)]
pub struct Ci {}

/// The test command of the README.
const TEST: &[&str] = &["test", "--release", "--workspace"];

pub fn bless(_: &Bless) -> Result<()> {
    cargo(TEST, &[("COYOTE_BLESS", "1".into())])
}

pub fn soak(arguments: &Soak) -> Result<()> {
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

pub fn ci(_: &Ci) -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo(TEST, &[])
}

/// Runs cargo where this workspace is.
pub fn cargo(arguments: &[&str], variables: &[(&str, String)]) -> Result<()> {
    println!("$ cargo {}", arguments.join(" "));
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().map(|(k, v)| (*k, v.as_str())));
    match command.status() {
        Ok(status) => ensure!(status.success(), "cargo {} failed", arguments.join(" ")),
        Err(error) => bail!("cargo cannot be started: {error}"),
    }
    Ok(())
}
