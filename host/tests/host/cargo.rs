//! Test binaries of cargo, from `examples/cargo`: listed, explored test by test, and run by cargo itself.
//!
//! The crate is built here. If the target is not installed, these tests print a message and pass.

use super::guest::root;
use super::process::{self, Ended};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const TARGET: &str = "wasm32-wasip1-threads";

/// A cargo in the example's directory, which finds coyote-wasm as its runner.
fn cargo(arguments: &[&str]) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_coyote-wasm")).parent().expect("a directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([ours.to_path_buf()].into_iter().chain(std::env::split_paths(&path)));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).env("PATH", path.expect("no directory has a separator in its name"));
    process::in_example(command, "cargo")
}

/// The crate's test binary.
pub fn binary() -> Option<&'static PathBuf> {
    static BINARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
        let libraries = String::from_utf8(libraries.ok()?.stdout).ok()?;
        if !Path::new(libraries.trim()).is_dir() {
            println!("skipped: rustup target add {TARGET}");
            return None;
        }
        let arguments =
            ["test", "--no-run", "--locked", "--release", "--target", TARGET, "--message-format", "json"];
        let output = cargo(&arguments).output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("JSON");
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter_map(|m| m["executable"].as_str().map(PathBuf::from)).next_back()
    };
    BINARY.get_or_init(build).as_ref()
}

/// Runs `coyote-wasm test` on the binary, in a new directory.
fn test(arguments: &[&str]) -> Option<Ended> {
    let module = binary()?.to_str().expect("a path in UTF-8");
    let directory = tempfile::tempdir().unwrap();
    let arguments: Vec<&str> = ["test", module].iter().chain(arguments).copied().collect();
    Some(process::run(directory.path(), &arguments))
}

/// The results of the tests, without the times.
fn results(ended: &Ended) -> String {
    let mut lines: Vec<&str> = ended.stdout.lines().filter(|l| l.starts_with("test ")).collect();
    let last = lines.pop().unwrap_or_default();
    lines.push(last.split("; finished in").next().unwrap_or_default());
    lines.join("\n")
}

/// A thread that spins for ever: no end can be reached from the beginning of the test, when it does not exist as yet.
#[test]
fn a_test_that_never_ends_is_a_livelock() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = "use std::sync::atomic::{AtomicBool, Ordering};\n\
                  static STOP: AtomicBool = AtomicBool::new(false);\n\
                  #[test]\nfn spins() {\n    \
                  let spins = || while !STOP.load(Ordering::Relaxed) { std::thread::yield_now() };\n    \
                  std::thread::spawn(spins).join().unwrap();\n}\n";
    std::fs::write(directory.join("spins.rs"), source).unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--test", "-O", "-g", "--target", TARGET, "spins.rs", "-o", "spins.wasm"]);
    assert!(rustc.current_dir(directory).status().expect("rustc starts").success());
    for strategy in ["portfolio", "dpor", "stateful"] {
        let found = process::run(directory, &["test", "spins.wasm", "-j", "1", "-i", "10", "-s", strategy]);
        assert_eq!(found.code, Some(2), "{strategy}: {found:?}");
        let bug = "bug in test spins: livelock: 1 worker spins for ever and 1 waits";
        assert!(found.stdout.contains(bug), "{strategy}: {found:?}");
        let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
        let replayed = process::run(directory, &["replay", "spins.wasm", trace]);
        assert_eq!(replayed.line(". Reproduced"), ". Reproduced: livelock", "{strategy}: {replayed:?}");
    }
}

