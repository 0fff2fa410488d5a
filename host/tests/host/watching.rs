//! Data races can be looked for in some iterations of samplers: these iterations find what the detector finds
//! when it watches all, the others what is found without it, and nothing else changes.

use super::c_programs::build;
use super::examples;
use super::process;
use coyote_wasm::detect::{Detectors, Watched};
use coyote_wasm::explore::Budget;
use coyote_wasm::explore::watching::is_watched;
use coyote_wasm::instrumenter::{Options, Pipeline};
use coyote_wasm::outcome::BugKind;
use coyote_wasm::results::FoundBug;
use coyote_wasm::statistics::Statistics;
use coyote_wasm::tester::Tester;

/// The result of a test's iterations: a bug's identity, the number of choices that lead to it, and whether it
/// replays; and how many iterations were executed, with their steps.
#[derive(Debug, PartialEq)]
struct Came {
    bug: Option<(String, usize, bool)>,
    statistics: Statistics,
}

fn tester(wasm: &[u8], options: &Options, watched: Option<Watched>) -> Tester {
    let mut tester = Tester::with(wasm, options, Pipeline::new()).unwrap();
    tester.settings.detectors = match watched {
        Some(Watched::Some) => Detectors::default().in_some(),
        Some(Watched::All) => Detectors::default().in_some().in_all(),
        None => Detectors::none(),
    };
    tester
}

fn came(tester: &mut Tester, test: &str, index: u64) -> Came {
    tester.budget =
        Budget { first: index, iterations_max: 1, jobs: 1, steer: false, timeout: None, ..Budget::default() };
    tester.seed = 3;
    let result = tester.explore(test, "random").unwrap();
    let bug = result.bugs.first().map(|found: &FoundBug| {
        let replayed = tester.replay(&found.trace).unwrap();
        let races = found.trace.header.options.contains(&("detect".into(), "races".into()));
        let is_race = found.bug.kind == BugKind::DataRace;
        assert!(races || !is_race, "the trace of a race has to say that it was looked for");
        (found.identity.short(), found.trace.decisions.len(), replayed.reproduces(&found.trace))
    });
    Came { bug, statistics: result.statistics }
}

#[test]
fn some_iterations_are_watched_and_the_others_are_as_without() {
    let directory = tempfile::tempdir().unwrap();
    let (mut races, mut others) = (0, 0);
    for (name, test) in [("racy_counter", "racy"), ("std_threads", "main"), ("null_race_bad", "main")] {
        let wasm = std::fs::read(examples::module_path(name)).unwrap();
        let options = Options { edges: true, ..Options::default() };
        let [mut some, mut all, mut off] =
            [Some(Watched::Some), Some(Watched::All), None].map(|watched| tester(&wasm, &options, watched));
        for tester in [&mut some, &mut all, &mut off] {
            tester.traces = directory.path().into();
        }
        for index in 0..40 {
            let expected = if is_watched(index) { &mut all } else { &mut off };
            let expected = came(expected, test, index);
            assert_eq!(came(&mut some, test, index), expected, "{name}, iteration {index}");
            let bug = expected.bug;
            assert!(bug.as_ref().is_none_or(|(.., replays)| *replays), "{name}, iteration {index}");
            let counter = if is_watched(index) { &mut races } else { &mut others };
            *counter += u64::from(bug.is_some());
        }
    }
    assert!(races > 0 && others > 0, "{races} {others}");
}

/// The detector only needs events that order accesses: it finds the same as if it received every access.
#[test]
fn edges_say_enough() {
    let directory = tempfile::tempdir().unwrap();
    let left_out = Options { no_points_in: vec!["*lock*".into()], ..Options::default() };
    let mut bugs = 0;
    for (name, test) in [
        ("racy_counter", "racy"),
        ("std_threads", "main"),
        ("std_threads_fixed", "main"),
        ("crossbeam_channel_0_5_8", "main"),
        ("flume_0_10_14", "main"),
        ("sct_bluetooth", "bluetooth"),
        ("ordinary_c", "main"),
    ] {
        let wasm = std::fs::read(examples::module_path(name)).unwrap();
        for options in [&Options::default(), &left_out] {
            let [edges, footprints] = [(true, false), (false, true)].map(|(edges, footprints)| Options {
                edges,
                footprints,
                ..options.clone()
            });
            let [mut edges, mut footprints] =
                [edges, footprints].map(|options| tester(&wasm, &options, Some(Watched::All)));
            edges.traces = directory.path().into();
            footprints.traces = directory.path().into();
            for index in 0..20 {
                let expected = came(&mut footprints, test, index);
                assert_eq!(came(&mut edges, test, index), expected, "{name}, iteration {index}, {options:?}");
                bugs += u64::from(expected.bug.is_some());
            }
        }
    }
    assert!(bugs > 40, "{bugs}");
}

/// A bug found in some iterations, its regression, and the result without watching.
#[test]
fn a_race_is_found_in_some_iterations_and_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = format!("{}/../examples/wasm/racy_counter.wasm", env!("CARGO_MANIFEST_DIR"));
    let keep = ["--regressions", "kept"];
    let run = |options: &[&str]| {
        let usual = ["test", &file, "--test", "racy", "--seed", "1", "--races", "some"];
        process::run(directory.path(), &[&usual, options].concat())
    };
    let found = run(&keep);
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(found.stdout.contains("bug in test racy: data-race: "), "{}", found.stdout);
    let again = run(&keep);
    assert!(again.stdout.contains("bug in test racy: data-race: "), "{}", again.stdout);
    for options in [&["-s", "dfs"][..], &["--no-memory-errors"]] {
        let other = run(options);
        assert!(other.stdout.contains("bug in test racy: assertion: "), "{options:?}: {}", other.stdout);
    }
}

/// Two workers that add to a counter, one of which may lose an addition; the fixed program (`-DFIXED`) adds by one
/// operation, and has an access to a plain variable of which no assertion tells.
const LOSES: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int counter;
int last;
static void add(int worker) {
#ifdef FIXED
    atomic_fetch_add(&counter, 1);
    last = worker;
#else
    int seen = atomic_load(&counter);
    atomic_store(&counter, seen + 1);
#endif
}
static void *other(void *unused) {
    add(1);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    add(0);
    pthread_join(thread, NULL);
    assert(counter == 2);
}
"#;

/// Also if the iteration of the trace was not watched; but not if the command line says so.
#[test]
fn a_fix_is_confirmed_as_other_iterations_are_watched() {
    let Some(found) = build(LOSES, &[]) else { return };
    let fixed = build(LOSES, &["-DFIXED"]).expect("the other one could be compiled");
    let here = found.directory.path();
    let run = |arguments: &[&str]| process::run(here, arguments);
    let bug = run(&["test", "program.wasm", "--seed", "1", "--races", "off"]);
    assert_eq!(bug.code, Some(2), "{bug:?}");
    let trace = bug.line("  trace:  ").trim_start_matches("  trace:  ");
    let module = fixed.module.to_str().unwrap();
    let confirm = ["test", module, "--seed", "1", "--iterations", "40", "--confirm", trace];
    let another = run(&confirm);
    assert_eq!(another.code, Some(2), "{another:?}");
    let said = another.line(". Another bug, where the trace ends with assertion: ");
    assert!(said.contains("data-race: "), "{another:?}");
    let again = another.line("  trace:  ").trim_start_matches("  trace:  ");
    assert_eq!(run(&["replay", module, again]).code, Some(2), "{another:?}");
    let gone = run(&[&confirm[..], &["--races", "off"]].concat());
    assert!(gone.code == Some(0) && gone.stdout.contains(". Gone: "), "{gone:?}");
}
