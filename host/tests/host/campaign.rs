//! Campaigns: units in processes that share a directory and are killed at any time.

use super::guest;
use super::process::{self, Ended};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const TEST: [&str; 8] = ["racy_counter.wasm", "-i", "90", "--explore", "--seed", "5", "-s", "pct:2"];
const PLAIN: [&str; 4] = ["--no-shrink", "--no-experiments", "--format", "json"];

fn place() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let module = guest::root().join("examples/wasm/racy_counter.wasm");
    std::fs::copy(module, directory.path().join("racy_counter.wasm")).unwrap();
    directory
}

/// A report as JSON without times and paths of the module.
fn timeless(ended: &Ended) -> String {
    let text = ended.stdout.replace("c/racy_counter.wasm", "racy_counter.wasm");
    let lines = text.lines().filter(|line| !line.contains("\"elapsed_seconds\""));
    lines.map(|line| format!("{line}\n")).collect()
}

fn new(directory: &Path, units: &str) {
    let line = [&["campaign", "new", "c", "--units", units], &TEST[..], &PLAIN[..2]].concat();
    let ended = process::run(directory, &line);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

fn check_report(directory: &Path) {
    let single = process::run(directory, &[&["test"], &TEST[..], &PLAIN[..]].concat());
    // The options for bugs are those of the campaign.
    let report = process::run(directory, &[&["campaign", "report", "c"], &PLAIN[2..]].concat());
    assert_eq!((timeless(&report), report.code), (timeless(&single), single.code), "{report:?}");
    assert_eq!(single.code, Some(2));
}

/// Starts a worker whose processes can be killed together.
#[cfg(unix)]
fn worker(directory: &Path) -> Child {
    use std::os::unix::process::CommandExt;
    let mut command = process::command(&process::cache(), directory, &["campaign", "work", "c", "-j", "1"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command.process_group(0).spawn().unwrap()
}

/// Workers are killed at random times, alone or with the process that executes their unit; others continue.
/// Every iteration is counted once.
#[cfg(unix)]
#[test]
fn workers_that_are_killed() {
    let directory = place();
    let directory = directory.path();
    new(directory, "45");
    let mut rng = ChoiceRng::new(Iteration { seed: 1, index: 0 });
    let (mut workers, mut killed) = (vec![worker(directory), worker(directory)], 0);
    let started = Instant::now();
    while workers.iter_mut().all(|worker| worker.try_wait().unwrap().is_none()) {
        assert!(started.elapsed() < Duration::from_secs(300), "the campaign does not end");
        std::thread::sleep(Duration::from_millis(20 + rng.below(100)));
        if killed == 8 {
            continue;
        }
        let at = rng.below(2) as usize;
        // Killed by its number; in every other case together with the process of its unit.
        let pid = workers[at].id();
        let target = if rng.below(2) == 0 { format!("-{pid}") } else { pid.to_string() };
        let status = std::process::Command::new("kill").args(["-KILL", "--", &target]).status().unwrap();
        killed += u32::from(status.success());
        workers[at].wait().unwrap();
        workers[at] = worker(directory);
    }
    for mut worker in workers {
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    }
    assert!(killed > 2, "{killed}");
    let status = process::run(directory, &["campaign", "status", "c"]);
    assert_eq!((status.code, &*status.stdout), (Some(0), ". c: 45 of 45 units done, 0 at work, 0 open\n"));
    let failed = std::fs::read_dir(directory.join("c/failed")).unwrap().count();
    assert_eq!(failed, 0);
    check_report(directory);
}

/// Both signals that ask a process to end leave the unit open.
#[cfg(unix)]
#[test]
fn units_end_when_they_are_asked_to() {
    for signal in ["-INT", "-TERM"] {
        let directory = place();
        let directory = directory.path();
        let line = ["campaign", "new", "c", "--units", "1", "racy_counter.wasm", "--test", "locked"];
        let ended = process::run(directory, &[&line[..], &["-i", "1000000000"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let mut worker = worker(directory);
        let status = || process::run(directory, &["campaign", "status", "c"]).stdout;
        let started = Instant::now();
        while !status().contains("1 at work") {
            assert!(started.elapsed() < Duration::from_secs(120), "{}", status());
            std::thread::sleep(Duration::from_millis(50));
        }
        let pid = worker.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(worker.wait().unwrap().code(), Some(75), "{signal}");
        assert_eq!(status(), ". c: 0 of 1 unit done, 0 at work, 1 open\n");
    }
}

/// Ctrl-C leaves a unit open, and its exit code asks to start the worker again. A worker that has done its
/// share ends.
#[cfg(unix)]
#[test]
fn workers_that_are_asked_to_end() {
    let directory = place();
    let directory = directory.path();
    new(directory, "3");
    let mut worker = worker(directory);
    std::thread::sleep(Duration::from_millis(100));
    let pid = worker.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    // Unless it had finished already, or did not handle the signal yet.
    assert!(matches!(worker.wait().unwrap().code(), Some(75 | 0) | None));
    let part = process::run(directory, &["campaign", "work", "c", "--units-max", "1"]);
    assert_eq!(part.code, Some(0), "{part:?}");
    let ended = process::run(directory, &["campaign", "work", "c"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_report(directory);
}

/// Errors are reported once; a unit at which processes fail is skipped, and a damaged result is named.
#[test]
fn what_goes_wrong() {
    let directory = place();
    let directory = directory.path();
    let said = |arguments: &[&str]| {
        let ended = process::run(directory, arguments);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        ended.stderr
    };
    assert!(
        said(&["campaign", "work", "."]).contains(". is no campaign: `coyote-wasm campaign new` makes one")
    );
    let timeout = said(&["campaign", "new", "c", "--units", "2", "racy_counter.wasm", "-t", "3"]);
    assert!(timeout.contains("cannot be used with"), "{timeout}");
    new(directory, "3");
    assert!(
        said(&[&["campaign", "new", "c", "--units", "3"], &TEST[..]].concat())
            .contains("is a campaign already")
    );
    let early = process::run(directory, &["campaign", "report", "c"]);
    assert_eq!((early.code, &*early.stdout), (Some(6), ". c: no unit is done yet\n"), "{early:?}");
    std::fs::write(directory.join("c/failed/2"), "a\nb\nsignal: 9\n").unwrap();
    let ended = process::run(directory, &["campaign", "work", "c"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let status = process::run(directory, &["campaign", "status", "c"]);
    let text = ". c: 2 of 3 units done, 0 at work, 0 open\n... Unit 2 was given up after 3 failures, the \
                last with signal: 9\n";
    assert_eq!((status.code, &*status.stdout), (Some(6), text));
    std::fs::remove_file(directory.join("c/failed/2")).unwrap();
    let path = directory.join("c/results/1.result");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let damaged = said(&["campaign", "report", "c"]);
    assert!(damaged.contains("1.result is damaged") && damaged.contains("remove it"), "{damaged}");
    std::fs::remove_file(&path).unwrap();
    let ended = process::run(directory, &["campaign", "work", "c"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_report(directory);
    // What units would refuse makes no campaign.
    for (options, why) in [
        (&["-s", "dpor"][..], "dpor is a search, whose executions have no numbers"),
        (&["-s", "q-learning"], "q-learning learns from one iteration for the next"),
        (&["--dir", "."], "cannot be divided; give --preload instead"),
        (&["--jobs", "2"], "--jobs: give it to `coyote-wasm campaign work`"),
        (&["-i", "1"], "1 iterations are too few for this number of parts"),
    ] {
        let line = [&["campaign", "new", "d", "--units", "2", "racy_counter.wasm"], options].concat();
        let refused = said(&line);
        assert!(refused.contains(why), "{refused}");
        assert!(!directory.join("d").exists(), "{options:?}");
    }
    // What they refuse in the end is said once, too.
    std::fs::write(directory.join("none.wasm"), "no module").unwrap();
    assert_eq!(process::run(directory, &["campaign", "new", "d", "--units", "2", "none.wasm"]).code, Some(0));
    let refused = said(&["campaign", "work", "d"]);
    assert!(refused.starts_with("error: unit ") && refused.contains("none.wasm"), "{refused}");
}
