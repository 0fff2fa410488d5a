//! `cargo xtask soak alarms`: correct examples under every strategy with all detectors, of which none may report
//! anything.
//!
//! A test of examples/expected.json is correct if nothing is found in it, also no data race: those that need
//! `--races off` are not. Each is explored with one job and seed 0, with the options of expected.json. Results are
//! lines of a file, by strategy; a run that is interrupted goes on where it was, and a longer `--timeout` repeats
//! only tests that a shorter one cut off.

use crate::command;
use crate::files;
use anyhow::{Context, Result, bail};
use coyote_strategies::catalog::{SAMPLERS, SEARCHES};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All detectors that are not always on, but for leaks, which tests ask for.
const DETECTORS: &str = "memory-errors,use-after-return,races,lock-order,lassos,starvation,good-samaritan";

/// The detectors that are tried to be left out where coyote-wasm refuses to begin.
const REFUSED: [&str; 3] = ["", "races", "races,lassos,starvation,good-samaritan"];

/// Combinations of strategies, beside those of the catalog.
const COMBINATIONS: [&str; 2] = ["pct+chess-fair", "fair-pct"];

/// Bounds of searches that have one.
const BOUNDED: [&str; 2] = ["preemption-bounding", "delay-bounding"];

/// What detectors rightly say about correct examples.
const KNOWN: [Known; 2] = [
    Known { module: "bounded_buffer", test: "minimal_signal_before_wait", kind: "starvation", why: SIGNAL },
    Known {
        module: "bounded_buffer",
        test: "random_config_signal_before_wait",
        kind: "starvation",
        why: SIGNAL,
    },
];
const SIGNAL: &str =
    "workers of one kind can wake each other for ever, so that one of the other kind starves";

/// Explore the correct examples under every strategy with all detectors; a report is a failure
#[derive(clap::Args)]
pub struct Arguments {
    /// A coyote-wasm that is there already, instead of one that is built
    #[arg(long, value_name = "FILE")]
    tool: Option<PathBuf>,
    /// Iterations of each test and strategy
    #[arg(short, long, default_value_t = 10_000)]
    iterations: u64,
    /// Seconds for each test and strategy
    #[arg(short, long, default_value_t = 100.0)]
    timeout: f64,
    /// The detectors that are on. Those of rounds (the last three) take 30 times as long as all others together
    #[arg(short, long, value_name = "NAMES", default_value = DETECTORS)]
    detect: String,
    /// Only these strategies [default: all of the catalog]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,
    /// Only tests of these modules
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    modules: Vec<String>,
    /// The file with the results [default: soak/alarms.jsonl in cargo's target directory]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Explore nothing: print what is in the file
    #[arg(long)]
    table: bool,
}

/// A report that is right by the definition of its detector, though the example is correct.
struct Known {
    module: &'static str,
    test: &'static str,
    kind: &'static str,
    why: &'static str,
}

/// A test of expected.json.
#[derive(Deserialize)]
struct Expected {
    module: String,
    test: String,
    verdict: String,
    #[serde(default)]
    options: Vec<String>,
}

/// What one strategy said about one test.
#[derive(Deserialize, Serialize)]
struct Line {
    detectors: String,
    /// Those of them that could not see anything.
    #[serde(default)]
    left_out: String,
    strategy: String,
    module: String,
    test: String,
    /// The seconds that it was given.
    timeout: f64,
    seconds: f64,
    iterations: u64,
    /// Whether all iterations were executed, or all schedules.
    whole: bool,
    verdict: String,
    alarms: Vec<Alarm>,
}

/// A report: of a bug, or of a potential deadlock.
#[derive(Deserialize, Serialize)]
struct Alarm {
    kind: String,
    message: String,
    trace: Option<String>,
}

/// Tests by module and options.
type Modules = BTreeMap<(String, Vec<String>), Vec<String>>;

/// The results with some detectors, by strategy, module and test; of several, the longest.
type Results = BTreeMap<(String, String, String), Line>;

