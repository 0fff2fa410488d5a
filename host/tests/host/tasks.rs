//! Ten thousand tasks in one test, from `examples/many_tasks`, which is built here. If its dependencies or
//! the target cannot be installed, this prints a message and passes. (`outcomes.rs` tests the meaning of
//! tasks.)

use super::process;
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
    let arguments = ["-i", "1", "--seed", "0", "--strategy", "random", "--max-steps", "10000000"];
    let module = module.to_str().unwrap();
    let ended = process::run(directory.path(), &[&["test", module][..], &arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.line("... Explored ").contains("10001 workers"), "{ended:?}");
}
