//! The profile of a program's profiling run, by which strategies scale their random choices.

use crate::{Class, WorkerPath};
use std::collections::BTreeMap;

/// The profile of a program: see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Steps executed.
    pub steps: u64,
    /// Choices of a worker among at least two that were enabled.
    pub decisions: u64,
    /// Steps executed while at least two workers had not ended. Unlike the number of decisions, which falls
    /// when workers block each other, this number is much the same in every schedule.
    pub concurrent_steps: u64,
    /// Steps of each worker that made one.
    pub workers: BTreeMap<WorkerPath, u64>,
    /// Accesses of each object by [`crate::Operation::target`].
    pub objects: BTreeMap<(Class, u64), ObjectProfile>,
    /// Workers that went on with what a single other one had done: each was woken once, by a worker that woke no other.
    pub continuations: u64,
    /// Opportunities for faults by kind, see [`crate::View::fault`]; no fault struck.
    pub opportunities: BTreeMap<u64, u64>,
}

/// The workers that accessed an object, according to their announcements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectProfile {
    /// Whether any access may have changed it.
    pub changed: bool,
    /// Accesses of the object by each worker that made one.
    pub accesses: BTreeMap<WorkerPath, u64>,
}

impl ObjectProfile {
    /// Whether the order of its accesses can matter.
    pub fn contended(&self) -> bool {
        self.changed && self.accesses.len() > 1
    }

    /// Accesses by all workers together.
    pub fn count(&self) -> u64 {
        self.accesses.values().sum()
    }
}

/// The sum over a worker and all its descendants.
pub fn with_descendants(counts: &BTreeMap<WorkerPath, u64>, root: &WorkerPath) -> u64 {
    // Paths are ordered lexicographically: descendants follow their ancestor.
    let from_root = counts.range(root.clone()..);
    from_root.take_while(|(path, _)| path.0.starts_with(&root.0)).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_those_whose_path_begins_with_it() {
        let counts: BTreeMap<WorkerPath, u64> =
            [(vec![], 1), (vec![0], 2), (vec![0, 3], 4), (vec![1], 8), (vec![10], 16)]
                .map(|(path, n)| (WorkerPath(path), n))
                .into();
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![])), 31);
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![0])), 6);
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![1])), 8);
        assert_eq!(with_descendants(&counts, &WorkerPath(vec![7])), 0);
    }
}
