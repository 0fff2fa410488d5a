//! Tests with tokio as it is published, from `examples/tokio`, built by `cargo coyote`: bugs that need
//! another order of polls, of branches or of a map are found by default, and correct programs pass.
//!
//! The crate is built here. If its dependencies or the target cannot be installed, these tests print a
//! message and pass.

use super::guest::scaled;
use super::process::{self, Ended};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// `cargo coyote test` in the example's directory.
fn cargo_coyote(arguments: &[&str]) -> Ended {
    process::cargo_coyote("tokio", arguments)
}

fn is_built() -> bool {
    static BUILT: OnceLock<bool> = OnceLock::new();
    *BUILT.get_or_init(|| process::is_built("tokio"))
}

fn run(arguments: &[&str]) -> BTreeMap<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let ended = cargo_coyote(
        &[arguments, &["--seed", "0", "--no-shrink", "--no-experiments", "-o", outdir]].concat(),
    );
    let results = process::results(&ended);
    assert!(!results.is_empty(), "{ended:?}");
    results
}

#[test]
fn mistakes_of_order_are_found_by_defaults() {
    if !is_built() {
        return;
    }
    let results = run(&["--no-fail-fast", "--test", "orders", "--", "broken::", "--timeout", "60"]);
    assert_eq!(results.len(), 9, "{results:?}");
    for (name, result) in results {
        assert_eq!(result, "FAILED", "{name}");
    }
}

/// They pass, and the order of polls was a choice in each of them.
#[test]
fn corrected_programs_pass() {
    if !is_built() {
        return;
    }
    let results = run(&["--test", "orders", "--", "correct::", "-i", "200"]);
    assert_eq!(results.len(), 7, "{results:?}");
    for (name, result) in results {
        assert!(result.starts_with("ok (200 schedules, "), "{name}: {result}");
    }
}

