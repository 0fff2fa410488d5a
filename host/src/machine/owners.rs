//! Whose memory is: so that only accesses of memory that workers share are scheduling points.
//!
//! A byte of the guest's memory `rt::OWNERS` says of each granule what is known (`rt::Granule`). An
//! access by a worker that has a granule to itself passes in the guest; the others come here. A granule
//! that a second worker accesses, one of the two writing, is shared from that access on: it and every
//! later one is a scheduling point. The accesses before were none, so the iteration is repeated with the
//! granule known from its beginning: see [`crate::epochs`].
//!
//! # Why that is enough
//! Let S be the set of granules known to be shared when an iteration begins. If no schedule of the points
//! at S makes another granule shared, then every access outside of S is to memory that one worker has to
//! itself, or that is never written. Such accesses commute with everything that other workers do, so every
//! execution with points everywhere is equivalent to one with points at S. If one were not, take the
//! shortest that touches a granule outside of S by two workers: up to that touch it is equivalent to one
//! with points at S, which touches the granule in the same way and is noticed. What is noticed does not
//! depend on which of the two accesses comes first, since the order within a step cannot be turned.
//!
//! # Memory that is handed over
//! What a worker does before it creates another one comes before all that the other one does, and what a
//! worker did comes before what is done by a worker that joined it. So the owner of memory is a segment of a
//! worker (`super::thread_segments`), and whoever comes after all of that segment gets the memory: the two
//! accesses have one order in every schedule. If the owner comes back to it in a later segment, that
//! segment is the owner, or finds out that another one is. Who wrote is remembered as long as the
//! memory is only read: others may read it too if they also come after that.
//!
//! # Blocks of the heap
//! A block that is freed and handed out again is other memory, at the same address. From free to
//! malloc its whole granules are [`Granule::Freed`], then untouched. What that forgets are accesses
//! before the free against accesses after the malloc. If the later one goes through the new block, the
//! allocator orders them in every schedule in which the block has this address. If it goes through a
//! stale pointer, then it can also come before the malloc, where it finds a freed granule, and whoever
//! accesses that makes it shared. To free is to write: granules of a block that belong to another worker
//! become shared, unless that worker's accesses come before. With wasi-threads, where joins are not known, a
//! worker that has ended, or whose stack is freed, is taken to have been joined. Of a granule of which only
//! a part was freed, what is known stays; but every access of it is looked at, since one of the freed part
//! is an error of the guest ([`crate::detect::memory_errors`]).
//!
//! # What is not seen
//! - Interaction through anything but memory and operations: the addresses that malloc returns, virtual
//!   time, output. It is explored, but only as finely as points are.
//! - With wasi-threads: a worker that says that it is done, uses a block of the heap once more and ends
//!   without another point, or so uses its own stack, when that is freed thereupon.
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

/// Everything about owners that belongs to the state of the program, but for the table itself.
#[derive(Clone, Debug, Default)]
struct Known {
    segments: Segments,
    /// Who wrote, and handed over, what its owner has only read.
    given: BTreeMap<u32, Segment>,
    /// The bytes of granules of which a part was freed: in the table they stand as untouched, so that every
    /// access of them is looked at.
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

/// See the module's documentation. The table itself is the guest's memory; `None` where there is none.
#[derive(Debug, Default)]
pub struct OwnerTable {
    /// Which accesses are points, and which will be from the next beginning on.
    sharing: Sharing,
    next: Sharing,
    /// Up to which granule the table is filled, for `All`.
    filled: usize,
    /// Granules whose byte is not that of the start, in the order in which that came to be.
    changed: Vec<u32>,
    /// Granules that became shared, since they were last asked for.
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
    /// Freed memory belongs to no worker at once.
    NothingFreed,
    /// To free is no access.
    FreeIsNoWrite,
    /// A restored state keeps the table as it is.
    NotRestored,
    /// What its creator wrote, a worker gets in any case.
    AlwaysHandedOver,
}

fn granules(address: u32, bytes: u32) -> RangeInclusive<u32> {
    address / GRANULE..=address.saturating_add(bytes.max(1) - 1) / GRANULE
}

impl OwnerTable {
    /// A segment of a worker begins, in which it has created `children` others. With what it passes in the
    /// guest.
    pub fn begin_segment(&mut self, worker: WorkerId, children: u32) -> u32 {
        if self.sharing == Sharing::All {
            return NOBODY;
        }
        self.known.segments.begin(worker, children).map_or(NOBODY, |byte| u32::from(byte) + 1)
    }

