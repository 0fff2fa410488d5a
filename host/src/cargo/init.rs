//! `cargo coyote init`: writes what a crate needs so that plain `cargo test` explores its tests. Existing settings are
//! kept.

use crate::cli::config;
use crate::toolchain::{self, RUNNER, TARGET};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode};
use toml_edit::{DocumentMut, Item, Table, value};

/// The directory of traces.
const OUTPUT: &str = "coyote-output";

/// A first `coyote.toml`: every line is a comment, so it changes nothing.
const FIRST_CONFIG: &str = "\
# Options of `coyote-wasm test`, by the names that `coyote-wasm test --help` shows. The command line wins.

# iterations = 10000
# timeout = 10
# strategy = \"portfolio\"
# suppress = [\"race:a_crate_of_others::*\"]

# Some tests can have options of their own:
# [[tests]]
# names = [\"queue_*\"]
# strategy = \"dpor\"
";

#[derive(clap::Args)]
pub struct Arguments {
    /// The crate's or workspace's directory
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Have rustup install the target's standard library, if it is missing
    #[arg(long)]
    install: bool,
}

/// Prepares a crate, and prints what was done.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root: &Path =
        &arguments.path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
    ensure!(
        root.join("Cargo.toml").is_file(),
        "{} is no crate: give a directory with a Cargo.toml",
        arguments.path.display()
    );
    let mut done = String::new();
    let mut say = |path: &Path, what: &str| _ = writeln!(done, "{:<28} {what}", path.display().to_string());
    let file = [".cargo/config.toml", ".cargo/config"].map(|name| root.join(name));
    let file = file.iter().find(|file| file.is_file()).unwrap_or(&file[0]);
    say(file, set_runner(file)?);
    let file = root.join(config::NAME);
    say(&file, create(&file, FIRST_CONFIG)?);
    if root.join(".git").exists() || root.join(".gitignore").exists() {
        let file = root.join(".gitignore");
        say(&file, ignore(&file)?);
    }
    let installed = toolchain::has(TARGET, &arguments.path)?;
    if !installed && arguments.install {
        let status =
            Command::new("rustup").args(["target", "add", TARGET]).current_dir(&arguments.path).status();
        let status = status.context("rustup cannot be started: see https://rustup.rs")?;
        ensure!(status.success(), "rustup cannot install {TARGET}");
    }
    print!("{done}");
    if !installed && !arguments.install {
        println!("\nThe toolchain lacks the target: rustup target add {TARGET}");
    }
    println!("\nExplore the tests: cargo coyote test, or cargo test --target {TARGET}");
    Ok(ExitCode::SUCCESS)
}

/// Makes coyote-wasm the target's runner.
fn set_runner(file: &Path) -> Result<&'static str> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let shown = file.display();
    let Some(text) = with_runner(&text).with_context(|| shown.to_string())? else {
        return Ok("names the runner already");
    };
    write(file, &text)?;
    Ok("names the runner")
}

/// A configuration with coyote-wasm as the target's runner; `None` if it already is.
fn with_runner(text: &str) -> Result<Option<String>> {
    let mut document: DocumentMut = text.parse().context("it is no TOML")?;
    let mut at: &mut Item = document.as_item_mut();
    for key in ["target", TARGET] {
        let inner =
            at.as_table_like_mut().with_context(|| format!("the parent of `{key}` is not a table"))?;
        // A table that only contains other tables has no heading.
        let new = || {
            Item::Table({
                let mut table = Table::new();
                table.set_implicit(key == "target");
                table
            })
        };
        at = inner.entry(key).or_insert_with(new);
    }
    let table = at.as_table_like_mut().with_context(|| format!("`target.{TARGET}` is not a table"))?;
    match table.get("runner") {
        Some(there) if there.to_string().contains("coyote-wasm") => Ok(None),
        Some(there) => bail!("it has another runner already: {}", there.to_string().trim()),
        None => {
            table.insert("runner", value(RUNNER));
            Ok(Some(document.to_string()))
        }
    }
}

fn create(file: &Path, text: &str) -> Result<&'static str> {
    if file.exists() {
        return Ok("exists already");
    }
    write(file, text)?;
    Ok("created, with comments only")
}

/// Makes git ignore this tool's output.
fn ignore(file: &Path) -> Result<&'static str> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    if text.lines().any(|line| line.trim_matches('/') == OUTPUT) {
        return Ok("ignores the traces already");
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write(file, &format!("{text}{gap}{OUTPUT}/\n"))?;
    Ok("ignores the traces")
}

fn write(file: &Path, text: &str) -> Result<()> {
    let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(file, text)).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_configuration_stays() {
        let runner = format!("[target.{TARGET}]\nrunner = \"{RUNNER}\"\n");
        assert_eq!(with_runner("").unwrap().unwrap(), runner);
        let before = "# mine\n[build]\njobs = 1 # few\n";
        assert_eq!(with_runner(before).unwrap().unwrap(), format!("{before}\n{runner}"));
        let before = format!("[target.{TARGET}]\nrustflags = []\n");
        assert_eq!(with_runner(&before).unwrap().unwrap(), format!("{before}runner = \"{RUNNER}\"\n"));
        assert_eq!(with_runner(&runner).unwrap(), None);
    }

    #[test]
    fn another_runner_is_an_error() {
        let before = format!("[target.{TARGET}]\nrunner = 'wasmtime'\n");
        let error = with_runner(&before).unwrap_err();
        assert_eq!(error.to_string(), "it has another runner already: 'wasmtime'");
        assert!(with_runner("target = 3").is_err());
        assert!(with_runner("[").is_err());
    }
}
