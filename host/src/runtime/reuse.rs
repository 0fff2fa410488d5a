//! What a worker learns by seeing that memory was handed out again.
//!
//! Freeing a block happens before the allocations that hand out its memory again (C11, 7.22.3; C++
//! [new.delete.dataraces]). Programs rely on it that use the address of a block as a name: a worker that reads an old
//! copy of the address of its own block knows that the copy's block was freed.
//!
//! Which memory an allocator hands out is chance, and an order by chance would hide errors that other allocators show.
//! So only who reads such an old copy learns what was known when the block was freed. (Miri, which has the edge at each
//! allocation, hands out memory of other threads only at random, for the same reason.) What others learn, who know by
//! another way that the block is in use, is not known here.

use super::released::Join;
use coyote_strategies::WorkerId;
use std::collections::BTreeMap;

/// Number of bytes of an address in a module with 32-bit memory.
pub const ADDRESS_BYTES: u32 = 4;

/// Memory from its key on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Region<T> {
    end: u64,
    known: T,
}

/// See the module's documentation. No two regions overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reuse<T> {
    /// Freed memory, with what was known then.
    free: BTreeMap<u64, Region<T>>,
    /// Blocks in use that have memory of others, with what was known when those were freed, and who allocated them.
    live: BTreeMap<u64, Region<(T, WorkerId)>>,
}

impl<T> Default for Reuse<T> {
    fn default() -> Reuse<T> {
        Reuse { free: BTreeMap::new(), live: BTreeMap::new() }
    }
}

impl<T: Join + Clone> Reuse<T> {
    pub fn clear(&mut self) {
        self.free.clear();
        self.live.clear();
    }

    /// Records that a worker whose knowledge is `own` frees a block.
    pub fn free(&mut self, address: u32, bytes: u32, own: &T) {
        let mut known = own.clone();
        if let Some(block) = self.live.remove(&address.into()) {
            known.join(&block.known.0);
        }
        self.take(address, bytes);
        if bytes > 0 {
            let start = u64::from(address);
            self.free.insert(start, Region { end: start + u64::from(bytes), known });
        }
    }

    /// Records that a worker allocates a block.
    pub fn allocate(&mut self, worker: WorkerId, address: u32, bytes: u32) {
        if let Some(known) = self.take(address, bytes) {
            let start = u64::from(address);
            self.live.insert(start, Region { end: start + u64::from(bytes), known: (known, worker) });
        }
    }

    /// Whether any block in use has memory of others.
    pub fn is_any_live(&self) -> bool {
        !self.live.is_empty()
    }

    /// What was known when memory was freed that is part of the worker's block at this address now.
    pub fn known_of(&self, worker: WorkerId, address: u32) -> Option<&T> {
        let (_, block) = self.live.range(..=u64::from(address)).next_back()?;
        let (known, by) = &block.known;
        (block.end > address.into() && *by == worker).then_some(known)
    }

    /// Takes these bytes out of the free regions, and returns what was known of any of them.
    fn take(&mut self, address: u32, bytes: u32) -> Option<T> {
        let start = u64::from(address);
        let end = start + u64::from(bytes);
        let mut all: Option<T> = None;
        while bytes > 0
            && let Some((first, region)) = self.free.range_mut(..end).next_back()
            && region.end > start
        {
            let first = *first;
            match &mut all {
                Some(all) => all.join(&region.known),
                None => all = Some(region.known.clone()),
            }
            if region.end > end {
                let behind = region.clone();
                region.end = end;
                self.free.insert(end, behind);
            } else if first < start {
                region.end = start;
            } else {
                self.free.remove(&first);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_strategies::Iteration;
    use coyote_strategies::rng::ChoiceRng;
    use std::collections::BTreeSet;

    impl Join for BTreeSet<u32> {
        fn join(&mut self, other: &BTreeSet<u32>) {
            self.extend(other);
        }
    }

    /// Agrees with a list of what is known of each byte.
    #[test]
    fn blocks_know_what_was_known_of_each_byte() {
        const BYTES: u32 = 24;
        for index in 0..2000 {
            let mut rng = ChoiceRng::new(Iteration { seed: 0x7265_7573, index });
            let mut reuse = Reuse::default();
            let mut free = vec![BTreeSet::new(); BYTES as usize];
            let mut live: Vec<(u32, u32, BTreeSet<u32>)> = Vec::new();
            for number in 0..40 {
                let start = rng.below(u64::from(BYTES)) as u32;
                let bytes = 1 + rng.below(u64::from(BYTES - start)) as u32;
                let range = start as usize..(start + bytes) as usize;
                if !live.is_empty() && rng.one_in(2) {
                    let (start, bytes, mut known) = live.swap_remove(rng.below(live.len() as u64) as usize);
                    known.insert(number);
                    reuse.free(start, bytes, &BTreeSet::from([number]));
                    free[start as usize..(start + bytes) as usize].fill(known);
                } else if live.iter().all(|(other, size, _)| start + bytes <= *other || other + size <= start)
                {
                    reuse.allocate(WorkerId(start % 2), start, bytes);
                    live.push((start, bytes, free[range.clone()].iter().flatten().copied().collect()));
                    free[range].fill(BTreeSet::new());
                }
                for byte in 0..BYTES {
                    let block = live.iter().find(|(start, bytes, _)| (*start..start + bytes).contains(&byte));
                    for worker in 0..2 {
                        let own = block.filter(|(start, ..)| start % 2 == worker);
                        let wanted = own.map(|(.., known)| known).filter(|known| !known.is_empty());
                        assert_eq!(reuse.known_of(WorkerId(worker), byte), wanted, "program {index}");
                    }
                }
            }
        }
    }
}
