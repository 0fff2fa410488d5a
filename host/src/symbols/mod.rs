//! Finds the functions, files and lines of a place in the guest.
//!
//! Everything is read from the ORIGINAL module: instrumentation does not carry debug information over, and
//! users only know their own code. Three sources, each optional: DWARF in the module's `.debug_*` sections,
//! its name section, its imports and exports. A missing or damaged source makes the answer poorer and never
//! an error, since a verdict must not depend on debug information.
//!
//! Not read: split DWARF (`-gsplit-dwarf`), separate files (`external_debug_info`), source maps.
//!
//! - `module`: reads the module's bytes.
//! - `lines`: its line tables.
//! - `demangle`: names as programmers write them.
//! - `variables`: names of the memory at an address.
//! - `coroutines`: where tasks wait.
//! - `sources`: the text of lines.
//! - `library`: recognises frames that are not the guest's own.

mod coroutines;
mod demangle;
mod library;
mod lines;
mod module;
mod sources;
#[cfg(test)]
mod tests;
mod variables;

use coyote_instrumenter::Location;
use demangle::demangle;
use module::Module;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

pub(crate) use coroutines::{Coroutine, Coroutines, Suspension, UNRESUMED};
pub(crate) use coyote_instrumenter::names::{without_generics, without_parameters};
pub(crate) use library::{
    is_fetched, is_harness, is_library, is_library_function, is_of_core, is_of_locks, keeps_values,
    keeps_values_of_std, library_file, makes_text, wraps_access,
};
#[doc(hidden)]
pub use lines::{Lines, Row, Unit};
#[doc(hidden)]
pub use sources::Sources;
pub use variables::{Encoding, InFrame, MemoryName, Place, Variables};
pub(crate) use variables::{number_text, slice};

/// A function that was executing at a place, and the place in its source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SourceFrame {
    /// The demangled name; never empty.
    pub function: String,
    /// Relative to the current directory if it is below it.
    pub file: Option<String>,
    /// The line, from 1. `None` also for code that belongs to no line.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

impl SourceFrame {
    /// Its place without a path: `lib.rs:82`. `None` if the file or the line is not known.
    pub fn file_and_line(&self) -> Option<String> {
        let file = Path::new(self.file.as_deref()?).file_name()?;
        Some(format!("{}:{}", file.to_string_lossy(), self.line?))
    }
}

/// `function at file:line:column`, as far as known: editors and terminals link that.
impl fmt::Display for SourceFrame {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.function)?;
        let Some(file) = &self.file else { return Ok(()) };
        write!(f, " at {file}")?;
        let Some(line) = self.line else { return Ok(()) };
        write!(f, ":{line}")?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

/// The variables of a module; none without debug information.
pub fn variables(original_wasm: &[u8]) -> Variables {
    let module = Module::read(original_wasm);
    module.dwarf().map(|dwarf| Variables::read(&dwarf, module.code_start)).unwrap_or_default()
}

/// The names of a module's functions by index, without those of debug information; empty if unknown.
pub(crate) fn function_names(original_wasm: &[u8]) -> Vec<String> {
    Module::read(original_wasm).names.iter().map(|name| demangle(name)).collect()
}

/// See the module's documentation. Owns all that it needs. Units are parsed when first asked for.
pub struct Symbols {
    /// Names by index in the original function index space; demangled, empty if unknown.
    names: Vec<String>,
    lines: Lines,
    base: PathBuf,
    /// Whether a compiler made the module, and was not asked for lines.
    lacks_lines: bool,
}

impl Symbols {
    /// Reads the original module. Never fails.
    pub fn new(original_wasm: &[u8]) -> Symbols {
        Symbols::relative_to(original_wasm, &std::env::current_dir().unwrap_or_default())
    }

    /// As [`Symbols::new`], with paths shown relative to the given directory.
    pub fn relative_to(original_wasm: &[u8], base: &Path) -> Symbols {
        let module = Module::read(original_wasm);
        let lines = Lines::of(&module);
        Symbols {
            lacks_lines: module.compiled && !lines.any(),
            names: module.names.iter().map(|name| demangle(name)).collect(),
            lines,
            base: base.to_owned(),
        }
    }

    /// Whether there are line tables at all.
    pub fn has_lines(&self) -> bool {
        self.lines.any()
    }

    /// Whether the user's compiler could have added line tables, and was not asked to.
    pub fn lacks_lines(&self) -> bool {
        self.lacks_lines
    }

    /// The functions at the place, the innermost inlined one first, the wasm function last. At least
    /// one: without DWARF, the function's name alone.
    pub fn frames(&self, location: Location) -> Vec<SourceFrame> {
        match self.dwarf_frames(location) {
            Some(frames) if !frames.is_empty() => frames,
            _ => {
                let function = self.function_name(location.function);
                vec![SourceFrame { function, file: None, line: None, column: None }]
            }
        }
    }

    /// The offsets at which rows of line tables begin between two offsets of the original module, ascending.
    pub(crate) fn row_starts(&self, range: Range<u32>) -> Vec<u32> {
        self.lines.row_starts(range)
    }

    /// The demangled name of a function of the original module; `f12` if it has none.
    pub fn function_name(&self, index: u32) -> String {
        match self.names.get(index as usize) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("f{index}"),
        }
    }

    fn dwarf_frames(&self, location: Location) -> Option<Vec<SourceFrame>> {
        let mut found = self.lines.frames(location.offset)?;
        let mut frames = Vec::new();
        while let Some(frame) = found.next().ok()? {
            let name = frame.function.as_ref().and_then(|f| Some(demangle(&f.raw_name().ok()?)));
            let place = frame.location.as_ref();
            frames.push(SourceFrame {
                function: name
                    .filter(|name| !name.is_empty())
                    .unwrap_or_else(|| self.function_name(location.function)),
                file: place.and_then(|p| Some(self.shown(p.file?))),
                // DWARF writes 0 where it has none.
                line: place.and_then(|p| p.line).filter(|line| *line != 0),
                column: place.and_then(|p| p.column).filter(|column| *column != 0),
            });
        }
        Some(frames)
    }

    /// A path of debug information as reports show it.
    pub fn shown(&self, file: &str) -> String {
        let path = without_detours(Path::new(file));
        // An empty base is a prefix of every path and changes none.
        let path = path.strip_prefix(&self.base).unwrap_or(&path);
        let path = path.strip_prefix(".").unwrap_or(path);
        path.to_string_lossy().into_owned()
    }
}

/// `a/b/../c` as `a/c`. If `b` is a link to elsewhere, that is another file, which is acceptable in a report.
fn without_detours(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for component in path.components() {
        match short.components().next_back() {
            Some(Component::Normal(_)) if component == Component::ParentDir => drop(short.pop()),
            _ => short.push(component),
        }
    }
    short
}
