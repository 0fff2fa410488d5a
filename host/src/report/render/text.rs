//! The report for a terminal: for each test its bugs, the statistics of its iterations, and what its verdict does not
//! say by itself.

use super::{RenderOptions, Renderer, bugs, correlation, headline, not_run, sweep};
use crate::exit::Exit;
use crate::plural::counted;
use crate::report::model::{RunHeader, RunReport, TestReport};
use crate::results::SearchSummary;
use crate::statistics::{Statistics, in_time, some};
use crate::verdict::{END_UNCHECKED, Verdict};
use std::fmt::Write as _;
use std::io::{self, Write};

/// See the module's documentation.
pub struct Text {
    options: RenderOptions,
    /// Whether exploration goes on after a bug.
    explore: bool,
}

impl Text {
    pub fn new(options: RenderOptions) -> Text {
        Text { options, explore: false }
    }
}

impl Renderer for Text {
    fn run_started(&mut self, out: &mut dyn Write, run: &RunHeader) -> io::Result<()> {
        self.explore = run.explore;
        writeln!(out, "{}", headline(run))
    }

    fn test_started(&mut self, out: &mut dyn Write, name: &str) -> io::Result<()> {
        writeln!(out, "... Test {name}")
    }

    fn test_finished(&mut self, out: &mut dyn Write, test: &TestReport) -> io::Result<()> {
        write!(out, "{}", bugs::descriptions(test, self.explore, &self.options))?;
        let output = test.first_output.trim_end();
        if self.options.nocapture && test.bugs.is_empty() && !output.is_empty() {
            writeln!(out, "... Output of the first iteration:\n{output}")?;
        }
        match (&test.search, self.options.stats) {
            (Some(search), false) => writeln!(out, "{}", search_line(test, search))?,
            (None, false) => writeln!(out, "{}", test.statistics.line(test.elapsed))?,
            (Some(search), true) => write!(out, "{}", search_statistics(&test.statistics, search))?,
            (None, true) => write!(out, "{}", test.statistics)?,
        }
        if self.options.stats {
            writeln!(out, "{}", Statistics::elapsed(test.schedules(), test.elapsed))?;
        }
        if let Some(swept) = &test.sweep {
            write!(out, "{}", sweep::text(swept, &test.bugs))?;
        }
        if let Some(data) = &test.data {
            write!(out, "{}", correlation::data(data))?;
        }
        test.notes.iter().try_for_each(|note| writeln!(out, "... {note}"))
    }

    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        if let Some(tests) = run.not_run {
            writeln!(out, ". {}", not_run(tests))?;
        }
        let line = format!(". {}", conclusion(run));
        let styles = self.options.styles;
        let line = match run.exit {
            Exit::NoBug => styles.good(&line),
            Exit::BugFound => styles.bug(&line),
            _ => styles.doubt(&line),
        };
        writeln!(out, "{line}")
    }
}

/// The last line of a run.
fn conclusion(run: &RunReport) -> String {
    let some_of = |verdict: &str| {
        let names = run.with(verdict);
        format!("{} of {} tests: {}", names.len(), run.tests.len(), names.join(", "))
    };
    match run.exit {
        Exit::NothingTested if run.tests.iter().any(|test| test.sweep.is_some()) => {
            "Nothing was tested: no default schedule has an opportunity for a fault of these classes.".into()
        }
        Exit::NothingTested => "Nothing was tested: no test met a choice, neither of workers nor of values. \
                                Does the guest start workers? Do its scheduling points lie within --points \
                                and the filters?"
            .into(),
        Exit::BugFound => format!("Found bugs in {}", some_of("bug")),
        Exit::Limit => format!("No verdict on {}, where this tool reached a limit", some_of("limit")),
        Exit::Inconclusive => {
            let missing = run.tests.iter().any(|test| test.missing);
            let unchecked = |test: &TestReport| matches!(&test.verdict, Verdict::Inconclusive { what, .. } if what == END_UNCHECKED);
            let mut open =
                run.tests.iter().filter(|test| matches!(test.verdict, Verdict::Inconclusive { .. }));
            let why = match () {
                () if missing => "results are missing",
                () if open.all(unchecked) => "it was not checked that executions come to an end",
                () => "executions did not come to an end",
            };
            format!("Inconclusive: {why} in {}", some_of("inconclusive"))
        }
        Exit::Interrupted => "No bug found until then.".into(),
        Exit::BadInput | Exit::InternalError => {
            format!(
                "Not complete, because of an error: results of {} of {} tests",
                run.tests.len(),
                run.header.tests
            )
        }
        _ => no_bug(run),
    }
}

