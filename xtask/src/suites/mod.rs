//! `cargo xtask suites`: test suites of published crates, run as their maintainers would by `cargo coyote test`.
//!
//! An independent oracle, as the tests of std are: a failure is a bug of the crate, a known limit of this
//! tool, or a mistake in it. The crates, and the reasons why tests of them fail, are in `suites.json`; the
//! results are in `docs/suites.json`, from which the page `docs/suites.md` is made. Sources are copied from
//! cargo's registry and not changed.
//!
//! - [`results`]: the results of a suite.
//! - [`page`]: the table.

mod page;
mod results;

use crate::command::{cargo, program};
use crate::files;
use anyhow::{Context, Result, bail};
use results::Row;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

const LIST: &str = "xtask/src/suites/suites.json";
const RESULTS: &str = "docs/suites.json";
const PAGE: &str = "docs/suites.md";

/// Explore the test suites of published crates, and write what came out into docs/suites.md
#[derive(clap::Args)]
pub struct Arguments {
    /// Only these crates; the rows of the others stay as they are
    #[arg(value_name = "CRATE")]
    only: Vec<String>,
    /// Seconds for each test
    #[arg(long, default_value_t = 2)]
    timeout: u32,
    /// A folder with coyote-wasm and cargo-coyote, instead of those that are built
    #[arg(long, value_name = "FOLDER")]
    tools: Option<PathBuf>,
    /// Only make the page anew
    #[arg(long)]
    page: bool,
}

#[derive(Deserialize)]
struct List {
    suites: Vec<Suite>,
    causes: Vec<Cause>,
}

/// A crate whose tests are run.
#[derive(Deserialize)]
struct Suite {
    name: String,
    version: String,
    /// Arguments of `cargo coyote test`, such as features.
    #[serde(default)]
    arguments: Vec<String>,
}

/// The reason why tests end as they do, which is of interest to the crate's maintainer.
#[derive(Deserialize)]
struct Cause {
    /// `CRATE::TEST`, with at most one `*`.
    tests: Vec<String>,
    /// The beginning of the message.
    #[serde(default)]
    message: String,
    why: String,
}

#[derive(Default, Deserialize, Serialize)]
struct Results {
    timeout: u32,
    rows: BTreeMap<String, Row>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let list: List = serde_json::from_str(&files::read_text(&files::root().join(LIST))?).context(LIST)?;
    let stored = files::root().join(RESULTS);
    let mut results: Results = match stored.is_file() {
        true => serde_json::from_str(&files::read_text(&stored)?).context(RESULTS)?,
        false => Results::default(),
    };
    if !arguments.page {
        results.timeout = arguments.timeout;
        explore(arguments, &list, &mut results, &stored)?;
    }
    files::write(&files::root().join(PAGE), page::page(&results, &list.causes)?)?;
    for unexplained in page::unexplained(&results, &list.causes) {
        println!("not explained in {LIST}: {unexplained}");
    }
    Ok(())
}

fn explore(arguments: &Arguments, list: &List, results: &mut Results, stored: &Path) -> Result<()> {
    let tools = match &arguments.tools {
        Some(tools) => std::path::absolute(tools)?,
        None => {
            cargo(&["build", "--release", "-p", "coyote-wasm", "--bins"], &[])?;
            std::path::absolute(files::target().join("release"))?
        }
    };
    let wanted = |suite: &&Suite| arguments.only.is_empty() || arguments.only.contains(&suite.name);
    let suites: Vec<&Suite> = list.suites.iter().filter(wanted).collect();
    if suites.is_empty() {
        bail!("{LIST} has none of these crates");
    }
    let places = fetch(&list.suites)?;
    for suite in suites {
        let source =
            places.get(&suite.name).with_context(|| format!("cargo did not fetch {}", suite.name))?;
        let row = row(arguments, suite, source, &tools)?;
        println!("{}", row.line(&suite.name));
        results.rows.insert(suite.name.clone(), row);
        // Results are stored after each suite, in case the run is interrupted.
        files::write(stored, serde_json::to_string_pretty(results)? + "\n")?;
    }
    Ok(())
}

fn directory() -> PathBuf {
    files::target().join("suites")
}

