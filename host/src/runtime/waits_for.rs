//! Who waits for whom: of the workers of a deadlock, those that matter.

use super::{Request, Runtime};
use coyote_strategies::{WorkerId, WorkerState};

impl Runtime {
    /// Of the blocked workers, those for whom all others wait: they wait in a circle, or for what no worker
    /// is about to do, such as a notification or the release of a lock whose holder has ended. Whoever only
    /// waits for such a worker, by joining it or for what it holds, is a bystander.
    pub fn stuck(&self) -> Vec<WorkerId> {
        let blocked: Vec<WorkerId> = self.ids().filter(|id| self.is(*id, WorkerState::Blocked)).collect();
        let reached: Vec<Vec<WorkerId>> = blocked.iter().map(|id| self.waits_for_all(*id)).collect();
        let reaches = |from: WorkerId, to: WorkerId| {
            let at = blocked.iter().position(|id| *id == from);
            at.is_some_and(|at| reached[at].contains(&to))
        };
        let for_nobody =
            |id: WorkerId| self.waits_for(id).iter().any(|other| self.is(*other, WorkerState::Ended));
        let in_circle = |at: usize, id: WorkerId| reached[at].iter().all(|other| reaches(*other, id));
        let matters = |(at, id): &(usize, &WorkerId)| for_nobody(**id) || in_circle(*at, **id);
        blocked.iter().enumerate().filter(matters).map(|(_, id)| *id).collect()
    }

    fn is(&self, id: WorkerId, state: WorkerState) -> bool {
        self.pending(id).state == state
    }

    /// The workers of which one has to do something before a blocked one can go on, as far as that is known.
    fn waits_for(&self, id: WorkerId) -> Vec<WorkerId> {
        let worker = self.worker(id);
        match worker.request {
            // Not notified yet.
            Request::Relock { .. } if worker.wake.is_none() => Vec::new(),
            Request::Join { handle } => vec![WorkerId(handle)],
            request => request.wants().map_or(Vec::new(), |place| self.holders(place)),
        }
    }

    /// Whom it waits for, whom those wait for, and so on. Not those that have ended.
    fn waits_for_all(&self, id: WorkerId) -> Vec<WorkerId> {
        let mut reached = Vec::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            for other in self.waits_for(next) {
                if !reached.contains(&other) && !self.is(other, WorkerState::Ended) {
                    reached.push(other);
                    open.push(other);
                }
            }
        }
        reached
    }
}
