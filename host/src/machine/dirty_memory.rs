//! Records which chunks of guest memory changed: the base of cheap restores, snapshots and fingerprints.
//!
//! The guest marks the chunk of the first byte of each store; the store may reach up to 15 bytes into
//! the next chunk, so those bytes are treated as changed together with a marked chunk.
//!
//! A memory state is an immutable list of the chunks that differ from the base image (the start
//! snapshot). Lists share their chunks. Restoring costs what changed since the last snapshot or
//! restore, plus the difference between the two lists.

use coyote_abi::rt::CHUNK;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Number of bytes that a store can reach beyond the chunk that it marks.
const REACH: usize = 15;

/// Number of bytes that are compared with zero at once.
const BLOCK: usize = 64;

fn is_zero(block: &[u8]) -> bool {
    block.iter().fold(0, |all, byte| all | byte) == 0
}

/// Chunks that differ from the base image, ascending.
pub type Chunks = Arc<Vec<(u32, Arc<[u8]>)>>;

/// A set of chunks that can be listed and cleared at the cost of its size.
#[derive(Default)]
struct ChunkSet {
    flags: Vec<bool>,
    members: Vec<u32>,
}

impl ChunkSet {
    fn insert(&mut self, chunk: u32) {
        let i = chunk as usize;
        if i >= self.flags.len() {
            self.flags.resize(i + 1, false);
        }
        if !std::mem::replace(&mut self.flags[i], true) {
            self.members.push(chunk);
        }
    }

    fn take(&mut self) -> Vec<u32> {
        for chunk in &self.members {
            self.flags[*chunk as usize] = false;
        }
        std::mem::take(&mut self.members)
    }
}

/// See the module's documentation.
pub struct DirtyMemory {
    base: Arc<[u8]>,
    /// The state at the last snapshot or restore.
    at: Chunks,
    /// Chunks marked since then.
    changed: ChunkSet,
    /// Whether fingerprints have been asked for, so that hashes are kept.
    hashing: bool,
    hashes: Vec<u128>,
    sum: u128,
    /// Chunks whose hash is out of date.
    stale: ChunkSet,
    /// Ranges that count as zero in the hashes.
    dead: Vec<Range<usize>>,
    /// Chunks that the host wrote.
    pub host_written: Vec<u32>,
}

impl DirtyMemory {
    pub fn new(base: Arc<[u8]>) -> DirtyMemory {
        DirtyMemory {
            base,
            at: Chunks::default(),
            changed: ChunkSet::default(),
            hashing: false,
            hashes: Vec::new(),
            sum: 0,
            stale: ChunkSet::default(),
            dead: Vec::new(),
            host_written: Vec::new(),
        }
    }

    pub fn base(&self) -> &Arc<[u8]> {
        &self.base
    }

    /// Takes over and clears the guest's and the host's marks.
    pub fn collect(&mut self, marks: &mut [u8]) {
        // Nearly all marks are zero.
        for (i, block) in marks.chunks_mut(BLOCK).enumerate() {
            if is_zero(block) {
                continue;
            }
            for (j, mark) in block.iter_mut().enumerate() {
                if std::mem::take(mark) != 0 {
                    self.mark((i * BLOCK + j) as u32);
                }
            }
        }
        for chunk in std::mem::take(&mut self.host_written) {
            self.mark(chunk);
        }
    }

    fn mark(&mut self, chunk: u32) {
        self.changed.insert(chunk);
        if self.hashing {
            self.stale.insert(chunk);
            self.stale.insert(chunk + 1);
        }
    }

    /// The base image's content of a chunk. `None` beyond its end, where memory is zero. The last chunk may
    /// be short.
    fn base_chunk(&self, chunk: u32) -> Option<&[u8]> {
        let start = chunk as usize * CHUNK;
        self.base.get(start..(start + CHUNK).min(self.base.len())).filter(|b| !b.is_empty())
    }

    fn write_chunk(&self, memory: &mut [u8], target: &Chunks, chunk: u32, reach: usize) {
        let start = chunk as usize * CHUNK;
        let end = (start + reach).min(memory.len());
        if start >= end {
            return;
        }
        let length = end - start;
        match target.binary_search_by_key(&chunk, |c| c.0) {
            Ok(i) => memory[start..end].copy_from_slice(&target[i].1[..length]),
            Err(_) => match self.base_chunk(chunk) {
                Some(base) => memory[start..end].copy_from_slice(&base[..length]),
                None => memory[start..end].fill(0),
            },
        }
    }

