//! What the guest's allocator has handed out and taken back, as its functions say it.
//!
//! The instrumenter reports every outermost call of an allocator: what comes back is checked when the
//! call begins, and what was done is known when it ends. Both are *events*, numbered from the beginning of
//! the program: a report names the events of a block, and a second execution of the same schedule finds out
//! where they were (`diagnose::block_history`).
//!
//! What a block's memory is checked for is in `blocks`. Nothing is claimed of memory that no known
//! function handed out, nor of anything if the guest has allocator functions of an unknown kind.

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
    /// Whether errors are looked for. If not, only sizes of blocks are known.
    watching: bool,
    /// Whether there was a call of an allocator function of an unknown kind.
    unknown: bool,
    blocks: Blocks,
    /// Events so far, and how many there were when iterations start.
    events: u32,
    start: u32,
    /// See [`Heap::requested`].
    requested: u64,
    /// How deep in allocators each worker is.
    depths: Vec<u32>,
}

/// An allocator takes no more than this besides a block's own bytes: its header, and what makes it aligned.
const OVERHEAD_BYTES: u64 = 32;

/// What an allocator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The block that it took back: its address, and its size if that is known.
    pub old: Option<(u32, Option<u32>)>,
    /// The block that it handed out.
    pub new: Option<(u32, u32)>,
    /// The event's number.
    pub event: u32,
}

impl Change {
    /// The block that is given back: not one that stays where it is with another size.
    pub fn freed(&self) -> Option<(u32, Option<u32>)> {
        self.old.filter(|(old, _)| self.new.is_none_or(|(new, _)| new != *old))
    }
}

/// The block that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// What is wrong with its use: a memory error.
    pub kind: BugKind,
    /// Where it begins.
    pub address: u32,
    /// As many as the guest asked for.
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

    /// A hash of what decides verdicts.
    pub fn digest(&self) -> u64 {
        // Events are numbers for reports; what was requested says which steps depend on each other, and decides nothing.
        let Heap { watching, unknown, blocks, events: _, start: _, requested: _, depths } = self;
        let inside: Vec<_> = depths.iter().enumerate().filter(|(_, depth)| **depth > 0).collect();
        if !inside.is_empty() || *unknown {
            return xxh3_64(format!("{watching} {unknown} {inside:?}").as_bytes())
                .wrapping_add(blocks.digest());
        }
        blocks.digest()
    }

    /// Events before the iteration began.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// How many events there have been.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Bytes that the iteration has requested so far, freed ones too: more than this no order of its requests and
    /// frees takes.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Whether the worker is inside of an allocator.
    pub fn allocating(&self, worker: WorkerId) -> bool {
        self.depths.get(worker.index()).is_some_and(|depth| *depth > 0)
    }

    /// Whether nothing can be wrong with an access of `bytes` bytes, at least 1. False says nothing.
    #[inline]
    pub fn clean(&self, address: u64, bytes: u32) -> bool {
        self.blocks.clean(address, bytes) || !self.watching
    }

    /// What is known of a page of 16 KiB, whether or not errors are looked for.
    pub fn shadow(&self, page: u32) -> Shadow<'_> {
        self.blocks.shadow(page)
    }

    /// What is wrong with an access.
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

    /// How many bytes from the beginning of a block in use are its own or its gap.
    pub fn extent(&self, address: u32) -> u32 {
        self.blocks.extent(address)
    }

    /// What was freed at an address.
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

    /// A worker enters an allocator, to give the block `old` back unless it is 0. What is wrong with that.
    pub fn enter(&mut self, worker: WorkerId, old: u32) -> Option<BlockRef> {
        if self.depths.len() <= worker.index() {
            self.depths.resize(worker.index() + 1, 0);
        }
        self.depths[worker.index()] += 1;
        self.free_error(worker, old)
    }

    /// What is wrong with giving this address back, in the call of an allocator that the worker has entered.
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

    /// The worker leaves an allocator, which took back the block `old` and handed out `new` of `bytes`
    /// bytes; 0 stands for none. What an allocator that is called by another one says does not count.
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
