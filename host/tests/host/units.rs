//! Runs in parts: for every division, the merged report, the traces and the logs are those of the single run.

use super::guest;
use super::process::{self, Ended};
use super::results::{BUGGY, explore};
use coyote_wasm::results::TestResult;
use coyote_wasm::strategies::catalog::SAMPLERS;
use coyote_wasm::strategies::{Context, by_name};
use coyote_wasm::tester::Tester;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files that runs leave on disk, by name.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory.join("coyote-output")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    };
    paths.map(read).collect()
}

/// A report as JSON without times.
fn timeless(ended: &Ended) -> String {
    let lines = ended.stdout.lines().filter(|line| !line.contains("\"elapsed_seconds\""));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A directory with a module.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(module: &Path) -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy(module, directory.path().join(module.file_name().unwrap())).unwrap();
        Place { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        process::run(self.path(), arguments)
    }
}

fn example(name: &str) -> PathBuf {
    guest::root().join(format!("examples/wasm/{name}.wasm"))
}

fn case(name: &str) -> PathBuf {
    guest::root().join(format!("host/tests/cases/wat/{name}.wat"))
}

/// Executes the shards of a run in separate directories, with various numbers of jobs, and returns the paths
/// of their results.
fn shards(module: &Path, options: &[&str], of: usize, into: &Path) -> Vec<PathBuf> {
    let name = module.file_name().unwrap().to_str().unwrap();
    (1..=of)
        .map(|number| {
            let place = Place::new(module);
            let path = into.join(format!("{number}.result"));
            let (shard, jobs) = (format!("{number}/{of}"), (1 + number % 3).to_string());
            let part = ["--shard", &shard, "-j", &jobs, "--result", path.to_str().unwrap()];
            let ended = place.run(&[&["test", name], options, &part].concat());
            assert!(matches!(ended.code, Some(0 | 2 | 5)), "{ended:?}");
            path
        })
        .collect()
}

/// Compares the single run and the merged one: reports, files and exit codes.
fn check(module: &Path, options: &[&str], of: usize, single: &(Ended, BTreeMap<String, String>)) {
    let results = tempfile::tempdir().unwrap();
    let mut paths = shards(module, options, of, results.path());
    let texts = |paths: &[PathBuf]| paths.iter().map(|p| p.to_str().unwrap().to_string()).collect::<Vec<_>>();
    // In any order, and one twice.
    paths.reverse();
    paths.push(paths[0].clone());
    let place = Place::new(module);
    let explains = ["--no-shrink", "--no-experiments"].map(|o| options.contains(&o).then_some(o));
    let explains: Vec<&str> = explains.into_iter().flatten().collect();
    let end = match explains.is_empty() {
        true => vec!["--shrink-time", "60", "--format", "json"],
        false => [&explains[..], &["--format", "json"]].concat(),
    };
    let texts = texts(&paths);
    let given: Vec<&str> = texts.iter().map(String::as_str).collect();
    let merged = place.run(&[&["merge"], &given[..], &end].concat());
    assert_eq!(merged.stderr, "", "{options:?} {of}");
    assert_eq!(timeless(&merged), timeless(&single.0), "{} {options:?} in {of}", module.display());
    assert_eq!(merged.code, single.0.code, "{options:?} {of}");
    assert_eq!(files(place.path()), single.1, "{options:?} {of}");
}

fn single(module: &Path, options: &[&str]) -> (Ended, BTreeMap<String, String>) {
    let place = Place::new(module);
    let name = module.file_name().unwrap().to_str().unwrap();
    let ended = place.run(&[&["test", name], options, &["--format", "json"]].concat());
    (ended, files(place.path()))
}

