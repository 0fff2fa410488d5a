//! Measures two versions of the tool in one run: the present one, and that of a revision.
//!
//! Each row is a command that executes the same work in both versions, in turns. Times are CPU seconds of the
//! whole process, with modules from the cache; printed are the ratio of their medians, and the range of the
//! middle half of the ratios of the turns. If the versions execute different numbers of steps, as after a
//! repair of a search, the ratio is of the time per step. Neither looks for data races, which older versions cannot
//! look for in some iterations.

use super::number;
use crate::command;
use crate::files::{root, target};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wait4::Wait4;

/// A row: the module, the test, and the options of the run.
struct Row {
    module: &'static str,
    test: &'static str,
    options: &'static str,
}

const fn row(module: &'static str, test: &'static str, options: &'static str) -> Row {
    Row { module, test, options }
}

/// Tests without a bug, and searches that are exhausted: the work does not depend on chance.
const ROWS: &[Row] = &[
    row("bounded_buffer", "minimal_notify_all", "-s random -i 40000"),
    row("bounded_buffer", "minimal_notify_all", "-s pct -i 40000"),
    row("bounded_buffer", "minimal_notify_all", "-s pos -i 40000"),
    row("bounded_buffer", "minimal_notify_all", "-s surw -i 40000"),
    row("bounded_buffer", "minimal_notify_all", "-i 40000"),
    row("bounded_buffer", "minimal_notify_all", "-i 40000 --points sync"),
    row("std_threads_fixed", "main", "-i 1500"),
    row("crossbeam_channel_0_5_8", "main", "-i 300"),
    row("flume_0_11_0", "main", "-i 300"),
    row("counts", "rmw_2x8", "-s dpor"),
    row("counts", "rmw_3x4", "-s dpor"),
    row("counts", "rmw_2x8", "-s dfs"),
    row("counts", "rmw_2x8", "-s dfs+hb"),
    row("counts", "rmw_2x8", "-s ses"),
    row("counts", "rmw_3x4", "-s stateful"),
    row("bounded_buffer", "minimal_notify_all", "-s dpor"),
    row("bounded_buffer", "minimal_notify_all", "-s stateful"),
];

/// CPU seconds and steps of a run.
struct Run {
    cpu_s: f64,
    steps: f64,
}

/// Builds both versions and measures them.
pub fn run(revision: &str, turns: usize) -> Result<()> {
    let directory = std::path::absolute(target())?.join("against");
    let before = match std::path::absolute(revision)? {
        tool if tool.is_file() => tool,
        _ => build_of(revision, &directory)?,
    };
    command::cargo(&["build", "--profile", "bench", "-p", "coyote-wasm", "--bin", "coyote-wasm"], &[])?;
    let here = std::path::absolute(target())?.join("release/coyote-wasm");
    println!(
        "{:<24} {:<42} {:>10} {:>10} {:>7}  spread",
        "module", "options", "before us", "now us", "ratio"
    );
    let versions = [Version::new(before, &directory.join("0"))?, Version::new(here, &directory.join("1"))?];
    for row in ROWS {
        measure(row, &versions, turns)?;
    }
    Ok(())
}

/// One of the two versions.
struct Version {
    tool: PathBuf,
    /// The directory of its cache and output.
    directory: PathBuf,
    /// Options that turn off what older versions do not do.
    options: &'static [&'static str],
}

impl Version {
    fn new(tool: PathBuf, directory: &Path) -> Result<Version> {
        let help = Command::new(&tool).args(["test", "--help"]).output();
        let help = help.with_context(|| format!("{} cannot be started", tool.display()))?;
        let has_races = String::from_utf8_lossy(&help.stdout).contains("--races");
        let options = if has_races { &["--races", "off"][..] } else { &[] };
        Ok(Version { tool, directory: directory.into(), options })
    }
}

