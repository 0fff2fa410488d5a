//! The report of a test binary of cargo, in the format of its own harness: a line or a letter for each test, then the
//! failures with all details. Tools that read a harness's output can read this.

use super::{RenderOptions, Renderer, bugs, headline, not_run};
use crate::exit::Exit;
use crate::plural::counted;
use crate::report::model::{IgnoredTest, RunHeader, RunReport, TestReport};
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// See the module's documentation.
pub struct Libtest {
    options: RenderOptions,
    /// Whether to print letters, as the harness's own format `terse`.
    terse: bool,
    explore: bool,
    /// Tests with a bug and tests without a verdict: their names, each with the text about the reason.
    failures: Vec<(String, String)>,
    without_verdict: Vec<(String, String)>,
    /// Reasons why the absence of bugs may mean little, each with the names of the tests.
    doubts: BTreeMap<String, Vec<String>>,
}

impl Libtest {
    pub fn lines(options: RenderOptions) -> Libtest {
        Libtest {
            options,
            terse: false,
            explore: false,
            failures: Vec::new(),
            without_verdict: Vec::new(),
            doubts: BTreeMap::new(),
        }
    }

    pub fn letters(options: RenderOptions) -> Libtest {
        Libtest { terse: true, ..Libtest::lines(options) }
    }
}

impl Renderer for Libtest {
    fn run_started(&mut self, out: &mut dyn Write, run: &RunHeader) -> io::Result<()> {
        self.explore = run.explore;
        writeln!(out, "{}", headline(run))?;
        writeln!(out, "\nrunning {}", counted(run.tests as u64, "test"))?;
        if let Some(found) = &run.not_on_target {
            writeln!(out, "note: not on this target: {found}")?;
        }
        match (run.tests, run.filtered_out) {
            (0, 0) if run.not_on_target.is_some() => Ok(()),
            (0, 0) => {
                writeln!(out, "note: there are no tests on this target; `coyote-wasm doctor` may know why")
            }
            (0, n) => writeln!(out, "note: none of {} is selected", counted(n as u64, "test")),
            _ => Ok(()),
        }
    }

    fn test_started(&mut self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        if self.terse { Ok(()) } else { write!(out, "test {name} ... ") }
    }

    fn test_ignored(&mut self, out: &mut dyn Write, test: &IgnoredTest) -> io::Result<()> {
        let comma = if test.reason.is_empty() { "" } else { ", " };
        match self.terse {
            true => write!(out, "i"),
            false => writeln!(out, "ignored{comma}{}", test.reason),
        }
    }

    fn test_broken(&mut self, out: &mut dyn Write, _name: &str) -> io::Result<()> {
        if self.terse { write!(out, "E") } else { writeln!(out, "internal error") }
    }

    fn test_finished(&mut self, out: &mut dyn Write, test: &TestReport) -> io::Result<()> {
        match self.terse {
            true => write!(out, "{}", letter(test))?,
            false => writeln!(out, "{}", result(test))?,
        }
        let output = test.first_output.trim_end();
        for note in test.notes.iter().filter(|note| test.verdict.is_good() && note.doubts()) {
            self.doubts.entry(note.to_string()).or_default().push(test.name.clone());
        }
        if !test.verdict.is_good() {
            let notes: String = test.notes.iter().map(|note| format!("  note: {note}\n")).collect();
            let bugs = bugs::descriptions(test, self.explore, &self.options);
            let list = match test.verdict {
                Verdict::Bug => &mut self.failures,
                _ => &mut self.without_verdict,
            };
            list.push((test.name.clone(), bugs + &notes));
        } else if self.options.nocapture && !output.is_empty() && !self.terse {
            writeln!(out, "{output}")?;
        }
        Ok(())
    }

    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        if self.terse {
            writeln!(out)?;
        }
        list(out, "without a verdict", &self.without_verdict)?;
        list(out, "failures", &self.failures)?;
        for (note, tests) in &self.doubts {
            writeln!(out, "\nnote: {note} ({})", some_of(tests))?;
        }
        if let Some(tests) = run.not_run {
            writeln!(out, "\n{}", not_run(tests))?;
        }
        let endless = run.tests.iter().filter(|test| test.never_ended()).count();
        if endless > 0 {
            writeln!(out, "\nnote: {endless} of {}", never_ended(run.tests.len()))?;
        }
        writeln!(out, "\n{}\n", summary(run))
    }
}

/// The maximum number of tests that a note names.
const NAMES_MAX: usize = 10;

