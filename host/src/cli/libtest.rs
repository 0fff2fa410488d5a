//! A test binary of cargo: each of its tests explored, and reported as its own harness would.

use super::exit::Exit;
use super::harness::HarnessArgs;
use super::json::Ignored;
use super::session::{Format, Session};
use super::shares::Shares;
use super::test::{InternalError, not_run};
use crate::artifact::Artifact;
use crate::execution::{Settings, Test};
use crate::explore::{Exploration, Stop};
use crate::libtest;
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
    /// Those that need what there is not here.
    limited: usize,
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
    let mut exit = Exit::NoBug;
    let (mut failures, mut results, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
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
        if !exploration.is_buggy() {
            counts.passed += 1;
            say(&if terse { ".".into() } else { format!("ok ({})\n", extent(&exploration)) });
            let output = exploration.first_output.trim_end();
            if harness.nocapture && !output.is_empty() && !terse {
                say(&format!("{output}\n"));
            }
        } else {
            let limit = Exit::NoBug.with(&exploration) == Exit::Limit;
            counts.limited += usize::from(limit);
            say(match (terse, limit) {
                (true, true) => "L",
                (true, false) => "F",
                (false, true) => "no verdict\n",
                (false, false) => "FAILED\n",
            });
            exit = exit.with(&exploration);
            let bugs = session.describe(test, &exploration)?;
            let notes: String =
                session.notes(&exploration).iter().map(|note| format!("  note: {note}\n")).collect();
            failures.push((&test.name, bugs + &notes));
        }
        results.push(session.result(test, &exploration));
        if let Some(diverged) = replays {
            bail!(InternalError(diverged));
        }
        interrupted = exploration.stop == Stop::Interrupted;
        if interrupted || harness.fail_fast && !failures.is_empty() {
            break;
        }
    }
    if exit == Exit::NoBug && interrupted {
        exit = Exit::Interrupted;
    }
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
        failures.len() - counts.limited,
        counts.ignored,
        selected.filtered_out,
        counts.explored,
        counts.sequential,
        match counts.limited {
            0 => String::new(),
            n => format!(", {n} without a verdict"),
        },
        started.elapsed().as_secs_f64(),
    ));
    Ok(exit)
}

/// How much of a test was executed.
fn extent(exploration: &Exploration) -> String {
    let statistics = &exploration.statistics;
    let without_end: u64 =
        [&statistics.fair, &statistics.unfair].iter().map(|s| s.hit_max_steps + s.abandoned).sum();
    let all = exploration.iterations();
    let what = if exploration.searched.is_some() { "execution" } else { "iteration" };
    let count = counted(all, what);
    match (exploration.any_choice, exploration.workers_max) {
        _ if without_end >= all => format!("{count}, none of which came to an end: raise --max-steps"),
        (false, 0 | 1) => "one worker".into(),
        (false, workers) => format!("{workers} workers, no choice"),
        (true, _) if exploration.stop == Stop::Exhausted => format!("all {count}"),
        (true, _) => count,
    }
}
