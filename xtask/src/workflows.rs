//! Checks files of GitHub Actions against their published schemas, which the tool check-jsonschema contains.

use crate::files;
use anyhow::{Context, Result, ensure};
use std::io::ErrorKind;
use std::process::Command;

/// Files, each with the name of its schema.
const FILES: &[(&str, &str)] = &[
    (".github/workflows/release.yml", "vendor.github-workflows"),
    ("drivers/github.yml", "vendor.github-workflows"),
    ("action.yml", "vendor.github-actions"),
];

/// Checks the files with the tool that is found by these variables. If it is missing, says so instead.
///
/// # Errors
/// A file does not follow its schema.
pub fn check(variables: &[(&str, String)]) -> Result<Option<String>> {
    for (file, schema) in FILES {
        let mut command = Command::new("check-jsonschema");
        command.args(["--builtin-schema", schema, file]).current_dir(files::root());
        let output = match command.envs(variables.iter().map(|(name, value)| (name, value))).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some("no check-jsonschema: pip install check-jsonschema".into()));
            }
            output => output.context("check-jsonschema cannot be started")?,
        };
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{file} does not follow its schema:\n{said}");
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_follow_their_schemas() {
        if let Some(why) = super::check(&[]).unwrap() {
            eprintln!("skipped: {why}");
        }
    }
}
