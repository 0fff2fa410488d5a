//! JUnit XML, for CI services: one suite with the module's tests.
//!
//! A bug is a failure, with its kind as the type. A test without a verdict has not passed and is not known to be wrong:
//! it is an error of the type `inconclusive`, `limit` or `interrupted`. A test that the harness ignores is skipped. The
//! output of every test begins with its verdict, which distinguishes a proof from a test in which no bug was found.
//!
//! The document follows the strictest schema that readers apply: `junit-10.xsd` of Jenkins' plugin xunit, in which test
//! cases have no properties and `testsuites` has no number of skipped tests.

use super::{RenderOptions, Renderer, bugs};
use crate::module_name;
use crate::report::model::{RunReport, TestReport};
use crate::verdict::Verdict;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::io::{self, Write};
use std::path::Path;

/// See the module's documentation.
pub struct Junit;

impl Renderer for Junit {
    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        let report = report(run);
        let text = report.to_string().map_err(io::Error::other)?;
        let of_suites = format!(" skipped=\"{}\"", report.skipped);
        out.write_all(text.replacen(&of_suites, "", 1).as_bytes())
    }
}

fn report(run: &RunReport) -> Report {
    let header = &run.header;
    // CI services recognise the module by this name.
    let module = &module_name::stable(Path::new(&header.module));
    let mut suite = TestSuite::new(module.as_str());
    suite.set_time(run.elapsed);
    for (name, value) in [
        ("version", header.version),
        ("module", &header.module),
        ("strategy", &header.strategy),
        ("seed", &header.seed.to_string()),
    ] {
        suite.add_property(Property::new(name, value));
    }
    for test in &run.tests {
        let mut case = case(module, &test.name, status(test, header.explore));
        case.set_time(test.elapsed);
        let verdict = format!("Verdict: {} ({})", test.verdict.name(), test.extent);
        let notes = test.notes.iter().map(ToString::to_string);
        case.set_system_out(std::iter::once(verdict).chain(notes).collect::<Vec<_>>().join("\n"));
        suite.add_test_case(case);
    }
    for test in &run.ignored {
        let mut status = TestCaseStatus::skipped();
        status.set_message(&test.reason);
        suite.add_test_case(case(module, &test.name, status));
    }
    let mut report = Report::new("coyote-wasm");
    report.set_time(run.elapsed);
    report.add_test_suite(suite);
    report
}

fn case(module: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(module);
    case
}

fn status(test: &TestReport, explore: bool) -> TestCaseStatus {
    let (kind, of, message) = match &test.verdict {
        Verdict::Bug => {
            let found = test.bugs.iter().filter(|bug| !bug.is_limit());
            let found = found.map(|bug| (bug.kind.name(), bug.message.clone()));
            let before = test
                .other_bugs_before()
                .map(|bug| (bug.kind.as_str(), format!("{} (trace: {})", bug.message, bug.trace.display())));
            let (kind, message) =
                found.chain(before).next().unwrap_or(("bug", "a bug was found before".into()));
            (NonSuccessKind::Failure, kind, message)
        }
        Verdict::Limit(limits) => (NonSuccessKind::Error, "limit", limits.join("; ")),
        Verdict::Inconclusive { what, .. } => (NonSuccessKind::Error, "inconclusive", what.clone()),
        _ if test.is_interrupted() => {
            (NonSuccessKind::Error, "interrupted", format!("interrupted after {}", test.extent))
        }
        Verdict::NothingTested | Verdict::Proved { .. } | Verdict::NotFound => {
            return TestCaseStatus::success();
        }
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(of).set_message(message);
    let description = bugs::descriptions(test, explore, &RenderOptions::default());
    if !description.is_empty() {
        status.set_description(description);
    }
    status
}
