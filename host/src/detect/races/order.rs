//! Happens-before: the clocks of workers, of objects and of atomic memory.
//!
//! **Atomics.** After C++20 (RC11 without its coherence): a release store, or a store behind a release fence, passes
//! its worker's knowledge on to a worker that reads it by an acquire, or that reads it and then makes an acquire fence.
//! Read-modify-writes also pass on what the store before them passed on (the release sequence); every other store
//! begins anew. Sequentially consistent accesses are acquires and releases: the order of all of them makes no edge.
//!
//! **Blocks.** Freeing one happens before what a worker does that sees that its memory is in use again ([`Reuse`]).

use crate::detect::clock::Clock;
use crate::observe::{HbObject, Join, Released, Reuse, SyncEvent};
use coyote_abi::Ordering;
use coyote_strategies::{Class, WorkerId};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The knowledge of a worker.
#[derive(Clone, Debug, Default, Hash)]
struct Knowledge {
    /// The clock of what happened before its next access.
    now: Clock,
    /// The clock that an acquire fence would add: from the stores that relaxed reads have read.
    read: Clock,
    /// The clock at its last release fence, which its relaxed stores pass on.
    fenced: Clock,
}

/// An atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    pub address: u64,
    pub bytes: u32,
    pub reads: bool,
    pub writes: bool,
    pub ordering: Ordering,
}

/// The clock that the last store to an address passes on, and the size of that store in bytes.
#[derive(Clone, Debug, Default, Hash)]
struct Location {
    bytes: u32,
    clock: Clock,
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, Hash)]
pub struct Order {
    workers: Vec<Knowledge>,
    objects: BTreeMap<HbObject, Released<Clock>>,
    locations: BTreeMap<u64, Location>,
    near: Near,
    reuse: Reuse<Clock>,
}

/// A filter that says where locations may be: a bit for each eight bytes of memory, many of which share one. Most
/// accesses are far from all locations.
#[derive(Clone, Debug)]
struct Near([u64; Near::WORDS]);

impl Near {
    const WORDS: usize = 64;
    const GROUP: u64 = 8;

    fn bit(group: u64) -> (usize, u64) {
        ((group / 64) as usize % Near::WORDS, 1 << (group % 64))
    }

    fn add(&mut self, address: u64, bytes: u64) {
        for group in address / Near::GROUP..=(address + bytes - 1) / Near::GROUP {
            let (word, bit) = Near::bit(group);
            self.0[word] |= bit;
        }
    }

    /// Whether a location may overlap these bytes.
    #[inline]
    fn may_have(&self, address: u64, bytes: u64) -> bool {
        let mut groups = address / Near::GROUP..=(address + bytes).saturating_sub(1) / Near::GROUP;
        // Longer ranges are rare.
        bytes > Near::GROUP * 8
            || groups.any(|group| {
                let (word, bit) = Near::bit(group);
                self.0[word] & bit != 0
            })
    }
}

impl Default for Near {
    fn default() -> Near {
        Near([0; Near::WORDS])
    }
}

/// It follows from the locations so far, and decides nothing.
impl std::hash::Hash for Near {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Maximum number of bytes of an atomic access.
const ATOMIC_BYTES: u64 = 16;

impl Order {
    pub fn clear(&mut self) {
        self.workers.clear();
        self.objects.clear();
        self.locations.clear();
        self.near = Near::default();
        self.reuse.clear();
    }

    #[inline]
    fn worker(&mut self, worker: WorkerId) -> &mut Knowledge {
        while self.workers.len() <= worker.index() {
            let mut first = Knowledge::default();
            // Epochs count from 1: a worker's first one is known to no other worker at first.
            first.now.advance(WorkerId(self.workers.len() as u32));
            self.workers.push(first);
        }
        &mut self.workers[worker.index()]
    }

    /// The clock of what happened before the worker's next access; its own entry is its present epoch.
    pub fn now(&mut self, worker: WorkerId) -> &Clock {
        &self.worker(worker).now
    }

    /// Records that a worker acquires or releases an object.
    pub fn synchronise(&mut self, event: &SyncEvent) {
        let SyncEvent { worker, object, kind, .. } = *event;
        if orders_nothing(object) {
            return;
        }
        self.worker(worker);
        let own = &mut self.workers[worker.index()].now;
        self.objects.entry(object).or_default().exchange(own, kind);
        if kind.releases() {
            own.advance(worker);
        }
    }

    /// Adds the knowledge that a worker gets by an atomic access. Must be called before [`Order::write`].
    pub fn read(&mut self, worker: WorkerId, atomic: &Atomic) {
        if !atomic.reads || !self.near.may_have(atomic.address, atomic.bytes.into()) {
            return;
        }
        self.worker(worker);
        let own = &mut self.workers[worker.index()];
        let mut learn = |before: &Clock| {
            own.read.join(before);
            if atomic.ordering.acquires() {
                own.now.join(before);
            }
        };
        match self.locations.get(&atomic.address) {
            Some(location) if location.bytes == atomic.bytes => learn(&location.clock),
            _ => {
                for (_, location) in overlapping(&self.locations, atomic.address, atomic.bytes.into()) {
                    learn(&location.clock);
                }
            }
        }
    }

