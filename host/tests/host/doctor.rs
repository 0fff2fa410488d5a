//! `coyote-wasm doctor`: crates and modules with problems, and the findings about each.

use super::process::{self, Ended};
use serde_json::Value;
use std::path::Path;

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn doctor(directory: &Path, arguments: &[&str]) -> Ended {
    let all: Vec<&str> = ["doctor"].iter().chain(arguments).copied().collect();
    process::run(directory, &all)
}

/// `(severity, subject, why)` of each finding.
fn findings(ended: &Ended) -> Vec<(String, String, String)> {
    let all: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    let text = |f: &Value, name: &str| f[name].as_str().unwrap().to_string();
    all.iter().map(|f| (text(f, "severity"), text(f, "subject"), text(f, "why"))).collect()
}

fn of_module(text: &str) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "guest.wat", text);
    doctor(directory.path(), &["guest.wat", "--format", "json"])
}

#[test]
fn a_module_without_workers_names_or_tests() {
    let ended = of_module("(module (func (export \"f\") nop))");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let findings = findings(&ended);
    let has = |severity: &str, why: &str| findings.iter().any(|f| f.0 == severity && f.2.contains(why));
    assert!(has("error", "it has no test"), "{findings:?}");
    assert!(has("warning", "it cannot create workers"), "{findings:?}");
    assert!(has("warning", "it has no function names"), "{findings:?}");
    assert!(has("warning", "none of its memory accesses"), "{findings:?}");
    assert!(has("note", "no debug information"), "{findings:?}");
    assert!(findings.is_sorted_by_key(|f| ["error", "warning", "note"].iter().position(|s| *s == f.0)));
}

/// make and CMake name linked modules like this.
#[test]
fn a_module_may_have_any_name() {
    let directory = tempfile::tempdir().unwrap();
    let wasm = wat::parse_str("(module (func (export \"f\") nop))").unwrap();
    std::fs::write(directory.path().join("program"), wasm).unwrap();
    let ended = doctor(directory.path(), &["program"]);
    assert!(ended.stdout.contains("error: program: it has no test"), "{ended:?}");
}

/// A module that was built for threads and starts none is no error; one that can throw has a note.
#[test]
fn a_module_that_starts_no_thread_and_one_that_throws() {
    let found = findings(&of_module(
        "(module (memory 1 1 shared) (func $__cxa_throw (export \"_start\") i32.const 0 i32.const 0 i32.store))",
    ));
    let has = |severity: &str, why: &str| found.iter().any(|f| f.0 == severity && f.2.contains(why));
    assert!(has("note", "nothing in it starts a thread"), "{found:?}");
    assert!(!found.iter().any(|f| f.2.contains("cannot create workers")), "{found:?}");
    assert!(has("note", "it can throw exceptions of C++"), "{found:?}");
}

