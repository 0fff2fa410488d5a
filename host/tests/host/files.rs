//! The guest's files: calls from wasm, bad arguments, preloaded directories, directories of the host, and
//! files as a part of snapshots and fingerprints.

use super::guest::{self, settings};
use super::process;
use coyote_abi::Type;
use coyote_abi::file::{CALLS, FileCall, Param};
use coyote_wasm::instrumenter::Options;
use coyote_wasm::outcome::{BugKind, Outcome};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Status, System};
use std::fmt::Write;
use std::path::Path;

/// An address outside of the one page of memory.
const OUTSIDE: i64 = 0x10_0000;

/// A module with one test that calls each function once and fails unless it returns `expected`.
fn calling(calls: &[(&FileCall, Vec<i64>)], expected: u32) -> String {
    let mut text = String::from("(module (import \"coyote\" \"fail\" (func $fail (param i32 i32)))\n");
    for (number, (call, _)) in calls.iter().enumerate() {
        let types: String = call.types().map(|t| if t == Type::I32 { " i32" } else { " i64" }).collect();
        let name = call.name;
        let import = format!(
            "(import \"wasi_snapshot_preview1\" \"{name}\" (func $f{number} (param{types}) (result i32)))"
        );
        writeln!(text, "{import}").unwrap();
    }
    text.push_str("(memory (export \"memory\") 1)\n(func (export \"coyote.test.t\")\n");
    for (number, (call, arguments)) in calls.iter().enumerate() {
        for (ty, argument) in call.types().zip(arguments) {
            write!(text, "({}.const {argument}) ", if ty == Type::I32 { "i32" } else { "i64" }).unwrap();
        }
        write!(text, "(call $f{number}) (i32.const {expected}) (i32.ne) ").unwrap();
        writeln!(text, "(if (then (call $fail (i32.const {}) (i32.const 0))))", 16 * number).unwrap();
    }
    text.push_str("))");
    text
}

/// Correct arguments, except for the parameter `bad`, if it is given.
fn arguments(call: &FileCall, descriptor: i64, bad: Option<(usize, [i64; 2])>) -> Vec<i64> {
    let mut arguments = Vec::new();
    for (index, param) in call.params.iter().enumerate() {
        match (param, bad) {
            (_, Some((at, values))) if at == index => arguments.extend(&values[..param.types().len()]),
            (Param::Descriptor, _) => arguments.push(descriptor),
            (Param::I32 | Param::I64, _) => arguments.push(0),
            (Param::Result { .. }, _) => arguments.push(0x800),
            (Param::Text | Param::Gather | Param::Scatter | Param::Buffer, _) => arguments.extend([0x900, 1]),
        }
    }
    arguments
}

fn outcome(text: &str) -> Outcome {
    let artifact = guest::from_text(text);
    guest::with(&artifact, "t", &settings(), |execution| {
        execution.run(Box::new(RandomWalk::default()), Iteration { seed: 0, index: 0 }).unwrap().0
    })
}

#[test]
fn every_call_refuses_a_descriptor_that_is_not_open() {
    const BADF: u32 = 8;
    let calls = CALLS.iter().filter(|c| c.name != "fd_prestat_dir_name");
    let calls: Vec<_> = calls.map(|c| (c, arguments(c, 77, None))).collect();
    assert_eq!(outcome(&calling(&calls, BADF)), Outcome::Passed);
}

/// Each address argument of each call, outside of memory and, where alignment is required, misaligned.
#[test]
fn every_bad_address_is_a_bug_that_names_the_call() {
    let mut tried = 0;
    for call in CALLS {
        for (index, param) in call.params.iter().enumerate() {
            let bad: &[([i64; 2], &str)] = match param {
                Param::Descriptor | Param::I32 | Param::I64 => continue,
                Param::Text | Param::Buffer => &[
                    ([OUTSIDE, 1], "outside of memory"),
                    ([0xffff, 2], "outside of memory"),
                    ([-1, 1], "outside"),
                ],
                Param::Gather | Param::Scatter => &[
                    ([OUTSIDE, 1], "outside of memory"),
                    ([0x901, 1], "misaligned"),
                    // A buffer in the list.
                    ([0xa00, 1], "outside of memory"),
                ],
                Param::Result { align: 1, .. } => continue,
                Param::Result { .. } => &[([OUTSIDE, 0], "outside of memory"), ([0x801, 0], "misaligned")],
            };
            for (values, expected) in bad {
                let module = calling(&[(call, arguments(call, 3, Some((index, *values))))], 0);
                let data = "(data (i32.const 0xa00) \"\\00\\00\\20\\00\\01\\00\\00\\00\")\n(func";
                let module = module.replacen("(func (export", &format!("{data} (export"), 1);
                let Outcome::Bug(bug) = outcome(&module) else { panic!("{} {index} {values:?}", call.name) };
                assert_eq!(bug.kind, BugKind::Trap, "{}", call.name);
                assert!(bug.message().starts_with(call.name), "{}", bug.message());
                assert!(bug.message().contains(expected), "{}", bug.message());
                tried += 1;
            }
        }
    }
    assert!(tried > 80, "{tried}");
}

