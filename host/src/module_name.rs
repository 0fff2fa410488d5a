//! Names of modules without their directories, and of their tests: what files of a run are named by, and what programs
//! find as their own name.

use std::path::Path;

/// The name of a module's file without its extension.
pub fn stem(module: &Path) -> String {
    module.file_stem().map_or("module".into(), |stem| stem.to_string_lossy().into_owned())
}

/// The [`stem`] without the hash of a build: `queue` for `target/queue-0123456789abcdef.wasm`.
pub fn stable(module: &Path) -> String {
    without_hash(&stem(module)).to_string()
}

/// The name of a test binary of cargo without the hash, which other flags and versions change.
pub fn without_hash(stem: &str) -> &str {
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    stem.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map_or(stem, |(name, _)| name)
}

/// A test's name, made suitable as a part of a file name.
pub fn of_test(test: &str) -> String {
    test.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{stable, without_hash};
    use std::path::Path;

    #[test]
    fn the_hash_of_cargo_is_no_part_of_a_name() {
        assert_eq!(without_hash("queue-0123456789abcdef"), "queue");
        assert_eq!(without_hash("lock-free-queue"), "lock-free-queue");
        assert_eq!(without_hash("queue-0123456789abcdeg"), "queue-0123456789abcdeg");
        assert_eq!(stable(Path::new("target/queue-0123456789abcdef.wasm")), "queue");
        assert_eq!(stable(Path::new("..")), "module");
    }
}
