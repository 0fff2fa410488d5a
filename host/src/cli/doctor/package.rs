//! Obstacles to building a crate, or to running it by `cargo test`.

use super::{Args, Features, Finding, Severity, Way, dependencies, module, origins};
use crate::cli::config::Config;
use crate::cli::{configured, test};
use crate::source_tests::SourceTests;
use crate::toolchain::{self, RUNNER, TARGET, variable};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// All findings about the crate in a directory.
pub fn inspect(args: &Args, way: &Way<'_>) -> Result<Vec<Finding>> {
    let path = args.path.as_path();
    let directory = match path.file_name() {
        Some(name) if name == "Cargo.toml" => path.parent().filter(|p| !p.as_os_str().is_empty()),
        _ => Some(path),
    };
    let directory = directory.unwrap_or(Path::new("."));
    if !directory.join("Cargo.toml").is_file() {
        bail!(
            "{} is neither a crate nor a module: give a directory with a Cargo.toml, or a .wasm file",
            path.display()
        );
    }
    let mut findings = Vec::new();
    findings.extend(target(directory)?);
    findings.extend(if way.needs_runner { runner(directory) } else { None });
    let mut arguments =
        ["metadata", "--format-version", "1", "--filter-platform", TARGET].map(String::from).to_vec();
    arguments.extend(args.features.options());
    let metadata = cargo(directory, &arguments)?;
    match serde_json::from_slice::<Value>(&metadata.stdout) {
        Ok(metadata) => {
            findings.extend(dependencies::inspect(&metadata, &(flags(directory) + way.flags)));
            findings.extend(catches(&metadata));
            findings.extend(rounds(&metadata));
            findings.extend(not_on_target(&metadata));
        }
        Err(_) => findings.push(Finding::new(
            Severity::Error,
            "cargo metadata",
            first_error(&metadata.stderr),
            "make `cargo metadata` succeed first",
        )),
    }
    let target_is_there = !findings.iter().any(|f| f.subject == TARGET);
    if !args.no_build && target_is_there {
        match built(directory, &args.features, way)? {
            // What is known to keep crates from being built does not keep this one.
            Ok(of_modules) => {
                findings.retain(|f| f.severity != Severity::Error);
                findings.extend(of_modules);
            }
            // What is known about a package says more than its compiler's message.
            Err(failure) => {
                let known = |f: &Finding| f.severity == Severity::Error && f.subject == failure.subject;
                if !findings.iter().any(known) {
                    findings.push(failure);
                }
            }
        }
    }
    Ok(findings)
}

fn cargo(directory: &Path, arguments: &[String]) -> Result<Output> {
    let output = toolchain::cargo().args(arguments).current_dir(directory).output();
    output.context("cargo cannot be started: install Rust, see https://rustup.rs")
}

/// The first informative line of an error.
fn first_error(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().find(|l| l.starts_with("error")).or(text.lines().next());
    line.unwrap_or("it fails without a message").trim_start_matches("error: ").to_string()
}

/// Whether the target's standard library is installed.
fn target(directory: &Path) -> Result<Option<Finding>> {
    let finding = || {
        let why = "the toolchain has no standard library for this target";
        Finding::new(Severity::Error, TARGET, why, format!("rustup target add {TARGET}"))
    };
    Ok((!toolchain::has(TARGET, directory)?).then(finding))
}

/// All texts that may contain compiler flags.
fn flags(directory: &Path) -> String {
    let own = variable(TARGET, "RUSTFLAGS");
    let variables = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", &own];
    let given = variables.iter().filter_map(|name| std::env::var(name).ok());
    let written = toolchain::configurations(directory).into_iter().map(|(_, text)| text);
    given.chain(written).collect::<Vec<_>>().join("\n")
}

