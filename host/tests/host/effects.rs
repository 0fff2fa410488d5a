//! For each class of effect that a step can have, all searches reach the same ends. The table in
//! ARCHITECTURE.md names the test of each.
//!
//! Plain depth-first search is the reference. Most programs are two workers whose order can be observed.

use super::c_programs::{can, compile as compile_c};
use super::generated::{enumerate, search as classes_of};
use super::guest::{self, options_for, settings};
use super::{process, search};
use coyote_cc::Language;
use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::{Analyses, Draft, Options, Pass, Pipeline, Points, instrument};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::search::{Advance, by_name};
use coyote_wasm::tester::Tester;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The output and the end of an execution.
fn end(execution: &Execution, outcome: &Outcome) -> String {
    let said: String =
        execution.runtime().output.iter().map(|o| String::from_utf8_lossy(&o.text).into_owned()).collect();
    let (kind, message) = outcome.describe();
    format!("{said} {kind} {message}")
}

/// All ends that a search reaches.
fn ends(wasm: &[u8], options: &Options, settings: &Settings, strategy: &str) -> BTreeSet<String> {
    let artifact = guest::compile(wasm, options).unwrap();
    guest::with(&artifact, "t", settings, |execution| {
        let mut ends = BTreeSet::new();
        search::exhaust(strategy, execution, |execution, outcome| {
            ends.insert(end(execution, outcome));
        });
        ends
    })
}

const SEARCHES: &[&str] =
    &["dpor", "dfs+hb", "preemption-bounding+hb", "stateful", "preemption-bounding+states", "ses"];

/// Two workers, each given as the body of a function, and further declarations. A worker that can observe the
/// order writes bytes from 0x100 on, and the test prints them at the end.
struct Pair {
    name: &'static str,
    declares: &'static str,
    first: &'static str,
    second: &'static str,
    /// Whether the guest itself has to report what is touched; otherwise the host knows it.
    told: bool,
}

const fn pair(
    name: &'static str,
    declares: &'static str,
    first: &'static str,
    second: &'static str,
    told: bool,
) -> Pair {
    Pair { name, declares, first, second, told }
}

impl Pair {
    fn wasm(&self) -> Vec<u8> {
        let Pair { declares, first, second, .. } = self;
        let text = format!(
            r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "log" (func $log (param i32 i32)))
  (memory (export "memory") 1 2)
  (data (i32.const 0x100) "......")
  (table $t 10 12 funcref)
  (elem (i32.const 0) $w1 $w2 $five $eight)
  (elem declare func $five $eight)
  (elem $passive func $eight $eight)
  (data $bytes "passive")
  (type $say (func (param i32)))
  {declares}
  ;; Says a number as a letter.
  (func $say (param $at i32) (param $number i32)
    (i32.store8 (local.get $at) (i32.add (i32.const 0x61) (local.get $number))))
  (func $five (param i32) (call $say (i32.const 0x101) (i32.const 5)))
  (func $eight (param i32) (call $say (i32.const 0x101) (i32.const 8)))
  (func $w1 (param i32) {first})
  (func $w2 (param i32) {second})
  (func (export "coyote.test.t") (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (i32.const 1) (i32.const 2) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a)) (call $join (local.get $b))
    (call $log (i32.const 0x100) (i32.const 6))))"#
        );
        wat::parse_str(&text).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}

const CALL_4: &str = "(call_indirect (type $say) (i32.const 0) (i32.const 4))";
const CALL_2: &str = "(call_indirect (type $say) (i32.const 0) (i32.const 2))";
const SIZE: &str = "(call $say (i32.const 0x102) (memory.size))";
const GROW: &str = "(drop (memory.grow (i32.const 1)))";

