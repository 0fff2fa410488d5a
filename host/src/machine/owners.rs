//! Memory ownership: only accesses of memory that several workers share are scheduling points.
//!
//! One byte of the memory `rt::OWNERS` holds what is known about each granule (`rt::Granule`). An access by
//! the worker that owns its granule passes in the guest; other accesses ask the host. When a second worker
//! accesses a granule, and one of the two writes, the granule becomes shared: this access and all later ones
//! are scheduling points. Earlier accesses were not, so the iteration is repeated with the granule shared
//! from the beginning: see [`crate::epochs`].
//!
//! # Why that is enough
//! Let S be the set of granules known to be shared when an iteration begins. If no schedule of the points at
//! S makes another granule shared, then every access outside of S is to memory that only one worker uses, or
//! that is never written. Such accesses commute with everything that other workers do, so every execution
//! with points everywhere is equivalent to one with points at S. Otherwise, take the shortest execution in
//! which two workers touch a granule outside of S: up to that touch it is equivalent to one with points at S,
//! which touches the granule in the same way, and the touch is noticed. That does not depend on which of the
//! two accesses comes first, since the order within a step cannot be reversed.
//!
//! # Memory that is handed over
//! What a worker does before it creates another one comes before all that the other one does, and what a
//! worker did comes before what is done by a worker that joined it. So the owner of memory is a segment of a
//! worker (`super::thread_segments`), and a worker whose access comes after all of that segment takes the
//! memory over: the two accesses have the same order in every schedule. If the former owner accesses the
//! memory again in a later segment, that segment becomes the owner, or finds that another one is. The segment
//! that wrote is remembered as long as the memory is only read: other workers may read it too if they also
//! come after that segment.
//!
//! # Blocks of the heap
//! A block that is freed and handed out again is other memory, at the same address. From free to malloc its
//! whole granules are [`Granule::Freed`], then untouched. This forgets conflicts between accesses before the
//! free and accesses after the malloc. If the later one goes through the new block, the allocator orders them
//! in every schedule in which the block has this address. If it goes through a stale pointer, then it can
//! also come before the malloc, where it finds a freed granule, and an access of a freed granule makes it
//! shared. Freeing is a write: granules of a block that belong to another worker become shared, unless that
//! worker's accesses come before. With wasi-threads, where joins are not known, a worker that has ended, or
//! whose stack is freed, counts as joined. If only a part of a granule was freed, what is known about the
//! granule stays; but every access of it asks the host, since an access of the freed part is an error of the
//! guest ([`crate::detect::memory_errors`]).
//!
//! # What is not seen
//! - Interaction through anything but memory and operations: the addresses that malloc returns, virtual time,
//!   output. It is explored, but only at the points that there are.
//! - With wasi-threads: a worker that signals that it is done, then uses a block of the heap once more and
//!   ends without another point; the same with its own stack, if that is freed because of the signal.
//! - Accesses of a function to its own stack frame, as with points everywhere.

use super::thread_segments::{Segment, Segments};
use crate::granules::{Granules, Sharing};
use crate::runtime::Runtime;
use crate::runtime::heap::Change;
use coyote_abi::rt::{GRANULE, Granule, NOBODY};
use coyote_strategies::{Access, Effect, WorkerId, WorkerState};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128_with_seed;

const UNTOUCHED: u8 = Granule::Untouched as u8;
const READ: u8 = Granule::Read as u8;
const FREED: u8 = Granule::Freed as u8;
const SHARED: u8 = Granule::Shared as u8;

/// An access that the guest asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    pub address: u32,
    pub bytes: u32,
    pub write: bool,
}

/// Everything about owners that belongs to the state of the program, except the table itself.
#[derive(Clone, Debug, Default)]
struct Known {
    segments: Segments,
    /// By granule: the segment that wrote it and handed it over to an owner that has only read it since.
    given: BTreeMap<u32, Segment>,
    /// The bytes of granules of which a part was freed. The table has them as untouched, so that every access
    /// of them asks the host.
    hidden: BTreeMap<u32, u8>,
}

/// The owner table at one moment.
#[derive(Clone, Debug, Default)]
pub struct OwnersSnapshot {
    sharing: Sharing,
    /// Granules that are not as at the start, ascending.
    granules: Arc<[(u32, u8)]>,
    known: Known,
}

