//! An iteration: its number, its events between choices, and its result.

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

/// An event between choices that a strategy may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// `parent` created `child`, whose first step is now pending.
    Spawned {
        /// The worker that executed the spawn.
        parent: WorkerId,
        /// The new worker.
        child: WorkerId,
    },
    /// A step of `by` enabled the blocked `worker`: the receiver of a message, or the continuation of what
    /// was awaited. Workers that wait for a semaphore are all enabled by a post; those that wait for a lock are not
    /// woken by its release.
    Woken {
        /// The worker that executed the step.
        by: WorkerId,
        /// The worker that is enabled now.
        worker: WorkerId,
    },
    /// The worker has ended.
    Ended(WorkerId),
    /// A hint from the guest to its explorer.
    Hint {
        /// The worker that gives it.
        worker: WorkerId,
        /// A number whose meaning guest and explorer agreed on.
        value: u64,
    },
}

/// The result of an iteration, for strategies that learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Steps executed.
    pub steps: u64,
    /// Whether it ended with a bug.
    pub buggy: bool,
}
