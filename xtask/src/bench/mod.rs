//! `cargo xtask bench`: measures the engine, next to Shuttle on the same machine in the same run; or, with
//! `--against`, next to another version of itself.

mod against;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Measure the engine and its peers, and print the ratios
#[derive(clap::Args)]
pub struct Arguments {
    /// Leave the peers out
    #[arg(long)]
    alone: bool,
    /// Print the measurements as JSON lines too
    #[arg(long)]
    json: bool,
    /// Measure searches and samplers of this version and of a revision, or of a binary, in turns, and nothing else
    #[arg(long, value_name = "REVISION")]
    against: Option<String>,
    /// Turns of --against
    #[arg(long, default_value_t = 7, requires = "against")]
    turns: usize,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(revision) = &arguments.against {
        return against::run(revision, arguments.turns.max(1));
    }
    let mut lines = measure(&[
        "bench",
        "-p",
        "coyote-wasm",
        "--bench",
        "engine",
        "--bench",
        "searches",
        "--bench",
        "sharing",
    ])?;
    if !arguments.alone {
        lines.extend(measure(&["run", "--release", "--quiet", "--manifest-path", "bench/Cargo.toml"])?);
    }
    if arguments.json {
        lines.iter().for_each(|line| println!("{line}"));
    }
    schedules(&lines);
    costs(&lines);
    searches(&lines);
    preparation(&lines);
    sharing(&lines);
    Ok(())
}

/// Runs a benchmark with cargo and returns its JSON lines.
fn measure(arguments: &[&str]) -> Result<Vec<Value>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "cargo {} failed", arguments.join(" "));
    let text = String::from_utf8(output.stdout).context("a benchmark prints text")?;
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).with_context(|| format!("a benchmark printed {line}")))
        .collect()
}

fn number(line: &Value, key: &str) -> f64 {
    line[key].as_f64().unwrap_or(f64::NAN)
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line[key].as_str().unwrap_or("")
}

/// The same programs under all engines; ratios are to Shuttle, and more is better for this engine.
fn schedules(lines: &[Value]) {
    let programs = lines.iter().filter(|l| !l["schedules_per_second"].is_null());
    println!(
        "{:<18} {:<12} {:<6} {:>12} {:>10} {:>12} {:>12} {:>12}",
        "program",
        "engine",
        "points",
        "schedules/s",
        "decisions",
        "ns/decision",
        "x schedules",
        "x decisions"
    );
    for line in programs {
        let peer = lines.iter().find(|l| text(l, "engine") == "shuttle" && l["name"] == line["name"]);
        let ratio = |key: &str, ours_over_theirs: bool| match peer {
            Some(peer) if text(line, "engine") != "shuttle" => {
                let ratio = number(line, key) / number(peer, key);
                format!("{:.2}", if ours_over_theirs { ratio } else { 1.0 / ratio })
            }
            _ => String::new(),
        };
        println!(
            "{:<18} {:<12} {:<6} {:>12.0} {:>10.1} {:>12.1} {:>12} {:>12}",
            text(line, "name"),
            text(line, "engine"),
            text(line, "points"),
            number(line, "schedules_per_second"),
            number(line, "decisions_per_schedule"),
            number(line, "ns_per_decision"),
            ratio("schedules_per_second", true),
            ratio("ns_per_decision", false),
        );
    }
}

/// Single costs, with the design's target figures.
fn costs(lines: &[Value]) {
    println!();
    for line in lines {
        match text(line, "name") {
            name if name.starts_with("decision with") => {
                let target = match (name, text(line, "test")) {
                    ("decision without a switch", _) => " (target: 15)",
                    (_, "depth5") => " (target: 100)",
                    _ => "",
                };
                println!("{name}, {}: {:.1} ns{target}", text(line, "test"), number(line, "ns_per_decision"));
            }
            "restore" => println!("restore of a small guest: {:.0} ns (target: 1000)", number(line, "ns")),
            "slow-down" => println!(
                "one worker computing, against plain wasmtime, points {}: {:.2} x",
                text(line, "points"),
                number(line, "times_plain")
            ),
            _ => {}
        }
    }
}

/// The cost of exhaustive search, and its gain from snapshots.
fn searches(lines: &[Value]) {
    println!();
    for line in lines {
        match text(line, "name") {
            "exhaustive" => println!(
                "all {} executions of {}: {:.1} us each (target: {})",
                number(line, "executions"),
                text(line, "test"),
                number(line, "us_per_execution"),
                number(line, "target_us")
            ),
            "prefixes" => {
                let (with, without) = (
                    number(line, "executions_per_second_shared"),
                    number(line, "executions_per_second_again"),
                );
                println!(
                    "{} behind {} steps: {with:.0} executions/s of {:.1} steps with snapshots, {without:.0} of \
                     {:.1} without: {:.1} x",
                    text(line, "strategy"),
                    number(line, "depth"),
                    number(line, "steps_per_execution_shared"),
                    number(line, "steps_per_execution_again"),
                    with / without
                );
            }
            _ => {}
        }
    }
}

fn preparation(lines: &[Value]) {
    println!();
    println!(
        "{:<28} {:<6} {:>10} {:>12} {:>8} {:>14} {:>12}",
        "module", "points", "bytes", "instrumented", "sites", "instrument ms", "compile ms"
    );
    for line in lines.iter().filter(|l| text(l, "name") == "preparation") {
        println!(
            "{:<28} {:<6} {:>10} {:>12} {:>8} {:>14.1} {:>12.1}",
            text(line, "module"),
            text(line, "points"),
            number(line, "bytes"),
            number(line, "instrumented_bytes"),
            number(line, "sites"),
            number(line, "instrument_ms"),
            number(line, "compile_ms")
        );
    }
}

/// Points where memory is shared, compared with points everywhere.
fn sharing(lines: &[Value]) {
    println!();
    println!(
        "{:<20} {:>10} {:>12} {:>8} {:>8} {:>10} {:>12}",
        "points where shared", "steps, all", "steps, shared", "granules", "repeats", "us, all", "us, shared"
    );
    for line in lines.iter().filter(|l| text(l, "name") == "sharing") {
        println!(
            "{:<20} {:>10.0} {:>12.0} {:>8} {:>8} {:>10.1} {:>12.1}",
            text(line, "module"),
            number(line, "steps_all"),
            number(line, "steps_shared"),
            number(line, "granules_shared"),
            number(line, "repeats"),
            number(line, "us_all"),
            number(line, "us_shared")
        );
    }
}
