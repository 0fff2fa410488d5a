//! Weak memory (`--memory weak`) of real modules: litmus tests as wasm, whose executions have exactly the
//! outcomes of RC11 and C++20 by their axioms. `host/src/runtime/weak/tests.rs` compares the model itself.

#[path = "../../src/runtime/weak/naive.rs"]
mod naive;

use super::guest::{self, settings};
use coyote_abi::Ordering;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::runtime::{FaultClass, Faults};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Decision, Event, Iteration, Status, System, system::decide};
use coyote_wasm::tester::Tester;
use naive::{Op, Program};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Values that threads read, then those of locations at the end: as the test passes them to `hint`.
type Seen = Vec<u64>;

/// More than any program here uses.
const BUDGET: u32 = 20;

fn weak(budget: u32) -> Settings {
    Settings { faults: Faults::default().with(FaultClass::Stale, budget), ..settings() }
}

/// A litmus test as a module: each atomic instruction follows a call that gives its order, as coyote-cc's
/// headers do it.
fn module(program: &Program) -> String {
    let mut text = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "hint" (func $hint (param i64)))
  (import "coyote" "order" (func $order (param i32)))
  (memory (export "memory") 1)
"#
    .to_string();
    let mut reads = 0;
    let address = |location: usize| 64 + 64 * location;
    for (thread, ops) in program.iter().enumerate() {
        writeln!(text, "(func $t{thread} (param i32)").unwrap();
        for op in ops {
            let order = |o: Ordering| format!("(call $order (i32.const {}))", 0x70 | o as u8);
            let (order, code) = match *op {
                Op::Load { location, order: o } => {
                    (order(o), format!("(i32.atomic.load (i32.const {}))", address(location)))
                }
                Op::Store { location, value, order: o } => {
                    let code =
                        format!("(i32.atomic.store (i32.const {}) (i32.const {value}))", address(location));
                    writeln!(text, "{} {code}", order(o)).unwrap();
                    continue;
                }
                Op::Add { location, value, order: o } => {
                    let at = address(location);
                    (order(o), format!("(i32.atomic.rmw.add (i32.const {at}) (i32.const {value}))"))
                }
                Op::Exchange { location, expected, value, success, failure } => {
                    let order = format!("(call $order (i32.const {}))", success as u8 | (failure as u8) << 4);
                    let operands = format!("(i32.const {}) (i32.const {expected})", address(location));
                    (order, format!("(i32.atomic.rmw.cmpxchg {operands} (i32.const {value}))"))
                }
                Op::Fence { order: o } => {
                    writeln!(text, "{} (atomic.fence)", order(o)).unwrap();
                    continue;
                }
            };
            // The address to which the value is stored comes first, so that no other instruction follows the
            // order.
            writeln!(text, "(i32.const {}) {order} {code} (i32.store)", 1024 + 4 * reads).unwrap();
            reads += 1;
        }
        text.push_str(")\n");
    }
    let names: String = (0..program.len()).map(|thread| format!(" $t{thread}")).collect();
    let locals: String = (0..program.len()).map(|thread| format!("(local $h{thread} i32)")).collect();
    writeln!(text, "(table {} funcref) (elem (i32.const 0){names})", program.len()).unwrap();
    writeln!(text, "(func (export \"coyote.test.t\") {locals}").unwrap();
    for thread in 0..program.len() {
        let arguments = "(i32.const 0) (i32.const 0) (i32.const 0)";
        writeln!(text, "(local.set $h{thread} (call $spawn (i32.const {thread}) {arguments}))").unwrap();
    }
    for thread in 0..program.len() {
        writeln!(text, "(call $join (local.get $h{thread}))").unwrap();
    }
    let places = (0..reads).map(|read| 1024 + 4 * read).chain((0..naive::locations(program)).map(address));
    for place in places {
        writeln!(text, "(call $hint (i64.load32_u (i32.const {place})))").unwrap();
    }
    text.push_str("))\n");
    text
}

fn options() -> Options {
    let mut options = Options { points: Points::Atomic, ..Options::default() };
    weak(BUDGET).faults.prepare(&mut options);
    options
}

/// The outcomes of all executions. Each state is continued once, so states that continue differently must
/// have different fingerprints.
fn all(program: &Program, settings: &Settings) -> BTreeSet<Seen> {
    let wasm = wat::parse_str(module(program)).unwrap();
    let artifact = guest::compile(&wasm, &options()).unwrap();
    guest::with(&artifact, "t", settings, |execution| {
        let (mut known, mut ends) = (BTreeSet::new(), BTreeSet::new());
        execution.restart();
        recurse(execution, &mut known, &mut ends);
        ends
    })
}

