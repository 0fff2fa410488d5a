//! Eviction from the cache when it is too large: the least recently used entries are removed.

#![expect(clippy::disallowed_types, reason = "the age of files, of which no guest learns")]

use std::fs::{self, DirEntry, File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Limit of the cache's size in bytes. A module takes about 10 times its size.
pub const BYTES_MAX: u64 = 1 << 30;

/// The size is measured at most once in this time, because that reads a directory for each module. Until then, the
/// cache may be larger than its limit.
const INTERVAL: Duration = Duration::from_secs(60);

/// Records that an entry is used now. An error is ignored, since it only costs time later.
pub fn touch(path: &Path) {
    let times = FileTimes::new().set_modified(SystemTime::now());
    let _ = File::open(path).and_then(|file| file.set_times(times));
}

/// Whether it is time to measure the size of the cache again; if so, the next time is counted from now. The file
/// `measured` keeps when it was done last; a time in the future does not count.
pub fn is_due(measured: &Path) -> bool {
    let last = fs::metadata(measured).and_then(|metadata| metadata.modified()).ok();
    let age = last.and_then(|last| SystemTime::now().duration_since(last).ok());
    if age.is_some_and(|age| age < INTERVAL) {
        return false;
    }
    let _ = File::create(measured);
    touch(measured);
    true
}

/// Removes entries of these directories, files or directories themselves, until all together have at most `bytes_max`
/// bytes. The most recently used entry stays, whatever its size.
pub fn evict(directories: &[&Path], bytes_max: u64) {
    let entries = directories.iter().flat_map(|directory| fs::read_dir(directory).into_iter().flatten());
    let mut known: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let modified = entry.metadata().ok()?.modified().ok()?;
            Some((modified, entry.path(), bytes(&entry)))
        })
        .collect();
    known.sort();
    let last = known.pop();
    let mut all: u64 = known.iter().chain(&last).map(|(_, _, bytes)| bytes).sum();
    for (_, path, bytes) in known {
        if all <= bytes_max {
            return;
        }
        remove(&path);
        all -= bytes;
    }
}

/// The size of a file, or of all files below a directory.
fn bytes(entry: &DirEntry) -> u64 {
    if entry.file_type().is_ok_and(|ty| ty.is_dir()) {
        fs::read_dir(entry.path()).into_iter().flatten().flatten().map(|entry| bytes(&entry)).sum()
    } else {
        entry.metadata().map_or(0, |metadata| metadata.len())
    }
}

/// Removes an entry. Errors are ignored: another process may have removed it before.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_measured_once_in_a_while() {
        let directory = tempfile::tempdir().unwrap();
        let measured = directory.path().join("measured");
        let set =
            |then| File::open(&measured).unwrap().set_times(FileTimes::new().set_modified(then)).unwrap();
        assert!(is_due(&measured), "it was never measured");
        assert!(!is_due(&measured));
        set(SystemTime::now() - 2 * INTERVAL);
        assert!(is_due(&measured));
        assert!(!is_due(&measured));
        set(SystemTime::now() + 2 * INTERVAL);
        assert!(is_due(&measured), "the clock was set back");
        assert!(!is_due(&measured));
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let (files, directories) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (a, b) = (files.path().join("a"), files.path().join("b"));
        let (c, d) = (directories.path().join("c"), files.path().join("d"));
        fs::create_dir_all(c.join("modules")).unwrap();
        for file in [&a, &b, &c.join("modules").join("code"), &d] {
            fs::write(file, [0; 100]).unwrap();
        }
        let now = fs::metadata(&d).unwrap().modified().unwrap();
        for (path, hours) in [(&a, 1), (&b, 4), (&c, 3), (&d, 2)] {
            let then = now - Duration::from_secs(3600 * hours);
            File::open(path).unwrap().set_times(FileTimes::new().set_modified(then)).unwrap();
        }
        let left = || [&a, &b, &c, &d].map(|path| path.exists());
        let both = [files.path(), directories.path()];
        evict(&both, 400);
        assert_eq!(left(), [true; 4]);
        evict(&both, 350);
        assert_eq!(left(), [true, false, true, true]);
        touch(&c);
        evict(&both, 250);
        assert_eq!(left(), [true, false, true, false], "what is used is young again");
        evict(&both, 0);
        assert_eq!(left(), [false, false, true, false], "the last one is about to be used");
    }
}
