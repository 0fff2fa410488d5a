//! A Python wheel that holds the programs, for people who install their tools with pip, pipx or uv. Python's package
//! `wheel` packs it.

use super::{PROGRAMS, executable, output};
use crate::files;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name that names of wheels begin with.
const NAME: &str = "coyote_wasm";
/// Ranges of the symbols' versions that glibc has: the newest one that a program names is the oldest glibc it runs on.
const GLIBC: &[u8] = b"GLIBC_2.";

/// Packs the programs of an unpacked archive, and tries the wheel. Returns its path.
///
/// # Errors
/// The platform has no tag, or Python or its packages `wheel` and `pip` are missing.
pub fn make(folder: &Path, archives: &Path, version: &str, target: &str) -> Result<PathBuf> {
    let tool = files::read(&folder.join(executable("coyote-wasm")))?;
    let tag = format!("py3-none-{}", platform(target, &tool)?);
    let tree = archives.join(format!("{NAME}-{version}"));
    if tree.exists() {
        std::fs::remove_dir_all(&tree)?;
    }
    let info = tree.join(format!("{NAME}-{version}.dist-info"));
    let scripts = tree.join(format!("{NAME}-{version}.data")).join("scripts");
    std::fs::create_dir_all(&scripts)?;
    for program in PROGRAMS {
        let name = executable(program);
        std::fs::copy(folder.join(&name), scripts.join(&name))?;
    }
    files::write(&info.join("METADATA"), metadata(version)?)?;
    files::write(
        &info.join("WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: coyote-wasm xtask\nRoot-Is-Purelib: false\nTag: {tag}\n"),
    )?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        files::write(&info.join("licenses").join(license), files::read(&folder.join(license))?)?;
    }
    let text = |path: &Path| path.to_str().map(String::from).context("a path is text");
    python(&["-m", "wheel", "pack", "--dest-dir", &text(archives)?, &text(&tree)?])
        .context("a wheel needs Python with its package wheel: pip install wheel")?;
    std::fs::remove_dir_all(&tree)?;
    let wheel = archives.join(format!("{NAME}-{version}-{tag}.whl"));
    try_out(&wheel)?;
    Ok(wheel)
}

/// Installs the wheel in a directory of its own, and starts its programs.
fn try_out(wheel: &Path) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("coyote-wheel-{}", std::process::id()));
    let (into, wheel) = (directory.to_string_lossy(), std::path::absolute(wheel)?);
    let wheel = wheel.to_string_lossy();
    let result = python(&["-m", "pip", "install", "--quiet", "--no-index", "--target", &into, &wheel]);
    let started = result.and_then(|()| {
        let bin = directory.join("bin");
        output(&bin.join(executable("cargo-coyote")), &["coyote", "--help"])?;
        output(&bin.join(executable("coyote-wasm")), &["--version"])
    });
    let _ = std::fs::remove_dir_all(&directory);
    started.map(|_| ())
}

fn python(arguments: &[&str]) -> Result<()> {
    let program = if cfg!(windows) { "python" } else { "python3" };
    let status = Command::new(program).args(arguments).stdout(std::process::Stdio::null()).status();
    let status = status.with_context(|| format!("{program} cannot be started"))?;
    ensure!(status.success(), "{program} {} failed", arguments.join(" "));
    Ok(())
}

/// What package indexes show.
fn metadata(version: &str) -> Result<String> {
    let manifest = files::read_text(&files::root().join("host/Cargo.toml"))?;
    let summary = manifest.lines().find_map(|line| line.strip_prefix("description = \"")?.strip_suffix('"'));
    let summary = summary.context("the manifest has a description")?;
    let readme = files::read_text(&files::root().join("README.md"))?;
    Ok(format!(
        "Metadata-Version: 2.4\nName: coyote-wasm\nVersion: {version}\nSummary: {summary}\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    ))
}

/// The tag of the platforms on which a program runs that was built for a target.
fn platform(target: &str, program: &[u8]) -> Result<String> {
    let (arch, system) = target.split_once('-').context("a target names an architecture")?;
    Ok(match system {
        "unknown-linux-gnu" => format!("manylinux_2_{}_{arch}", glibc(program)?),
        "unknown-linux-musl" => format!("musllinux_1_2_{arch}"),
        // The oldest systems that Rust supports.
        "apple-darwin" if arch == "aarch64" => "macosx_11_0_arm64".into(),
        "apple-darwin" => format!("macosx_10_12_{arch}"),
        "pc-windows-msvc" if arch == "x86_64" => "win_amd64".into(),
        _ => anyhow::bail!("wheels have no tag for {target}"),
    })
}

/// The oldest glibc 2 that a program runs on.
fn glibc(program: &[u8]) -> Result<u32> {
    let mut newest = None;
    for (at, _) in program.windows(GLIBC.len()).enumerate().filter(|(_, window)| *window == GLIBC) {
        let digits = program[at + GLIBC.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        let minor = digits.fold(0, |number: u32, digit| number.saturating_mul(10) + u32::from(digit - b'0'));
        newest = newest.max(Some(minor));
    }
    newest.context("the program names no version of glibc")
}

#[cfg(test)]
mod tests {
    use super::{glibc, platform};

    #[test]
    fn tags_name_the_platforms_that_a_program_runs_on() {
        let program = b"\0GLIBC_2.17\0__clone\0GLIBC_2.34\0GLIBC_2.2.5\0";
        assert_eq!(glibc(program).unwrap(), 34);
        assert!(glibc(b"static").is_err());
        let of = |target| platform(target, program).unwrap();
        assert_eq!(of("aarch64-unknown-linux-gnu"), "manylinux_2_34_aarch64");
        assert_eq!(of("x86_64-unknown-linux-musl"), "musllinux_1_2_x86_64");
        assert_eq!(of("aarch64-apple-darwin"), "macosx_11_0_arm64");
        assert_eq!(of("x86_64-pc-windows-msvc"), "win_amd64");
        assert!(platform("wasm32-wasip1", program).is_err());
    }

    /// All targets that are released have a tag.
    #[test]
    fn released_platforms_have_wheels() {
        let workflow = crate::files::root().join(".github/workflows/release.yml");
        let workflow = crate::files::read_text(&workflow).unwrap();
        let targets: Vec<&str> = workflow
            .lines()
            .filter_map(|line| line.split_once("target: ")?.1.split_once(',').map(|(target, _)| target))
            .collect();
        assert!(targets.len() >= 5, "{targets:?}");
        for target in targets {
            platform(target, b"GLIBC_2.35").unwrap();
        }
    }
}
