//! Crashes of nodes: programs of `examples/rust/outcomes_network` whose node may crash before each of its operations. Random
//! schedules with random crashes must show exactly the outcomes of a naive model, which knows no engine: it runs the node's
//! operations in every order, and begins anew at every place. (Reference counts are points too, so these programs have too
//! many schedules for a search without reduction.)

use super::network::{Outcomes, artifact, settings};
use super::outcomes::outcome;
use super::{examples, guest};
use coyote_wasm::execution::Execution;
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::runtime::Mutant;
use coyote_wasm::strategies::{Iteration, RandomWalk, Strategy};

/// Enough for each outcome to come up several times.
const ITERATIONS: u64 = 6_000;

fn random(execution: &mut Execution, mut strategy: Box<dyn Strategy>, iterations: u64) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for index in 0..iterations {
        let (_, used) = execution.run(strategy, Iteration { seed: 0, index }).unwrap();
        strategy = used;
        outcomes.insert(outcome(execution));
    }
    outcomes
}

/// The outcomes of random executions for a budget.
fn searched_with(test: &str, budgets: &[&str], mutant: Option<Mutant>) -> Outcomes {
    guest::with(&artifact(), test, &settings(budgets, mutant), |execution| {
        let outcomes = random(execution, Box::new(RandomWalk::default()), ITERATIONS);
        println!("{test} {budgets:?}: {outcomes:?}");
        outcomes
    })
}

fn searched(test: &str, budgets: &[&str]) -> Outcomes {
    searched_with(test, budgets, None)
}

fn crashes(budget: u32) -> String {
    format!("crash.node={budget}")
}

/// An operation of the node: what `main` sees of it at once, and only if the node does not crash any more.
type Op = &'static str;

/// A node that makes these operations, one after the other, each of which a crash may precede.
fn in_order(ops: &[Op], budget: u32) -> Outcomes {
    fn go(ops: &[Op], done: usize, said: String, budget: u32, outcomes: &mut Outcomes) {
        if budget > 0 {
            go(ops, 0, said.clone(), budget - 1, outcomes);
        }
        match ops.get(done) {
            None => _ = outcomes.insert(said.trim().into()),
            Some(op) => go(ops, done + 1, format!("{said} {op}"), budget, outcomes),
        }
    }
    let mut outcomes = Outcomes::new();
    go(ops, 0, String::new(), budget, &mut outcomes);
    let words = |said: &String| said.split_whitespace().collect::<Vec<_>>().join(" ");
    outcomes.iter().map(words).collect()
}

/// What is sent arrives, though its sender is dead; and a node that crashed begins anew.
#[test]
fn one_worker() {
    for budget in 0..3 {
        // It binds a port, sends, drops the socket, and returns.
        let expected = in_order(&["", "A", "B", "", ""], budget);
        assert_eq!(searched("crash_alone", &[&crashes(budget)]), expected, "{budget}");
        assert_eq!(expected.len(), [1, 3, 7][budget as usize]);
    }
    // Other faults go with it, and no other class contains it.
    assert_eq!(searched("crash_alone", &["crash.node=0", "net=0"]), in_order(&["A", "B"], 0));
}

/// Two workers: the first one sends A, the other B.
fn two_workers(budget: u32) -> Outcomes {
    fn go((bound, a, b): (bool, bool, bool), said: String, budget: u32, outcomes: &mut Outcomes) {
        // Either worker has an operation before it, or the node is about to return.
        if budget > 0 {
            go((false, false, false), said.clone(), budget - 1, outcomes);
        }
        match (bound, a, b) {
            (false, ..) => go((true, false, false), said, budget, outcomes),
            (_, true, true) => _ = outcomes.insert(said.trim().into()),
            _ => {
                if !a {
                    go((true, true, b), format!("{said} A"), budget, outcomes);
                }
                if !b {
                    go((true, a, true), format!("{said} B"), budget, outcomes);
                }
            }
        }
    }
    let mut outcomes = Outcomes::new();
    go((false, false, false), String::new(), budget, &mut outcomes);
    outcomes
}

