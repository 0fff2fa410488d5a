//! Frontiers that searches leave on disk: continuing with them, and damage to them.
//!
//! Any damage to a file gives one clear error, and never a verdict, a wrong count or a panic.

use super::examples::{artifact_for, module_path};
use super::{guest, process};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::explore::frontier::Frontier;
use coyote_wasm::explore::{Budget, ExploreError, Plan, Unwatched, Watch, search};
use coyote_wasm::report::coverage::Coverage;
use coyote_wasm::results::{SearchSummary, Stop, TestResult};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

fn budget(iterations_max: u64, jobs: usize) -> Budget {
    Budget {
        iterations_max,
        first: 0,
        timeout: None,
        search_memory_bytes: u64::MAX,
        bounds_follow: false,
        explore: true,
        bugs_max: u64::MAX,
        check_determinism: false,
        island: None,
        unit: None,
        steer: true,
        jobs,
    }
}

/// Explores a test from the start, or from a frontier.
fn explore(
    artifact: &Arc<Artifact>,
    test: &str,
    strategy: &str,
    budget: Budget,
    directory: &Path,
    resume: Option<Frontier>,
) -> Result<TestResult, ExploreError> {
    let test = guest::find(artifact, test);
    let settings = guest::settings();
    let trace_stem = directory.join("trace");
    let plan = Plan { artifact, test: &test, settings: &settings, seed: 0, budget, trace_stem };
    if let Some(frontier) = &resume
        && !frontier.done.unprotected
    {
        frontier.check(&plan, strategy)?;
    }
    search::explore(&plan, strategy, resume, &AtomicBool::new(false), &Unwatched)
}

fn searched(exploration: TestResult) -> SearchSummary {
    exploration.search.expect("it was a search")
}

/// Explores this many executions in each run until nothing is left. Returns the last run's result, which is
/// about all.
fn in_parts(artifact: &Arc<Artifact>, test: &str, strategy: &str, part: u64, jobs: usize) -> TestResult {
    let directory = tempfile::tempdir().unwrap();
    let mut resume = None;
    for round in 1.. {
        assert!(round < 1_000, "{test} under {strategy} does not end");
        let budget = budget(round * part, jobs);
        let exploration = explore(artifact, test, strategy, budget, directory.path(), resume).unwrap();
        let searched = exploration.search.as_ref().unwrap();
        let Some(frontier) = &searched.frontier else { return exploration };
        resume = Some(Frontier::read(frontier).unwrap());
    }
    unreachable!()
}

const SEARCHES: [&str; 5] = ["dfs", "dpor", "delay-bounding", "preemption-bounding", "preemption-bounding:2"];

/// The number does not depend on how often the search stops, nor on how jobs share it.
#[test]
fn the_number_of_executions_does_not_depend_on_interruptions() {
    let artifact = guest::from_file("frontier.wat");
    let directory = tempfile::tempdir().unwrap();
    for (strategy, executions) in SEARCHES.into_iter().zip([250, 12, 250, 250, 86]) {
        for test in ["correct", "wrong"] {
            let whole = explore(&artifact, test, strategy, budget(u64::MAX, 1), directory.path(), None);
            let whole = searched(whole.unwrap());
            assert_eq!((whole.counts.executions, whole.exhausted), (executions, true), "{strategy}");
            let often = if strategy == "dpor" { 1 } else { 19 };
            for (part, jobs) in [(often, 1), (40, 2)] {
                let parts = in_parts(&artifact, test, strategy, part, jobs);
                assert_eq!(parts.stop, Stop::Exhausted, "{strategy}");
                assert_eq!(parts.is_buggy(), test == "wrong", "{strategy}");
                let parts = searched(parts);
                let how = format!("{test} under {strategy}, {part} at a time, {jobs} jobs");
                assert_eq!(parts.counts.executions, executions, "{how}");
                assert_eq!(
                    (parts.counts.bugs, parts.counts.cut),
                    (whole.counts.bugs, whole.counts.cut),
                    "{how}"
                );
            }
        }
    }
}