pub fn run(arguments: &Arguments) -> Result<()> {
    let path = arguments.results.clone().unwrap_or_else(|| files::target().join("soak/alarms.jsonl"));
    let strategies = match arguments.strategies.is_empty() {
        true => strategies(),
        false => arguments.strategies.clone(),
    };
    let mut results = read(&path, &arguments.detect)?;
    if !arguments.table {
        let tool = command::tool(arguments.tool.as_deref())?;
        let modules = correct(&arguments.modules)?;
        for strategy in &strategies {
            for ((module, options), tests) in &modules {
                let job = Job { arguments, tool: &tool, strategy, module, options };
                job.explore(tests, &path, &mut results)?;
            }
            println!("{}", row(strategy, &results, arguments.iterations));
        }
    }
    report(&strategies, &results, arguments.iterations)
}

/// The names of all strategies, and combinations.
fn strategies() -> Vec<String> {
    let samplers = SAMPLERS.iter().map(|sampler| sampler.entry.name.into());
    let searches = SEARCHES.iter().map(|search| match BOUNDED.contains(&search.name) {
        true => format!("{}:2", search.name),
        false => search.name.into(),
    });
    samplers.chain(COMBINATIONS.map(String::from)).chain(searches).collect()
}

/// The correct tests, by module and options, of these modules or of all.
fn correct(only: &[String]) -> Result<Modules> {
    #[derive(Deserialize)]
    struct Index {
        tests: Vec<Expected>,
    }
    let text = files::read_text(&files::root().join("examples/expected.json"))?;
    let index: Index = serde_json::from_str(&text).context("expected.json is damaged")?;
    let mut modules = Modules::new();
    for expected in index.tests {
        let races_off = expected.options.windows(2).any(|pair| pair == ["--races", "off"]);
        let wanted = only.is_empty() || only.contains(&expected.module);
        if expected.verdict == "passed" && !races_off && wanted {
            modules.entry((expected.module, expected.options)).or_default().push(expected.test);
        }
    }
    Ok(modules)
}

fn read(path: &Path, detectors: &str) -> Result<Results> {
    let mut results = Results::new();
    let text = match path.exists() {
        true => files::read_text(path)?,
        false => String::new(),
    };
    for line in text.lines() {
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("{} is damaged: delete it", path.display()))?;
        if line.detectors == detectors {
            add(line, &mut results);
        }
    }
    Ok(results)
}

fn add(line: Line, results: &mut Results) {
    let key = (line.strategy.clone(), line.module.clone(), line.test.clone());
    if results.get(&key).is_none_or(|old| old.timeout <= line.timeout) {
        results.insert(key, line);
    }
}

/// Tests of one module with the same options, under one strategy.
struct Job<'a> {
    arguments: &'a Arguments,
    tool: &'a Path,
    strategy: &'a str,
    module: &'a str,
    options: &'a [String],
}