/// All workers of a node end with it.
#[test]
fn two_workers_end_together() {
    for budget in 0..2 {
        let expected = two_workers(budget);
        assert_eq!(searched("crash_two_workers", &[&crashes(budget)]), expected, "{budget}");
    }
    let spared = Some(Mutant::NodeOutlivesItsCrash);
    let wrong = searched_with("crash_two_workers", &["crash.node=1"], spared);
    assert_ne!(wrong, two_workers(1), "a planted defect is not noticed");
}

/// So do tasks.
#[test]
fn tasks_end_with_their_node() {
    for budget in 0..2 {
        let expected = in_order(&["", "B", "", ""], budget);
        assert_eq!(searched("crash_task", &[&crashes(budget)]), expected, "{budget}");
    }
}

/// The other end of a connection reads what was written, and is then told.
#[test]
fn connections_are_reset_behind_what_was_written() {
    // What one run of the node leaves: up to which of its operations it comes.
    let left = ["", "!", "ab!", "abcd!", "abcd."];
    for budget in 0..3 {
        let mut outcomes = Outcomes::from([String::new()]);
        for _ in 0..budget {
            let more = outcomes.iter().flat_map(|said| left.map(|left| format!("{said} {left}")));
            outcomes = more.chain(outcomes.iter().cloned()).collect();
        }
        let whole = |said: &String| format!("{said} abcd.").split_whitespace().collect::<Vec<_>>().join(" ");
        let expected: Outcomes = outcomes.iter().map(whole).collect();
        assert_eq!(searched("crash_stream", &[&crashes(budget)]), expected, "{budget}");
    }
    let one = |outcomes: &[&str]| -> Outcomes { outcomes.iter().map(|o| o.to_string()).collect() };
    assert_eq!(searched("crash_told", &["crash.node=1"]), one(&[".", "!"]));
    // If it is not told, it waits for ever.
    let half_open = searched("crash_told", &["crash.node=1", "net.half-open=1"]);
    assert_eq!(half_open, one(&[".", "!", "deadlock"]));
}

/// What was sent to a node that crashes is lost, unless it was still on its way.
#[test]
fn datagrams_to_a_node_that_crashes() {
    for budget in 0..2 {
        let expected: Outcomes = (1..=budget + 1).map(|ups| "up ".repeat(ups as usize) + "done").collect();
        assert_eq!(searched("crash_requests", &[&crashes(budget)]), expected, "{budget}");
    }
    let usual = Outcomes::from(["up now late".into()]);
    assert_eq!(searched("crash_late", &[]), usual);
    let crashed = searched("crash_late", &["crash.node=1"]);
    assert!(crashed.is_superset(&usual) && crashed.contains("deadlock"), "{crashed:?}");
    // It was sent before the crash, and held back until after that.
    assert!(crashed.contains("up now up late"), "{crashed:?}");
}

/// What is written and not synced may be lost; without that, nobody notices that it is not synced.
#[test]
fn files_of_a_node_that_crashes() {
    let wasm = std::fs::read(examples::module_path("replicas")).unwrap();
    let options = Options { points: Points::Atomic, faults: vec!["crash".into()], ..Options::default() };
    let artifact = guest::compile(&wasm, &options).unwrap();
    let fails = |test: &str, mutant, iterations| {
        let settings = settings(&["crash.node=1"], mutant);
        // Which also strikes late.
        let mut strategy = settings.faults.sampled(Box::new(RandomWalk::default()));
        guest::with(&artifact, test, &settings, |execution| {
            (0..iterations).any(|index| {
                let used = std::mem::replace(&mut strategy, Box::new(RandomWalk::default()));
                strategy = execution.run(used, Iteration { seed: 0, index }).unwrap().1;
                outcome(execution) == "assertion"
            })
        })
    };
    for test in ["unsynced", "file_replaced"] {
        assert!(fails(test, None, 10_000), "{test}");
        assert!(!fails(test, Some(Mutant::NodeLosesNothing), 1_000), "{test}");
    }
    assert!(fails("in_memory", Some(Mutant::NodeLosesNothing), 10_000) && !fails("register", None, 1_000));
}