fn example() -> std::sync::Arc<coyote_wasm::artifact::Artifact> {
    let text = std::fs::read_to_string(guest::root().join("examples/wat/files.wat")).unwrap();
    guest::from_text(&text)
}

/// From a snapshot at every step of random walks: the files are restored, and continue in the same way.
#[test]
fn files_belong_to_snapshots_and_fingerprints() {
    guest::with(&example(), "counter", &settings(), |execution| {
        for index in 0..30 {
            let mut rng = ChoiceRng::new(Iteration { seed: 3, index });
            execution.restart();
            let mut walk = Vec::new();
            while execution.status() == Status::Ready {
                walk.push((execution.snapshot(), execution.fingerprint(), execution.runtime().files.clone()));
                let picks: Vec<Pick> = execution.view().picks().collect();
                execution.step(picks[rng.below(picks.len() as u64) as usize]);
            }
            let end = execution.runtime().files.clone();
            assert!(walk.iter().any(|(_, _, files)| *files != end), "nothing was written");
            for (snapshot, fingerprint, files) in walk.iter().rev() {
                execution.restore(snapshot);
                assert_eq!(execution.fingerprint(), *fingerprint);
                assert!(execution.runtime().files == *files);
            }
            execution.restart();
            assert!(execution.runtime().files == walk[0].2, "a file of the last iteration is left");
        }
    });
}

/// Two states that differ in a byte of a file have different fingerprints.
#[test]
fn a_byte_of_a_file_counts() {
    let call = |name: &str| coyote_abi::file::call(name).unwrap();
    let print = |byte: u8| {
        let open = (call("path_open"), vec![3, 0, 0x900, 1, 1, 0x42, 0, 0, 0x800]);
        let write = (call("fd_pwrite"), vec![4, 0x910, 1, 0, 0x800]);
        let text = calling(&[open, write], 0);
        let data = format!(
            "(data (i32.const 0x900) \"n\") (data (i32.const 0x910) \"\\20\\09\\00\\00\\01\\00\\00\\00\")\n\
             (data (i32.const 0x920) \"\\{byte:02x}\") (func"
        );
        let text = text.replacen("(func (export", &format!("{data} (export"), 1);
        guest::with(&guest::from_text(&text), "t", &settings(), |execution| {
            let walk = Box::new(RandomWalk::default());
            let outcome = execution.run(walk, Iteration { seed: 0, index: 0 }).unwrap().0;
            assert_eq!(outcome, Outcome::Passed);
            execution.runtime().digest()
        })
    };
    assert_eq!(print(1), print(1));
    assert_ne!(print(1), print(2));
}

/// A program that counts in file n of a directory, with the rules of the racy example.
pub fn in_directory(directory: &Path) {
    let text = std::fs::read_to_string(guest::root().join("examples/wat/files.wat")).unwrap();
    // The host's directory is the next preopened one.
    let text = text.replace("(call $path_open (i32.const 3)", "(call $path_open (i32.const 4)");
    std::fs::write(directory.join("files.wat"), text).unwrap();
    std::fs::create_dir(directory.join("data")).unwrap();
}

