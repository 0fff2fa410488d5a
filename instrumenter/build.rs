//! Identifies this instrumenter by its sources and by the contract that it is built with, so that a cache
//! never serves what another one wrote.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=src");
    let mut hasher = DefaultHasher::new();
    // A change of the contract rebuilds this script, and so runs it.
    (coyote_abi::VERSION, coyote_abi::FINGERPRINT).hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    visit(Path::new("src"), &mut hasher);
    println!("cargo::rustc-env=COYOTE_INSTRUMENTER_BUILD={:016x}", hasher.finish());
}

/// Hashes all files below a directory, in the order of their names.
fn visit(directory: &Path, hasher: &mut DefaultHasher) {
    let entries = std::fs::read_dir(directory).expect("the sources can be listed");
    let mut paths: Vec<_> = entries.map(|e| e.expect("the sources can be listed").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            visit(&path, hasher);
        } else {
            path.hash(hasher);
            std::fs::read(&path).expect("a source can be read").hash(hasher);
        }
    }
}
