//! Blocks that cannot be freed any more.
//!
//! Conservative, as a collector for C is (Boehm and Weiser, Software: Practice and Experience 18(9), 1988):
//! every aligned word that has a value within a block counts as a pointer to it. So a reported block is lost,
//! unless its address is kept in another form; and a lost block may go unnoticed because a number looks like
//! its address.

use super::{Heap, LiveBlock};
use std::ops::Range;

impl Heap {
    /// Blocks allocated since the start that nothing points to: neither a word of memory outside of blocks,
    /// nor of `roots`, nor of a block that something points to. Ranges in `dead` hold no pointers; blocks
    /// that contain an address of `stacks` are never lost. The blocks are in the order in which they were
    /// allocated.
    pub fn leaks(
        &self,
        memory: &[u8],
        dead: &[Range<usize>],
        roots: &[&[u8]],
        stacks: &[u32],
    ) -> Vec<LiveBlock> {
        let blocks: Vec<LiveBlock> = self.blocks.live().collect();
        let kept = |block: &LiveBlock| {
            block.allocated < self.start || stacks.iter().any(|low| range(block).contains(&(*low as usize)))
        };
        if !self.watching || blocks.iter().all(kept) {
            return Vec::new();
        }
        let mut marks =
            Marks { reached: blocks.iter().map(kept).collect(), queue: Vec::new(), blocks: &blocks };
        marks.queue.extend((0..blocks.len()).filter(|i| marks.reached[*i]));
        let freed = self.blocks.freed().map(|f| f.range().start as usize..f.range().end as usize);
        let mut excluded: Vec<Range<usize>> =
            blocks.iter().map(range).chain(freed).chain(dead.to_vec()).collect();
        excluded.sort_by_key(|r| r.start);
        let mut start = 0;
        for range in excluded {
            marks.scan(memory, start..range.start, dead);
            start = start.max(range.end);
        }
        marks.scan(memory, start..memory.len(), dead);
        roots.iter().for_each(|root| marks.scan(root, 0..root.len(), &[]));
        while let Some(block) = marks.queue.pop() {
            marks.scan(memory, range(&blocks[block]), dead);
        }
        let mut lost: Vec<LiveBlock> =
            blocks.iter().zip(&marks.reached).filter(|(_, reached)| !**reached).map(|(b, _)| *b).collect();
        lost.sort_by_key(|block| block.allocated);
        lost
    }
}

fn range(block: &LiveBlock) -> Range<usize> {
    block.address as usize..block.address as usize + block.bytes as usize
}

struct Marks<'a> {
    /// Blocks in the order of their addresses.
    blocks: &'a [LiveBlock],
    reached: Vec<bool>,
    /// Blocks that were reached and are not yet scanned.
    queue: Vec<usize>,
}

impl Marks<'_> {
    /// Treats every aligned word of a range as a pointer.
    fn scan(&mut self, memory: &[u8], range: Range<usize>, dead: &[Range<usize>]) {
        let (start, end) = (range.start.next_multiple_of(4), range.end.min(memory.len()));
        if start >= end {
            return;
        }
        for (n, word) in memory[start..end].chunks_exact(4).enumerate() {
            let value = u32::from_le_bytes(word.try_into().expect("four bytes"));
            let at = start + 4 * n;
            if value != 0 && self.points(value).is_some() && !dead.iter().any(|d| d.contains(&at)) {
                self.reach(value);
            }
        }
    }

    /// The block that a value points to. A block without bytes has an address too.
    fn points(&self, value: u32) -> Option<usize> {
        let at = self.blocks.partition_point(|b| b.address <= value).checked_sub(1)?;
        let block = self.blocks[at];
        (value == block.address || value - block.address < block.bytes).then_some(at)
    }

    fn reach(&mut self, value: u32) {
        if let Some(block) = self.points(value)
            && !std::mem::replace(&mut self.reached[block], true)
        {
            self.queue.push(block);
        }
    }
}
