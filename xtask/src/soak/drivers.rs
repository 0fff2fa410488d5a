//! `cargo xtask soak drivers`: small campaigns on engines that are really started, with workers and nodes that are
//! killed, by `drivers/test.py`.

use crate::command::{self, install_of_python, succeeds};
use crate::files;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Engines that `drivers/test.py` starts, with what it starts them by.
const ENGINES: &[&str] = &["slurmctld", "slurmd", "munge", "parallel", "rsync", "openssh-server"];
/// Those of them that are packages of Python, with what checks files for others.
const OF_PYTHON: &[&str] = &["ray", "kubernetes-validate", "check-jsonschema"];

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

/// The engines on which campaigns are executed before a change lands.
const USUAL: &[&str] = &["local", "slurm", "ray", "kubernetes", "github"];

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
    let mut paths = vec![built.to_path_buf()];
    let mut command = Command::new("python3");
    if arguments.install {
        let folder = install();
        paths.push(folder.join("bin"));
        command.env("PYTHONPATH", folder);
    }
    let old = std::env::var_os("PATH").unwrap_or_default();
    paths.extend(std::env::split_paths(&old));
    command.arg("drivers/test.py").args(&arguments.engines).env("PATH", std::env::join_paths(paths)?);
    let status = command.current_dir(files::root()).status().context("python3 cannot be started")?;
    ensure!(status.success(), "drivers/test.py failed");
    Ok(())
}

/// Tries to install the engines. Returns the folder of Python's packages among them, whose programs are in its folder
/// `bin`.
fn install() -> PathBuf {
    let folder = files::target().join("producers/engines");
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    if !succeeds("slurmctld", &["-V"]) {
        succeeds("apt-get", &["update"]);
        succeeds("apt-get", &[&["install", "-y", "--no-install-recommends"], ENGINES].concat());
    }
    if !folder.join("ray").exists() {
        install_of_python(&folder, OF_PYTHON);
    }
    folder
}
