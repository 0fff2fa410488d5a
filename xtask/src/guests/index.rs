//! `examples/expected.json`: the expected result of each test of each guest. The host's tests read it too.

use super::WASM;
use crate::files;
use anyhow::{Context, Result, ensure};
use coyote_abi::guest::TEST_PREFIX;
use serde::Deserialize;
use std::collections::BTreeSet;
use wasmparser::{ExternalKind, Parser, Payload};

const INDEX: &str = "examples/expected.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    version: u32,
    /// An explanation for human readers.
    #[serde(rename = "about")]
    _about: Vec<String>,
    pub tests: Vec<Expectation>,
}

impl Index {
    pub fn read() -> Result<Index> {
        let index: Index = serde_json::from_str(&files::read_text(&files::root().join(INDEX))?)
            .with_context(|| format!("{INDEX} is damaged"))?;
        ensure!(index.version == 1, "{INDEX} has version {}", index.version);
        Ok(index)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// `examples/wasm/<module>.wasm`.
    pub module: String,
    /// Name of the test, or `main` for a program.
    pub test: String,
    /// `passed`, `bound`, or the kind of a bug as it is in traces.
    pub verdict: String,
    /// The bug is found within this many iterations for at least 95 of the seeds 0 to 99.
    found_within: Option<u32>,
    /// This many iterations find nothing.
    passes: Option<u32>,
    /// This strategy finds the bug, which a random walk would hardly ever find.
    strategy: Option<String>,
    /// A part of the bug's message.
    message: Option<String>,
    /// Options of the command line that the test needs.
    #[serde(default)]
    options: Vec<String>,
}

const VERDICTS: &[&str] = &[
    "passed",
    "deadlock",
    "livelock",
    "assertion",
    "panic",
    "trap",
    "exit-code",
    "stack-overflow",
    "misuse",
    "use-after-free",
    "use-after-return",
    "double-free",
    "invalid-free",
    "heap-overflow",
    "data-race",
    "leak",
    "liveness",
];

/// Checks that every test of every committed module has one expectation, and every expectation a test.
pub fn check() -> Result<()> {
    let index = Index::read()?;
    let mut expected = BTreeSet::new();
    for e in &index.tests {
        let name = format!("{}.{}", e.module, e.test);
        ensure!(VERDICTS.contains(&e.verdict.as_str()), "{INDEX}: {name}: `{}` is no verdict", e.verdict);
        let passed = e.verdict == "passed";
        ensure!(
            passed == e.passes.is_some()
                && (!passed || e.found_within.is_none() && e.message.is_none() && e.strategy.is_none()),
            "{INDEX}: {name}: `passes` goes with the verdict `passed`, `found_within`, `message` and `strategy` with bugs"
        );
        ensure!(e.options.iter().all(|o| !o.contains(' ')), "{INDEX}: {name}: one option a string");
        ensure!(expected.insert(name.clone()), "{INDEX}: {name} is listed twice");
    }
    let actual = tests()?;
    if let Some(name) = actual.difference(&expected).next() {
        anyhow::bail!("{INDEX} does not say what is expected of {name}");
    }
    if let Some(name) = expected.difference(&actual).next() {
        anyhow::bail!("{INDEX} speaks of {name}, which does not exist");
    }
    Ok(())
}

/// `module.test` of all committed modules.
fn tests() -> Result<BTreeSet<String>> {
    let mut tests = BTreeSet::new();
    for path in files::list(&files::root().join(WASM))? {
        if path.extension().is_none_or(|e| e != "wasm") {
            continue;
        }
        let module = path.file_stem().context("a module has a name")?.to_string_lossy().into_owned();
        let wasm = files::read(&path)?;
        for payload in Parser::new(0).parse_all(&wasm) {
            let Payload::ExportSection(exports) = payload? else { continue };
            for export in exports {
                let export = export?;
                let test =
                    export.name.strip_prefix(TEST_PREFIX).or((export.name == "_start").then_some("main"));
                if let (ExternalKind::Func, Some(test)) = (export.kind, test) {
                    tests.insert(format!("{module}.{test}"));
                }
            }
        }
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_index_fits_the_committed_modules() {
        super::check().unwrap();
    }
}