const PAIRS: &[Pair] = &[
    pair("memory grows, its size is asked", "", GROW, SIZE, true),
    pair(
        "memory grows, its size goes to a global",
        "(global $g (mut i32) (i32.const 0))",
        "(drop (memory.grow (i32.const 1))) (call $say (i32.const 0x103) (global.get $g))",
        "(global.set $g (memory.size))",
        true,
    ),
    pair(
        "one of two growths is refused",
        "",
        "(call $say (i32.const 0x102) (i32.add (i32.const 1) (memory.grow (i32.const 1))))",
        "(call $say (i32.const 0x103) (i32.add (i32.const 1) (memory.grow (i32.const 1))))",
        false,
    ),
    pair(
        "memory grows, an access lies beyond",
        "",
        GROW,
        "(i32.store8 (i32.const 0x10100) (i32.const 1))",
        false,
    ),
    pair(
        "an entry of a table is set and called",
        "",
        "(table.set $t (i32.const 4) (table.get $t (i32.const 3)))",
        CALL_4,
        true,
    ),
    pair(
        "an entry is replaced and called",
        "",
        "(table.set $t (i32.const 2) (ref.func $eight))",
        CALL_2,
        true,
    ),
    pair(
        "a table is filled and read",
        "",
        "(table.fill $t (i32.const 2) (ref.null func) (i32.const 2))",
        "(call $say (i32.const 0x102) (ref.is_null (table.get $t (i32.const 3))))",
        true,
    ),
    pair(
        "a table is copied within itself and called",
        "",
        "(table.copy $t $t (i32.const 2) (i32.const 3) (i32.const 2))",
        CALL_2,
        true,
    ),
    pair(
        "entries come from a segment that is dropped",
        "",
        "(elem.drop $passive)",
        "(table.init $t $passive (i32.const 5) (i32.const 0) (i32.const 1))",
        true,
    ),
    pair(
        "a table grows, its size is asked",
        "",
        "(drop (table.grow $t (ref.null func) (i32.const 1)))",
        "(call $say (i32.const 0x102) (table.size $t))",
        true,
    ),
    pair(
        "one of two growths of a table is refused",
        "",
        "(call $say (i32.const 0x102) (i32.sub (table.grow $t (ref.null func) (i32.const 2)) (i32.const 8)))",
        "(call $say (i32.const 0x103) (i32.sub (table.grow $t (ref.null func) (i32.const 1)) (i32.const 8)))",
        true,
    ),
    pair(
        "a global is set and read",
        "(global $g (mut i64) (i64.const 0))",
        "(global.set $g (i64.const 1))",
        "(call $say (i32.const 0x102) (i32.wrap_i64 (global.get $g)))",
        true,
    ),
    pair(
        "which of two values a global keeps",
        "(global $g (mut i32) (i32.const 0))",
        "(global.set $g (i32.const 1)) (drop (i32.load (i32.const 0x200))) \
         (call $say (i32.const 0x102) (global.get $g))",
        "(global.set $g (i32.const 2))",
        true,
    ),
    pair(
        "what a copy reads is written",
        "",
        "(memory.copy (i32.const 0x102) (i32.const 0x200) (i32.const 1))",
        "(i32.store8 (i32.const 0x200) (i32.const 0x62))",
        false,
    ),
    pair(
        "the end of a long access is written",
        "",
        "(i64.store (i32.const 0x100) (i64.const 0x6161616161616161))",
        "(i32.store8 (i32.const 0x105) (i32.const 0x62))",
        false,
    ),
    pair(
        "a segment is dropped and read",
        "",
        "(data.drop $bytes)",
        "(memory.init $bytes (i32.const 0x102) (i32.const 0) (i32.const 1))",
        true,
    ),
];

#[test]
fn whoever_can_tell_the_order_of_two_steps_makes_it_matter() {
    for pair in PAIRS {
        let wasm = pair.wasm();
        let truth = ends(&wasm, &Options::default(), &settings(), "dfs");
        assert!(truth.len() > 1, "{}: {truth:?}", pair.name);
        for strategy in SEARCHES {
            let found = ends(&wasm, &options_for(strategy), &settings(), strategy);
            assert_eq!(found, truth, "{}: {strategy}", pair.name);
        }
        // A guest that reports nothing shows that the reports are needed.
        if pair.told {
            let untold = ends(&wasm, &Options::default(), &settings(), "dpor");
            assert!(untold.len() < truth.len(), "{}: {untold:?}", pair.name);
        }
    }
}

