//! What a search that goes on with a frontier says of earlier runs: their bugs, their limits, and how many there were.

use super::{guest, process};

/// Bugs that earlier runs found are remembered: the bug, the place of its trace, and the verdict.
#[test]
fn bugs_of_before_are_remembered() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let run = |arguments: &[&str]| process::run(at, arguments);
    let module = guest::wat_file("frontier.wat");
    let base = [
        "test",
        module.to_str().unwrap(),
        "--test",
        "wrong",
        "-s",
        "dfs",
        "--seed",
        "0",
        "-j",
        "1",
        "--explore",
    ];
    let first = run(&[&base[..], &["-i", "240"]].concat());
    assert_eq!(first.code, Some(2), "{first:?}");
    let frontier = "coyote-output/frontier-wrong.frontier";
    let second = run(&[&base[..], &["--resume", frontier]].concat());
    assert_eq!(second.code, Some(2), "{second:?}");
    let verdict = second.line("... All 250 executions explored, with ");
    assert!(verdict.contains("240 executions were explored before"), "{verdict}");
    assert!(verdict.contains("(assertion)"), "{verdict}");
    let trace = verdict.split_once("of these: ").unwrap().1.split_once(" (assertion)").unwrap().0;
    assert!(at.join(trace).exists(), "{verdict}");
    assert!(!at.join(frontier).exists(), "nothing is left, and so nothing to go on with");
}

/// A module with the test `t`, which fails if this expression, which may `call $choose`, is not 0.
fn fails_if(condition: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
        (import "coyote" "choose_int" (func $choose (param i32) (result i32)))
        (import "coyote" "fail" (func $fail (param i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 16) "chosen")
        (func (export "coyote.test.t")
          (if {condition} (then (call $fail (i32.const 16) (i32.const 6))))))"#
    );
    wat::parse_str(text).unwrap()
}

/// A run that continues a search and finds nothing new tells the bug that was found before, in every format.
#[test]
fn a_bug_that_was_found_before_is_in_every_report() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::write(at.join("chooses.wasm"), fails_if("(i32.eqz (call $choose (i32.const 3)))")).unwrap();
    let base = ["test", "chooses.wasm", "-s", "dfs", "-j", "1", "-i", "100"];
    assert_eq!(process::run(at, &base).code, Some(2));
    let frontier = at.join("coyote-output/chooses-t.frontier");
    let kept = std::fs::read(&frontier).unwrap();
    for format in ["text", "json", "junit", "sarif", "github", "markdown"] {
        std::fs::write(&frontier, &kept).unwrap();
        let resume = ["--resume", "coyote-output/chooses-t.frontier", "--format", format];
        let ended = process::run(at, &[&base[..], &resume].concat());
        assert_eq!(ended.code, Some(2), "{format}: {ended:?}");
        for said in ["assertion", "chooses-t-1.trace"] {
            assert!(ended.stdout.contains(said), "{format} does not say {said}: {ended:?}");
        }
    }
}

/// A bug is counted in all runs of a search: of a search in parts, as of one in a single run.
#[test]
fn a_resumed_search_counts_bugs_of_earlier_runs() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::write(at.join("odd.wasm"), fails_if("(i32.and (call $choose (i32.const 9)) (i32.const 1))"))
        .unwrap();
    let base = ["test", "odd.wasm", "-s", "dfs", "-j", "1", "--explore", "--no-shrink", "--format", "json"];
    let counts = |parts: &[&str]| -> Vec<(u64, u64)> {
        let count = |(at_first, most): (bool, &&str)| {
            let resume: &[&str] = if at_first { &[] } else { &["--resume", "coyote-output/odd-t.frontier"] };
            let ended = process::run(at, &[&base[..], resume, &["-i", most]].concat());
            let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect(&ended.stdout);
            let test = &report["tests"][0];
            // A bug that this run did not meet is one of earlier runs alone.
            let met = test["bugs"].as_array().unwrap().iter().map(|bug| bug["count"].as_u64().unwrap());
            let count = met.max().or(test["search"]["resumed"]["bugs"][0]["count"].as_u64());
            (count.unwrap_or_default(), test["statistics"]["distinct_bugs"].as_u64().unwrap())
        };
        parts.iter().enumerate().map(|(part, most)| count((part == 0, most))).collect()
    };
    assert_eq!(counts(&["100"]), [(4, 1)]);
    assert_eq!(counts(&["2", "3", "5", "100"]), [(1, 1), (1, 1), (2, 1), (4, 1)]);
}

/// A limit of this tool that an earlier run has met is no bug, and no verdict is given in its place.
#[test]
fn a_limit_of_an_earlier_run_is_no_bug() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let text = r#"(module
        (import "coyote" "choose_int" (func $choose (param i32) (result i32)))
        (import "coyote" "unsupported" (func $unsupported (param i32 i32)))
        (import "coyote" "fail" (func $fail (param i32 i32)))
        (memory (export "memory") 1)
        (data (i32.const 16) "a wish")
        (func (export "coyote.test.t") (local $chosen i32)
          (local.set $chosen (call $choose (i32.const 5)))
          (if (i32.eqz (local.get $chosen)) (then (call $unsupported (i32.const 16) (i32.const 6))))
          (if (i32.eq (local.get $chosen) (i32.const 3)) (then (call $fail (i32.const 16) (i32.const 6))))))"#;
    std::fs::write(at.join("wishes.wasm"), wat::parse_str(text).unwrap()).unwrap();
    let base = ["test", "wishes.wasm", "-s", "dfs", "-j", "1", "-i"];
    let run = |arguments: &[&str]| process::run(at, &[&base[..], arguments].concat());
    assert_eq!(run(&["100"]).code, Some(7));
    let resume = ["--resume", "coyote-output/wishes-t.frontier"];
    let nothing_new = run(&[&["3"], &resume[..]].concat());
    assert_eq!(nothing_new.code, Some(7), "{nothing_new:?}");
    assert!(nothing_new.stdout.contains("No verdict: the guest asks for a wish"), "{nothing_new:?}");
    assert!(nothing_new.stdout.contains("There is no verdict on 1 execution of these"), "{nothing_new:?}");
    let bug = run(&[&["100"], &resume[..]].concat());
    assert_eq!(bug.code, Some(2), "{bug:?}");
    assert!(bug.stdout.contains(": 1 buggy"), "{bug:?}");
    let rest = run(&[&["100"], &resume[..], &["--format", "github"]].concat());
    assert_eq!(rest.code, Some(2), "{rest:?}");
    assert_eq!(rest.stdout.matches("::error").count(), 1, "{rest:?}");
}
