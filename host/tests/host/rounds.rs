//! Counts of rounds: programs end in the same states whether counts that nothing can tell apart grow or not, which plain
//! enumeration of generated programs shows; and searches come to an end where a worker waits that counts its rounds.

use super::guest;
use super::search::exhaust;
use coyote_wasm::instrumenter::{Options, intermediate};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::collections::BTreeSet;

/// What the loop leaves.
const MEMORY: std::ops::Range<usize> = 4096..4128;

fn comparison(rng: &mut ChoiceRng, count: &str) -> String {
    let ops = ["eq", "ne", "lt_u", "lt_s", "gt_u", "gt_s", "le_u", "le_s", "ge_u", "ge_s"];
    let op = ops[rng.below(ops.len() as u64) as usize];
    format!("(i32.{op} (local.get {count}) (i32.const {}))", rng.below(5))
}

/// A statement of the loop; `exact` ones let the value of a count be seen, and `unknown` ones let it start anywhere.
fn statement(rng: &mut ChoiceRng, at: u64) -> String {
    let count = ["$a", "$b"][rng.below(2) as usize];
    let other = if count == "$a" { "$b" } else { "$a" };
    let store = format!(
        "(i32.store8 (i32.const {}) (i32.add (i32.load8_u (i32.const {0})) (i32.const 1)))",
        4096 + at
    );
    match rng.below(24) {
        0..7 => format!("(local.set {count} (i32.add (local.get {count}) (i32.const {})))", 1 + rng.below(2)),
        7..13 => format!("(if {} (then {store}))", comparison(rng, count)),
        13 => format!("(local.set {count} (i32.const {}))", rng.below(3)),
        14 => format!("(local.set {count} (i32.const -2))"),
        15 => format!("(local.set {count} (local.get {other}))"),
        16 => format!("(i32.store8 (i32.const {}) (local.get {count}))", 4096 + at),
        17 => format!("(local.set {count} (i32.sub (local.get {count}) (i32.const 1)))"),
        18..20 => format!("(br_if $out {})", comparison(rng, count)),
        20..22 => format!(
            "(if (i32.gt_u (local.tee {count} (i32.add (local.get {count}) (i32.const 1))) (i32.const {})) (then {store}))",
            rng.below(5)
        ),
        22 => format!("(br_if $again {})", comparison(rng, count)),
        _ => format!("(if (i32.and (local.get {count}) (i32.const 1)) (then {store}))"),
    }
}

/// A worker that waits for a flag in at most seven rounds, and counts in two locals; another one sets the flag.
fn program(rng: &mut ChoiceRng) -> String {
    let statements: String = (0..3 + rng.below(4)).map(|at| statement(rng, at)).collect();
    let at_end: String = (8..8 + rng.below(3))
        .map(|at| match rng.below(4) {
            0 => format!("(i32.store8 (i32.const {}) (local.get $a))", 4096 + at),
            _ => statement(rng, at).replace("$again", "$out"),
        })
        .collect();
    let start = ["(i32.const 0)", "(i32.const 0)", "(i32.const -3)", "(i32.const 3)"][rng.below(4) as usize];
    format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table funcref (elem $first))
  (func $first (param i32) (i32.atomic.store (i32.const 64) (i32.const 1)))
  (func $wait (param $a i32) (local $b i32) (local $fuel i32)
    (local.set $fuel (i32.const 7))
    (block $out
      (loop $again
        (br_if $out (i32.eqz (local.tee $fuel (i32.sub (local.get $fuel) (i32.const 1)))))
        {statements}
        (br_if $again (i32.eqz (i32.atomic.load (i32.const 64))))))
    (block $out {at_end}))
  (func (export "coyote.test.t")
    (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $wait {start})
    (call $join (i32.const 1))))"#
    )
}

fn options(rounds: bool) -> Options {
    Options { footprints: true, rounds, ..Options::default() }
}

/// The states in which a program ends.
fn ends(wasm: &[u8], search: &str, rounds: bool) -> BTreeSet<Vec<u8>> {
    let artifact = guest::compile(wasm, &options(rounds)).unwrap();
    guest::with(&artifact, "t", &guest::settings(), |execution| {
        let mut ends = BTreeSet::new();
        exhaust(search, execution, |execution, _| {
            ends.insert(execution.machine().memory()[MEMORY].to_vec());
        });
        ends
    })
}

#[test]
fn programs_end_as_they_do_with_counts_that_grow() {
    let mut rng = ChoiceRng::new(Iteration { seed: 1, index: 0 });
    let (programs, mut changed) = (guest::iterations(300), 0);
    for _ in 0..programs {
        let text = program(&mut rng);
        let wasm = wat::parse_str(&text).unwrap();
        let [with, without] = [true, false].map(|rounds| intermediate(&wasm, &options(rounds)).unwrap());
        if with == without {
            continue;
        }
        changed += 1;
        let expected = ends(&wasm, "dfs", false);
        for search in ["dfs", "dpor"] {
            assert_eq!(ends(&wasm, search, true), expected, "{search}: {text}");
        }
    }
    assert!(changed > programs / 10, "{changed} of {programs}");
}

/// A worker waits as channels of std do, and another one sends. Without the pass no search would end.
#[test]
fn a_worker_that_counts_its_rounds_spins() {
    let text = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table funcref (elem $first))
  (func $first (param i32)
    (i32.atomic.store (i32.const 4100) (i32.const 5))
    (i32.atomic.store (i32.const 4096) (i32.const 1)))
  (func (export "coyote.test.t") (local $rounds i32)
    (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (loop $wait
      (if (i32.ge_u (local.get $rounds) (i32.const 7)) (then (call $yield)))
      (local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
      (br_if $wait (i32.eqz (i32.atomic.load (i32.const 4096)))))
    (i32.atomic.store (i32.const 4104) (i32.atomic.load (i32.const 4100)))
    (call $join (i32.const 1))))"#;
    let wasm = wat::parse_str(text).unwrap();
    let mut expected = vec![0; MEMORY.len()];
    (expected[0], expected[4], expected[8]) = (1, 5, 5);
    for search in ["dpor", "stateful"] {
        assert_eq!(ends(&wasm, search, true), BTreeSet::from([expected.clone()]), "{search}");
    }
}