/// Programs with and without bugs, one whose bug only the end of a run finds, several tests; strategies with
/// and without a profiling run, with members; up to the first bug and beyond.
#[test]
fn merged_reports_are_those_of_the_single_run() {
    let quick = ["--no-shrink", "--no-experiments"];
    let cases: &[(PathBuf, &[&str])] = &[
        (example("racy_counter"), &["--seed", "1", "-i", "200", "--explore"]),
        (example("account_bad"), &["--seed", "1", "-i", "100", "-s", "pct:2"]),
        (example("lost_wakeup"), &["--seed", "3", "-i", "150", "-s", "random", "--explore"]),
        (example("dining_philosophers"), &["--seed", "2", "-i", "120", "-s", "pos"]),
        (example("account"), &["--seed", "5", "-i", "120", "-s", "surw"]),
        (example("account"), &["--seed", "5", "-i", "100", "--heap-points", "shared"]),
        (example("sct_stack"), &["--seed", "4", "-i", "160", "-s", "random-depth:10", "--explore"]),
        (
            case("opposite_locks"),
            &["--seed", "1", "-i", "40", "-s", "round-robin:100", "--detect", "lock-order"],
        ),
        (case("rounds"), &["--seed", "1", "-i", "60", "--races", "warn", "--check-determinism"]),
        (
            example("account"),
            &["--seed", "5", "-i", "115", "-s", "q-learning", "--island", "10", "--explore"],
        ),
        (example("lost_wakeup"), &["--seed", "3", "-i", "60", "-s", "feedback", "--island", "7"]),
    ];
    for (module, options) in cases {
        let options = [options, &quick[..]].concat();
        let single = single(module, &options);
        assert!(matches!(single.0.code, Some(0 | 2 | 6)), "{:?}: {:?}", module, single.0);
        // Steered schedules follow from all iterations.
        let steers = options.contains(&"lock-order");
        assert_eq!(single.0.stdout.contains("\"found_by\": \"steered\""), steers, "{:?}", single.0);
        for of in [1, 2, 3, 8] {
            check(module, &options, of, &single);
        }
    }
}

/// Islands are the same for any number of jobs. One that is long enough is the whole run, and what an iteration does
/// depends on what was learnt before it in its island alone.
#[test]
fn islands_begin_anew() {
    let of = |strategy: &str, options: &[&str]| {
        let all = ["--seed", "5", "--explore", "--no-shrink", "--no-experiments", "-s", strategy];
        timeless(&single(&example("account"), &[&all[..], options].concat()).0)
    };
    for strategy in ["q-learning", "greedy", "feedback", "portfolio:[random,feedback]"] {
        let whole = of(strategy, &["-i", "60"]);
        assert_eq!(of(strategy, &["-i", "60", "--island", "60"]), whole, "{strategy}");
        let islands = of(strategy, &["-i", "60", "--island", "9", "-j", "1"]);
        assert_ne!(islands, whole, "{strategy}");
        assert_eq!(of(strategy, &["-i", "60", "--island", "9", "-j", "3"]), islands, "{strategy}");
        let one =
            |options: &[&str]| of(strategy, &[&["--iterations-from", "45", "-i", "1"], options].concat());
        assert_eq!(one(&["--island", "9"]), one(&["--island", "15"]), "{strategy}");
    }
}

/// The same if bugs are shrunk and explained, which the merging process does.
#[test]
fn merged_bugs_are_explained_as_by_the_single_run() {
    for (module, options) in [
        (example("racy_counter"), vec!["--seed", "1", "-i", "100", "--explore"]),
        (example("account_bad"), vec!["--seed", "2", "-i", "100"]),
    ] {
        let single = single(&module, &options);
        assert!(single.0.stdout.contains("\"findability\""), "{:?}", single.0);
        check(&module, &options, 3, &single);
    }
}

/// Test binaries of cargo: tests that their harness does not run, that it runs separately, and that have
/// nothing to explore.
#[test]
fn test_binaries_of_cargo() {
    let Some(module) = super::cargo::binary() else { return };
    let options = ["--runner", "--seed", "0", "-i", "30", "--no-shrink", "--no-experiments"];
    let single = single(module, &options);
    assert!(single.0.stdout.contains("\"ignored\""), "{:?}", single.0);
    check(module, &options, 3, &single);
}