#[test]
fn imports_that_nobody_has() {
    let ended = of_module(
        "(module (import \"env\" \"mystery\" (func))
           (import \"wasi_snapshot_preview1\" \"fd_teleport\" (func (param i32) (result i32)))
           (memory 1)
           (func $t (export \"coyote.test.t\") i32.const 0 i32.const 0 i32.store))",
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let findings = findings(&ended);
    assert!(findings.iter().any(|f| f.2.contains("env.mystery")), "{findings:?}");
    assert!(findings.iter().any(|f| f.2.contains("no function fd_teleport")), "{findings:?}");
}

#[test]
fn a_module_compiled_without_atomics() {
    let spawn = "(import \"coyote\" \"spawn\" (func $spawn (param i32 i32 i32 i32) (result i32)))";
    let features = |features: &str| {
        format!(
            "(module {spawn} (memory 1) (table 1 funcref) (@custom \"target_features\" \"{features}\")
               (func $t (export \"coyote.test.t\") i32.const 2000 i32.const 0 i32.store))"
        )
    };
    let without = findings(&of_module(&features("\\01+\\0bbulk-memory")));
    assert!(without.iter().any(|f| f.2.contains("compiled without atomics")), "{without:?}");
    let with = findings(&of_module(&features("\\01+\\07atomics")));
    assert!(!with.iter().any(|f| f.2.contains("atomics")), "{with:?}");
}

/// The beginning of a crate's Cargo.toml.
fn manifest(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"1.2.3\"\nedition = \"2021\"\n")
}

/// A crate with dependencies that have the same names and features as known ones. Needs no network.
#[test]
fn a_crate_with_dependencies_that_do_not_build() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let library = |name: &str, more: &str| {
        write(at, &format!("{name}/Cargo.toml"), &(manifest(name) + more));
        write(at, &format!("{name}/src/lib.rs"), "");
    };
    library("tokio", "[features]\nfull = [\"net\"]\nnet = []\nsync = []\nrt-multi-thread = []");
    library("socket2", "");
    library("parking_lot_core", "[features]\nnightly = []");
    library("wasm-bindgen-test", "");
    library(
        "app",
        "[workspace]\n[dependencies]\ntokio = { path = \"../tokio\", features = [\"full\"] }\n\
         parking_lot_core = { path = \"../parking_lot_core\", features = [\"nightly\"] }\n\
         [dev-dependencies]\nwasm-bindgen-test = { path = \"../wasm-bindgen-test\" }\n\
         [target.'cfg(unix)'.dependencies]\nsocket2 = { path = \"../socket2\" }",
    );
    let caught = "#[test] fn t() { assert!(std::panic::catch_unwind(|| panic!()).is_err()); }";
    write(at, "app/tests/panics.rs", caught);
    let lost = "#![cfg(not(target_family = \"wasm\"))]\n#[test] fn a() {}\n#[test] fn b() {}";
    write(at, "app/tests/lost.rs", lost);
    let ended = doctor(at, &["app", "--no-build", "--format", "json"]);
    let findings = findings(&ended);
    let of = |subject: &str| findings.iter().find(|f| f.1 == subject);
    assert_eq!(
        of("tokio 1.2.3").map(|f| f.2.as_str()),
        Some("it refuses these features on wasm (full, net)")
    );
    assert_eq!(of("socket2 1.2.3"), None, "not on this target");
    assert_eq!(of("parking_lot_core 1.2.3"), None, "with the feature that it needs");
    let of_bindgen = of("wasm-bindgen-test 1.2.3").expect("it is known");
    assert!(of_bindgen.2.contains("the standard harness does not run tests"), "{of_bindgen:?}");
    let catches = findings.iter().find(|f| f.1.ends_with("panics.rs")).expect("it catches panics");
    assert!(catches.2.contains("a test that panics in there has no verdict"), "{catches:?}");
    let lost = "tests that are not on this target: 2 of 3 tests in the sources: 2 by \
                #[cfg(not(target_family = \"wasm\"))] (tests/lost.rs:1)";
    assert_eq!(of("app").map(|f| f.2.as_str()), Some(lost));
    let runner = of(".cargo/config.toml").expect("there is no configuration");
    assert_eq!(runner.0, "warning");
    assert_eq!(ended.code, Some(1));

    let lines = "[target.wasm32-wasip1-threads]\nrunner = \"coyote-wasm test --runner\"\n";
    write(at, "app/.cargo/config.toml", lines);
    let text = doctor(at, &["app/Cargo.toml", "--no-build"]);
    assert!(!text.stdout.contains("config.toml"), "{text:?}");
    assert!(text.stdout.contains(
        "error: tokio 1.2.3: it refuses these features on wasm (full, net)\n  help: cargo coyote test"
    ));
}

/// What a crate's own feature brings in is seen only with it.
#[test]
fn a_feature_of_the_crate() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "socket2/Cargo.toml", &manifest("socket2"));
    write(at, "socket2/src/lib.rs", "");
    let dependency = "[workspace]\n[features]\nplain = []\nsockets = [\"dep:socket2\"]\n[dependencies]\n\
                      socket2 = { path = \"../socket2\", optional = true }\n";
    write(at, "app/Cargo.toml", &(manifest("app") + dependency));
    write(at, "app/src/lib.rs", "");
    let names_it = |options: &[&str]| {
        let ended = doctor(at, &[&["app", "--no-build", "--format", "json"], options].concat());
        findings(&ended).iter().any(|f| f.1 == "socket2 1.2.3")
    };
    assert!(!names_it(&[]));
    assert!(!names_it(&["--features", "plain", "--no-default-features"]));
    assert!(names_it(&["--features", "plain,sockets"]));
    assert!(names_it(&["-F", "sockets"]));
    assert!(names_it(&["--all-features"]));
    let unknown = doctor(at, &["app", "--no-build", "-F", "mystery"]);
    assert!(unknown.code == Some(1) && unknown.stdout.contains("mystery"), "{unknown:?}");
}

/// tokio's scheduler with several threads builds if the flag for unstable features is set.
#[test]
fn a_feature_that_builds_with_a_flag() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "tokio/Cargo.toml", &(manifest("tokio") + "[features]\nrt-multi-thread = []\n"));
    write(at, "tokio/src/lib.rs", "");
    let dependency = "[workspace]\n[dependencies]\n\
                      tokio = { path = \"../tokio\", features = [\"rt-multi-thread\"] }\n";
    write(at, "app/Cargo.toml", &(manifest("app") + dependency));
    write(at, "app/src/lib.rs", "");
    let about_tokio = || {
        let mut command =
            process::command(&process::cache(), at, &["doctor", "app", "--no-build", "--format", "json"]);
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        let ended = process::ended(command.output().unwrap());
        findings(&ended).into_iter().find(|f| f.1 == "tokio 1.2.3")
    };
    let found = about_tokio().expect("it refuses the feature");
    assert_eq!(found.2, "it refuses this feature on wasm without --cfg tokio_unstable (rt-multi-thread)");
    let flags = "[target.wasm32-wasip1-threads]\nrustflags = [\"--cfg\", \"tokio_unstable\"]\n";
    write(at, "app/.cargo/config.toml", flags);
    assert_eq!(about_tokio(), None);
}

