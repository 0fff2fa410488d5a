//! Changes of an iteration are not visible in the next one: tables, segments, memory size, globals. Also what
//! a fingerprint includes of a worker's stack.

use super::{guest, search};
use coyote_wasm::execution::Execution;
use coyote_wasm::machine::scheduler::Choice;
use coyote_wasm::machine::stack::RED_ZONE;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Status, System};
use std::collections::BTreeSet;

/// The state after an iteration.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    outcome: Outcome,
    output: Vec<Vec<u8>>,
    memory_bytes: usize,
    results: Vec<u8>,
    fingerprint: u128,
}

/// The address where the guests of this module write what they see.
const RESULTS: usize = 0x800;

fn left(execution: &mut Execution, outcome: Outcome) -> Left {
    let machine = execution.machine();
    Left {
        outcome,
        output: execution.runtime().output.iter().map(|o| o.text.clone()).collect(),
        memory_bytes: machine.memory_bytes(),
        results: machine.memory()[RESULTS..RESULTS + 64].to_vec(),
        fingerprint: execution.fingerprint(),
    }
}

/// Runs a test three times inline and three times step by step; all must leave the same state.
fn same_every_time(module: &str, test: &str) -> Left {
    let artifact = guest::from_file(module);
    guest::with(&artifact, test, &guest::settings(), |execution| {
        let iteration = Iteration { seed: 0, index: 0 };
        let mut all: Vec<Left> = Vec::new();
        for _ in 0..3 {
            let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
            all.push(left(execution, outcome));
            let stepwise = execution.run_stepwise(&mut RandomWalk::default(), iteration, &mut |_| {});
            all.push(left(execution, stepwise.unwrap()));
        }
        let first = all.swap_remove(0);
        for other in all {
            // A trap leaves a worker in the middle of a call, where inline and stepwise frames differ.
            let comparable = Left { fingerprint: first.fingerprint, ..other };
            assert_eq!(comparable, first, "{module} {test}");
            if first.outcome == Outcome::Passed {
                assert_eq!(other.fingerprint, first.fingerprint, "{module} {test}");
            }
        }
        first
    })
}

/// Each test of the module writes what it sees before and after its change; for a fresh instance these values
/// are known.
#[test]
fn the_next_iteration_sees_no_change() {
    let passes: &[(&str, &[u32])] = &[
        // The bytes that memory.init copied before the drop; those that a second one copies after it: none.
        ("data_drop", &[0x64636261, 0]),
        // The first call through the table; the second one after table.init wrote another function.
        ("elem_drop", &[1, 2]),
        ("table_set", &[1, 2]),
        ("table_set_after_setup", &[31]),
        // Size before, result of the growth, size after, a call of the entry that it was filled with.
        ("table_grow", &[4, 4, 7, 2]),
        ("table_fill", &[1, 2]),
        ("table_copy", &[1, 2]),
        ("reference_global", &[1, 0]),
        // Size before, result of the growth, size after, the first word of the new page.
        ("memory_grow", &[1, 1, 3, 0]),
        ("globals", &[10, 11, 20, 21]),
    ];
    for (test, expected) in passes {
        let left = same_every_time("state.wat", test);
        assert_eq!(left.outcome, Outcome::Passed, "{test}");
        let words = left.results.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap()));
        let words: Vec<u32> = words.take(expected.len()).collect();
        assert_eq!(words, *expected, "{test}");
    }
}

/// A trap in the first iteration also occurs in the others, though memory may really be larger then.
#[test]
fn the_next_iteration_traps_as_the_first() {
    for (test, message) in [
        ("beyond_memory", "access outside of memory"),
        ("beyond_memory_in_bulk", "access outside of memory"),
        ("grow_then_beyond", "access outside of memory"),
        ("init_after_drop", "access outside of memory"),
        ("table_init_after_drop", "access outside of a table"),
        ("beyond_table", "access outside of a table"),
    ] {
        let left = same_every_time("state.wat", test);
        let Outcome::Bug(bug) = left.outcome else { panic!("{test}: {left:?}") };
        assert_eq!((bug.kind.name(), bug.message().as_str()), ("trap", message), "{test}");
    }
}