/// A bug in only one shard: the first one by number counts, whichever shards come after it; if shards before
/// it are missing, this is reported.
#[test]
fn a_bug_of_one_shard() {
    let module = example("lost_wakeup");
    let options = ["--seed", "0", "-i", "30", "-s", "random", "--no-shrink", "--no-experiments"];
    let single = single(&module, &options);
    let report: serde_json::Value = serde_json::from_str(&single.0.stdout).unwrap();
    let iteration = report["tests"][0]["bugs"][0]["iteration"].as_u64().expect("a bug");
    assert!(iteration > 0, "the first iteration has a bug: take another seed");
    let results = tempfile::tempdir().unwrap();
    let paths = shards(&module, &options, 30, results.path());
    let has_bug = iteration as usize;
    let place = Place::new(&module);
    let merge = |of: &[&PathBuf]| {
        let texts: Vec<&str> = of.iter().map(|path| path.to_str().unwrap()).collect();
        let end = ["--no-shrink", "--no-experiments", "--format", "json"];
        place.run(&[&["merge"], &texts[..], &end].concat())
    };
    // The shards up to it, in any order; those after it do not matter.
    let needed: Vec<&PathBuf> = paths[..=has_bug].iter().rev().collect();
    let merged = merge(&needed);
    assert_eq!((timeless(&merged), merged.code), (timeless(&single.0), Some(2)));
    let alone = merge(&[&paths[has_bug]]);
    assert_eq!(alone.code, Some(2));
    let last = match iteration {
        1 => "0".to_string(),
        n => format!("0 to {}", n - 1),
    };
    let note = format!("The results of iterations {last} are missing: all numbers are of the others alone");
    assert!(alone.stdout.contains(&note), "{alone:?}");
    // There is no bug, and results are missing.
    let before = merge(&[&paths[0]]);
    assert_eq!(before.code, Some(6));
    assert!(
        before.stdout.contains("Inconclusive: the results of iterations 1 to 29 are missing."),
        "{before:?}"
    );
    // A part given by hand, which may begin anywhere.
    let from = results.path().join("from.result");
    let part = ["--iterations-from", &iteration.to_string(), "--result", from.to_str().unwrap()];
    let options: Vec<&str> = options.iter().map(|o| if *o == "30" { "1" } else { o }).collect();
    let ended = place.run(&[&["test", "lost_wakeup.wasm"], &options[..], &part].concat());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let other = merge(&[&paths[has_bug], &from]);
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("the results are of another number of iterations: "), "{other:?}");
    // From a trace.
    let traces = files(place.path());
    let name = traces.keys().find(|name| name.ends_with(".trace")).unwrap();
    let replayed = place.run(&["replay", "lost_wakeup.wasm", &format!("coyote-output/{name}")]);
    assert_eq!(replayed.code, Some(2), "{replayed:?}");
}

/// Merged results are merged again, in two ways, and a directory of them is accepted.
#[test]
fn merges_of_merges() {
    let module = example("racy_counter");
    let options = ["--seed", "9", "-i", "60", "--explore", "--no-shrink", "--no-experiments"];
    let results = tempfile::tempdir().unwrap();
    let paths = shards(&module, &options, 4, results.path());
    let [a, b, c, d] = [0, 1, 2, 3].map(|at| paths[at].to_str().unwrap());
    let place = Place::new(&module);
    let into = |name: &str, of: &[&str]| {
        let ended = place.run(&[&["merge"], of, &["--result", name]].concat());
        assert!(matches!(ended.code, Some(2 | 6)), "{ended:?}");
        name.to_string()
    };
    let left = into("left", &[&into("ab", &[a, b]), &into("cd", &[d, c]), b]);
    let right = into("right", &[&into("bc", &[c, b]), &into("abc", &[a, "bc"]), &into("da", &[d, a])]);
    let read = |name: &str| std::fs::read(place.path().join(name)).unwrap();
    assert!(read(&left) == read(&right), "the same set has two files");
    let all = place.run(&["merge", results.path().to_str().unwrap(), "--result", "all"]);
    assert_eq!(all.code, Some(2), "{all:?}");
    assert!(read("all") == read("left"));
}

