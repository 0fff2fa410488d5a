//! Traces of found bugs that are kept and tried first, and bundles.

use super::examples::module_path;
use super::guest::root;
use super::process::{self, Ended};
use std::fs;
use std::path::{Path, PathBuf};

/// A module in the text format: `racy` has a bug; the other variants are fixed, or changed in other ways.
fn module(directory: &Path, name: &str, body: &str) -> PathBuf {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/wat/regression.wat"));
    let path = directory.join(name);
    fs::write(&path, text.unwrap().replace("BODY", body)).unwrap();
    path
}

/// Adds 1 to the counter, in two steps.
const RACY: &str = "(i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1024)) (i32.const 1)))";
/// The same in one step.
const FIXED: &str = "(drop (i32.atomic.rmw.add (i32.const 1024) (i32.const 1)))";
/// Another bug.
const TRAPS: &str = "(i32.store (i32.const 1024) (i32.add (i32.load (i32.const 1024)) (i32.const 1)))
    (if (i32.eq (i32.load (i32.const 1024)) (i32.const 1)) (then unreachable))";

fn test(directory: &Path, arguments: &[&str]) -> Ended {
    let always = ["test", "m.wat", "--seed", "1", "-j", "1", "--no-experiments", "-i", "300"];
    process::run(directory, &[&always[..], arguments].concat())
}

/// The messages next to the report.
fn notes(ended: &Ended) -> String {
    ended.stderr.lines().filter(|line| !line.starts_with("..... ")).map(|line| format!("{line}\n")).collect()
}

fn kept(directory: &Path) -> Vec<String> {
    let Ok(files) = fs::read_dir(directory.join("coyote-regressions")) else { return Vec::new() };
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A trace whose test is not there any more is named, but not one of another module.
#[test]
fn a_trace_without_its_test_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    module(here, "m.wat", RACY);
    assert_eq!(test(here, &[]).code, Some(2));
    let name = kept(here).pop().expect("it is kept");
    fs::copy(here.join("m.wat"), here.join("m-more.wat")).unwrap();
    let other = ["test", "m-more.wat", "--seed", "1", "-j", "1", "--no-experiments", "-i", "300"];
    assert_eq!(process::run(here, &other).code, Some(2));
    assert_eq!(kept(here).len(), 2);
    let renamed =
        fs::read_to_string(here.join("m.wat")).unwrap().replace("coyote.test.racy", "coyote.test.careful");
    fs::write(here.join("m.wat"), renamed.replace(RACY, FIXED)).unwrap();
    let ended = test(here, &[]);
    let expected =
        format!("note: regression coyote-regressions/{name} was not tried: there is no test racy\n");
    assert_eq!((ended.code, notes(&ended)), (Some(0), expected), "{ended:?}");
}