/// A story has rows of the test's own code: none of how std begins threads, nor of the harness.
#[test]
fn stories_are_of_the_tests_own_code() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = "use std::sync::mpsc::sync_channel;\n\
                  #[test]\nfn rendezvous() {\n    \
                  let (sender, receiver) = sync_channel::<u32>(0);\n    \
                  let (other, answer) = sync_channel::<u32>(0);\n    \
                  let thread = std::thread::spawn(move || {\n        \
                  sender.send(1).unwrap();\n        \
                  answer.recv().unwrap();\n    });\n    \
                  other.send(2).unwrap();\n    \
                  receiver.recv().unwrap();\n    \
                  thread.join().unwrap();\n}\n";
    std::fs::write(directory.join("channels.rs"), source).unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--test", "-Copt-level=1", "-g", "--target", TARGET, "channels.rs"]);
    assert!(rustc.args(["-o", "channels.wasm"]).current_dir(directory).status().unwrap().success());
    let found = process::run(directory, &["test", "channels.wasm", "--seed", "1", "--no-experiments"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let story = found.stdout.lines().skip_while(|line| !line.starts_with("   step  ")).skip(1);
    let story: Vec<&str> = story.take_while(|line| !line.is_empty()).collect();
    assert!(story.iter().any(|row| row.contains("other.send(2).unwrap();")), "{found:?}");
    assert!(story.iter().all(|row| row.contains("channels.rs:")), "{}", story.join("\n"));
    assert!(!story.iter().any(|row| row.ends_with("channels.rs:1")), "{}", story.join("\n"));
}

/// The requests that cargo-nextest makes before it runs a test: both lists, exactly as the harness prints
/// them.
#[test]
fn lists_are_the_harness_s_own() {
    let Some(all) = test(&["--list", "--format", "terse"]) else { return };
    assert_eq!(
        (all.code, all.stdout.as_str()),
        (
            Some(0),
            "tests::a_large_stock: test\ntests::a_new_stock_is_full: test\ntests::an_error_is_returned: test\n\
             tests::no_item_is_taken_from_nothing: test\ntests::the_last_item_is_taken_once: test\n\
             tests::the_last_item_is_taken_once_in_two_steps: test\n"
        )
    );
    let ignored = test(&["--list", "--format", "terse", "--ignored"]).unwrap();
    assert_eq!((ignored.code, ignored.stdout.as_str()), (Some(0), "tests::a_large_stock: test\n"));
    let pretty = test(&["--list", "last_item"]).unwrap();
    assert!(pretty.stdout.ends_with("in_two_steps: test\n\n2 tests, 0 benchmarks\n"), "{pretty:?}");
}

/// Every kind of test, with its verdict; and the race replays in another process.
#[test]
fn every_test_is_explored_on_its_own() {
    let Some(ended) = test(&["--seed", "0", "-i", "300"]) else { return };
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stdout.contains("\nrunning 6 tests\n"), "{ended:?}");
    assert_eq!(
        results(&ended),
        "test tests::a_large_stock ... ignored, takes long\n\
         test tests::a_new_stock_is_full ... ok (one worker)\n\
         test tests::an_error_is_returned ... FAILED\n\
         test tests::no_item_is_taken_from_nothing ... ignored, #[should_panic] cannot be tested where panics \
         abort\n\
         test tests::the_last_item_is_taken_once ... ok (300 schedules, 0 unfinished)\n\
         test tests::the_last_item_is_taken_once_in_two_steps ... FAILED\n\
         test result: FAILED. 2 passed; 2 failed; 2 ignored; 0 measured; 0 filtered out; 3 explored, 1 sequential"
    );
    let race = "bug in test tests::the_last_item_is_taken_once_in_two_steps: panic: assertion `left == right` \
                failed: items left, left: 4294967295, right: 0 (src/lib.rs:";
    assert!(ended.stdout.contains(race), "{ended:?}");
    let error = "bug in test tests::an_error_is_returned: exit-code: the test function returned a failure";
    assert!(ended.stdout.contains(error), "{ended:?}");
    assert!(ended.stdout.contains("\nfailures:\n    tests::an_error_is_returned\n"), "{ended:?}");
}

