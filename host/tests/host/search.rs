//! A plain depth-first search of an execution: every schedule, or every state. Also drives the tool's own
//! searches.

use coyote_wasm::execution::Execution;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::search::{Advance, by_name};
use coyote_wasm::strategies::{Pick, Status, System};
use std::collections::BTreeSet;

/// Names an end by the final state and the outcome.
pub type Name<'a, E> = &'a mut dyn FnMut(&Execution, &Outcome) -> E;

/// A test with more states than this is too large.
const STATES_MAX: usize = 200_000;

/// Drives one of the tool's own searches until it is exhausted; `ended` is called for every execution.
pub fn exhaust(name: &str, execution: &mut Execution, mut ended: impl FnMut(&Execution, &Outcome)) {
    let mut search = by_name::<Execution>(name, 0, None).unwrap();
    loop {
        match search.advance(execution, u64::MAX) {
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Ended(_) => {
                let outcome = execution.machine().scheduler().outcome.clone().expect("it has ended");
                ended(execution, &outcome);
            }
            Advance::Working => {}
            Advance::Exhausted => return,
        }
    }
}

struct Search<'a, E> {
    name: Name<'a, E>,
    ends: BTreeSet<E>,
    /// Fingerprints of states; `None` if schedules are searched.
    seen: Option<BTreeSet<u128>>,
    schedules: usize,
}

/// The ends of all schedules, and how many schedules there are.
pub fn schedules<E: Ord>(execution: &mut Execution, name: Name<E>) -> (BTreeSet<E>, usize) {
    let search = run(execution, name, None);
    (search.ends, search.schedules)
}

/// The same ends with each state visited once: right only if different states have different fingerprints.
pub fn distinct<E: Ord>(execution: &mut Execution, name: Name<E>) -> BTreeSet<E> {
    run(execution, name, Some(BTreeSet::new())).ends
}

fn run<'a, E: Ord>(
    execution: &mut Execution,
    name: Name<'a, E>,
    seen: Option<BTreeSet<u128>>,
) -> Search<'a, E> {
    execution.begin().unwrap();
    let mut search = Search { name, ends: BTreeSet::new(), seen, schedules: 0 };
    search.descend(execution);
    search
}

impl<E: Ord> Search<'_, E> {
    fn descend(&mut self, execution: &mut Execution) {
        if execution.status().is_final() {
            let outcome = execution.machine().scheduler().outcome.clone().expect("the status is final");
            self.ends.insert((self.name)(execution, &outcome));
            self.schedules += 1;
            assert!(self.schedules < STATES_MAX, "too many schedules");
            return;
        }
        if let Some(seen) = &mut self.seen {
            if !seen.insert(execution.fingerprint()) {
                return;
            }
            assert!(seen.len() < STATES_MAX, "too many states");
        }
        let picks: Vec<Pick> = execution.view().picks().collect();
        let snapshot = execution.snapshot();
        for pick in picks {
            // A step may need several values.
            let mut left: Vec<Vec<u64>> = vec![Vec::new()];
            while let Some(values) = left.pop() {
                execution.restore(&snapshot);
                execution.step(pick);
                values.iter().for_each(|value| execution.choose(*value));
                match execution.status() {
                    Status::Choosing { bound } => {
                        left.extend((0..bound).map(|v| [&values[..], &[v]].concat()))
                    }
                    _ => self.descend(execution),
                }
            }
        }
    }
}
