//! The names of functions that were executed in earlier runs, of any module: what the next run compiles at once.
//!
//! The file only ever says what is likely. A name that no module has, or a damaged entry, costs nothing.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// How many names are kept.
const NAMES_MAX: usize = 1 << 16;
/// Bytes of a name's hash.
const HASH_BYTES: usize = 8;

/// See the module's documentation.
#[derive(Debug)]
pub struct Executed {
    file: PathBuf,
    names: BTreeSet<[u8; HASH_BYTES]>,
}

impl Executed {
    /// What the file says; nothing if there is none.
    pub fn read(file: PathBuf) -> Executed {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let (mut entries, _) = bytes.as_chunks::<HASH_BYTES>();
        if entries.len() > 2 * NAMES_MAX {
            // The oldest are left out.
            entries = &entries[entries.len() - NAMES_MAX..];
            let _ = std::fs::write(&file, entries.as_flattened());
        }
        Executed { file, names: entries.iter().copied().collect() }
    }

    /// Whether a function of this name was executed before this run.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains(&hash(name))
    }

    /// Notes that these functions are executed, or are called by one that is. Errors are ignored, since this serves speed
    /// alone.
    pub fn add<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let hashes: Vec<_> = names.into_iter().map(hash).collect();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.file);
        let _ = file.and_then(|mut file| file.write_all(hashes.as_flattened()));
    }
}

fn hash(name: &str) -> [u8; HASH_BYTES] {
    let hash = blake3::hash(name.as_bytes());
    *hash.as_bytes().first_chunk().expect("a hash is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_in_the_next_run() {
        let directory = tempfile::tempdir().unwrap();
        let file = || directory.path().join("executed");
        let first = Executed::read(file());
        assert!(!first.contains("f"));
        first.add(["f", "g"]);
        assert!(!first.contains("f"), "the root of a run does not change");
        let second = Executed::read(file());
        assert!(second.contains("f") && second.contains("g") && !second.contains("h"));
    }

    #[test]
    fn a_file_that_grew_or_was_cut_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = || directory.path().join("executed");
        std::fs::write(file(), vec![7; 2 * NAMES_MAX * HASH_BYTES + 3]).unwrap();
        assert!(!Executed::read(file()).contains("f"));
        let names: Vec<_> = (0..=NAMES_MAX).map(|number| hash(&number.to_string())).collect();
        std::fs::write(file(), names.as_flattened()).unwrap();
        std::fs::write(file(), std::fs::read(file()).unwrap().repeat(2)).unwrap();
        let executed = Executed::read(file());
        assert!(executed.contains(&NAMES_MAX.to_string()));
        assert!(std::fs::metadata(file()).unwrap().len() <= (NAMES_MAX * HASH_BYTES) as u64);
    }
}
