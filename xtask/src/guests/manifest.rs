//! `examples/wasm/MANIFEST.json`: the sources and compilers of the committed modules.

use super::{Guest, WASM};
use crate::files;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    version: u32,
    /// By name of the guest.
    pub guests: BTreeMap<String, Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Version of the compiler, as it prints it.
    pub compiler: String,
    /// Hash of the sources, including their names.
    pub sources: String,
    /// Hash of the module.
    pub wasm: String,
    pub bytes: usize,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { version: VERSION, guests: BTreeMap::new() }
    }
}

fn path() -> PathBuf {
    files::root().join(WASM).join("MANIFEST.json")
}

impl Manifest {
    pub fn read() -> Result<Manifest> {
        let text = files::read_text(&path())?;
        let manifest: Manifest =
            serde_json::from_str(&text).with_context(|| format!("{} is damaged", path().display()))?;
        ensure!(manifest.version == VERSION, "{} has version {}", path().display(), manifest.version);
        Ok(manifest)
    }

    pub fn write(&self) -> Result<()> {
        files::write(&path(), serde_json::to_string_pretty(self)? + "\n")
    }
}

impl Entry {
    pub fn new(guest: &Guest, compiler: String, wasm: &[u8]) -> Result<Entry> {
        Ok(Entry { compiler, sources: hash_of_sources(guest)?, wasm: hash(wasm), bytes: wasm.len() })
    }
}

pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// A hash of names and contents, which does not depend on line ends of the checkout.
pub fn hash_of_sources(guest: &Guest) -> Result<String> {
    let root = files::root();
    let mut hasher = blake3::Hasher::new();
    for path in &guest.sources {
        let name = path.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        let text = files::read_text(path)?.replace("\r\n", "\n");
        for part in [&name, &text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