/// See the module's documentation. The table itself is a memory of the guest, and is passed to the methods.
#[derive(Debug, Default)]
pub struct OwnerTable {
    /// Which accesses are points now (`sharing`), and from the next beginning on (`next`).
    sharing: Sharing,
    next: Sharing,
    /// Number of granules up to which the table is filled, for `All`.
    filled: usize,
    /// Granules whose byte differs from that at the start, in the order in which they changed.
    changed: Vec<u32>,
    /// Granules that became shared since the last [`OwnerTable::take_grown`].
    grown: BTreeSet<u32>,
    known: Known,
    /// A planted fault.
    #[doc(hidden)]
    pub mutant: Option<Mutant>,
}

/// Planted bugs, so that tests can show that they would notice them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Only the first granule of an access counts.
    NoStraddleCheck,
    /// Accesses by the host do not count.
    HostUnchecked,
    /// Freed memory counts as untouched at once.
    NothingFreed,
    /// Freeing a block is no access.
    FreeIsNoWrite,
    /// Restoring a state does not change the table.
    NotRestored,
    /// Every access counts as coming after the owner's segment, so memory is always handed over.
    AlwaysHandedOver,
}

fn granules(address: u32, bytes: u32) -> RangeInclusive<u32> {
    address / GRANULE..=address.saturating_add(bytes.max(1) - 1) / GRANULE
}

impl OwnerTable {
    /// Begins a segment of a worker that has created `children` others. Returns the value of `rt::ME`, with
    /// which the worker passes in the guest.
    pub fn begin_segment(&mut self, worker: WorkerId, children: u32) -> u32 {
        if self.sharing == Sharing::All {
            return NOBODY;
        }
        self.known.segments.begin(worker, children).map_or(NOBODY, |byte| u32::from(byte) + 1)
    }

    /// Sets which accesses are points from the next beginning on.
    pub fn share(&mut self, sharing: Sharing) {
        self.next = sharing;
    }

    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Takes the granules that became shared since the beginning, or since the last call.
    pub fn take_grown(&mut self) -> Granules {
        Granules(std::mem::take(&mut self.grown))
    }

    /// Number of granules that [`OwnerTable::take_grown`] would return.
    pub fn grown_count(&self) -> usize {
        self.grown.len()
    }

    /// Makes the present state the one in which iterations start: no memory has been accessed since.
    pub fn set_start(&mut self, table: &mut [u8]) {
        self.begin(table);
    }

    /// Adapts to the table of a new instance, which is all zeros.
    pub fn rebuilt(&mut self, table: &mut [u8]) {
        self.changed.clear();
        self.filled = 0;
        self.mark_known(table, SHARED);
    }

    /// Returns to the start. The cost is that of the changes since then.
    pub fn begin(&mut self, table: &mut [u8]) {
        self.grown.clear();
        self.known = Known::default();
        self.clear(table);
        self.change_sharing(table, self.next.clone());
    }

    /// Resets the table when the program starts again within an iteration: no memory has an owner.
    pub fn restart(&mut self, table: &mut [u8]) {
        self.known = Known::default();
        self.clear(table);
    }

    fn clear(&mut self, table: &mut [u8]) {
        for granule in self.changed.drain(..) {
            table[granule as usize] = UNTOUCHED;
        }
    }

    /// Applies another set of shared granules. The table must hold no other marks than those of the present
    /// set.
    fn change_sharing(&mut self, table: &mut [u8], sharing: Sharing) {
        if self.sharing == sharing {
            return;
        }
        self.mark_known(table, UNTOUCHED);
        table[..std::mem::take(&mut self.filled)].fill(UNTOUCHED);
        self.sharing = sharing;
        self.mark_known(table, SHARED);
    }

    fn mark_known(&self, table: &mut [u8], byte: u8) {
        if let Sharing::Only(set) = &self.sharing {
            set.0.iter().for_each(|granule| table[*granule as usize] = byte);
        }
    }

    pub fn snapshot(&self, table: &[u8]) -> OwnersSnapshot {
        let mut granules: Vec<(u32, u8)> = self.changed.iter().map(|g| (*g, table[*g as usize])).collect();
        granules.sort_unstable();
        OwnersSnapshot { sharing: self.sharing.clone(), granules: granules.into(), known: self.known.clone() }
    }

    pub fn restore(&mut self, table: &mut [u8], snapshot: &OwnersSnapshot) {
        if self.mutant == Some(Mutant::NotRestored) {
            return;
        }
        self.clear(table);
        self.change_sharing(table, snapshot.sharing.clone());
        for (granule, byte) in snapshot.granules.iter() {
            table[*granule as usize] = *byte;
            self.changed.push(*granule);
        }
        self.known.clone_from(&snapshot.known);
    }

