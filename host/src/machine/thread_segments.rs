//! Parts of a worker's life: from one creation of another worker to the next.
//!
//! What a worker does before it creates another one is ordered before all that the other one does. So an
//! owner of memory is not a worker but a *segment* of one. A worker's *n*-th segment ends with its *n*-th
//! creation, counted from 0. All accesses in that segment come before everything that this child, later
//! children and their descendants do. The numbers of segments are those of the owner table; there are 126, in
//! the order in which segments began.

use crate::runtime::Runtime;
use coyote_abi::rt::Granule;
use coyote_strategies::WorkerId;
use std::collections::BTreeSet;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub worker: WorkerId,
    /// Number of workers that it had created before.
    children: u32,
}

/// The segments so far, and the joins that order them.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    numbered: Vec<Segment>,
    /// Bytes of the workers' present segments; `None` for one whose number does not fit.
    present: Vec<Option<u8>>,
    /// Joins: the joining worker, and the one that it joined.
    joined: BTreeSet<(WorkerId, WorkerId)>,
}

impl Segments {
    /// Begins a segment of a worker. Returns its byte in the owner table for memory that it has only read, if
    /// its number fits.
    pub fn begin(&mut self, worker: WorkerId, children: u32) -> Option<u8> {
        let byte = u8::try_from(2 * self.numbered.len() + 2).ok().filter(|b| *b < Granule::Freed as u8);
        if byte.is_some() {
            self.numbered.push(Segment { worker, children });
        }
        if self.present.len() <= worker.index() {
            self.present.resize(worker.index() + 1, None);
        }
        self.present[worker.index()] = byte;
        byte
    }

    /// The byte of a worker's present segment.
    pub fn present(&self, worker: WorkerId) -> Option<u8> {
        self.present.get(worker.index()).copied().flatten()
    }

    /// The segment whose byte this is.
    pub fn of(&self, byte: u8) -> Option<Segment> {
        let owned = Granule::Read as u8 + 1..Granule::Freed as u8;
        owned.contains(&byte).then(|| self.numbered[usize::from(byte - 2) / 2])
    }

    /// Records that `by` joined `whom`, which has ended.
    pub fn join(&mut self, by: WorkerId, whom: WorkerId) {
        self.joined.insert((by, whom));
    }

    pub fn joined(&self, by: WorkerId, whom: WorkerId) -> bool {
        self.joined.contains(&(by, whom))
    }

    /// Whether all of a segment comes before all that another worker will do.
    pub fn before(&self, segment: Segment, worker: WorkerId, runtime: &Runtime) -> bool {
        let creator = &runtime.worker(segment.worker).path.0;
        let path = &runtime.worker(worker).path.0;
        let child = path.strip_prefix(&creator[..]).and_then(|rest| rest.first());
        child.is_some_and(|child| *child >= segment.children) || self.joined(worker, segment.worker)
    }

    /// The joins as numbers, for the digest of the state.
    pub fn joins(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.joined.iter().map(|(by, whom)| (by.0, whom.0))
    }
}
