//! `coyote-wasm doctor`: obstacles to exploring a crate or a module, and remedies.
//!
//! - `package`: a crate: its toolchain, its configuration, whether it builds.
//! - `dependencies`: crates that are known not to build, or to behave differently.
//! - `origins`: the dependency through which a package comes.
//! - `module`: a built module.

mod dependencies;
mod module;
pub mod origins;
mod package;

use crate::exit::Exit;
use crate::plural::counted;
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Output;

#[derive(clap::Args)]
pub struct Args {
    /// A crate's directory or Cargo.toml, or a module, whatever it is called
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Do not try to build the crate
    #[arg(long)]
    no_build: bool,
    #[command(flatten)]
    features: Features,
    /// What is printed
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    format: Format,
}

/// The crate's features, as cargo's own options.
#[derive(Debug, Default, clap::Args)]
pub struct Features {
    /// The crate's features to build with, as of cargo
    #[arg(short = 'F', long, value_name = "FEATURES")]
    features: Vec<String>,
    /// Build with all features of the crate
    #[arg(long)]
    all_features: bool,
    /// Build without the crate's default features
    #[arg(long)]
    no_default_features: bool,
}

impl Features {
    /// The options that cargo is called with.
    pub fn options(&self) -> Vec<String> {
        let named = self.features.iter().map(|features| format!("--features={features}"));
        let all = self.all_features.then(|| "--all-features".into());
        let none = self.no_default_features.then(|| "--no-default-features".into());
        named.chain(all).chain(none).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading
    Text,
    /// One JSON document
    Json,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nothing can be explored before this is solved.
    Error,
    /// Something is not explored, or behaves differently.
    Warning,
    /// Useful information.
    Note,
}

/// A finding. Field names are part of the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// The package, file or module concerned.
    pub subject: String,
    pub why: String,
    /// A remedy: a command, or lines to add.
    pub help: String,
}

impl Finding {
    fn new(severity: Severity, subject: impl ToString, why: impl ToString, help: impl ToString) -> Finding {
        let (subject, why, help) = (subject.to_string(), why.to_string(), help.to_string());
        Finding { severity, subject, why, help }
    }
}

/// The way in which a crate's tests are built and run.
pub struct Way<'a> {
    /// Builds the tests of the crate in this directory with these features, with cargo's messages in JSON.
    pub build: &'a dyn Fn(&Path, &Features) -> Result<Output>,
    /// The command that explores the tests.
    pub command: &'static str,
    /// Flags that the compiler gets in addition to the configured ones.
    pub flags: &'static str,
    /// Whether cargo must be configured to run the tests by this tool.
    pub needs_runner: bool,
}

/// Runs the subcommand, for tests that plain cargo builds.
pub fn run(args: &Args) -> Result<Exit> {
    let way = Way {
        build: &package::build,
        command: "cargo test --target wasm32-wasip1-threads",
        flags: "",
        needs_runner: true,
    };
    run_for(args, &way)
}

/// Runs the subcommand, for tests that are built in this way.
///
/// # Errors
/// Errors of the environment, and where there is neither a crate nor a module.
pub fn run_for(args: &Args, way: &Way<'_>) -> Result<Exit> {
    let named = args.path.extension().is_some_and(|e| e == "wasm" || e == "wat");
    let is_module = named || module::is_wasm(&args.path);
    let mut findings = if is_module { module::inspect(&args.path)? } else { package::inspect(args, way)? };
    findings.sort_by_key(|f| f.severity);
    match args.format {
        Format::Json => println!("{}", serde_json::to_string_pretty(&findings)?),
        Format::Text => print(args, &findings),
    }
    let hopeless = findings.iter().any(|f| f.severity == Severity::Error);
    Ok(if hopeless { Exit::BadInput } else { Exit::NoBug })
}

fn print(args: &Args, findings: &[Finding]) {
    for Finding { severity, subject, why, help } in findings {
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        println!("{severity}: {subject}: {why}");
        for (i, line) in help.lines().enumerate() {
            println!("  {} {line}", if i == 0 { "help:" } else { "     " });
        }
    }
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count() as u64;
    println!(
        ". {}: {}, {}, {}",
        args.path.display(),
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
        counted(count(Severity::Note), "note")
    );
}