    /// A hash of the state that decides which accesses will be points.
    pub fn digest(&self, table: &[u8]) -> u128 {
        if self.sharing == Sharing::All {
            return 0;
        }
        let part = |seed: u64, a: u32, b: u32| {
            xxh3_128_with_seed(&[a.to_le_bytes(), b.to_le_bytes()].concat(), seed)
        };
        let given = self.known.given.iter().map(|(granule, by)| part(13, *granule, by.worker.0));
        let granules = self.changed.iter().map(|g| part(10, *g, self.byte(table, *g).into()));
        let joined = self.known.segments.joins().map(|(by, whom)| part(12, by, whom));
        granules.chain(given).chain(joined).fold(0, u128::wrapping_add)
    }

    /// Records that the worker is about to access memory other than the worker-local word. Returns whether
    /// the access is a point.
    pub fn touch(&mut self, table: &mut [u8], runtime: &Runtime, worker: WorkerId, touch: Touch) -> bool {
        let mut granules = granules(touch.address, touch.bytes);
        if self.sharing == Sharing::All {
            // Marks the granules as shared, so that the guest need not ask again.
            let end = (*granules.end() as usize + 1).max(self.filled);
            table[self.filled..end].fill(SHARED);
            self.filled = end;
            return true;
        }
        if touch.bytes == 0 || runtime.heap.allocating(worker) {
            return false;
        }
        if self.mutant == Some(Mutant::NoStraddleCheck) {
            granules = *granules.start()..=*granules.start();
        }
        // No early return: every granule must record the access.
        granules.fold(false, |point, granule| {
            let (new, given_by) =
                self.touched(granule, self.byte(table, granule), runtime, worker, touch.write);
            self.set(table, granule, new, runtime);
            match given_by {
                Some(segment) => self.known.given.insert(granule, segment),
                None => self.known.given.remove(&granule),
            };
            point | (new == SHARED)
        })
    }

    /// The new byte of a granule that the worker accesses, and the segment that wrote it, if its owner has
    /// only read it since.
    fn touched(
        &self,
        granule: u32,
        byte: u8,
        runtime: &Runtime,
        worker: WorkerId,
        write: bool,
    ) -> (u8, Option<Segment>) {
        let segments = &self.known.segments;
        let Some(me) = segments.present(worker) else { return (SHARED, None) };
        let Some(owner) = segments.of(byte) else {
            let new = match byte {
                UNTOUCHED => me | u8::from(write),
                READ if !write => READ,
                _ => SHARED,
            };
            return (new, None);
        };
        let written = byte & 1 != 0;
        let given_by = self.known.given.get(&granule).copied();
        if owner.worker == worker {
            let written = written || write;
            return (me | u8::from(written), given_by.filter(|_| !written));
        }
        let comes_after = |segment: Segment, worker: WorkerId| {
            self.mutant == Some(Mutant::AlwaysHandedOver) || segments.before(segment, worker, runtime)
        };
        // Later workers descend from the present ones.
        let all_come_after = |segment: Segment| {
            let mut others =
                (0..runtime.workers().len() as u32).map(WorkerId).filter(|w| *w != segment.worker);
            others.all(|w| runtime.pending(w).state == WorkerState::Ended || comes_after(segment, w))
        };
        match (comes_after(owner, worker), given_by) {
            (true, _) if write => (me | 1, None),
            (true, _) if written => (me, Some(owner)),
            _ if write || written => (SHARED, None),
            (_, None) => (READ, None),
            (_, Some(writer)) if all_come_after(writer) => (READ, None),
            (true, Some(_)) => (me, given_by),
            (false, Some(_)) => (SHARED, None),
        }
    }

    /// The byte that says what is known of a granule.
    fn byte(&self, table: &[u8], granule: u32) -> u8 {
        self.known.hidden.get(&granule).copied().unwrap_or(table[granule as usize])
    }

    fn set(&mut self, table: &mut [u8], granule: u32, new: u8, runtime: &Runtime) {
        let old = self.byte(table, granule);
        if new != SHARED && new != FREED && runtime.heap.any_freed(granule * GRANULE, GRANULE) {
            table[granule as usize] = UNTOUCHED;
            self.known.hidden.insert(granule, new);
        } else {
            table[granule as usize] = new;
            self.known.hidden.remove(&granule);
        }
        if old == UNTOUCHED && new != UNTOUCHED {
            self.changed.push(granule);
        }
        if new == SHARED && old != SHARED {
            self.grown.insert(granule);
        }
    }