/// Each worker writes a cell and prints the value of the other one's.
const CELLS: Pair = pair(
    "cells",
    "",
    "(i32.store8 (i32.const 0x180) (i32.const 1))
     (call $say (i32.const 0x102) (i32.load8_u (i32.const 0x181)))
     (memory.copy (i32.const 0x103) (i32.const 0x102) (i32.const 1))",
    "(i32.store8 (i32.const 0x181) (i32.const 1))
     (call $say (i32.const 0x104) (i32.atomic.load8_u (i32.const 0x180)))
     (memory.fill (i32.const 0x105) (i32.const 0x78) (i32.const 1))",
    true,
);

/// Accesses that are no scheduling points are still part of the step.
#[test]
fn accesses_that_are_no_points_are_seen() {
    let wasm = CELLS.wasm();
    let left_out = |pattern: &str| Options { no_points_in: vec![pattern.into()], ..Options::default() };
    let cases = [
        Options { points: Points::Sync, ..Options::default() },
        Options { points: Points::Atomic, ..Options::default() },
        Options { atomic_fns: vec!["w1".into()], ..Options::default() },
        Options { atomic_fns: vec!["w1".into(), "w2".into(), "say".into()], ..Options::default() },
        left_out("w2"),
        left_out("*"),
        Options { points_only_in: vec!["w1".into()], ..Options::default() },
    ];
    for options in cases {
        let truth = ends(&wasm, &options, &settings(), "dfs");
        assert!(truth.len() > 1, "{options:?}: {truth:?}");
        let told = Options { footprints: true, ..options.clone() };
        for strategy in ["dpor", "dfs+hb"] {
            assert_eq!(ends(&wasm, &told, &settings(), strategy), truth, "{options:?}: {strategy}");
        }
        let untold = ends(&wasm, &options, &settings(), "dpor");
        assert!(untold.len() < truth.len(), "{options:?}: {untold:?}");
    }
}

/// The number of executions that `dpor` counts with some jobs, for each test of a module.
fn counted(module: &str, points: &str, jobs: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = super::examples::module_path(module);
    let options = ["--points", points, "-s", "dpor", "--seed", "0", "-t", "60", "-j", jobs];
    let arguments = [&["test", path.to_str().unwrap(), "--format", "json"], &options[..]].concat();
    let ended = process::run(directory.path(), &arguments);
    let text: serde_json::Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    let tests = text["tests"].as_array().unwrap_or_else(|| panic!("{text}"));
    let counts = tests.iter().map(|t| {
        let searched = &t["search"];
        assert_eq!(searched["exhausted"], true, "{module} {points} {jobs}: {t}");
        format!("{} {}; ", t["name"], searched["counts"]["executions"])
    });
    counts.collect()
}

#[test]
fn jobs_make_no_difference_with_any_points() {
    for points in ["sync", "atomic"] {
        let one = counted("counts", points, "1");
        for jobs in ["2", "8"] {
            assert_eq!(counted("counts", points, jobs), one, "--points {points} with {jobs} jobs");
        }
    }
}

/// N workers exchange 0 for their number: only which is first matters.
fn exchanges(workers: usize) -> String {
    let mut text = String::from(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $w)
  (func $w (param $n i32)
    (drop (i32.atomic.rmw.cmpxchg (i32.const 0x100) (i32.const 0) (local.get $n))))
  (func (export "coyote.test.t")"#,
    );
    for n in 1..=workers {
        write!(text, "(drop (call $spawn (i32.const 0) (i32.const {n}) (i32.const 0) (i32.const 0)))")
            .unwrap();
    }
    text + "))"
}

fn told() -> Options {
    Options { footprints: true, ..Options::default() }
}

/// The number of executions of `dpor` for this text.
fn executions(text: &str, options: &Options) -> u64 {
    let artifact = guest::compile(&wat::parse_str(text).unwrap(), options).unwrap();
    guest::with(&artifact, "t", &settings(), |execution| {
        let mut search = by_name::<Execution>("dpor", 0, None).unwrap();
        while search.advance(execution, u64::MAX) != Advance::Exhausted {}
        search.counts().executions
    })
}

