//! Ten thousand tasks in one test, from `examples/many_tasks`, which is built here. If its dependencies or
//! the target cannot be installed, this prints a message and passes. And what reports say that a task awaits.
//! (`outcomes.rs` tests the meaning of tasks.)

use super::{guest, process};
use std::path::Path;
use std::process::Command;

#[test]
fn ten_thousand_tasks_in_one_test() {
    const TARGET: &str = "wasm32-unknown-unknown";
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--target", TARGET]);
    let built = process::ended(process::in_example(cargo, "many_tasks").output().expect("cargo starts"));
    let unreachable =
        ["rustup target add", "failed to download", "failed to get", "can't find crate for `core`"];
    if built.code != Some(0) && unreachable.iter().any(|text| built.stderr.contains(text)) {
        println!("skipped: {}", built.stderr);
        return;
    }
    assert_eq!(built.code, Some(0), "{built:?}");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many_tasks").join(TARGET);
    let module = target.join("release/many_tasks.wasm");
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        ["-i", "1", "--seed", "0", "--strategy", "random", "--max-steps", "10000000", "--races", "off"];
    let module = module.to_str().unwrap();
    let ended = process::run(directory.path(), &[&["test", module][..], &arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.line("... Explored ").contains("10001 workers"), "{ended:?}");
}

/// What a task awaited before, and got, is not what it awaits.
#[test]
fn reports_do_not_name_what_is_over() {
    let module = guest::root().join("examples/wasm/outcomes_tasks.wasm");
    for test in ["never_woken_again", "never_woken_after_a_timeout", "never_woken_again_by_others"] {
        let directory = tempfile::tempdir().unwrap();
        let arguments = ["test", module.to_str().unwrap(), "--exact", test, "-i", "10", "--seed", "0"];
        let ended = process::run(directory.path(), &arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        // The stack is not that of the earlier await either.
        let said = format!("  worker 0 awaits something that was not made by this SDK\n    at {test} (");
        assert!(ended.stdout.contains(&said), "{ended:?}");
    }
}