/// Runs without parts, results that do not belong together and damaged ones: exit code 1 with the reason, and
/// nothing is written.
#[test]
fn refusals() {
    let place = Place::new(&example("account_bad"));
    std::fs::copy(example("racy_counter"), place.path().join("racy_counter.wasm")).unwrap();
    let said = |arguments: &[&str]| {
        let ended = place.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        ended.stderr
    };
    let test =
        |options: &[&str]| said(&[&["test", "account_bad.wasm", "--result", "x.result"], options].concat());
    for (options, reason) in [
        (&["-s", "dpor"][..], "dpor is a search, whose executions have no numbers"),
        (&["-s", "q-learning"], "q-learning learns from one iteration for the next"),
        (&["-s", "portfolio:[random,feedback]"], "learns from one iteration for the next"),
        (&["-s", "random", "--island", "5"], "--island is for strategies that learn"),
        (&["-s", "dfs", "--island", "5"], "--island is for strategies that learn"),
        (
            &["-s", "q-learning", "--island", "5", "--iterations-from", "7"],
            "islands of 5 iterations begin at multiples of 5",
        ),
        (&["-s", "greedy", "--island", "10", "-i", "70", "--shard", "1/8"], "in islands of 10 are too few"),
        (
            &["-s", "greedy", "--island", "10", "--heap-points", "shared"],
            "--island: with --heap-points shared",
        ),
        (&["-t", "3"], "cannot be used with"),
        (&["--dir", "."], "--dir: what an iteration finds in a directory of the host depends"),
        (&["--shard", "1/9", "-i", "8"], "--shard 1/9: 8 iterations are too few for this number of parts"),
        (&["--shard", "3/2"], "it is K/N, the K-th of N parts, with K from 1 to N"),
        (&["--shard", "1/2", "--iterations-from", "3"], "cannot be used with"),
        (&["--iterations-from", "18446744073709551615"], "there are no 10000 iterations from there"),
        (&["--result", "no/where"], "cannot be used multiple times"),
    ] {
        let stderr = test(options);
        assert!(stderr.contains(reason), "{options:?}: {stderr}");
    }
    let nowhere = said(&["test", "account_bad.wasm", "--result", "no/where"]);
    assert_eq!(nowhere, "error: --result: there is no directory no\n");
    let unit = |module: &str, result: &str, options: &[&str]| {
        let part = ["-i", "4", "-s", "random", "--result", result];
        let ended = place.run(&[&["test", module], &part[..], options].concat());
        assert!(matches!(ended.code, Some(0 | 2)), "{ended:?}");
    };
    unit("account_bad.wasm", "a", &["--iterations-from", "0"]);
    unit("account_bad.wasm", "b", &["--iterations-from", "2"]);
    unit("account_bad.wasm", "c", &["--iterations-from", "4", "--seed", "7"]);
    unit("account_bad.wasm", "d", &["--iterations-from", "4", "--at-exit", "kill"]);
    unit("racy_counter.wasm", "e", &["--iterations-from", "4"]);
    for (other, reason) in [
        ("b", "iteration 2 is in two ranges, 0 to 3 and 2 to 5"),
        ("c", "the results are of another seed: 0 and 7"),
        ("d", "the results are of another set of options: "),
        ("e", "the results are of another module: "),
        ("account_bad.wasm", "account_bad.wasm is no result of coyote-wasm"),
        ("missing", "cannot read missing: "),
    ] {
        let stderr = said(&["merge", "a", other]);
        assert!(stderr.contains(reason), "{other}: {stderr}");
    }
    let wrong = said(&["merge", "a", "--module", "racy_counter.wasm"]);
    assert!(wrong.contains("racy_counter.wasm is not the module of the results"), "{wrong}");
    let whole = std::fs::read(place.path().join("a")).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(place.path().join("damaged"), bytes).unwrap();
        let stderr = said(&["merge", "damaged"]);
        assert!(stderr.starts_with("error: damaged is "), "byte {at}: {stderr}");
    }
    let names: Vec<String> = files(place.path()).into_keys().collect();
    assert!(!place.path().join("x.result").exists(), "{names:?}");
}

/// Iteration K is the same alone as among others: for every strategy of the catalog whose iterations are
/// independent, and for some combinations. The catalog says for each strategy whether they are.
#[test]
fn iterations_of_every_sampler_alone() {
    const END: u64 = 40;
    let context = Context { unfair_steps_max: 10_000 };
    let made = ["fair-pct", "pct@5,then:random", "pos+chess-fair", "portfolio:[random-depth:3,pct:2,surw]"];
    let names = SAMPLERS.iter().map(|sampler| sampler.entry.name).chain(made);
    let mut tester = Tester::of(guest::from_text(BUGGY));
    tester.budget.steer = false;
    let mut cut = 0;
    for strategy in names {
        let independent = by_name(strategy, &context).unwrap().independent();
        let row = SAMPLERS.iter().find(|sampler| sampler.entry.name == strategy);
        assert_eq!(row.is_none_or(|row| row.entry.shardable), independent, "{strategy}");
        if !independent {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let whole = explore(&tester, strategy, 0..END, directory.path());
        let mut sum: Option<TestResult> = None;
        for index in (0..END).rev() {
            let alone = explore(&tester, strategy, index..index + 1, directory.path());
            assert_eq!(alone.indices.len(), 1, "{strategy} {index}");
            match &mut sum {
                Some(sum) => sum.merge(alone).unwrap(),
                None => sum = Some(alone),
            }
        }
        assert_eq!(sum.unwrap(), whole, "{strategy}");
        cut += 1;
    }
    assert!(cut >= 12, "{cut}");
}