#[test]
fn a_failed_compare_exchange_is_a_read() {
    for workers in 1..=5 {
        let text = exchanges(workers);
        assert_eq!(executions(&text, &told()), workers as u64, "{workers} workers");
    }
    // If they are writes, all orders differ.
    assert_eq!(executions(&exchanges(4), &Options::default()), 24);
}

/// A random program of a few loads, stores and compare-exchanges of all widths.
fn of_exchanges(rng: &mut ChoiceRng) -> String {
    let mut text = String::from(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
"#,
    );
    let workers = 2 + rng.below(2);
    for worker in 0..workers {
        write!(text, "(func $w{worker} (param i32)").unwrap();
        for _ in 0..1 + rng.below(if workers == 2 { 3 } else { 2 }) {
            let address = format!("(i32.const {})", 0x100 + 8 * rng.below(2));
            let (expected, new) = (rng.below(3), rng.below(3));
            let code = match rng.below(6) {
                0 => format!("(drop (i32.atomic.load {address}))"),
                1 => format!("(i32.atomic.store {address} (i32.const {new}))"),
                // Only the low bits of the expected value are compared, as many as the access has.
                2 => format!(
                    "(drop (i32.atomic.rmw8.cmpxchg_u {address} (i32.const {}) (i32.const {new})))",
                    expected + 0x100 * rng.below(2)
                ),
                3 => format!(
                    "(drop (i64.atomic.rmw32.cmpxchg_u {address} (i64.const {expected}) (i64.const {new})))"
                ),
                4 => format!(
                    "(drop (i64.atomic.rmw.cmpxchg {address} (i64.const {expected}) (i64.const {new})))"
                ),
                _ => format!(
                    "(drop (i32.atomic.rmw.cmpxchg {address} (i32.const {expected}) (i32.const {new})))"
                ),
            };
            text += &code;
        }
        text += ")\n";
    }
    let names: Vec<String> = (0..workers).map(|w| format!("$w{w}")).collect();
    write!(text, "(table {workers} funcref) (elem (i32.const 0) {})", names.join(" ")).unwrap();
    text += "(func (export \"coyote.test.t\")";
    for worker in 0..workers {
        write!(text, "(drop (call $spawn (i32.const {worker}) (i32.const 0) (i32.const 0) (i32.const 0)))")
            .unwrap();
    }
    text + "))"
}

/// Naive enumeration of all schedules, each with its class, compared with the executions of `dpor`.
#[test]
fn dpor_executes_each_class_of_compare_exchanges_once() {
    let (mut done, mut classes) = (0, 0);
    for index in 0..60 {
        let text = of_exchanges(&mut ChoiceRng::new(Iteration { seed: 31, index }));
        let artifact = guest::compile(&wat::parse_str(&text).unwrap(), &told()).unwrap();
        guest::with(&artifact, "t", &settings(), |execution| {
            let Some(truth) = enumerate(execution) else { return };
            let found = classes_of(execution);
            assert!(found.values().all(|times| *times == 1), "a class is executed twice: {text}");
            assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), truth, "{text}");
            (done, classes) = (done + 1, classes + truth.len());
        });
    }
    assert!(done > 30 && classes > 3 * done, "{classes} classes in {done} programs");
}

