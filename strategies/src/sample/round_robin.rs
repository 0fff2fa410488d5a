//! Round robin: the enabled workers take turns of a fixed number of steps, in the order of creation.
//!
//! Without data choices and timeouts every iteration is the same. It serves as a baseline, and as a fair
//! second half for other strategies. Data choices and timeouts are random.

use super::timeout;
use crate::rng::ChoiceRng;
use crate::{Iteration, Pick, Strategy, View, WorkerId};

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    /// Steps of a turn.
    quantum: u64,
    rng: ChoiceRng,
    turn: WorkerId,
    /// Steps left of the turn.
    left: u64,
}

impl RoundRobin {
    /// Turns of `quantum` steps, at least 1.
    pub fn new(quantum: u64) -> RoundRobin {
        assert!(quantum > 0);
        RoundRobin { quantum, rng: ChoiceRng::default(), turn: WorkerId(0), left: quantum }
    }
}

/// The first enabled worker from `worker` on, in the cyclic order of creation. At least one is enabled.
#[inline]
pub(super) fn first_from(enabled: &[WorkerId], worker: WorkerId) -> WorkerId {
    let at = enabled.partition_point(|w| *w < worker);
    enabled[if at < enabled.len() { at } else { 0 }]
}

/// The worker created next.
pub(super) fn after(worker: WorkerId) -> WorkerId {
    WorkerId(worker.0 + 1)
}

impl Strategy for RoundRobin {
    fn name(&self) -> String {
        format!("round-robin:{}", self.quantum)
    }

    fn fair(&self) -> bool {
        true
    }

    fn begin(&mut self, iteration: Iteration) {
        self.rng = ChoiceRng::new(iteration);
        self.turn = WorkerId(0);
        self.left = self.quantum;
    }

    fn pick(&mut self, view: &View) -> Option<Pick> {
        if let Some(pick) = timeout::fires(view, &mut self.rng) {
            return Some(pick);
        }
        let from = if self.left == 0 { after(self.turn) } else { self.turn };
        let worker = first_from(view.enabled, from);
        if self.left == 0 || worker != self.turn {
            self.left = self.quantum;
        }
        self.turn = worker;
        self.left -= 1;
        Some(Pick::Step(worker))
    }

    fn value(&mut self, bound: u64, _view: &View) -> Option<u64> {
        Some(self.rng.below(bound))
    }
}
