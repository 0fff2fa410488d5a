//! `cargo xtask ci`: everything that must hold before a change lands; `cargo xtask quick`: the checks that
//! take a minute.
//!
//! A step is a row of [`STEPS`]. The aim is that all of them take half an hour on two cores, starting from an empty
//! target directory; longer tests belong to `cargo xtask soak`.
//!
//! - [`toolchains`]: the programs of others that steps need.

mod toolchains;

use crate::command::cargo;
use crate::files;
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use toolchains::Toolchains;

/// Everything that must hold before a change lands
#[derive(clap::Args)]
pub struct Ci {
    /// Only these steps
    #[arg(value_name = "STEP")]
    only: Vec<String>,
    /// Print the steps
    #[arg(long)]
    list: bool,
    /// Install what is missing: compilers for guests and a browser, by apt-get, rustup, pip and npm
    #[arg(long)]
    install: bool,
}

/// The tests that fit into a minute: all but those of the whole tool, and of those a few
#[derive(clap::Args)]
pub struct Quick {}

/// The result of a step that did not fail.
enum Done {
    Passed,
    /// It needs something that is not available here.
    Skipped(String),
}

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Toolchains) -> Result<Done>,
}

const STEPS: &[Step] = &[
    Step { name: "format", about: "rustfmt", run: |_| passed(cargo(&["fmt", "--all", "--check"], &[])) },
    Step {
        name: "lints",
        about: "clippy",
        run: |_| {
            let arguments = ["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
            passed(cargo(&arguments, &[]))
        },
    },
    Step { name: "docs", about: "rustdoc, without warnings", run: |_| passed(docs()) },
    Step { name: "tests", about: "all tests", run: |_| passed(cargo(crate::soak::TEST, &[])) },
    Step {
        name: "generated",
        about: "generated files are those that are committed",
        run: |_| passed(cargo(&["xtask", "codegen", "--check"], &[])),
    },
    Step {
        name: "examples",
        about: "the library's examples, and the first command of the README",
        run: |_| passed(examples()),
    },
    Step {
        name: "packages",
        about: "a build from the packages alone",
        run: |_| passed(cargo(&["xtask", "package", "--check", "--allow-dirty"], &[])),
    },
    Step {
        name: "workflows",
        about: "files of GitHub Actions follow their schemas",
        run: |tools| {
            let skipped = crate::workflows::check(&tools.variables())?;
            Ok(skipped.map_or(Done::Passed, Done::Skipped))
        },
    },
    Step {
        name: "drivers",
        about: "campaigns on Slurm and others, which are started here, with workers and nodes that are killed",
        run: |tools| passed(drivers(tools)),
    },
    Step { name: "msrv", about: "the oldest compiler that is supported", run: |_| msrv() },
    Step {
        name: "guests",
        about: "the committed guests are what their sources compile to",
        run: |tools| tools.with(|path| cargo(&["xtask", "guests", "--check"], &[("PATH", path)])),
    },
    Step {
        name: "large",
        about: "SQLite, std's threads and a libtest binary, built here",
        run: |tools| tools.with(|path| cargo(&["xtask", "large", "--test"], &[("PATH", path)])),
    },
];

fn passed(result: Result<()>) -> Result<Done> {
    result.map(|()| Done::Passed)
}

pub fn ci(arguments: &Ci) -> Result<()> {
    if arguments.list {
        STEPS.iter().for_each(|step| println!("{:<12} {}", step.name, step.about));
        return Ok(());
    }
    if let Some(unknown) = arguments.only.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step {unknown}; there is {}", names.join(", "));
    }
    let start = Instant::now();
    show_variables();
    let tools = Toolchains::find(arguments.install);
    let mut table: Vec<(&str, Duration, String)> = Vec::new();
    for step in STEPS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|name| name == step.name) {
            continue;
        }
        println!("\n== {}: {}", step.name, step.about);
        let begin = Instant::now();
        let done = (step.run)(&tools).with_context(|| format!("the step `{}`", step.name))?;
        let note = match done {
            Done::Passed => String::new(),
            Done::Skipped(why) => format!("skipped: {why}"),
        };
        table.push((step.name, begin.elapsed(), note));
    }
    println!();
    for (name, span, note) in table {
        println!("{name:<12} {:>5} s  {note}", span.as_secs());
    }
    println!("{:<12} {:>5} s", "all", start.elapsed().as_secs());
    Ok(())
}