    /// Makes memory equal to a state. All marks must have been collected.
    pub fn restore(&mut self, memory: &mut [u8], target: &Chunks) {
        for chunk in self.changed.take() {
            self.write_chunk(memory, target, chunk, CHUNK);
            self.write_chunk(memory, target, chunk + 1, REACH);
            self.make_stale(chunk);
            self.make_stale(chunk + 1);
        }
        let at = std::mem::replace(&mut self.at, target.clone());
        if !Arc::ptr_eq(&at, target) {
            let (mut a, mut b) = (at.iter().peekable(), target.iter().peekable());
            loop {
                let chunk = match (a.peek(), b.peek()) {
                    (None, None) => break,
                    (Some((x, _)), None) => *x,
                    (None, Some((y, _))) => *y,
                    (Some((x, _)), Some((y, _))) => *x.min(y),
                };
                let old = a.next_if(|(c, _)| *c == chunk).map(|c| &c.1);
                let new = b.next_if(|(c, _)| *c == chunk).map(|c| &c.1);
                let same = matches!((old, new), (Some(o), Some(n)) if Arc::ptr_eq(o, n));
                if !same {
                    self.write_chunk(memory, target, chunk, CHUNK);
                    self.make_stale(chunk);
                }
            }
        }
    }

    /// Starts anew after the whole memory was replaced by the base image.
    pub fn rebased(&mut self) {
        self.changed.take();
        self.host_written.clear();
        self.at = Chunks::default();
        self.hashes.clear();
        self.stale.take();
        self.sum = 0;
        self.hashing = false;
    }

    /// The state of memory as it is now. All marks must have been collected.
    pub fn snapshot(&mut self, memory: &[u8]) -> Chunks {
        let mut list: Vec<u32> = Vec::new();
        for chunk in self.changed.take() {
            list.extend([chunk, chunk + 1]);
        }
        list.sort_unstable();
        list.dedup();
        if list.is_empty() {
            return self.at.clone();
        }
        let mut chunks = Vec::with_capacity(self.at.len() + list.len());
        let mut old = self.at.iter().peekable();
        for chunk in list {
            while let Some(kept) = old.next_if(|(c, _)| *c < chunk) {
                chunks.push(kept.clone());
            }
            let start = chunk as usize * CHUNK;
            let before = old.next_if(|(c, _)| *c == chunk);
            if start >= memory.len() {
                continue;
            }
            let now = &memory[start..(start + CHUNK).min(memory.len())];
            match before {
                Some(kept) if *kept.1 == *now => chunks.push(kept.clone()),
                None if self.base_chunk(chunk) == Some(now) => {}
                _ => chunks.push((chunk, Arc::from(now))),
            }
        }
        chunks.extend(old.cloned());
        self.at = Arc::new(chunks);
        self.at.clone()
    }

    fn make_stale(&mut self, chunk: u32) {
        if self.hashing {
            self.stale.insert(chunk);
        }
    }

    /// A hash of memory in which the `dead` ranges count as zero: a sum over chunks, so that only what changed is
    /// hashed again. All marks must have been collected. It includes what was written to pages behind `size`, which the
    /// guest does not have: accesses that are not scheduling points are not refused there.
    pub fn hash(&mut self, memory: &[u8], size: u64, dead: Vec<Range<usize>>) -> u128 {
        let count = memory.len().div_ceil(CHUNK);
        if !self.hashing {
            self.hashing = true;
            self.hashes.clear();
            self.sum = 0;
        }
        // Chunks that memory gained are hashed, and hashes of chunks that it lost are subtracted. The rest is
        // unchanged.
        (self.hashes.len()..count).for_each(|c| self.stale.insert(c as u32));
        let lost = self.hashes.iter().skip(count).fold(0u128, |sum, hash| sum.wrapping_add(*hash));
        self.sum = self.sum.wrapping_sub(lost);
        self.hashes.resize(count, 0);
        if self.dead != dead {
            for range in differences(&self.dead, &dead) {
                let last = range.end.saturating_sub(1) / CHUNK;
                (range.start / CHUNK..=last).for_each(|c| self.stale.insert(c as u32));
            }
        }
        self.dead = dead;
        for chunk in self.stale.take() {
            let Some(old) = self.hashes.get_mut(chunk as usize) else { continue };
            let start = chunk as usize * CHUNK;
            let range = start..(start + CHUNK).min(memory.len());
            let new = hash_chunk(chunk, &memory[range.clone()], &self.dead, range);
            self.sum = self.sum.wrapping_sub(*old).wrapping_add(new);
            *old = new;
        }
        self.sum.wrapping_add(xxh3_128_with_seed(&size.to_le_bytes(), u64::MAX))
    }
}

