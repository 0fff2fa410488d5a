//! The source files from which a test binary of cargo was built: those of cargo's targets that have its name.

use super::SourceTests;
use std::path::{Path, PathBuf};

/// The tests in the sources of a test binary that cargo built, `NAME-HASH.wasm`, for the package in a directory. `None`
/// if the sources cannot be determined.
pub fn of_binary(module: &Path, package: &Path) -> Option<SourceTests> {
    let stem = module.file_stem()?.to_str()?;
    let (name, hash) = stem.rsplit_once('-')?;
    if hash.len() != 16 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let manifest: toml::Table = std::fs::read_to_string(package.join("Cargo.toml")).ok()?.parse().ok()?;
    let roots = roots(name, package, &manifest);
    (!roots.is_empty()).then(|| SourceTests::of(&roots, package))
}

/// The roots of the targets with this name, where `-` and `_` are equal. A library and a program can have the same
/// name.
fn roots(name: &str, package: &Path, manifest: &toml::Table) -> Vec<PathBuf> {
    let is = |given: &str| given.replace('-', "_") == name.replace('-', "_");
    let text = |table: &toml::Value, key: &str| table.get(key).and_then(|v| v.as_str()).map(String::from);
    let own = manifest.get("package").and_then(|table| text(table, "name")).unwrap_or_default();
    let mut candidates = Vec::new();
    let library = manifest.get("lib");
    if is(&library.and_then(|table| text(table, "name")).unwrap_or_else(|| own.clone())) {
        candidates.push(library.and_then(|table| text(table, "path")).unwrap_or("src/lib.rs".into()));
    }
    if is(&own) {
        candidates.push("src/main.rs".into());
    }
    for (kind, folder) in
        [("bin", "src/bin"), ("test", "tests"), ("example", "examples"), ("bench", "benches")]
    {
        let listed = manifest.get(kind).and_then(|list| list.as_array()).into_iter().flatten();
        for target in listed.filter(|target| text(target, "name").is_some_and(|name| is(&name))) {
            candidates.extend(text(target, "path"));
        }
        for spelling in [name.to_string(), name.replace('_', "-")] {
            candidates.extend([format!("{folder}/{spelling}.rs"), format!("{folder}/{spelling}/main.rs")]);
        }
    }
    let mut roots: Vec<PathBuf> = candidates.into_iter().map(|file| package.join(file)).collect();
    roots.sort();
    roots.dedup();
    roots.retain(|root| root.is_file());
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_their_names() {
        let directory = tempfile::tempdir().unwrap();
        for file in ["src/lib.rs", "src/main.rs", "tests/one-two.rs", "tests/it/main.rs", "special.rs"] {
            let file = directory.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "#[test] fn a() {}").unwrap();
        }
        let text = "[package]\nname = \"a-crate\"\n[[test]]\nname = \"named\"\npath = \"special.rs\"";
        std::fs::write(directory.path().join("Cargo.toml"), text).unwrap();
        let tests = |name: &str| of_binary(Path::new(name), directory.path()).map(|found| found.tests);
        assert_eq!(tests("a_crate-0123456789abcdef.wasm"), Some(2));
        for name in ["one_two", "it", "named"] {
            assert_eq!(tests(&format!("deps/{name}-0123456789abcdef.wasm")), Some(1), "{name}");
        }
        assert_eq!(tests("other-0123456789abcdef.wasm"), None);
        assert_eq!(tests("it-2.wasm"), None);
    }
}