impl Job<'_> {
    /// Explores those of the tests of which nothing is known yet, and adds their lines to the results and their file.
    fn explore(&self, tests: &[String], path: &Path, results: &mut Results) -> Result<()> {
        let is_known = |test: &&String| {
            let key = (self.strategy.into(), self.module.into(), test.to_string());
            results.get(&key).is_some_and(|line| {
                line.timeout >= self.arguments.timeout
                    || !line.alarms.is_empty()
                    || line.whole && line.iterations >= self.arguments.iterations
                    || line.verdict == "proved"
            })
        };
        let left: Vec<&String> = tests.iter().filter(|test| !is_known(test)).collect();
        if left.is_empty() {
            return Ok(());
        }
        let (report, left_out) = self.executed(&left)?;
        let lines = report["tests"].as_array().context("a report has tests")?;
        std::fs::create_dir_all(path.parent().context("a file has a directory")?)?;
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        for test in lines {
            let line = self.line(test, left_out)?;
            writeln!(file, "{}", serde_json::to_string(&line)?)?;
            for alarm in &line.alarms {
                print_alarm(&line, alarm);
            }
            add(line, results);
        }
        Ok(())
    }

    /// The report of coyote-wasm about these tests, and the detectors that it refused, which can see nothing in the module
    /// or with its options.
    fn executed(&self, tests: &[&String]) -> Result<(Value, &'static str)> {
        let mut said = String::new();
        for left_out in REFUSED {
            let output = self.command(tests, left_out).output().context("coyote-wasm cannot be started")?;
            said = String::from_utf8_lossy(&output.stderr).into();
            if let Ok(report) = serde_json::from_slice::<Value>(&output.stdout)
                && report["tests"].as_array().is_some_and(|explored| !explored.is_empty())
            {
                return Ok((report, left_out));
            }
        }
        bail!("{} {} by {}: {said}", self.module, tests[0], self.strategy)
    }

    fn command(&self, tests: &[&String], left_out: &str) -> Command {
        let given = self.arguments;
        let module = files::root().join(format!("examples/wasm/{}.wasm", self.module));
        let traces = files::target().join("soak/traces").join(self.strategy.replace([':', '+'], "-"));
        let mut command = Command::new(self.tool);
        command.arg("test").arg(module).args(["--format", "json", "-j", "1", "--seed", "0"]);
        command.args(["--explore", "--no-shrink", "--no-experiments"]);
        command.args(["-s", self.strategy, "--detect", &given.detect]);
        command.args(["-i", &given.iterations.to_string()]).arg("--outdir").arg(traces);
        command.args(["--timeout", &given.timeout.to_string(), "--search-memory", "1000"]);
        command.args(self.options).args(tests.iter().flat_map(|test| ["--test", test]));
        if !left_out.is_empty() {
            command.args(["--no-detect", left_out]);
        }
        command
    }

    /// What the report says about a test.
    fn line(&self, test: &Value, left_out: &str) -> Result<Line> {
        let text = |value: &Value| value.as_str().map(String::from);
        let explored = |way: &str| test["statistics"][way]["explored"].as_u64().unwrap_or(0);
        let executions = test["search"]["counts"]["executions"].as_u64().unwrap_or(0);
        let bugs = test["bugs"].as_array().context("a test has bugs")?.iter().map(|bug| Alarm {
            kind: text(&bug["kind"]).unwrap_or_default(),
            message: text(&bug["message"]).unwrap_or_default(),
            trace: text(&bug["trace"]),
        });
        let notes = test["notes"].as_array().context("a test has notes")?.iter().filter_map(text);
        let potential = notes.filter(|note| note.starts_with("Potential deadlock"));
        let potential =
            potential.map(|message| Alarm { kind: "potential deadlock".into(), message, trace: None });
        Ok(Line {
            detectors: self.arguments.detect.clone(),
            left_out: left_out.into(),
            strategy: self.strategy.into(),
            module: self.module.into(),
            test: text(&test["name"]).context("a test has a name")?,
            timeout: self.arguments.timeout,
            seconds: test["elapsed_seconds"].as_f64().context("a test takes time")?,
            iterations: explored("fair") + explored("unfair") + executions,
            whole: matches!(test["stopped_by"].as_str(), Some("iterations" | "nothing left")),
            verdict: text(&test["verdict"]).context("a test has a verdict")?,
            alarms: bugs.chain(potential).collect(),
        })
    }
}

/// The reason why an alarm is right, if that is known.
fn known(line: &Line, alarm: &Alarm) -> Option<&'static str> {
    let is_it =
        |known: &&Known| known.module == line.module && known.test == line.test && known.kind == alarm.kind;
    KNOWN.iter().find(is_it).map(|known| known.why)
}

fn print_alarm(line: &Line, alarm: &Alarm) {
    let why = known(line, alarm).map(|why| format!(" [{why}]")).unwrap_or_default();
    println!("{} {} by {}: {}{why}", line.module, line.test, line.strategy, alarm.message);
    if let Some(trace) = &alarm.trace {
        println!("  {trace}");
    }
}