/// Tests of the workspace's packages that are excluded on the target.
fn not_on_target(metadata: &Value) -> Vec<Finding> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let members = list(&metadata["workspace_members"]);
    let mut findings = Vec::new();
    for package in list(&metadata["packages"]).iter().filter(|package| members.contains(&package["id"])) {
        let tested = list(&package["targets"]).into_iter().filter(|target| target["test"] == true);
        let roots: Vec<PathBuf> =
            tested.filter_map(|target| Some(target["src_path"].as_str()?.into())).collect();
        let root = package["manifest_path"].as_str().and_then(|manifest| Path::new(manifest).parent());
        let found = SourceTests::with(&roots, root.unwrap_or(Path::new("")), true);
        if found.missing() > 0 {
            findings.push(Finding::new(
                Severity::Warning,
                package["name"].as_str().unwrap_or_default(),
                format!("tests that are not on this target: {found}"),
                "if only browsers are meant: #[cfg(not(all(target_family = \"wasm\", target_os = \"unknown\")))]",
            ));
        }
    }
    findings
}

/// A note on sources that catch panics.
fn catches(metadata: &Value) -> Option<Finding> {
    Some(Finding::new(
        Severity::Note,
        sources_with(metadata, &["catch_unwind"])?,
        "it catches panics, which end the program on this target: a test that panics in there has no verdict",
        "build it with unwinding: docs/unwinding.md",
    ))
}

/// A note on sources that do less under Miri.
fn rounds(metadata: &Value) -> Option<Finding> {
    Some(Finding::new(
        Severity::Note,
        sources_with(metadata, &["cfg(miri", "cfg!(miri", "cfg(not(miri", "cfg!(not(miri", "cfg_attr(miri"])?,
        "it does other things under Miri, such as fewer rounds in tests that take long",
        "where tests never come to an end: cargo coyote test --like-miri",
    ))
}

/// The first source of the workspace's packages that has one of the words, and the number of others that have.
fn sources_with(metadata: &Value, words: &[&str]) -> Option<String> {
    let members: Vec<&Value> = metadata["workspace_members"].as_array()?.iter().collect();
    let packages = metadata["packages"].as_array()?.iter().filter(|p| members.contains(&&p["id"]));
    let roots = packages.filter_map(|p| Path::new(p["manifest_path"].as_str()?).parent().map(PathBuf::from));
    let folders = roots.flat_map(|root| ["src", "tests"].map(|folder| root.join(folder)));
    let mut files: Vec<PathBuf> = folders.flat_map(|folder| origins::sources(&folder)).collect();
    let has = |text: &str| words.iter().any(|word| text.contains(word));
    files.retain(|file| std::fs::read_to_string(file).is_ok_and(|text| has(&text)));
    let first = files.first()?.display().to_string();
    Some(match files.len() {
        1 => first,
        n => format!("{first} and {} more", n - 1),
    })
}

/// Whether cargo's configuration has a runner for the target.
fn runner(directory: &Path) -> Option<Finding> {
    if std::env::var(variable(TARGET, "RUNNER")).is_ok_and(|runner| runner.contains("coyote-wasm")) {
        return None;
    }
    let mut other = None;
    for (file, text) in toolchain::configurations(directory) {
        match runner_in(&text) {
            Some(line) if line.contains("coyote-wasm") => return None,
            Some(line) => other = other.or(Some((file, line))),
            None => {}
        }
    }
    let why = match other {
        Some((file, line)) => format!("{} has another runner: {line}", file.display()),
        None => format!("cargo does not know how to run what it builds for {TARGET}"),
    };
    let help = format!(
        "run `cargo coyote init`, or put into .cargo/config.toml:\n[target.{TARGET}]\nrunner = \"{RUNNER}\""
    );
    Some(Finding::new(Severity::Warning, ".cargo/config.toml", why, help))
}

/// The runner of the target in a configuration.
fn runner_in(config: &str) -> Option<String> {
    let table: toml::Table = config.parse().ok()?;
    let runner = table.get("target")?.get(TARGET)?.get("runner")?;
    Some(format!("runner = {runner}"))
}

/// Builds the tests by plain cargo, with its messages in JSON.
///
/// # Errors
/// Cargo cannot be started.
pub fn build(directory: &Path, features: &Features) -> Result<Output> {
    let arguments = ["test", "--tests", "--no-run", "--target", TARGET, "--message-format", "json"];
    cargo(directory, &[&arguments.map(String::from)[..], &features.options()].concat())
}

