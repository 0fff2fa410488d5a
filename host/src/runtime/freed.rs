//! What was known when memory was freed: each allocation that hands out some of it knows that too.
//!
//! Freeing a block happens before the allocations that hand out its memory again (C11, 7.22.3; C++
//! [new.delete.dataraces]). Programs rely on it that use the address of a block as a name.

use super::released::Join;
use std::collections::BTreeMap;

/// A region of free memory. It begins at its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Region<T> {
    end: u64,
    known: T,
}

/// See the module's documentation. Regions do not overlap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Freed<T>(BTreeMap<u64, Region<T>>);

impl<T> Default for Freed<T> {
    fn default() -> Freed<T> {
        Freed(BTreeMap::new())
    }
}

impl<T: Join + Clone> Freed<T> {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Records that a worker whose knowledge is `own` frees this memory.
    pub fn free(&mut self, address: u32, bytes: u32, own: &T) {
        self.take(address, bytes, |_| {});
        if bytes > 0 {
            let start = u64::from(address);
            self.0.insert(start, Region { end: start + u64::from(bytes), known: own.clone() });
        }
    }

    /// Adds to a worker's knowledge what was known when this memory, which it allocates, was freed.
    pub fn allocate(&mut self, address: u32, bytes: u32, own: &mut T) {
        self.take(address, bytes, |known| own.join(known));
    }

    /// Takes these bytes out of the regions, and hands over what was known of them.
    fn take(&mut self, address: u32, bytes: u32, mut each: impl FnMut(&T)) {
        if bytes == 0 {
            return;
        }
        let start = u64::from(address);
        let end = start + u64::from(bytes);
        while let Some((first, region)) = self.0.range_mut(..end).next_back()
            && region.end > start
        {
            let first = *first;
            each(&region.known);
            if region.end > end {
                let behind = region.clone();
                region.end = end;
                self.0.insert(end, behind);
            } else if first < start {
                region.end = start;
            } else {
                self.0.remove(&first);
            }
        }
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
    fn allocations_know_what_was_known_of_each_byte() {
        const BYTES: u64 = 24;
        for index in 0..2000 {
            let mut rng = ChoiceRng::new(Iteration { seed: 0x6672_6565, index });
            let (mut freed, mut naive) = (Freed::default(), vec![BTreeSet::new(); BYTES as usize]);
            for number in 0..40 {
                let start = rng.below(BYTES) as u32;
                let bytes = rng.below(BYTES + 1 - u64::from(start)) as u32;
                let range = start as usize..(start + bytes) as usize;
                if rng.one_in(2) {
                    freed.free(start, bytes, &BTreeSet::from([number]));
                    naive[range].fill(BTreeSet::from([number]));
                } else {
                    let mut own = BTreeSet::from([99]);
                    freed.allocate(start, bytes, &mut own);
                    let mut wanted: BTreeSet<u32> = naive[range.clone()].iter().flatten().copied().collect();
                    wanted.insert(99);
                    naive[range].fill(BTreeSet::new());
                    assert_eq!(own, wanted, "program {index}");
                }
            }
        }
    }
}
