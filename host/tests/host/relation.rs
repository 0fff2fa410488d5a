//! Footprints of steps, tested against the machine itself: two picks with independent footprints commute, in
//! every state that random walks over the examples reach.

use super::examples::{artifact_for, index};
use super::guest::{self, settings};
use coyote_wasm::execution::Execution;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Access, Class, Effect, Iteration, Pick, Status, System};

/// The table in the documentation of `Effect`, row by row.
fn dependent(a: &Access, b: &Access) -> bool {
    let same = match a.class == b.class {
        true if a.class == Class::Memory => {
            a.object < b.object + u64::from(b.size) && b.object < a.object + u64::from(a.size)
        }
        same => same && a.object == b.object,
    };
    let shares = |e| matches!(e, Effect::Share | Effect::TryShare | Effect::Unshare);
    let commute = shares(a.effect) && shares(b.effect)
        || matches!((a.effect, b.effect), (Effect::Read, Effect::Read) | (Effect::Await, Effect::Await));
    same && !commute
}

/// Whether no access of `a` depends on one of `b`.
pub fn independent(a: &[Access], b: &[Access]) -> bool {
    !a.iter().any(|a| b.iter().any(|b| dependent(a, b)))
}

fn picks(execution: &Execution) -> Vec<Pick> {
    execution.view().picks().collect()
}

/// The effects of a step.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    touched: Vec<Access>,
    /// Whether it called the allocator: the block that this returns depends on the order of such calls.
    allocates: bool,
    /// Whether it created a worker: its number in the host, but not in the guest, depends on the order too.
    creates: bool,
}

/// Executes the pick, with the lowest values. `None` if that ends the execution.
fn execute(execution: &mut Execution, pick: Pick) -> Option<Step> {
    let worker = pick.worker();
    let calls = |execution: &Execution| execution.runtime().heap.events();
    let before = calls(execution);
    let workers = execution.runtime().workers().len();
    execution.step(pick);
    while let Status::Choosing { .. } = execution.status() {
        execution.choose(0);
    }
    let allocates = calls(execution) != before || execution.runtime().heap.allocating(worker);
    let touched = execution.footprint().to_vec();
    let creates = execution.runtime().workers().len() > workers;
    (!execution.status().is_final()).then_some(Step { touched, allocates, creates })
}

/// Checks the pairs of picks of a random walk. Returns how many were independent.
pub fn check(execution: &mut Execution, rng: &mut ChoiceRng) -> usize {
    let mut pairs = 0;
    execution.restart();
    while execution.status() == Status::Ready {
        let here = execution.snapshot();
        let possible = picks(execution);
        let at = |rng: &mut ChoiceRng| possible[rng.below(possible.len() as u64) as usize];
        let (p, q) = (at(rng), at(rng));
        if p.worker() != q.worker()
            && let Some(of_p) = execute(execution, p)
        {
            execution.restore(&here);
            let of_q = execute(execution, q);
            if let Some(of_q) = &of_q
                && independent(&of_p.touched, &of_q.touched)
                // A section that one of them enters withholds the other until it ends: it is in a race as a
                // whole.
                && !execution.view().in_section
            {
                pairs += 1;
                let what = || format!("{p:?} touches {:?}, {q:?} touches {:?}", of_p.touched, of_q.touched);
                assert!(picks(execution).contains(&p), "gone after the other: {}", what());
                let p_after = execute(execution, p);
                let (status, parts) = (execution.status(), execution.machine_mut().fingerprint_parts());
                let numbered = of_p.creates && of_q.creates;
                let memory = numbered.then(|| execution.machine().memory().to_vec());
                execution.restore(&here);
                execute(execution, p);
                if execution.view().in_section {
                    execution.restore(&here);
                    continue;
                }
                assert!(picks(execution).contains(&q), "gone after the other: {}", what());
                let q_after = execute(execution, q);
                assert_eq!(execution.status(), status, "{}", what());
                if !(of_p.allocates && of_q.allocates) {
                    let wanted = |step| (!status.is_final()).then_some(step);
                    assert_eq!(p_after.as_ref(), wanted(&of_p), "{}", what());
                    assert_eq!(q_after.as_ref(), wanted(of_q), "{}", what());
                    match &memory {
                        Some(memory) => assert!(memory == execution.machine().memory(), "{}", what()),
                        None => assert_eq!(execution.machine_mut().fingerprint_parts(), parts, "{}", what()),
                    }
                }
            }
            execution.restore(&here);
        } else {
            execution.restore(&here);
        }
        let possible = picks(execution);
        execution.step(possible[rng.below(possible.len() as u64) as usize]);
        while let Status::Choosing { bound } = execution.status() {
            execution.choose(rng.below(bound));
        }
    }
    pairs
}

/// In every second example, or in all when soaking.
#[test]
fn independent_picks_commute() {
    let mut pairs = 0;
    for expected in index().into_iter().step_by(guest::scaled(3, 1)) {
        let artifact = artifact_for(&expected.module, "dpor");
        // Its allocations fail in one of the two orders.
        if artifact.table.changes_tables || expected.module == "memory_hog" {
            continue;
        }
        pairs += guest::with(&artifact, &expected.test, &settings(), |execution| {
            let mut pairs = 0;
            for index in 0..guest::scaled(1, 3) {
                println!("{} {} iteration {index}", expected.module, expected.test);
                let mut rng = ChoiceRng::new(Iteration { seed: 11, index });
                pairs += check(execution, &mut rng);
            }
            pairs
        });
    }
    // Most pairs of picks are independent; few would mean that nothing was compared.
    assert!(pairs > 1_000, "{pairs}");
}
