//! Traces of programs that were edited since: an added print or a removed line does not lose the bug, and if
//! the bug does not occur, this is not called a pass.

use super::c_programs::{self, Built};
use super::{golden, guest, process};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::replay::{Replayed, replay};
use coyote_wasm::tester::Tester;
use coyote_wasm::trace::Trace;
use std::sync::Arc;

/// Two workers add 1 to a counter without a lock. `$print` imitates printing: it takes a lock and copies a
/// text, operation by operation.
const PROGRAM: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (import "coyote" "mutex_lock" (func $lock (param i32 i64) (result i32)))
  (import "coyote" "mutex_unlock" (func $unlock (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x900) "the counter is not 2")
  (table 1 funcref)
  (elem (i32.const 0) $add)
  (func $print (local $at i32)
    (drop (call $lock (i32.const 0xa00) (i64.const -1)))
    (local.set $at (i32.const 40))
    (loop $more
      (i32.store offset=0xc00 (local.get $at) (i32.load offset=0xb00 (local.get $at)))
      (br_if $more (local.tee $at (i32.sub (local.get $at) (i32.const 4)))))
    (drop (call $unlock (i32.const 0xa00))))
  (func $add (param i32) (local $seen i32)
    ;; before
    (local.set $seen (i32.load (i32.const 0x800)))
    ;; between
    (i32.store (i32.const 0x800) (i32.add (local.get $seen) (i32.const 1)))
    ;; after
    )
  (func (export "coyote.test.racy") (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b))
    (if (i32.ne (i32.load (i32.const 0x800)) (i32.const 2))
      (then (call $fail (i32.const 0x900) (i32.const 20))))))"#;

const PRINT: &str = "(call $print)";
/// Accesses in the same function, of the same kinds as those of the bug.
const ACCESSES: &str = "(i32.store (i32.const 0x810) (i32.load (i32.const 0x814)))";

fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(PROGRAM.to_string(), |text, (mark, code)| {
        let mark = format!(";; {mark}\n");
        assert!(text.contains(&mark));
        text.replace(&mark, &format!("{code}\n"))
    })
}

fn fixed() -> String {
    edited(&[
        ("before", "(drop (call $lock (i32.const 0xa00) (i64.const -1)))"),
        ("after", "(drop (call $unlock (i32.const 0xa00)))"),
    ])
}

/// The trace of the first bug under a seed.
fn found(artifact: &Arc<Artifact>, seed: u64) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(artifact.clone());
    tester.traces = directory.path().into();
    tester.seed = seed;
    tester.budget.timeout = None;
    // Found within some hundred iterations, even if two workers that print are far apart.
    tester.explore("racy", "pct:3").unwrap().bugs.swap_remove(0).trace
}

fn followed(artifact: &Arc<Artifact>, trace: &Trace) -> Replayed {
    guest::with(artifact, "racy", &guest::settings(), |execution| replay(execution, trace, true).unwrap())
}

const SEEDS: u64 = 20;

#[test]
fn an_edit_does_not_lose_the_bug() {
    let edits: Vec<Vec<(&str, &str)>> = vec![
        vec![("before", PRINT)],
        vec![("between", PRINT)],
        vec![("after", PRINT)],
        vec![("before", PRINT), ("between", PRINT), ("after", PRINT)],
        vec![("before", ACCESSES)],
        vec![("between", ACCESSES)],
        vec![("before", ACCESSES), ("after", ACCESSES)],
    ];
    let plain = guest::from_text(PROGRAM);
    for edits in &edits {
        let other = guest::from_text(&edited(edits));
        for seed in 0..SEEDS {
            // The operations that were added, and those that were removed; but if two of three equal pairs
            // are gone, it cannot be known which.
            let ambiguous = edits.iter().filter(|edit| edit.1 == ACCESSES).count() > 1;
            let both = [(&plain, &other), (&other, &plain)];
            for (from, to) in both.into_iter().take(if ambiguous { 1 } else { 2 }) {
                let trace = found(from, seed);
                let replayed = followed(to, &trace);
                assert!(replayed.outcome.is_bug(), "{edits:?}, seed {seed}: {replayed:?}");
                assert!(replayed.divergence.is_some() && !replayed.reproduces(&trace));
            }
        }
    }
}

