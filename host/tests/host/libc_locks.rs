//! Locks that wasi-libc has for itself: programs end in the same states whether the sections that hold these locks are
//! atomic or not, which searches without that find in many more executions, and random schedules only in part.

use super::determinism::{make, random_move};
use super::guest;
use super::search::exhaust;
use coyote_wasm::execution::Execution;
use coyote_wasm::instrumenter::Options;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::collections::BTreeSet;

/// What the program's own accesses leave.
const MEMORY: std::ops::Range<usize> = 4096..4128;

/// Takes the lock of the list of threads, as musl does.
const ACQUIRE: &str = "
  (block $owned
    (br_if $owned (i32.eqz (local.tee $r
      (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (i32.const 0) (local.get $own)))))
    (loop $again
      (call $__wait (i32.const 1024) (i32.const 1028) (local.get $r) (i32.const 0))
      (br_if $again (local.tee $r
        (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (i32.const 0) (local.get $own))))))";

/// Releases it.
const RELEASE: &str = "
  (loop $again
    (br_if $again (i32.ne
      (local.tee $r (i32.load offset=1024 (i32.const 0)))
      (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (local.get $r) (i32.const 0)))))
  (if (i32.load offset=1028 (i32.const 0))
    (then (drop (memory.atomic.notify offset=1024 (i32.const 0) (i32.const 1)))))";

/// Threads that begin and end as those of wasi-libc, each with random accesses, and accesses between their joins. `two`: two
/// threads, else one.
fn program(rng: &mut ChoiceRng, two: bool) -> String {
    let mut accesses = |count| -> String {
        let one = |rng: &mut ChoiceRng| {
            let (cell, value) = (4096 + 4 * rng.below(2), rng.below(3));
            match rng.below(3) {
                0 => format!("(i32.store (i32.const {cell}) (i32.const {value}))"),
                1 => format!("(drop (i32.atomic.rmw.add (i32.const {cell}) (i32.const {})))", value + 1),
                _ => format!(
                    "(i32.store (i32.const {}) (i32.load (i32.const {cell})))",
                    4104 + 4 * rng.below(6)
                ),
            }
        };
        (0..count).map(|_| one(rng)).collect()
    };
    let (first, second, between, at_end) = (accesses(2), accesses(2), accesses(1), accesses(1));
    let (create, join) = match two {
        true => ("(call $__pthread_create (i32.const 2112) (i32.const 9))", "(call $join (i32.const 2112))"),
        false => ("", ""),
    };
    // A thread that ends looks for destructors of its data, and changes data of its own.
    let keys = "
      (drop (call $__pthread_rwlock_rdlock (i32.const 1040)))
      (i32.store offset=40 (local.get $thread) (i32.load (i32.const 1044)))
      (drop (call $__pthread_rwlock_unlock (i32.const 1040)))";
    format!(
        r#"(module
  (import "env" "memory" (memory 1 1 shared))
  (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
  (func $__wait (param $at i32) (param $waiters i32) (param $value i32) (param $private i32)
    (if (local.get $waiters) (then (drop (i32.atomic.rmw.add (local.get $waiters) (i32.const 1)))))
    (loop $again
      (if (i32.eq (i32.load (local.get $at)) (local.get $value))
        (then
          (drop (memory.atomic.wait32 (local.get $at) (local.get $value) (i64.const -1)))
          (br $again))))
    (if (local.get $waiters) (then (drop (i32.atomic.rmw.sub (local.get $waiters) (i32.const 1))))))
  (func $__pthread_rwlock_rdlock (param $lock i32) (result i32) (local $r i32)
    (loop $again
      (local.set $r (i32.load (local.get $lock)))
      (br_if $again (i32.eq (local.get $r) (i32.const 0x7fffffff)))
      (br_if $again (i32.ne (local.get $r)
        (i32.atomic.rmw.cmpxchg (local.get $lock) (local.get $r) (i32.add (local.get $r) (i32.const 1))))))
    (i32.const 0))
  (func $__pthread_rwlock_wrlock (param $lock i32) (result i32)
    (loop $again
      (br_if $again
        (i32.atomic.rmw.cmpxchg (local.get $lock) (i32.const 0) (i32.const 0x7fffffff))))
    (i32.const 0))
  (func $__pthread_rwlock_unlock (param $lock i32) (result i32) (local $r i32)
    (loop $again
      (local.set $r (i32.load (local.get $lock)))
      (br_if $again (i32.ne (local.get $r) (i32.atomic.rmw.cmpxchg (local.get $lock) (local.get $r)
        (select (i32.const 0) (i32.sub (local.get $r) (i32.const 1))
          (i32.eq (local.get $r) (i32.const 0x7fffffff)))))))
    (i32.const 0))
  (func $__pthread_key_create (param $value i32)
    (drop (call $__pthread_rwlock_wrlock (i32.const 1040)))
    (i32.store (i32.const 1044) (local.get $value))
    (drop (call $__pthread_rwlock_unlock (i32.const 1040))))
  (func $__pthread_tsd_run_dtors (param $thread i32) {keys})
  (func $__pthread_create (param $thread i32) (param $own i32) (local $r i32)
    (i32.store offset=28 (local.get $thread) (i32.const 2))
    {ACQUIRE}
    (i32.store (i32.const 1032) (i32.add (i32.load (i32.const 1032)) (i32.const 1)))
    (i32.atomic.store offset=20 (local.get $thread) (call $spawn (local.get $thread)))
    (i32.store (i32.const 1036) (local.get $thread))
    {RELEASE})
  (func $thread (param $own i32) (param $thread i32) (local $r i32)
    (i32.atomic.store offset=20 (local.get $thread) (local.get $own))
    (if (i32.eq (local.get $thread) (i32.const 2048)) (then {first}) (else {second}))
    (call $__pthread_tsd_run_dtors (local.get $thread))
    (drop (i32.atomic.rmw.cmpxchg offset=28 (local.get $thread) (i32.const 2) (i32.const 1)))
    {ACQUIRE}
    (i32.store (i32.const 1032) (i32.sub (i32.load (i32.const 1032)) (i32.const 1)))
    (i32.atomic.store offset=28 (local.get $thread) (i32.const 0))
    (drop (memory.atomic.notify offset=28 (local.get $thread) (i32.const 1))))
  (func (export "wasi_thread_start") (param i32 i32)
    local.get 0
    local.get 1
    call $thread
    i32.const 1024
    i32.const 0
    i32.atomic.store
    i32.const 1024
    i32.const 1
    memory.atomic.notify
    drop)
  (func $join (param $thread i32) (local $state i32)
    (block $ended
      (loop $again
        (br_if $ended (i32.eqz (local.tee $state (i32.load offset=28 (local.get $thread)))))
        (drop (memory.atomic.wait32 offset=28 (local.get $thread) (local.get $state) (i64.const -1)))
        (br $again)))
    (if (local.tee $state (i32.load offset=1024 (i32.const 0)))
      (then
        (call $__wait (i32.const 1024) (i32.const 1028) (local.get $state) (i32.const 0))
        (if (i32.load offset=1028 (i32.const 0))
          (then (drop (memory.atomic.notify offset=1024 (i32.const 0) (i32.const 1))))))))
  (func (export "coyote.test.t")
    (call $__pthread_create (i32.const 2048) (i32.const 9))
    (call $__pthread_key_create (i32.const 7))
    {create}
    (call $join (i32.const 2048))
    {between}
    {join}
    {at_end}))"#
    )
}