/// With tokio's feature `net`, runtimes wait in its driver, which other threads wake: no timeout fires before its time, and
/// what nobody wakes is a deadlock.
#[test]
fn drivers_are_woken() {
    if !is_built() {
        return;
    }
    // When soaking, also without optimisations in tokio.
    let builds = [&[][..], &["--config", "profile.dev.package.tokio.opt-level=0"]];
    let builds = &builds[..scaled(1, 2)];
    let net = ["--no-fail-fast", "--features", "net", "--test", "net"];
    for built in builds {
        let results = run(&[&net[..], built, &["--", "correct::", "-i", "200"]].concat());
        assert_eq!(results.len(), 5, "{results:?}");
        // An unfair schedule may come to the bound on steps: which one depends on the names of the build.
        let ended = ["ok (200 schedules, 0 unfinished", "ok (200 schedules, 1 unfinished"];
        for (name, result) in results {
            assert!(ended.iter().any(|ended| result.starts_with(ended)), "{name}: {result}");
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let outdir = ["--seed", "0", "--no-shrink", "--no-experiments", "-o", directory.path().to_str().unwrap()];
    for built in builds {
        let ended =
            cargo_coyote(&[&net[..], built, &["--", "broken::", "--timeout", "60"], &outdir].concat());
        let results = process::results(&ended);
        assert_eq!(results.len(), 2, "{ended:?}");
        for (name, result) in results {
            assert_eq!(result, "FAILED", "{name}");
        }
        let waits = "waits for a wake-up of its driver, and nobody is left to wake it";
        assert_eq!(ended.stdout.matches(waits).count(), 2, "{ended:?}");
    }
}

/// A test that spins without a second thread is cut off when its time is over, unless it was shown by then that it has no
/// end.
#[test]
fn a_worker_alone_is_cut_off() {
    if !is_built() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outdir = ["--seed", "0", "--no-shrink", "--no-experiments", "-o", directory.path().to_str().unwrap()];
    let spins = ["--features", "net", "--test", "net", "--", "alone::", "--timeout", "1"];
    let ended = cargo_coyote(&[&spins[..], &outdir].concat());
    let results = process::results(&ended);
    assert_eq!(results.len(), 1, "{ended:?}");
    let proved = ended.stdout.contains("livelock: 1 worker spins for ever");
    let right =
        |result: &String| result.starts_with("inconclusive") && !proved || result == "FAILED" && proved;
    assert!(results.values().all(right), "{ended:?}");
}

/// The report of a deadlock of tasks says where each task waits, and where none waits any more it says nothing.
#[test]
fn it_is_told_where_tasks_wait() {
    if !is_built() {
        return;
    }
    let source = include_str!("../../../examples/tokio/tests/waits.rs");
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let build = ["--no-fail-fast", "--test", "waits"];
    let options = ["--", "--seed", "0", "--no-shrink", "--no-experiments", "-o", outdir];
    let ended = cargo_coyote(&[&build[..], &options].concat());
    assert_eq!(process::results(&ended).len(), 4, "{ended:?}");
    for test in ["kept_sender", "opposite_orders", "only_the_living", "on_threads"] {
        let mark = format!("// {test}");
        let lines = source.lines().zip(1..).filter(|(line, _)| line.ends_with(&mark));
        let marked: BTreeSet<String> = lines.map(|(_, line)| line.to_string()).collect();
        let (_, report) = ended.stdout.split_once(&format!("---- {test} ----")).expect(test);
        let report = report.split("----").next().unwrap();
        let told = report.lines().filter_map(|line| {
            let (begins, rest) = line.split_once("(waits.rs:")?.1.split_once(") wait")?;
            let at = rest.split_once(" at waits.rs:").map_or(begins, |(_, at)| at);
            Some(at.split([' ', ':']).next()?.to_string())
        });
        assert_eq!(told.collect::<BTreeSet<_>>(), marked, "{test}: {report}");
        let many = report.contains(" tasks of `");
        assert_eq!(many, test == "on_threads" && report.contains("3 tasks of `on_threads`"), "{report}");
    }
}

/// The rows of the story in a report: the column of each, and its text.
fn rows(report: &str) -> Vec<(usize, String)> {
    let after_head = report.lines().skip_while(|line| !line.trim_start().starts_with("step  "));
    let rows = after_head.skip(1).take_while(|line| !line.trim().is_empty());
    let row = |line: &str| {
        let cells: Vec<&str> = line[9..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let column = cells.iter().take_while(|cell| **cell == ".").count();
        (column, cells[column].to_string())
    };
    rows.map(row).collect()
}

/// Tasks that share a thread are told by what they do, each in a column of its own, by any seed.
#[test]
fn stories_tell_what_tasks_do() {
    if !is_built() {
        return;
    }
    // Column 0 is the worker with the test's own future.
    let told: [(&str, &[(usize, &str)]); 5] = [
        (
            "aborted",
            &[
                (1, "copy.acquire().await.unwrap().forget();"),
                (1, "suspends: yield_now().await;"),
                (0, "holder.abort();"),
                (1, "is dropped while it waits: yield_now().await;"),
                (0, "panics"),
            ],
        ),
        (
            "cancelled",
            &[
                (0, "suspends: let first = inbox.recv().await.unwrap();"),
                (1, "suspends: tokio::time::sleep(Duration::from_millis(10)).await;"),
                (0, "suspends: let second = inbox.recv().await.unwrap();"),
                (0, "its time is up"),
                (0, "is dropped while it waits: let second = inbox.recv().await.unwrap();"),
                (0, "panics"),
            ],
        ),
        (
            "lost_notification",
            &[
                (1, "if !ready2.get() {"),
                (1, "suspends: yield_now().await;"),
                (2, "ready.set(true);"),
                (2, "notify.notify_waiters();"),
                (2, "ends"),
                (0, "suspends: setter.await.unwrap();"),
                (1, "suspends: notify2.notified().await;"),
            ],
        ),
        (
            "lost_update",
            &[
                (1, "let before = balance.load(SeqCst);"),
                (1, "suspends: yield_now().await;"),
                (2, "let before = balance.load(SeqCst);"),
                (2, "suspends: yield_now().await;"),
                (0, "panics"),
            ],
        ),
        (
            "opposite_orders",
            &[
                (1, "let first = a2.lock().await;"),
                (1, "suspends: yield_now().await;"),
                (2, "let second = b.lock().await;"),
                (2, "suspends: yield_now().await;"),
            ],
        ),
    ];
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let build = ["--no-fail-fast", "--test", "tells"];
    for seed in ["0", "7"] {
        let options = ["--", "--seed", seed, "--no-shrink", "--no-experiments", "--faults", "poll=0"];
        let others = ["--skip", "random_walks", "-o", outdir];
        let ended = cargo_coyote(&[&build[..], &options, &others].concat());
        assert_eq!(process::results(&ended).len(), told.len(), "{ended:?}");
        for (test, wanted) in &told {
            let (_, report) = ended.stdout.split_once(&format!("---- {test} ----")).expect(test);
            let rows = rows(report.split("----").next().unwrap());
            let mut left = rows.iter();
            for (column, text) in *wanted {
                let is_it = |row: &(usize, String)| row.0 == *column && row.1.starts_with(text);
                assert!(left.any(is_it), "{test}: no row {column} {text:?} in order in {rows:#?}");
            }
            assert!(
                rows.len() <= 15 && rows.iter().any(|row| row.1.starts_with("spawns task :")),
                "{rows:#?}"
            );
        }
    }
}

/// What tasks print of their polls is what stories tell of them: where each suspends, and that it is dropped there.
#[test]
fn stories_tell_of_polls_what_tasks_print() {
    if !is_built() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let build = ["--test", "tells"];
    let (mut compared, mut drops) = (0, 0);
    for seed in 0..scaled(12, 200) {
        let seed = seed.to_string();
        let options = ["--", "random_walks", "--seed", &seed, "--no-shrink", "--no-experiments"];
        let others = ["--timeout", "60", "--format", "json", "-o", outdir];
        let ended = cargo_coyote(&[&build[..], &options, &others].concat());
        let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
        let bug = &report["tests"][0]["bugs"][0];
        let story = &bug["story"];
        if story["left_out"] != 0 {
            continue;
        }
        // Tasks have numbers in the order of their first polls.
        let mut order: Vec<&str> = Vec::new();
        let mut stops: BTreeMap<&str, u32> = BTreeMap::new();
        let mut printed: Vec<(usize, String)> = Vec::new();
        for line in bug["output"].as_array().unwrap() {
            let words: Vec<&str> = line["text"].as_str().unwrap().split(' ').collect();
            let ["told", name, what] = words[..] else { continue };
            if let Ok(stop) = what.parse::<u32>() {
                stops.insert(name, stop);
                continue;
            }
            if !order.contains(&name) && what != "dropped" {
                order.push(name);
            }
            let Some(task) = order.iter().position(|other| *other == name) else { continue };
            let stop = stops.get(name).copied().unwrap_or_default();
            let event = (task + 1, format!("{what} {stop}"));
            let again = printed.iter().rfind(|(other, _)| *other == event.0) == Some(&event);
            if what != "ends" && !again {
                drops += usize::from(what == "dropped");
                printed.push(event);
            }
        }
        let number = |row: &Value| {
            let name = story["workers"][row["worker"].as_u64().unwrap() as usize]["name"].as_str().unwrap();
            if name.starts_with("task ") {
                Some(name.split_once('#').map_or(1, |(_, number)| number.parse().unwrap()))
            } else {
                None
            }
        };
        let told = story["rows"].as_array().unwrap().iter().filter_map(|row| {
            let (text, task) = (row["text"].as_str().unwrap(), number(row)?);
            let stop = text.split_once("// stop ").map(|(_, stop)| &stop[..1]);
            let what = match text {
                text if text.contains("is dropped while it waits: ") => "dropped",
                text if text.contains("suspends: ") => "suspends",
                _ => return None,
            };
            Some((task, format!("{what} {}", stop.unwrap_or("nowhere"))))
        });
        assert_eq!(told.collect::<Vec<(usize, String)>>(), printed, "seed {seed}: {bug:#}");
        compared += 1;
    }
    assert!(compared >= 6 && drops >= 2, "{compared} stories with {drops} drops");
}

/// If the user says that polls are not postponed and random bytes do not vary, tokio has only one order.
#[test]
fn without_choices_there_is_one_order() {
    if !is_built() {
        return;
    }
    let fixed = ["--faults", "poll=0", "--random", "0", "-i", "200"];
    let tests = [
        "guard_held_over_await",
        "notification_is_lost",
        "permit_leaks_on_abort",
        "select_loses_what_it_cancels",
    ];
    for test in tests.map(|test| format!("broken::{test}")) {
        for options in [&fixed[..], &["-s", "dpor"], &["-s", "stateful"], &["-s", "dfs"]] {
            let results = run(&[&["--test", "orders", "--", &test, "--exact"], options].concat());
            assert_eq!(results[&test], "ok (one worker)", "{test} {options:?}");
        }
    }
    // The report says what was not varied.
    let said = |options: &[&str]| {
        let test = ["--test", "orders", "--", "broken::select_loses_what_it_cancels", "--exact"];
        cargo_coyote(&[&test[..], options].concat()).stdout
    };
    let order = "note: Tasks were polled in tokio's own order alone, which tokio does not promise: try --faults poll=3.";
    let random = "note: The guest asked for random bytes and got the same in every iteration";
    for options in [&fixed[..], &["-s", "dpor"]] {
        let said = said(options);
        assert!(said.contains(order) && said.contains(random), "{options:?}: {said}");
    }
    let varied = said(&["-i", "200", "--no-shrink"]);
    assert!(!varied.contains("own order"), "{varied}");
    let proved = said(&["-s", "dpor", "--faults", "poll=1", "--format", "json"]);
    assert!(!proved.contains("tasks polled in"), "{proved}");
    let fixed = said(&["-s", "dpor", "--format", "json"]);
    assert!(fixed.contains("\"tasks polled in tokio's own order\""), "{fixed}");
    assert!(fixed.contains("\"the same random bytes in every execution\""), "{fixed}");
    assert!(!fixed.contains("All 1 execution"), "{fixed}");
}

/// A poll that is postponed has begun for tokio. Where the program asks how many there were, none is by default.
#[test]
fn counts_of_polls_are_those_of_tokio() {
    if !is_built() {
        return;
    }
    let test = ["--test", "counts", "--", "each_task_is_scheduled_once", "-i", "200"];
    let results = run(&test);
    assert!(results["each_task_is_scheduled_once"].starts_with("ok ("), "{results:?}");
    let results = run(&[&test[..], &["--faults", "poll=3"]].concat());
    assert_eq!(results["each_task_is_scheduled_once"], "FAILED");
}

/// The parts of tokio that docs/tokio.md lists as working do work.
#[test]
fn parts_of_tokio_work() {
    if !is_built() {
        return;
    }
    let results = run(&["--no-fail-fast", "--test", "parts", "--", "-i", "200"]);
    assert_eq!(results.len(), 12, "{results:?}");
    for (name, result) in results {
        assert!(result.starts_with("ok ("), "{name}: {result}");
    }
}
