//! Lines of source files, as far as these are there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads each file once. A file that cannot be read has no lines: reports are poorer without it, and no more.
pub struct Sources {
    /// Folders to which relative paths may be relative, in the order in which they are tried.
    roots: Vec<PathBuf>,
    files: BTreeMap<String, Option<Vec<String>>>,
}

/// Larger files are not sources.
const FILE_BYTES_MAX: u64 = 4 << 20;

impl Sources {
    /// For a module at a path: relative paths are looked for from the current directory and from the module's on, and
    /// in the folders above these.
    pub fn beside(module: &Path) -> Sources {
        let here = std::env::current_dir().unwrap_or_default();
        let beside = std::path::absolute(module).unwrap_or_default();
        let above = beside.parent().unwrap_or(&beside).ancestors();
        let roots = here.ancestors().chain(above).map(Path::to_owned).collect();
        Sources { roots, files: BTreeMap::new() }
    }

    /// A line, from 1, without its line feed.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        if !self.files.contains_key(file) {
            let lines = self.read(file);
            self.files.insert(file.to_owned(), lines);
        }
        let lines = self.files.get(file)?.as_ref()?;
        lines.get((line as usize).checked_sub(1)?).map(String::as_str)
    }

    fn read(&self, file: &str) -> Option<Vec<String>> {
        let path = self.roots.iter().map(|root| root.join(file)).find(|path| {
            std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= FILE_BYTES_MAX)
        })?;
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }
}