/// The names of tests, if they are not too many.
fn some_of(tests: &[String]) -> String {
    let shown = tests.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match tests.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// Lists tests under a heading: first with all details, then their names alone.
fn list(out: &mut dyn Write, heading: &str, tests: &[(String, String)]) -> io::Result<()> {
    if tests.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{heading}:")?;
    tests.iter().try_for_each(|(name, details)| write!(out, "\n---- {name} ----\n{details}"))?;
    writeln!(out, "\n{heading}:")?;
    tests.iter().try_for_each(|(name, _)| writeln!(out, "    {name}"))
}

/// Advice for tests that never came to an end.
fn never_ended(tests: usize) -> String {
    format!(
        "{} never came to an end, and nothing is known of them: give them more steps (--max-steps) and time (--timeout), \
         fewer rounds (where the variable COYOTE is set, or by cargo coyote test --like-miri), or fewer scheduling points \
         (--heap-points shared, --points atomic)",
        counted(tests as u64, "test")
    )
}

/// The last line. A test without a verdict is no success, nor is one that was interrupted: they are counted separately.
fn summary(run: &RunReport) -> String {
    let passed = run.tests.iter().filter(|test| test.has_passed()).count();
    let interrupted = run.tests.iter().filter(|test| test.is_interrupted()).count();
    let explored = run.tests.iter().filter(|test| test.any_choice).count();
    let has_ended = |test: &&TestReport| matches!(test.verdict, Verdict::NothingTested | Verdict::Bug);
    let sequential = run.tests.iter().filter(|test| !test.any_choice).filter(has_ended).count();
    let (inconclusive, limits) = (run.with("inconclusive").len(), run.with("limit").len());
    let mut without_verdict = String::new();
    for (count, what) in [
        (inconclusive, "inconclusive"),
        (limits, "without a verdict"),
        (interrupted, "interrupted"),
        (run.not_run.unwrap_or(0), "not run"),
        (run.broken, "with an internal error"),
    ] {
        if count > 0 {
            without_verdict += &format!(", {count} {what}");
        }
    }
    format!(
        "test result: {}. {passed} passed; {} failed; {} ignored; 0 measured; {} filtered out; \
         {explored} explored, {sequential} sequential{without_verdict}; finished in {:.2}s",
        match run.exit {
            Exit::NoBug => "ok",
            Exit::Interrupted => "interrupted",
            Exit::Limit => "no verdict",
            Exit::Inconclusive => "inconclusive",
            Exit::InternalError => "internal error",
            _ => "FAILED",
        },
        run.with("bug").len(),
        run.ignored.len(),
        run.header.filtered_out,
        run.elapsed.as_secs_f64(),
    )
}

/// The result of a test in one word, and how much of it was executed.
fn result(test: &TestReport) -> String {
    match (&test.verdict, test.workers_max) {
        (Verdict::Bug, _) => "FAILED".into(),
        (Verdict::Limit(limits), _) => format!("no verdict ({})", limits.join("; ")),
        (Verdict::Inconclusive { what, .. }, _) => format!("inconclusive ({what})"),
        _ if test.is_interrupted() => format!("interrupted ({})", test.extent),
        (Verdict::NothingTested, 0 | 1) => "ok (one worker)".into(),
        (Verdict::NothingTested, workers) => format!("ok ({workers} workers, no choice)"),
        (Verdict::Proved { .. }, _) => format!("ok (proved: {})", test.extent),
        (Verdict::NotFound, _) => format!("ok ({})", test.extent),
    }
}

/// The result in one letter.
fn letter(test: &TestReport) -> &'static str {
    match test.verdict {
        Verdict::Bug => "F",
        Verdict::Limit(_) => "L",
        Verdict::Inconclusive { .. } => "?",
        _ if test.is_interrupted() => "^",
        Verdict::NothingTested | Verdict::Proved { .. } | Verdict::NotFound => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::build::Builder;
    use crate::results::{SearchSummary, Stop, Subject, TestResult};
    use crate::statistics::{IterationRecord, StepsMax};
    use crate::symbols::Symbols;
    use coyote_strategies::search::Counts as SearchCounts;
    use std::path::Path;

    fn sampled(records: &[IterationRecord]) -> TestResult {
        let steps_max = StepsMax { unfair: 300, fair: 3_000 };
        let mut exploration = TestResult::new(Subject::default(), steps_max, false);
        records.iter().for_each(|record| exploration.statistics.add(record));
        exploration.any_choice = records.iter().any(|record| record.decisions > 0);
        exploration.workers_max = 2;
        exploration
    }

    fn searched(counts: SearchCounts, exhausted: bool) -> TestResult {
        let mut exploration = sampled(&[]);
        exploration.any_choice = true;
        exploration.search = Some(SearchSummary {
            counts,
            exhausted,
            estimate: None,
            assumptions: Vec::new(),
            frontier: None,
            cut: Default::default(),
            open_units: 0,
            may_repeat: false,
            resumed: None,
        });
        exploration
    }

    /// Every verdict has a distinct line, letter and name in JSON.
    #[test]
    fn every_verdict_is_told_apart() {
        let fair = IterationRecord { fair: true, decisions: 1, steps: 9, ..IterationRecord::default() };
        let endless = IterationRecord { hit_max_steps: true, ..fair };
        let unfair = IterationRecord { fair: false, ..fair };
        let starved = IterationRecord { fair: false, ..endless };
        let counts = SearchCounts { executions: 6, ..SearchCounts::default() };
        let symbols = Symbols::new(&[]);
        let builder = Builder { module: Path::new("m.wasm"), symbols: &symbols, host_directories: false };
        let mut deep = sampled(&[fair]);
        deep.incidents.limits.insert("it nests too deeply".into());
        let mut states = counts;
        states.states = 21;
        let interrupted = |records: &[IterationRecord]| {
            let mut exploration = sampled(records);
            exploration.stop = Stop::Interrupted;
            exploration
        };
        for (exploration, expected) in [
            (sampled(&[fair, fair]), ". ok (2 schedules, 0 unfinished): not found"),
            (sampled(&[fair, starved]), ". ok (2 schedules, 1 unfinished): not found"),
            (
                sampled(&[IterationRecord { decisions: 0, ..fair }]),
                ". ok (2 workers, no choice): nothing tested",
            ),
            (
                sampled(&[fair, endless, unfair, starved]),
                "? inconclusive (1 of 2 fair schedules did not end within 3000 steps): inconclusive",
            ),
            (
                sampled(&[starved]),
                "? inconclusive (1 of 1 unfair schedule did not end within 300 steps): inconclusive",
            ),
            (
                sampled(&[IterationRecord { abandoned: true, ..fair }]),
                "? inconclusive (no schedule came to its end: an assumption failed in each): inconclusive",
            ),
            (deep, "L no verdict (it nests too deeply): limit"),
            (interrupted(&[fair]), "^ interrupted (1 schedule, 0 unfinished): not found"),
            (
                interrupted(&[]),
                "? inconclusive (no schedule came to its end before the run was interrupted): inconclusive",
            ),
            (searched(counts, true), ". ok (proved: all 6 executions): proved"),
            (searched(states, true), ". ok (proved: all 21 states): proved"),
            (searched(counts, false), ". ok (6 executions, not all): not found"),
            (searched(SearchCounts { cut: true, ..counts }, true), ". ok (6 executions, not all): not found"),
            (
                searched(SearchCounts { unfinished: 2, ..counts }, true),
                "? inconclusive (2 of 8 executions did not end within 300 steps): inconclusive",
            ),
            (
                searched(SearchCounts::default(), true),
                "? inconclusive (no execution came to its end): inconclusive",
            ),
        ] {
            let test = builder.test("t", &exploration);
            let said = format!("{} {}: {}", letter(&test), result(&test), test.verdict.name());
            assert_eq!(said, expected);
        }
        let mut test = builder.test("t", &sampled(&[fair]));
        test.verdict = Verdict::Bug;
        assert_eq!((letter(&test), test.verdict.name()), ("F", "bug"));
    }

    fn run(tests: Vec<TestReport>, exit: Exit) -> RunReport {
        let header = RunHeader {
            version: "1",
            module: "m.wasm".into(),
            seed: 0,
            strategy: "random".into(),
            tests: tests.len(),
            filtered_out: 0,
            iterations_max: 1,
            timeout: None,
            total_timeout: None,
            explore: false,
            not_on_target: None,
        };
        let (ignored, elapsed) = (Vec::new(), std::time::Duration::ZERO);
        RunReport { header, tests, ignored, exit, not_run: None, broken: 1, elapsed }
    }

    /// Failures are tests with a bug, and nothing else.
    #[test]
    fn tests_without_a_verdict_are_listed_apart() {
        let fair = IterationRecord { fair: true, decisions: 1, steps: 9, ..IterationRecord::default() };
        let endless = IterationRecord { hit_max_steps: true, ..fair };
        let symbols = Symbols::new(&[]);
        let builder = Builder { module: Path::new("m.wasm"), symbols: &symbols, host_directories: false };
        let mut deep = sampled(&[fair]);
        deep.incidents.limits.insert("it nests too deeply".into());
        let mut bug = builder.test("wrong", &sampled(&[fair]));
        bug.verdict = Verdict::Bug;
        let tests = vec![
            builder.test("fine", &sampled(&[fair])),
            builder.test("endless", &sampled(&[endless])),
            bug,
            builder.test("deep", &deep),
        ];
        let mut renderer = Libtest::lines(RenderOptions::default());
        let mut out = Vec::new();
        for test in &tests {
            renderer.test_finished(&mut out, test).unwrap();
        }
        renderer.test_broken(&mut out, "broken").unwrap();
        renderer.run_finished(&mut out, &run(tests, Exit::BugFound)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        let lists = ["\nwithout a verdict:\n    endless\n    deep\n", "\nfailures:\n    wrong\n"];
        assert!(at(lists[0]) < at(lists[1]), "{text}");
        assert!(text.contains("\ninternal error\n"), "{text}");
        let summary = "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; 4 explored, \
                       0 sequential, 1 inconclusive, 1 without a verdict, 1 with an internal error; finished in";
        assert!(text.contains(summary), "{text}");
    }
}
