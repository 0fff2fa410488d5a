//! `cargo xtask samples`: how soon the mistakes of the samples are found, by seeds 0 to 99, and whether the
//! corrections pass; written to the table of examples/README.md.
//!
//! The table's first cell names the test, and the module if it is another one than in the row above. The columns
//! `kind`, `iteration` and `by` are written here, the others by hand. Everything is measured with default options and
//! one job, so that each figure depends on nothing but the version.

mod compare;

use crate::command;
use crate::files;
use anyhow::{Context, Result, bail, ensure};
use compare::Comparison;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The header of the table.
const HEADER: &str = "| test | after | what goes wrong | kind | iteration | by | Coyote's figure |";

/// Seeds, from 0.
const SEEDS: u64 = 100;

/// The time in which default options are to find a sample's mistake, in seconds.
const SECONDS_MAX: f64 = 60.0;

/// Iterations by default, which a correction passes.
const ITERATIONS: &str = "10000";

/// Measure how soon the mistakes of the samples are found, and write it to examples/README.md
#[derive(clap::Args)]
pub struct Arguments {
    /// A coyote-wasm that is there already, instead of one that is built
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Compare the table with what is measured, and write nothing
    #[arg(long)]
    check: bool,
    /// Leave the corrections out
    #[arg(long)]
    no_corrections: bool,
    /// Measure only the tests of these modules, and leave the other rows as they are
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    modules: Vec<String>,
    /// Compare these strategies instead, by seeds 0 to 19, and write nothing
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,
    /// The iterations after which a seed gives up, with --strategies
    #[arg(long, default_value_t = 1000, requires = "strategies")]
    iterations: u64,
    /// Compare them by these tests instead of those of the table
    #[arg(long, value_name = "MODULE:TEST", value_delimiter = ',', requires = "strategies")]
    tests: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let tool = command::tool(arguments.tool.as_deref())?;
    let path = files::root().join("examples/README.md");
    let text = files::read_text(&path)?;
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let header = lines.iter().position(|line| line == HEADER);
    let first = header.context("examples/README.md has no table of samples")? + 2;
    let comparison =
        Comparison { strategies: &arguments.strategies, seeds: 20, iterations: arguments.iterations };
    let compares = !arguments.strategies.is_empty();
    if compares {
        comparison.print_header();
    }
    for name in &arguments.tests {
        let (module, test) = name.split_once(':').context("--tests wants MODULE:TEST")?;
        comparison.print_row(&Sample { tool: &tool, module, test })?;
    }
    if !arguments.tests.is_empty() {
        return Ok(());
    }
    let mut module = String::new();
    for line in lines[first..].iter_mut().take_while(|line| line.starts_with('|')) {
        let mut cells: Vec<String> = line.trim_matches('|').split('|').map(|c| c.trim().into()).collect();
        ensure!(cells.len() == 7, "a row of samples has seven cells: {line}");
        let names: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
        let (own, test) = match names[..] {
            [own, test] => (Some(own), test.to_string()),
            [test] => (None, test.to_string()),
            _ => {
                bail!("a row of samples names a test, and its module if that is another one: {line}")
            }
        };
        module = own.map_or(module, String::from);
        if !arguments.modules.is_empty() && !arguments.modules.contains(&module) {
            continue;
        }
        let sample = Sample { tool: &tool, module: &module, test: &test };
        if compares {
            comparison.print_row(&sample)?;
            continue;
        }
        let found = sample.all_seeds()?;
        println!("{module} {test}: {}, at most {:.1} s", found.iterations(), found.seconds_max);
        ensure!(found.seconds_max < SECONDS_MAX, "{test} takes {:.0} s", found.seconds_max);
        (cells[3], cells[4], cells[5]) = (found.kind.clone(), found.iterations(), found.by());
        *line = format!("| {} |", cells.join(" | ")).replace("|  |", "| |");
        if !arguments.no_corrections {
            println!("{module} {}", sample.correction()?);
        }
    }
    if compares {
        return Ok(());
    }
    let written = lines.join("\n") + "\n";
    if arguments.check {
        ensure!(written == text, "the table of examples/README.md is out of date: run `cargo xtask samples`");
        return Ok(());
    }
    files::write(&path, written)
}

/// What is done with each seed below a number, in any order.
fn in_parallel<T: Send>(seeds: u64, explore: impl Fn(u64) -> Result<T> + Sync) -> Result<Vec<T>> {
    let (next, done) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return Ok(());
            }
            let explored = explore(seed)?;
            done.lock().expect("no thread panics").push(explored);
        }
    };
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
    })?;
    Ok(done.into_inner().expect("no thread panics"))
}

