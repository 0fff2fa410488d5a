//! Reading and writing with errors that name the file.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The root directory of the repository.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the repository").to_path_buf()
}

/// The directory in which cargo builds.
pub fn target() -> PathBuf {
    // Relative to the directory that cargo was called in, as for cargo itself.
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Writes a file, with the directories above it.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let parent = path.parent().context("a file has a directory")?;
    fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    fs::write(path, contents).with_context(|| format!("{} cannot be written", path.display()))
}

/// The entries of a directory, sorted by name, because the order of the file system is arbitrary.
pub fn list(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("{} cannot be listed", directory.display()))?;
    let mut paths = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// All files under a path, sorted, except for cargo's build directories.
pub fn files_under(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in list(path)? {
        if entry.file_name().is_some_and(|name| name != "target") {
            files.extend(files_under(&entry)?);
        }
    }
    Ok(files)
}