/// Traces are kept only on request: by an option, or by an existing directory.
#[test]
fn traces_are_kept_where_that_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    module(here, "m.wat", RACY);
    let ended = test(here, &[]);
    assert_eq!((ended.code, notes(&ended)), (Some(2), String::new()), "{ended:?}");
    assert!(!here.join("coyote-regressions").exists());
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    assert_eq!(test(here, &["--regressions", "off"]).code, Some(2));
    assert!(kept(here).is_empty());
    let ended = test(here, &[]);
    let name = kept(here).pop().expect("it is kept");
    assert!(name.starts_with("m-racy-") && name.len() == "m-racy-.trace".len() + 16, "{name}");
    assert_eq!(notes(&ended), format!("note: the trace is kept as regression coyote-regressions/{name}\n"));
    // A directory that is named is created, and a kept trace replays.
    let ended = test(here, &["--regressions", "a/b"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let trace = format!("a/b/{name}");
    assert_eq!(process::run(here, &["replay", "m.wat", &trace]).code, Some(2));
    fs::write(here.join("file"), "").unwrap();
    let refused = test(here, &["--regressions", "file/x"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.starts_with("error: --regressions: cannot create the directory file/x: "),
        "{refused:?}"
    );
}

/// A bug that is still there is found by its trace, before any iteration; its own trace replays.
#[test]
fn a_bug_that_is_still_there_is_found_by_its_regression() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    module(here, "m.wat", RACY);
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    assert_eq!(test(here, &[]).code, Some(2));
    let name = kept(here).pop().unwrap();
    // The code around it is different: leniently, the schedule is still followed.
    module(here, "m.wat", &format!("(drop (i32.load (i32.const 2048))) {RACY}"));
    for extra in [&[][..], &["--explore"], &["-s", "dpor"]] {
        let ended = test(here, extra);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let failed = format!("note: regression coyote-regressions/{name} fails: assertion\n");
        assert!(ended.stderr.starts_with(&failed), "{ended:?}");
        if extra.is_empty() {
            let by = format!("found by regression coyote-regressions/{name}, ");
            assert!(ended.stdout.contains(&by), "{ended:?}");
            assert!(ended.stdout.contains("Explored 0 schedules"), "{ended:?}");
        }
        let replay =
            ended.line("  replay: coyote-wasm ").trim_start_matches("  replay: coyote-wasm ").to_string();
        let replayed = process::run(here, &replay.split(' ').collect::<Vec<_>>());
        assert_eq!(replayed.code, Some(2), "{replay}: {replayed:?}");
        assert!(replayed.stdout.contains(". Reproduced: assertion"), "{replayed:?}");
    }
    assert!(kept(here).contains(&name), "never deleted");
}

/// Bounds on steps that follow the length of a test's executions are no option of the run.
#[test]
fn regressions_of_long_tests_are_tried() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let long = "(loop $again (i32.store (i32.const 2048) (local.get 0))
        (local.set 0 (i32.add (local.get 0) (i32.const 1))) (br_if $again (i32.lt_u (local.get 0) (i32.const 8000))))";
    module(here, "m.wat", &format!("{RACY} {long}"));
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    assert_eq!(test(here, &[]).code, Some(2));
    let name = kept(here).pop().unwrap();
    let trace = fs::read_to_string(here.join("coyote-regressions").join(&name)).unwrap();
    let raised =
        |line: &str| line.starts_with("option max-steps=") && line != "option max-steps=10000 100000";
    assert!(trace.lines().any(raised), "the test has higher bounds than others: {trace:.600}");
    let ended = test(here, &[]);
    let failed = format!("note: regression coyote-regressions/{name} fails: assertion\n");
    assert!(ended.code == Some(2) && ended.stderr.starts_with(&failed), "{ended:?}");
    let other = test(here, &["--max-steps", "20000", "200000"]);
    assert!(other.stderr.contains("was not tried: it is of a run with another max-steps"), "{other:?}");
}

/// A trace that no longer fails proves nothing, and is not reported as evidence.
#[test]
fn what_does_not_fail_any_more_is_said_and_stays() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    module(here, "m.wat", RACY);
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    assert_eq!(test(here, &[]).code, Some(2));
    let before = kept(here);
    let path = format!("coyote-regressions/{}", before[0]);
    module(here, "m.wat", FIXED);
    let ended = test(here, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.starts_with(&format!(
            "note: regression {path} is obsolete: its schedule is not followed any more (left at choice "
        )),
        "{ended:?}"
    );
    assert_eq!(notes(&ended).lines().count(), 1, "{ended:?}");
    assert!(!ended.stdout.contains("fixed") && !ended.stderr.contains("fixed"), "{ended:?}");
    assert_eq!(kept(here), before);
    // The exploration equals the one without regressions.
    assert_eq!(ended.timeless(), test(here, &["--regressions", "off"]).timeless());
    // Under other options it is no bug of this run.
    module(here, "m.wat", RACY);
    let other = test(here, &["--points", "sync"]);
    assert!(other.stderr.contains("was not tried: it is of a run with another points"), "{other:?}");
    // A run of one iteration does not try regressions.
    let alone = process::run(here, &["test", "m.wat", "--seed", "1", "--iteration", "0"]);
    assert!(!alone.stderr.contains("regression"), "{alone:?}");
    // A trace that cannot be read is reported.
    let text = fs::read_to_string(here.join(&path)).unwrap();
    fs::write(here.join(&path), &text[..text.len() / 2]).unwrap();
    let damaged = test(here, &[]);
    assert_eq!(damaged.code, Some(2), "{damaged:?}");
    assert!(damaged.stderr.starts_with(&format!("note: regression {path} cannot be read: ")), "{damaged:?}");
}

