//! Minimised traces: for every example's bug, no switch can be left out and no value be lowered; the bug is
//! the same, and so is the trace for every seed.

use super::examples::{self, Expected};
use super::{guest, process};
use coyote_wasm::diagnose::{SourceLines, identity};
use coyote_wasm::execution::Execution;
use coyote_wasm::machine::scheduler::Looks;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::record;
use coyote_wasm::replay::replay;
use coyote_wasm::results::{BugIdentity, FoundBug};
use coyote_wasm::shrink::{Effort, Shrunk, refused, shrink};
use coyote_wasm::strategies::{Guided, Iteration, Preference, Segment, Weight};
use coyote_wasm::tester::Tester;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The bug of an example under a seed, as it is found.
fn found(expected: &Expected, seed: u64) -> Option<FoundBug> {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(expected.artifact());
    tester.settings = expected.settings();
    tester.traces = directory.path().into();
    tester.seed = seed;
    let test = guest::find(&expected.artifact(), &expected.test).name;
    tester.explore(&test, expected.strategy()).unwrap().bugs.into_iter().next()
}

/// Calls `function` with an execution of the example and the lines by which bugs are compared.
fn with<R: Send>(
    expected: &Expected,
    function: impl FnOnce(&mut Execution, &Mutex<SourceLines>) -> R + Send,
) -> R {
    let artifact = expected.artifact();
    let lines = Mutex::new(SourceLines::new(&artifact));
    guest::with(&artifact, &expected.test, &expected.settings(), |execution| function(execution, &lines))
}

