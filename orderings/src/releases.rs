//! The tables of Rust's releases, as they are committed in `releases.txt`.
//!
//! ```text
//! rustc 1.94.1 e408947bfd200af42db322daf0fadfe7e26d3bd1
//! load 4027r 4028a 4029s
//! exchange 4102-4104rr 4105-4107ra
//! ```
//!
//! A release is a version and the commit that paths in line tables name (`/rustc/COMMIT/library/..`). Releases
//! with the same lines stand above the same table. An arm is its lines and its orderings: `r`elaxed, `a`cquire,
//! re`l`ease, `b`oth, `s`equentially consistent; of a compare-exchange that of success and that of failure.

use crate::{Arm, Operation, Ordering, Table};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

const COMMITTED: &str = include_str!("releases.txt");

/// Letters of the orderings, in the order of [`Ordering::ALL`].
const LETTERS: [char; 5] = ['r', 'a', 'l', 'b', 's'];

/// A release of Rust with its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// As in `rustc --version`: `1.95.0`, `1.97.0-nightly`.
    pub version: String,
    /// All 40 digits.
    pub commit: String,
    /// The arms of its `atomic.rs`.
    pub table: Arc<Table>,
}

/// The committed releases, newest first.
pub fn committed() -> &'static [Release] {
    static READ: OnceLock<Vec<Release>> = OnceLock::new();
    READ.get_or_init(|| read(COMMITTED).expect("the committed tables are well-formed"))
}

/// The committed table of a commit, given whole or by its first digits, at least 9.
pub fn find(commit: &str) -> Option<Arc<Table>> {
    let found = committed().iter().find(|release| commit.len() >= 9 && release.commit.starts_with(commit))?;
    Some(found.table.clone())
}

/// Reads tables; `None` if a line is damaged.
pub fn read(text: &str) -> Option<Vec<Release>> {
    let mut releases = Vec::new();
    let (mut heads, mut table) = (Vec::new(), Table::default());
    let mut close = |heads: &mut Vec<(String, String)>, table: &mut Table| {
        table.arms.sort_by_key(|arm| arm.first);
        let table = Arc::new(std::mem::take(table));
        releases.extend(heads.drain(..).map(|(version, commit)| Release {
            version,
            commit,
            table: table.clone(),
        }));
    };
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next()? {
            "rustc" => {
                if !table.arms.is_empty() {
                    close(&mut heads, &mut table);
                }
                heads.push((words.next()?.to_string(), words.next()?.to_string()));
            }
            name => {
                let (operation, _) = Operation::NAMES.iter().find(|(_, n)| *n == name)?;
                for word in words {
                    table.arms.push(read_arm(*operation, word)?);
                }
            }
        }
    }
    close(&mut heads, &mut table);
    Some(releases)
}

fn read_arm(operation: Operation, word: &str) -> Option<Arm> {
    let (lines, letters) = word.split_at(word.find(|c: char| c.is_ascii_alphabetic())?);
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let ordering = |letter| Some(Ordering::ALL[LETTERS.iter().position(|l| *l == letter)?]);
    let mut orderings = letters.chars().map(ordering);
    let success = orderings.next()??;
    let failure = orderings.next().unwrap_or(Some(success))?;
    Some(Arm { first: first.parse().ok()?, last: last.parse().ok()?, operation, success, failure })
}

/// Writes tables as [`read`] reads them; releases with equal ones must follow each other.
pub fn write(releases: &[Release]) -> String {
    let mut text = String::new();
    let put = "a String takes it";
    for (i, release) in releases.iter().enumerate() {
        writeln!(text, "rustc {} {}", release.version, release.commit).expect(put);
        if releases.get(i + 1).is_some_and(|next| next.table == release.table) {
            continue;
        }
        // A line of the text is a run of arms of the same operation: a function of the source, or several.
        for run in release.table.arms.chunk_by(|a, b| a.operation == b.operation && b.first - a.last < 5) {
            let operation = run[0].operation;
            let (_, name) = Operation::NAMES.iter().find(|(o, _)| *o == operation).expect("it lists all");
            write!(text, "{name}").expect(put);
            for arm in run {
                write_arm(&mut text, arm);
            }
            text.push('\n');
        }
    }
    text
}

fn write_arm(text: &mut String, arm: &Arm) {
    let letter = |ordering| LETTERS[Ordering::ALL.iter().position(|o| *o == ordering).expect("it lists all")];
    let lines =
        if arm.first == arm.last { arm.first.to_string() } else { format!("{}-{}", arm.first, arm.last) };
    write!(text, " {lines}{}", letter(arm.success)).expect("a String takes it");
    if arm.operation == Operation::CompareExchange {
        text.push(letter(arm.failure));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(write(committed()), COMMITTED);
        assert_eq!(read(COMMITTED).as_deref(), Some(committed()));
    }

    #[test]
    fn every_release_has_every_legal_ordering_of_every_operation() {
        assert!(committed().len() >= 8);
        for release in committed() {
            let count = |operation, distinct: bool| {
                let arms = release.table.arms.iter().filter(|arm| arm.operation == operation);
                let mut pairs: Vec<_> = arms.map(|arm| (arm.success, arm.failure)).collect();
                if distinct {
                    pairs.sort();
                    pairs.dedup();
                }
                pairs.len()
            };
            let version = &release.version;
            // Fifteen pairs for each of two functions; five orderings for each of eleven.
            for (operation, distinct, all) in [
                (Operation::Load, 3, 3),
                (Operation::Store, 3, 3),
                (Operation::CompareExchange, 15, 30),
                (Operation::Fence, 4, 4),
                (Operation::ReadModifyWrite, 5, 55),
            ] {
                assert_eq!(count(operation, true), distinct, "{version}: {operation:?}");
                assert_eq!(count(operation, false), all, "{version}: {operation:?}");
            }
        }
    }

    #[test]
    fn commits_are_found_by_their_first_digits() {
        let release = &committed()[0];
        assert_eq!(find(&release.commit), Some(release.table.clone()));
        assert_eq!(find(&release.commit[..9]), Some(release.table.clone()));
        assert_eq!(find(""), None);
        assert_eq!(find("0123456789abcdef"), None);
    }

    #[test]
    fn damaged_text_is_refused() {
        for text in
            ["", "\n", "rustc 1.0.0", "other 1r", "load r", "load 1x", "load 1-r", "load 1", "load 1rx"]
        {
            assert!(text.is_empty() || read(text).is_none(), "{text:?}");
        }
    }
}