/// The findings about a crate with these tests, built as `cargo coyote` does.
fn of_cargo_coyote(at: &Path, crate_: &str) -> Ended {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-coyote"));
    command.args(["coyote", "doctor", crate_, "--format", "json"]).current_dir(at);
    command.env("COYOTE_CACHE_DIR", process::cache()).env("CARGO_TARGET_DIR", at.join("target"));
    command.env("CARGO_NET_OFFLINE", "true");
    // These would be flags for native programs.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    process::ended(command.output().unwrap())
}

/// What keeps plain cargo from building or running a crate does not matter to `cargo coyote`; tests that are not run are
/// counted; and options for tests that there are not are told, for all test binaries together.
#[test]
fn what_matters_to_cargo_coyote() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "tokio/Cargo.toml", &(manifest("tokio") + "[features]\nrt-multi-thread = []\n"));
    write(
        at,
        "tokio/src/lib.rs",
        "#[cfg(not(tokio_unstable))]\ncompile_error!(\"Only features sync,macros..\");\n",
    );
    write(at, "socket2/Cargo.toml", &manifest("socket2"));
    write(at, "socket2/src/lib.rs", "");
    let dependencies = "[workspace]\n[dependencies]\nsocket2 = { path = \"../socket2\" }\n\
                        tokio = { path = \"../tokio\", features = [\"rt-multi-thread\"] }\n";
    write(at, "app/Cargo.toml", &(manifest("app") + dependencies));
    write(
        at,
        "app/src/lib.rs",
        "#[test]\nfn t() { std::thread::spawn(|| 1).join().unwrap(); }\n#[test]\n#[ignore]\nfn i() {}\n\
         #[test]\n#[should_panic]\nfn p() { panic!() }\n#[test]\n#[should_panic]\n#[ignore]\nfn q() {}\n",
    );
    write(at, "app/tests/other.rs", "#[test]\nfn other() {}\n");
    write(at, "app/examples/none.rs", "fn main() {}\n");
    write(at, "app/coyote.toml", "[[tests]]\nnames = [\"t\", \"other\", \"ohter\"]\niterations = 3\n");
    let ended = of_cargo_coyote(at, "app");
    if ended.stderr.contains("rustup target add") || ended.stdout.contains("rustup target add") {
        println!("skipped: rustup target add wasm32-wasip1-threads");
        return;
    }
    let findings = findings(&ended);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let warnings: Vec<_> = findings.iter().filter(|f| f.0 != "note").collect();
    assert_eq!(warnings.len(), 1, "{findings:?}");
    assert!(warnings[0].1.ends_with("coyote.toml"), "{findings:?}");
    assert_eq!(warnings[0].2, "[[tests]] names \"ohter\", and no test is called so: the nearest is other");
    let of_tests: Vec<&str> =
        findings.iter().map(|f| f.2.as_str()).filter(|why| why.contains("can be explored")).collect();
    assert!(
        of_tests.contains(
            &"1 test can be explored, 2 ignored, 1 with #[should_panic] not run: docs/unwinding.md"
        ),
        "{findings:?}"
    );
    assert!(of_tests.contains(&"1 test can be explored, 0 ignored") && of_tests.len() == 2, "{findings:?}");
    assert!(!findings.iter().any(|f| f.2.contains("memory ordering")), "{findings:?}");
}