/// The trace of one bug can lead to another one, which is reported as another bug.
#[test]
fn another_bug_is_called_another_bug() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    module(here, "m.wat", RACY);
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    assert_eq!(test(here, &[]).code, Some(2));
    let first = kept(here).pop().unwrap();
    module(here, "m.wat", TRAPS);
    let ended = test(here, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let said = format!("note: regression coyote-regressions/{first} fails with another kind of bug: trap\n");
    assert!(ended.stderr.starts_with(&said), "{ended:?}");
    assert!(ended.stdout.contains("bug in test racy: trap: "), "{ended:?}");
    assert_eq!(kept(here).len(), 2, "each bug has its file");
}

/// `coyote.toml` names a directory next to itself, or switches regressions off.
#[test]
fn the_configuration_says_where() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    module(here, "m.wat", RACY);
    fs::create_dir(here.join("coyote-regressions")).unwrap();
    fs::write(here.join("coyote.toml"), "regressions = \"off\"\n").unwrap();
    assert_eq!(test(here, &[]).code, Some(2));
    assert!(kept(here).is_empty() && !here.join("off").exists());
    fs::write(here.join("coyote.toml"), "regressions = \"kept\"\n").unwrap();
    assert_eq!(test(here, &[]).code, Some(2));
    assert_eq!(fs::read_dir(here.join("kept")).unwrap().count(), 1);
}

