//! Every mistake - in the input, the guest or a bound - gives one message that says what to do, and the right
//! exit code. Output is compared word for word with `golden/*.txt`.

use super::{golden, guest, process};
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Test};
use coyote_wasm::instrumenter::{Error, Options, instrument};
use coyote_wasm::machine::MachineError;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, RandomWalk};
use std::path::Path;

/// A new directory with these files.
fn directory(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content).unwrap();
    }
    directory
}

/// Runs command lines one after the other and compares all their output.
fn check(name: &str, directory: &Path, commands: &[&[&str]]) {
    let mut text = String::new();
    for command in commands {
        let ended = process::run(directory, command);
        text += &format!("$ coyote-wasm {}\n{}\n", command.join(" "), golden::text(&ended));
    }
    golden::check(name, &text);
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

fn racy() -> Vec<u8> {
    wat(&std::fs::read_to_string(guest::wat_file("racy.wat")).unwrap())
}

#[test]
fn files_that_are_no_guest() {
    let racy = racy();
    let directory = directory(&[
        ("text.wasm", b"This is not wasm.\n"),
        ("empty.wasm", b""),
        ("truncated.wasm", &racy[..racy.len() - 7]),
        ("header.wasm", &racy[..8]),
        ("version.wasm", b"\0asm\x02\0\0\0"),
        ("component.wasm", &wat("(component)")),
        ("typo.wat", b"(module (func (export \"coyote.test.a\") (i32.cnost 1)))"),
    ]);
    let commands: &[&[&str]] = &[
        &["test", "text.wasm"],
        &["test", "empty.wasm"],
        &["test", "truncated.wasm"],
        &["test", "header.wasm"],
        &["test", "version.wasm"],
        &["test", "component.wasm"],
        &["test", "typo.wat"],
        &["test", "missing.wasm"],
        &["test", "."],
        &["instrument", "component.wasm", "-o", "out.wasm"],
    ];
    check("no_guest", directory.path(), commands);
    assert!(!directory.path().join("out.wasm").exists());
}

#[test]
fn modules_that_cannot_be_tested() {
    let directory = directory(&[
        ("no_test.wat", b"(module (func (export \"run\")))"),
        ("parameter.wat", b"(module (func (export \"coyote.test.a\") (param i32)))"),
        ("import.wat", br#"(module (import "env" "launch" (func)) (func (export "coyote.test.a")))"#),
        // AssemblyScript's function has four parameters.
        ("abort.wat", br#"(module (import "env" "abort" (func)) (func (export "coyote.test.a")))"#),
        ("coyote.wat", br#"(module (import "coyote" "mutex_lok" (func (param i32))) (func (export "coyote.test.a")))"#),
        ("type.wat", br#"(module (import "coyote" "mutex_lock" (func (param i64))) (func (export "coyote.test.a")))"#),
        (
            "wasi.wat",
            br#"(module (import "wasi_snapshot_preview1" "fd_teleport" (func)) (func (export "coyote.test.a")))"#,
        ),
        ("table.wat", br#"(module (import "env" "table" (table 1 funcref)) (func (export "coyote.test.a")))"#),
        ("memory64.wat", br#"(module (memory i64 1) (func (export "coyote.test.a")))"#),
        ("start.wat", br#"(module (func $start unreachable) (start $start) (func (export "coyote.test.a")))"#),
        (
            "initialise.wat",
            br#"(module (func (export "_initialize") unreachable) (func (export "coyote.test.a")))"#,
        ),
        ("large.wat", br#"(module (memory 2000) (func (export "coyote.test.a")))"#),
        ("setup.wat", br#"(module (func (export "coyote.setup") unreachable) (func (export "coyote.test.a")))"#),
        (
            "two.wat",
            br#"(module (func (export "coyote.test.one")) (func (export "coyote.test.two")))"#,
        ),
    ]);
    let commands: &[&[&str]] = &[
        &["test", "no_test.wat"],
        &["test", "parameter.wat"],
        &["test", "import.wat"],
        &["test", "abort.wat"],
        &["test", "coyote.wat"],
        &["test", "type.wat"],
        &["test", "wasi.wat"],
        &["test", "table.wat"],
        &["test", "memory64.wat"],
        &["test", "start.wat", "--seed", "0"],
        &["test", "initialise.wat", "--seed", "0"],
        &["test", "setup.wat", "--seed", "0"],
        &["test", "large.wat", "--max-memory", "64", "--seed", "0"],
        &["test", "two.wat", "--test", "three"],
        &["test", "two.wat", "--test", "t*", "--test", "one", "--list"],
    ];
    check("no_test", directory.path(), commands);
}

#[test]
fn options_that_make_no_sense() {
    let directory = directory(&[("two.wat", b"(module (func (export \"coyote.test.one\")))")]);
    let commands: &[&[&str]] = &[
        &["test", "two.wat", "--strategy", "clairvoyance"],
        &["test", "two.wat", "--iterations", "0"],
        &["test", "two.wat", "--timeout", "-1"],
        &["test", "two.wat", "--timeout", "soon"],
        &["test", "two.wat", "--timeout", "0"],
        &["test", "two.wat", "-ms", "0"],
        &["test", "two.wat", "-ms", "10", "5"],
        &["test", "two.wat", "--jobs", "0"],
        &["test", "two.wat", "--seed", "-3"],
        &["test", "two.wat", "--env", "NAME"],
        &["test", "two.wat", "--listen", "x"],
        &["test", "two.wat", "--listen", "2"],
        &["test", "two.wat", "--listen", "4", "--listen", "4"],
        &["test", "two.wat", "--max-memory", "0"],
        &["test", "two.wat", "--iteration", "3", "--iterations", "4"],
        &["test", "two.wat", "--atomic-fn", "[", "--seed", "0"],
        &["test", "two.wat", "--test", "["],
        &["test", "two.wat", "--outdir", "two.wat", "--seed", "0"],
        &["instrument", "two.wat"],
        &["instrument", "two.wat", "--dump", "no_such_function"],
        &["explain", "two.wat"],
        &[],
    ];
    check("options", directory.path(), commands);
}

#[test]
fn traces_that_cannot_be_followed() {
    let racy = racy();
    let directory = directory(&[
        ("racy.wasm", &racy),
        ("other.wat", b"(module (func (export \"coyote.test.racy\") nop))"),
    ]);
    let at = directory.path();
    let found = process::run(at, &["test", "racy.wasm", "--seed", "0"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let path = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let text = std::fs::read_to_string(at.join(path)).unwrap();
    // An edited trace must have no checksum.
    let (all, end) = text.trim_end().rsplit_once('\n').unwrap();
    let unsigned = format!("{all}\n{}\n", end.rsplit_once(' ').unwrap().0);
    let write = |name: &str, text: String| std::fs::write(at.join(name), text).unwrap();
    write("whole.trace", text.clone());
    write("version.trace", text.replacen("coyote-wasm trace 5", "coyote-wasm trace 9", 1));
    write("test.trace", unsigned.replacen("test racy", "test calm", 1));
    write("option.trace", unsigned.replacen("option points=heap", "option colour=red", 1));
    write("value.trace", unsigned.replacen("option points=heap", "option points=stack", 1));
    write("cut.trace", text[..text.len() / 2].into());
    write("damaged.trace", text.replacen(" store ", " fill ", 1));
    write("kind.trace", unsigned.replacen(" store ", " stroe ", 1));
    write("outcome.trace", unsigned.replacen("outcome assertion", "outcome deadlock", 1));
    write("empty.trace", String::new());
    let commands: &[&[&str]] = &[
        &["replay", "racy.wasm", "whole.trace"],
        &["replay", "racy.wasm", "missing.trace"],
        &["replay", "missing.wasm", "whole.trace"],
        &["replay", "other.wat", "whole.trace"],
        &["replay", "racy.wasm", "version.trace"],
        &["replay", "racy.wasm", "test.trace"],
        &["replay", "racy.wasm", "option.trace"],
        &["replay", "racy.wasm", "value.trace"],
        &["replay", "racy.wasm", "cut.trace"],
        &["replay", "racy.wasm", "damaged.trace"],
        &["replay", "racy.wasm", "kind.trace"],
        &["replay", "racy.wasm", "outcome.trace"],
        &["replay", "racy.wasm", "empty.trace"],
        &["replay", "racy.wasm", "racy.wasm"],
    ];
    check("traces", at, commands);
}

/// Guests that are wrong: each has a bug that names the worker, and a trace that replays.
#[test]
fn guests_that_are_wrong() {
    let directory = directory(&[]);
    let at = directory.path();
    std::fs::copy(guest::wat_file("wrong.wat"), at.join("wrong.wat")).unwrap();
    let list = process::run(at, &["test", "wrong.wat", "--list"]);
    let mut text = String::new();
    for test in list.stdout.lines() {
        let found = process::run(at, &["test", "wrong.wat", "--test", test, "--seed", "0", "-i", "100"]);
        text += &format!("$ {test}\n{}\n", golden::text(&found));
        if found.code == Some(2) {
            let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
            let replayed = process::run(at, &["replay", "wrong.wat", trace]);
            assert_eq!(replayed.code, Some(2), "{replayed:?}");
            assert_eq!(replayed.line("bug in test "), found.line("bug in test "));
        }
    }
    assert!(list.stdout.lines().count() >= 15, "{list:?}");
    golden::check("wrong", &text);
}

/// Bounds of the tool, and runs without a choice.
#[test]
fn no_verdict() {
    let directory = directory(&[]);
    let at = directory.path();
    for file in ["bounds.wat", "wrong.wat"] {
        std::fs::copy(guest::wat_file(file), at.join(file)).unwrap();
    }
    let commands: &[&[&str]] = &[
        &["test", "bounds.wat", "--test", "alone", "--seed", "0", "-i", "20"],
        &["test", "bounds.wat", "--test", "endless", "--seed", "0", "-i", "5", "-ms", "100", "200"],
        &["test", "bounds.wat", "--test", "exits", "--seed", "0", "--strategy", "dpor"],
        &[
            "test",
            "bounds.wat",
            "--test",
            "endless",
            "--seed",
            "0",
            "-i",
            "5",
            "-ms",
            "100",
            "--fail-on-max-steps",
        ],
        &["test", "bounds.wat", "--test", "deep", "--seed", "0", "-i", "2"],
        &["test", "bounds.wat", "--test", "grow", "--seed", "0", "-i", "20", "--max-memory", "2"],
        &["test", "bounds.wat", "--test", "never", "--seed", "0", "-i", "20"],
        &["test", "bounds.wat", "--test", "exits", "--seed", "0", "-i", "20"],
    ];
    check("no_verdict", at, commands);
}

/// A guest says itself that it cannot be tested: under every strategy, that ends the run without a verdict.
#[test]
fn guests_that_need_what_there_is_not() {
    let directory = directory(&[]);
    let file = "unsupported.wat";
    std::fs::copy(guest::wat_file(file), directory.path().join(file)).unwrap();
    let commands: &[&[&str]] = &[
        &["test", file, "--test", "always", "--seed", "0"],
        &["test", file, "--test", "sometimes", "--seed", "0", "--strategy", "random", "-j", "1"],
        &["test", file, "--test", "sometimes", "--seed", "0", "--strategy", "dfs", "-j", "1"],
    ];
    check("unsupported", directory.path(), commands);
}

/// A minimal module with workers and a choice: most flipped bits matter.
fn small() -> Vec<u8> {
    wat(r#"(module
        (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
        (import "coyote" "join" (func $join (param i32)))
        (import "coyote" "choose_int" (func $choose (param i32) (result i32)))
        (memory 1 3)
        (global $g (mut i32) (i32.const 3))
        (data (i32.const 1032) "data")
        (table 1 funcref)
        (elem (i32.const 0) $worker)
        (func $worker (param i32)
            (loop $again
                (i32.store (i32.const 1028) (i32.add (i32.load (i32.const 1028)) (local.get 0)))
                (global.set $g (i32.sub (global.get $g) (i32.const 1)))
                (br_if $again (i32.gt_s (global.get $g) (i32.const 0)))))
        (func (export "coyote.test.t") (local i32)
            (local.set 0 (call $spawn (i32.const 0) (call $choose (i32.const 3)) (i32.const 0) (i32.const 0)))
            (drop (memory.grow (i32.const 1)))
            (call $join (local.get 0))))"#)
}

/// Maximal steps and memory of a damaged guest.
const STEPS_MAX: u64 = 50;
const MEMORY_BYTES_MAX: usize = 4 << 20;

/// The whole pipeline on arbitrary bytes. Returns how far it came: refused, cannot be started, ran. Errors of
/// the tool fail.
fn survives(wasm: &[u8], what: &str) -> usize {
    let options = Options::default();
    match instrument(wasm, &options) {
        Ok(_) => {}
        Err(Error::Output { message, .. }) => panic!("{what}: the output does not validate: {message}"),
        Err(_) => return 0,
    }
    let Ok(artifact) = guest::compile(wasm, &options) else { return 0 };
    let mut settings = guest::settings();
    settings.limits.fair_steps_max = STEPS_MAX;
    settings.memory_bytes_max = MEMORY_BYTES_MAX;
    let mut far = 0;
    for test in Test::all(&artifact.table) {
        let mut execution = match Execution::new(&artifact, &test, &settings) {
            Ok(execution) => execution,
            Err(MachineError::Internal(error)) => panic!("{what}: {error}"),
            Err(_) => {
                far = far.max(1);
                continue;
            }
        };
        for index in 0..3 {
            let walk = Box::new(RandomWalk::default());
            match execution.run(walk, Iteration { seed: 0, index }) {
                Ok(_) => far = 2,
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
    far
}

/// Runs a case and says which one it was if it panics.
fn named(what: &str, wasm: &[u8]) -> usize {
    std::panic::catch_unwind(|| survives(wasm, what))
        .unwrap_or_else(|_| panic!("{what} panicked: {wasm:02x?}"))
}

#[test]
fn no_truncation_panics() {
    let wasm = small();
    on_engine_thread(|| {
        for length in 0..wasm.len() {
            // A few lengths are valid, because sections are optional.
            named(&format!("the first {length} bytes"), &wasm[..length]);
        }
        assert_eq!(named("the whole module", &wasm), 2);
    });
}

#[test]
fn no_bit_flip_panics() {
    let wasm = small();
    let mut ends = [0u32; 3];
    on_engine_thread(|| {
        let mut rng = ChoiceRng::new(Iteration { seed: 2, index: 0 });
        for _ in 0..10_000 {
            let mut flipped = wasm.clone();
            // Up to three bits, because one bit mostly makes the module invalid immediately.
            let bits: Vec<u64> = (0..1 + rng.below(3)).map(|_| rng.below(wasm.len() as u64 * 8)).collect();
            for bit in &bits {
                flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            ends[named(&format!("flipped bits {bits:?}"), &flipped)] += 1;
        }
    });
    // Refused, not startable, ran: all three must occur, otherwise the test shows nothing.
    assert!(ends[0] > 1_000 && ends[2] > 500, "{ends:?}");
}

/// Ctrl-C ends a run with its statistics; the bugs found so far are kept and replay.
#[cfg(unix)]
#[test]
fn an_interrupted_run_loses_nothing() {
    let directory = directory(&[("racy.wasm", &racy())]);
    let at = directory.path();
    // Far more iterations than there is time for.
    let run = ["test", "racy.wasm", "--seed", "0", "--explore", "-i", "1000000000000"];
    let child = process::command(&process::cache(), at, &run).spawn().unwrap();
    let traces = || {
        let files = std::fs::read_dir(at.join("coyote-output")).into_iter().flatten();
        files.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "trace")).count()
    };
    // Waits until a bug is found, at most a minute on a busy machine.
    for _ in 0..6_000 {
        if traces() > 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let ended = process::ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.line("... Explored ").contains(" schedules"), "{ended:?}");
    assert_eq!(traces(), 1, "the shortest trace of the one bug");
    let trace = ended.line("  trace:  ").trim_start_matches("  trace:  ");
    let replayed = process::run(at, &["replay", "racy.wasm", trace]);
    assert_eq!(replayed.code, Some(2), "{replayed:?}");
    assert_eq!(replayed.line("bug in test "), ended.line("bug in test "));
}

/// For [`a_panic_is_an_internal_error`], in a process of its own.
#[test]
#[ignore = "ends the process"]
fn panics_on_a_thread() {
    coyote_wasm::cli::error::end_at_panic();
    let thread = std::thread::spawn(|| panic!("planted"));
    let _ = thread.join();
}

/// A mistake of this tool ends it with exit code 3, on whichever thread it is noticed.
#[test]
fn a_panic_is_an_internal_error() {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["bad_input::panics_on_a_thread", "--exact", "--ignored", "--nocapture"]);
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("planted") && said.contains("please report it"), "{said}");
}
