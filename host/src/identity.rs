//! The identity of a bug: its kind, what happened, and where the workers were that matter. The wording of a message is
//! not part of it, nor the places of uninvolved workers.

use coyote_instrumenter::Location;
use coyote_strategies::WorkerPath;

/// The number of innermost frames of a stack that are compared: an endless recursion has many.
const FRAMES_MAX: usize = 32;

/// The identity of a bug, apart from its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// See [`Evidence::detail`](crate::evidence::Evidence::detail).
    pub detail: String,
    /// The workers that caused the bug; for a deadlock, those that all others wait for. In the order of their worker
    /// paths.
    pub parties: Vec<Party>,
}

/// A worker, and where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The worker's path, which is the same in every schedule.
    pub worker: WorkerPath,
    /// The frames, innermost first.
    pub stack: Vec<Location>,
}

impl Identity {
    /// An identity of these parties, given in any order.
    pub fn new(detail: String, mut parties: Vec<Party>) -> Identity {
        parties.sort_by(|a, b| a.worker.cmp(&b.worker));
        parties.iter_mut().for_each(|party| party.stack.truncate(FRAMES_MAX));
        Identity { detail, parties }
    }

    /// The places of the parties, without duplicates.
    pub fn places(&self) -> Vec<&[Location]> {
        let mut places: Vec<&[Location]> = self.parties.iter().map(|party| &party.stack[..]).collect();
        places.sort();
        places.dedup();
        places
    }
}