/// A row of the table, what a strategy said about all tests: how many there are; of these, how many have no accesses that
/// are known to be plain, or only points at which none is seen; how many came to all iterations or schedules; all
/// iterations; tests of which nothing is known; reports that are right, and the others; seconds.
fn row(strategy: &str, results: &Results, iterations: u64) -> String {
    let lines: Vec<&Line> = results.values().filter(|line| line.strategy == strategy).collect();
    let count = |holds: &dyn Fn(&Line) -> bool| lines.iter().filter(|line| holds(line)).count();
    let all = count(&|line| line.whole && (line.iterations >= iterations || line.verdict != "not found"));
    let executed: u64 = lines.iter().map(|line| line.iterations).sum();
    let none = count(&|line| matches!(line.verdict.as_str(), "inconclusive" | "limit"));
    let raceless = count(&|line| !line.left_out.is_empty());
    let alarms = || lines.iter().flat_map(|line| line.alarms.iter().map(move |alarm| known(line, alarm)));
    let explained = alarms().flatten().count();
    let seconds = lines.iter().map(|line| line.seconds).fold(0.0, |sum, more| sum + more);
    let unexplained = alarms().count() - explained;
    let tests = lines.len();
    format!(
        "| `{strategy}` | {tests} | {raceless} | {all} | {executed} | {none} | {explained} | {unexplained} | {seconds:.0} |"
    )
}

/// Prints the table and all alarms.
///
/// # Errors
/// There is an alarm that nobody has explained.
fn report(strategies: &[String], results: &Results, iterations: u64) -> Result<()> {
    println!("\n| strategy | tests | without races | whole | iterations | no verdict | known | alarms | s |");
    println!("|---|---|---|---|---|---|---|---|---|");
    strategies.iter().for_each(|strategy| println!("{}", row(strategy, results, iterations)));
    println!();
    let mut alarms = 0;
    for line in results.values().filter(|line| strategies.contains(&line.strategy)) {
        for alarm in &line.alarms {
            print_alarm(line, alarm);
            alarms += usize::from(known(line, alarm).is_none());
        }
    }
    if alarms > 0 {
        bail!("{alarms} alarms about correct examples");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_are_those_of_the_tables() {
        let names = strategies();
        for name in ["portfolio", "feedback", "pct+chess-fair", "dpor", "delay-bounding:2", "ses-ss"] {
            assert!(names.iter().any(|listed| listed == name), "{name}: {names:?}");
        }
        assert!(names.len() >= 25 && names.iter().all(|name| !name.contains(['[', '|', ' '])), "{names:?}");
    }

    #[test]
    fn tests_with_data_races_are_not_correct() {
        let modules = correct(&[]).unwrap();
        assert!(modules.keys().any(|(module, _)| module == "bounded_buffer"));
        assert!(!modules.keys().any(|(module, _)| module == "sct_bluetooth"), "it needs --races off");
        assert!(modules.keys().all(|(_, options)| !options.contains(&"off".to_string())));
    }

    #[test]
    fn a_longer_run_takes_the_place_of_a_shorter_one() {
        let line = |timeout, iterations| Line {
            detectors: "races".into(),
            left_out: String::new(),
            strategy: "random".into(),
            module: "m".into(),
            test: "t".into(),
            timeout,
            seconds: timeout,
            iterations,
            whole: iterations == 100,
            verdict: "not found".into(),
            alarms: Vec::new(),
        };
        let mut results = Results::new();
        for (timeout, iterations) in [(1.0, 10), (5.0, 100), (2.0, 20)] {
            add(line(timeout, iterations), &mut results);
        }
        assert_eq!(row("random", &results, 100), "| `random` | 1 | 0 | 1 | 100 | 0 | 0 | 0 | 5 |");
    }
}