/// The bug's trace, minimised; `None` for a kind whose traces are not minimised.
fn shrunk(expected: &Expected, found: &FoundBug) -> Option<Shrunk> {
    with(expected, |execution, lines| {
        if refused(execution, &found.trace).is_some() {
            return None;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let shrunk = shrink(execution, &found.trace, Effort::default(), &stop, lines).unwrap();
        Some(shrunk.unwrap_or_else(|| panic!("{expected:?} does not replay")))
    })
}

/// The weight of an edited schedule, if it leads to the same bug: decided without the shrinker's code.
fn weight_of(
    execution: &mut Execution,
    lines: &Mutex<SourceLines>,
    preference: Preference,
    bug: &BugIdentity,
) -> Option<Weight> {
    let guided = Guided::new(Arc::new(preference));
    let weight = guided.weight();
    let iteration = Iteration { seed: 0, index: 0 };
    let run = |execution: &mut Execution| execution.run(Box::new(guided), iteration).unwrap().0;
    let outcome = execution.looking(Looks::Never, run);
    let Outcome::Bug(met) = outcome else { return None };
    let same = identity(execution, &met, lines).unwrap() == *bug;
    let weight = *weight.lock().unwrap();
    same.then_some(weight)
}

/// All schedules with one switch left out or one value lowered.
fn edits(preference: &Preference) -> Vec<Preference> {
    let mut all = Vec::new();
    for at in 0..preference.segments.len() {
        // The worker does not run here: it continues at its next turn.
        let mut edited = preference.clone();
        edited.segments.remove(at);
        all.push(edited);
        // The worker is not left here: it continues to where it is left next, or as far as it can.
        if let Segment::Run { worker, until } = &preference.segments[at] {
            let later = preference.segments[at + 1..].iter().filter_map(|segment| match segment {
                Segment::Run { worker: other, until } if other == worker => Some(*until),
                _ => None,
            });
            for to in later.chain([u64::MAX]) {
                let skipped = |segment: &Segment| match segment {
                    Segment::Run { worker: other, until: end } => {
                        other == worker && *until < *end && *end <= to
                    }
                    Segment::Timeout { .. } => false,
                };
                let mut edited = preference.clone();
                edited.segments.retain(|segment| !skipped(segment));
                // Nothing before it was removed.
                edited.segments[at] = Segment::Run { worker: worker.clone(), until: to };
                all.push(edited);
            }
        }
    }
    for (worker, values) in &preference.values {
        for (nth, value) in values.iter().enumerate() {
            for lower in 0..(*value).min(64) {
                let mut edited = preference.clone();
                edited.values.get_mut(worker).unwrap()[nth] = lower;
                all.push(edited);
            }
        }
    }
    all
}

/// Tests of hundreds of tasks: their attempts end before everything was tried. The result says so
/// ([`coyote_wasm::shrink::Shrinking::stopped`]) and claims nothing that could be tested here.
const LONG: [&str; 2] = ["two_orders", "four_orders"];

/// Of every third example, or of all when soaking.
#[test]
fn nothing_can_be_left_out() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    let index = examples::index();
    let buggy = index.iter().filter(|e| e.is_bug() && !LONG.contains(&&*e.test));
    for expected in buggy.step_by(guest::scaled(3, 1)) {
        let Some(found) = found(expected, 0) else { continue };
        let Some(shrunk) = shrunk(expected, &found) else { continue };
        let name = format!("{}, {}", expected.module, expected.test);
        with(expected, |execution, lines| {
            let schedule = record::schedule(&shrunk.trace, &execution.machine().artifact().table);
            let preference = Preference::of(&schedule);
            let least = weight_of(execution, lines, preference.clone(), &found.identity);
            if least != Some(shrunk.shrinking.after) {
                wrong.push(format!("{name}: {least:?} is not {:?}", shrunk.shrinking.after));
                return;
            }
            for edited in edits(&preference) {
                tried += 1;
                let other = weight_of(execution, lines, edited.clone(), &found.identity);
                let cost = |weight: Weight| (weight.preemptions, weight.switches, weight.values);
                if other.is_some_and(|other| cost(other) < cost(shrunk.shrinking.after)) {
                    wrong
                        .push(format!("{name}: {:?} could be {other:?}: {edited:?}", shrunk.shrinking.after));
                }
            }
            let replayed = replay(execution, &shrunk.trace, false).unwrap();
            if !replayed.reproduces(&shrunk.trace) {
                wrong.push(format!("{name}: {replayed:?}"));
            }
        });
        let Weight { preemptions, switches, .. } = shrunk.shrinking.after;
        let before = shrunk.shrinking.before;
        if (preemptions, switches) > (before.preemptions, before.switches) {
            wrong.push(format!("{name}: {before:?} became {:?}", shrunk.shrinking.after));
        }
        if shrunk.shrinking.stopped {
            wrong.push(format!("{name}: there was no leave for all attempts"));
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Seeds per bug.
fn seeds() -> u64 {
    guest::scaled(3, 5)
}

/// Examples whose minimal trace may still depend on the seed: docs/shrink.md gives their number.
const SEVERAL: [&str; 14] = [
    "actors",
    "distributed",
    "key_value",
    "network",
    "replicas",
    "crossbeam_channel_0_5_7",
    "flume_0_10_14",
    "protocols",
    "servers",
    "std_threads",
    "sct_reorder",
    "sct_twostage",
    "bounded_buffer",
    "sct_wsq",
];

#[test]
fn the_seed_does_not_matter() {
    let mut wrong = Vec::new();
    let depends =
        |e: &&Expected| SEVERAL.contains(&&*e.module) && e.test != "minimal" || LONG.contains(&&*e.test);
    for expected in examples::index().iter().filter(|e| e.is_bug() && !depends(e)) {
        let mut traces: BTreeSet<(BugIdentity, String)> = BTreeSet::new();
        let mut bugs = BTreeSet::new();
        for found in (0..seeds()).filter_map(|seed| found(expected, seed)) {
            let Some(shrunk) = shrunk(expected, &found) else { continue };
            let schedule: String = shrunk.trace.decisions.iter().map(|d| format!("{d}\n")).collect();
            bugs.insert(found.identity.clone());
            traces.insert((found.identity, schedule));
        }
        if traces.len() != bugs.len() {
            wrong.push(format!("{}, {}: {} traces", expected.module, expected.test, traces.len()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The smallest deadlock of the bounded buffer: only the choice of the woken worker matters.
#[test]
fn the_bounded_buffer_needs_two_readers_and_one_item_each() {
    let index = examples::index();
    let of = |test: &str| {
        let expected = index.iter().find(|e| e.module == "bounded_buffer" && e.test == test).unwrap();
        shrunk(expected, &found(expected, 0).unwrap()).unwrap()
    };
    let minimal = of("minimal").shrinking.after;
    assert_eq!((minimal.preemptions, minimal.switches, minimal.values), (0, 5, 0));
    let random = of("random_config");
    // Length 1, 2 readers, 1 writer, 1 item for each reader: the values are what is added to the minimum.
    let Weight { preemptions, switches, values, .. } = random.shrinking.after;
    assert!(preemptions == 0 && switches <= 6, "{:?}", random.shrinking);
    assert!(values <= 2, "{:?}", random.shrinking);
}

/// The complete use: a run leaves the minimised trace and the original, `shrink` minimises the original in
/// the same way, and both replay.
#[test]
fn a_run_keeps_both_traces() {
    let directory = tempfile::tempdir().unwrap();
    let module = examples::module_path("racy_counter");
    let module = module.to_str().unwrap();
    let run = |arguments: &[&str]| process::run(directory.path(), arguments);
    let found =
        run(&["test", module, "--test", "racy", "--races", "off", "--seed", "1", "--shrink-time", "60"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let original = format!("{trace}.original");
    let smallest = found.line("  smallest: ").to_string();
    assert!(
        smallest.starts_with("  smallest: 4 switches, 1 preemption; nothing with fewer shows it"),
        "{smallest}"
    );
    for trace in [&trace, &original] {
        let replayed = run(&["replay", module, trace]);
        assert_eq!((replayed.code, replayed.line(". Reproduced")), (Some(2), ". Reproduced: assertion"));
    }
    let shrunk = run(&["shrink", module, &original, "-o", "mine.trace"]);
    assert_eq!((shrunk.code, shrunk.line("  smallest: ")), (Some(2), &*smallest), "{shrunk:?}");
    let decisions = |path: &str| -> Vec<String> {
        let text = std::fs::read_to_string(directory.path().join(path)).unwrap();
        text.lines()
            .skip_while(|l| *l != "schedule")
            .map(String::from)
            .filter(|l| !l.starts_with("end"))
            .collect()
    };
    assert_eq!(decisions("mine.trace"), decisions(&trace));
    let first = decisions(&original);
    let kept = run(&[
        "test",
        module,
        "--test",
        "racy",
        "--races",
        "off",
        "--seed",
        "1",
        "--no-shrink",
        "--no-experiments",
    ]);
    assert_eq!(first, decisions(kept.line("  trace:  ").trim_start_matches("  trace:  ")));
    assert!(!kept.stdout.contains("  smallest: ") && !kept.stdout.contains("  decisive: "), "{kept:?}");
}

/// Traces that are not shrunk, and the reasons.
#[test]
fn livelocks_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let module = examples::module_path("endless_loop");
    let module = module.to_str().unwrap();
    let found = process::run(directory.path(), &["test", module, "--test", "alone", "--seed", "0"]);
    assert!(found.code == Some(2) && !found.stdout.contains("  smallest: "), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
    let refused = process::run(directory.path(), &["shrink", module, trace]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("cannot be shrunk: a livelock's trace ends where"), "{refused:?}");
}