/// One iteration changes the state, another one relies on it: in any order, each finds the start state.
#[test]
fn iterations_of_two_kinds_do_not_meet() {
    let artifact = guest::from_file("state.wat");
    for test in ["either_memory", "either_much_memory", "either_table", "either_data"] {
        guest::with(&artifact, test, &guest::settings(), |execution| {
            let mut changing = 0;
            for index in 0..40 {
                let iteration = Iteration { seed: 0, index };
                let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
                let changes = execution.choices().contains(&Choice::Value { value: 1, bound: 2 });
                changing += u32::from(changes);
                assert_eq!(outcome == Outcome::Passed, changes, "{test}, iteration {index}: {outcome:?}");
            }
            assert!((10..=30).contains(&changing), "{test}: {changing} of 40 iterations change something");
        });
    }
}

/// The values that a step has so far are part of the state, before the step is complete.
#[test]
fn a_step_that_waits_for_values_is_a_state_of_its_own() {
    let artifact = guest::from_text(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "futex_wait" (func $wait (param i32 i32 i64) (result i32)))
  (import "coyote" "futex_notify" (func $notify (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (table 1 funcref) (elem (i32.const 0) $waits)
  (func $waits (param i32) (drop (call $wait (i32.const 0x800) (i32.const 0) (i64.const -1))))
  (func $create (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
  (func (export "coyote.test.t")
    (call $create) (call $create) (call $create)
    (drop (call $notify (i32.const 0x800) (i32.const 2)))))"#,
    );
    guest::with(&artifact, "t", &guest::settings(), |execution| {
        execution.begin().unwrap();
        let mut prints = Vec::new();
        // All others wait before the first worker continues.
        while execution.status() == Status::Ready {
            let last = *execution.view().enabled.last().unwrap();
            prints.push(execution.fingerprint());
            execution.step(Pick::Step(last));
        }
        assert_eq!(execution.status(), Status::Choosing { bound: 3 });
        prints.push(execution.fingerprint());
        let snapshot = execution.snapshot();
        for value in 0..3 {
            execution.restore(&snapshot);
            assert_eq!(execution.status(), Status::Choosing { bound: 3 });
            assert_eq!(prints.last(), Some(&execution.fingerprint()));
            execution.choose(value);
            assert_eq!(execution.status(), Status::Choosing { bound: 2 });
            prints.insert(0, execution.fingerprint());
        }
        let different: BTreeSet<u128> = prints.iter().copied().collect();
        assert_eq!(different.len(), prints.len());
    });
}

/// The fingerprint of a test whose worker wrote a byte `below` its stack pointer, and is suspended there.
fn print_with_byte(below: i32, value: i32, red_zone: u32) -> u128 {
    let text = std::fs::read_to_string(guest::wat_file("red_zone.wat")).unwrap();
    let text = text.replace("(;BELOW;)", &below.to_string()).replace("(;VALUE;)", &value.to_string());
    let artifact = guest::from_text(&text);
    guest::with(&artifact, "below", &guest::settings(), |execution| {
        let mut last = None;
        let iteration = Iteration { seed: 0, index: 0 };
        let outcome = execution.run_stepwise(&mut RandomWalk::default(), iteration, &mut |execution| {
            // The worker waits for ever right after its store: the state before the test ends.
            last = Some(execution.machine_mut().fingerprint_with(red_zone));
        });
        assert!(matches!(outcome, Ok(Outcome::Bug(_))), "the worker waits for ever: {outcome:?}");
        last.expect("there are steps")
    })
}

/// LLVM's leaf functions keep live data up to 128 bytes below the stack pointer without moving it. A
/// fingerprint includes these bytes; bytes below them are dead.
#[test]
fn fingerprints_see_the_red_zone_and_nothing_below() {
    assert_eq!(wrongly_seen(RED_ZONE), [0; 0]);
    // Planted faults: without the red zone, and with one that is a byte off.
    assert_eq!(wrongly_seen(0), [1, 8, 64, 127, 128]);
    assert_eq!(wrongly_seen(127), [128]);
    assert_eq!(wrongly_seen(129), [129]);
}

/// Distances at which the fingerprint includes a byte that it should not, or the other way round.
fn wrongly_seen(red_zone: u32) -> Vec<i32> {
    let live = [1, 8, 64, 127, 128];
    let dead = [129, 136, 200, 1000, 4096];
    // At and above the stack pointer, and below the whole stack, every byte counts.
    let elsewhere = [0, -1, -16, 4097];
    let all = live.iter().chain(&dead).chain(&elsewhere);
    let wrong = all.filter(|below| {
        let seen = print_with_byte(**below, 1, red_zone) != print_with_byte(**below, 2, red_zone);
        seen == dead.contains(below)
    });
    wrong.copied().collect()
}

/// Two workers change state outside of memory, and the first one examines it afterwards: the last change
/// decides.
fn last_one_decides(declarations: &str, first: &str, second: &str, look: &str) -> String {
    format!(
        r#"(module
          (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
          (import "coyote" "join" (func $join (param i32)))
          (import "coyote" "yield" (func $yield))
          (table $workers 2 funcref)
          (elem (table $workers) (i32.const 0) func $a $b)
          (func $one) (func $two)
          (elem declare func $one $two)
          {declarations}
          (func $a (param i32) (call $yield) {first})
          (func $b (param i32) (call $yield) {second})
          (func (export "coyote.test.t") (local $a i32) (local $b i32)
            (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (local.set $b (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
            (call $join (local.get $a))
            (call $join (local.get $b))
            (if {look} (then (unreachable)))))"#
    )
}

/// Searches that compare states distinguish the contents of tables and of globals that hold references, and
/// dropped segments: the end that only one order leads to is not lost.
#[test]
fn fingerprints_tell_tables_apart() {
    let table = "(table $t 3 10 funcref)";
    let set = |function: &str| format!("(table.set $t (i32.const 1) ({function}))");
    let is_null = "(ref.is_null (table.get $t (i32.const 1)))";
    let global = "(global $g (mut funcref) (ref.null func))";
    let put = |function: &str| format!("(global.set $g ({function}))");
    let elements = "(table $t 3 10 funcref) (elem $e func $one $two)";
    let init = "(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1))";
    let guests = [
        (table, set("ref.null func"), set("ref.func $one"), is_null.to_string()),
        (global, put("ref.null func"), put("ref.func $two"), "(ref.is_null (global.get $g))".to_string()),
        (
            table,
            "(drop (table.grow $t (ref.null func) (i32.const 2)))".to_string(),
            "(if (i32.eq (table.size $t) (i32.const 3)) (then (drop (table.grow $t (ref.null func) (i32.const 1)))))"
                .to_string(),
            "(i32.eq (table.size $t) (i32.const 5))".to_string(),
        ),
        (elements, "(elem.drop $e)".to_string(), init.to_string(), "(i32.const 0)".to_string()),
    ];
    for (declarations, first, second, look) in guests {
        let artifact = guest::from_text(&last_one_decides(declarations, &first, &second, &look));
        for strategy in ["dfs", "stateful", "ses"] {
            let mut bugs = 0;
            let mut passed = 0;
            guest::with(&artifact, "t", &guest::settings(), |execution| {
                search::exhaust(strategy, execution, |_, outcome| match outcome {
                    Outcome::Passed => passed += 1,
                    _ => bugs += 1,
                });
            });
            assert!(bugs > 0 && passed > 0, "{strategy}: {first} {second}: {bugs} bugs, {passed} passed");
        }
    }
}
