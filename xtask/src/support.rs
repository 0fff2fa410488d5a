//! `docs/guests.md`: which guests are supported, from `docs/support.json`.
//!
//! Every claim names a proof: a test of a guest in `examples/expected.json`, or a test function in a file. A
//! claim whose proof does not exist is refused. Verdicts of guests are taken from their index, the functions
//! of the C headers from the headers, and crates from `docs/crates.json`.

use crate::crates::Table;
use crate::files;
use crate::guests::index::{Expectation, Index};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const SUPPORT: &str = "docs/support.json";
pub const PAGE: &str = "docs/guests.md";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Support {
    version: u32,
    /// An explanation for those who change the file.
    #[serde(rename = "about")]
    _about: Vec<String>,
    /// The text before the first section.
    text: Vec<String>,
    sections: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    #[serde(default)]
    text: Vec<String>,
    #[serde(default)]
    rows: Vec<Row>,
    /// Headers whose functions are listed, by name of the file.
    #[serde(default)]
    headers: Vec<String>,
    /// Whether published crates are listed.
    #[serde(default)]
    crates: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    what: String,
    state: State,
    #[serde(default)]
    note: String,
    /// `example MODULE`, `example MODULE.TEST` or `test FILE FUNCTION`.
    #[serde(default)]
    shown_by: Vec<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum State {
    Works,
    Partly,
    /// From other implementations of the same name.
    Differs,
    /// With an error that says what to do.
    Refused,
    Impossible,
    NotTried,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Works => "works",
            State::Partly => "partly",
            State::Differs => "differs",
            State::Refused => "refused",
            State::Impossible => "no",
            State::NotTried => "not tried",
        }
    }

    /// Whether the claim needs a proof.
    fn is_shown(self) -> bool {
        matches!(self, State::Works | State::Partly | State::Differs | State::Refused)
    }
}

/// The page. Fails if a claim has no proof that exists.
pub fn page() -> Result<String> {
    let support: Support = serde_json::from_str(&files::read_text(&files::root().join(SUPPORT))?)
        .with_context(|| format!("{SUPPORT} is damaged"))?;
    ensure!(support.version == 1, "{SUPPORT} has version {}", support.version);
    let examples = Index::read()?.tests;
    let mut page = format!("<!-- Made from {SUPPORT} by `cargo xtask codegen`: change that file. -->\n\n");
    page += "# What guests may be made of\n\n";
    page += &paragraph(&support.text);
    for section in &support.sections {
        writeln!(page, "\n## {}\n", section.title)?;
        page += &paragraph(&section.text);
        if !section.rows.is_empty() {
            if !section.text.is_empty() {
                page.push('\n');
            }
            page += "| what | state | shown by | |\n|---|---|---|---|\n";
        }
        for row in &section.rows {
            let shown = shown(row, &examples).with_context(|| format!("{SUPPORT}: `{}`", row.what))?;
            writeln!(page, "| {} | {} | {} | {} |", row.what, row.state.name(), shown, row.note)?;
        }
        for header in &section.headers {
            page += &functions(header)?;
        }
        if section.crates {
            page += &crates()?;
        }
    }
    Ok(page)
}

