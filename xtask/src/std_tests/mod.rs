//! `cargo xtask std-tests`: the tests of Rust's standard library that concern concurrency, explored.
//!
//! An independent oracle: std's own tests hold under every schedule, so a bug that is found in one of them is
//! a bug of this tool, unless `expected.json` gives another reason. The tests are those of the installed
//! component `rust-src`; std leaves them out for WASI because its other targets have no threads. The results
//! are in `docs/std-tests.md`; seed and bounds are fixed, so that the page changes only if the tool or std
//! changes.
//!
//! - [`stage`]: turns the tests into a crate and builds it.
//! - [`results`]: how tests ended.
//! - [`expected`]: the expected outcomes of tests.
//! - [`page`]: the table.

mod expected;
mod page;
mod results;
mod stage;

use crate::command;
use crate::files;
use crate::guests::Toolchain;
use crate::guests::rust::Target;
use anyhow::{Context, Result, bail, ensure};
use expected::Expected;
use results::{End, Outcome};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAGE: &str = "docs/std-tests.md";

/// Steps of an iteration, for unfair strategies and for fair ones.
const STEPS_MAX: &str = "200000";
/// The bounds of tests without an iteration that ends within these steps. These tests have fewer iterations.
const STEPS_MAX_LONG: &str = "20000000";
const ITERATIONS_LONG: u32 = 3;

/// Explore the tests of Rust's standard library, and write what came out into docs/std-tests.md
#[derive(clap::Args)]
pub struct Arguments {
    /// A coyote-wasm that is there already, instead of one that is built
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Iterations of each test
    #[arg(long, default_value_t = 100)]
    iterations: u32,
    /// Seconds for each test
    #[arg(long, default_value_t = 60)]
    timeout: u32,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let version = match Target::Threads.toolchain()? {
        Toolchain::Found(version) => version,
        Toolchain::Missing(what) => bail!("{what}"),
    };
    let expected = Expected::read()?;
    let modules = stage::build()?;
    let tool = command::tool(arguments.tool.as_deref())?;
    let mut outcomes = Vec::new();
    for (group, module) in stage::GROUPS.iter().zip(&modules) {
        outcomes.extend(explore(arguments, &tool, group.name, module)?);
    }
    let how = format!(
        "Those that concern concurrency, of {version}, by `cargo xtask std-tests`: each is explored with seed 0 in\n\
         {} iterations of up to {STEPS_MAX} steps or, if none of them comes to its end, in {ITERATIONS_LONG} of up to\n\
         {STEPS_MAX_LONG}. A test with one worker, which has no choice, is executed once. Tests that std leaves out\n\
         where panics abort, or for wasm32, are not listed.\n",
        arguments.iterations
    );
    files::write(&files::root().join(PAGE), page::page(&how, &outcomes, &expected)?)?;
    for name in expected.unused(&outcomes) {
        println!("no longer needed: there is no test {name}");
    }
    let surprises: Vec<String> = outcomes.iter().filter_map(|o| expected.surprise(o)).collect();
    ensure!(surprises.is_empty(), "not as expected:\n  {}", surprises.join("\n  "));
    Ok(())
}

/// A directory in cargo's build directory.
fn directory() -> PathBuf {
    files::target().join("std-tests")
}

fn explore(arguments: &Arguments, tool: &Path, group: &str, module: &Path) -> Result<Vec<Outcome>> {
    let test = |iterations: u32, steps_max: &str, names: &[&str]| -> Result<Vec<Outcome>> {
        let mut command = Command::new(tool);
        command.args(["test", "--runner", "--seed", "0", "--format", "json"]);
        command.args(["--iterations", &iterations.to_string(), "--timeout", &arguments.timeout.to_string()]);
        command.args(["--max-steps", steps_max, steps_max, "--outdir"]);
        command.arg(std::path::absolute(directory().join("traces"))?).arg(module).args(names);
        // The standard error shows the progress of instrumenting and compiling, and errors.
        let printed = command.stderr(Stdio::inherit()).output();
        let printed = printed.with_context(|| format!("{} cannot be run", tool.display()))?;
        let run: Value = serde_json::from_slice(&printed.stdout)
            .with_context(|| format!("the tests of {group} were not run"))?;
        results::read(group, &run)
    };
    let mut outcomes = test(arguments.iterations, STEPS_MAX, &[])?;
    let long: Vec<&mut Outcome> = outcomes.iter_mut().filter(|o| o.end == End::TooLong).collect();
    if !long.is_empty() {
        let prefix = group.len() + 2;
        let names = long.iter().map(|o| &o.test[prefix..]);
        let names: Vec<&str> = ["--exact"].into_iter().chain(names).collect();
        let again = test(arguments.iterations.min(ITERATIONS_LONG), STEPS_MAX_LONG, &names)?;
        for (outcome, again) in long.into_iter().zip(again) {
            *outcome = again;
        }
    }
    for Outcome { test, end } in &outcomes {
        println!("{test:70} {end}");
    }
    Ok(outcomes)
}
