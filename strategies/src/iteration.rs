//! An iteration: which one it is, what happens in it between choices, and how it went.

use crate::WorkerId;

/// The iteration that is about to begin. Together with the strategy's own options this determines
/// every choice of a strategy that does not learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Seed of the whole run.
    pub seed: u64,
    /// Number of the iteration, from 0.
    pub index: u64,
}

/// Something a strategy may want to know between choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// `parent` created `child`, whose first step is now pending.
    Spawned {
        /// Who executed the spawn.
        parent: WorkerId,
        /// The new worker.
        child: WorkerId,
    },
    /// A step of `by` made the blocked `worker` able to go on: the receiver of a message, the
    /// continuation of what was awaited.
    Woken {
        /// Who executed the step.
        by: WorkerId,
        /// Who can go on.
        worker: WorkerId,
    },
    /// The worker has ended.
    Ended(WorkerId),
    /// A hint that the guest gives to its own explorer.
    Hint {
        /// Who gives it.
        worker: WorkerId,
        /// What guest and explorer agreed on.
        value: u64,
    },
}

/// How an iteration went, for strategies that learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Steps executed.
    pub steps: u64,
    /// Whether it ended with a bug.
    pub buggy: bool,
}
