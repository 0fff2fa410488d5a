//! A test binary of cargo: each of its tests explored, and reported as its own harness would.

use super::exit::Exit;
use super::harness::HarnessArgs;
use super::json::Ignored;
use super::session::{Format, Session};
use super::shares::Shares;
use super::test::{InternalError, not_run};
use crate::artifact::Artifact;
use crate::execution::{Settings, Test};
use crate::libtest;
use crate::results::{Stop, TestResult};
use crate::verdict::Verdict;
use crate::words::counted;
use anyhow::{Result, bail};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// A test, and why it is not to be run, if so.
pub struct ToRun {
    pub test: Test,
    pub ignored: Option<String>,
}

/// What is to be run.
pub struct Selected {
    pub tests: Vec<ToRun>,
    pub filtered_out: usize,
}

/// The tests that the arguments select: `patterns` as everywhere, and what the harness understands.
pub fn select(
    artifact: &Arc<Artifact>,
    settings: &Settings,
    patterns: &[String],
    harness: &HarnessArgs,
) -> Result<Selected> {
    if harness.bench {
        bail!("benchmarks measure nothing here, since time is virtual; without --bench they run as tests");
    }
    let mut listed = libtest::list(artifact, settings, &harness.selection())?;
    let mut all = listed.len();
    if !harness.selects_all() {
        all = libtest::list(artifact, settings, &["--include-ignored".into()])?.len();
    }
    if !patterns.is_empty() {
        let mut matchers = Vec::new();
        for pattern in patterns {
            matchers.push((pattern, globset::Glob::new(pattern)?.compile_matcher()));
        }
        listed.retain(|t| matchers.iter().any(|(name, glob)| t.name == **name || glob.is_match(&t.name)));
        if listed.is_empty() {
            bail!("--test {}: there is no such test; --list shows all", patterns.join(" --test "));
        }
    }
    let filtered_out = all - listed.len();
    let to_run = |t: libtest::Listed| ToRun { test: libtest::test(&t.name), ignored: t.ignored };
    Ok(Selected { tests: listed.into_iter().map(to_run).collect(), filtered_out })
}

/// How a test ended, as the summary counts it.
#[derive(Default)]
struct Counts {
    passed: usize,
    ignored: usize,
    explored: usize,
    sequential: usize,
    /// Of those that failed, for the summary's readers: no verdict is no success.
    inconclusive: usize,
    limits: usize,
}