/// The tool at a revision, built as the present one is.
fn build_of(revision: &str, directory: &Path) -> Result<PathBuf> {
    let sources = directory.join("sources");
    if !sources.exists() {
        let sources = sources.to_str().context("the path of the workspace is text")?;
        git(&["worktree", "add", "--detach", "--force", sources, revision])?;
    }
    let sources = sources.to_str().context("the path of the workspace is text")?;
    git(&["-C", sources, "checkout", "--quiet", "--detach", revision])?;
    let status = Command::new(command::program())
        .args(["build", "--profile", "bench", "-p", "coyote-wasm", "--bin", "coyote-wasm", "--target-dir"])
        .arg(directory.join("target"))
        .current_dir(sources)
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "revision {revision} does not build");
    Ok(directory.join("target/release/coyote-wasm"))
}

fn git(arguments: &[&str]) -> Result<()> {
    let status = Command::new("git").args(arguments).status().context("git cannot be started")?;
    ensure!(status.success(), "git {} failed", arguments.join(" "));
    Ok(())
}

fn measure(row: &Row, versions: &[Version; 2], turns: usize) -> Result<()> {
    let mut runs: [Vec<Run>; 2] = Default::default();
    for turn in 0..=turns {
        for (version, runs) in versions.iter().zip(&mut runs) {
            let run = once(row, version)?;
            // The first run fills the cache of modules.
            if turn > 0 {
                runs.push(run);
            }
        }
    }
    let per_step = |run: &Run| run.cpu_s * 1e6 / run.steps;
    let [before, now] = &runs;
    let mut ratios: Vec<f64> = before.iter().zip(now).map(|(b, n)| per_step(n) / per_step(b)).collect();
    ratios.sort_by(f64::total_cmp);
    let median = |runs: &[Run]| {
        let mut times: Vec<f64> = runs.iter().map(per_step).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let (was, is) = (median(before), median(now));
    let steps = if before[0].steps == now[0].steps { "" } else { "  other steps" };
    println!(
        "{:<24} {:<42} {was:>10.4} {is:>10.4} {:>7.3}  {:.3}..{:.3}{steps}",
        row.module,
        format!("{} {}", row.test, row.options).trim(),
        is / was,
        ratios[ratios.len() / 4],
        ratios[ratios.len() * 3 / 4],
    );
    Ok(())
}

/// One run of one version.
fn once(row: &Row, version: &Version) -> Result<Run> {
    let Version { tool, directory, options } = version;
    let module = root().join("examples/wasm").join(row.module).with_extension("wasm");
    let mut command = Command::new(tool);
    command.arg("test").arg(&module);
    if !row.test.is_empty() {
        command.args(["--test", row.test]);
    }
    command.args(["--seed", "1", "-j", "1", "--format", "json", "--outdir"]).arg(directory.join("output"));
    command
        .args(*options)
        .args(row.options.split_whitespace())
        .env("COYOTE_CACHE_DIR", directory.join("cache"));
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("a version cannot be started")?;
    let mut printed = Vec::new();
    child.stdout.take().context("its output is read")?.read_to_end(&mut printed)?;
    let ended = child.wait4()?;
    let report: Value = serde_json::from_slice(&printed)
        .with_context(|| format!("{} prints no report of {} {}", tool.display(), row.module, row.options))?;
    ensure!(ended.status.success(), "{} {} {} has a bug", row.module, row.test, row.options);
    let cpu = ended.rusage.utime + ended.rusage.stime;
    Ok(Run { cpu_s: cpu.as_secs_f64(), steps: steps(&report) })
}

/// Steps of all executions.
fn steps(report: &Value) -> f64 {
    let tests = report["tests"].as_array().map(Vec::as_slice).unwrap_or_default();
    tests.iter().map(steps_of).sum()
}

fn steps_of(test: &Value) -> f64 {
    let counts = &test["search"]["counts"];
    if counts.is_object() {
        return number(counts, "steps");
    }
    let kinds = ["fair", "unfair"].map(|kind| number(&test["statistics"][kind]["steps"], "total"));
    kinds.iter().filter(|total| total.is_finite()).sum()
}
