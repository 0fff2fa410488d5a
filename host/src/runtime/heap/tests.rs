//! Blocks against a naive model, which has the state of every byte.

use super::blocks::{Blocks, HeapError, LiveBlock};
use super::{BlockRef, Heap};
use crate::outcome::BugKind;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::{Iteration, WorkerId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    Unknown,
    /// Part of the block that begins there.
    LiveBlock(u32),
    /// Part of the gap behind the block that begins there.
    Gap(u32),
    Freed,
}

/// Number of bytes of the model, which spans the end of a page.
const SIZE: u32 = 160;
const BASE: u32 = (1 << 14) - 80;

#[derive(Clone)]
struct Model {
    bytes: Vec<Byte>,
    blocks: Vec<(u32, u32)>,
    /// A planted fault: a gap stays although a block was put into it.
    gaps_stay: bool,
}

impl Model {
    fn new(gaps_stay: bool) -> Model {
        Model { bytes: vec![Byte::Unknown; SIZE as usize], blocks: Vec::new(), gaps_stay }
    }

    fn set(&mut self, range: std::ops::Range<u32>, byte: Byte) {
        range.filter(|at| *at < SIZE).for_each(|at| self.bytes[at as usize] = byte);
    }

    fn allocate(&mut self, address: u32, bytes: u32) {
        let end = address + bytes;
        if !self.gaps_stay {
            let gap = |byte: &Byte| matches!(byte, Byte::Gap(_));
            let touched = address / 8 * 8..end.div_ceil(8) * 8;
            for at in touched.filter(|at| *at < SIZE) {
                if gap(&self.bytes[at as usize]) {
                    self.bytes[at as usize] = Byte::Unknown;
                }
            }
        }
        let gap_end = (end + 8) / 8 * 8;
        let follows = self.blocks.iter().any(|(other, _)| (end..gap_end).contains(other));
        if address.is_multiple_of(8) && !follows {
            self.set(end..gap_end, Byte::Gap(address));
        }
        self.set(address..end, Byte::LiveBlock(address));
        self.blocks.push((address, bytes));
    }

    fn forget(&mut self, address: u32, bytes: Byte, gap: Byte) {
        for byte in &mut self.bytes {
            match *byte {
                Byte::LiveBlock(of) if of == address => *byte = bytes,
                Byte::Gap(of) if of == address => *byte = gap,
                _ => {}
            }
        }
        self.blocks.retain(|(start, _)| *start != address);
    }

    fn free(&mut self, address: u32) {
        self.forget(address, Byte::Freed, Byte::Freed);
    }

    fn resize(&mut self, address: u32, bytes: u32) {
        self.forget(address, Byte::Unknown, Byte::Unknown);
        self.allocate(address, bytes);
    }

    /// Whether a range is free for a block.
    fn fits(&self, address: u32, bytes: u32) -> bool {
        let range = address as usize..(address + bytes.max(1)) as usize;
        let taken = self.blocks.iter().any(|(start, _)| (address..address + bytes.max(1)).contains(start));
        !taken && self.bytes[range].iter().all(|byte| !matches!(byte, Byte::LiveBlock(_)))
    }

    fn is_wrong(&self, address: u32, bytes: u32, write: bool) -> bool {
        let range = &self.bytes[address as usize..(address + bytes) as usize];
        let bad = |byte: &Byte| matches!(byte, Byte::Freed | Byte::Gap(_));
        let word = !write && [2, 4, 8, 16].contains(&bytes) && (BASE + address).is_multiple_of(bytes);
        if word { range.iter().all(bad) } else { range.iter().any(bad) }
    }
}

/// Makes one random change to both.
fn change(rng: &mut ChoiceRng, model: &mut Model, blocks: &mut Blocks, event: u32) {
    let pick = |rng: &mut ChoiceRng, model: &Model| {
        (!model.blocks.is_empty()).then(|| model.blocks[rng.below(model.blocks.len() as u64) as usize])
    };
    match rng.below(5) {
        0..=2 => {
            let bytes = rng.below(28) as u32;
            let step = if rng.one_in(4) { 1 } else { 8 };
            let address = rng.below(u64::from((SIZE - 40) / step)) as u32 * step;
            if model.fits(address, bytes) {
                model.allocate(address, bytes);
                blocks.allocate(LiveBlock { address: BASE + address, bytes, allocated: event });
            }
        }
        3 => {
            if let Some((address, bytes)) = pick(rng, model) {
                model.free(address);
                let freed = blocks.free(BASE + address, event).unwrap();
                assert_eq!((freed.address, freed.bytes), (BASE + address, bytes));
            }
        }
        _ => {
            if let Some((address, old)) = pick(rng, model) {
                let bytes = rng.below(28) as u32;
                let grown = bytes.saturating_sub(old);
                let others = &model.bytes[(address + old) as usize..(address + old + grown) as usize];
                if !others.iter().any(|byte| matches!(byte, Byte::LiveBlock(_)))
                    && !model.blocks.iter().any(|(b, _)| (address + 1..address + bytes).contains(b))
                {
                    model.resize(address, bytes);
                    blocks.resize(BASE + address, bytes);
                }
            }
        }
    }
}

