//! Lines of source files, as far as the files exist.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads each file once. A file that cannot be read has no lines, which only makes reports poorer.
pub struct Sources {
    /// Folders to which relative paths may be relative, in the order in which they are tried.
    roots: Vec<PathBuf>,
    files: BTreeMap<String, Option<Source>>,
    /// The metadata of the module, with the time when it was written.
    module: Option<Metadata>,
}

/// A source file.
pub struct Source {
    pub lines: Vec<String>,
    /// Whether it was changed after the module was written: its lines may not be those that were compiled.
    pub changed: bool,
}

/// The time that copying a project may take.
const COPYING: Duration = Duration::from_secs(2);

/// Larger files are not sources.
const FILE_BYTES_MAX: u64 = 4 << 20;

impl Sources {
    /// The sources of a module at a path: relative paths are searched for from the current directory and from the
    /// module's, and from the folders above these.
    pub fn beside(module: &Path) -> Sources {
        let here = std::env::current_dir().unwrap_or_default();
        let beside = std::path::absolute(module).unwrap_or_default();
        let above = beside.parent().unwrap_or(&beside).ancestors();
        let roots = here.ancestors().chain(above).map(Path::to_owned).collect();
        let module = std::fs::metadata(module).ok();
        Sources { roots, files: BTreeMap::new(), module }
    }

    /// Sources without any files.
    pub fn none() -> Sources {
        Sources { roots: Vec::new(), files: BTreeMap::new(), module: None }
    }

    /// A line that was compiled, from 1, without its line feed. `None` if the file was changed since.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let Source { lines, .. } = self.file(file).filter(|source| !source.changed)?;
        lines.get((line as usize).checked_sub(1)?).map(String::as_str)
    }

    /// The files that were changed after the module was written, of those that were asked for.
    pub fn changed(&self) -> impl Iterator<Item = &str> {
        let changed = |source: &Option<Source>| source.as_ref().is_some_and(|source| source.changed);
        self.files.iter().filter(move |(_, source)| changed(source)).map(|(file, _)| file.as_str())
    }

    /// A whole file.
    pub fn file(&mut self, file: &str) -> Option<&Source> {
        if !self.files.contains_key(file) {
            let source = self.read(file);
            self.files.insert(file.to_owned(), source);
        }
        self.files.get(file)?.as_ref()
    }

    /// The path where a file is found.
    pub fn path(&self, file: &str) -> Option<PathBuf> {
        self.locate(file).map(|(path, _)| path)
    }

    fn locate(&self, file: &str) -> Option<(PathBuf, Metadata)> {
        let paths = self.roots.iter().map(|root| root.join(file));
        paths
            .filter_map(|path| std::fs::metadata(&path).ok().map(|about| (path, about)))
            .find(|(_, about)| about.is_file() && about.len() <= FILE_BYTES_MAX)
    }

    fn read(&self, file: &str) -> Option<Source> {
        let (path, about) = self.locate(file)?;
        let text = std::fs::read_to_string(path).ok()?;
        let lines = text.lines().map(str::to_owned).collect();
        let built = self.module.as_ref().and_then(|module| module.modified().ok());
        // Files that are copied together have different times, too.
        let changed = about.modified().ok();
        let changed = built.zip(changed).is_some_and(|(built, changed)| changed > built + COPYING);
        Some(Source { lines, changed })
    }
}
