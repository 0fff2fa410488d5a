//! Random executions, in which races must be those of the definition: by the graph of happens-before.

use super::Races;
use super::memory::Memory;
use super::order::Atomic;
use super::shadow::{How, Special, What};
use crate::object_id::UseKind;
use crate::observe::{Detector as _, HbObject, SyncEvent, SyncKind};
use crate::runtime::ObjectId;
use coyote_abi::Ordering;
use coyote_strategies::{Class, WorkerId};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

const ORDERINGS: [Ordering; 5] =
    [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

#[derive(Clone, Copy, Debug)]
enum Act {
    Access {
        address: u32,
        bytes: u32,
        reads: bool,
        writes: bool,
        ordering: Option<Ordering>,
        in_section: bool,
    },
    Fence(Ordering),
    Lock(SyncKind),
    /// A use of the sync object of a class at an address, which orders nothing.
    Use {
        class: Class,
        address: u32,
        kind: UseKind,
    },
    /// These bytes become a new block.
    Allocate(Block),
    /// The block ends.
    Free(Block),
}

#[derive(Clone, Copy, Debug)]
struct Block {
    address: u32,
    bytes: u32,
    /// Whether its allocation, or its being freed, counts as a write.
    counts: bool,
}

#[derive(Clone, Copy, Debug)]
struct Done {
    worker: usize,
    act: Act,
    /// What it reads from a word, if it reads one.
    value: Option<u32>,
}

/// Where words begin that are part of no block.
const NAMES: u32 = 1000;

/// `live`: the block in use, if there is one. `names`: whether mostly blocks are used and relaxed accesses of words that
/// are no part of them, which orders nothing if it is not for the addresses in these words.
fn draw(rng: &mut StdRng, live: &mut Option<Block>, names: bool) -> Done {
    let worker = rng.random_range(0..3);
    let ordering = ORDERINGS[rng.random_range(0..5)];
    if rng.random_bool(if names { 0.3 } else { 0.06 }) {
        let counts = !names && rng.random_bool(0.8);
        if let Some(block) = live.take() {
            return Done { worker, act: Act::Free(Block { counts, ..block }), value: None };
        }
        // Some of them are larger than a page of the shadow.
        let (address, bytes) = (rng.random_range(0..24), [1, 4, 9, 600][rng.random_range(0..4)]);
        let block = Block { address, bytes, counts };
        *live = Some(block);
        return Done { worker, act: Act::Allocate(block), value: None };
    }
    if names {
        let (reads, bytes) = (rng.random_bool(0.5), 4);
        let word = |index: u32| NAMES + 4 * index;
        let act = if rng.random_bool(0.96) {
            let (address, ordering) = (word(rng.random_range(0..3)), Some(Ordering::Relaxed));
            Act::Access { address, bytes, reads, writes: !reads, ordering, in_section: false }
        } else {
            let address = word(3 + rng.random_range(0..3));
            Act::Access { address, bytes, reads, writes: !reads, ordering: None, in_section: false }
        };
        return Done { worker, act, value: None };
    }
    let act = match rng.random_range(0..12) {
        0..4 => {
            let bytes = [1, 2, 4, 8][rng.random_range(0..4)];
            let address = rng.random_range(0..24 / bytes) * bytes;
            let writes = rng.random_bool(0.4);
            let in_section = rng.random_bool(0.2);
            Act::Access { address, bytes, reads: !writes, writes, ordering: None, in_section }
        }
        4..8 => {
            let (reads, writes) = [(true, false), (false, true), (true, true)][rng.random_range(0..3)];
            let address = 4 * rng.random_range(0..6);
            Act::Access { address, bytes: 4, reads, writes, ordering: Some(ordering), in_section: false }
        }
        8 => Act::Fence(ordering),
        9 | 10 => {
            let class = [Class::Mutex, Class::Semaphore][rng.random_range(0..2)];
            let kind = [UseKind::Begins, UseKind::Uses, UseKind::Uses, UseKind::Ends][rng.random_range(0..4)];
            Act::Use { class, address: rng.random_range(0..24), kind }
        }
        _ => {
            let kinds =
                [SyncKind::Acquire, SyncKind::Release, SyncKind::AcquireShared, SyncKind::ReleaseShared];
            Act::Lock(kinds[rng.random_range(0..4)])
        }
    };
    Done { worker, act, value: None }
}

/// The detector under test. `add` returns the index of an access that the new one is in a race with.
struct Detector {
    memory: Memory,
    /// The distance between the numbers of the workers.
    apart: u32,
}

impl Detector {
    fn add(&mut self, index: usize, done: Done) -> Option<usize> {
        let worker = WorkerId(done.worker as u32 * self.apart);
        match done.act {
            Act::Access { address, bytes, reads, writes, ordering, in_section } => {
                if let Some(value) = done.value {
                    self.memory.read_address(worker, address, value);
                }
                let atomic = ordering.map(|ordering| Atomic {
                    address: address.into(),
                    bytes,
                    reads,
                    writes,
                    ordering,
                });
                let how = How { writes, atomic: atomic.is_some(), in_section };
                let what = What { address, bytes, site: 0, step: index as u32, ordering, special: None };
                let race = self.memory.access(worker, how, what, atomic);
                race.first().map(|first| first.what.step as usize)
            }
            Act::Fence(ordering) => {
                self.memory.order.fence(worker, ordering);
                None
            }
            Act::Use { class, address, kind } => {
                let special = Some(Special::Use(class, kind));
                let what = What { address, bytes: 1, site: 0, step: index as u32, ordering: None, special };
                let is_use = kind == UseKind::Uses;
                let how = How { writes: !is_use, atomic: is_use, in_section: false };
                let race = self.memory.use_object(worker, class, how, what);
                race.first().map(|first| first.what.step as usize)
            }
            Act::Allocate(Block { address, bytes, counts }) => {
                self.memory.allocate(worker, counts, (address, bytes), index as u32);
                None
            }
            Act::Free(Block { address, bytes, counts }) => {
                let race = self.memory.free(worker, counts, (address, bytes));
                race.first().map(|first| first.what.step as usize)
            }
            Act::Lock(kind) => {
                let object = HbObject::Object(ObjectId { class: Class::Rwlock, address: 8 });
                self.memory.order.synchronise(&SyncEvent { worker, object, kind, timed: false });
                None
            }
        }
    }
}

/// The races by the definitions. `after` has, for each event, the events that it comes after.
#[derive(Default)]
struct Naive {
    events: Vec<Done>,
    after: Vec<Vec<bool>>,
    /// Number of reads of old copies of addresses.
    learned: usize,
}

impl Naive {
    fn add(&mut self, done: Done) -> Vec<usize> {
        let index = self.events.len();
        self.events.push(done);
        let mut before = vec![false; index];
        let mut edges = Vec::new();
        edges.extend((0..index).filter(|i| self.events[*i].worker == done.worker));
        match done.act {
            Act::Lock(kind) if kind.acquires() => {
                edges.extend((0..index).filter(|i| match self.events[*i].act {
                    Act::Lock(SyncKind::Release) => true,
                    Act::Lock(SyncKind::ReleaseShared) => kind == SyncKind::Acquire,
                    _ => false,
                }))
            }
            Act::Access { reads: true, ordering: Some(ordering), address, .. } if ordering.acquires() => {
                edges.extend(self.synchronises(index, address));
            }
            Act::Fence(ordering) if ordering.acquires() => {
                for i in 0..index {
                    if let Done {
                        worker,
                        act: Act::Access { reads: true, ordering: Some(_), address, .. },
                        ..
                    } = self.events[i]
                        && worker == done.worker
                    {
                        edges.extend(self.synchronises(i, address));
                    }
                }
            }
            _ => {}
        }
        if let (Some(value), Act::Access { address, .. }) = (done.value, done.act) {
            let known = self.learns(index, value, address);
            self.learned += usize::from(!known.is_empty());
            edges.extend(known);
        }
        for edge in edges {
            before[edge] = true;
            for (known, also) in before.iter_mut().zip(&self.after[edge]) {
                *known |= also;
            }
        }
        self.after.push(before);
        (0..index).filter(|i| self.race(*i, index)).collect()
    }

    /// Releases and release fences that an atomic read of this word synchronises with.
    fn synchronises(&self, read: usize, word: u32) -> Vec<usize> {
        let mut found = Vec::new();
        for i in (0..read).rev() {
            if (word..word + 4).any(|byte| self.forgets(i, byte)) {
                return found;
            }
            let Act::Access { address, bytes, reads, writes: true, ordering, .. } = self.events[i].act else {
                continue;
            };
            if address + bytes <= word || word + 4 <= address {
                continue;
            }
            let Some(ordering) = ordering else { return found };
            if ordering.releases() {
                found.push(i);
            } else {
                let fence = |e: &Done| matches!(e.act, Act::Fence(ordering) if ordering.releases());
                let own =
                    |j: &usize| self.events[*j].worker == self.events[i].worker && fence(&self.events[*j]);
                found.extend((0..i).rev().find(own));
            }
            if !reads {
                return found;
            }
        }
        found
    }

    /// The frees that the reader of an address knows of, if that is one of its own block, and if all that was written to
    /// the place of the copy happened before them.
    fn learns(&self, read: usize, value: u32, place: u32) -> Vec<usize> {
        let block = (0..read).rev().find(|i| self.forgets(*i, value));
        let Some(block) = block.filter(|i| matches!(self.events[*i].act, Act::Allocate(_))) else {
            return Vec::new();
        };
        let frees = self.reused(block);
        let since = (0..read).rev().find(|i| self.forgets(*i, place)).map_or(0, |i| i + 1);
        let writes = |i: &usize| {
            let Act::Access { address, bytes, writes: true, .. } = self.events[*i].act else { return false };
            (address..address + bytes).contains(&place)
        };
        let written: Vec<usize> = (since..read).filter(writes).collect();
        let before = |i: &usize| frees.iter().any(|free| self.after[*free].get(*i) == Some(&true));
        let is_own = self.events[block].worker == self.events[read].worker;
        if is_own && !written.is_empty() && written.iter().all(before) { frees } else { Vec::new() }
    }

    /// The frees of memory that an allocation hands out again, and those before them.
    fn reused(&self, allocation: usize) -> Vec<usize> {
        let Act::Allocate(Block { address, bytes, .. }) = self.events[allocation].act else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for byte in address..address + bytes {
            let Some(last) = (0..allocation).rev().find(|i| self.forgets(*i, byte)) else { continue };
            if let Act::Free(freed) = self.events[last].act
                && !all.contains(&last)
            {
                let is_its = |i: &usize| matches!(self.events[*i].act, Act::Allocate(block) if block.address == freed.address);
                let before = (0..last).rev().find(is_its).map_or(Vec::new(), |block| self.reused(block));
                all.push(last);
                all.extend(before);
            }
        }
        all
    }

    /// Whether an event turns a byte into other memory.
    fn forgets(&self, event: usize, byte: u32) -> bool {
        let (Act::Allocate(block) | Act::Free(block)) = self.events[event].act else { return false };
        (block.address..block.address + block.bytes).contains(&byte)
    }

    fn race(&self, first: usize, second: usize) -> bool {
        let (a, b) = (self.events[first], self.events[second]);
        // A new block has no earlier accesses, and one that has ended no later ones.
        if matches!(a.act, Act::Free(_)) || matches!(b.act, Act::Allocate(_)) {
            return false;
        }
        let (Some(one), Some(other)) = (Access::of(a.act), Access::of(b.act)) else { return false };
        let both = one.address.max(other.address)..one.end.min(other.end);
        a.worker != b.worker
            && both.into_iter().any(|byte| !(first + 1..second).any(|i| self.forgets(i, byte)))
            && one.meets(&other)
            && (one.writes || other.writes)
            && !(one.atomic && other.atomic)
            && !(one.in_section && other.in_section)
            && !self.after[second][first]
    }
}

/// What counts as an access.
struct Access {
    /// The class of the sync object that it accesses, if it accesses no memory; and whether it accesses the objects in
    /// the memory, too.
    class: Option<Class>,
    all: bool,
    address: u32,
    end: u32,
    writes: bool,
    atomic: bool,
    in_section: bool,
}

impl Access {
    fn of(act: Act) -> Option<Access> {
        match act {
            Act::Access { address, bytes, writes, ordering, in_section, .. } => {
                let atomic = ordering.is_some();
                Some(Access {
                    class: None,
                    all: false,
                    address,
                    end: address + bytes,
                    writes,
                    atomic,
                    in_section,
                })
            }
            Act::Use { class, address, kind } => {
                let atomic = kind == UseKind::Uses;
                let (class, end) = (Some(class), address + 1);
                Some(Access { class, all: false, address, end, writes: !atomic, atomic, in_section: false })
            }
            Act::Allocate(Block { address, bytes, counts }) | Act::Free(Block { address, bytes, counts }) => {
                let (all, end) = (matches!(act, Act::Free(_)), address + bytes);
                let (class, writes, atomic, in_section) = (None, true, false, false);
                counts.then_some(Access { class, all, address, end, writes, atomic, in_section })
            }
            Act::Fence(_) | Act::Lock(_) => None,
        }
    }

    /// Whether an earlier access and this later one may access the same thing.
    fn meets(&self, later: &Access) -> bool {
        self.class == later.class || later.all
    }
}

/// Event by event, until the first race, the detector agrees with the definitions.
#[test]
fn agrees_with_the_definitions() {
    let (mut races, mut of_blocks, mut of_objects, mut learned, mut long) = (0, 0, 0, 0, 0);
    for seed in 0..20_000 {
        let mut rng = StdRng::seed_from_u64(seed);
        // The numbers of later workers are kept in another way.
        let apart = if seed % 4 == 0 { 70 } else { 1 };
        let mut detector = Detector { memory: Memory::default(), apart };
        let (mut naive, mut live) = (Naive::default(), None);
        let (mut words, names) = (BTreeMap::new(), seed % 3 == 0);
        // Executions with fewer plain accesses of shared bytes go on for longer before they have a race.
        let plain = rng.random_bool(0.7);
        for index in 0..60 {
            let mut done = draw(&mut rng, &mut live, names);
            if let Act::Access { ordering: None, bytes, in_section, .. } = done.act
                && !plain
                && !names
                && rng.random_bool(0.95)
            {
                let address = 64 * (1 + done.worker as u32);
                done.act =
                    Act::Access { address, bytes, reads: true, writes: true, ordering: None, in_section };
            }
            if let Act::Access { address, bytes, reads, writes, .. } = done.act {
                let word = address / 4;
                done.value = words.get(&word).copied().filter(|_| reads && bytes == 4);
                if writes {
                    (word..=(address + bytes - 1) / 4).for_each(|word| _ = words.remove(&word));
                    if bytes == 4 && rng.random_bool(0.8) {
                        words.insert(word, rng.random_range(0..24));
                    }
                }
            }
            let found = detector.add(index, done);
            let wanted = naive.add(done);
            match found {
                Some(first) => assert!(
                    wanted.contains(&first),
                    "seed {seed}: {first}, not in {wanted:?}: {:?}",
                    naive.events
                ),
                None => assert!(wanted.is_empty(), "seed {seed}: missed {wanted:?}: {:?}", naive.events),
            }
            if !wanted.is_empty() {
                races += 1;
                let [first, second] = [wanted[0], index].map(|event| naive.events[event].act);
                of_blocks +=
                    usize::from(matches!((first, second), (Act::Allocate(_), _) | (_, Act::Free(_))));
                of_objects += usize::from(matches!((first, second), (Act::Use { .. }, Act::Free(_))));
                break;
            }
            long += usize::from(index == 59);
        }
        learned += naive.learned;
    }
    let counts = format!(
        "{races} races, {of_blocks} with an allocator, {of_objects} of them of sync objects, {learned} old copies, \
         {long} without a race"
    );
    let enough = of_blocks > 1_000 && of_objects > 100 && learned > 100 && long > 100;
    assert!(races > 10_000 && enough, "{counts}");
}

#[test]
fn an_earlier_iteration_is_no_part_of_the_digest() {
    let mut races = Races::default();
    let fresh = races.digest();
    let how = How { writes: true, atomic: false, in_section: false };
    let special = Some(Special::Use(Class::Mutex, UseKind::Begins));
    let what = What { address: 8, bytes: 1, site: 0, step: 1, ordering: None, special };
    races.memory.use_object(WorkerId(0), Class::Mutex, how, what);
    assert_ne!(races.digest(), fresh);
    races.clear();
    assert_eq!(races.digest(), fresh);
}
