//! `coyote.toml`: found, read, applied, and refused if wrong.

use super::guest::root;
use super::process::{self, Ended};
use std::path::Path;

/// Runs a module with three tests in a directory below one with this file.
fn run(config: &str, arguments: &[&str]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("coyote.toml"), config).unwrap();
    let below = directory.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    run_in(&below, arguments)
}

fn run_in(directory: &Path, arguments: &[&str]) -> Ended {
    let module = root().join("examples/wasm/account.wasm");
    let all = ["test", module.to_str().unwrap(), "--seed", "1", "-j", "1", "--no-shrink", "--no-experiments"];
    process::run(directory, &[&all[..], arguments].concat())
}

const CONFIG: &str = "
iterations = 7

[[tests]]
names = \"overdraft_f*\"
strategy = \"dpor\"
timeout = 60
";

#[test]
fn options_are_read_and_said() {
    let ended = run(CONFIG, &["--test", "overdraft_fixed", "--test", "overdraft"]);
    assert!(ended.stderr.contains("coyote.toml: --iterations=7\n"), "{ended:?}");
    assert!(ended.stderr.contains("note: options of test overdraft_fixed, of "), "{ended:?}");
    assert!(ended.stderr.contains("--strategy=dpor --timeout=60 --iterations=7"), "{ended:?}");
    // A search with seven executions proves nothing; the other test is sampled.
    assert!(ended.stdout.contains("strategy portfolio"), "{ended:?}");
    assert!(!ended.stdout.contains("All 7"), "{ended:?}");
    let alone = run(CONFIG, &["--test", "overdraft_fixed", "--no-config", "-i", "3"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(!alone.stderr.contains("coyote.toml"), "{alone:?}");
    assert!(alone.stdout.contains("Explored 3 schedules"), "{alone:?}");
}

/// A test's options in the file have the same effect as on the command line.
#[test]
fn a_test_is_explored_by_its_own_options() {
    let of = |ended: &Ended| {
        let lines = ended.timeless();
        // Without the lines about the request, and about where the remaining work is stored.
        lines.lines().skip(1).map(|l| l.split(" Go on").next().unwrap()).collect::<Vec<_>>().join("\n")
    };
    let config = CONFIG.replace("iterations = 7", "");
    let configured = run(&config, &["--test", "overdraft_fixed", "-i", "300"]);
    let given = run("", &["--test", "overdraft_fixed", "-i", "300", "-s", "dpor", "--timeout", "60"]);
    assert_eq!((of(&configured), configured.code), (of(&given), given.code));
    assert_ne!(of(&configured), of(&run("", &["--test", "overdraft_fixed", "-i", "300"])));
    // The command line has priority.
    let random = run(&config, &["--test", "overdraft_fixed", "-i", "300", "-s", "random"]);
    let alone = run("", &["--test", "overdraft_fixed", "-i", "300", "-s", "random", "--timeout", "60"]);
    assert_eq!(of(&random), of(&alone));
}

/// A section whose names match no test is told, where all tests are known: cargo's runner has others in other modules.
#[test]
fn sections_without_a_test_are_told() {
    let config = CONFIG.replace("overdraft_f*", "overdaft").replace("iterations = 7", "iterations = 3");
    let wanted =
        "coyote.toml: [[tests]] names \"overdaft\", and no test is called so: the nearest is overdraft\n";
    let ended = run(&config, &["--test", "overdraft_fixed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.matches("warning: ").count(), 1, "{ended:?}");
    assert!(ended.stderr.contains(wanted), "{ended:?}");
    let matched = run(CONFIG, &["--test", "overdraft"]);
    assert!(!matched.stderr.contains("warning: "), "{matched:?}");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("coyote.toml"), config).unwrap();
    let module = root().join("examples/wasm/account.wasm");
    let arguments = ["test", "--runner", "--test", "overdraft_fixed", module.to_str().unwrap()];
    let under_cargo = process::run(directory.path(), &arguments);
    assert_eq!(under_cargo.code, Some(0), "{under_cargo:?}");
    assert!(!under_cargo.stderr.contains("warning: "), "{under_cargo:?}");
}

#[test]
fn mistakes_are_bad_input() {
    let cases = [
        ("iteratoins = 3", "coyote.toml: `iteratoins` is no option: `coyote-wasm test --help` lists them\n"),
        ("strategy = 'none'", "error: there is no strategy \"none\""),
        (
            "[[tests]]\nnames = 'overdraft'\nstrategy = 'none'",
            "error: coyote.toml, test overdraft: there is no strategy \"none\"",
        ),
        ("a = ", "coyote.toml: line 1: "),
    ];
    for (config, wanted) in cases {
        let ended = run(config, &[]);
        assert_eq!(ended.code, Some(1), "{config}: {ended:?}");
        assert!(ended.stderr.contains(wanted), "{config}: {ended:?}");
        assert_eq!(ended.stdout, "", "{config}");
    }
    let none = run_in(&std::env::temp_dir(), &["--config", "there-is-none.toml"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.starts_with("error: cannot read there-is-none.toml"), "{none:?}");
}
