//! `cargo xtask soak drivers`: small campaigns on engines that are really started, with workers and nodes that are
//! killed, by `drivers/test.py`.

use crate::command::{self, install_of_python, succeeds};
use crate::files;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Engines that `drivers/test.py` starts, with what it starts them by.
const ENGINES: &[&str] = &["slurmctld", "slurmd", "munge", "parallel", "rsync", "openssh-server"];
/// Engines that are packages of Python, or whose files one checks.
const OF_PYTHON: &[(&str, &str)] =
    &[("ray", "ray"), ("kubernetes", "kubernetes-validate"), ("github", "check-jsonschema")];

/// Execute campaigns on Slurm, Ray, GNU parallel and others, which are started here
#[derive(clap::Args)]
pub struct Arguments {
    /// Install the engines that are missing, by apt-get and pip
    #[arg(long)]
    install: bool,
    /// Only these engines; without any, all of them
    #[arg(value_name = "ENGINE")]
    engines: Vec<String>,
}

/// The engines on which campaigns are executed before a change lands: of those that schedule jobs on several machines, one.
const USUAL: &[&str] = &["local", "slurm", "kubernetes", "github"];

/// Executes campaigns on the usual engines, by the tool in this folder. Those that are not there are skipped; with
/// `install`, those that cannot be had.
///
/// # Errors
/// A report is not that of a single run.
pub fn on_usual(built: &Path, install: bool) -> Result<()> {
    let engines = USUAL.iter().map(ToString::to_string).collect();
    execute(built, &Arguments { install, engines })
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let tool = command::tool(None)?;
    execute(tool.parent().context("the tool is in a folder")?, arguments)
}

fn execute(built: &Path, arguments: &Arguments) -> Result<()> {
    let folders = if arguments.install { install(&arguments.engines) } else { Vec::new() };
    let mut paths = vec![built.to_path_buf()];
    paths.extend(folders.iter().map(|folder| folder.join("bin")));
    let old = std::env::var_os("PATH").unwrap_or_default();
    paths.extend(std::env::split_paths(&old));
    let mut command = Command::new("python3");
    command.arg("drivers/test.py").args(&arguments.engines).env("PATH", std::env::join_paths(paths)?);
    if !folders.is_empty() {
        command.env("PYTHONPATH", std::env::join_paths(folders)?);
    }
    let status = command.current_dir(files::root()).status().context("python3 cannot be started")?;
    ensure!(status.success(), "drivers/test.py failed");
    Ok(())
}

/// Tries to install engines; all of them, if there are no names. Returns the folders of Python's packages among them, whose
/// programs are in `bin` there. What cannot be installed, `drivers/test.py` names and skips.
fn install(engines: &[String]) -> Vec<PathBuf> {
    if !succeeds("slurmctld", &["-V"]) {
        succeeds("apt-get", &["update"]);
        succeeds("apt-get", &[&["install", "-y", "--no-install-recommends"], ENGINES].concat());
    }
    let wanted = |engine: &str| engines.is_empty() || engines.iter().any(|name| name == engine);
    let packages = OF_PYTHON.iter().filter(|(engine, _)| wanted(engine));
    let folder_of = |(engine, package): &(&str, &str)| {
        let folder = files::target().join("producers").join(engine);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        if !folder.exists() {
            install_of_python(&folder, &[package]);
        }
        folder
    };
    packages.map(folder_of).collect()
}
