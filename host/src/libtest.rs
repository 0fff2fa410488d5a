//! Rust's test harness as a guest: it lists its tests itself, and each test is explored separately.
//!
//! The tool asks the harness by command line arguments, as a user would, so the meaning of filters is left to the
//! harness. It runs once for each question, as the only worker and without scheduling points. For a test, the harness
//! is executed up to the test function, where iterations start: see `Execution::entered_test`.

use crate::artifact::Artifact;
use crate::engine_thread::on_engine_thread;
use crate::execution::{Execution, Settings, Test};
use crate::machine::MachineError;
use crate::outcome::Outcome;
use crate::runtime::Stream;
use anyhow::{Result, bail};
use coyote_instrumenter::SiteTable;
use std::sync::Arc;

/// A test that the harness knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The harness's name of the test, with its modules.
    pub name: String,
    /// Why the harness would not run the test; an empty text if the test gives no reason.
    pub ignored: Option<String>,
}

/// The test of this name, to be explored. The caller has decided already whether an ignored test is run.
pub fn test(name: &str) -> Test {
    let options = ["--exact", "--include-ignored", "--nocapture", "--test-threads=1"];
    let arguments = [name].iter().chain(&options).map(|a| a.to_string()).collect();
    Test::harness(name, arguments)
}

/// The test of a module with this name. A harness is not asked whether it has it.
pub fn named(table: &SiteTable, name: &str) -> Option<Test> {
    match table.libtest {
        true => Some(test(name)),
        false => Test::all(table).into_iter().find(|test| test.name == name),
    }
}

/// The output of the harness for these arguments, which must not make it run a test.
///
/// # Errors
/// The harness refuses the arguments, or does not end.
pub(crate) fn ask(artifact: &Arc<Artifact>, settings: &Settings, arguments: &[String]) -> Result<String> {
    let test = Test::harness("harness", arguments.to_vec());
    let (outcome, said) = on_engine_thread(|| -> Result<_, MachineError> {
        let execution = Execution::new(artifact, &test, settings)?;
        let runtime = execution.runtime();
        let said = (runtime.printed(&[Stream::Stdout]), runtime.printed(&[Stream::Stderr]));
        Ok((execution.machine().scheduler().outcome.clone(), said))
    })?;
    match outcome {
        Some(Outcome::Passed) => Ok(said.0),
        Some(Outcome::Bug(_)) if !said.1.is_empty() => bail!("the test harness says: {}", said.1.trim()),
        Some(outcome) => {
            let (kind, message) = outcome.describe();
            bail!("the test harness does not come to its end: {kind}: {message}")
        }
        None => bail!("the test harness ran a test when it was asked for something else"),
    }
}

/// The tests that these filters select, in the harness's order.
///
/// # Errors
/// The harness refuses the arguments, or does not end.
pub fn list(artifact: &Arc<Artifact>, settings: &Settings, filters: &[String]) -> Result<Vec<Listed>> {
    let names = |more: &[&str]| -> Result<Vec<String>> {
        let mut arguments = filters.to_vec();
        arguments.extend(["--list", "--format", "terse"].iter().chain(more).map(|a| a.to_string()));
        Ok(listed(&ask(artifact, settings, &arguments)?))
    };
    let all = names(&[])?;
    let chosen = |flag: &str| filters.iter().any(|f| f == flag);
    let ignored = match chosen("--ignored") || chosen("--include-ignored") || all.is_empty() {
        true => Vec::new(),
        false => names(&["--ignored"])?,
    };
    let reasons = match ignored.is_empty() {
        true => String::new(),
        false => {
            let mut arguments = ignored.clone();
            arguments.extend(["--exact", "--test-threads=1"].map(String::from));
            ask(artifact, settings, &arguments)?
        }
    };
    let listed = all.into_iter().map(|name| Listed {
        ignored: ignored.contains(&name).then(|| reason(&reasons, &name).unwrap_or_default()),
        name,
    });
    Ok(listed.collect())
}

/// The names in a list of the format `terse`.
fn listed(text: &str) -> Vec<String> {
    let entries = text.lines().filter_map(|line| line.rsplit_once(": "));
    entries.filter(|(_, what)| matches!(*what, "test" | "benchmark")).map(|(name, _)| name.into()).collect()
}

/// The reason for which the harness ignored a test, from its report.
fn reason(report: &str, name: &str) -> Option<String> {
    report.lines().find_map(|line| {
        let rest = line.strip_prefix("test ")?.strip_prefix(name)?;
        let (_, result) = rest.split_once("... ")?;
        let reason = result.strip_prefix("ignored")?;
        Some(reason.trim_start_matches(", ").to_string())
    })
}

/// Why the harness does not call a test that it was told to run, if it does not.
///
/// # Errors
/// The guest cannot be set up.
pub(crate) fn refused(artifact: &Arc<Artifact>, settings: &Settings, test: &Test) -> Result<Option<String>> {
    let said = on_engine_thread(|| -> Result<_, MachineError> {
        let execution = Execution::new(artifact, test, settings)?;
        let passed = execution.machine().scheduler().outcome == Some(Outcome::Passed);
        Ok((!execution.entered_test() && passed).then(|| execution.runtime().printed(&[Stream::Stdout])))
    })?;
    let Some(reason) = said.and_then(|said| reason(&said, &test.name)) else { return Ok(None) };
    Ok(Some(match reason.is_empty() {
        // The harness was told to run ignored tests too, so it leaves out only these.
        true if artifact.unwinds() => {
            "Rust's harness ignores #[should_panic] on wasm: see docs/unwinding.md".into()
        }
        true => "#[should_panic] cannot be tested where panics abort".into(),
        false => reason,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_reasons_are_read() {
        let names =
            listed("a::b: test\nsrc/lib.rs - f (line 3): test\nspeed: benchmark\n\n2 tests, 1 benchmark\n");
        assert_eq!(names, ["a::b", "src/lib.rs - f (line 3)", "speed"]);
        let report = "\nrunning 3 tests\ntest a ... ignored\ntest a::b ... ignored, too slow\n\
                      test c - should panic ... ignored\n";
        assert_eq!(reason(report, "a").unwrap(), "");
        assert_eq!(reason(report, "a::b").unwrap(), "too slow");
        assert_eq!(reason(report, "c").unwrap(), "");
        assert_eq!(reason(report, "d"), None);
    }
}