#[test]
fn a_failure_replays() {
    let Some(module) = binary() else { return };
    let module = module.to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let name = "tests::the_last_item_is_taken_once_in_two_steps";
    // The arguments with which cargo-nextest runs one test.
    let found =
        process::run(directory.path(), &["test", module, name, "--exact", "--nocapture", "--seed", "0"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(found.stdout.contains("1 failed; 0 ignored; 0 measured; 5 filtered out"), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let replayed = process::run(directory.path(), &["replay", module, &trace]);
    assert_eq!(replayed.code, Some(2), "{replayed:?}");
    assert_eq!(replayed.line("bug in test "), found.line("bug in test "));
}

/// The effects of the harness's options, one after the other.
#[test]
fn the_harness_s_options_hold() {
    let Some(none) = test(&["no_such_test"]) else { return };
    assert_eq!(none.code, Some(0), "{none:?}");
    assert!(none.stdout.contains("\nrunning 0 tests\n"), "{none:?}");
    assert!(none.stdout.contains("6 filtered out; 0 explored, 0 sequential"), "{none:?}");

    // As behind the harness's own second `--`.
    let behind = test(&["--runner", "-i", "5", "--", "no_such_test"]).unwrap();
    assert_eq!(behind.code, Some(0), "{behind:?}");
    assert!(behind.stdout.contains("6 filtered out; 0 explored, 0 sequential"), "{behind:?}");

    let ignored = test(&["--ignored", "--test-threads=1", "-i", "5"]).unwrap();
    assert_eq!(ignored.code, Some(0), "{ignored:?}");
    assert!(
        ignored.stdout.contains("test tests::a_large_stock ... ok (5 schedules, 0 unfinished)"),
        "{ignored:?}"
    );

    let shown = test(&["a_new", "--nocapture", "--color", "never"]).unwrap();
    assert_eq!(shown.code, Some(0), "sequential tests are as good as others: {shown:?}");
    assert!(shown.stdout.contains("ok (one worker)\nno thread here\n\ntest result: ok."), "{shown:?}");

    let skipped = test(&["--skip", "error", "--skip", "two_steps", "-q", "-i", "5"]).unwrap();
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    assert!(skipped.stdout.contains("\nrunning 4 tests\ni.i.\n"), "{skipped:?}");

    let bench = test(&["--bench"]).unwrap();
    assert_eq!(bench.code, Some(1), "{bench:?}");
}

/// Ctrl-C in the middle of a test: what was tried until then is no success, and the exit code says so.
#[cfg(unix)]
#[test]
fn an_interrupted_test_has_not_passed() {
    let Some(module) = binary() else { return };
    let module = module.to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let begun = "test tests::the_last_item_is_taken_once ... ";
    for (letters, line) in [(false, "interrupted ("), (true, "^\n")] {
        let mut arguments =
            vec!["test", module, "is_full", "once", "--skip", "two_steps", "--timeout", "600"];
        arguments.extend(["--junit", "report.xml"]);
        arguments.extend(letters.then_some("--quiet"));
        let mut child =
            process::command(&process::cache(), directory.path(), &arguments).spawn().expect("it starts");
        let mut stdout = child.stdout.take().unwrap();
        let mut said = String::new();
        let mut byte = [0];
        while !said.ends_with(if letters { "running 2 tests\n." } else { begun }) {
            assert_eq!(stdout.read(&mut byte).unwrap(), 1, "{said}");
            said.push(byte[0].into());
        }
        std::thread::sleep(std::time::Duration::from_secs(3));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        stdout.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
        assert!(said.contains(line), "{said}");
        assert!(said.contains("\nInterrupted.\n"), "{said}");
        assert!(said.contains("test result: interrupted. 1 passed; 0 failed;"), "{said}");
        assert!(said.contains("1 explored, 1 sequential, 1 interrupted; finished in"), "{said}");
        let report = std::fs::read_to_string(directory.path().join("report.xml")).unwrap();
        assert!(report.contains("type=\"interrupted\""), "{report}");
    }
}

/// Two tests share the time: neither has all of it, and both are explored.
#[test]
fn the_total_timeout_is_shared() {
    let Some(ended) =
        test(&["--total-timeout", "4", "--skip", "error", "--skip", "two_steps", "--include-ignored"])
    else {
        return;
    };
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.line(". Testing ").ends_with("at most 4 s for all"), "{ended:?}");
    assert!(ended.stdout.contains("2 explored, 1 sequential"), "{ended:?}");
    let took = ended.line("test result: ").rsplit_once("finished in ").unwrap().1;
    let took: f64 = took.trim_end_matches('s').parse().unwrap();
    assert!((3.5..30.0).contains(&took), "all of the time is used, and not twice: {took}");
    // Every test has an execution, even if others used the time.
    let ended = test(&["--total-timeout", "0.001", "--skip", "error", "--skip", "two_steps"]).unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("1 explored, 1 sequential"), "{ended:?}");
}

/// `cargo test`, with the lines of `.cargo/config.toml` from the documentation.
#[test]
fn cargo_runs_us() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let run = ["test", "--locked", "--release", "--lib", "--target", TARGET, "--"];
    let passing = ["the_last_item_is_taken_once", "--skip", "two_steps", "-i", "20", "-o", outdir];
    let ended = process::ended(cargo(&[&run[..], &passing].concat()).output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("the_last_item_is_taken_once ... ok (20 schedules, 0 unfinished)"),
        "{ended:?}"
    );
    let failing = ["two_steps", "-o", outdir];
    let ended = process::ended(cargo(&[&run[..], &failing].concat()).output().unwrap());
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("test result: FAILED. 0 passed; 1 failed"), "{ended:?}");
}

