//! Native code, in wasmtime's caches.
//!
//! wasmtime trusts the content of its cache: it decompresses and executes it without a checksum. Therefore each module
//! has its own cache, in a directory in which each file is *sealed* with its hash after wasmtime has written it. A file
//! that does not match its seal, or has none, is removed before the cache is used. Several processes may use a module's
//! cache at a time.

use super::evict;
use anyhow::{Result, anyhow};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// wasmtime's cache of one module.
pub struct Native {
    directory: PathBuf,
    pub cache: wasmtime::Cache,
}

/// Names in the module's directory: the seals, wasmtime's directory, in which wasmtime removes files that are not its
/// own, and the functions of the root.
const SEALS: &str = "seals";
const CODE: &str = "code";
const ROOT: &str = "root";

impl Native {
    pub(super) fn open(directory: PathBuf) -> Result<Native> {
        for file in files(&directory) {
            let seal = seal_of(&directory, &file);
            if std::fs::read_to_string(&seal).ok() != hash_of(&file) {
                let _ = std::fs::remove_file(&file).and_then(|()| std::fs::remove_file(&seal));
            }
        }
        let mut config = wasmtime::CacheConfig::new();
        // Only this tool changes the files: frequently used ones are not compressed again, and nothing is cleaned up.
        config
            .with_directory(directory.join(CODE))
            .with_optimized_compression_usage_counter_threshold(u64::MAX)
            .with_cleanup_interval(Duration::from_secs(10 * 365 * 86_400));
        let cache = wasmtime::Cache::new(config).map_err(|e| {
            let directory = directory.display();
            anyhow!(
                "the cache directory {directory} cannot be used; set {} or pass --no-cache: {e:#}",
                super::VARIABLE
            )
        })?;
        evict::touch(&directory);
        Ok(Native { directory, cache })
    }

    /// Seals the files that have no seal yet: call this after the module was compiled or loaded. Errors are ignored,
    /// since a file without a seal only costs time.
    pub fn seal(&self) {
        if std::fs::create_dir_all(self.directory.join(SEALS)).is_err() {
            return;
        }
        for file in files(&self.directory) {
            let seal = seal_of(&self.directory, &file);
            if !seal.exists()
                && let Some(hash) = hash_of(&file)
            {
                let _ = write(&self.directory, &seal, hash.as_bytes());
            }
        }
    }

    /// The functions that were compiled first when the module was compiled, of so many functions.
    pub fn root(&self, functions: u32) -> Option<BTreeSet<u32>> {
        let text = std::fs::read_to_string(self.directory.join(ROOT)).ok()?;
        let numbers: Option<BTreeSet<u32>> = text.lines().map(|line| line.parse().ok()).collect();
        numbers.filter(|numbers| numbers.last().is_none_or(|last| *last < functions))
    }

    /// Keeps what [`Native::root`] returns. Errors are ignored.
    pub fn keep_root(&self, functions: &BTreeSet<u32>) {
        let lines: String = functions.iter().map(|function| format!("{function}\n")).collect();
        let file = self.directory.join(ROOT);
        if std::fs::read_to_string(&file).ok().as_ref() != Some(&lines) {
            let _ = write(&self.directory, &file, lines.as_bytes());
        }
    }
}

/// Writes a file, which is there as a whole or not at all.
fn write(directory: &Path, path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    std::io::Write::write_all(&mut file, content)?;
    file.persist(path)?;
    Ok(())
}

/// The hash of a file's name and content, in hexadecimal; `None` if it cannot be read.
fn hash_of(file: &Path) -> Option<String> {
    let content = std::fs::read(file).ok()?;
    let name = file.file_name()?.as_encoded_bytes();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes()).update(name).update(&content);
    Some(hasher.finalize().to_hex().to_string())
}

/// Where the seal of a file is.
fn seal_of(directory: &Path, file: &Path) -> PathBuf {
    directory.join(SEALS).join(file.file_name().unwrap_or_default())
}

/// wasmtime's files with native code: those without an extension. Its statistics, which it writes at any time, have
/// one; they do not affect the code that it loads.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    collect(&directory.join(CODE), &mut files);
    files
}

fn collect(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|ty| ty.is_dir()) {
            collect(&path, into);
        } else if path.extension().is_none() {
            into.push(path);
        }
    }
}