/// The findings about building a crate, if there is a standard library for the target. No dependencies, no
/// network.
fn of_build(code: &str) -> Option<Ended> {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let manifest = "[package]\nname = \"app\"\nversion = \"1.2.3\"\nedition = \"2021\"\n[workspace]\n";
    write(at, "app/Cargo.toml", manifest);
    write(at, "app/src/lib.rs", code);
    let mut command = process::command(&process::cache(), at, &["doctor", "app", "--format", "json"]);
    command.env("CARGO_TARGET_DIR", at.join("target")).env("CARGO_NET_OFFLINE", "true");
    // These would be flags for native programs.
    command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let ended = process::ended(command.output().unwrap());
    if findings(&ended).iter().any(|f| f.1 == "wasm32-wasip1-threads") {
        println!("skipped: rustup target add wasm32-wasip1-threads");
        return None;
    }
    Some(ended)
}

#[test]
fn a_crate_that_does_not_build_for_the_target() {
    let code = "#[cfg(target_family = \"wasm\")]\ncompile_error!(\"not for wasm\");\n";
    let Some(ended) = of_build(code) else { return };
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let findings = findings(&ended);
    let errors: Vec<_> = findings.iter().filter(|f| f.0 == "error").collect();
    assert_eq!(errors.len(), 1, "{findings:?}");
    assert_eq!(
        (errors[0].1.as_str(), errors[0].2.as_str()),
        ("app 1.2.3", "it does not build: not for wasm")
    );
}

/// The modules of a crate that builds are examined.
#[test]
fn a_crate_that_builds_for_the_target() {
    let code =
        "#[test]\nfn t() { std::thread::spawn(|| 1).join().unwrap(); }\n#[test]\n#[ignore]\nfn i() {}\n";
    for (code, tests) in [(code, "1 test can be explored, 1 ignored"), ("", "it has no test on this target")]
    {
        let Some(ended) = of_build(code) else { return };
        let findings = findings(&ended);
        assert!(findings.iter().all(|f| f.0 != "error"), "{findings:?}");
        assert!(!findings.iter().any(|f| f.2.contains("cannot create workers")), "{findings:?}");
        assert!(findings.iter().any(|f| f.0 == "note" && f.2 == tests), "{findings:?}");
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn what_is_no_crate_is_said_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let ended = doctor(directory.path(), &["nothing"]);
    let message = "error: nothing is neither a crate nor a module: give a directory with a Cargo.toml, or a \
                   .wasm file\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), message));
}
