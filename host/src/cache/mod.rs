//! The artifact cache: instrumented modules by content, and the native code that wasmtime makes of them.
//!
//! - `modules`: instrumented modules, each a file that carries its site table.
//! - `native`: wasmtime's own caches, one for each module.
//! - `evict`: what is removed when there is too much.
//!
//! Every entry is checked by a hash before it is used. Anything wrong with an entry is a miss, and the entry is made
//! anew; anything that keeps us from writing one is ignored, since the cache is only there for speed.

mod evict;
mod modules;
mod native;

use coyote_instrumenter::{Instrumented, Options};
use std::path::PathBuf;

/// Names another directory than the platform's for caches.
pub const VARIABLE: &str = "COYOTE_CACHE_DIR";

/// The cache of a user.
#[derive(Clone, Debug)]
pub struct Cache {
    modules: PathBuf,
    native: PathBuf,
}

/// What is cached of one module under one set of options.
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
        Cache { modules: root.join("modules"), native: root.join("native") }
    }

    /// What is cached of this module.
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
    /// The instrumented module, if it is there and whole.
    pub fn get(&self) -> Option<Instrumented> {
        modules::get(&self.cache.modules, &self.key)
    }

    pub fn put(&self, instrumented: &Instrumented) {
        modules::put(&self.cache.modules, &self.key, instrumented);
        evict::evict(&[&self.cache.modules, &self.cache.native], evict::BYTES_MAX);
    }

    /// wasmtime's cache for the native code of this module: empty if what is there is not what was there when
    /// it was sealed.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn native(&self) -> anyhow::Result<native::Native> {
        native::Native::open(self.cache.native.join(&self.key))
    }
}