/// Explores the tests. That some, or all, have nothing to explore is as good as any other success.
pub fn run(session: &Session, selected: &Selected, harness: &HarnessArgs) -> Result<Exit> {
    let started = Instant::now();
    let terse = session.format == Format::Terse;
    let say = |text: &str| {
        if session.is_text() {
            print!("{text}");
            let _ = std::io::stdout().flush();
        }
    };
    say(&format!("\nrunning {}\n", counted(selected.tests.len() as u64, "test")));
    if selected.tests.is_empty() {
        say(&format!(
            "note: {}\n",
            match selected.filtered_out {
                0 => "there are no tests on this target; `coyote-wasm doctor` may know why".into(),
                n => format!("none of {} is selected", counted(n as u64, "test")),
            }
        ));
    }
    let to_explore: Vec<&Test> =
        selected.tests.iter().filter(|t| t.ignored.is_none()).map(|t| &t.test).collect();
    let mut shares = Shares::new(session, &to_explore)?;
    let mut counts = Counts::default();
    let mut interrupted = false;
    let (mut failures, mut results, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
    let mut verdicts = Vec::new();
    for ToRun { test, ignored: reason } in &selected.tests {
        let refused = match reason {
            None => libtest::refused(&session.artifact, &session.settings, test)?,
            Some(reason) => Some(reason.clone()),
        };
        if !terse {
            say(&format!("test {} ... ", test.name));
        }
        if let Some(reason) = refused {
            let comma = if reason.is_empty() { "" } else { ", " };
            say(&if terse { "i".into() } else { format!("ignored{comma}{reason}\n") });
            counts.ignored += 1;
            ignored.push(Ignored { name: test.name.clone(), reason });
            continue;
        }
        let exploration = shares.explore(session, test)?;
        let replays = session.confirm(test, &exploration)?;
        counts.explored += usize::from(exploration.any_choice);
        counts.sequential += usize::from(!exploration.any_choice);
        let verdict = exploration.verdict();
        let notes = || -> String {
            session.notes(&exploration).iter().map(|note| format!("  note: {note}\n")).collect()
        };
        match terse {
            true => say(letter(&verdict)),
            false => say(&format!("{}\n", result(&exploration, &verdict))),
        }
        match &verdict {
            Verdict::Bug => {
                failures.push((&test.name, session.describe(test, &exploration)? + &notes()));
            }
            Verdict::Limit(_) => {
                counts.limits += 1;
                failures.push((&test.name, session.describe(test, &exploration)? + &notes()));
            }
            Verdict::Inconclusive { .. } => {
                counts.inconclusive += 1;
                failures.push((&test.name, notes()));
            }
            Verdict::NothingTested | Verdict::Proved { .. } | Verdict::NotFound => {
                counts.passed += 1;
                let output = exploration.first_output.as_ref().map_or("", |output| output.text.trim_end());
                if harness.nocapture && !output.is_empty() && !terse {
                    say(&format!("{output}\n"));
                }
            }
        }
        verdicts.push(verdict);
        results.push(session.result(test, &exploration));
        if let Some(diverged) = replays {
            bail!(InternalError(diverged));
        }
        interrupted = exploration.stop == Stop::Interrupted;
        if interrupted || harness.fail_fast && !failures.is_empty() {
            break;
        }
    }
    let exit = match Exit::of_run(&verdicts, interrupted) {
        Exit::NothingTested => Exit::NoBug,
        exit => exit,
    };
    if !session.is_text() {
        session.print_json(exit, results, ignored)?;
        return Ok(exit);
    }
    if terse {
        say("\n");
    }
    if !failures.is_empty() {
        say("\nfailures:\n");
        failures.iter().for_each(|(name, bugs)| say(&format!("\n---- {name} ----\n{bugs}")));
        say("\nfailures:\n");
        failures.iter().for_each(|(name, _)| say(&format!("    {name}\n")));
    }
    if interrupted {
        let done = counts.passed + counts.ignored + failures.len();
        say(&format!("\n{}\n", not_run(selected.tests.len() - done)));
    }
    say(&format!(
        "\ntest result: {}. {} passed; {} failed; {} ignored; 0 measured; {} filtered out; \
         {} explored, {} sequential{}; finished in {:.2}s\n\n",
        match exit {
            Exit::NoBug => "ok",
            Exit::Interrupted => "interrupted",
            Exit::Limit => "no verdict",
            _ => "FAILED",
        },
        counts.passed,
        failures.len() - counts.limits,
        counts.ignored,
        selected.filtered_out,
        counts.explored,
        counts.sequential,
        without_verdict(&counts),
        started.elapsed().as_secs_f64(),
    ));
    Ok(exit)
}

/// How many of the failures are none of the guest's, if there are any.
fn without_verdict(counts: &Counts) -> String {
    let mut text = String::new();
    for (count, what) in [(counts.inconclusive, "inconclusive"), (counts.limits, "without a verdict")] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text
}

/// The result of a test in a word, and how much of it was executed.
fn result(exploration: &TestResult, verdict: &Verdict) -> String {
    match (verdict, exploration.workers_max) {
        (Verdict::Bug, _) => "FAILED".into(),
        (Verdict::Limit(limits), _) => format!("no verdict ({})", limits.join("; ")),
        (Verdict::Inconclusive { what, .. }, _) => format!("inconclusive ({what})"),
        (Verdict::NothingTested, 0 | 1) => "ok (one worker)".into(),
        (Verdict::NothingTested, workers) => format!("ok ({workers} workers, no choice)"),
        (Verdict::Proved { .. }, _) => format!("ok (proved: {})", exploration.extent()),
        (Verdict::NotFound, _) => format!("ok ({})", exploration.extent()),
    }
}

/// The same in one letter.
fn letter(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Bug => "F",
        Verdict::Limit(_) => "L",
        Verdict::Inconclusive { .. } => "?",
        Verdict::NothingTested | Verdict::Proved { .. } | Verdict::NotFound => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{SearchSummary, Subject};
    use crate::statistics::{IterationRecord, StepsMax};
    use coyote_strategies::search::Counts as SearchCounts;

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
            resumed: None,
        });
        exploration
    }

    /// Every verdict as a line, a letter and JSON have it.
    #[test]
    fn every_verdict_is_told_apart() {
        let fair = IterationRecord { fair: true, decisions: 1, steps: 9, ..IterationRecord::default() };
        let endless = IterationRecord { hit_max_steps: true, ..fair };
        let unfair = IterationRecord { fair: false, ..fair };
        let starved = IterationRecord { fair: false, ..endless };
        let counts = SearchCounts { executions: 6, ..SearchCounts::default() };
        let mut deep = sampled(&[fair]);
        deep.limits.insert("it nests too deeply".into());
        let mut states = counts;
        states.states = 21;
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
            let verdict = exploration.verdict();
            let said = format!("{} {}: {}", letter(&verdict), result(&exploration, &verdict), verdict.name());
            assert_eq!(said, expected);
        }
        assert_eq!((letter(&Verdict::Bug), Verdict::Bug.name()), ("F", "bug"));
    }
}
