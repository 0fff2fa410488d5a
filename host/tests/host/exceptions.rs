//! Guests that throw. `tests/suspend` shows that suspending does not change exceptions.

use super::{guest, process};
use coyote_wasm::exit::Exit;

/// Explores a test of `exceptions.wat`, and replays a found bug.
fn explored(test: &str, more: &[&str]) -> process::Ended {
    let directory = tempfile::tempdir().unwrap();
    let file = "exceptions.wat";
    std::fs::copy(guest::wat_file(file), directory.path().join(file)).unwrap();
    let command = [&["test", file, "--test", test, "--seed", "0"], more].concat();
    let found = process::run(directory.path(), &command);
    if found.code == Some(Exit::BugFound as i32) {
        let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
        let replayed = process::run(directory.path(), &["replay", file, &trace]);
        assert_eq!(replayed.line("bug in test "), found.line("bug in test "));
    }
    found
}

#[test]
fn what_is_caught_is_no_bug() {
    let found = explored("caught", &["--strategy", "dfs", "-i", "100000"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.stdout.contains("executions explored, no bug"), "{found:?}");
}

#[test]
fn an_atomic_function_ends_with_an_exception() {
    for more in [&[][..], &["--atomic-fn", "atomic_and_throws"]] {
        let found = explored("lost", more);
        assert!(found.line("bug in test ").contains("an update is lost"), "{found:?}");
    }
}

#[test]
fn what_nobody_catches_is_a_bug_where_it_was_thrown() {
    for (test, worker) in [("uncaught", "worker 0."), ("uncaught_in_main", "worker 0)")] {
        let found = explored(test, &["-i", "100"]);
        let bug = found.line("bug in test ");
        let expected = "uncaught-exception: an exception leaves the worker's function: nothing catches it";
        assert!(bug.contains(expected) && bug.contains(worker), "{found:?}");
        assert!(found.stdout.contains("at throws"), "{found:?}");
    }
}
