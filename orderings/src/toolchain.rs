//! Tables of installed toolchains, from the source of the standard library (`rustup component add rust-src`).

use crate::{SOURCE, Table, releases::Release, source};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Why a toolchain has no table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The `rustc` at this path did not run, or did not print a release and 40 digits of a commit.
    #[error("{0} says neither its version nor its commit")]
    Version(PathBuf),
    /// The source is there and cannot be read.
    #[error("{path} cannot be read: {error}")]
    Read {
        /// The `atomic.rs`.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The source is there and is not what [`source::table`] understands.
    #[error("{path}: {error}")]
    Source {
        /// The `atomic.rs`.
        path: PathBuf,
        /// What is wrong with it.
        error: source::Error,
    },
}

/// Directories of the toolchains that rustup knows and of the `rustc` in the path.
pub fn installed() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let home = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".rustup")));
    let toolchains = home.and_then(|home| std::fs::read_dir(home.join("toolchains")).ok());
    found.extend(toolchains.into_iter().flatten().flatten().map(|entry| entry.path()));
    found.extend(said("rustc".as_ref(), &["--print", "sysroot"]).map(|said| said.trim().into()));
    found
}

/// The table of an installed toolchain; `None` if its standard library's source is not installed.
///
/// # Errors
/// The source is installed, but its version or its contents are not understood.
pub fn release(sysroot: &Path) -> Result<Option<Release>, Error> {
    let path = sysroot.join("lib/rustlib/src/rust").join(SOURCE);
    if !path.exists() {
        return Ok(None);
    }
    let rustc = sysroot.join("bin").join(format!("rustc{}", std::env::consts::EXE_SUFFIX));
    let (version, commit) = version(&rustc).ok_or(Error::Version(rustc))?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return Err(Error::Read { path, error }),
    };
    let table = source::table(&text).map_err(|error| Error::Source { path, error })?;
    Ok(Some(Release { version, commit, table: Arc::new(table) }))
}

/// The table of the installed toolchain that was made from a commit, given whole or by its first digits, at least 9.
pub fn find(commit: &str) -> Option<Arc<Table>> {
    let releases = installed().into_iter().filter_map(|sysroot| release(&sysroot).ok().flatten());
    let mut matching = releases.filter(|release| commit.len() >= 9 && release.commit.starts_with(commit));
    Some(matching.next()?.table)
}

/// The version and the commit of a compiler.
fn version(rustc: &Path) -> Option<(String, String)> {
    let said = said(rustc, &["--version", "--verbose"])?;
    let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let commit = field("commit-hash:").filter(|commit| commit.len() == 40)?;
    Some((field("release:")?.to_string(), commit.to_string()))
}

fn said(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}
