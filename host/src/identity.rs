//! What makes two bugs the same: their kind, what happened, and where who stood that matters. Never the
//! wording of a message, nor where bystanders were.

use coyote_instrumenter::Location;
use coyote_strategies::WorkerPath;

/// Frames of a stack that count, the innermost ones: a recursion that never ends has many.
const FRAMES_MAX: usize = 32;

/// What a bug is beside its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// See [`Evidence::detail`](crate::evidence::Evidence::detail).
    pub detail: String,
    /// Who did it; of a deadlock, those for whom all others wait. In the order of their creation paths.
    pub parties: Vec<Party>,
}

/// A worker, and where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Which worker it is, in every schedule.
    pub worker: WorkerPath,
    /// Innermost first.
    pub stack: Vec<Location>,
}

impl Identity {
    /// `parties` in any order.
    pub fn new(detail: String, mut parties: Vec<Party>) -> Identity {
        parties.sort_by(|a, b| a.worker.cmp(&b.worker));
        parties.iter_mut().for_each(|party| party.stack.truncate(FRAMES_MAX));
        Identity { detail, parties }
    }

    /// Where the parties were, each place once, by however many workers.
    pub fn places(&self) -> Vec<&[Location]> {
        let mut places: Vec<&[Location]> = self.parties.iter().map(|party| &party.stack[..]).collect();
        places.sort();
        places.dedup();
        places
    }
}
