//! What shrinking makes of the bugs of the examples: switches and choices before and after, time, and how many
//! different minimal traces come of the bugs of different seeds. Prints a table in Markdown.
//!
//! `cargo bench --bench shrink -- [SEEDS=20] [MODULE]`: docs/shrink.md holds what it printed.

#[allow(dead_code, reason = "tests use all of it")]
#[path = "../tests/host/expected.rs"]
mod expected;

use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::diagnose::SourceLines;
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::instrument;
use coyote_wasm::results::{FoundBug, Shrinking};
use coyote_wasm::shrink::{self, Effort};
use coyote_wasm::tester::Tester;
use expected::{Expected, index, module_path};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One bug, shrunk.
struct Row {
    shrinking: Shrinking,
    choices: (usize, usize),
    time: Duration,
    identity: String,
    schedule: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let seeds = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(20);
    let only = arguments.get(1);
    println!("| example | bug | seeds | switches | preemptions | choices | longest, s | traces | proved |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for expected in index().iter().filter(|e| e.is_bug()) {
        if only.is_none_or(|only| expected.module.contains(only.as_str())) {
            measure(expected, seeds);
        }
    }
}

fn measure(expected: &Expected, seeds: u64) {
    let wasm = std::fs::read(module_path(&expected.module)).expect("an example");
    let options = expected.instrument();
    let instrumented = instrument(&wasm, &options).expect("instruments");
    let artifact =
        Artifact::compile(&engine(None).expect("an engine"), wasm[..].into(), instrumented, options);
    let artifact = Arc::new(artifact.expect("compiles"));
    let settings = expected.settings();
    let directory = tempfile::tempdir().expect("a directory");
    let mut tester = Tester::of(artifact.clone());
    tester.settings = settings.clone();
    tester.traces = directory.path().into();
    let tests = tester.tests();
    let test = tests.iter().find(|t| t.name == expected.test || t.export == expected.test).expect("a test");
    let mut rows = Vec::new();
    for seed in 0..seeds {
        tester.seed = seed;
        let found =
            tester.explore(&test.name, expected.strategy()).expect("explores").bugs.into_iter().next();
        let Some(found) = found else { continue };
        rows.extend(shrunk(&artifact, test, &settings, &found));
    }
    print(expected, &rows);
}

fn shrunk(
    artifact: &Arc<Artifact>,
    test: &coyote_wasm::execution::Test,
    settings: &Settings,
    found: &FoundBug,
) -> Option<Row> {
    let lines = Mutex::new(SourceLines::new(artifact));
    on_engine_thread(|| {
        let mut execution = Execution::new(artifact, test, settings).expect("starts");
        if shrink::refused(&execution, &found.trace).is_some() {
            return None;
        }
        let started = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let shrunk = shrink::shrink(&mut execution, &found.trace, Effort::default(), &stop, &lines);
        let shrunk = shrunk.expect("executes").expect("the bug replays");
        Some(Row {
            shrinking: shrunk.shrinking,
            choices: (found.trace.decisions.len(), shrunk.trace.decisions.len()),
            time: started.elapsed(),
            identity: found.identity.short(),
            schedule: shrunk.trace.decisions.iter().map(|d| format!("{d}\n")).collect(),
        })
    })
}

fn print(expected: &Expected, rows: &[Row]) {
    let name = format!("{}, {}", expected.module, expected.test);
    if rows.is_empty() {
        println!("| {name} | {} | 0 | | | | | | |", expected.verdict);
        return;
    }
    let mut traces: BTreeMap<&str, std::collections::BTreeSet<&str>> = BTreeMap::new();
    rows.iter().for_each(|row| {
        traces.entry(&row.identity).or_default().insert(&row.schedule);
    });
    let range = |of: &dyn Fn(&Row) -> u64| {
        let numbers = || rows.iter().map(of);
        let (least, most) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        if least == most { format!("{least}") } else { format!("{least}-{most}") }
    };
    println!(
        "| {name} | {} | {} | {} to {} | {} to {} | {} to {} | {:.2} | {} of {} | {} |",
        expected.verdict,
        rows.len(),
        range(&|r| r.shrinking.before.switches),
        range(&|r| r.shrinking.after.switches),
        range(&|r| r.shrinking.before.preemptions),
        range(&|r| r.shrinking.after.preemptions),
        range(&|r| r.choices.0 as u64),
        range(&|r| r.choices.1 as u64),
        rows.iter().map(|row| row.time).max().unwrap_or_default().as_secs_f64(),
        traces.values().map(std::collections::BTreeSet::len).sum::<usize>(),
        traces.len(),
        rows.iter().filter(|row| row.shrinking.cheaper_tried.is_some()).count(),
    );
}
