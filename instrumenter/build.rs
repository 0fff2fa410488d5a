//! Identifies this instrumenter by its sources, so that a cache never serves what another one wrote.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

fn main() {
    let mut hasher = DefaultHasher::new();
    for directory in ["src", "../guest-sdk/abi/src"] {
        println!("cargo:rerun-if-changed={directory}");
        visit(Path::new(directory), &mut hasher);
    }
    println!("cargo:rustc-env=COYOTE_INSTRUMENTER_BUILD={:016x}", hasher.finish());
}

/// Hashes all files below a directory, in the order of their names.
fn visit(directory: &Path, hasher: &mut DefaultHasher) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        match std::fs::read(&path) {
            Ok(bytes) => bytes.hash(hasher),
            Err(_) => visit(&path, hasher),
        }
    }
}