/// The state in which an execution has ended: what it has left, and the data of its threads.
fn end(execution: &Execution) -> Vec<u8> {
    assert_eq!(execution.machine().scheduler().outcome, Some(Outcome::Passed));
    let memory = execution.machine().memory();
    [&memory[MEMORY], &memory[2088..2092], &memory[2152..2156]].concat()
}

fn with<R: Send>(wasm: &[u8], libc_locks: bool, run: impl FnOnce(&mut Execution) -> R + Send) -> R {
    let options = Options { footprints: true, libc_locks, ..Options::default() };
    let artifact = guest::compile(wasm, &options).unwrap();
    guest::with(&artifact, "t", &guest::settings(), run)
}

/// All states in which a program ends, and in how many executions a search finds them.
fn ends(wasm: &[u8], libc_locks: bool) -> (BTreeSet<Vec<u8>>, u64) {
    with(wasm, libc_locks, |execution| {
        let (mut ends, mut executions) = (BTreeSet::new(), 0);
        exhaust("dpor", execution, |execution, _| {
            ends.insert(end(execution));
            executions += 1;
        });
        (ends, executions)
    })
}

/// States in which random schedules end, without atomic sections.
fn sampled(wasm: &[u8], schedules: u64) -> BTreeSet<Vec<u8>> {
    with(wasm, false, |execution| {
        let schedule = |index| {
            let mut rng = ChoiceRng::new(Iteration { seed: 3, index });
            execution.begin().unwrap();
            while let Some(next) = random_move(execution, &mut rng) {
                make(execution, next);
            }
            end(execution)
        };
        (0..schedules).map(schedule).collect()
    })
}

#[test]
fn sections_that_hold_them_can_be_atomic() {
    let mut rng = ChoiceRng::new(Iteration { seed: 1, index: 0 });
    for _ in 0..guest::iterations(12) {
        let text = program(&mut rng, false);
        let wasm = wat::parse_str(&text).unwrap();
        let (expected, many) = ends(&wasm, false);
        let (found, few) = ends(&wasm, true);
        assert_eq!(found, expected, "{text}");
        assert!(10 * few < many, "{few} of {many}");
    }
    for _ in 0..guest::iterations(12) {
        let text = program(&mut rng, true);
        let wasm = wat::parse_str(&text).unwrap();
        let (sampled, found) = (sampled(&wasm, 500), ends(&wasm, true).0);
        assert!(sampled.is_subset(&found), "{text}");
    }
}
