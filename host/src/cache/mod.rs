//! The artifact cache: instrumented modules by content, and the native code that wasmtime makes of them.
//!
//! - `modules`: instrumented modules, each a file that carries its site table.
//! - `native`: wasmtime's own caches, one for each module.
//! - `evict`: eviction when the cache is too large.
//!
//! A hash verifies every entry before it is used. A damaged entry counts as a miss and is written anew. Errors of
//! writing an entry are ignored, since the cache only serves speed.

mod evict;
mod modules;
mod native;

pub use native::Native;

use coyote_instrumenter::{Instrumented, Options};
use std::path::PathBuf;

/// The environment variable that names another directory than the platform's directory for caches.
pub const VARIABLE: &str = "COYOTE_CACHE_DIR";

/// The cache of a user.
#[derive(Clone, Debug)]
pub struct Cache {
    modules: PathBuf,
    native: PathBuf,
    executed: PathBuf,
    /// See [`evict::is_due`].
    measured: PathBuf,
}

/// The cached data of one module under one set of options.
pub struct Entry {
    cache: Cache,
    /// A hash of the instrumenter's build, the options and the original module, in hexadecimal.
    key: String,
}

impl Cache {
    /// The cache of this user, or `None` if the platform has no place for one.
    pub fn of_user() -> Option<Cache> {
        use etcetera::BaseStrategy;
        let root = match std::env::var_os(VARIABLE) {
            Some(directory) => PathBuf::from(directory),
            None => etcetera::choose_base_strategy().ok()?.cache_dir().join("coyote-wasm"),
        };
        Some(Cache::at(root))
    }

    /// The cache in this directory.
    pub fn at(root: impl Into<PathBuf>) -> Cache {
        let root = root.into();
        let [modules, native, executed, measured] =
            ["modules", "native", "executed", "measured"].map(|name| root.join(name));
        Cache { modules, native, executed, measured }
    }

    /// Where the names of functions are kept that were executed in earlier runs.
    pub fn executed(&self) -> PathBuf {
        self.executed.clone()
    }

    /// The entry of this module.
    pub fn entry(&self, original: &[u8], options: &Options) -> Entry {
        let mut hasher = blake3::Hasher::new();
        hasher.update(coyote_instrumenter::BUILD.as_bytes());
        hasher.update(&serde_json::to_vec(options).expect("plain data serialises"));
        hasher.update(&[0]);
        hasher.update(original);
        Entry { cache: self.clone(), key: hasher.finalize().to_hex().to_string() }
    }
}

impl Entry {
    /// The instrumented module, if it is cached and complete.
    pub fn get(&self) -> Option<Instrumented> {
        modules::get(&self.cache.modules, &self.key)
    }

    pub fn put(&self, instrumented: &Instrumented) {
        modules::put(&self.cache.modules, &self.key, instrumented);
        if evict::is_due(&self.cache.measured) {
            evict::evict(&[&self.cache.modules, &self.cache.native], evict::BYTES_MAX);
        }
    }

    /// wasmtime's cache for the native code of this module. It is emptied if its files differ from those that were
    /// sealed.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn native(&self) -> anyhow::Result<Native> {
        Native::open(self.cache.native.join(&self.key))
    }
}