    /// Passes on a worker's knowledge by an atomic access.
    pub fn write(&mut self, worker: WorkerId, atomic: &Atomic) {
        let Atomic { address, bytes, reads, writes, ordering } = *atomic;
        if !writes {
            return;
        }
        self.worker(worker);
        let own = &mut self.workers[worker.index()];
        let passed = if ordering.releases() { &own.now } else { &own.fenced };
        match self.locations.get_mut(&address) {
            // Locations do not overlap, so no other one has any of these bytes.
            Some(location) if location.bytes == bytes => match reads {
                true => location.clock.join(passed),
                false => location.clock.clone_from(passed),
            },
            _ => {
                let mut clock = passed.clone();
                let mut hidden = SmallVec::<[u64; 4]>::new();
                for (at, location) in overlapping(&self.locations, address, bytes.into()) {
                    if reads {
                        clock.join(&location.clock);
                    }
                    hidden.push(at);
                }
                hidden.iter().for_each(|at| _ = self.locations.remove(at));
                self.near.add(address, bytes.into());
                self.locations.insert(address, Location { bytes, clock });
            }
        }
        if ordering.releases() {
            own.now.advance(worker);
        }
    }

    /// Performs a fence of a worker.
    pub fn fence(&mut self, worker: WorkerId, ordering: Ordering) {
        let own = self.worker(worker);
        if ordering.acquires() {
            let Knowledge { now, read, .. } = own;
            now.join(read);
        }
        if ordering.releases() {
            own.fenced = own.now.clone();
            own.now.advance(worker);
        }
    }

    /// Records that a worker frees this memory.
    pub fn free(&mut self, worker: WorkerId, address: u32, bytes: u32) {
        self.worker(worker);
        let own = &mut self.workers[worker.index()].now;
        self.reuse.free(address, bytes, own);
        own.advance(worker);
    }

    /// Records that a worker allocates this memory.
    pub fn allocate(&mut self, worker: WorkerId, address: u32, bytes: u32) {
        self.reuse.allocate(worker, address, bytes);
    }

    /// Adds the knowledge that a worker gets by reading an address, if the copy that it reads is older than its block at
    /// that address: whether it was there before, `is_before` says.
    pub fn read_address(&mut self, worker: WorkerId, address: u32, is_before: impl FnOnce(&Clock) -> bool) {
        if let Some(known) = self.reuse.known_of(worker, address).filter(|known| is_before(known)) {
            let known = known.clone();
            self.worker(worker).now.join(&known);
        }
    }

    /// Whether [`Order::read_address`] may add anything.
    pub fn has_reused_memory(&self) -> bool {
        self.reuse.is_any_live()
    }

    /// Forgets the annotations at these bytes, which have become other memory.
    pub fn forget_annotations(&mut self, address: u32, bytes: u32) {
        let (from, to) = (HbObject::Annotated(address), HbObject::Annotated(address.saturating_add(bytes)));
        let old: SmallVec<[HbObject; 4]> = self.objects.range(from..to).map(|(object, _)| *object).collect();
        old.iter().for_each(|object| _ = self.objects.remove(object));
    }

    /// Forgets the locations in these bytes, which are overwritten or have become other memory.
    #[inline]
    pub fn forget(&mut self, address: u64, bytes: u64) {
        if self.near.may_have(address, bytes) {
            self.forget_near(address, bytes);
        }
    }

    fn forget_near(&mut self, address: u64, bytes: u64) {
        let hidden: Vec<u64> = overlapping(&self.locations, address, bytes).map(|(at, _)| at).collect();
        for at in hidden {
            self.locations.remove(&at);
        }
    }
}

/// The locations that have any of these bytes, by their addresses.
fn overlapping(
    locations: &BTreeMap<u64, Location>,
    address: u64,
    bytes: u64,
) -> impl Iterator<Item = (u64, &Location)> {
    let near = locations.range(address.saturating_sub(ATOMIC_BYTES)..address + bytes);
    let overlaps = move |(at, location): &(u64, &Location)| at + u64::from(location.bytes) > address;
    near.map(|(at, location)| (*at, location)).filter(overlaps)
}

/// Whether an object orders nothing. Notifications of condvars order nothing by POSIX and C++, the mutex does; around
/// futexes, the accesses of their words order.
fn orders_nothing(object: HbObject) -> bool {
    let queue = |class| matches!(class, Class::Condvar | Class::Futex);
    matches!(object, HbObject::Wake { queue: Some(object), .. } if queue(object.class))
}
