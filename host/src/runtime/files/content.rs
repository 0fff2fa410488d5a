//! The bytes of a file: blocks that copies of a state share until one of them writes.

use super::Errno;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Size of a block in bytes.
pub const BLOCK: u64 = 4096;

/// The largest size of a file, which may be a hole: as on a small ext4.
const BYTES_MAX: u64 = 1 << 43;

/// A file's bytes. A block that is missing holds zeros; one of zeros that were written takes space.
#[derive(Clone, Debug, Default, Hash)]
pub struct Content {
    bytes: u64,
    blocks: BTreeMap<u64, Arc<[u8; BLOCK as usize]>>,
}

impl Content {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of the file system's space that it takes.
    pub fn space(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK
    }

    /// At most `length` bytes from an offset on; fewer at the end.
    pub fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.bytes);
        let mut out = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let (number, within) = (at / BLOCK, (at % BLOCK) as usize);
            let part = (BLOCK as usize - within).min((end - at) as usize);
            match self.blocks.get(&number) {
                Some(block) => out.extend_from_slice(&block[within..within + part]),
                None => out.resize(out.len() + part, 0),
            }
            at += part as u64;
        }
        out
    }

    /// Writes at an offset, beyond the end too, using at most `space` more bytes of space.
    pub fn write(&mut self, offset: u64, bytes: &[u8], space: u64) -> Result<(), Errno> {
        let end = offset.checked_add(bytes.len() as u64).filter(|e| *e <= BYTES_MAX).ok_or(Errno::FBIG)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let numbers = offset / BLOCK..=(end - 1) / BLOCK;
        let held = self.blocks.range(numbers.clone()).count() as u64;
        if (numbers.end() - numbers.start() + 1 - held) * BLOCK > space {
            return Err(Errno::NOSPC);
        }
        let mut rest = bytes;
        for number in numbers {
            let within = offset.saturating_sub(number * BLOCK) as usize;
            let (part, after) = rest.split_at(rest.len().min(BLOCK as usize - within));
            let block = self.blocks.entry(number).or_insert_with(|| Arc::new([0; BLOCK as usize]));
            Arc::make_mut(block)[within..within + part.len()].copy_from_slice(part);
            rest = after;
        }
        self.bytes = self.bytes.max(end);
        Ok(())
    }

    /// Cuts the file off or lengthens it with zeros, which take no space.
    pub fn resize(&mut self, bytes: u64) -> Result<(), Errno> {
        if bytes > BYTES_MAX {
            return Err(Errno::FBIG);
        }
        self.blocks.split_off(&bytes.div_ceil(BLOCK));
        if let Some(last) = self.blocks.get_mut(&(bytes / BLOCK)) {
            Arc::make_mut(last)[(bytes % BLOCK) as usize..].fill(0);
        }
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a plain vector: 400 random writes, cuts and reads.
    #[test]
    fn equals_a_vector() {
        let mut seed = 1u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        let (mut content, mut model) = (Content::default(), Vec::<u8>::new());
        for round in 0..400 {
            let offset = below(5 * BLOCK);
            if below(4) == 0 {
                content.resize(offset).unwrap();
                model.resize(offset as usize, 0);
            } else {
                let bytes = vec![round as u8; below(2 * BLOCK) as usize];
                content.write(offset, &bytes, u64::MAX).unwrap();
                if !bytes.is_empty() {
                    model.resize(model.len().max(offset as usize + bytes.len()), 0);
                    model[offset as usize..offset as usize + bytes.len()].copy_from_slice(&bytes);
                }
            }
            let (from, length) = (below(6 * BLOCK), below(6 * BLOCK));
            let expected: Vec<u8> = model.iter().skip(from as usize).take(length as usize).copied().collect();
            assert_eq!(content.read(from, length), expected, "round {round}");
            assert_eq!(content.bytes(), model.len() as u64);
        }
    }

    #[test]
    fn what_was_shared_stays() {
        let mut content = Content::default();
        content.write(0, b"before", u64::MAX).unwrap();
        let before = content.clone();
        content.write(0, b"after", u64::MAX).unwrap();
        content.resize(2).unwrap();
        assert_eq!((before.read(0, 9), content.read(0, 9)), (b"before".to_vec(), b"af".to_vec()));
    }

    #[test]
    fn space_and_size_have_bounds() {
        let mut content = Content::default();
        assert_eq!(content.write(BLOCK - 1, &[1, 2], BLOCK), Err(Errno::NOSPC));
        assert_eq!(content.bytes(), 0);
        assert_eq!(content.write(BLOCK - 1, &[1, 2], 2 * BLOCK), Ok(()));
        assert_eq!(content.write(BLOCK, &[3], 0), Ok(()), "a block that is there takes no space");
        assert_eq!(content.resize(1 << 44), Err(Errno::FBIG));
        assert_eq!(content.write(u64::MAX, &[1], u64::MAX), Err(Errno::FBIG));
    }
}
