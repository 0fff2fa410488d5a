//! `cargo xtask crates`: programs with published crates, built for wasm32-wasip1-threads and tested.
//!
//! Each program of `examples/published` uses one crate, as it is published. Each is explored as it is, which
//! must find nothing, and with a planted mistake, which must be found. The results are in `docs/crates.json`;
//! the number of iterations and the seed are fixed, so that the file changes only if the tool or a program
//! changes.

use crate::command;
use crate::files;
use crate::guests::output;
use crate::guests::rust::{Target, cargo_in};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "examples/published";
const TABLE: &str = "docs/crates.json";
const ITERATIONS: &str = "2000";

/// Crates that need an unstable feature of a crate below them, which stable compilers allow with
/// RUSTC_BOOTSTRAP=1.
const UNSTABLE: [(&str, &str, &str); 2] =
    [("dashmap", "parking_lot/nightly", PARKING), ("parking_lot", "parking_lot/nightly", PARKING)];
const PARKING: &str = "parking_lot_core parks threads of this target only with its feature `nightly`, which stable \
                       compilers allow with `RUSTC_BOOTSTRAP=1`; without it a lock that has to wait panics";

/// Notes for users of other crates.
const NOTES: [(&str, &str); 3] = [
    ("event-listener", "no blocking calls on wasm: run futures, as `published::block_on` does in ten lines"),
    (
        "rayon",
        "has two threads, unless `RAYON_NUM_THREADS` or `ThreadPoolBuilder::num_threads` says otherwise",
    ),
    ("tokio", "more features with `--cfg tokio_unstable`, which `cargo coyote` sets: docs/tokio.md"),
];

/// Test programs that use published crates, and write what came out into docs/crates.json
#[derive(clap::Args)]
pub struct Arguments {
    /// A coyote-wasm that is there already, instead of one that is built
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
}

#[derive(Deserialize, Serialize)]
pub struct Table {
    version: u32,
    target: String,
    iterations: String,
    pub crates: Vec<Row>,
}

impl Table {
    pub fn read() -> Result<Table> {
        let text = files::read_text(&files::root().join(TABLE))?;
        serde_json::from_str(&text).with_context(|| format!("{TABLE} is damaged"))
    }
}

#[derive(Deserialize, Serialize)]
pub struct Row {
    pub name: String,
    pub version: String,
    /// A feature beyond the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    pub correct: Explored,
    pub broken: Explored,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Deserialize, Serialize)]
pub struct Explored {
    /// The verdict in the output of `coyote-wasm test --format json`.
    verdict: String,
    schedules: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bug: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let tool = command::tool(arguments.tool.as_deref())?;
    let mut crates = Vec::new();
    build(&["--bins"], &[])?;
    for (name, version) in dependencies()? {
        let note = NOTES.iter().find(|(noted, _)| *noted == name).map(|(_, note)| *note);
        crates.push(row(&tool, &name, &version, None, note)?);
    }
    for (name, feature, note) in UNSTABLE {
        build(&["--bin", name, "--features", feature], &[("RUSTC_BOOTSTRAP", "1")])?;
        let version = crates.iter().find(|row| row.name == name).map(|row| row.version.clone());
        let version = version.with_context(|| format!("{SOURCES} does not use {name}"))?;
        crates.push(row(&tool, name, &version, Some(feature), Some(note))?);
    }
    crates.sort_by(|a, b| (&a.name, &a.feature).cmp(&(&b.name, &b.feature)));
    for row in &crates {
        let feature = row.feature.as_ref().map_or(String::new(), |feature| format!(" ({feature})"));
        println!("{:32} {:20} {}", row.name.clone() + &feature, row.correct.verdict, row.broken.verdict);
    }
    let table =
        Table { version: 1, target: Target::Threads.triple().into(), iterations: ITERATIONS.into(), crates };
    files::write(&files::root().join(TABLE), serde_json::to_string_pretty(&table)? + "\n")
}

fn directory() -> PathBuf {
    files::root().join(SOURCES)
}

fn build(what: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let mut command = cargo_in(&directory());
    command
        .args(["build", "--quiet", "--release", "--locked", "--target", Target::Threads.triple()])
        .args(what);
    command.arg("--target-dir").arg(std::path::absolute(builds())?);
    output(command.envs(variables.iter().copied()))?;
    Ok(())
}

fn builds() -> PathBuf {
    files::target().join("published")
}

/// The crates that have a program, with their versions in the lock file.
fn dependencies() -> Result<BTreeMap<String, String>> {
    let mut command = cargo_in(&directory());
    let printed = output(command.args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_slice(&printed.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has packages")?;
    let programs = files::list(&directory().join("src/bin"))?;
    let mut versions = BTreeMap::new();
    for program in programs {
        let name = program.file_stem().context("a program has a name")?.to_string_lossy().into_owned();
        // The newest version, if other crates use an older one.
        let version =
            packages.iter().filter(|p| p["name"] == name.as_str()).filter_map(|p| p["version"].as_str());
        let version = version.max().with_context(|| format!("{SOURCES} does not use {name}"))?;
        versions.insert(name, version.to_string());
    }
    Ok(versions)
}

fn row(tool: &Path, name: &str, version: &str, feature: Option<&str>, note: Option<&str>) -> Result<Row> {
    let correct = explore(tool, name, &[])?;
    let broken = explore(tool, name, &["broken"])?;
    let (feature, note) = (feature.map(str::to_string), note.map(str::to_string));
    Ok(Row { name: name.into(), version: version.into(), feature, correct, broken, note })
}

fn explore(tool: &Path, name: &str, arguments: &[&str]) -> Result<Explored> {
    let module = builds().join(Target::Threads.triple()).join("release").join(name).with_extension("wasm");
    let mut command = Command::new(tool);
    command.arg("test").arg(std::path::absolute(module)?);
    command.args(["--seed", "0", "--iterations", ITERATIONS, "--format", "json", "--outdir"]);
    command.arg(std::path::absolute(builds().join("traces"))?).arg("--").args(arguments);
    let printed = command.output().with_context(|| format!("{} cannot be run", tool.display()))?;
    let Ok(run) = serde_json::from_slice::<Value>(&printed.stdout) else {
        bail!("{name} was not tested: {}", String::from_utf8_lossy(&printed.stderr).trim_end());
    };
    let test = &run["tests"][0];
    let statistics = ["fair", "unfair"].map(|kind| test["statistics"][kind]["explored"].as_u64());
    let schedules = statistics.into_iter().flatten().sum();
    let verdict = test["verdict"].as_str().context("a test has a verdict")?.to_string();
    Ok(Explored { verdict, schedules, bug: test["bugs"][0].is_object().then(|| bug(&test["bugs"][0])) })
}

/// The first line of the bug's report: a panic's message, if there is one.
fn bug(bug: &Value) -> String {
    let lines = bug["output"].as_array().into_iter().flatten().filter_map(|line| line["text"].as_str());
    let mut after = lines.skip_while(|line| !line.contains("panicked at ")).skip(1);
    let message = after.next().or(bug["message"].as_str()).unwrap_or_default();
    format!("{}: {message}", bug["kind"].as_str().unwrap_or_default())
}
