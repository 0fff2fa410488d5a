//! Creation paths of workers: names that mean the same worker in every schedule.

use crate::{Event, WorkerId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A worker's creation path: empty for the first worker, otherwise its parent's path and the number of
/// workers that the parent had created before it. Stable across schedules, unlike [`WorkerId`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct WorkerPath(pub Vec<u32>);

impl fmt::Display for WorkerPath {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "0")?;
        self.0.iter().try_for_each(|n| write!(f, ".{n}"))
    }
}

/// The paths of an execution's workers, from the events that a strategy observes.
#[derive(Clone, Debug)]
pub struct Paths {
    paths: Vec<WorkerPath>,
    /// Workers that each worker has created.
    children: Vec<u32>,
}

impl Default for Paths {
    fn default() -> Paths {
        Paths { paths: vec![WorkerPath::default()], children: vec![0] }
    }
}

impl Paths {
    /// Begins an execution, in which only the first worker exists.
    pub fn reset(&mut self) {
        self.paths.truncate(1);
        self.children.truncate(1);
        self.children[0] = 0;
    }

    /// Records a new worker; other events do not affect paths.
    pub fn observe(&mut self, event: Event) {
        if let Event::Spawned { parent, child } = event {
            debug_assert_eq!(child.index(), self.paths.len());
            let mut path = self.paths[parent.index()].clone();
            path.0.push(self.children[parent.index()]);
            self.children[parent.index()] += 1;
            self.paths.push(path);
            self.children.push(0);
        }
    }

    /// The path of a worker. Workers that were not spawned (possibly all in a toy program) are numbered as
    /// children of the first.
    pub fn path(&self, worker: WorkerId) -> WorkerPath {
        let missing = || WorkerPath(vec![worker.0 - 1]);
        self.paths.get(worker.index()).cloned().unwrap_or_else(missing)
    }

    /// The worker with this path, if it exists already.
    pub fn find(&self, path: &WorkerPath) -> Option<WorkerId> {
        self.paths.iter().position(|p| p == path).map(|i| WorkerId(i as u32))
    }
}