/// A worker that is suspended in a call through a table continues in the function that it is in, whatever the
/// table contains at that time: also deeper in the stack, where frames of the two functions look alike, and
/// if its entry is gone.
#[test]
fn a_call_through_a_table_ends_in_the_function_in_which_it_began() {
    let module = |change: &str| {
        format!(
            r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (table $t 4 8 funcref)
  (elem (table 0) (i32.const 0) func $caller $changer)
  (elem (table $t) (i32.const 2) func $five $through)
  (elem declare func $eight)
  (func $writes (param $n i32)
    (i32.store (i32.const 0x100) (local.get $n))
    (i32.store (i32.const 0x104) (local.get $n)))
  (func $five (result i32) (call $writes (i32.const 5)) (i32.const 5))
  (func $eight (result i32) (call $writes (i32.const 8)) (i32.const 8))
  (func $through (result i32) (call_indirect $t (result i32) (i32.const 2)))
  (func $caller (param i32)
    (i32.store (i32.const 0x108) (call_indirect $t (result i32) (i32.const 3))))
  (func $changer (param i32) {change})
  (func (export "coyote.test.t") (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b))
    (if (i32.or (i32.ne (i32.load (i32.const 0x100)) (i32.load (i32.const 0x104)))
                (i32.ne (i32.load (i32.const 0x100)) (i32.load (i32.const 0x108))))
      (then (call $fail (i32.const 0) (i32.const 0))))
    (if (i32.eq (i32.load (i32.const 0x100)) (i32.const 8))
      (then (call $fail (i32.const 0x100) (i32.const 1))))))"#
        )
    };
    let passes = " passed ".to_string();
    let eight = " assertion \u{8}".to_string();
    let gone = |why: &str| format!(" trap {why}");
    for (change, other) in [
        ("(table.set $t (i32.const 2) (ref.func $eight))", eight),
        ("(table.set $t (i32.const 2) (ref.null func))", gone("call through a null function pointer")),
        (
            "(table.fill $t (i32.const 0) (ref.null func) (i32.const 4))",
            gone("call through a null function pointer"),
        ),
    ] {
        let wasm = wat::parse_str(module(change)).unwrap();
        let expected = BTreeSet::from([passes.clone(), other]);
        for strategy in [&["dfs"], SEARCHES].concat() {
            assert_eq!(ends(&wasm, &told(), &settings(), strategy), expected, "{strategy}: {change}");
        }
    }
}

/// N workers, each of which creates another one with the body `child`, whose argument `$n` is its creator's.
fn creators(workers: usize, child: &str) -> String {
    let mut text = format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "current" (func $current (result i32)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (elem (i32.const 0) $creator $child)
  (func $child (param $n i32) {child})
  (func $creator (param $n i32)
    (call $join (call $spawn (i32.const 1) (local.get $n) (i32.const 0) (i32.const 0))))
  (func (export "coyote.test.t")"#
    );
    for n in 1..=workers {
        write!(text, "(drop (call $spawn (i32.const 0) (i32.const {n}) (i32.const 0) (i32.const 0)))")
            .unwrap();
    }
    text + "))"
}

/// The guest's name of a worker does not depend on which other worker was created first.
#[test]
fn creations_by_different_workers_commute() {
    let says = "(i32.store (i32.mul (i32.const 0x100) (local.get $n)) (call $current))";
    for child in ["", says] {
        for workers in 1..=4 {
            assert_eq!(executions(&creators(workers, child), &told()), 1, "{workers} workers: {child}");
        }
        let wasm = wat::parse_str(creators(2, child)).unwrap();
        let artifact = guest::compile(&wasm, &told()).unwrap();
        guest::with(&artifact, "t", &settings(), |execution| {
            let mut memories = BTreeSet::new();
            search::exhaust("dfs", execution, |execution, _| {
                memories.insert(execution.machine().memory()[0x100..0x400].to_vec());
            });
            assert_eq!(memories.len(), 1, "{child}");
        });
    }
    // Orders that can be distinguished are not lost.
    let race = "(i32.store (i32.const 0x100) (local.get $n))";
    assert_eq!(executions(&creators(3, race), &told()), 6);
}

/// The order of timeouts that fall due at the same time does not depend on which worker was created first
/// either.
#[test]
fn equal_deadlines_do_not_depend_on_who_was_created_first() {
    let sleeps = r#"(call $sleep (i64.const 1000))
        (i32.store8 (i32.add (i32.const 0x100) (i32.atomic.rmw.add (i32.const 0x200) (i32.const 1)))
                    (local.get $n))"#;
    let text = creators(2, sleeps).replacen(
        "(memory",
        "(import \"coyote\" \"sleep\" (func $sleep (param i64)))\n(memory",
        1,
    );
    let wasm = wat::parse_str(&text).unwrap();
    let all = |strategy: &str| {
        let artifact = guest::compile(&wasm, &options_for(strategy)).unwrap();
        guest::with(&artifact, "t", &settings(), |execution| {
            let mut memories = BTreeSet::new();
            search::exhaust(strategy, execution, |execution, _| {
                memories.insert(execution.machine().memory()[0x100..0x102].to_vec());
            });
            memories
        })
    };
    let truth = all("stateful");
    assert!(!truth.is_empty());
    for strategy in ["dpor", "dfs+hb"] {
        assert_eq!(all(strategy), truth, "{strategy}");
    }
}

/// A C program with one test: its beginning, and the value of `WANT` in each variant. Each variant fails in
/// some schedule and not in another.
struct InC {
    name: &'static str,
    program: &'static str,
    variants: &'static [&'static str],
}