/// Makes cargo fetch the crates; returns the directory of each.
fn fetch(suites: &[Suite]) -> Result<BTreeMap<String, PathBuf>> {
    let folder = directory().join("fetch");
    let dependencies: String =
        suites.iter().map(|suite| format!("{} = \"={}\"\n", suite.name, suite.version)).collect();
    let manifest = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n{dependencies}"
    );
    files::write(&folder.join("Cargo.toml"), manifest)?;
    files::write(&folder.join("lib.rs"), "")?;
    let mut command = Command::new(program());
    command.args(["metadata", "--format-version", "1"]).current_dir(&folder);
    let printed = command.stderr(Stdio::inherit()).output().context("cargo cannot be started")?;
    let metadata: Value = serde_json::from_slice(&printed.stdout).context("the crates cannot be fetched")?;
    let packages = metadata["packages"].as_array().context("cargo's metadata has packages")?;
    let mut places = BTreeMap::new();
    for suite in suites {
        let is = |p: &&Value| p["name"] == suite.name.as_str() && p["version"] == suite.version.as_str();
        let package = packages.iter().find(is).with_context(|| format!("there is no {}", suite.name))?;
        let manifest = Path::new(package["manifest_path"].as_str().context("a package has a manifest")?);
        let source = manifest.parent().context("a manifest is in a folder")?;
        let copy = directory().join(format!("{}-{}", suite.name, suite.version));
        for file in files::files_under(source)? {
            let name = file.strip_prefix(source)?;
            // The toolchain of the crate's developers is not the one to be tested here, and is not installed.
            if !copy.join(name).is_file()
                && !name.starts_with("rust-toolchain")
                && name != Path::new("rust-toolchain.toml")
            {
                files::write(&copy.join(name), files::read(&file)?)?;
            }
        }
        places.insert(suite.name.clone(), copy);
    }
    Ok(places)
}

fn row(arguments: &Arguments, suite: &Suite, source: &Path, tools: &Path) -> Result<Row> {
    let call = |more: &[&str]| {
        let mut command = Command::new(tools.join("cargo-coyote"));
        command.args(["coyote", "test", "--unwind", "--no-fail-fast"]).args(&suite.arguments);
        command.arg("--target-dir").arg(std::path::absolute(directory().join("build"))?);
        let ended = command.args(more).current_dir(source).output();
        ended.with_context(|| format!("{} cannot be run", tools.display()))
    };
    let mut row =
        Row { version: suite.version.clone(), arguments: suite.arguments.clone(), ..Row::default() };
    let start = Instant::now();
    let built = call(&["--no-run"])?;
    row.building = start.elapsed().as_secs();
    let said = String::from_utf8_lossy(&built.stderr);
    let binaries = said.lines().filter(|line| line.trim_start().starts_with("Executable ")).count();
    if binaries == 0 {
        keep(suite, &built)?;
        let error = said.lines().find(|line| line.starts_with("error"));
        row.not_run = Some(error.unwrap_or("nothing was built").to_string());
        return Ok(row);
    }
    let (timeout, out) = (arguments.timeout.to_string(), std::path::absolute(directory().join("out"))?);
    let start = Instant::now();
    let options = ["--", "--seed", "0", "--format", "json", "--no-shrink", "--timeout", &timeout];
    let out = out.to_string_lossy();
    let ended = call(&[&options[..], &["--outdir", &out]].concat())?;
    row.seconds = start.elapsed().as_secs();
    keep(suite, &ended)?;
    let runs = serde_json::Deserializer::from_slice(&ended.stdout).into_iter::<Value>();
    for run in runs.map_while(std::result::Result::ok) {
        row.binaries += 1;
        row.add(&run);
    }
    // A binary that ended without any output is a mistake of this tool, as is one that is missing.
    row.missing = binaries.saturating_sub(row.binaries);
    Ok(row)
}

/// Stores the output, for those who examine a failure.
fn keep(suite: &Suite, ended: &Output) -> Result<()> {
    let logs = directory().join("logs");
    files::write(&logs.join(format!("{}.json", suite.name)), &ended.stdout)?;
    files::write(&logs.join(format!("{}.log", suite.name)), &ended.stderr)
}
