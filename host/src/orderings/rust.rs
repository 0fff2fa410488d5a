//! Places in Rust's `atomic.rs`.
//!
//! The path of `atomic.rs` says which release it belongs to (`/rustc/COMMIT/library/..`). Where the source is
//! installed, rustc uses the installed path instead, and the installed source may have been updated since. In this
//! case, the commit in the unit's producer string decides. The same applies to packages of distributions, which have
//! paths of their own.

use crate::symbols::{Lines, Unit};
use coyote_orderings::{Arm, SOURCE, Table, releases, toolchain};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The place of an instruction in Rust's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On an arm over orderings in `atomic.rs`.
    Arm(Arm),
    /// On any other line.
    Line,
    /// In an `atomic.rs` whose lines are not known.
    UnknownRelease,
    /// On no line.
    Nowhere,
}

/// The tables for a module, as a cache.
#[derive(Default)]
pub struct Sources {
    /// Tables by commit; `None` if the commit is not known.
    tables: BTreeMap<String, Option<Arc<Table>>>,
}

impl Sources {
    /// The place of the instruction at an offset of the original module.
    pub fn place(&mut self, lines: &Lines, offset: u32) -> Place {
        let row = lines.row(offset);
        let Some((file, line)) = row.and_then(|row| Some((row.file, row.line?))) else {
            return Place::Nowhere;
        };
        let file = file.replace('\\', "/");
        let Some(before) = file.strip_suffix(SOURCE).filter(|before| before.ends_with('/')) else {
            return Place::Line;
        };
        let commit = commit_in_path(before).map(str::to_string);
        let commit = commit.or_else(|| commit_in_producer(&lines.unit(offset)?.producer).map(str::to_string));
        match commit.and_then(|commit| self.table(commit)) {
            Some(table) => table.at(line).map_or(Place::Line, |arm| Place::Arm(*arm)),
            None => Place::UnknownRelease,
        }
    }

    fn table(&mut self, commit: String) -> Option<Arc<Table>> {
        let find = |commit: &String| releases::find(commit).or_else(|| toolchain::find(commit));
        self.tables.entry(commit).or_insert_with_key(find).clone()
    }
}

/// Whether Rust compiled a unit.
pub fn is_rust(unit: &Unit) -> bool {
    unit.producer.contains(RUSTC)
}

/// Whether a unit may belong to the distributed standard library, which does not depend on the module's own features:
/// it was compiled in `/rustc/COMMIT`, or in a distribution's `/usr/src/rustc-1.85.0`.
pub fn is_distributed(unit: &Unit) -> bool {
    is_rust(unit) && unit.directory.contains("/rustc")
}

/// The beginning of rustc's producer string, behind the name of LLVM.
const RUSTC: &str = "rustc version ";

/// The commit in `/rustc/COMMIT/`.
fn commit_in_path(before: &str) -> Option<&str> {
    let commit = before.strip_suffix('/')?.rsplit('/').next()?;
    before.contains("/rustc/").then_some(commit).filter(|c| is_hash(c) && c.len() == 40)
}

/// The commit in `clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))`.
fn commit_in_producer(producer: &str) -> Option<&str> {
    let (_, version) = producer.split_once(RUSTC)?;
    let commit = version.split_once('(')?.1.split([' ', ')']).next()?;
    Some(commit).filter(|commit| is_hash(commit) && commit.len() >= 9)
}

fn is_hash(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_stand_in_paths_and_in_what_compilers_say() {
        const COMMIT: &str = "59807616e1fa2540724bfbac14d7976d7e4a3860";
        assert_eq!(commit_in_path(&format!("/rustc/{COMMIT}/")), Some(COMMIT));
        for path in ["/", "", "/home/me/rustc/", "/rustc/1.95.0/", "/home/me/.rustup/lib/rustlib/src/rust/"] {
            assert_eq!(commit_in_path(path), None, "{path}");
        }
        let said = "clang LLVM (rustc version 1.95.0 (59807616e 2026-04-14))";
        assert_eq!(commit_in_producer(said), Some("59807616e"));
        let packaged =
            "clang LLVM (rustc version 1.85.0 (4d91de4e4 2025-02-17) (built from a source tarball))";
        assert_eq!(commit_in_producer(packaged), Some("4d91de4e4"));
        for other in
            ["clang version 19.1.7 (3)", "clang LLVM (rustc version 1.85.0)", "rustc version 1.85.0 (x y)"]
        {
            assert_eq!(commit_in_producer(other), None, "{other}");
        }
    }
}