#[test]
fn answers_of_the_host_are_replayed_without_it() {
    let directory = tempfile::tempdir().unwrap();
    in_directory(directory.path());
    let run = |arguments: &[&str]| process::run(directory.path(), arguments);
    let test = ["test", "files.wat", "--test", "counter", "--dir", "data", "--seed", "0"];
    let found = run(&test);
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(found.stdout.contains("an update is lost"), "{found:?}");
    assert!(found.stdout.contains("With --dir an iteration starts with what the directory then holds"));
    assert!(directory.path().join("data/n").exists(), "what the guest writes stays");
    let traces = std::fs::read_dir(directory.path().join("coyote-output")).unwrap();
    let trace = traces.map(|e| e.unwrap().path()).find(|p| p.extension().unwrap() == "trace").unwrap();
    let trace = trace.strip_prefix(directory.path()).unwrap().to_str().unwrap().to_string();
    std::fs::remove_dir_all(directory.path().join("data")).unwrap();
    let replayed = run(&["replay", "files.wat", &trace]);
    assert_eq!(replayed.code, Some(2), "{replayed:?}");
    assert!(replayed.stdout.contains(". Reproduced: assertion"), "{replayed:?}");
    assert!(!directory.path().join("data").exists(), "a replay leaves the host alone");

    // A question other than the one that was answered.
    let path = directory.path().join(&trace);
    let text = std::fs::read_to_string(&path).unwrap();
    let without_sum: String = text
        .lines()
        .map(|l| match l.strip_prefix("end ") {
            Some(end) => format!("end {}\n", end.split(' ').next().unwrap()),
            None => format!("{l}\n"),
        })
        .collect();
    let first = without_sum.lines().find(|l| l.starts_with("answer fd_read")).unwrap();
    std::fs::write(&path, without_sum.replacen(first, &first.replacen("fd_read", "fd_sync", 1), 1)).unwrap();
    let left = run(&["replay", "files.wat", &trace]);
    assert_eq!(left.code, Some(4), "{left:?}");
    assert!(left.stdout.contains("to the host is fd_read, the trace has fd_sync there"), "{left:?}");

    for (extra, expected) in [
        (&["--strategy", "dfs"][..], "a search returns to earlier states"),
        (&["--jobs", "2"][..], "jobs would share the files"),
    ] {
        std::fs::create_dir_all(directory.path().join("data")).unwrap();
        let refused = run(&[&test, extra].concat());
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
    let missing = run(&["test", "files.wat", "--dir", "nothing"]);
    assert!(missing.stderr.contains("--dir: cannot read nothing"), "{missing:?}");
}

#[test]
fn preloaded_files_are_those_of_the_trace() {
    let directory = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(guest::root().join("examples/wat/files.wat")).unwrap();
    // The file exists already, and stays in the host.
    let text = text.replace(
        "(i32.const 0x802) (i32.const 1)))\n    (call $write (i32.const 2)",
        "(i32.const 0x802) (i32.const 0)))\n    (call $write (i32.const 2)",
    );
    std::fs::write(directory.path().join("files.wat"), text).unwrap();
    std::fs::create_dir(directory.path().join("data")).unwrap();
    std::fs::write(directory.path().join("data/n"), "x").unwrap();
    let run = |arguments: &[&str]| process::run(directory.path(), arguments);
    let test = ["test", "files.wat", "--test", "counter", "--seed", "0"];
    let without = run(&test);
    assert!(without.stdout.contains("a call failed"), "{without:?}");
    let found = run(&[&test[..], &["--preload", "data::/"]].concat());
    assert_eq!(found.code, Some(2), "{found:?}");
    assert!(found.stdout.contains("an update is lost"), "{found:?}");
    assert_eq!(std::fs::read(directory.path().join("data/n")).unwrap(), b"x");
    let line = found.line("  trace:  ");
    let trace = line.trim_start_matches("  trace:").trim();
    let replayed = run(&["replay", "files.wat", trace]);
    assert!(replayed.stdout.contains(". Reproduced: assertion"), "{replayed:?}");
    std::fs::write(directory.path().join("data/n"), "y").unwrap();
    let refused = run(&["replay", "files.wat", trace]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("data does not hold the files with which"), "{refused:?}");
    assert_eq!(run(&["replay", "files.wat", trace, "--lenient"]).code, Some(2));
}

/// The call is a point, and its answer is chosen: all answers occur, and the one that fails replays.
#[test]
fn stubs_answer() {
    let text = r#"(module
      (import "env" "sense" (func $sense (param i32 i64) (result i32)))
      (import "env" "log" (func $log (param f64)))
      (import "env" "wide" (func $wide (result i64)))
      (import "env" "half" (func $half (result f64)))
      (import "coyote" "fail" (func $fail (param i32 i32)))
      (memory (export "memory") 1)
      (table 1 funcref) (elem (i32.const 0) $wide)
      (data (i32.const 0x800) "seven")
      (func (export "coyote.test.seven")
        f64.const 1 call $log
        call $wide i64.const -5 i64.ne if unreachable end
        i32.const 0 call_indirect (result i64) i64.const -5 i64.ne if unreachable end
        call $half f64.const 0.5 f64.ne if unreachable end
        i32.const 1 i64.const 2 call $sense i32.const 7 i32.eq
        if i32.const 0x800 i32.const 5 call $fail end))"#;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("s.wat"), text).unwrap();
    let run = |sense: &str, strategy: &str| {
        let sense = format!("env.sense={sense}");
        process::run(
            directory.path(),
            &[
                "test",
                "s.wat",
                "--strategy",
                strategy,
                "--seed",
                "0",
                "--explore",
                "--stub",
                &sense,
                "--stub",
                "env.log=",
                "--stub",
                "env.wide=-5",
                "--stub",
                "env.half=0.5",
            ],
        )
    };
    let executions = |ended: &process::Ended, number: usize| {
        assert!(
            ended.line("... Explored ").starts_with(&format!("... Explored {number} executions in ")),
            "{ended:?}"
        );
    };
    let all = run("choose:9", "dfs");
    assert_eq!(all.code, Some(2), "{all:?}");
    executions(&all, 9);
    let three = run("-1,7,4294967295", "dfs");
    executions(&three, 3);
    let trace = three.line("  trace:  ").trim_start_matches("  trace:").trim().to_string();
    let replayed = process::run(directory.path(), &["replay", "s.wat", &trace]);
    assert!(replayed.stdout.contains(". Reproduced: assertion"), "{replayed:?}");
    assert_eq!(run("6", "dfs").code, Some(5), "a constant is no choice");
    let called = process::run(
        directory.path(),
        &[
            "test",
            "s.wat",
            "--stub",
            "env.sense",
            "--stub",
            "env.log",
            "--stub",
            "env.wide",
            "--stub",
            "env.half",
        ],
    );
    assert!(called.stdout.contains("env.log is called, which is stubbed without an answer"), "{called:?}");
}

