//! `cargo xtask package`: the packages as a registry would get them; with `--check`, a build from these
//! alone.

use crate::command::cargo;
use crate::files;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Package all crates, in the order of their dependencies, into target/package
#[derive(clap::Args)]
pub struct Arguments {
    /// Also build what is packaged in an empty directory, and use it there
    #[arg(long)]
    check: bool,
    /// Package files that are not committed too
    #[arg(long)]
    allow_dirty: bool,
}

/// A guest that a user of the packages would write.
const GUEST: &str = "\
use coyote::sync::Mutex;

#[coyote::test]
fn opposite_orders() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    coyote::thread::scope(|scope| {
        scope.spawn(|| {
            let _a = a.lock();
            let _b = b.lock();
        });
        scope.spawn(|| {
            let _b = b.lock();
            let _a = a.lock();
        });
    });
}
";
const GUEST_MANIFEST: &str = "\
[package]
name = \"guest\"
version = \"0.0.0\"
edition = \"2024\"

[lib]
crate-type = [\"cdylib\"]

[dependencies]
coyote-guest = \"0.1\"

[workspace]
";
const GUEST_CONFIG: &str = "\
[target.wasm32-unknown-unknown]
rustflags = [\"-C\", \"target-feature=+atomics\"]
";

pub fn run(arguments: &Arguments) -> Result<()> {
    let directory = files::target().join("package");
    for old in crates(&directory)? {
        std::fs::remove_file(&old).with_context(|| format!("{} cannot be removed", old.display()))?;
    }
    // Verifying each package in turn, as cargo would, builds all dependencies again: `check` builds them
    // once.
    let mut command = vec!["package", "--workspace", "--exclude", "xtask", "--no-verify", "--quiet"];
    if arguments.allow_dirty {
        command.push("--allow-dirty");
    }
    cargo(&command, &[])?;
    let packages = crates(&directory)?;
    packages.iter().for_each(|package| println!("{}", package.display()));
    if arguments.check { check(&packages) } else { Ok(()) }
}

/// The packages in a directory.
fn crates(directory: &Path) -> Result<Vec<PathBuf>> {
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let paths = files::list(directory)?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "crate")).collect())
}

/// Builds the packages in a directory outside of the repository, and finds a deadlock of a guest that is
/// built there.
fn check(packages: &[PathBuf]) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("coyote-packages-{}", std::process::id()));
    std::fs::create_dir(&directory).with_context(|| format!("{} cannot be made", directory.display()))?;
    let result = build(packages, &directory);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn build(packages: &[PathBuf], directory: &Path) -> Result<()> {
    let mut names = Vec::new();
    for package in packages {
        // Files get the present time: with the time in the package, cargo would reuse the results of an
        // earlier check.
        let status = Command::new("tar").arg("-xzmf").arg(package).arg("-C").arg(directory).status();
        ensure!(status.context("tar cannot be started")?.success(), "{} cannot be read", package.display());
        let stem = package.file_stem().context("a package has a name")?.to_string_lossy().into_owned();
        for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let packaged = files::read_text(&directory.join(&stem).join(license))?;
            ensure!(packaged == files::read_text(&files::root().join(license))?, "{stem}: another {license}");
        }
        names.push(stem);
    }
    let root = files::read_text(&files::root().join("Cargo.toml"))?;
    files::write(&directory.join("Cargo.toml"), workspace(&names, &root)?)?;
    std::fs::copy(files::root().join("Cargo.lock"), directory.join("Cargo.lock"))?;
    let target = std::path::absolute(files::target())?;
    in_directory(directory, &["build", "--release", "--workspace"], &target)?;

    let guest = directory.join("guest");
    files::write(&guest.join("src/lib.rs"), GUEST)?;
    files::write(&guest.join("Cargo.toml"), format!("{GUEST_MANIFEST}\n{}", patches(&names, "../")?))?;
    files::write(&guest.join(".cargo/config.toml"), GUEST_CONFIG)?;
    in_directory(
        &guest,
        &["build", "--release", "--target", "wasm32-unknown-unknown"],
        &directory.join("target"),
    )?;
    let status = Command::new(target.join("release/coyote-wasm"))
        .args(["test", "target/wasm32-unknown-unknown/release/guest.wasm"])
        .current_dir(directory)
        .status()?;
    ensure!(status.code() == Some(2), "the deadlock of the packaged guest: {status}, not exit code 2");
    // These were not built from the repository's own sources.
    for name in ["coyote-wasm", "cargo-coyote"] {
        let program = target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        std::fs::remove_file(&program).with_context(|| format!("{} cannot be removed", program.display()))?;
    }
    Ok(())
}

/// A workspace of the unpacked packages, which find each other without a registry. The profiles are those of
/// the repository, so that the builds of other crates can be reused. The tool itself is not optimised: that
/// takes minutes, and it only has to work.
fn workspace(names: &[String], root: &str) -> Result<String> {
    let start = root.find("[profile.").context("Cargo.toml has profiles")?;
    let mut profiles = root[start..].to_string();
    for own in ["coyote-wasm", "coyote-instrumenter", "coyote-strategies", "coyote-orderings"] {
        let section = format!("[profile.release.package.{own}]\n");
        ensure!(!profiles.contains(&section), "Cargo.toml has a profile of {own} already");
        write!(profiles, "\n{section}opt-level = 0\n")?;
    }
    Ok(format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n\n{}\n{profiles}", patches(names, "")?))
}

fn patches(names: &[String], above: &str) -> Result<String> {
    let mut text = String::from("[patch.crates-io]\n");
    for name in names {
        let (package, _) = name.rsplit_once('-').context("a package has a version")?;
        writeln!(text, "{package} = {{ path = \"{above}{name}\" }}")?;
    }
    Ok(text)
}

fn in_directory(directory: &Path, arguments: &[&str], target: &Path) -> Result<()> {
    println!("$ cargo {}", arguments.join(" "));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status = command.args(arguments).current_dir(directory).env("CARGO_TARGET_DIR", target).status()?;
    ensure!(status.success(), "the packages cannot be built: cargo {} failed", arguments.join(" "));
    Ok(())
}