/// However often the schedule is followed, a program without the bug has none.
#[test]
fn a_fix_is_not_called_a_bug() {
    let (plain, fixed) = (guest::from_text(PROGRAM), guest::from_text(&fixed()));
    for seed in 0..SEEDS {
        assert!(!followed(&fixed, &found(&plain, seed)).outcome.is_bug(), "seed {seed}");
    }
}

/// Word for word: the same module, one with another comment, a print, and a fix; exit code 4 if no bug was
/// found.
#[test]
fn what_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (name, text) in [
        ("before.wat", PROGRAM.to_string()),
        ("comment.wat", PROGRAM.replace(";; before", ";; A comment changes no code.")),
        ("print.wat", edited(&[("before", PRINT), ("after", PRINT)])),
        ("fixed.wat", fixed()),
    ] {
        std::fs::write(at.join(name), text).unwrap();
    }
    let found = process::run(at, &["test", "before.wat", "--seed", "0"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let mut text = String::new();
    for arguments in [
        &["replay", "comment.wat", &trace][..],
        &["replay", "before.wat", &trace, "--lenient"],
        &["replay", "print.wat", &trace],
        &["replay", "print.wat", &trace, "--lenient"],
        &["replay", "fixed.wat", &trace, "--lenient"],
    ] {
        let ended = process::run(at, arguments);
        text += &format!("$ coyote-wasm {}\n{}\n", arguments.join(" "), golden::text(&ended));
    }
    golden::check("lenient", &text);
}

/// In C, with lines: a print changes the numbers of all functions after those that it links.
#[test]
fn a_print_in_a_c_program() {
    const PROGRAM: &str = "
        #include <assert.h>
        #include <pthread.h>
        #include <stdio.h>
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static volatile int counter;
        static void *add(void *p) {
            /* before */
            int seen = counter;
            counter = seen + 1;
            /* after */
            return p;
        }
        int main(void) {
            pthread_t a, b;
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
            pthread_create(&a, 0, add, 0);
            pthread_create(&b, 0, add, 0);
            pthread_join(a, 0);
            pthread_join(b, 0);
            assert(counter == 2);
            return 0;
        }";
    let print = PROGRAM.replace("/* before */", "fprintf(stderr, \"adds to %d\\n\", counter);");
    let fixed = PROGRAM
        .replace("/* before */", "pthread_mutex_lock(&mutex);")
        .replace("/* after */", "pthread_mutex_unlock(&mutex);");
    let flags = ["-O1", "-g"];
    let Some(Built { directory, .. }) = c_programs::build(PROGRAM, &flags) else { return };
    let at = directory.path();
    let found = process::run(at, &["test", "program.wasm", "--races", "off", "--seed", "0"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = at.join(found.line("  trace:  ").trim_start_matches("  trace:  "));
    let replay = |program: &str| {
        let built = c_programs::build(program, &flags).expect("it could be built before");
        process::run(
            built.directory.path(),
            &["replay", "program.wasm", trace.to_str().unwrap(), "--lenient"],
        )
    };
    let printed = replay(&print);
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert!(printed.line(". A bug of the same kind was found").contains("assertion failed"), "{printed:?}");
    let fixed = replay(&fixed);
    assert_eq!(fixed.code, Some(4), "{fixed:?}");
    assert!(!fixed.stdout.contains("passes"), "{fixed:?}");
    let left = fixed.line(". The trace was left at choice ");
    assert!(left.contains(", at add (program.c:8:"), "{fixed:?}");
    assert!(left.contains("): its schedule was not followed"), "{fixed:?}");
    assert!(left.ends_with("and is no evidence of a fix"), "{fixed:?}");
}
