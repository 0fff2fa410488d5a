//! Loops in which a lock waits for a moment before it blocks: with scheduling points in the first round alone, programs end
//! in the same states as with points in every round, which plain enumeration finds.

use super::guest;
use super::search::exhaust;
use coyote_wasm::instrumenter::Options;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::collections::BTreeSet;

/// The state of a lock, whether others wait, and what comes of the loops.
const MEMORY: std::ops::Range<usize> = 4096..4128;

/// A value that some worker stores at an address.
type Store = (u32, u32);

/// A worker that waits in loops of musl's and of std's locks, with three rounds each, and two others that store.
fn program(stores: &[Vec<Store>]) -> String {
    let body = |stores: &Vec<Store>| {
        let store = |(at, value): &Store| format!("(i32.atomic.store (i32.const {at}) (i32.const {value}))");
        stores.iter().map(store).collect::<String>()
    };
    let [first, second] = [&stores[0], &stores[1]].map(body);
    format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 4096) "\01")
  (table funcref (elem $first $second))
  (func $first (param i32) {first})
  (func $second (param i32) {second})
  (func $__wait (param $state i32) (param $waiters i32) (result i32) (local $rounds i32)
    (local.set $rounds (i32.const 3))
    (block $blocks
      (loop $spin
        (br_if $blocks (i32.load (local.get $waiters)))
        (if (i32.ne (i32.load (local.get $state)) (i32.const 1)) (then (return (i32.const 1))))
        (br_if $spin (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1))))))
    (drop (i32.atomic.rmw.add (local.get $waiters) (i32.const 16)))
    (i32.add (i32.const 10) (i32.load (local.get $state))))
  (func $"std::sys::sync::mutex::futex::Mutex::spin" (param $state i32) (result i32)
    (local $rounds i32) (local $seen i32)
    (loop $spin
      (local.set $seen (i32.atomic.load (local.get $state)))
      (local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
      (br_if $spin (i32.and (i32.eq (local.get $seen) (i32.const 1))
                            (i32.lt_u (local.get $rounds) (i32.const 3)))))
    (local.get $seen))
  (func (export "coyote.test.t")
    (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
    (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0))
    (i32.store (i32.const 4112) (call $__wait (i32.const 4096) (i32.const 4100)))
    (i32.store (i32.const 4116) (call $"std::sys::sync::mutex::futex::Mutex::spin" (i32.const 4096)))
    (call $join) (call $join)))"#
    )
}

/// The states in which a program ends, and in how many executions a search finds them.
fn ends(wasm: &[u8], search: &str, brief_spins: bool) -> (BTreeSet<Vec<u8>>, u64) {
    let options = Options { footprints: true, brief_spins, ..Options::default() };
    let artifact = guest::compile(wasm, &options).unwrap();
    guest::with(&artifact, "t", &guest::settings(), |execution| {
        let (mut ends, mut executions) = (BTreeSet::new(), 0);
        exhaust(search, execution, |execution, _| {
            ends.insert(execution.machine().memory()[MEMORY].to_vec());
            executions += 1;
        });
        (ends, executions)
    })
}

#[test]
fn the_first_round_ends_as_all_rounds_do() {
    let mut rng = ChoiceRng::new(Iteration { seed: 1, index: 0 });
    for _ in 0..guest::iterations(8) {
        let stores: Vec<Vec<Store>> = (0..2)
            .map(|_| (0..2).map(|_| (4096 + 4 * rng.below(2) as u32, rng.below(3) as u32)).collect())
            .collect();
        let wasm = wat::parse_str(program(&stores)).unwrap();
        let (expected, many) = ends(&wasm, "dfs", false);
        let (brief, few) = ends(&wasm, "dfs", true);
        assert_eq!(brief, expected, "{stores:?}");
        assert!(few < many, "{few} of {many}");
        for brief_spins in [false, true] {
            assert_eq!(ends(&wasm, "dpor", brief_spins).0, expected, "{stores:?}, {brief_spins}");
        }
    }
}
