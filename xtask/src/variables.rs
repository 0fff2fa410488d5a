//! Tests that the table of docs/testing.md lists every variable of the environment, and no others.

use crate::files;
use std::collections::BTreeSet;

/// String literals of this form are names of variables, except for these: parts of names, and a macro of C.
const OTHERS: &[&str] = &["COYOTE_DECLARE_", "COYOTE_", "COYOTE_NO_ORDERINGS"];

/// Names between `open` and `close` that begin with the prefix of this project.
fn names(text: &str, open: char, close: &[char]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(&format!("{open}COYOTE_")) {
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
        let end = end.unwrap_or(rest.len());
        if rest[end..].starts_with(close) && !OTHERS.contains(&&rest[..end]) {
            names.insert(rest[..end].to_string());
        }
    }
    names
}

#[test]
fn the_table_of_variables_is_complete() {
    let mut read = BTreeSet::new();
    for folder in ["guest-sdk", "host", "instrumenter", "strategies", "xtask", "bench"] {
        for path in files::files_under(&files::root().join(folder)).unwrap() {
            let is_this = path.ends_with("xtask/src/variables.rs");
            if path.extension().is_some_and(|e| e == "rs") && !is_this {
                read.extend(names(&files::read_text(&path).unwrap(), '"', &['"']));
            }
        }
    }
    let page = files::read_text(&files::root().join("docs/testing.md")).unwrap();
    let table = page.split("## Variables").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows: String = table.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(names(&rows, '`', &['`', '=']), read, "docs/testing.md, and what the sources read");
    assert!(read.contains("COYOTE_BLESS") && read.len() > 20, "{read:?}");
}