#[test]
fn wrong_stubs_are_refused() {
    let module =
        |ty: &str| format!(r#"(module (import "env" "f" (func {ty})) (func (export "coyote.test.t")))"#);
    let refusal = |ty: &str, stub: &str| {
        let options = Options { stubs: vec![stub.into()], ..Options::default() };
        guest::compile(&wat::parse_str(module(ty)).unwrap(), &options).err().unwrap()
    };
    for (ty, stub, expected) in [
        (
            "(result i32)",
            "env.f=",
            "--stub env.f: it returns i32: give --stub env.f=VALUE or --stub env.f=choose:N",
        ),
        ("", "env.f=1", "--stub env.f: it returns nothing: give --stub env.f="),
        (
            "(result i32)",
            "env.f=4294967296",
            "--stub env.f: `4294967296` is no number of its result's type, i32",
        ),
        ("(result i64)", "env.f=1,,2", "--stub env.f: `` is no number of its result's type, i64"),
        ("(result i32 i32)", "env.f=1", "--stub env.f: a stub cannot return i32, i32"),
        ("(result externref)", "env.f=choose:2", "--stub env.f: a stub cannot return externref"),
        (
            "(result i32)",
            "env.f=choose:0",
            "--stub env.f=choose:0: give choose:N with a number N from 1 to 4294967295",
        ),
    ] {
        assert_eq!(refusal(ty, stub), expected);
    }
}

/// Files that setup writes exist in every iteration, those that the test writes only in its own.
#[test]
fn iterations_begin_with_what_setup_left() {
    let text = r#"(module
      (import "wasi_snapshot_preview1" "path_create_directory" (func $make (param i32 i32 i32) (result i32)))
      (import "coyote" "choose_bool" (func $choose (result i32)))
      (memory (export "memory") 1)
      (data (i32.const 0x800) "ab")
      (func $expect (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))
      (func (export "coyote.setup")
        (call $expect (call $make (i32.const 3) (i32.const 0x800) (i32.const 1)) (i32.const 0)))
      (func (export "coyote.test.t")
        (drop (call $choose))
        ;; EEXIST, then success
        (call $expect (call $make (i32.const 3) (i32.const 0x800) (i32.const 1)) (i32.const 20))
        (call $expect (call $make (i32.const 3) (i32.const 0x801) (i32.const 1)) (i32.const 0))))"#;
    guest::with(&guest::from_text(text), "t", &settings(), |execution| {
        for index in 0..5 {
            let walk = Box::new(RandomWalk::default());
            let outcome = execution.run(walk, Iteration { seed: 0, index }).unwrap().0;
            assert_eq!(outcome, Outcome::Passed, "iteration {index}");
        }
    });
}
