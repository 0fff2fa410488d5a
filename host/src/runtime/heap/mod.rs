//! The blocks that the guest's allocator has handed out and taken back, as reported at calls of its
//! functions.
//!
//! The instrumenter reports every outermost call of an allocator: a block that is given back is checked when
//! the call begins, and the result is known when it ends. A call that changes blocks is an *event*; events
//! are numbered from the beginning of the program: a report names the events of a block, and a second
//! execution of the same schedule finds out where they were (`diagnose::block_history`).
//!
//! The checks of a block's memory are in `blocks`. There are no reports about memory that no known function
//! handed out, and none at all after a call of an allocator function of an unknown kind.

mod blocks;
mod leaks;

#[cfg(test)]
mod tests;

use crate::outcome::BugKind;
use blocks::Blocks;
pub use blocks::{Freed, HeapError, LiveBlock, Shadow};
use coyote_abi::rt::ALLOCATOR_UNKNOWN;
use coyote_strategies::WorkerId;
use xxhash_rust::xxh3::xxh3_64;

/// See the module's documentation. A part of the program's state.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// Whether errors are searched for. If not, only sizes of blocks are known.
    watching: bool,
    /// Whether there was a call of an allocator function of an unknown kind.
    unknown: bool,
    blocks: Blocks,
    /// Number of events so far, and when iterations start.
    events: u32,
    start: u32,
    /// See [`Heap::requested`].
    requested: u64,
    /// The depth of nested allocator calls of each worker.
    depths: Vec<u32>,
}

/// Maximum number of bytes that an allocator takes besides a block's own: for its header and alignment.
const OVERHEAD_BYTES: u64 = 32;

/// A change of blocks by an allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The block that it took back: its address, and its size if that is known.
    pub old: Option<(u32, Option<u32>)>,
    /// The block that it handed out: its address and size.
    pub new: Option<(u32, u32)>,
    /// The event's number.
    pub event: u32,
}

impl Change {
    /// The block that is given back; `None` if it was resized in place.
    pub fn freed(&self) -> Option<(u32, Option<u32>)> {
        self.old.filter(|(old, _)| self.new.is_none_or(|(new, _)| new != *old))
    }
}

/// The block that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// The kind of the memory error.
    pub kind: BugKind,
    /// Its address.
    pub address: u32,
    /// Number of bytes that the guest asked for.
    pub bytes: u32,
    /// The event that allocated it; the first `start` events are those before the iteration.
    pub allocated: u32,
    /// The event that freed it; `None` while it is in use.
    pub freed: Option<u32>,
}

impl Heap {
    pub fn new(watching: bool) -> Heap {
        Heap { watching, ..Heap::default() }
    }

    /// The same heap at the beginning of an iteration.
    pub fn at_start(&self) -> Heap {
        Heap { start: self.events, requested: 0, depths: Vec::new(), ..self.clone() }
    }

    /// A hash of the state that decides verdicts.
    pub fn digest(&self) -> u64 {
        // Events are numbers for reports; requested bytes only say which steps depend on each other.
        let Heap { watching, unknown, blocks, events: _, start: _, requested: _, depths } = self;
        let inside: Vec<_> = depths.iter().enumerate().filter(|(_, depth)| **depth > 0).collect();
        if !inside.is_empty() || *unknown {
            return xxh3_64(format!("{watching} {unknown} {inside:?}").as_bytes())
                .wrapping_add(blocks.digest());
        }
        blocks.digest()
    }

    /// Number of events before the iteration began.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Number of events so far.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Bytes that the iteration has requested so far, including freed ones: no order of its requests and frees takes
    /// more.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Whether the worker is inside of an allocator.
    pub fn allocating(&self, worker: WorkerId) -> bool {
        self.depths.get(worker.index()).is_some_and(|depth| *depth > 0)
    }

    /// Whether an access of `bytes` bytes, at least 1, is certainly no error. False does not mean that it is
    /// one.
    #[inline]
    pub fn clean(&self, address: u64, bytes: u32) -> bool {
        self.blocks.clean(address, bytes) || !self.watching
    }