/// Builds the tests. Inspects the built modules, or explains the first error.
fn built(directory: &Path, features: &Features, way: &Way<'_>) -> Result<Result<Vec<Finding>, Finding>> {
    let output = (way.build)(directory, features)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !output.status.success() {
        return Ok(Err(failure(&messages, &output.stderr)));
    }
    let mut findings = Vec::new();
    let mut tests = Vec::new();
    // Cargo also builds programs, for integration tests that start them.
    let modules = messages.iter().filter(|message| message["profile"]["test"] == true);
    for module in modules.filter_map(|message| message["executable"].as_str()) {
        let (inspected, names) = module::of_tests(Path::new(module), way.command)?;
        findings.extend(inspected);
        tests.extend(names);
    }
    findings.extend(sections_without_test(directory, &tests));
    Ok(Ok(findings))
}

/// Sections of `coyote.toml` that are about none of the tests of all test binaries.
fn sections_without_test(directory: &Path, tests: &[String]) -> Vec<Finding> {
    let Some(file) = Config::find_from(directory) else { return Vec::new() };
    let subject = file.display().to_string();
    // What is wrong in the file itself is an error of each run.
    match Config::read(&file, &configured::command::<test::Args>()) {
        Ok(config) => {
            let help = "name it as `--list` shows it, or remove it";
            let warning = |said| Finding::new(Severity::Warning, &subject, said, help);
            config.without_test(tests).into_iter().map(warning).collect()
        }
        Err(error) => {
            let why = format!("{error:#}").trim_start_matches(&format!("{subject}: ")).to_string();
            vec![Finding::new(Severity::Error, &subject, why, "docs/config.md")]
        }
    }
}

/// Explains the first error of a build.
fn failure(messages: &[Value], stderr: &[u8]) -> Finding {
    let first = messages.iter().find(|m| m["message"]["level"] == "error");
    let text = first.and_then(|m| m["message"]["message"].as_str()).map(String::from);
    let text = text.unwrap_or_else(|| first_error(stderr));
    let subject = first.and_then(|m| m["package_id"].as_str()).map_or("the build".into(), name_and_version);
    let help = match () {
        () if text.contains("Only features sync,macros") => {
            "give tokio the features sync, macros, io-util, rt and time alone; rt-multi-thread builds with \
             RUSTFLAGS=\"--cfg tokio_unstable\""
        }
        () if text.contains("can't find crate for `std`") || text.contains("can't find crate for `core`") => {
            "rustup target add wasm32-wasip1-threads"
        }
        () if text.contains("custom build command") => {
            "its build script fails: if it compiles C, set CC_wasm32_wasip1_threads to a clang with a WASI libc"
        }
        () if text.contains("linking with") => {
            "a native library is missing for this target: build it for WASI, or leave it out"
        }
        () => {
            "if it builds for this machine (cargo test --no-run), leave it out on this target: \
             #[cfg(not(target_family = \"wasm\"))]"
        }
    };
    Finding::new(Severity::Error, subject, format!("it does not build: {text}"), help)
}

/// `NAME VERSION` from cargo's `..#NAME@VERSION`, where cargo omits a name that equals the directory's.
fn name_and_version(package: &str) -> String {
    let (place, name) = package.rsplit_once('#').unwrap_or(("", package));
    match name.split_once('@') {
        Some((name, version)) => format!("{name} {version}"),
        None => format!("{} {name}", place.rsplit('/').next().unwrap_or_default()).trim_start().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_named_with_its_version() {
        let cases = [
            ("registry+https://github.com/rust-lang/crates.io-index#socket2@0.5.1", "socket2 0.5.1"),
            ("path+file:///home/me/app#1.2.3", "app 1.2.3"),
            ("path+file:///home/me/here#app@1.2.3", "app 1.2.3"),
            ("something", "something"),
        ];
        for (package, wanted) in cases {
            assert_eq!(name_and_version(package), wanted);
        }
    }

    #[test]
    fn a_runner_is_found_in_any_spelling() {
        let line = "runner = \"coyote-wasm test\"";
        for config in [
            format!("[target.{TARGET}]\n{line}"),
            format!("[build]\njobs = 1\n\n[target.\"{TARGET}\"]\nrustflags = []\n  {line}"),
            format!("target.{TARGET}.{line}"),
        ] {
            assert!(runner_in(&config).unwrap().ends_with(line), "{config}");
        }
        assert_eq!(runner_in(&format!("[target.wasm32-wasip1]\n{line}\n[target.{TARGET}]\n")), None);
    }
}
