//! The artifact cache: instrumented modules by content, and wasmtime's own cache for native code.
//!
//! An entry is an instrumented module, which carries its site table. Anything wrong with an entry is a
//! miss; anything that keeps us from writing one is ignored, since the cache is only there for speed.

use anyhow::{Result, anyhow};
use coyote_instrumenter::{Instrumented, Options, SiteTable};
use std::io::Write;
use std::path::PathBuf;

/// Directories of both caches.
#[derive(Clone, Debug)]
pub struct Cache {
    modules: PathBuf,
    native: PathBuf,
}

/// Names another directory than the platform's for caches.
pub const VARIABLE: &str = "COYOTE_CACHE_DIR";

impl Cache {
    /// The cache of this user, or `None` if the platform has no place for one.
    pub fn of_user() -> Option<Cache> {
        use etcetera::BaseStrategy;
        let root = match std::env::var_os(VARIABLE) {
            Some(directory) => PathBuf::from(directory),
            None => etcetera::choose_base_strategy().ok()?.cache_dir().join("coyote-wasm"),
        };
        Some(Cache { modules: root.join("modules"), native: root.join("native") })
    }

    /// wasmtime's cache for native code.
    pub fn native(&self) -> Result<wasmtime::Cache> {
        let mut config = wasmtime::CacheConfig::new();
        config.with_directory(&self.native);
        wasmtime::Cache::new(config).map_err(|e| {
            let directory = self.native.display();
            anyhow!(
                "the cache directory {directory} cannot be used; set {VARIABLE} or pass --no-cache: {e:#}"
            )
        })
    }

    fn path(&self, original: &[u8], options: &Options) -> PathBuf {
        let mut hasher = blake3::Hasher::new();
        hasher.update(coyote_instrumenter::BUILD.as_bytes());
        hasher.update(&serde_json::to_vec(options).expect("plain data serialises"));
        hasher.update(&[0]);
        hasher.update(original);
        self.modules.join(format!("{}.wasm", hasher.finalize().to_hex()))
    }

    /// The instrumented module, if it is there and whole.
    pub fn get(&self, original: &[u8], options: &Options) -> Option<Instrumented> {
        let wasm = std::fs::read(self.path(original, options)).ok()?;
        let table = table_of(&wasm)?;
        Some(Instrumented { wasm, table })
    }

    pub fn put(&self, original: &[u8], options: &Options, instrumented: &Instrumented) {
        let path = self.path(original, options);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.modules)?;
            let mut file = tempfile::NamedTempFile::new_in(&self.modules)?;
            file.write_all(&instrumented.wasm)?;
            file.persist(&path)?;
            Ok(())
        };
        let _ = write();
    }
}

/// The site table in an instrumented module.
fn table_of(wasm: &[u8]) -> Option<SiteTable> {
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        if let wasmparser::Payload::CustomSection(section) = payload.ok()?
            && section.name() == coyote_abi::rt::SITES_SECTION
        {
            return SiteTable::from_bytes(section.data()).ok();
        }
    }
    None
}