/// Conditions that hold sometimes, random bytes and waits in some executions only, of which the last run has few.
const NOTED: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "sometimes" (func $sometimes (param i32 i32 i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (import "coyote" "condvar_wait" (func $wait (param i32 i32 i64) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "early")
  (data (i32.const 80) "late")
  (table 1 funcref)
  (elem (i32.const 0) $add)
  (func $add (param i32) (drop (i32.atomic.rmw.add (i32.const 32) (i32.const 1))))
  (func (export "coyote.test.both")
    (local $other i32) (local $seen i32)
    (local.set $other (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $seen (i32.atomic.load (i32.const 32)))
    (call $sometimes (i32.const 64) (i32.const 5) (i32.eqz (local.get $seen)))
    (call $sometimes (i32.const 80) (i32.const 4) (local.get $seen))
    (if (local.get $seen)
      (then (drop (call $random (i32.const 48) (i32.const 4))))
      (else
        (drop (call $lock (i32.const 8) (i64.const -1)))
        (drop (call $wait (i32.const 16) (i32.const 8) (i64.const 1)))
        (drop (call $unlock (i32.const 8)))))
    (call $join (local.get $other))))"#;

/// A verdict on all runs together knows what happened in each of them.
#[test]
fn what_happened_before_is_remembered() {
    let artifact = guest::from_text(NOTED);
    let directory = tempfile::tempdir().unwrap();
    let known = |result: &TestResult| {
        let never: Vec<String> =
            result.incidents.sometimes.never().map(|(name, _)| name.to_string()).collect();
        let assumptions = result.search.as_ref().unwrap().assumptions.clone();
        (never, result.incidents.asked_random, result.incidents.spurious_left_out, assumptions)
    };
    for strategy in SEARCHES.into_iter().chain(["stateful", "dfs+states", "ses"]) {
        let whole =
            explore(&artifact, "both", strategy, budget(u64::MAX, 1), directory.path(), None).unwrap();
        assert_eq!(whole.stop, Stop::Exhausted, "{strategy}");
        let whole = known(&whole);
        assert_eq!((whole.0.len(), whole.1, whole.2), (0, true, true), "{strategy}");
        assert!(
            whole.3.iter().any(|assumption| assumption.contains("spurious")),
            "{strategy}: {:?}",
            whole.3
        );
        let parts = in_parts(&artifact, "both", strategy, 1, 1);
        assert_eq!(known(&parts), whole, "{strategy}");
    }
}

/// Searches that keep states may see some again, but end, and find every end.
#[test]
fn searches_with_a_cache_go_on() {
    let artifact = guest::from_file("frontier.wat");
    for strategy in ["stateful", "ses", "ses:round-robin", "dfs+hb", "delay-bounding+states"] {
        for part in [1, 2] {
            let exploration = in_parts(&artifact, "wrong", strategy, part, 1);
            assert!(exploration.is_buggy(), "{strategy}");
            assert_eq!(exploration.stop, Stop::Exhausted, "{strategy}");
        }
    }
}

/// A frontier of each search, about half way.
fn frontiers(artifact: &Arc<Artifact>, strategies: &[&'static str]) -> Vec<(&'static str, PathBuf, Vec<u8>)> {
    let directory = tempfile::tempdir().unwrap();
    let of = |strategy: &&'static str| {
        let half = match *strategy {
            "ses" => 1,
            "dpor" => 5,
            _ => 60,
        };
        let exploration =
            explore(artifact, "wrong", strategy, budget(half, 1), directory.path(), None).unwrap();
        let path = searched(exploration).frontier.expect("something is left");
        (*strategy, path.clone(), std::fs::read(&path).unwrap())
    };
    strategies.iter().map(of).collect()
}

/// Every byte changed, removed, doubled or swapped with its neighbour, and the file cut off there.
fn damages(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    (0..bytes.len()).flat_map(move |at| {
        let with = |byte: u8| [&bytes[..at], &[byte], &bytes[at + 1..]].concat();
        let mut swapped = bytes.to_vec();
        swapped.swap(at, (at + 1) % bytes.len());
        [
            ("one bit", with(bytes[at] ^ 1)),
            ("high bit", with(bytes[at] ^ 0x80)),
            ("all bits", with(!bytes[at])),
            ("zero", with(0)),
            ("one more", with(bytes[at].wrapping_add(1))),
            ("left out", [&bytes[..at], &bytes[at + 1..]].concat()),
            ("doubled", [&bytes[..at], &bytes[at..=at], &bytes[at..]].concat()),
            ("swapped", swapped),
            ("cut", bytes[..at].to_vec()),
        ]
        .map(|(how, damaged)| (format!("{how} at {at}"), damaged))
    })
}

#[test]
fn no_damaged_byte_is_overlooked() {
    let artifact = guest::from_file("frontier.wat");
    let (mut refused, mut same) = (0, 0);
    for (strategy, path, bytes) in frontiers(&artifact, &["dfs", "dpor", "delay-bounding", "ses", "ss"]) {
        let whole = Frontier::parse(&path, &bytes).unwrap();
        assert!(!whole.work.items.is_empty());
        for (how, damaged) in damages(&bytes) {
            match Frontier::parse(&path, &damaged) {
                Ok(frontier) => {
                    assert!(damaged == bytes && frontier == whole, "{strategy}, {how}: it reads");
                    same += 1;
                }
                Err(error) => {
                    let error = error.to_string();
                    let clear = ["is damaged and is not used: ", "is no frontier of a search: "];
                    assert!(clear.iter().any(|clear| error.contains(clear)), "{strategy}, {how}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 10_000 && same < refused / 10, "{refused} refused, {same} unchanged");
}

/// Frontiers of version 1, as that version wrote them.
const VERSION_1: [(&str, &str, u64); 3] = [
    ("dfs", include_str!("frontiers/1-dfs.frontier"), 250),
    ("dpor", include_str!("frontiers/1-dpor.frontier"), 12),
    ("delay-bounding", include_str!("frontiers/1-delay-bounding.frontier"), 250),
];

#[test]
fn version_1_is_gone_on_with() {
    let artifact = guest::from_file("frontier.wat");
    let directory = tempfile::tempdir().unwrap();
    for (strategy, text, executions) in VERSION_1 {
        let frontier = Frontier::parse(Path::new("old"), text.as_bytes()).unwrap();
        let budget = budget(u64::MAX, 2);
        let exploration =
            explore(&artifact, "correct", strategy, budget, directory.path(), Some(frontier)).unwrap();
        assert_eq!(exploration.stop, Stop::Exhausted);
        let verdict = Coverage::of(&exploration, exploration.search.as_ref().unwrap()).to_string();
        assert!(verdict.contains("has no checksum"), "{verdict}");
        assert_eq!(searched(exploration).counts.executions, executions, "{strategy}");
    }
}

/// The frontier of `dpor` in version 1 relied on footprints that were incomplete.
#[test]
fn dpor_does_not_go_on_with_version_1() {
    let directory = tempfile::tempdir().unwrap();
    // With all options of a run of today.
    let point = r#"["memory-errors""#;
    let text = VERSION_1[1].1.replace(
        point,
        &format!(r#"["clock-points","true"],["brief-spins","true"],["libc-locks","true"],{point}"#),
    );
    std::fs::write(directory.path().join("old"), text).unwrap();
    std::fs::copy(super::guest::wat_file("frontier.wat"), directory.path().join("frontier.wat")).unwrap();
    let base = ["test", "frontier.wat", "--test", "correct", "--seed", "0", "-s", "dpor"];
    let ended = process::run(directory.path(), &[&base[..], &["--resume", "old"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("search again from the start"), "{ended:?}");
}

/// The result of continuing with version 1 after a change of its text.
fn changed(artifact: &Arc<Artifact>, strategy: &str, text: &str) -> Result<u64, String> {
    let directory = tempfile::tempdir().unwrap();
    let frontier = Frontier::parse(Path::new("F"), text.as_bytes()).map_err(|error| error.to_string())?;
    let budget = budget(10_000, 1);
    let exploration = explore(artifact, "correct", strategy, budget, directory.path(), Some(frontier));
    exploration.map(|exploration| searched(exploration).counts.executions).map_err(|error| error.to_string())
}

/// A checksum cannot tell whether the contents fit the program. So the same without one: contents that are
/// inconsistent, and contents that the program cannot execute.
#[test]
fn what_the_program_cannot_do_is_an_error() {
    let artifact = guest::from_file("frontier.wat");
    let misfit = "F: what is stored does not fit the program: after";
    let damaged = "F is damaged and is not used: item 1 of 1:";
    for (strategy, from, to, error) in [
        (
            "dfs",
            r#""depth":2"#,
            r#""depth":5"#,
            format!("{damaged} its states are not in the order of their depths"),
        ),
        (
            "dpor",
            r#""depth":9"#,
            r#""depth":10"#,
            format!("{damaged} its last state is not at the end of its prefix"),
        ),
        (
            "dfs",
            r#"[{"Pick":{"Step":0}}"#,
            r#"[{"Pick":{"Step":7}}"#,
            format!("{misfit} 0 decisions, worker 7 cannot go on"),
        ),
        ("dpor", r#"{"Value":1}"#, r#"{"Value":2}"#, format!("{misfit} 7 decisions, 2 is not below 2")),
        (
            "dpor",
            r#"{"Value":1}"#,
            r#"{"Pick":{"Step":1}}"#,
            format!("{misfit} 7 decisions, a value is asked for, not a pick"),
        ),
        (
            "dpor",
            r#"[{"Pick":{"Step":0}}"#,
            r#"[{"Pick":{"Timeout":0}}"#,
            format!("{misfit} 0 decisions, no timeout of worker 0 can fire"),
        ),
        (
            "dpor",
            r#"[{"Pick":{"Step":0}}"#,
            r#"[{"Value":0}"#,
            format!("{misfit} 0 decisions, nobody asks for a value"),
        ),
        (
            "dpor",
            r#""tried":[{"pick":{"Step":1}"#,
            r#""tried":[{"pick":{"Step":5}"#,
            format!("{misfit} 5 decisions, there is no worker 5 that was tried"),
        ),
        (
            "dpor",
            r#""todo":[{"Pick":{"Step":2}}]"#,
            r#""todo":[{"Pick":{"Step":1}}]"#,
            format!("{misfit} 4 decisions, what the path goes on with is still to be tried"),
        ),
    ] {
        let (_, text, _) = VERSION_1.into_iter().find(|known| known.0 == strategy).unwrap();
        let position = text.find(from).unwrap_or_else(|| panic!("{strategy} has no {from}"));
        let text = [&text[..position], to, &text[position + from.len()..]].concat();
        assert_eq!(changed(&artifact, strategy, &text), Err(error), "{strategy}: {from} to {to}");
    }
}

/// Every number of version 1 replaced: most are refused, and the others are reported as unprotected. Nothing
/// panics, and nothing is explored without end.
#[test]
fn no_number_of_version_1_leads_to_a_panic() {
    let artifact = guest::from_file("frontier.wat");
    let (mut refused, mut explored) = (0, 0);
    for (strategy, text, _) in VERSION_1 {
        let items = text.find("\"items\"").unwrap();
        let digits = |byte: u8| byte.is_ascii_digit();
        let mut at = items;
        while let Some(start) = text.as_bytes()[at..].iter().position(|b| digits(*b)).map(|i| at + i) {
            let length = text.as_bytes()[start..].iter().take_while(|b| digits(**b)).count();
            at = start + length;
            for new in ["0", "1", "3", "12", "4294967295", "18446744073709551615", "-1"] {
                match changed(&artifact, strategy, &[&text[..start], new, &text[at..]].concat()) {
                    Ok(_) => explored += 1,
                    Err(error) => {
                        assert!(
                            !error.contains("bug in coyote-wasm"),
                            "{strategy}: {new} at {start}: {error}"
                        );
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > explored, "{refused} refused, {explored} explored");
}

#[test]
fn the_command_refuses_what_is_damaged_or_of_something_else() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let module = super::guest::wat_file("frontier.wat");
    let base = ["test", module.to_str().unwrap(), "--test", "correct", "--seed", "0", "-j", "1"];
    let run = |arguments: &[&str]| process::run(at, &[&base[..], arguments].concat());
    assert_eq!(run(&["-s", "dfs", "-i", "100"]).code, Some(0));
    let frontier = at.join("coyote-output/frontier-correct.frontier");
    let bytes = std::fs::read(&frontier).unwrap();
    for (how, damaged) in damages(&bytes).step_by(bytes.len() / 2) {
        let file = at.join("damaged.frontier");
        std::fs::write(&file, &damaged).unwrap();
        if damaged == bytes {
            continue;
        }
        let ended = run(&["-s", "dfs", "--resume", "damaged.frontier"]);
        assert_eq!(ended.code, Some(1), "{how}: {ended:?}");
        assert!(!ended.stdout.contains("explored"), "{how}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{how}: {ended:?}");
    }
    let frontier = frontier.to_str().unwrap();
    for (arguments, what) in [
        (&["-s", "dpor"][..], "another strategy: it says dfs, this run dpor"),
        (&["-s", "dfs", "--seed", "1"], "another seed: it says 0, this run 1"),
        (&["-s", "dfs", "--max-steps", "9"], "another set of options: it says "),
        (&["-s", "dfs", "--test", "wrong"], "another test: "),
    ] {
        let base =
            &base[..if arguments.contains(&"--seed") || arguments.contains(&"--test") { 2 } else { 6 }];
        let test = if arguments.contains(&"--seed") { &["--test", "correct"][..] } else { &[] };
        let seed = if arguments.contains(&"--test") { &["--seed", "0"][..] } else { &[] };
        let all = [base, test, seed, arguments, &["--resume", frontier]].concat();
        let ended = process::run(at, &all);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains(what), "{what}: {ended:?}");
        // Options that are equal are not named.
        assert!(!ended.stderr.contains("points="), "{ended:?}");
    }
}

/// A process that is killed leaves a frontier, and a run that continues with it reaches the same number.
#[cfg(unix)]
#[test]
fn a_killed_search_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let module = module_path("counts");
    let slow = ["test", module.to_str().unwrap(), "--test", "rmw_3x4", "-s", "delay-bounding", "--seed", "0"];
    let mut child =
        process::command(&process::cache(), at, &[&slow[..], &["-t", "600"]].concat()).spawn().unwrap();
    let frontier = at.join("coyote-output/counts-rmw_3x4.frontier");
    for _ in 0..12_000 {
        if frontier.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = Frontier::read(&frontier).unwrap();
    assert!(left.done.counts.executions > 0 && !left.work.items.is_empty());
    let files: Vec<_> =
        std::fs::read_dir(at.join("coyote-output")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files.len(), 1, "no partial files: {files:?}");
    // It belongs to this search, and another run continues with it.
    let resume = ["--resume", frontier.to_str().unwrap(), "-i"];
    let more = (left.done.counts.executions + 1_000).to_string();
    let ended = process::run(at, &[&slow[..], &resume, &[&more]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("executions were explored before"), "{ended:?}");
}

/// Keeps every frontier that is written during a search.
struct Copies {
    path: PathBuf,
    copies: Mutex<Vec<Vec<u8>>>,
}

impl Watch for Copies {
    fn progress(&self, _: u64, _: u64) {
        let mut copies = self.copies.lock().unwrap();
        if let Ok(bytes) = std::fs::read(&self.path)
            && copies.last() != Some(&bytes)
        {
            copies.push(bytes);
        }
    }
}

/// All schedules of this test of `counts`.
const CHECKPOINTED: (&str, u64) = ("rmw_2x8", 184_755);

/// A frontier written during a search with several jobs, together with the counts until then, is the whole
/// search.
#[test]
fn checkpoints_lose_and_repeat_nothing() {
    let artifact = artifact_for("counts", "dpor");
    let test = guest::find(&artifact, CHECKPOINTED.0);
    let directory = tempfile::tempdir().unwrap();
    let settings = guest::settings();
    let plan = Plan {
        artifact: &artifact,
        test: &test,
        settings: &settings,
        seed: 0,
        budget: budget(u64::MAX, 3),
        trace_stem: directory.path().join("trace"),
    };
    let watch = Copies { path: directory.path().join("trace.frontier"), copies: Mutex::default() };
    let go_on = |resume, watch: &dyn Watch| {
        let exploration = search::explore(&plan, "dfs", resume, &AtomicBool::new(false), watch).unwrap();
        searched(exploration).counts.executions
    };
    let whole = go_on(None, &watch);
    assert_eq!(whole, CHECKPOINTED.1);
    assert!(!watch.path.exists(), "nothing is left");
    let copies = watch.copies.into_inner().unwrap();
    let frontier = Frontier::parse(&watch.path, copies.last().expect("it takes a second")).unwrap();
    let before = frontier.done.counts.executions;
    assert!(before > 0 && before < whole);
    assert_eq!(go_on(Some(frontier), &Unwatched), whole, "stopped at {before}");
}

/// The command says what is in files, and ends with 1 if one of them is damaged.
#[test]
fn the_command_says_what_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    std::fs::copy(guest::root().join("examples/wasm/counts.wasm"), place.join("counts.wasm")).unwrap();
    let searched =
        process::run(place, &["test", "counts.wasm", "--test", "rmw_2x8", "-s", "dpor", "-i", "50"]);
    assert_eq!(searched.code, Some(0), "{searched:?}");
    let path = "coyote-output/counts-rmw_2x8.frontier";
    let bytes = std::fs::read(place.join(path)).unwrap();
    let whole = Frontier::parse(Path::new(path), &bytes).unwrap();
    let told = process::run(place, &["frontier", path]);
    let items = if whole.work.items.len() == 1 { "item" } else { "items" };
    for said in [
        format!(". {path}: whole; {} {items}", whole.work.items.len()),
        format!("... Before: {} executions, 0 with a bug", whole.done.counts.executions),
        format!("--test rmw_2x8 --strategy dpor --seed {} --resume {path}`", whole.seed()),
    ] {
        assert!(told.code == Some(0) && told.stdout.contains(&said), "{said}\n{told:?}");
    }
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    std::fs::write(place.join("damaged"), damaged).unwrap();
    let told = process::run(place, &["frontier", "damaged", path, "absent"]);
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stdout.starts_with(&format!(". {path}: whole; ")), "{told:?}");
    for error in ["damaged is damaged and is not used: its checksum does not match", "cannot read absent"] {
        assert!(told.stderr.contains(error), "{told:?}");
    }
}