/// Prints the variables of this project that are set, because they change what the tests do.
fn show_variables() {
    let mut set: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    set.retain(|name| name.starts_with("COYOTE_"));
    set.sort();
    set.iter().for_each(|name| println!("{name} is set"));
}

fn docs() -> Result<()> {
    cargo(&["doc", "--release", "--no-deps", "--workspace"], &[("RUSTDOCFLAGS", "-Dwarnings".into())])
}

/// The folder of all programs, as the tests build them: built separately they would have other features of their
/// dependencies, and be compiled again.
fn built() -> Result<PathBuf> {
    cargo(&["build", "--release", "--workspace", "--bins", "--examples"], &[])?;
    Ok(std::path::absolute(files::target().join("release"))?)
}

fn examples() -> Result<()> {
    let built = built()?;
    for name in ["custom_strategy", "custom_pass"] {
        let status = Command::new(built.join("examples").join(name)).current_dir(files::root()).status()?;
        ensure!(status.success(), "the example {name}: {status}");
    }
    // The first command of the README finds the deadlock.
    let test =
        ["test", "examples/wasm/bounded_buffer.wasm", "--test", "minimal", "--outdir", "target/readme"];
    let status = Command::new(built.join("coyote-wasm")).args(test).current_dir(files::root()).status()?;
    ensure!(status.code() == Some(2), "the README's first command: {status}, not exit code 2");
    Ok(())
}

/// Says of each engine whether it was skipped, since it cannot be had.
fn drivers(tools: &Toolchains) -> Result<()> {
    crate::soak::drivers::on_usual(&built()?, tools.installs)
}

/// Checks with the oldest supported compiler, if that is not the present one and rustup has it.
fn msrv() -> Result<Done> {
    let manifest = files::read_text(&files::root().join("Cargo.toml"))?;
    let oldest = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let oldest = oldest.context("Cargo.toml names the oldest compiler")?;
    let current = Command::new("rustc").arg("--version").output()?;
    if String::from_utf8_lossy(&current.stdout).starts_with(&format!("rustc {oldest}.")) {
        return Ok(Done::Skipped(format!("all steps run with {oldest}")));
    }
    let toolchains = Command::new("rustup").args(["toolchain", "list"]).output();
    let listed = toolchains.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let found = listed.unwrap_or_default();
    let Some(name) = found.lines().filter_map(|l| l.split(' ').next()).find(|name| name.starts_with(oldest))
    else {
        return Ok(Done::Skipped(format!("rustup has no toolchain {oldest}")));
    };
    let target = files::target().join("msrv");
    let arguments = ["run", name, "cargo", "check", "--workspace", "--target-dir"];
    // Variables of the cargo that runs this task would select its own compiler.
    let mut command = Command::new("rustup");
    command
        .args(arguments)
        .arg(target)
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN");
    ensure!(command.current_dir(files::root()).status()?.success(), "{name} does not compile the workspace");
    Ok(Done::Passed)
}

/// Fast tests of the whole tool: they show that it still works, and what it prints.
const FAST: &[&str] = &[
    "bad_input::",
    "readme::",
    "corrupted::",
    "runtime::",
    "timers::",
    "cases::",
    "thread_names::",
    "views::",
];

pub fn quick(_: &Quick) -> Result<()> {
    let start = Instant::now();
    let crates = ["coyote-abi", "coyote-guest", "coyote-strategies", "coyote-instrumenter"];
    let mut test = vec!["test", "--release", "--quiet", "--lib", "--tests"];
    crates.iter().for_each(|name| test.extend(["-p", name]));
    cargo(&test, &[("COYOTE_SMITH", "100".into())])?;
    cargo(&["test", "--release", "--quiet", "-p", "coyote-wasm", "--lib"], &[])?;
    cargo(
        &[&["test", "--release", "--quiet", "-p", "coyote-wasm", "--test", "host", "--"], FAST].concat(),
        &[],
    )?;
    println!("{} s", start.elapsed().as_secs());
    Ok(())
}