fn paragraph(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The proofs of a row, for readers.
fn shown(row: &Row, examples: &[Expectation]) -> Result<String> {
    ensure!(
        !row.state.is_shown() || !row.shown_by.is_empty(),
        "nothing shows that it is {}",
        row.state.name()
    );
    let shown: Result<Vec<String>> = row.shown_by.iter().map(|proof| proven(proof, examples)).collect();
    Ok(shown?.join("; "))
}

fn proven(proof: &str, examples: &[Expectation]) -> Result<String> {
    match proof.split(' ').collect::<Vec<_>>()[..] {
        ["example", name] => {
            let (module, test) = name.split_once('.').map_or((name, None), |(m, t)| (m, Some(t)));
            let found: Vec<&Expectation> = examples
                .iter()
                .filter(|e| e.module == module && test.is_none_or(|test| e.test == test))
                .collect();
            ensure!(!found.is_empty(), "there is no example {name}");
            let verdicts: BTreeSet<&str> = found.iter().map(|e| e.verdict.as_str()).collect();
            let verdicts = verdicts.into_iter().collect::<Vec<_>>().join(", ");
            Ok(format!("`{name}` ({verdicts})"))
        }
        ["test", file, function] => {
            let text = files::read_text(&files::root().join(file))?;
            ensure!(text.contains(&format!("fn {function}()")), "{file} has no test {function}");
            let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
            Ok(format!("test `{stem}::{function}`"))
        }
        _ => bail!("`{proof}`: say `example MODULE[.TEST]` or `test FILE FUNCTION`"),
    }
}

/// The functions that a header of the C SDK declares, except for those that it refuses when they are called.
fn functions(header: &str) -> Result<String> {
    let files = files::files_under(&files::root().join("guest-sdk/c"))?;
    let path = files.iter().find(|path| path.file_name().is_some_and(|name| name == header));
    let text = files::read_text(path.with_context(|| format!("guest-sdk/c has no {header}"))?)?;
    let (refused, declared): (Vec<&str>, Vec<&str>) =
        declared(&text).into_iter().partition(|name| text.contains(&format!("unsupported(\"{name}\")")));
    let list = |names: Vec<&str>| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let mut lines = format!("\n`{header}`: {}\n", list(declared));
    if !refused.is_empty() {
        write!(lines, "\nRefused by name when called: {}\n", list(refused))?;
    }
    Ok(lines)
}

/// A row for each program of published crates. It works if the program passes and its mistake is found.
fn crates() -> Result<String> {
    let mut lines = String::from("\n| what | state | the mistake is found as | |\n|---|---|---|---|\n");
    for row in Table::read()?.crates {
        let feature = row.feature.map_or(String::new(), |feature| format!(" with `{feature}`"));
        let (state, note) = match (row.correct.bug, &row.broken.bug) {
            (None, Some(_)) => (State::Works, row.note),
            (None, None) => (State::Partly, row.note),
            (Some(bug), _) => (State::Impossible, Some(bug)),
        };
        let found = row.broken.bug.filter(|_| state == State::Works);
        let kind = found.as_deref().and_then(|bug| bug.split(':').next()).unwrap_or_default();
        let (name, version, note) = (row.name, row.version, note.unwrap_or_default());
        writeln!(lines, "| `{name}` {version}{feature} | {} | {kind} | {note} |", state.name())?;
    }
    Ok(lines)
}

/// Public names that are followed by a parameter list outside of bodies: they are not indented.
fn declared(text: &str) -> BTreeSet<&str> {
    const PREFIXES: &[&str] = &["pthread_", "sem_", "thrd_", "mtx_", "cnd_", "tss_", "call_once"];
    let mut names = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with(|c: char| c.is_alphabetic() || c == '#')) {
        let Some(end) = line.find('(') else { continue };
        let name = line[..end].rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            names.insert(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: State, shown_by: &[&str]) -> Row {
        let shown_by = shown_by.iter().map(|s| s.to_string()).collect();
        Row { what: "w".into(), state, note: String::new(), shown_by }
    }

    #[test]
    fn claims_need_proofs_that_exist() {
        let examples = Index::read().unwrap().tests;
        let error = |state, by: &[&str]| shown(&row(state, by), &examples).unwrap_err().to_string();
        assert_eq!(error(State::Works, &[]), "nothing shows that it is works");
        assert_eq!(error(State::Works, &["example none"]), "there is no example none");
        assert_eq!(
            error(State::Refused, &["test xtask/src/support.rs nothing"]),
            "xtask/src/support.rs has no test nothing"
        );
        assert!(error(State::Works, &["hope"]).starts_with("`hope`: say "));
        let proofs = ["example racy_counter.racy", "test xtask/src/support.rs claims_need_proofs_that_exist"];
        assert_eq!(
            shown(&row(State::Works, &proofs), &examples).unwrap(),
            "`racy_counter.racy` (assertion); test `support::claims_need_proofs_that_exist`"
        );
        assert_eq!(shown(&row(State::NotTried, &[]), &examples).unwrap(), "");
    }

    #[test]
    fn functions_of_a_header_are_those_that_are_declared() {
        let header = "INLINE int pthread_join(pthread_t t) {\n  return pthread_other(t);\n}\n\
                      #define pthread_equal(a, b) ((a) == (b))\nint own(void);\nint pthread_x(void);\n";
        assert_eq!(declared(header), ["pthread_equal", "pthread_join", "pthread_x"].into());
    }
}
