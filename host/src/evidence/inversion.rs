//! Locks that workers take in opposite orders.

use crate::object_id::ObjectId;
use coyote_instrumenter::Location;
use serde::{Deserialize, Serialize};

/// Locks that workers take in opposite orders, so that the workers may wait for each other. An inversion is not a bug
/// by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Inversion {
    /// Each worker wants the lock that the next one holds; the last worker wants the lock of the first.
    pub sides: Vec<Side>,
}

/// One worker's part of an inversion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Side {
    /// The worker by the name that reports show.
    pub title: String,
    /// The lock that the worker holds.
    pub held: ObjectId,
    /// Where the worker took it; `None` if that is not known.
    pub taken: Option<Location>,
    /// The second lock that the worker takes.
    pub wanted: ObjectId,
    /// Where the worker takes the second lock; `None` if that is not known.
    pub wanted_at: Option<Location>,
    /// The site index of that place.
    pub site: u32,
}

impl Inversion {
    /// The key that two equal inversions share: where the locks are taken, by whichever workers.
    pub fn key(&self) -> Vec<[Option<Location>; 2]> {
        let mut key: Vec<_> = self.sides.iter().map(|side| [side.taken, side.wanted_at]).collect();
        key.sort();
        key
    }
}
