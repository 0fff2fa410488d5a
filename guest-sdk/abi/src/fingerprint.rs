//! Identifies the contract by its text. Caches of instrumented modules use it as a key, so that they notice a
//! change of the contract even if [`VERSION`](crate::VERSION) was not increased.

/// FNV-1a over texts (Fowler, Noll and Vo), with their lengths.
const fn fnv(texts: &[&str]) -> u64 {
    const PRIME: u64 = 0x100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut text = 0;
    while text < texts.len() {
        let bytes = texts[text].as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
            at += 1;
        }
        hash = (hash ^ bytes.len() as u64).wrapping_mul(PRIME);
        text += 1;
    }
    hash
}

/// The sources of this crate, by name.
const SOURCES: &[(&str, &str)] = &[
    ("errno.rs", include_str!("errno.rs")),
    ("file.rs", include_str!("file.rs")),
    ("fingerprint.rs", include_str!("fingerprint.rs")),
    ("guest.rs", include_str!("guest.rs")),
    ("lib.rs", include_str!("lib.rs")),
    ("operation.rs", include_str!("operation.rs")),
    ("ordering.rs", include_str!("ordering.rs")),
    ("rt.rs", include_str!("rt.rs")),
];

/// A hash of this crate's sources.
pub const FINGERPRINT: u64 = {
    let mut texts = [""; SOURCES.len()];
    let mut i = 0;
    while i < texts.len() {
        texts[i] = SOURCES[i].1;
        i += 1;
    }
    fnv(&texts)
};

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::path::Path;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn every_source_is_part_of_the_fingerprint() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let entries = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let listed: Vec<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(files, listed);
    }

    #[test]
    fn texts_are_told_apart() {
        assert_eq!(fnv(&[]), 0xcbf2_9ce4_8422_2325, "the published start value");
        assert_ne!(fnv(&["ab", "c"]), fnv(&["a", "bc"]));
        assert_ne!(fnv(&["a"]), fnv(&["b"]));
        assert_ne!(FINGERPRINT, fnv(&[]));
    }
}
