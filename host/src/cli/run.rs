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
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Further rules of a run.
pub struct Rules {
    /// Start no further test after the first failure.
    pub fail_fast: bool,
    /// Whether a run with nothing to explore counts as a success.
    pub needs_no_choice: bool,
}

/// What was found in a test.
pub struct Explored {
    pub result: TestResult,
    /// The end of the time that the test has for explanations, if tests share time.
    pub until: Option<Instant>,
}

impl From<TestResult> for Explored {
    fn from(result: TestResult) -> Explored {
        Explored { result, until: None }
    }
}

/// Reports the tests in order. `explore` returns the result of a test's exploration.
///
/// # Errors
/// Errors of the environment and bad input. Internal errors, as where a bug does not replay, are printed, and decide the
/// exit code.
pub fn run(
    session: &Session,
    selected: &Selected,
    rules: &Rules,
    outputs: &mut Outputs,
    explore: &mut dyn FnMut(&Test) -> Result<Explored>,
) -> Result<Exit> {
    let started = Instant::now();
    let mut run = RunReport {
        header: session.header(selected),
        tests: Vec::new(),
        ignored: Vec::new(),
        exit: Exit::NoBug,
        not_run: None,
        broken: 0,
        elapsed: Duration::ZERO,
    };
    outputs.each(|renderer, out| renderer.run_started(out, &run.header)).context(LOST)?;
    let mut used = BTreeSet::new();
    // The results of other tests are reported all the same. An internal error is printed where it happens, and any other
    // one by the caller.
    let (mut is_internal, mut error) = (false, None);
    for (number, to_run) in selected.tests.iter().enumerate() {
        if session.interrupted.load(Ordering::Relaxed) {
            run.not_run = Some(selected.tests.len() - number);
            break;
        }
        let finished = run.tests.len();
        match one(session, to_run, &mut run, &mut used, outputs, explore) {
            Ok(Next::Test { failed }) if rules.fail_fast && failed => break,
            Ok(Next::Test { .. }) => {}
            Ok(Next::Interrupted) => {
                run.not_run = Some(selected.tests.len() - number - 1);
                break;
            }
            // A bug of this tool in one test says nothing about the next one; any other error would happen again.
            Err(of_test) if exit_of(&of_test) == Exit::InternalError => {
                let name = &to_run.test.name;
                if run.tests.len() == finished {
                    outputs.each(|renderer, out| renderer.test_broken(out, name)).context(LOST)?;
                    run.broken += 1;
                }
                eprintln!("error: test {name}: {of_test:#}");
                is_internal = true;
            }
            Err(of_test) => {
                error = Some(of_test);
                break;
            }
        }
    }
    let all_tested = !is_internal && run.tests.len() + run.ignored.len() == selected.tests.len();
    let options = std::iter::once(&session.options).chain(session.own.values());
    let suppressions = options.flat_map(|options| &options.settings.detectors.races.suppressions);
    for rule in suppressions.map(ToString::to_string).collect::<BTreeSet<_>>() {
        // An iteration that was not executed could have met such a data race.
        if all_tested && !used.contains(&rule) {
            eprintln!("note: no data race was met that {rule} suppresses");
        }
    }
    run.elapsed = started.elapsed();
    run.exit = match Exit::of_run(run.tests.iter().map(|test| &test.verdict), run.not_run.is_some()) {
        _ if is_internal => Exit::InternalError,
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
    match error {
        Some(error) if is_internal => eprintln!("error: {error:#}"),
        Some(error) => return Err(error),
        None => {}
    }
    Ok(run.exit)
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
    explore: &mut dyn FnMut(&Test) -> Result<Explored>,
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
    let Explored { mut result, until } = explore(&to_run.test)?;
    session.coverage.iter().for_each(|coverage| coverage.add(&result));
    session.explain(&to_run.test, &mut result, until)?;
    let diverged = session.confirm(&to_run.test, &mut result)?;
    used.extend(result.races.iter().filter_map(|seen| seen.race.suppressed_by.clone()));
    let test = report(session, &to_run.test, &result)?;
    outputs.each(|renderer, out| renderer.test_finished(out, &test)).context(LOST)?;
    if diverged.is_none() {
        session.keep(&to_run.test, &result)?;
        let bundle = session.bundle.iter();
        bundle.for_each(|bundle| result.bugs.iter().for_each(|found| bundle.add(name, found)));
    }
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

#[cfg(test)]
mod tests {
    use super::super::bug_files::BesideTraces;
    use super::super::select::ToRun;
    use super::super::session::TestOptions;
    use super::*;
    use crate::artifact::{Artifact, engine};
    use crate::execution::Settings;
    use crate::explain::How;
    use crate::explore::Budget;
    use crate::report::render::{RenderOptions, by_name};
    use crate::symbols::Symbols;
    use coyote_instrumenter::{Options, instrument};
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// Runs two tests, the first with an internal error or in the middle of which the user interrupts. Returns the exit
    /// code and the report in the format of Rust's harness.
    fn run_two(is_internal: bool) -> (Exit, String) {
        let text = "(module (memory 1) (func (export \"coyote.test.a\")) (func (export \"coyote.test.b\")))";
        let wasm: Arc<[u8]> = wat::parse_str(text).unwrap().into();
        let options = Options::default();
        let instrumented = instrument(&wasm, &options).unwrap();
        let artifact = Artifact::compile(&engine(None).unwrap(), wasm, instrumented, options).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let budget = Budget { iterations_max: 2, ..Budget::default() };
        let session = Session {
            module: Path::new("m.wasm"),
            outdir: directory.path(),
            quiet: true,
            symbols: Symbols::new(&artifact.original),
            seed: 0,
            resuming: false,
            resume: None.into(),
            total_timeout: None,
            files: BesideTraces::default(),
            interrupted: Arc::new(AtomicBool::new(false)),
            options: TestOptions {
                strategy: "random".into(),
                searching: false,
                settings: Settings::default(),
                budget: budget.clone(),
                all: None,
                how: How::default(),
                sweep: None,
            },
            own: BTreeMap::new(),
            not_on_target: None,
            regressions: None,
            bundle: None,
            coverage: None,
            teller: None.into(),
            artifact: Arc::new(artifact),
        };
        let tests = Test::all(&session.artifact.table).into_iter();
        let tests = tests.map(|test| ToRun { test, ignored: None }).collect();
        let selected = Selected { tests, filtered_out: 0 };
        let path = directory.path().join("report");
        let file = std::fs::File::create(&path).unwrap();
        let renderer = (by_name("libtest").unwrap().make)(&RenderOptions::default());
        let mut outputs = Outputs(vec![(renderer, Box::new(file))]);
        let rules = Rules { fail_fast: false, needs_no_choice: true };
        let exit = run(&session, &selected, &rules, &mut outputs, &mut |test| {
            if is_internal && test.name == "a" {
                bail!(InternalError("it is broken".into()));
            }
            let result = session.explore(test, &budget)?;
            session.interrupted.store(!is_internal, Ordering::Relaxed);
            Ok(result.into())
        });
        // An internal error has been printed, and is not returned to be printed once more.
        (exit.unwrap(), std::fs::read_to_string(path).unwrap())
    }

    #[test]
    fn an_internal_error_leaves_the_other_tests() {
        let (exit, said) = run_two(true);
        assert_eq!(exit, Exit::InternalError);
        assert!(said.contains("test a ... internal error\ntest b ... ok (one worker)\n"), "{said}");
        assert!(said.contains("test result: internal error. 1 passed; 0 failed;"), "{said}");
        assert!(said.contains(", 1 with an internal error; finished in"), "{said}");
    }

    /// An interruption behind the end of a test's exploration.
    #[test]
    fn no_test_begins_after_an_interruption() {
        let (exit, said) = run_two(false);
        assert_eq!(exit, Exit::Interrupted);
        assert!(said.contains("test a ... ok (one worker)\n\nInterrupted: 1 test not run.\n"), "{said}");
        assert!(said.contains("test result: interrupted. 1 passed; 0 failed;"), "{said}");
    }
}
