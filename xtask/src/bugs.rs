//! `cargo xtask bugs`: reproduces the bugs of published crates that docs/bugs-found.md describes.
//!
//! Each has a program in `examples/bugs-found`, with the version of the crate that has the bug, and a bundle
//! next to it: the program as it was built, and the traces. The bundle must replay, and a run must find the
//! bug again in the program as it is built now.

use crate::command;
use crate::files;
use crate::guests::rust::{self, Target};
use crate::guests::{crates, debug_info, output};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "examples/bugs-found";

/// A program, and its bug.
struct Bug {
    program: &'static str,
    /// The kinds of bug that reports show for it.
    kinds: &'static [&'static str],
    /// A run that finds it.
    run: &'static [&'static str],
}

const BUGS: [Bug; 4] = [
    Bug {
        program: "basedrop",
        kinds: &["use-after-free"],
        run: &["--memory", "weak", "--seed", "1", "-i", "1000"],
    },
    Bug {
        program: "kanal",
        kinds: &["deadlock", "use-after-free"],
        run: &["--races", "off", "--seed", "0", "-i", "1500"],
    },
    Bug { program: "sharded_slab", kinds: &["panic"], run: &["--seed", "0", "-i", "3000"] },
    Bug { program: "thingbuf", kinds: &["use-after-free", "deadlock"], run: &["--seed", "0", "-i", "3000"] },
];

/// Exit code of a run or a replay that ends with a bug.
const BUG_FOUND: i32 = 2;

/// Reproduce the bugs of docs/bugs-found.md: replay their bundles, build their programs, and find them again
#[derive(clap::Args)]
pub struct Arguments {
    /// A coyote-wasm that is there already, instead of one that is built
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Write the bundles anew, of the programs as they are built now
    #[arg(long)]
    write: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let tool = command::tool(arguments.tool.as_deref())?;
    let modules = build()?;
    for bug in &BUGS {
        let found = find(&tool, &modules, bug, arguments.write)?;
        let replayed = replay(&tool, bug)?;
        println!("{:14} replayed: {replayed}\n{:14} found:    {found}", bug.program, "");
    }
    Ok(())
}

fn directory() -> PathBuf {
    files::root().join(SOURCES)
}

fn bundle(program: &str) -> PathBuf {
    directory().join(program).with_extension("bundle")
}

/// Builds the programs, without the debug information of libraries. Returns the modules' directory.
fn build() -> Result<PathBuf> {
    let directory = directory();
    let registry = crates::registry(&directory)?;
    let flags = [rust::renamed(&files::root(), "."), rust::renamed(&registry, crates::REGISTRY)];
    let mut command = rust::build_command(&directory, Target::Threads, &flags)?;
    // For parking_lot's feature `nightly`.
    output(command.arg("--locked").env("RUSTC_BOOTSTRAP", "1"))?;
    let modules = std::path::absolute(files::target().join("bugs-found"))?;
    for Bug { program, .. } in &BUGS {
        let wasm = debug_info::strip_libraries(&files::read(&Target::Threads.output(program))?)?;
        files::write(&modules.join(program).with_extension("wasm"), wasm)?;
    }
    Ok(modules)
}

/// Explores a program; describes in a few words what was found.
fn find(tool: &Path, modules: &Path, bug: &Bug, write: bool) -> Result<String> {
    let mut command = Command::new(tool);
    // Run in the directory of the modules, so that reports contain only the modules' names.
    command.current_dir(modules).arg("test").arg(Path::new(bug.program).with_extension("wasm"));
    command.args(bug.run).args(["--shrink-time", "60", "--format", "json", "--outdir", "traces"]);
    if write {
        command.arg("--bundle").arg(bundle(bug.program));
    }
    let printed = command.output().with_context(|| format!("{} cannot be run", tool.display()))?;
    let said = String::from_utf8_lossy(&printed.stderr);
    ensure!(printed.status.code() == Some(BUG_FOUND), "no bug was found in {}: {said}", bug.program);
    let run: Value = serde_json::from_slice(&printed.stdout)?;
    let bugs = run["tests"][0]["bugs"].as_array().context("a test has bugs")?;
    let found = bugs.iter().find(|found| bug.kinds.iter().any(|kind| found["kind"] == *kind));
    let found =
        found.with_context(|| format!("no {} was found in {}", bug.kinds.join(" or "), bug.program))?;
    let kind = found["kind"].as_str().unwrap_or_default();
    Ok(format!("{kind}, in iteration {}", found["iteration"]))
}

/// Replays the first trace of a program's bundle and returns the verdict.
fn replay(tool: &Path, bug: &Bug) -> Result<String> {
    let mut command = Command::new(tool);
    command.current_dir(files::root()).arg("replay").arg(bundle(bug.program));
    let printed = command.output().with_context(|| format!("{} cannot be run", tool.display()))?;
    let text = String::from_utf8_lossy(&printed.stdout);
    let is_it = |line: &str| bug.kinds.iter().any(|kind| line.contains(&format!(": {kind}: ")));
    let verdict = text.lines().find(|line| is_it(line));
    let said = String::from_utf8_lossy(&printed.stderr);
    ensure!(printed.status.code() == Some(BUG_FOUND), "{} does not replay: {text}{said}", bug.program);
    Ok(verdict.with_context(|| format!("{} ends with another bug: {text}", bug.program))?.to_string())
}
