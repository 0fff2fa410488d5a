//! Runs `coyote-wasm` in another process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Standard output without times.
    pub fn timeless(&self) -> String {
        timeless(&self.stdout)
    }

    /// The line of standard output that begins like this.
    pub fn line(&self, start: &str) -> &str {
        let line = self.stdout.lines().find(|l| l.starts_with(start));
        line.unwrap_or_else(|| panic!("no line begins with {start:?}: {self:?}"))
    }
}

/// A report without times: without the line of the elapsed time, and without the times after numbers of
/// schedules.
pub fn timeless(report: &str) -> String {
    let lines = report.lines().filter(|line| !line.starts_with("... Elapsed "));
    lines.map(|line| without_time(line) + "\n").collect()
}

/// A line of statistics without its ` in 0.120 s (83/s)`.
fn without_time(line: &str) -> String {
    let cut = || {
        let rest = line.strip_prefix("... Explored ")?;
        let (counts, ends) = rest.split_once(": ")?;
        let (counts, time) = counts.rsplit_once(" in ")?;
        let is_time = time.ends_with(" s") || time.ends_with("/s)");
        is_time.then(|| format!("... Explored {counts}: {ends}"))
    };
    cut().unwrap_or_else(|| line.to_string())
}

/// The artifact cache of these tests: kept between tests, separate from the user's.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The program, to be run in a directory with a cache; its output is collected.
pub fn command(cache: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coyote-wasm"));
    command
        .args(arguments)
        .current_dir(directory)
        .env("COYOTE_CACHE_DIR", cache)
        .env("NO_COLOR", "1")
        .env_remove("CI")
        .env_remove("GITHUB_STEP_SUMMARY")
        .env_remove("CARGO_TERM_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A cargo, to be run on a crate of `examples/` that is built here, in a separate target directory.
pub fn in_example(mut cargo: Command, example: &str) -> Command {
    cargo
        .current_dir(super::guest::root().join("examples").join(example))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(example))
        .env("COYOTE_CACHE_DIR", cache())
        .env("NO_COLOR", "1")
        .env("CI", "true")
        // These would be flags for native programs.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stdin(Stdio::null());
    cargo
}

/// `cargo coyote test` in the directory of an example that is a crate.
pub fn cargo_coyote(example: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-coyote"));
    command.args(["coyote", "test", "--locked"]).args(arguments);
    ended(in_example(command, example).output().expect("it starts"))
}

/// Builds such a crate. `false`, with a message, if its dependencies or the target cannot be installed.
pub fn is_built(example: &str) -> bool {
    let built = cargo_coyote(example, &["--no-run"]);
    let unreachable = ["rustup target add", "failed to download", "failed to get"];
    if built.code != Some(0) && unreachable.iter().any(|text| built.stderr.contains(text)) {
        println!("skipped: {}", built.stderr);
        return false;
    }
    assert_eq!(built.code, Some(0), "{built:?}");
    true
}

/// The result of each test of a crate, by its name.
pub fn results(ended: &Ended) -> BTreeMap<String, String> {
    let lines = ended.stdout.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    lines.map(|(name, result)| (name.to_string(), result.to_string())).collect()
}

/// The exit code and output of a process that has ended.
pub fn ended(output: Output) -> Ended {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("all output is UTF-8");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the program in a directory with a cache. Its output for a seed must not depend on the load of the
/// machine, so shrinking has no limit of time, unless the arguments give one.
pub fn run_with(cache: &Path, directory: &Path, arguments: &[&str]) -> Ended {
    let said = |argument: &&str| matches!(*argument, "--no-shrink" | "--shrink-time");
    let arguments = match arguments {
        ["test", rest @ ..] if rest.contains(&"--seed") && !rest.iter().any(said) => {
            [&["test", "--shrink-time", "60"], rest].concat()
        }
        _ => arguments.to_vec(),
    };
    ended(command(cache, directory, &arguments).output().expect("the program starts"))
}

/// Runs the program in a directory.
pub fn run(directory: &Path, arguments: &[&str]) -> Ended {
    run_with(&cache(), directory, arguments)
}
