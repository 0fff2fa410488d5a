//! Native code, in wasmtime's caches.
//!
//! wasmtime trusts the content of its cache: it decompresses and executes it without a checksum. Therefore each module
//! has its own cache, in a directory that is *sealed* with a hash of its files after wasmtime has used it. A directory
//! that does not match its seal is emptied before it is used.

use super::evict;
use anyhow::{Result, anyhow};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// wasmtime's cache of one module.
pub struct Native {
    directory: PathBuf,
    pub cache: wasmtime::Cache,
}

/// Names in the module's directory: the seal, and wasmtime's directory. In the latter, wasmtime removes files that are
/// not its own.
const SEAL: &str = "seal";
const CODE: &str = "code";

impl Native {
    pub(super) fn open(directory: PathBuf) -> Result<Native> {
        if directory.exists() && std::fs::read_to_string(directory.join(SEAL)).ok() != seal_of(&directory) {
            let _ = std::fs::remove_dir_all(&directory);
        }
        let mut config = wasmtime::CacheConfig::new();
        // Only this process changes the files: frequently used ones are not compressed again, and nothing is cleaned
        // up.
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

    /// Seals the present files: call this after the module was compiled or loaded.
    pub fn seal(&self) {
        let seal = seal_of(&self.directory);
        if std::fs::read_to_string(self.directory.join(SEAL)).ok() == seal {
            return;
        }
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            std::io::Write::write_all(&mut file, seal.unwrap_or_default().as_bytes())?;
            file.persist(self.directory.join(SEAL))?;
            Ok(())
        };
        let _ = write();
    }
}

/// A hash of the names and contents of wasmtime's files with native code, in hexadecimal; `None` if there are none or
/// they cannot be read. wasmtime's statistics, which it writes at any time, are left out: they do not affect the code
/// that it loads.
fn seal_of(directory: &Path) -> Option<String> {
    let mut files = Vec::new();
    collect(&directory.join(CODE), &mut files)?;
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in &files {
        let content = std::fs::read(file).ok()?;
        let name = file.file_name()?.as_encoded_bytes();
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name);
        hasher.update(&(content.len() as u64).to_le_bytes()).update(&content);
    }
    (!files.is_empty()).then(|| hasher.finalize().to_hex().to_string())
}

/// The files below a directory whose names have no extension, which are those with native code.
fn collect(directory: &Path, into: &mut Vec<PathBuf>) -> Option<()> {
    for entry in std::fs::read_dir(directory).ok()? {
        let entry = entry.ok()?;
        let path = entry.path();
        if entry.file_type().ok()?.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_none() {
            into.push(path);
        }
    }
    Some(())
}