/// The first access about which both disagree.
fn difference(rng: &mut ChoiceRng, model: &Model, blocks: &Blocks) -> Option<String> {
    (0..24).find_map(|_| {
        let bytes = if rng.one_in(3) { 1 + rng.below(40) as u32 } else { 1 << rng.below(5) };
        let address = rng.below(u64::from(SIZE - bytes)) as u32;
        let write = rng.one_in(2);
        let expected = model.is_wrong(address, bytes, write);
        let wrong = blocks.wrong(BASE + address, bytes, write);
        let clean = blocks.clean((BASE + address).into(), bytes);
        let same = wrong.is_some() == expected && !(clean && expected);
        let right = wrong.is_none_or(|wrong| match wrong {
            HeapError::Freed(freed) => {
                freed.range().any(|at| (BASE + address..BASE + address + bytes).contains(&at))
            }
            HeapError::Beyond(block) => model.blocks.contains(&(block.address - BASE, block.bytes)),
        });
        (!same || !right).then(|| {
            format!("{bytes} bytes at {address}, write {write}: {wrong:?} (clean: {clean}), not {expected}")
        })
    })
}

/// The differences between blocks and model in random heaps.
fn differing(gaps_stay: bool) -> Vec<String> {
    (0..400)
        .filter_map(|index| {
            let mut rng = ChoiceRng::new(Iteration { seed: 3, index });
            let (mut model, mut blocks) = (Model::new(gaps_stay), Blocks::default());
            let mut saved = Vec::new();
            for event in 0..60 {
                change(&mut rng, &mut model, &mut blocks, event);
                if let Some(difference) = difference(&mut rng, &model, &blocks) {
                    return Some(format!("run {index}, after {event}: {difference}\n{:?}", model.bytes));
                }
                if rng.one_in(8) {
                    saved.push((model.clone(), blocks.clone()));
                }
                if rng.one_in(12) && !saved.is_empty() {
                    (model, blocks) = saved[rng.below(saved.len() as u64) as usize].clone();
                }
            }
            saved.iter().find_map(|(model, blocks)| difference(&mut rng, model, blocks))
        })
        .collect()
}

#[test]
fn agrees_with_a_map_of_bytes() {
    assert_eq!(differing(false), Vec::<String>::new());
}

/// Shows that the test above notices a wrong model.
#[test]
fn a_wrong_model_differs() {
    assert!(!differing(true).is_empty());
}

#[test]
fn equal_heaps_have_equal_digests() {
    let block = |address, bytes, allocated| LiveBlock { address, bytes, allocated };
    let (mut a, mut b) = (Blocks::default(), Blocks::default());
    a.allocate(block(0x100, 16, 0));
    a.allocate(block(0x120, 8, 1));
    b.allocate(block(0x120, 8, 0));
    assert_ne!(a.digest(), b.digest());
    b.allocate(block(0x100, 16, 1));
    assert_eq!(a.digest(), b.digest());
    a.free(0x100, 2);
    assert_ne!(a.digest(), b.digest());
    a.allocate(block(0x100, 16, 3));
    assert_eq!(a.digest(), b.digest());
}

/// A large block is freed page by page, and a small one is put into it.
#[test]
fn large_blocks_cross_pages() {
    let mut blocks = Blocks::default();
    blocks.allocate(LiveBlock { address: 0x1000, bytes: 1 << 20, allocated: 0 });
    assert!(blocks.clean(0x1000, 1 << 20));
    blocks.free(0x1000, 1);
    for at in [0x1000, 0x8_0000, 0x10_0fff] {
        assert!(matches!(blocks.wrong(at, 1, true), Some(HeapError::Freed(_))), "{at:#x}");
    }
    blocks.allocate(LiveBlock { address: 0x8_0000, bytes: 100, allocated: 2 });
    assert_eq!(blocks.wrong(0x8_0000, 100, true), None);
    assert!(matches!(blocks.wrong(0x8_0064, 1, true), Some(HeapError::Beyond(_))));
    assert!(matches!(blocks.wrong(0x8_0068, 1, true), Some(HeapError::Freed(_))));
    blocks.allocate(LiveBlock { address: 0x1000, bytes: 1 << 20, allocated: 3 });
    assert!(blocks.clean(0x1000, 1 << 20));
    assert_eq!(blocks.live().count(), 1);
}