    /// Records accesses that the host makes for the worker, within an operation that is no access itself.
    pub fn touch_by_host(
        &mut self,
        table: &mut [u8],
        runtime: &Runtime,
        worker: WorkerId,
        accesses: &[Access],
    ) {
        if self.sharing == Sharing::All || self.mutant == Some(Mutant::HostUnchecked) {
            return;
        }
        for access in accesses {
            let (address, bytes) = (access.object as u32, access.size);
            self.touch(
                table,
                runtime,
                worker,
                Touch { address, bytes, write: access.effect == Effect::Write },
            );
        }
    }

    /// Records the change by an allocator, which the worker leaves. `done`: whether another worker counts as
    /// done with a block without having been joined; the block is given by its addresses and the one behind.
    pub fn allocator_exit(
        &mut self,
        table: &mut [u8],
        runtime: &Runtime,
        worker: WorkerId,
        change: &Change,
        done: &dyn Fn(WorkerId, RangeInclusive<u32>) -> bool,
    ) {
        if self.sharing == Sharing::All {
            return;
        }
        if let Some((old, bytes)) = change.freed() {
            let block = (old, bytes.unwrap_or(1));
            for (granule, byte) in self.freed(table, runtime, worker, block, done) {
                self.set(table, granule, byte, runtime);
                if byte == SHARED || byte == FREED {
                    self.known.given.remove(&granule);
                }
            }
        }
        if let Some((new, bytes)) = change.new {
            let freed = self.touched_in(table, granules(new, bytes)).filter(|(_, byte)| *byte == FREED);
            let freed: Vec<u32> = freed.map(|(granule, _)| granule).collect();
            freed.iter().for_each(|granule| table[*granule as usize] = UNTOUCHED);
            if !freed.is_empty() {
                let hidden = &self.known.hidden;
                self.changed.retain(|g| table[*g as usize] != UNTOUCHED || hidden.contains_key(g));
            }
        }
    }

    /// Granules of a range that are not untouched, in any order, without those that are always shared. The
    /// range may be a large stack of which little is used.
    fn touched_in(&self, table: &[u8], range: RangeInclusive<u32>) -> impl Iterator<Item = (u32, u8)> {
        let few = ((range.end() - range.start()) as usize) < self.changed.len();
        let touched: Vec<u32> = match few {
            true => range.collect(),
            false => self.changed.iter().copied().filter(|granule| range.contains(granule)).collect(),
        };
        let bytes: Vec<(u32, u8)> = touched.into_iter().map(|g| (g, self.byte(table, g))).collect();
        bytes.into_iter().filter(|(_, byte)| *byte != UNTOUCHED)
    }

    /// The new bytes of the granules of a block that the worker frees. Granules that were never touched are
    /// left out: they stay untouched.
    fn freed(
        &self,
        table: &[u8],
        runtime: &Runtime,
        worker: WorkerId,
        (address, bytes): (u32, u32),
        done: &dyn Fn(WorkerId, RangeInclusive<u32>) -> bool,
    ) -> Vec<(u32, u8)> {
        let segments = &self.known.segments;
        let over = |owner: Segment| {
            let done = || done(owner.worker, address..=address.saturating_add(bytes));
            owner.worker == worker || segments.before(owner, worker, runtime) || done()
        };
        let after = if self.mutant == Some(Mutant::NothingFreed) { UNTOUCHED } else { FREED };
        let whole = address.div_ceil(GRANULE)..address.saturating_add(bytes) / GRANULE;
        let mut changes = Vec::new();
        for (granule, byte) in self.touched_in(table, granules(address, bytes)).filter(|(_, b)| *b != SHARED)
        {
            let over = segments.of(byte).is_some_and(over) || self.mutant == Some(Mutant::FreeIsNoWrite);
            match over {
                false => changes.push((granule, SHARED)),
                true if whole.contains(&granule) => changes.push((granule, after)),
                // The owner of the granule's other blocks stays.
                true => changes.push((granule, byte)),
            }
        }
        changes
    }