fn recurse(execution: &mut Execution, known: &mut BTreeSet<u128>, ends: &mut BTreeSet<Seen>) {
    let decisions: Vec<Decision> = match execution.status() {
        Status::Ready => execution.view().picks().map(Decision::Pick).collect(),
        Status::Choosing { bound } => (0..bound).map(Decision::Value).collect(),
        status => {
            assert_eq!(status, Status::Passed);
            let hints = execution.runtime().events.iter().filter_map(|event| match event {
                Event::Hint { value, .. } => Some(*value),
                _ => None,
            });
            ends.insert(hints.collect());
            return;
        }
    };
    if !known.insert(execution.fingerprint()) {
        return;
    }
    let here = execution.snapshot();
    for decision in decisions {
        execution.restore(&here);
        decide(execution, decision);
        recurse(execution, known, ends);
    }
}

/// The outcomes by the axioms, in the same form.
fn expected(program: &Program) -> BTreeSet<Seen> {
    let flat = |(reads, last): (Vec<Vec<u64>>, Vec<u64>)| [reads.concat(), last].concat();
    naive::outcomes(program).ordered.into_iter().map(flat).collect()
}

#[test]
fn modules_have_the_outcomes_of_the_axioms() {
    let mut weak_ones = 0;
    for index in 0..PROGRAMS {
        let program = naive::random(&mut ChoiceRng::new(Iteration { seed: 0x6d_6f64, index }));
        let ends = all(&program, &weak(BUDGET));
        assert_eq!(ends, expected(&program), "program {index}: {program:?}");
        // Without a budget, only the newest stores are read.
        let interleaved = all(&program, &settings());
        assert!(interleaved.is_subset(&ends));
        weak_ones += u64::from(interleaved.len() < ends.len());
    }
    assert!(weak_ones > PROGRAMS / 20, "{weak_ones}");
}

/// Number of generated programs.
const PROGRAMS: u64 = 60;

/// A budget limits the number of stale choices in one execution.
#[test]
fn a_budget_bounds_stale_choices() {
    let relaxed = Ordering::Relaxed;
    let reader =
        |a, b| vec![Op::Load { location: a, order: relaxed }, Op::Load { location: b, order: relaxed }];
    let store = |location| Op::Store { location, value: 1, order: relaxed };
    // Both readers see only the second store.
    let program = vec![vec![store(0), store(1)], reader(1, 0), reader(1, 0)];
    let both = vec![1, 0, 1, 0, 1, 1];
    let one = vec![1, 0, 1, 1, 1, 1];
    let by = |budget| all(&program, &weak(budget));
    assert!(!settings().weak_memory() && !all(&program, &settings()).contains(&one));
    assert!(by(1).contains(&one) && !by(1).contains(&both));
    assert!(by(2).contains(&both) && by(1).is_subset(&by(2)));
    assert_eq!(by(2), expected(&program));
}

/// Strategies that cannot be used with weak memory are refused with a message.
#[test]
fn what_weak_memory_cannot_be_had_with_is_refused() {
    let wasm = wat::parse_str(module(&vec![vec![Op::Fence { order: Ordering::SeqCst }]; 2])).unwrap();
    let artifact = guest::compile(&wasm, &options()).unwrap();
    let mut tester = Tester::of(artifact);
    tester.settings = weak(1);
    for name in [
        "dpor",
        "stateful",
        "ses",
        "ss",
        "ses-ss",
        "dfs+hb",
        "delay-bounding+states:2",
        "preemption-bounding+hb",
    ] {
        let error = tester.explore("t", name).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("the search {name} cannot explore --memory weak")),
            "{name}: {error}"
        );
    }
    for name in ["dfs", "delay-bounding:2", "preemption-bounding:2"] {
        let result = tester.explore("t", name).unwrap();
        assert!(result.bugs.is_empty(), "{name}");
    }
    let plain = guest::compile(&wasm, &Options::default()).unwrap();
    let mut tester = Tester::of(plain);
    tester.settings = weak(1);
    let error = tester.explore("t", "dfs").unwrap_err();
    assert!(error.to_string().contains("instrumented"), "{error}");
}