/// A bundle replays without the module and the trace.
#[test]
fn a_bundle_replays_anywhere() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let module = module_path("bounded_buffer");
    let always = ["test", module.to_str().unwrap(), "--seed", "1", "-j", "1", "--no-experiments"];
    let run = |more: &[&str]| process::run(one.path(), &[&always[..], more].concat());
    let ended = run(&["--test", "minimal", "--bundle", "bug.bundle"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(notes(&ended), "note: coyote-wasm replay bug.bundle replays it anywhere\n");
    fs::rename(one.path().join("bug.bundle"), other.path().join("bug.bundle")).unwrap();
    let replayed = process::run(other.path(), &["replay", "bug.bundle"]);
    assert_eq!((replayed.code, replayed.stderr.as_str()), (Some(2), ""), "{replayed:?}");
    assert!(replayed.stdout.starts_with(". Replaying traces/bounded_buffer-minimal-"), "{replayed:?}");
    assert!(replayed.stdout.contains(". Reproduced: deadlock"), "{replayed:?}");
    // The debugger accepts a bundle too.
    fs::write(other.path().join("commands"), "goto end\nlocks\n").unwrap();
    let debugged = process::run(other.path(), &["replay", "bug.bundle", "--commands", "commands"]);
    assert_eq!(debugged.code, Some(2), "{debugged:?}");
    assert!(debugged.stdout.contains("waited for by"), "{debugged:?}");
    // With several bugs, the first one is replayed, or the one that is named.
    let ended = run(&["--test", "minimal", "--test", "random_config", "--bundle", "all.bundle"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let first = process::run(one.path(), &["replay", "all.bundle"]);
    assert_eq!(first.code, Some(2), "{first:?}");
    let (_, name) = first.stderr.trim_end().rsplit_once(' ').unwrap();
    let second = process::run(one.path(), &["replay", "all.bundle", name]);
    assert!(second.stdout.contains("bug in test random_config: deadlock"), "{second:?}");
    let none = process::run(one.path(), &["replay", "all.bundle", "no.trace"]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.stderr.starts_with("error: all.bundle has no such trace; it has traces/bounded_buffer-minimal-"),
        "{none:?}"
    );
    // It contains the files that were written next to it, and a report with the version of its schema.
    let bundle = coyote_wasm::bundle::Bundle::read(&one.path().join("all.bundle")).unwrap();
    assert_eq!(bundle.files["module.wasm"], fs::read(&module).unwrap());
    for bug in &bundle.manifest.bugs {
        let trace = one.path().join("coyote-output").join(bug.trace.trim_start_matches("traces/"));
        assert_eq!(bundle.files[&bug.trace], fs::read(trace).unwrap());
    }
    let report: serde_json::Value = serde_json::from_slice(&bundle.files["report.json"]).unwrap();
    assert_eq!((&report["schema"], &report["tests"][1]["verdict"]), (&1.into(), &"bug".into()));
    assert_eq!((bundle.manifest.seed, bundle.manifest.tool.as_str()), (1, env!("CARGO_PKG_VERSION")));
}

/// Wherever a trace is an input, a bundle is one, too.
#[test]
fn a_bundle_is_an_input_wherever_a_trace_is() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let run = |arguments: &[&str]| process::run(here, arguments);
    module(here, "m.wat", RACY);
    let always = ["test", "m.wat", "--seed", "1", "-j", "1", "-i", "300"];
    assert_eq!(run(&[&always[..], &["--bundle", "out/bug.bundle"]].concat()).code, Some(1));
    assert_eq!(run(&[&always[..], &["--bundle", "bug.bundle"]].concat()).code, Some(2));
    let bundle = coyote_wasm::bundle::Bundle::read(&here.join("bug.bundle")).unwrap();
    let name = bundle.manifest.bugs[0].trace.clone();
    let of_bundle = format!("bug.bundle/{name}");
    for trace in ["bug.bundle", &of_bundle] {
        let replayed = run(&["replay", "m.wat", trace]);
        assert_eq!(replayed.code, Some(2), "{replayed:?}");
        let said = format!(". Replaying {of_bundle}: ");
        assert!(replayed.stdout.starts_with(&said), "{replayed:?}");
        let there = run(&["test", "m.wat", "--confirm", trace, "--no-shrink"]);
        assert_eq!(there.code, Some(2), "{there:?}");
        assert!(there.line(". Still there").contains("assertion"), "{there:?}");
    }
    // Shrunk beside the bundle; the bundle's module and the new trace replay.
    for arguments in [&["shrink", "bug.bundle"][..], &["shrink", "m.wat", "bug.bundle"]] {
        let shrunk = run(arguments);
        assert_eq!(shrunk.code, Some(2), "{shrunk:?}");
        let minimised = shrunk.line("  trace:  ").trim_start_matches("  trace:  ");
        assert!(minimised.ends_with(".min.trace") && here.join(minimised).is_file(), "{shrunk:?}");
        assert_eq!(run(&["replay", "bug.bundle", minimised]).code, Some(2));
        fs::remove_file(here.join(minimised)).unwrap();
    }
    module(here, "fixed.wat", FIXED);
    let gone = run(&["test", "fixed.wat", "--confirm", "bug.bundle"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert!(gone.line(". Gone: ").contains("without the bug"), "{gone:?}");
    for arguments in [
        &["replay", "m.wat", "bug.bundle/none.trace"][..],
        &["shrink", "bug.bundle", "none.trace"],
        &["test", "m.wat", "--confirm", "bug.bundle/none.trace"],
    ] {
        let none = run(arguments);
        let wanted = format!("error: bug.bundle has no such trace; it has {name}\n");
        assert_eq!((none.code, none.stderr), (Some(1), wanted), "{arguments:?}");
    }
}

#[test]
fn bundles_that_cannot_be_are_one_error() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    module(here, "m.wat", RACY);
    let ended = test(here, &["--bundle", "no/such/bug.bundle"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(1), "error: --bundle: there is no directory no/such\n")
    );
    assert_eq!(test(here, &["--bundle", "bug.bundle"]).code, Some(2));
    let whole = fs::read(here.join("bug.bundle")).unwrap();
    for (bytes, from) in [
        (whole[..whole.len() - 1].to_vec(), "damaged"),
        (b"\x28\xb5\x2f\xfdno".to_vec(), "damaged"),
        (b"text".to_vec(), "none"),
    ] {
        fs::write(here.join("x.bundle"), bytes).unwrap();
        let refused = process::run(here, &["replay", "x.bundle"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
        let said = match from {
            "damaged" => "error: x.bundle is damaged, or is no bundle: ",
            _ => "error: x.bundle is no bundle: give a module and a trace\n",
        };
        assert!(refused.stderr.starts_with(said) && refused.stderr.lines().count() == 1, "{refused:?}");
    }
    module(here, "m.wat", FIXED);
    let none = test(here, &["--bundle", "none.bundle"]);
    assert_eq!(notes(&none), "note: no bug was found: none.bundle was not written\n", "{none:?}");
    assert!(!here.join("none.bundle").exists());
    assert!(root().join("docs/regressions.md").is_file());
}