    /// Records that a worker has joined another one.
    pub fn joined(&mut self, by: WorkerId, whom: WorkerId) {
        self.known.segments.join(by, whom);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::heap::Heap;
    use crate::runtime::{AtExit, Faults, Request, Start};
    use coyote_strategies::Operation;

    /// The table of one worker that has begun `segments` segments.
    fn after(segments: u32) -> (OwnerTable, Vec<u8>) {
        let (mut owners, mut table) = (OwnerTable::default(), vec![0; 16]);
        owners.share(Sharing::Only(Arc::default()));
        owners.begin(&mut table);
        for n in 0..segments {
            owners.begin_segment(WorkerId(0), n);
        }
        (owners, table)
    }

    #[test]
    fn what_a_worker_without_a_number_accesses_is_shared() {
        let touch = Touch { address: 0x40, bytes: 4, write: false };
        for (segments, shared) in [(1, false), (126, false), (127, true)] {
            let (mut owners, mut table) = after(segments);
            assert_eq!(owners.touch(&mut table, &Runtime::default(), WorkerId(0), touch), shared);
            assert_eq!(owners.take_grown().0.contains(&1), shared, "after {segments} segments");
        }
    }

    /// Memory that its owner wrote itself does not count as given.
    #[test]
    fn states_are_equal_whether_memory_was_read_before_it_was_written() {
        let start = Start { entry: 0, a: 0, b: 0, stack: None };
        let mut runtime = Runtime::new(start, AtExit::Wait, true, Faults::default());
        runtime.announce(WorkerId(0), Operation::START, Request::Spawn(start));
        runtime.perform(WorkerId(0), &[], &mut |_, _| None);
        let digest = |accesses: &[bool]| {
            let (mut owners, mut table) = after(1);
            let touch = |write| Touch { address: 0x40, bytes: 4, write };
            owners.touch(&mut table, &runtime, WorkerId(0), touch(true));
            owners.begin_segment(WorkerId(0), 1);
            owners.begin_segment(WorkerId(1), 0);
            for write in accesses {
                assert!(!owners.touch(&mut table, &runtime, WorkerId(1), touch(*write)));
            }
            owners.digest(&table)
        };
        let (read, write) = (false, true);
        assert_eq!(digest(&[read, write]), digest(&[write]));
        assert_ne!(digest(&[read]), digest(&[write]));
    }

    /// Also a granule whose byte was hidden, as long as a part of it was free, when other free memory was used again.
    #[test]
    fn a_beginning_clears_what_was_hidden() {
        let start = Start { entry: 0, a: 0, b: 0, stack: None };
        let mut runtime = Runtime::new(start, AtExit::Wait, true, Faults::default());
        runtime.announce(WorkerId(0), Operation::START, Request::Spawn(start));
        runtime.perform(WorkerId(0), &[], &mut |_, _| None);
        runtime.heap = Heap::new(true);
        let (mut owners, mut table) = after(1);
        let (part, rest, whole, half) = (3 * GRANULE, 3 * GRANULE + GRANULE / 2, 5 * GRANULE, GRANULE / 2);
        let mut allocator = |old: u32, new: u32, bytes: u32, owners: &mut OwnerTable, table: &mut [u8]| {
            assert_eq!(runtime.heap.enter(WorkerId(0), old), None);
            let change = runtime.heap.exit(WorkerId(0), (old, new, bytes)).unwrap();
            owners.allocator_exit(table, &runtime, WorkerId(0), &change, &|_, _| false);
            let touch = Touch { address: new, bytes, write: true };
            assert!(new == 0 || !owners.touch(table, &runtime, WorkerId(0), touch));
        };
        for (old, new, bytes) in [
            (0, part, half),
            (0, rest, half),
            (0, whole, GRANULE),
            (part, 0, 0),
            (whole, 0, 0),
            (0, whole, GRANULE),
            (0, part, half),
        ] {
            allocator(old, new, bytes, &mut owners, &mut table);
        }
        assert!(table[3] != UNTOUCHED && table[5] != UNTOUCHED, "{table:?}");
        owners.begin(&mut table);
        assert_eq!(table, [UNTOUCHED; 16]);
    }

    #[test]
    fn a_beginning_clears_what_was_touched_and_nothing_known() {
        let (mut owners, mut table) = after(1);
        owners.share(Sharing::Only(Arc::new([3, 4].into_iter().collect())));
        for _ in 0..2 {
            owners.begin(&mut table);
            owners.begin_segment(WorkerId(0), 0);
            assert_eq!(table[..6], [0, 0, 0, SHARED, SHARED, 0]);
            let touch = Touch { address: 0x7e, bytes: 4, write: true };
            assert!(!owners.touch(&mut table, &Runtime::default(), WorkerId(0), touch));
            assert_eq!(table[..6], [0, 3, 3, SHARED, SHARED, 0]);
        }
        owners.share(Sharing::All);
        owners.begin(&mut table);
        assert_eq!(table, [0; 16]);
    }
}