/// `cargo coyote`, called as cargo calls it, in the crate's directory.
fn cargo_coyote(arguments: &[&str]) -> Ended {
    let mut cargo = cargo(&[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-coyote"));
    command.arg("coyote").args(arguments).current_dir(root().join("examples/cargo")).stdin(Stdio::null());
    for (name, value) in cargo.arg("test").get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    process::ended(command.output().expect("it starts"))
}

/// `cargo coyote test` needs no configuration, and passes on the arguments on both sides of `--`.
#[test]
fn the_subcommand_of_cargo_runs_us() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outdir = directory.path().to_str().unwrap();
    let passing = ["--", "the_last_item_is_taken_once", "--skip", "two_steps", "-i", "20", "-o", outdir];
    let ended = cargo_coyote(&[&["test", "--locked", "--release"], &passing[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("the_last_item_is_taken_once ... ok (20 schedules, 0 unfinished)"),
        "{ended:?}"
    );
    assert!(!ended.stderr.contains("Doc-tests"), "{ended:?}");
    let failing = ["test", "--locked", "--release", "--lib", "--", "two_steps", "-o", outdir];
    let ended = cargo_coyote(&failing);
    assert_eq!(ended.code, Some(2), "cargo passes our code on: {ended:?}");
    assert!(ended.stdout.contains("test result: FAILED. 0 passed; 1 failed"), "{ended:?}");
    for target in ["x86_64-unknown-linux-gnu", "wasm32-unknown-unknown"] {
        let other = cargo_coyote(&["test", "--target", target]);
        assert_eq!(other.code, Some(1), "{other:?}");
        assert!(other.stderr.contains("tests are built for wasm32 with WASI"), "{other:?}");
    }
    // Other subcommands of coyote-wasm.
    let list = cargo_coyote(&["test-strategies"]);
    assert_eq!(list.code, Some(1), "coyote-wasm says that there is no such subcommand: {list:?}");
    let mut files = std::fs::read_dir(directory.path()).unwrap().filter_map(|e| Some(e.ok()?.path()));
    let trace = files.find(|path| path.extension().is_some_and(|e| e == "trace")).unwrap();
    let module = binary().unwrap().to_str().unwrap();
    let replayed = cargo_coyote(&["replay", module, trace.to_str().unwrap()]);
    assert_eq!(replayed.code, Some(2), "{replayed:?}");
}

/// `cargo coyote run` has two `--`: our options are behind the first one, those of the program behind the second.
#[test]
fn a_program_is_run() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let of = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    std::fs::create_dir(of("src")).unwrap();
    std::fs::write(of("Cargo.toml"), "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n")
        .unwrap();
    let source = "fn main() {\n    \
                  std::thread::spawn(|| ()).join().unwrap();\n    \
                  let given: Vec<String> = std::env::args().skip(1).collect();\n    \
                  assert_eq!(given, [\"two words\", \"-i\"]);\n}\n";
    std::fs::write(of("src/main.rs"), source).unwrap();
    let (manifest, target, outdir) = (of("Cargo.toml"), of("target"), of("found"));
    let cargo = ["run", "--manifest-path", &manifest, "--target-dir", &target, "--release"];
    let ours = ["--", "-i", "7", "-s", "random", "-o", &outdir];
    let explored = cargo_coyote(&[&cargo[..], &ours, &["--", "two words", "-i"]].concat());
    assert_eq!(explored.code, Some(0), "{explored:?}");
    assert!(
        explored.stdout.contains("strategy random") && explored.stdout.contains(": 7 schedules"),
        "{explored:?}"
    );
    let spaced = cargo_coyote(&[&cargo[..], &["--", "-o", "two words"]].concat());
    assert!(spaced.code == Some(1) && spaced.stderr.contains("put this one into coyote.toml"), "{spaced:?}");
    let without = cargo_coyote(&[&cargo[..], &ours].concat());
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(std::fs::read_dir(&outdir).unwrap().count() > 0, "{without:?}");
}

/// `cargo coyote init` writes the configuration for plain `cargo test`, once.
#[test]
fn a_crate_is_prepared() {
    let directory = tempfile::tempdir().unwrap();
    let crate_ = directory.path().to_str().unwrap();
    let none = cargo_coyote(&["init", crate_]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.stderr.contains("is no crate: give a directory with a Cargo.toml"), "{none:?}");
    std::fs::write(directory.path().join("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
    std::fs::write(directory.path().join(".gitignore"), "/target").unwrap();
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    let all = || [read(".cargo/config.toml"), read("coyote.toml"), read(".gitignore")];
    assert_eq!(cargo_coyote(&["init", crate_]).code, Some(0));
    let first = all();
    assert_eq!(first[0], format!("[target.{TARGET}]\nrunner = \"coyote-wasm test --runner\"\n"));
    assert_eq!(first[2], "/target\ncoyote-output/\n");
    assert_eq!(cargo_coyote(&["init", crate_]).code, Some(0));
    assert_eq!(all(), first);
}

/// cargo-nextest, as documented: lists, one process for each test, verdicts.
#[test]
fn nextest_runs_us() {
    if binary().is_none() {
        return;
    }
    if !cargo(&["nextest", "--version"]).output().is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no cargo-nextest");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let runner = format!("coyote-wasm test -i 300 --seed 0 -o {} --runner", directory.path().display());
    let run = ["nextest", "run", "--locked", "--release", "--lib", "--target", TARGET, "--test-threads", "1"];
    let mut command = cargo(&[&run[..], &["--no-fail-fast", "last_item"]].concat());
    command.env("CARGO_TARGET_WASM32_WASIP1_THREADS_RUNNER", runner);
    let ended = process::ended(command.output().unwrap());
    // Nextest's own code for "tests failed".
    assert_eq!(ended.code, Some(100), "{ended:?}");
    let said = |word: &str, test: &str| {
        ended
            .stderr
            .lines()
            .any(|l| l.trim_start().starts_with(word) && l.ends_with(&format!("tests::{test}")))
    };
    assert!(said("PASS", "the_last_item_is_taken_once"), "{ended:?}");
    assert!(said("FAIL", "the_last_item_is_taken_once_in_two_steps"), "{ended:?}");
    assert!(ended.stderr.contains("2 tests run: 1 passed, 1 failed, 4 skipped"), "{ended:?}");
    let traces = std::fs::read_dir(directory.path()).unwrap();
    let traces = traces.filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "trace"));
    assert_eq!(traces.count(), 1);
}

/// The crate's configuration is complete, and nothing prevents exploring it.
#[test]
fn the_doctor_is_content_with_the_example() {
    let Some(module) = binary() else { return };
    let here = root().join("examples/cargo");
    let crate_ = process::run(&here, &["doctor", ".", "--no-build", "--format", "json"]);
    assert_eq!((crate_.code, crate_.stdout.as_str()), (Some(0), "[]\n"), "{crate_:?}");
    let module = process::run(&here, &["doctor", module.to_str().unwrap()]);
    assert_eq!(module.code, Some(0), "{module:?}");
    assert!(module.stdout.contains("0 errors, 0 warnings, 1 note\n"), "no debug information: {module:?}");
}

/// Writes a file of a crate.
fn put(crate_: &Path, name: &str, text: &str) {
    let path = crate_.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// `cargo coyote test` of a crate in its own directory, with this many iterations of each test.
fn test_crate(crate_: &Path, more: &[&str], iterations: &str) -> Ended {
    let [manifest, target, outdir] = ["Cargo.toml", "target", "out"].map(|name| crate_.join(name));
    let own =
        ["test", "--manifest-path", manifest.to_str().unwrap(), "--target-dir", target.to_str().unwrap()];
    let rest = ["--", "-i", iterations, "-o", outdir.to_str().unwrap()];
    cargo_coyote(&[&own[..], more, &rest].concat())
}

/// A crate with dependencies that only its benchmark needs, and with others that build for the target only if
/// they are replaced.
#[test]
fn dev_dependencies_that_no_test_names_are_left_out() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| put(directory.path(), name, text);
    put(
        "Cargo.toml",
        "[package]\nname = \"counter\"\nedition = \"2024\"\n[dev-dependencies]\nwait-timeout = \"0.2\"\nrusty-fork = \"0.3\"\nnix = \"0.31\"\n[workspace]\n",
    );
    put("benches/processes.rs", "use nix::Result;\nuse wait_timeout::ChildExt as _;\nfn main() {}\n");
    put(
        "src/lib.rs",
        "#[test]\nfn counts() {\n    let n = std::sync::Mutex::new(0);\n    std::thread::scope(|s| {\n        \
         s.spawn(|| *n.lock().unwrap() += 1);\n        *n.lock().unwrap() += 1;\n    });\n    \
         assert_eq!(*n.lock().unwrap(), 2);\n}\n",
    );
    let lock = || std::fs::read_to_string(directory.path().join("Cargo.lock")).unwrap();
    let run = |more: &[&str]| test_crate(directory.path(), more, "20");
    let all = run(&["--all-dev-dependencies"]);
    assert_eq!(all.code, Some(0), "{all:?}");
    assert!(all.stderr.contains("Compiling nix"), "{all:?}");
    assert!(all.stderr.contains("made to work on the target (docs/cargo.md): "), "{all:?}");
    assert!(all.stderr.contains("wait-timeout 0.2") && all.stderr.contains("rusty-fork 0.3"), "{all:?}");
    let before = lock();
    assert!(before.contains("wait-timeout") && before.contains("registry"), "{before}");
    let ended = run(&[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("note: left out, since no test names them"), "{ended:?}");
    assert!(ended.stderr.contains(": nix 0.31"), "{ended:?}");
    assert!(ended.stdout.contains("counts ... ok (20 schedules"), "{ended:?}");
    assert_eq!(lock(), before);
    let manifest = std::fs::read_to_string(directory.path().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("wait-timeout"), "it is the crate's own");
}

/// A crate whose number of rounds depends on `cfg(miri)`, whose build reports its level of optimisation, and of whose
/// tests an optimiser would make one that has a race.
#[test]
fn a_crate_is_built_for_being_explored() {
    if binary().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| put(directory.path(), name, text);
    let manifest = |more: &str| {
        let text = format!(
            "[package]\nname = \"rounds\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\nother = {{ path = \"other\" }}\n\
             [workspace]\nmembers = [\"other\"]\n{more}"
        );
        put("Cargo.toml", &text);
    };
    manifest("");
    put("other/Cargo.toml", "[package]\nname = \"other\"\nversion = \"0.0.0\"\nedition = \"2024\"\n");
    put("other/src/lib.rs", "pub const MIRI: bool = cfg!(miri);\n");
    let level =
        "fn main() { println!(\"cargo::rustc-env=LEVEL={}\", std::env::var(\"OPT_LEVEL\").unwrap()); }\n";
    put("build.rs", level);
    put(
        "src/lib.rs",
        "#[test]\nfn is_built() {\n    panic!(\"{} level {}, miri {} {}\", cfg!(debug_assertions), env!(\"LEVEL\"), cfg!(miri), other::MIRI);\n}\n\
         #[test]\n#[cfg_attr(miri, ignore)]\nfn takes_long() {}\n\
         static mut SHARED: i32 = 0;\n#[inline(never)]\n\
         fn peek(really: bool) -> i32 {\n    if really { unsafe { SHARED } } else { 0 }\n}\n\
         #[test]\nfn reads_no_more_than_it_says() {\n    let really = std::hint::black_box(false);\n    \
         let reader = std::thread::spawn(move || peek(really));\n    unsafe { SHARED = 1 };\n    \
         assert_eq!(reader.join().unwrap(), 0);\n}\n",
    );
    let run = |more: &[&str]| test_crate(directory.path(), more, "1");
    let says = |ended: &Ended, text: &str| {
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    };
    let usual = run(&[]);
    says(&usual, "true level 1, miri false false");
    assert!(usual.stdout.contains("takes_long ... ok"), "{usual:?}");
    let optimised = run(&["--release"]);
    says(&optimised, "false level 3, miri false false");
    assert!(optimised.stdout.contains("reads_no_more_than_it_says ... ok"), "{optimised:?}");
    let miri = run(&["--like-miri"]);
    says(&miri, "true level 1, miri true false");
    assert!(miri.stdout.contains("takes_long ... ignored"), "{miri:?}");
    assert!(miri.stderr.contains("note: with cfg(miri)"), "{miri:?}");
    // Builds with and without `--like-miri` are kept apart.
    says(&run(&[]), "true level 1, miri false false");
    manifest("[profile.dev]\nopt-level = 0\n");
    says(&run(&[]), "true level 0, miri false false");
    let doctor = process::run(directory.path(), &["doctor", ".", "--no-build"]);
    assert!(doctor.stdout.contains("cargo coyote test --like-miri"), "{doctor:?}");
}