    /// Which accesses are points, from the next beginning on.
    pub fn share(&mut self, sharing: Sharing) {
        self.next = sharing;
    }

    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Granules that became shared since the beginning, or since this was last asked.
    pub fn take_grown(&mut self) -> Granules {
        Granules(std::mem::take(&mut self.grown))
    }

    /// How many granules [`OwnerTable::take_grown`] would give.
    pub fn grown_count(&self) -> usize {
        self.grown.len()
    }

    /// The present state is the one in which iterations start: nothing has been accessed since.
    pub fn set_start(&mut self, table: &mut [u8]) {
        self.begin(table);
    }

    /// The table is that of a new instance: all zeros.
    pub fn rebuilt(&mut self, table: &mut [u8]) {
        self.changed.clear();
        self.filled = 0;
        self.mark_known(table, SHARED);
    }

    /// Goes back to the start. Costs what changed since then.
    pub fn begin(&mut self, table: &mut [u8]) {
        self.grown.clear();
        self.known = Known::default();
        self.clear(table);
        self.change_sharing(table, self.next.clone());
    }

    /// The program starts again within an iteration: memory is nobody's.
    pub fn restart(&mut self, table: &mut [u8]) {
        self.known = Known::default();
        self.clear(table);
    }

    fn clear(&mut self, table: &mut [u8]) {
        for granule in self.changed.drain(..) {
            table[granule as usize] = UNTOUCHED;
        }
    }

    /// The table must hold nothing but what is shared.
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

    /// A hash of what decides which accesses will be points.
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

    /// The worker is about to access memory that all of the guest sees. Whether that is a point.
    pub fn touch(&mut self, table: &mut [u8], runtime: &Runtime, worker: WorkerId, touch: Touch) -> bool {
        let mut granules = granules(touch.address, touch.bytes);
        if self.sharing == Sharing::All {
            // The guest need not ask again.
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
        // No short cut: every granule has to know.
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

    /// What becomes of a granule with this byte when the worker accesses it, and who wrote there before
    /// the one who has only read since.
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
        // Workers to come descend from those that are.
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

    /// What is known of a granule.
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

    /// The host accesses memory for the worker, within an operation that is no access itself.
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

    /// The worker leaves an allocator. `done`: whether another worker is taken to be done with a block, given
    /// as its addresses and the one behind, without being joined.
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
                self.changed.retain(|granule| table[*granule as usize] != UNTOUCHED);
            }
        }
    }

    /// Granules of a range that are not untouched, in any order, without those that always are shared. A
    /// stack may be large and little of it used.
    fn touched_in(&self, table: &[u8], range: RangeInclusive<u32>) -> impl Iterator<Item = (u32, u8)> {
        let few = ((range.end() - range.start()) as usize) < self.changed.len();
        let touched: Vec<u32> = match few {
            true => range.collect(),
            false => self.changed.iter().copied().filter(|granule| range.contains(granule)).collect(),
        };
        let bytes: Vec<(u32, u8)> = touched.into_iter().map(|g| (g, self.byte(table, g))).collect();
        bytes.into_iter().filter(|(_, byte)| *byte != UNTOUCHED)
    }

    /// What becomes of the granules of a block that the worker frees. One that was never touched stays
    /// so: there is nothing to forget.
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
                // Its other blocks are whose they were.
                true => changes.push((granule, byte)),
            }
        }
        changes
    }

    /// A worker has joined another one.
    pub fn joined(&mut self, by: WorkerId, whom: WorkerId) {
        self.known.segments.join(by, whom);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// What the worker that has memory wrote itself, it was not given.
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
