//! The loop over the tests of a run: each test is explored, or its results are merged, its bugs are confirmed, and the
//! renderers are called.

use super::error::{InternalError, exit_of};
use super::select::{Selected, ToRun};
use super::session::Session;
use crate::execution::Test;
use crate::exit::Exit;
use crate::libtest;
use crate::report::build::Builder;
use crate::report::model::{IgnoredTest, RunReport, TestReport};
use crate::report::render::{Outputs, log};
use crate::results::{Stop, TestResult};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Further rules of a run.
pub struct Rules {
    /// Start no further test after the first failure.
    pub fail_fast: bool,
    /// Whether a run with nothing to explore counts as a success.
    pub needs_no_choice: bool,
}

/// Reports the tests in order. `explore` returns the result of a test's exploration.
///
/// # Errors
/// Errors of the environment, bad input, and [`InternalError`] where a bug does not replay.
pub fn run(
    session: &Session,
    selected: &Selected,
    rules: &Rules,
    outputs: &mut Outputs,
    explore: &mut dyn FnMut(&Test) -> Result<TestResult>,
) -> Result<Exit> {
    let started = Instant::now();
    let mut run = RunReport {
        header: session.header(selected),
        tests: Vec::new(),
        ignored: Vec::new(),
        exit: Exit::NoBug,
        not_run: None,
        elapsed: Duration::ZERO,
    };
    outputs.each(|renderer, out| renderer.run_started(out, &run.header)).context(LOST)?;
    let mut used = BTreeSet::new();
    // The first error of a test. The results of the other tests are reported all the same.
    let mut error = None;
    for (number, to_run) in selected.tests.iter().enumerate() {
        match one(session, to_run, &mut run, &mut used, outputs, explore) {
            Ok(Next::Test { failed }) if rules.fail_fast && failed => break,
            Ok(Next::Test { .. }) => {}
            Ok(Next::Interrupted) => {
                run.not_run = Some(selected.tests.len() - number - 1);
                break;
            }
            // A bug of this tool in one test says nothing about the next one; any other error would happen again.
            Err(of_test) if exit_of(&of_test) == Exit::InternalError => {
                eprintln!("error: test {}: {of_test:#}", to_run.test.name);
                error.get_or_insert(of_test);
            }
            Err(of_test) => {
                error.get_or_insert(of_test);
                break;
            }
        }
    }
    let options = std::iter::once(&session.options).chain(session.own.values());
    let suppressions = options.flat_map(|options| &options.settings.detectors.races.suppressions);
    for rule in suppressions.map(ToString::to_string).collect::<BTreeSet<_>>() {
        // An iteration that was not executed could have met such a data race.
        if !used.contains(&rule) && run.not_run.is_none() && error.is_none() {
            eprintln!("note: no data race was met that {rule} suppresses");
        }
    }
    run.elapsed = started.elapsed();
    run.exit = match Exit::of_run(run.tests.iter().map(|test| &test.verdict), run.not_run.is_some()) {
        _ if let Some(error) = &error => exit_of(error),
        Exit::NothingTested if rules.needs_no_choice => Exit::NoBug,
        exit => exit,
    };
    outputs.each(|renderer, out| renderer.run_finished(out, &run)).context(LOST)?;
    if let Some(coverage) = &session.coverage {
        let said = coverage.write(session.module, &session.artifact, &session.symbols)?;
        eprintln!("note: {said}");
    }
    if let Some(bundle) = &session.bundle {
        let artifact = &session.artifact;
        bundle.write(session.module, &artifact.original, &artifact.identity, &run)?;
    }
    error.map_or(Ok(run.exit), Err)
}

/// What follows a test.
enum Next {
    /// The next one.
    Test { failed: bool },
    /// None, since the user interrupted.
    Interrupted,
}

/// Explores one test and reports it.
///
/// # Errors
/// As [`run`].
fn one(
    session: &Session,
    to_run: &ToRun,
    run: &mut RunReport,
    used: &mut BTreeSet<String>,
    outputs: &mut Outputs,
    explore: &mut dyn FnMut(&Test) -> Result<TestResult>,
) -> Result<Next> {
    let name = &to_run.test.name;
    let refused = refused(session, to_run)?;
    outputs.each(|renderer, out| renderer.test_started(out, name)).context(LOST)?;
    if let Some(reason) = refused {
        let test = IgnoredTest { name: name.clone(), reason };
        outputs.each(|renderer, out| renderer.test_ignored(out, &test)).context(LOST)?;
        run.ignored.push(test);
        return Ok(Next::Test { failed: false });
    }
    let mut result = explore(&to_run.test)?;
    session.coverage.iter().for_each(|coverage| coverage.add(&result));
    session.explain(&to_run.test, &mut result)?;
    let diverged = session.confirm(&to_run.test, &mut result)?;
    if diverged.is_none() {
        session.keep(&to_run.test, &result)?;
        let bundle = session.bundle.iter();
        bundle.for_each(|bundle| result.bugs.iter().for_each(|found| bundle.add(name, found)));
    }
    used.extend(result.races.iter().filter_map(|seen| seen.race.suppressed_by.clone()));
    let test = report(session, &to_run.test, &result)?;
    outputs.each(|renderer, out| renderer.test_finished(out, &test)).context(LOST)?;
    let failed = !test.verdict.is_good();
    run.tests.push(test);
    match diverged {
        Some(diverged) => bail!(InternalError(diverged)),
        None if result.stop == Stop::Interrupted => Ok(Next::Interrupted),
        None => Ok(Next::Test { failed }),
    }
}

const LOST: &str = "cannot write the report";

/// Why a test is not run, if it is not.
///
/// # Errors
/// Errors of executing the test harness, which decides this.
pub fn refused(session: &Session, to_run: &ToRun) -> Result<Option<String>> {
    match &to_run.ignored {
        None if session.artifact.table.libtest => {
            let settings = &session.options_of(&to_run.test).settings;
            libtest::refused(&session.artifact, settings, &to_run.test)
        }
        reason => Ok(reason.clone()),
    }
}

/// The report of a test. Writes the logs of its bugs, and other requested files, to disk.
pub fn report(session: &Session, test: &Test, result: &TestResult) -> Result<TestReport> {
    let settings = &session.options_of(test).settings;
    let name = &test.name;
    let builder = Builder {
        module: session.module,
        symbols: &session.symbols,
        host_directories: !settings.world.directories.is_empty(),
    };
    let mut report = builder.test(name, result);
    for (bug, found) in report.bugs.iter_mut().zip(&result.bugs) {
        let path = found.path.with_extension("log");
        std::fs::write(&path, log::log(name, bug))
            .with_context(|| format!("cannot write {}", path.display()))?;
        bug.log = Some(path.display().to_string());
        session.files.write(session.module, name, bug, &found.path)?;
        // Only files show it.
        bug.history = None;
    }
    Ok(report)
}
