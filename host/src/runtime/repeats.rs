//! Which accesses tell who looks for data races nothing new ([`super::stream::Interest::RACES`]).
//!
//! A *stretch* of a worker is what it does from one thing by which others may come after it to the next: an atomic write, a
//! fence, a release of an object; a change of the heap by anyone ends the stretches of all. Of the plain accesses of the
//! same bytes within a stretch, the first write, or else the first read, is in every race that another one is in: since
//! nothing was released in between, no other worker's access comes after the one and before the other (the same epoch of
//! FastTrack, Flanagan and Freund, PLDI 2009, section 3).
//!
//! This is a cache: what is not in it is told once more. So it can forget at any time, needs no place in snapshots, and
//! never changes what is found.

use super::Runtime;
use coyote_strategies::{OpKind, Operation, WorkerId};

/// Places in the cache: a power of two.
const PLACES: usize = 1024;
/// Bytes that have one place.
const GROUP: u64 = 8;

/// The last access that was told of a few bytes. Stretches are numbered from 1, those of all workers.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    stretch: u64,
    group: u32,
    /// Which of the eight bytes.
    mask: u8,
    writes: bool,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Repeats {
    /// By site, whether the operation is known to be a plain access. Empty if nobody looks for races.
    plain: Vec<bool>,
    /// The stretch of each worker, 0 if it is yet to begin.
    stretches: Vec<u64>,
    last: u64,
    /// As many as [`PLACES`], or none if nobody looks for races.
    told: Box<[Told]>,
}

impl Repeats {
    /// Which sites are known to be plain accesses.
    pub fn know(&mut self, plain: Vec<bool>) {
        let places = if plain.is_empty() { 0 } else { PLACES };
        if self.told.len() != places {
            self.told = vec![Told::default(); places].into();
        }
        self.plain = plain;
        self.forget();
    }

    /// All workers begin a stretch.
    pub fn forget(&mut self) {
        self.stretches.clear();
    }

    /// A worker begins a stretch.
    #[inline]
    pub fn begin(&mut self, worker: WorkerId) {
        if let Some(stretch) = self.stretches.get_mut(worker.index()) {
            *stretch = 0;
        }
    }

    /// What would be told of an operation, and the place of that; `None` if it is none that can be a repetition.
    #[inline]
    fn place(&self, stretch: u64, operation: &Operation) -> Option<(Told, usize)> {
        let Operation { kind, object, size, site } = *operation;
        let first = object % GROUP;
        let kept = matches!(kind, OpKind::Load | OpKind::Store) && self.is_plain(site);
        if !kept || stretch == 0 || first + u64::from(size) > GROUP {
            return None;
        }
        let group = (object / GROUP) as u32;
        let mask = (((1u16 << size) - 1) << first) as u8;
        let place = (u64::from(group) ^ stretch.wrapping_mul(0x9e37_79b9)) as usize % PLACES;
        Some((Told { stretch, group, mask, writes: kind.writes() }, place))
    }

    #[inline]
    fn is_plain(&self, site: u32) -> bool {
        self.plain.get(site as usize) == Some(&true)
    }

    /// Whether a worker's operation is a repetition.
    #[inline]
    fn has(&self, worker: WorkerId, operation: &Operation) -> bool {
        let stretch = self.stretches.get(worker.index()).copied().unwrap_or(0);
        self.place(stretch, operation).is_some_and(|(access, place)| self.told[place].covers(access))
    }

    /// A worker's operation is told, and none is a repetition of it if that is not `lasting`.
    fn tell(&mut self, worker: WorkerId, operation: &Operation, lasting: bool) {
        if !self.is_plain(operation.site) {
            // A load passes nothing on.
            if operation.kind.writes() {
                self.begin(worker);
            }
            return;
        }
        if self.stretches.len() <= worker.index() {
            self.stretches.resize(worker.index() + 1, 0);
        }
        let stretch = &mut self.stretches[worker.index()];
        if *stretch == 0 {
            self.last += 1;
            *stretch = self.last;
        }
        let stretch = *stretch;
        if lasting && let Some((access, place)) = self.place(stretch, operation) {
            self.told[place] = access;
        }
    }
}

impl Told {
    #[inline]
    fn covers(&self, other: Told) -> bool {
        (self.stretch, self.group) == (other.stretch, other.group)
            && self.mask & other.mask == other.mask
            && (self.writes || !other.writes)
    }
}

impl Runtime {
    /// Whether an operation that a worker is about to execute tells who looks for races nothing new.
    #[inline]
    pub fn repeats(&self, worker: WorkerId, operation: &Operation) -> bool {
        // What a worker does before there is a second one happens before all that others do.
        let alone = self.workers.len() == 1 && operation.kind != OpKind::Fence;
        alone || operation.kind == OpKind::Loop || self.stream.repeats.has(worker, operation)
    }

    /// An operation is executed of which who looks for races is told.
    pub(super) fn tell_operation(&mut self, worker: WorkerId, operation: &Operation) {
        // Within an atomic section, an access is in fewer races than elsewhere.
        let lasting = self.workers[worker.index()].atomic_depth == 0;
        self.stream.repeats.tell(worker, operation, lasting);
    }
}