    /// The state of a page of 16 KiB, whether or not errors are searched for.
    pub fn shadow(&self, page: u32) -> Shadow<'_> {
        self.blocks.shadow(page)
    }

    /// The error of an access, if it is one.
    pub fn wrong(&self, address: u32, bytes: u32, write: bool) -> Option<HeapError> {
        let looks = self.watching && bytes > 0;
        if looks { self.blocks.wrong(address, bytes, write) } else { None }
    }

    /// Whether any of `bytes` bytes at an address was freed.
    pub fn any_freed(&self, address: u32, bytes: u32) -> bool {
        self.watching && self.blocks.any_freed(address, bytes)
    }

    /// The block in use that holds an address.
    pub fn block_around(&self, address: u32) -> Option<LiveBlock> {
        self.blocks.around(address)
    }

    /// Number of bytes, from the beginning of a block in use, that belong to it or its gap.
    pub fn extent(&self, address: u32) -> u32 {
        self.blocks.extent(address)
    }

    /// The freed memory at an address.
    pub fn freed_at(&self, address: u32) -> Option<Freed> {
        self.blocks.freed_at(address)
    }

    /// Whether all functions of the allocator so far were of a known kind.
    pub fn is_known(&self) -> bool {
        !self.unknown
    }

    /// Whether a call that the worker is about to leave was refused memory.
    pub fn fails(&self, worker: WorkerId, (_, new, bytes): (u32, u32, u32)) -> bool {
        let outermost = self.depths.get(worker.index()) == Some(&1);
        outermost && new == 0 && bytes > 0 && bytes != ALLOCATOR_UNKNOWN
    }

    /// Records that a worker enters an allocator, to give the block `old` back unless it is 0. Returns the
    /// error in that, if there is one.
    pub fn enter(&mut self, worker: WorkerId, old: u32) -> Option<BlockRef> {
        if self.depths.len() <= worker.index() {
            self.depths.resize(worker.index() + 1, 0);
        }
        self.depths[worker.index()] += 1;
        self.free_error(worker, old)
    }

    /// The error in giving this address back, in the call of an allocator that the worker has entered.
    pub fn free_error(&self, worker: WorkerId, old: u32) -> Option<BlockRef> {
        let outermost = self.depths.get(worker.index()) == Some(&1);
        if !outermost || !self.watching || old == 0 || self.blocks.at(old).is_some() {
            return None;
        }
        if let Some(freed) = self.blocks.freed_at(old) {
            let kind = if freed.block.address == old { BugKind::DoubleFree } else { BugKind::InvalidFree };
            return Some(BlockRef::new(kind, freed.block, Some(freed.freed)));
        }
        self.blocks.around(old).map(|block| BlockRef::new(BugKind::InvalidFree, block, None))
    }

    /// Records that the worker leaves an allocator, which took back the block `old` and handed out `new` of
    /// `bytes` bytes; 0 stands for none. Nested calls of allocators do not count.
    pub fn exit(&mut self, worker: WorkerId, (old, new, bytes): (u32, u32, u32)) -> Option<Change> {
        let depth = self.depths.get_mut(worker.index())?;
        let outermost = *depth == 1;
        *depth = depth.saturating_sub(1);
        if outermost && (old, new, bytes) == (0, 0, ALLOCATOR_UNKNOWN) {
            self.watching = false;
            self.unknown = true;
        }
        let failed = new == 0 && bytes > 0;
        if !outermost || failed || (old, new) == (0, 0) {
            return None;
        }
        let event = self.events;
        self.events += 1;
        let mut change = Change { old: None, new: None, event };
        if old != 0 && old == new {
            change.old = Some((old, self.blocks.at(old).map(|b| b.bytes)));
            self.blocks.resize(old, bytes);
        } else if old != 0 {
            change.old = Some((old, self.blocks.free(old, event).map(|b| b.bytes)));
        }
        if new != 0 {
            self.requested += u64::from(bytes) + OVERHEAD_BYTES;
            change.new = Some((new, bytes));
            if self.blocks.at(new).is_none() || old != new {
                self.blocks.allocate(LiveBlock { address: new, bytes, allocated: event });
            }
        }
        Some(change)
    }
}

impl BlockRef {
    pub fn new(kind: BugKind, block: LiveBlock, freed: Option<u32>) -> BlockRef {
        BlockRef { kind, address: block.address, bytes: block.bytes, allocated: block.allocated, freed }
    }
}

impl HeapError {
    pub fn blame(self) -> BlockRef {
        match self {
            HeapError::Freed(freed) => BlockRef::new(BugKind::UseAfterFree, freed.block, Some(freed.freed)),
            HeapError::Beyond(block) => BlockRef::new(BugKind::HeapOverflow, block, None),
        }
    }
}