/// The hash of a chunk, or 0 if it contains only zeros: the size of memory behind the guest's pages makes no
/// difference.
fn hash_chunk(chunk: u32, bytes: &[u8], dead: &[Range<usize>], at: Range<usize>) -> u128 {
    let mut masked = [0; CHUNK];
    let mut live = bytes;
    for range in dead {
        let (start, end) = (range.start.max(at.start), range.end.min(at.end));
        if start < end {
            if live.as_ptr() == bytes.as_ptr() {
                masked[..bytes.len()].copy_from_slice(bytes);
            }
            masked[start - at.start..end - at.start].fill(0);
            live = &[];
        }
    }
    let masked_live = if live.is_empty() { &masked[..bytes.len()] } else { live };
    if masked_live.chunks(BLOCK).all(is_zero) {
        return 0;
    }
    xxh3_128_with_seed(masked_live, u64::from(chunk))
}

/// Ranges that belong to one list but may not belong to the other.
fn differences(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for i in 0..a.len().max(b.len()) {
        match (a.get(i), b.get(i)) {
            (Some(x), Some(y)) if x == y => {}
            // The usual case: a stack pointer moved.
            (Some(x), Some(y)) if x.start == y.start => ranges.push(x.end.min(y.end)..x.end.max(y.end)),
            (x, y) => ranges.extend(x.into_iter().chain(y).cloned()),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_strategies::Iteration;
    use coyote_strategies::rng::ChoiceRng;

    /// Random stores, snapshots, restores and fingerprints against whole copies of memory.
    #[test]
    fn agrees_with_whole_copies() {
        for index in 0..300 {
            let mut rng = ChoiceRng::new(Iteration { seed: 5, index });
            let size = 5 * CHUNK;
            let base: Arc<[u8]> = (0..size).map(|i| (i % 7) as u8).collect();
            let mut memory = base.to_vec();
            let mut marks = vec![0u8; 8];
            let mut dirty_memory = DirtyMemory::new(base.clone());
            let mut saved: Vec<(Chunks, Vec<u8>)> = vec![(Chunks::default(), memory.clone())];
            let mut prints: Vec<(u128, Vec<u8>)> = Vec::new();
            for _ in 0..60 {
                match rng.below(5) {
                    0..=2 => {
                        let length = 1 + rng.below(16) as usize;
                        let at = match rng.one_in(2) {
                            // Across a boundary, or up to one.
                            true => CHUNK * (1 + rng.below(4) as usize) - 1 - rng.below(15) as usize,
                            false => rng.below((size - length) as u64) as usize,
                        };
                        // Few values, so that states come up again.
                        memory[at..at + length].fill(rng.below(2) as u8);
                        if rng.one_in(4) {
                            let written = (at / CHUNK) as u32..=((at + length - 1) / CHUNK) as u32;
                            dirty_memory.host_written.extend(written);
                        } else {
                            marks[at / CHUNK] = 1;
                        }
                    }
                    3 => {
                        dirty_memory.collect(&mut marks);
                        let chunks = dirty_memory.snapshot(&memory);
                        saved.push((chunks, memory.clone()));
                    }
                    _ => {
                        dirty_memory.collect(&mut marks);
                        let (chunks, whole) = &saved[rng.below(saved.len() as u64) as usize];
                        dirty_memory.restore(&mut memory, chunks);
                        assert!(memory == *whole, "restore is not exact in run {index}");
                    }
                }
                if rng.one_in(3) {
                    dirty_memory.collect(&mut marks);
                    let dead = 10..10 + rng.below(2000) as usize;
                    let mut masked = memory.clone();
                    masked[dead.clone()].fill(0);
                    let print = dirty_memory.hash(&memory, memory.len() as u64, vec![dead]);
                    for (other, whole) in &prints {
                        assert_eq!(print == *other, masked == *whole, "run {index}");
                    }
                    prints.push((print, masked));
                }
            }
        }
    }
}
