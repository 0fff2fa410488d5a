//! Campaigns: units in processes that share a directory and are killed at any time.

use super::guest;
use super::process::{self, Ended};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::units::SearchUnit;
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

/// Lets two workers execute a campaign, kills each of them some times, and starts others. A pause between that has
/// at most `longest` milliseconds more than 20.
#[cfg(unix)]
fn work_while_workers_are_killed(directory: &Path, seed: u64, longest: u64) {
    let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
    let (mut workers, mut killed) = (vec![worker(directory), worker(directory)], 0);
    let started = Instant::now();
    while workers.iter_mut().all(|worker| worker.try_wait().unwrap().is_none()) {
        assert!(started.elapsed() < Duration::from_secs(300), "the campaign does not end");
        std::thread::sleep(Duration::from_millis(20 + rng.below(longest)));
        if killed == 8 {
            continue;
        }
        let at = rng.below(2) as usize;
        // In every other case, together with the process of its unit.
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
}

/// Workers are killed at random times, alone or with the process that executes their unit; others continue.
/// Every iteration is counted once.
#[cfg(unix)]
#[test]
fn workers_that_are_killed() {
    let directory = place();
    let directory = directory.path();
    new(directory, "45");
    work_while_workers_are_killed(directory, 1, 100);
    let status = process::run(directory, &["campaign", "status", "c"]);
    assert_eq!(status.code, Some(0));
    let told = [
        ". c: 45 of 45 units done, 0 at work, 0 open\n... 273 iterations; ",
        " with a bug, 2 different bugs",
    ];
    assert!(told.iter().all(|part| status.stdout.contains(part)), "{}", status.stdout);
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
    assert_eq!(status.code, Some(6));
    assert!(
        status.stdout.starts_with(". c: 2 of 3 units done, 0 at work, 0 open\n... 183 iterations; "),
        "{status:?}"
    );
    let given_up = "... Unit 2 was given up after 3 failures, the last with signal: 9\n";
    assert!(status.stdout.ends_with(given_up), "{status:?}");
    // There is nothing to wait for.
    let watched = process::run(directory, &["campaign", "status", "c", "--watch"]);
    assert!(watched.stdout.ends_with(given_up), "{watched:?}");
    std::fs::remove_file(directory.join("c/failed/2")).unwrap();
    let path = directory.join("c/results/1.result");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[50] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let status = process::run(directory, &["campaign", "status", "c"]);
    assert!(status.stdout.contains("... c/results/1.result is damaged and is not used"), "{status:?}");
    let damaged = said(&["campaign", "report", "c"]);
    assert!(damaged.contains("1.result is damaged") && damaged.contains("remove it"), "{damaged}");
    std::fs::remove_file(&path).unwrap();
    let ended = process::run(directory, &["campaign", "work", "c"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_report(directory);
    // Neither another module nor a changed campaign is executed.
    for (file, why) in [("racy_counter.wasm", "is not the module"), ("campaign.json", "is damaged")] {
        let path = directory.join("c").join(file);
        let whole = std::fs::read(&path).unwrap();
        let mut changed = whole.clone();
        *changed.iter_mut().rfind(|byte| byte.is_ascii_digit()).unwrap() ^= 1;
        std::fs::write(&path, changed).unwrap();
        for command in ["plan", "work", "status", "report"] {
            let stderr = said(&["campaign", command, "c"]);
            assert!(stderr.contains(&format!("c/{file} {why}")), "{command}: {stderr}");
        }
        std::fs::write(&path, whole).unwrap();
    }
    // What units would refuse makes no campaign.
    for (options, why) in [
        (
            &["-s", "ses"][..],
            "ses cannot be divided into units, since it remembers what it has seen within a bound",
        ),
        (&["-s", "delay-bounding+hb"], "delay-bounding+hb cannot be divided into units"),
        (&["-s", "dpor", "-i", "5"], "--iterations: a campaign of a search begins at the start"),
        (&["-s", "dpor", "-t", "5"], "--timeout: a campaign of a search"),
        (&["-s", "dpor", "--resume", "f"], "--resume: a campaign of a search"),
        (&["-s", "dpor", "--unit-steps", "5"], "--unit-steps: give it before the module"),
        (&["-s", "q-learning"], "give --island N, and it begins anew every N iterations"),
        (&["--dir", "."], "cannot be divided; give --preload instead"),
        (&["-s", "dpor", "--dir", "."], "cannot be divided; give --preload instead"),
        (&["--jobs", "2"], "--jobs: give it to `coyote-wasm campaign work`"),
        (&["--test-threads", "2"], "--test-threads: give --jobs to `coyote-wasm campaign work`"),
        (&["--format", "json"], "--format: give it to `coyote-wasm campaign report`"),
        (&["-s", "dpor", "--page"], "--page: give it to `coyote-wasm campaign report`"),
        (&["-o", "out"], "--outdir: give it to `coyote-wasm campaign report`"),
        (&["--quiet"], "--quiet: give it to `coyote-wasm campaign report`"),
        (&["--list"], "--list: run `coyote-wasm test` with it"),
        (&["-s", "dfs", "--regressions", "kept"], "--regressions: a campaign tries no kept traces"),
        (&["-i", "1"], "1 iterations are too few for this number of parts"),
        (&["--test", "nope"], "--test nope: racy_counter.wasm has no such test"),
    ] {
        let line = [&["campaign", "new", "d", "--units", "2", "racy_counter.wasm"], options].concat();
        let refused = said(&line);
        assert!(refused.contains(why), "{refused}");
        assert!(!directory.join("d").exists(), "{options:?}");
    }
    let sampled = ["campaign", "new", "d", "--units", "2", "--unit-steps", "5", "racy_counter.wasm"];
    assert!(said(&sampled).contains("--unit-steps 5: only searches have it"));
    std::fs::write(directory.join("none.wasm"), "no module").unwrap();
    let refused = said(&["campaign", "new", "d", "--units", "2", "none.wasm"]);
    assert!(refused.contains("none.wasm") && !directory.join("d").exists(), "{refused}");
    // What they refuse in the end is said once, too.
    std::fs::create_dir(directory.join("data")).unwrap();
    let new = ["campaign", "new", "d", "--units", "2", "racy_counter.wasm", "--preload", "data"];
    assert_eq!(process::run(directory, &new).code, Some(0));
    std::fs::remove_dir(directory.join("data")).unwrap();
    let refused = said(&["campaign", "work", "d"]);
    assert!(refused.starts_with("error: unit ") && refused.contains("data"), "{refused}");
}

/// A campaign of a search: its module and its options.
struct Searched<'a> {
    module: &'a str,
    options: &'a [&'a str],
    units: &'a str,
    steps: &'a str,
}

impl Searched<'_> {
    /// The campaign, of which nothing is executed yet, and the report of a search in one process.
    fn begin(&self) -> (tempfile::TempDir, Ended) {
        let directory = tempfile::tempdir().unwrap();
        let module = guest::root().join(self.module);
        let name = module.file_name().unwrap().to_str().unwrap();
        std::fs::copy(&module, directory.path().join(name)).unwrap();
        let alone =
            [&["test", name], self.options, &PLAIN, &["-j", "1", "--seed", "0", "-t", "300"]].concat();
        let alone = process::run(directory.path(), &alone);
        let new = ["campaign", "new", "c", "--units", self.units, "--unit-steps", self.steps, name];
        let ended = process::run(directory.path(), &[&new, self.options, &PLAIN[..2]].concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        (directory, alone)
    }

    fn report(&self, directory: &Path) -> Ended {
        process::run(directory, &[&["campaign", "report", "c"], &PLAIN[2..]].concat())
    }
}

/// What a campaign's report has in common with that of a search in one process: everything but how much was executed in
/// vain, and which of several traces of a bug is the simplest.
fn essence(ended: &Ended) -> serde_json::Value {
    let mut report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    for test in report["tests"].as_array_mut().unwrap() {
        let test = test.as_object_mut().unwrap();
        test.remove("elapsed_seconds");
        let counts = test["search"]["counts"].as_object_mut().unwrap();
        for vain in ["steps", "redundant"] {
            assert!(counts.remove(vain).is_some());
        }
        let mut bugs: Vec<_> =
            test["bugs"].as_array().unwrap().iter().map(|bug| bug["identity"].to_string()).collect();
        bugs.sort();
        test.insert("bugs".into(), bugs.into());
        // It has the number of steps of a search.
        test.remove("notes");
    }
    for once in ["elapsed_seconds", "module"] {
        report.as_object_mut().unwrap().remove(once);
    }
    report
}

const SEARCHED: [Searched; 11] = [
    Searched {
        module: "examples/wasm/account.wasm",
        options: &["--test", "overdraft_fixed", "-s", "preemption-bounding:1"],
        units: "6",
        steps: "200000",
    },
    Searched {
        module: "examples/wasm/counts.wasm",
        options: &["--test", "rmw_2x8", "-s", "dpor"],
        units: "6",
        steps: "40000",
    },
    Searched {
        module: "examples/wasm/account_bad.wasm",
        options: &["--test", "main", "-s", "dpor", "--explore"],
        units: "3",
        steps: "50",
    },
    Searched {
        module: "host/tests/host/wat/frontier.wat",
        options: &["--test", "correct", "-s", "dfs"],
        units: "4",
        steps: "200",
    },
    Searched {
        module: "host/tests/host/wat/frontier.wat",
        options: &["--test", "wrong", "-s", "delay-bounding", "--explore"],
        units: "2",
        steps: "200",
    },
    Searched {
        module: "examples/wasm/racy_counter.wasm",
        options: &["--test", "racy", "-s", "dfs", "--explore"],
        units: "4",
        steps: "60",
    },
    Searched {
        module: "examples/wasm/racy_counter.wasm",
        options: &["--test", "locked", "-s", "delay-bounding:2"],
        units: "4",
        steps: "100",
    },
    Searched {
        module: "examples/wasm/counts.wasm",
        options: &["--test", "rmw_2x8", "-s", "stateful"],
        units: "6",
        steps: "4000",
    },
    Searched {
        module: "examples/wasm/racy_counter.wasm",
        options: &["--test", "racy", "-s", "stateful", "--explore"],
        units: "4",
        steps: "30",
    },
    Searched {
        module: "host/tests/host/wat/frontier.wat",
        options: &["--test", "correct", "-s", "dfs+hb"],
        units: "4",
        steps: "200",
    },
    // States are reached with different numbers of steps.
    Searched {
        module: "examples/wasm/eventually.wasm",
        options: &["--test", "remembered_request", "-s", "stateful"],
        units: "4",
        steps: "800",
    },
];

#[test]
fn searches_in_campaigns_find_what_one_search_finds() {
    for searched in SEARCHED {
        let (directory, alone) = searched.begin();
        let directory = directory.path();
        let work = process::run(directory, &["campaign", "work", "c", "-j", "2"]);
        assert_eq!((work.code, work.stderr.as_str()), (Some(0), ""), "{work:?}");
        let report = searched.report(directory);
        assert_eq!(report.stderr, "");
        assert_eq!(essence(&report), essence(&alone), "{} {:?}", searched.module, searched.options);
        assert_eq!(report.code, alone.code);
        let status = process::run(directory, &["campaign", "status", "c"]);
        assert_eq!(status.code, Some(0));
        assert!(status.stdout.starts_with(". c: the search has ended after "), "{}", status.stdout);
    }
}

/// A unit that is executed again does and leaves the same, byte for byte except for its time.
#[test]
fn units_of_a_search_are_functions_of_their_parts() {
    let (directory, _) = SEARCHED[1].begin();
    let directory = directory.path();
    let first = process::run(directory, &["campaign", "work", "c", "-j", "2"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let results = directory.join("c/results");
    let read = || {
        let entries = std::fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.map(|path| {
            let is_result = path.extension().is_some_and(|extension| extension == "result");
            let content = match is_result {
                true => {
                    let mut unit = SearchUnit::read(&path).unwrap();
                    unit.elapsed = Duration::ZERO;
                    format!("{unit:?}").into_bytes()
                }
                false => std::fs::read(&path).unwrap(),
            };
            (path, content)
        });
        files.collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = read();
    assert!(before.len() > 10, "{}", before.len());
    for path in before.keys() {
        std::fs::remove_file(path).unwrap();
    }
    let again = process::run(directory, &["campaign", "work", "c", "-j", "2"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(read() == before, "the files differ");
}

/// Workers of a search are killed at random times; others continue.
#[cfg(unix)]
#[test]
fn workers_of_a_search_that_are_killed() {
    for (strategy, steps) in [("dpor", "300000"), ("stateful", "50000")] {
        let options = &["--test", "overdraft_fixed", "-s", strategy];
        let searched = Searched { module: "examples/wasm/account.wasm", options, units: "6", steps };
        let (directory, alone) = searched.begin();
        let directory = directory.path();
        work_while_workers_are_killed(directory, 2, 300);
        assert_eq!(essence(&searched.report(directory)), essence(&alone), "{strategy}");
    }
}

/// Before the end there is no verdict; a bug ends the campaign with its stage; and no damage leads to a verdict.
#[test]
fn what_a_campaign_of_a_search_says_before_its_end() {
    let searched = &SEARCHED[1];
    let (directory, alone) = searched.begin();
    let directory = directory.path();
    let early = searched.report(directory);
    assert_eq!((early.code, &*early.stdout), (Some(6), ". c: no unit is done yet\n"), "{early:?}");
    let first = process::run(directory, &["campaign", "work", "c", "--unit", "1-1"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let report = process::run(directory, &["campaign", "report", "c"]);
    assert_eq!(report.code, Some(6), "{report:?}");
    for told in ["the results of 1 unit and what they leave are missing", "units of the campaign are left"] {
        assert!(report.stdout.contains(told), "{}", report.stdout);
    }
    let unknown = process::run(directory, &["campaign", "work", "c", "--unit", "2-1"]);
    assert!(unknown.stderr.contains("--unit 2-1: the campaign has units 1-1 to 1-1"), "{unknown:?}");
    // Whichever byte of a result is damaged, cut off or added, the result is none.
    let path = directory.join("c/results/1-1.result");
    let bytes = std::fs::read(&path).unwrap();
    assert!(SearchUnit::parse(&path, &bytes).is_ok());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        assert!(SearchUnit::parse(&path, &damaged).is_err(), "byte {at}");
        assert!(SearchUnit::parse(&path, &bytes[..at]).is_err(), "cut off at {at}");
    }
    assert!(SearchUnit::parse(&path, &[&bytes[..], b"x"].concat()).is_err());
    // What the first unit left is damaged: nobody goes on with it.
    let left = directory.join("c/results/1-1.frontier");
    let bytes = std::fs::read(&left).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(&left, damaged).unwrap();
        let ended = process::run(directory, &["campaign", "work", "c", "-j", "1"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("1-1.frontier is not what unit 1-1 has left"), "{ended:?}");
    }
    std::fs::write(&left, &bytes).unwrap();
    // A part proves nothing alone, and neither does a whole frontier count as a part.
    let resume = ["test", "counts.wasm", "-s", "dpor", "--resume", "c/results/1-1.frontier"];
    let resumed = process::run(directory, &resume);
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    assert!(resumed.stderr.contains("is a part of a campaign's search"), "{resumed:?}");
    let planned = process::run(directory, &["campaign", "plan", "c"]);
    assert_eq!(planned.stdout, "2-1\n2-2\n2-3\n2-4\n2-5\n", "{planned:?}");
    // One unit of the second stage, and its damaged part.
    let some = process::run(directory, &["campaign", "work", "c", "-j", "1", "--units-max", "1"]);
    assert_eq!(some.code, Some(0), "{some:?}");
    let status = process::run(directory, &["campaign", "status", "c"]);
    assert!(status.stdout.starts_with(". c: stage 2; 2 of 6 units done, 0 at work, 4 open\n"), "{status:?}");
    for number in 1..=5 {
        let part = directory.join(format!("c/stages/2/{number}.frontier"));
        let mut bytes = std::fs::read(&part).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&part, bytes).unwrap();
    }
    let ended = process::run(directory, &["campaign", "work", "c", "-j", "1"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("frontier is damaged: remove c/stages/2 and later stages"), "{ended:?}");
    let report = process::run(directory, &["campaign", "report", "c"]);
    assert_eq!(report.code, Some(6), "{report:?}");
    // The stage is made again, and is the same: its unit that is done counts.
    std::fs::remove_dir_all(directory.join("c/stages/2")).unwrap();
    let ended = process::run(directory, &["campaign", "work", "c", "-j", "2"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(essence(&searched.report(directory)), essence(&alone));
    // An incomplete copy of the directory is not the end.
    let stages = std::fs::read_dir(directory.join("c/stages")).unwrap().count() + 1;
    let end = directory.join(format!("c/stages/{stages}/parts"));
    let nothing = std::fs::read(&end).unwrap();
    std::fs::remove_file(&end).unwrap();
    let report = process::run(directory, &["campaign", "report", "c"]);
    assert!(report.code == Some(1) && report.stderr.contains("parts is damaged: remove"), "{report:?}");
    // Nor is a stage that was left out.
    let parts = directory.join("c/stages/3/parts");
    let bytes = std::fs::read(&parts).unwrap();
    for at in (0..bytes.len()).step_by(23) {
        std::fs::write(&parts, &bytes[..at]).unwrap();
        let planned = process::run(directory, &["campaign", "plan", "c"]);
        assert!(
            planned.code == Some(1) && planned.stderr.contains("parts is damaged: remove"),
            "{planned:?}"
        );
    }
    std::fs::write(&parts, nothing).unwrap();
    (4..=stages)
        .for_each(|stage| std::fs::remove_dir_all(directory.join(format!("c/stages/{stage}"))).unwrap());
    let report = process::run(directory, &["campaign", "report", "c"]);
    assert!(report.code == Some(1) && report.stderr.contains("there is work after stage 2"), "{report:?}");
    // A result of a unit is none that can be merged.
    let merged = process::run(directory, &["merge", "c/results/1-1.result"]);
    assert!(merged.code == Some(1) && merged.stderr.contains("`coyote-wasm campaign report`"), "{merged:?}");
}

/// What was visited before a stage is damaged, or is of another stage: no unit and no report goes on with it.
#[test]
fn what_was_visited_is_that_of_the_stage() {
    let searched = &SEARCHED[7];
    let (directory, alone) = searched.begin();
    let directory = directory.path();
    let some = process::run(directory, &["campaign", "work", "c", "-j", "1", "--units-max", "8"]);
    assert_eq!(some.code, Some(0), "{some:?}");
    let visited = |stage: &str| directory.join(format!("c/stages/{stage}/visited.frontier"));
    let (bytes, older) = (std::fs::read(visited("3")).unwrap(), std::fs::read(visited("2")).unwrap());
    let mut wrong: Vec<Vec<u8>> =
        (0..bytes.len()).step_by(bytes.len() / 9).map(|at| bytes[..at].to_vec()).collect();
    wrong.extend((0..bytes.len()).step_by(bytes.len() / 9).map(|at| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        damaged
    }));
    wrong.push(older);
    for wrong in wrong {
        std::fs::write(visited("3"), wrong).unwrap();
        for command in ["work", "report"] {
            let ended = process::run(directory, &["campaign", command, "c"]);
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(ended.stderr.contains("stages/3/visited.frontier"), "{ended:?}");
        }
    }
    std::fs::remove_file(visited("3")).unwrap();
    let ended = process::run(directory, &["campaign", "work", "c"]);
    let told = ended.stderr.contains("visited.frontier is damaged") && ended.stderr.contains("remove");
    assert!(ended.code == Some(1) && told, "{ended:?}");
    std::fs::write(visited("3"), bytes).unwrap();
    let ended = process::run(directory, &["campaign", "work", "c"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(essence(&searched.report(directory)), essence(&alone));
}

/// The page has the numbers of the report, and nothing in it that a browser would execute.
#[test]
fn the_page_of_a_campaign() {
    let directory = place();
    let place = directory.path();
    let new = ["campaign", "new", "c", "--units", "7", "queue.wasm"];
    let options = ["--test", "random_config", "-i", "700", "--explore", "--no-shrink", "--no-experiments"];
    std::fs::copy(guest::root().join("examples/wasm/bounded_buffer.wasm"), place.join("queue.wasm")).unwrap();
    let made = process::run(place, &[&new[..], &options].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    let page = || {
        let ended = process::run(place, &["campaign", "status", "c", "--page", "c.html"]);
        (ended.code, std::fs::read_to_string(place.join("c.html")).unwrap())
    };
    let (code, early) = page();
    assert!(code == Some(6) && early.contains("No bug so far."), "{early}");
    let worked = process::run(place, &["campaign", "work", "c"]);
    assert_eq!(worked.code, Some(0), "{worked:?}");
    let (code, text) = page();
    assert_eq!(code, Some(0));
    let report = process::run(place, &["campaign", "report", "c", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let bugs = report["tests"][0]["bugs"].as_array().unwrap();
    assert!(!bugs.is_empty());
    for bug in bugs {
        let row = format!("<tr><td><code>{}</code></td><td>", bug["identity"].as_str().unwrap());
        let row = text.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("{bug}\n{text}"));
        assert!(row.contains(&format!("<td class=\"number\">{}</td>", bug["count"])), "{row}");
    }
    for told in
        ["<b>700</b>iterations", "<b>7</b>units with a result", "7 of 7 units done", "Different classes"]
    {
        assert!(text.contains(told), "{told}\n{text}");
    }
    assert!(!text.contains("<script") && !text.contains("http-equiv=\"refresh\"") && !text.contains("<!--"));
    assert_eq!(text.matches("<circle").count(), bugs.len());
}

/// Without `--explore`, the stage with a bug is the last one.
#[test]
fn a_bug_ends_a_campaign_of_a_search() {
    let options = &["--test", "overdraft", "-s", "dpor"];
    let searched = Searched { module: "examples/wasm/account.wasm", options, units: "2", steps: "20000" };
    let (directory, alone) = searched.begin();
    let work = process::run(directory.path(), &["campaign", "work", "c"]);
    assert_eq!(work.code, Some(0), "{work:?}");
    let report = searched.report(directory.path());
    assert_eq!((report.code, alone.code), (Some(2), Some(2)), "{report:?}");
    let identity = |ended: &Ended| {
        let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        report["tests"][0]["bugs"][0]["identity"].clone()
    };
    assert_eq!(identity(&report), identity(&alone));
    // Its trace replays.
    let trace = std::fs::read_dir(directory.path().join("coyote-output")).unwrap();
    let mut traces = trace
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "trace"));
    let trace = traces.next().unwrap();
    let replayed = process::run(directory.path(), &["replay", "account.wasm", trace.to_str().unwrap()]);
    assert_eq!(replayed.code, Some(2), "{replayed:?}");
}
