//! Bugs that published crates had: each is found with default options, by ordinary programs that do not know
//! coyote, and the report names the place in the crate. (`examples.rs` runs the corrected versions and checks
//! the number of iterations.) Correct tests with published crates, in which nothing may be reported.

use super::{examples, guest, process};

/// The guest, and the places in the crate that a report shows: for the first one the stack of the crash, with
/// lines; for the second one, the story's lines where the value is lost before the assertion fails. The
/// program itself has none in a file of this name.
const BUGS: [(&str, &str); 2] = [
    (
        "crossbeam_channel_0_5_7",
        "discard_all_messages (/registry/crossbeam-channel-0.5.7/src/flavors/list.rs:595:",
    ),
    ("flume_0_10_14", " lib.rs:"),
];

#[test]
fn twenty_of_twenty_seeds_find_them() {
    let mut wrong = Vec::new();
    for (module, place) in BUGS {
        let path = examples::module_path(module);
        let path = path.to_str().unwrap();
        for seed in 0..20 {
            let directory = tempfile::tempdir().unwrap();
            // Other tests are about minimising.
            let minimised: &[&str] = if seed == 0 { &[] } else { &["--no-shrink", "--no-experiments"] };
            let seed_text = seed.to_string();
            let found =
                process::run(directory.path(), &[&["test", path, "--seed", &seed_text], minimised].concat());
            if found.code != Some(2) || !found.stdout.contains(place) {
                wrong.push(format!("{module}, seed {seed}: {found:?}"));
                continue;
            }
            let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
            let replayed = process::run(directory.path(), &["replay", path, trace]);
            if replayed.code != Some(2) || replayed.line("bug in test ") != found.line("bug in test ") {
                wrong.push(format!("{module}, seed {seed}: the replay differs: {replayed:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Correct tests with published crates: no detector reports anything. (`docs/races.md` has the results of 10,000
/// iterations.)
#[test]
fn correct_tests_raise_no_alarm() {
    if !process::is_built("correct") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let iterations = guest::scaled(2, 10).to_string();
    let options =
        ["--races", "bug", "--detect", "lock-order", "-i", &iterations, "--seed", "0", "-o", outdir];
    let ended =
        process::cargo_coyote("correct", &[&["--tests", "--no-fail-fast", "--"], &options[..]].concat());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let results = process::results(&ended);
    assert!(results.len() > 70, "{results:?}");
    for (name, result) in results {
        assert!(
            result.starts_with(&format!("ok ({iterations} schedules, ")) || result.starts_with("ok (proved"),
            "{name}: {result}"
        );
    }
    assert!(!ended.stdout.contains("Potential deadlock"), "{}", ended.stdout);
}