/// The tests of examples/expected.json.
fn expected() -> Result<Vec<Value>> {
    let text = files::read_text(&files::root().join("examples/expected.json"))?;
    let mut expected: Value = serde_json::from_str(&text)?;
    let tests = expected["tests"].as_array_mut().context("expected.json has tests")?;
    Ok(std::mem::take(tests))
}

/// A test with a mistake.
struct Sample<'a> {
    tool: &'a Path,
    module: &'a str,
    test: &'a str,
}

/// What all seeds found.
struct Found {
    kind: String,
    /// The iterations in which seeds found it, ascending.
    iterations: Vec<u64>,
    /// How often a strategy was the first to find it.
    by: BTreeMap<String, u64>,
    seconds_max: f64,
}

impl Found {
    /// Median and maximum.
    fn iterations(&self) -> String {
        let (low, high) =
            (self.iterations[(self.iterations.len() - 1) / 2], self.iterations[self.iterations.len() / 2]);
        let half = if (low + high) % 2 == 0 { "" } else { ".5" };
        format!("{}{half}, {}", (low + high) / 2, self.iterations[self.iterations.len() - 1])
    }

    /// The strategy that found it most often; of several, the first by name.
    fn by(&self) -> String {
        let most = self.by.iter().rev().max_by_key(|(_, times)| **times).expect("there is a seed");
        format!("`{}` {}", most.0, most.1)
    }
}

impl Sample<'_> {
    /// Runs one test of the module and returns its part of the report. Each seed has a directory of its own.
    fn explored(&self, test: &str, seed: u64, options: &[&str]) -> Result<Value> {
        let module = std::path::absolute(files::root().join(format!("examples/wasm/{}.wasm", self.module)))?;
        let output = files::target().join(format!("samples/{seed}"));
        std::fs::create_dir_all(&output)?;
        let mut command = Command::new(self.tool);
        command.arg("test").arg(module).args(["--test", test, "-j", "1", "--format", "json"]);
        command.args(["--seed", &seed.to_string()]).args(options);
        let ended = command.current_dir(&output).output().context("coyote-wasm cannot be started")?;
        let report: Value = serde_json::from_slice(&ended.stdout)
            .with_context(|| format!("{test}: {}", String::from_utf8_lossy(&ended.stderr)))?;
        Ok(report["tests"][0].clone())
    }

    fn all_seeds(&self) -> Result<Found> {
        let found = in_parallel(SEEDS, |seed| {
            // Without a bound on time.
            let options = ["-i", ITERATIONS, "--no-shrink", "--no-experiments"];
            let test = self.explored(self.test, seed, &options)?;
            ensure!(!test["bugs"][0].is_null(), "{} finds no bug with seed {seed}", self.test);
            Ok(test)
        })?;
        let of = |key: &str| found.iter().map(|test| &test["bugs"][0][key]).collect::<Vec<_>>();
        let kind = of("kind")[0].as_str().context("a bug has a kind")?.to_string();
        ensure!(of("kind").iter().all(|other| **other == kind), "{} has several kinds of bug", self.test);
        let mut iterations: Vec<u64> = of("iteration").iter().filter_map(|i| i.as_u64()).collect();
        iterations.sort();
        let mut by = BTreeMap::new();
        for strategy in of("found_by").iter().filter_map(|strategy| strategy.as_str()) {
            *by.entry(strategy.to_string()).or_default() += 1;
        }
        let seconds = found.iter().filter_map(|test| test["elapsed_seconds"].as_f64());
        Ok(Found { kind, iterations, by, seconds_max: seconds.fold(0.0, f64::max) })
    }

    /// The options that its run needs by examples/expected.json.
    fn expected_options(&self) -> Result<Vec<String>> {
        let is_it = |test: &&Value| test["module"] == self.module && test["test"] == self.test;
        let tests = expected()?;
        let test = tests.iter().find(is_it).with_context(|| format!("{} is not expected", self.test))?;
        let options = test["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(options.iter().filter_map(|option| option.as_str().map(String::from)).collect())
    }

    /// Runs the correction, and says how long it took.
    fn correction(&self) -> Result<String> {
        let tests = expected()?;
        let names = [format!("{}_fixed", self.test), format!("{}_notify_all", self.test)];
        let is_there = |name: &&String| {
            tests.iter().any(|test| test["module"] == self.module && test["test"] == name.as_str())
        };
        let name = names.iter().find(is_there).with_context(|| format!("{} has no correction", self.test))?;
        let test = self.explored(name, 0, &["-i", ITERATIONS])?;
        ensure!(test["verdict"] == "not found", "{name}: {}", test["verdict"]);
        let seconds = test["elapsed_seconds"].as_f64().context("a test takes time")?;
        Ok(format!("{name}: {ITERATIONS} iterations in {seconds:.1} s"))
    }
}