const THREADS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
static void *a(void *);
static void *b(void *);
static void both(void) {
  pthread_t t, u;
  pthread_create(&t, 0, a, 0);
  pthread_create(&u, 0, b, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"#;

const IN_C: &[InC] = &[
    InC {
        name: "a stale pointer between a free and the request that gets the same block",
        program: r#"
int *volatile p, *volatile keep; volatile int x;
static void *a(void *q) { int *r = p; if (r) (void)*(volatile int *)r; return q; }
static void *b(void *q) {
  int *r = p; p = 0; free(r); (void)x;
  r = malloc(4); *r = 1; keep = r; return q; }
int main(void) { int *r = malloc(4); *r = 0; p = r; both(); return WANT - 1; }
"#,
        variants: &["1"],
    },
    InC {
        name: "a stale pointer is freed between a free and the request that gets the same block",
        program: r#"
int *volatile p, *volatile keep; volatile int x;
static void *a(void *q) { int *r = p; if (r) free(r); return q; }
static void *b(void *q) {
  int *r = p; p = 0; free(r); (void)x;
  r = malloc(4); keep = r; return q; }
int main(void) { p = malloc(4); both(); return WANT - 1; }
"#,
        variants: &["1"],
    },
    InC {
        name: "which of two requests gets the last memory",
        program: r#"
void *volatile k1, *volatile k2;
static void *a(void *q) { k1 = malloc(300 << 20); return q; }
static void *b(void *q) { k2 = malloc(300 << 20); return q; }
int main(void) { both(); return (k1 != 0) == WANT; }
"#,
        variants: &["0", "1"],
    },
    InC {
        name: "a request that makes memory grow, and its size",
        program: r#"
volatile unsigned size; void *volatile block;
static void *a(void *q) { block = malloc(8 << 20); return q; }
static void *b(void *q) { size = __builtin_wasm_memory_size(0); return q; }
int main(void) {
  unsigned before = __builtin_wasm_memory_size(0);
  /* The threads' stacks take a part as well. */
  both(); return (size < before + 128) == WANT; }
"#,
        variants: &["0", "1"],
    },
    InC {
        name: "writing to one stream",
        program: r#"
FILE *f;
static void *a(void *q) { fputc('a', f); return q; }
static void *b(void *q) { fputc('b', f); return q; }
int main(void) { f = fopen("/x", "w+"); assert(f); both(); rewind(f); return fgetc(f) == WANT; }
"#,
        variants: &["'a'", "'b'"],
    },
    InC {
        name: "reading from one stream",
        program: r#"
FILE *f; volatile int va;
static void *a(void *q) { va = fgetc(f); return q; }
static void *b(void *q) { fgetc(f); return q; }
int main(void) {
  f = fopen("/x", "w+"); assert(f); fputs("12", f); rewind(f); both(); return va == WANT; }
"#,
        variants: &["'1'", "'2'"],
    },
    InC {
        name: "handlers of exit",
        program: r#"
static int first;
static void ha(void) { if (!first) first = 'a'; }
static void hb(void) { if (!first) first = 'b'; }
static void check(void) { if (first == WANT) abort(); }
static void *a(void *q) { atexit(ha); return q; }
static void *b(void *q) { atexit(hb); return q; }
int main(void) { atexit(check); both(); return 0; }
"#,
        variants: &["'a'", "'b'"],
    },
    InC {
        name: "the current directory",
        program: r#"
static void *a(void *q) { assert(!chdir("/a")); return q; }
static void *b(void *q) { assert(!chdir("/b")); return q; }
int main(void) {
  char where[64]; assert(!mkdir("/a", 0777)); assert(!mkdir("/b", 0777));
  both(); assert(getcwd(where, 64)); return where[1] == WANT; }
"#,
        variants: &["'a'", "'b'"],
    },
    InC {
        name: "a key's number",
        program: r#"
static pthread_key_t ka, kb;
static void *a(void *q) { pthread_key_create(&ka, 0); return q; }
static void *b(void *q) { pthread_key_create(&kb, 0); return q; }
int main(void) { both(); return (ka < kb) == WANT; }
"#,
        variants: &["0", "1"],
    },
    InC {
        name: "time before it is first read",
        program: r#"
static volatile int word;
static void *a(void *q) { __builtin_wasm_memory_atomic_wait32((int *)&word, 0, 3000000000ll); return q; }
static void *b(void *q) { __builtin_wasm_memory_atomic_notify((int *)&word, 1); return q; }
int main(void) {
  both(); struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (t.tv_sec >= 3) == WANT; }
"#,
        variants: &["0", "1"],
    },
];

/// The assumptions of a search must not let it prove what another search refutes.
#[test]
fn no_search_proves_what_another_refutes() {
    if !can(Language::C) {
        return;
    }
    for InC { name, program, variants } in IN_C {
        for want in *variants {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join("program.c"), format!("{THREADS}{program}")).unwrap();
            let source = directory.path().join("program.c");
            let flag = format!("-DWANT={want}");
            compile_c(Language::C, &source, &directory.path().join("program.wasm"), &["-O0", &flag])
                .unwrap_or_else(|log| panic!("{name}: {log}"));
            for strategy in ["dpor", "dfs+hb", "stateful", "preemption-bounding+states:2", "ses"] {
                let arguments = ["test", "program.wasm", "--seed", "0", "-t", "60", "-s", strategy];
                let plain = ["--no-shrink", "--no-experiments"];
                let ended = process::run(directory.path(), &[&arguments[..], &plain].concat());
                assert_eq!(ended.code, Some(2), "{name}, {want}: {strategy}: {ended:?}");
                let trace = ended.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
                let replayed = process::run(directory.path(), &["replay", "program.wasm", &trace]);
                assert_eq!(replayed.code, Some(2), "{name}, {want}: {strategy}: {replayed:?}");
            }
        }
    }
}

/// A user's pass that counts how often it runs.
struct Counting(Arc<AtomicU32>);

impl Pass for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn run(&self, _: &mut Draft, _: &mut Analyses) -> Result<(), coyote_wasm::instrumenter::Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_module_that_does_not_tell_is_instrumented_anew_or_refused() {
    let wasm = wat::parse_str(exchanges(2)).unwrap();
    let executions =
        |tester: &Tester| tester.explore("t", "dpor").map(|e| e.search.unwrap().counts.executions);
    assert_eq!(executions(&Tester::new(&wasm).unwrap()).unwrap(), 2);
    let runs = Arc::new(AtomicU32::new(0));
    let counted = || Pipeline::new().with(Counting(runs.clone()));
    assert_eq!(executions(&Tester::with(&wasm, &told(), counted()).unwrap()).unwrap(), 2);
    assert_eq!(runs.load(Ordering::Relaxed), 1, "it tells already");
    assert_eq!(executions(&Tester::with(&wasm, &Options::default(), counted()).unwrap()).unwrap(), 2);
    assert_eq!(runs.load(Ordering::Relaxed), 3, "anew, with the user's pass");
    let made = instrument(&wasm, &Options::default()).unwrap();
    let made = Artifact::compile(&engine(None).unwrap(), wasm.into(), made, Options::default()).unwrap();
    let refused = executions(&Tester::of(Arc::new(made))).unwrap_err();
    assert!(refused.to_string().contains("instrument it with Options::footprints"), "{refused}");
}