const WORKER: WorkerId = WorkerId(0);

fn call(heap: &mut Heap, old: u32, new: u32, bytes: u32) -> Option<BlockRef> {
    let blame = heap.enter(WORKER, old);
    heap.exit(WORKER, (old, new, bytes));
    blame
}

#[test]
fn what_comes_back_must_have_been_handed_out() {
    let mut heap = Heap::new(true);
    assert_eq!(call(&mut heap, 0, 0x100, 24), None);
    let kind = |blame: Option<BlockRef>| blame.map(|b| (b.kind, b.allocated, b.freed));
    assert_eq!(kind(heap.enter(WORKER, 0x108)), Some((BugKind::InvalidFree, 0, None)));
    heap.exit(WORKER, (0, 0, 0));
    assert_eq!(call(&mut heap, 0x100, 0, 0), None);
    assert_eq!(kind(heap.enter(WORKER, 0x100)), Some((BugKind::DoubleFree, 0, Some(1))));
    heap.exit(WORKER, (0, 0, 0));
    assert_eq!(call(&mut heap, 0x4000, 0, 0), None, "nobody knows of that block");
}

/// Allocators call allocators: only the outermost call counts.
#[test]
fn inner_calls_do_not_count() {
    let mut heap = Heap::new(true);
    heap.enter(WORKER, 0);
    heap.enter(WORKER, 0);
    assert_eq!(heap.exit(WORKER, (0, 0x100, 100)), None);
    assert!(heap.exit(WORKER, (0, 0x110, 16)).is_some());
    assert_eq!(heap.wrong(0x110, 16, true), None);
    assert!(heap.wrong(0x120, 4, true).is_some());
    assert_eq!(heap.block_around(0x104), None);
}

#[test]
fn a_failed_call_changes_nothing() {
    let mut heap = Heap::new(true);
    call(&mut heap, 0, 0x100, 24);
    let digest = heap.digest();
    assert_eq!(call(&mut heap, 0x100, 0, 1 << 30), None);
    assert_eq!(heap.digest(), digest);
    assert_eq!(heap.wrong(0x100, 24, true), None);
}

#[test]
fn unknown_allocators_are_not_judged() {
    let mut heap = Heap::new(true);
    call(&mut heap, 0, 0x100, 24);
    call(&mut heap, 0x100, 0, 0);
    assert!(heap.wrong(0x100, 1, true).is_some());
    call(&mut heap, 0, 0, coyote_abi::rt::ALLOCATOR_UNKNOWN);
    assert_eq!(heap.wrong(0x100, 1, true), None);
    assert_eq!(heap.enter(WORKER, 0x100), None);
}

fn memory_with(words: &[(u32, u32)]) -> Vec<u8> {
    let mut memory = vec![0; 0x1000];
    for (at, value) in words {
        memory[*at as usize..*at as usize + 4].copy_from_slice(&value.to_le_bytes());
    }
    memory
}

/// A static points to a block, which points to the inside of a second one. A third block is lost, and so is a
/// fourth to which only the third one or a dead stack points.
#[test]
fn what_nothing_points_to_is_lost() {
    let mut heap = Heap::new(true);
    call(&mut heap, 0, 0xf00, 8);
    let mut heap = heap.at_start();
    for (at, bytes) in [(0x100, 16), (0x200, 16), (0x300, 16), (0x400, 16), (0x500, 16)] {
        call(&mut heap, 0, at, bytes);
    }
    call(&mut heap, 0x500, 0, 0);
    let words = [(0x10, 0x100), (0x104, 0x208), (0x308, 0x400), (0x504, 0x300), (0x804, 0x400)];
    let lost = |dead: &[std::ops::Range<usize>], roots: &[&[u8]], stacks: &[u32]| {
        let lost = heap.leaks(&memory_with(&words), dead, roots, stacks);
        lost.iter().map(|block| block.address).collect::<Vec<u32>>()
    };
    let stack = std::slice::from_ref(&(0x800..0x900));
    assert_eq!(lost(&[], &[], &[]), [0x300]);
    assert_eq!(lost(stack, &[], &[]), [0x300, 0x400]);
    assert_eq!(lost(stack, &[], &[0x400]), [0x300]);
    assert_eq!(lost(stack, &[&0x30f_u32.to_le_bytes()], &[]), [] as [u32; 0]);
    assert_eq!(lost(stack, &[&0x310_u32.to_le_bytes()], &[]), [0x300, 0x400]);
}