/// The statement that no test has a bug, and its basis.
fn no_bug(run: &RunReport) -> String {
    let proved = run.with("proved").len();
    let sum = |number: fn(&TestReport) -> u64| run.tests.iter().map(number).sum::<u64>();
    let schedules = counted(sum(TestReport::schedules), "schedule");
    let unfinished = sum(|t| t.unfinished.fair + t.unfinished.unfair);
    let mut assumptions: Vec<String> = Vec::new();
    for test in &run.tests {
        if !assumptions.contains(&test.memory) {
            assumptions.push(test.memory.clone());
        }
    }
    assumptions.push("virtual time".into());
    let of_searches = run.tests.iter().filter_map(|t| t.search.as_ref()).flat_map(|s| &s.assumptions);
    let of_samplers = run.tests.iter().filter_map(|t| t.progress.as_ref()).flat_map(|p| &p.assumptions);
    for assumption in of_searches.chain(of_samplers) {
        if !assumptions.contains(assumption) {
            assumptions.push(assumption.clone());
        }
    }
    let count = counted(run.tests.len() as u64, "test");
    let what = match proved {
        0 => format!("No bug found in {count}: {schedules}, {unfinished} unfinished"),
        n if n == run.tests.len() => format!("Proved: no bug in {count}"),
        n => format!("No bug found in {count}, {n} of them proved: {schedules}, {unfinished} unfinished"),
    };
    format!("{what} ({})", assumptions.join(", "))
}

/// The most important numbers about the executions of a search, in one line without a line feed.
fn search_line(test: &TestReport, search: &SearchSummary) -> String {
    let counts = &search.counts;
    let estimate = search.estimate.filter(|estimate| *estimate > counts.executions as f64);
    let estimate =
        estimate.map_or(String::new(), |estimate| format!(" of perhaps {} in all", rounded(estimate)));
    let mut ends = vec![format!(
        "{} buggy{}",
        test.statistics.buggy,
        spinning(test.statistics.buggy, counts.executions)
    )];
    ends.extend(some(counts.unfinished, "unfinished"));
    ends.extend(some(counts.abandoned, "more ended at an assumption"));
    ends.extend(some(counts.redundant, "cut off as explored elsewhere"));
    ends.extend((counts.states > 0).then(|| counted(counts.states, "different state")));
    format!(
        "... Explored {}{estimate}{}: {}; {:.1} steps on average.",
        counted(counts.executions, "execution"),
        in_time(test.schedules(), test.elapsed),
        ends.join(", "),
        steps_of_an_execution(search),
    )
}

/// What explains that more executions had a bug than were counted: those in which workers spin equal others, and count for
/// their bugs alone.
fn spinning(buggy: u64, executions: u64) -> &'static str {
    if buggy > executions { ", with those in which workers spin" } else { "" }
}

/// The mean number of steps of all executions that were begun.
fn steps_of_an_execution(search: &SearchSummary) -> f64 {
    let counts = &search.counts;
    let ends = counts.executions + counts.abandoned + counts.unfinished + counts.redundant;
    counts.steps as f64 / ends.max(1) as f64
}

/// Statistics of the executions of a search, without times. Every line ends in a line feed.
fn search_statistics(statistics: &Statistics, search: &SearchSummary) -> String {
    let counts = &search.counts;
    let mut text = String::from("... Exploration statistics:\n");
    let mut line = |args: std::fmt::Arguments| writeln!(text, "..... {args}").expect("a String takes all");
    match search.estimate {
        Some(estimate) if estimate > counts.executions as f64 => line(format_args!(
            "Explored {}; there may be about {} in all.",
            counted(counts.executions, "execution"),
            rounded(estimate)
        )),
        _ => line(format_args!("Explored {}.", counted(counts.executions, "execution"))),
    }
    if statistics.buggy > 0 {
        let spinning = spinning(statistics.buggy, counts.executions);
        line(format_args!("Found {} with a bug{spinning}.", counted(statistics.buggy, "execution")));
    }
    if counts.abandoned > 0 {
        line(format_args!(
            "In addition, {} ended at an assumption that does not hold.",
            counted(counts.abandoned, "execution")
        ));
    }
    if counts.unfinished > 0 {
        line(format_args!(
            "In addition, {} hit the max-steps bound of {}: if they should end, try {}.",
            counted(counts.unfinished, "execution"),
            statistics.steps_max.unfair,
            statistics.raised(false, counts.unfinished, counts.executions)
        ));
    }
    if counts.redundant > 0 {
        line(format_args!("Cut off {} that were explored elsewhere.", counts.redundant));
    }
    if counts.states > 0 {
        match search.resumed {
            None => line(format_args!("Saw {} different states.", counts.states)),
            // States are not stored.
            Some(_) => line(format_args!(
                "Saw {} states; this run counts those of earlier runs again.",
                counts.states
            )),
        }
    }
    let per_execution = steps_of_an_execution(search);
    line(format_args!("Executed {} steps, {per_execution:.1} an execution.", counts.steps));
    text
}

/// With two significant digits if it is large.
fn rounded(estimate: f64) -> String {
    if estimate < 1e6 { format!("{estimate:.0}") } else { format!("{estimate:.1e}") }
}
