//! A map of the heap's blocks that is cheap to query, to copy and to restore.
//!
//! Memory is divided into pages, shared between copies until one of them changes. A page has a byte of
//! *shadow* for each granule of 8 bytes, as AddressSanitizer does it (Serebryany et al., USENIX ATC 2012),
//! and the blocks that begin in it. Unlike there, the guest's allocator keeps its own layout of the heap: a
//! block is surrounded only by the space that the allocator happened to leave.
//!
//! - [`FINE`]: an access here is no known error.
//! - 1 to 7: the first bytes, this many, are the end of a block; behind them is its *gap*.
//! - [`GAP`]: directly behind a block, and part of no other one.
//! - [`FREED`]: some of its bytes were freed and not handed out again; the page's list says which.

use coyote_strategies::mix;
use std::sync::{Arc, LazyLock};

/// A block in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveBlock {
    pub address: u32,
    /// Number of bytes that the guest asked for.
    pub bytes: u32,
    /// The event that allocated it.
    pub allocated: u32,
}

impl LiveBlock {
    fn end(self) -> u32 {
        self.address.saturating_add(self.bytes)
    }
}

/// Memory of a freed block, or the part of it where no other block has been allocated since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    start: u32,
    /// Exclusive.
    end: u32,
    pub block: LiveBlock,
    /// The event that freed it.
    pub freed: u32,
}

impl Freed {
    /// The range of the memory, which belonged to the block or its gap.
    pub fn range(&self) -> std::ops::Range<u32> {
        self.start..self.end
    }
}

/// An error of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapError {
    /// The memory was freed.
    Freed(Freed),
    /// The memory is behind the end of a block.
    Beyond(LiveBlock),
}

/// The state of a page of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shadow<'a> {
    /// No access is an error.
    Clean,
    /// All of it was freed.
    Freed,
    /// The state of each granule; 0 if no access is an error.
    Mixed(&'a [u8]),
}

const GRANULE_BITS: u32 = 3;
const GRANULE: u32 = 1 << GRANULE_BITS;
const PAGE_BITS: u32 = 14;
const GRANULES: usize = 1 << (PAGE_BITS - GRANULE_BITS);

const FINE: u8 = 0;
const GAP: u8 = 0xfe;
const FREED: u8 = 0xff;

#[derive(Clone)]
struct Page {
    shadow: [u8; GRANULES],
    /// `live` and `freed` are in ascending order of their first addresses.
    live: Vec<LiveBlock>,
    freed: Vec<Freed>,
}

/// A page that is freed as a whole. Large blocks are freed page by page, and most of these pages are like
/// this one.
static ALL_FREED: LazyLock<Arc<Page>> =
    LazyLock::new(|| Arc::new(Page { shadow: [FREED; GRANULES], live: Vec::new(), freed: Vec::new() }));

impl Page {
    const EMPTY: Page = Page { shadow: [FINE; GRANULES], live: Vec::new(), freed: Vec::new() };

    fn is_shadow_alone(&self) -> bool {
        self.live.is_empty() && self.freed.is_empty()
    }
}

/// See the module's documentation.
#[derive(Clone, Default)]
pub struct Blocks {
    pages: Arc<Vec<Option<Arc<Page>>>>,
    /// A sum over all blocks, in use and freed, without their events.
    digest: u64,
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_list().entries(self.live()).finish()
    }
}

impl Blocks {
    /// A sum over all blocks. Equal heaps have equal sums, whatever their history.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The state of a page of 16 KiB.
    pub fn shadow(&self, page: u32) -> Shadow<'_> {
        match self.pages.get(page as usize) {
            None | Some(None) => Shadow::Clean,
            Some(Some(page)) if Arc::ptr_eq(page, &ALL_FREED) => Shadow::Freed,
            Some(Some(page)) => Shadow::Mixed(&page.shadow),
        }
    }

    /// Whether an access of `bytes` bytes, at least 1, is certainly no error.
    #[inline]
    pub fn clean(&self, address: u64, bytes: u32) -> bool {
        let last = address + u64::from(bytes) - 1;
        match self.pages.get((address >> PAGE_BITS) as usize) {
            Some(Some(page)) if address >> GRANULE_BITS == last >> GRANULE_BITS => {
                let state = page.shadow[(address >> GRANULE_BITS) as usize % GRANULES];
                state == FINE || state < GRANULE as u8 && (last as u32 % GRANULE) < u32::from(state)
            }
            None | Some(None) if address >> PAGE_BITS == last >> PAGE_BITS => true,
            _ => self.all_fine(address, last),
        }
    }

    /// [`Blocks::clean`] for any range.
    fn all_fine(&self, address: u64, last: u64) -> bool {
        let granule = (last >> GRANULE_BITS) as u32;
        let state = self.state(granule);
        let ends_well = state == FINE || state < GRANULE as u8 && (last as u32 % GRANULE) < u32::from(state);
        ends_well && self.first_not_fine((address >> GRANULE_BITS) as u32, granule).is_none()
    }

    /// The first granule of a range, its end exclusive, that is not fine.
    fn first_not_fine(&self, first: u32, end: u32) -> Option<u32> {
        const PER_PAGE: u32 = GRANULES as u32;
        let mut granule = first;
        while granule < end {
            let next = (granule / PER_PAGE + 1).saturating_mul(PER_PAGE).min(end);
            if let Some(page) = self.page(granule << GRANULE_BITS) {
                let from = (granule % PER_PAGE) as usize;
                let states = &page.shadow[from..from + (next - granule) as usize];
                if let Some(at) = states.iter().position(|state| *state != FINE) {
                    return Some(granule + at as u32);
                }
            }
            granule = next;
        }
        None
    }

    /// The error of an access, if it is one. Reads that are aligned to their size may reach beyond a block
    /// that they begin or end in: that is how C libraries look for the end of a string, word by word.
    pub fn wrong(&self, address: u32, bytes: u32, write: bool) -> Option<HeapError> {
        let end = address.saturating_add(bytes);
        let granules = address / GRANULE..end.div_ceil(GRANULE);
        let word = !write && matches!(bytes, 2 | 4 | 8 | 16) && address.is_multiple_of(bytes);
        if word && granules.clone().any(|granule| self.has_better(granule, address, end)) {
            return None;
        }
        let mut next = granules.start;
        while let Some(granule) = self.first_not_fine(next, granules.end) {
            let start = granule * GRANULE;
            let (from, to) = (address.max(start), end.min(start.saturating_add(GRANULE)));
            let found = match self.state(granule) {
                FREED => self.freed_in(from, to).map(HeapError::Freed),
                GAP => self.ending_at(start).map(HeapError::Beyond),
                valid if to <= start + u32::from(valid) => None,
                valid => self.ending_at(start + u32::from(valid)).map(HeapError::Beyond),
            };
            if found.is_some() {
                return found;
            }
            next = granule + 1;
        }
        None
    }

    /// Whether the part of a range in this granule has a byte that was not freed and is no gap.
    fn has_better(&self, granule: u32, start: u32, end: u32) -> bool {
        let first = granule * GRANULE;
        match self.state(granule) {
            FINE => true,
            GAP => false,
            FREED => (start.max(first)..end.min(first + GRANULE)).any(|byte| self.freed_at(byte).is_none()),
            valid => start < first + u32::from(valid),
        }
    }

    /// The block in use that begins here.
    pub fn at(&self, address: u32) -> Option<LiveBlock> {
        let page = self.page(address)?;
        page.live.binary_search_by_key(&address, |l| l.address).ok().map(|i| page.live[i])
    }

    /// The block in use that contains an address.
    pub fn around(&self, address: u32) -> Option<LiveBlock> {
        self.last_before(address, |p| &p.live, |l| l.address).filter(|live| address < live.end())
    }

    /// Number of bytes, from the beginning of a block in use, that belong to it or its gap.
    pub fn extent(&self, address: u32) -> u32 {
        self.at(address).map_or(0, |block| self.painted_end(block) - address)
    }

    /// The freed memory at an address.
    pub fn freed_at(&self, address: u32) -> Option<Freed> {
        self.freed_in(address, address.saturating_add(1))
    }

    /// Whether any granule of a range has freed bytes. The range lies in one page.
    pub fn any_freed(&self, address: u32, bytes: u32) -> bool {
        let granules = address / GRANULE..address.saturating_add(bytes).div_ceil(GRANULE);
        self.page(address).is_some() && granules.into_iter().any(|granule| self.state(granule) == FREED)
    }

    /// The blocks in use, ascending.
    pub fn live(&self) -> impl Iterator<Item = LiveBlock> + '_ {
        self.pages.iter().flatten().flat_map(|page| page.live.iter().copied())
    }

    /// Memory that was freed and not handed out again, ascending.
    pub fn freed(&self) -> impl Iterator<Item = Freed> + '_ {
        self.pages.iter().flatten().flat_map(|page| page.freed.iter().copied())
    }

    /// Adds a block that is handed out. Its memory then belongs to no other block, whatever was known about
    /// it.
    pub fn allocate(&mut self, block: LiveBlock) {
        let (address, end) = (block.address, block.end());
        for page in self.pages_of(address, end) {
            let Some(page) = &self.pages[page] else { continue };
            let from = page.live.partition_point(|l| l.address < address);
            let starts = page.live[from..].iter().map(|l| l.address);
            let stale: Vec<u32> = starts.take_while(|start| *start < end.max(address + 1)).collect();
            stale.into_iter().for_each(|start| _ = self.remove_live(start));
        }
        let gap_end = self.free_up_to(address, end);
        self.take_back(address, gap_end);
        self.paint(address / GRANULE, end.div_ceil(GRANULE), FINE);
        for edge in [address, end].into_iter().filter(|edge| !edge.is_multiple_of(GRANULE)) {
            let start = edge / GRANULE * GRANULE;
            if self.freed_in(start, start + GRANULE).is_some() {
                self.paint(edge / GRANULE, edge / GRANULE + 1, FREED);
            }
        }
        if gap_end > end {
            let valid = (end % GRANULE) as u8;
            self.paint(end / GRANULE, end / GRANULE + 1, if valid == 0 { GAP } else { valid });
        }
        self.digest = self.digest.wrapping_add(hash(block.address, block.bytes, 0));
        let page = self.page_mut(address);
        let at = page.live.partition_point(|l| l.address < address);
        page.live.insert(at, block);
    }

    /// Frees the block at this address, by the event `freed`.
    pub fn free(&mut self, address: u32, freed: u32) -> Option<LiveBlock> {
        let end = self.painted_end(self.at(address)?);
        let block = self.remove_live(address)?;
        if end > address {
            self.paint(address / GRANULE, end.div_ceil(GRANULE), FREED);
            self.add_freed(Freed { start: address, end, block, freed });
        }
        Some(block)
    }

    /// Changes the size of the block at this address.
    pub fn resize(&mut self, address: u32, bytes: u32) {
        let Some(block) = self.at(address) else { return };
        let end = self.painted_end(block);
        self.remove_live(address);
        if end > block.end() {
            self.paint(block.end() / GRANULE, end.div_ceil(GRANULE), FINE);
        }
        self.allocate(LiveBlock { bytes, ..block });
    }

    fn page(&self, address: u32) -> Option<&Page> {
        self.pages.get((address >> PAGE_BITS) as usize)?.as_deref()
    }

    fn page_mut(&mut self, address: u32) -> &mut Page {
        let slot = self.slot((address >> PAGE_BITS) as usize);
        Arc::make_mut(slot.get_or_insert_with(|| Arc::new(Page::EMPTY)))
    }

    /// The slot of a page, which may be empty.
    fn slot(&mut self, index: usize) -> &mut Option<Arc<Page>> {
        let pages = Arc::make_mut(&mut self.pages);
        if pages.len() <= index {
            pages.resize(index + 1, None);
        }
        &mut pages[index]
    }

    fn state(&self, granule: u32) -> u8 {
        let page = self.page(granule << GRANULE_BITS);
        page.map_or(FINE, |page| page.shadow[granule as usize % GRANULES])
    }

    /// Numbers of the pages of a range, limited to those that exist.
    fn pages_of(&self, start: u32, end: u32) -> std::ops::Range<usize> {
        let last = (end.max(start + 1) - 1) >> PAGE_BITS;
        (start >> PAGE_BITS) as usize..(last as usize + 1).min(self.pages.len())
    }

    fn paint(&mut self, first: u32, end: u32, state: u8) {
        let mut granule = first;
        while granule < end {
            let next = (granule / GRANULES as u32 + 1).saturating_mul(GRANULES as u32).min(end);
            let index = granule as usize / GRANULES;
            let known = self.pages.get(index).and_then(|p| p.as_deref());
            let whole = (next - granule) as usize == GRANULES && known.is_none_or(Page::is_shadow_alone);
            match state {
                FINE if known.is_none() => {}
                FINE if whole => Arc::make_mut(&mut self.pages)[index] = None,
                FREED if whole => *self.slot(index) = Some(ALL_FREED.clone()),
                _ => {
                    let from = granule as usize % GRANULES;
                    let to = from + (next - granule) as usize;
                    self.page_mut(granule << GRANULE_BITS).shadow[from..to].fill(state);
                }
            }
            granule = next;
        }
    }

    /// The last of some blocks that begins at or before an address.
    fn last_before<T: Copy>(
        &self,
        address: u32,
        list: impl Fn(&Page) -> &Vec<T>,
        start: impl Fn(&T) -> u32,
    ) -> Option<T> {
        let upto = ((address >> PAGE_BITS) as usize + 1).min(self.pages.len());
        self.pages[..upto].iter().rev().flatten().find_map(|page| {
            let list = list(page);
            let at = list.partition_point(|t| start(t) <= address);
            at.checked_sub(1).map(|i| list[i])
        })
    }

    /// Freed memory that overlaps a range, which must not be empty.
    fn freed_in(&self, start: u32, end: u32) -> Option<Freed> {
        self.last_before(end - 1, |p| &p.freed, |f| f.start).filter(|freed| freed.end > start)
    }

    /// The block in use that ends here.
    fn ending_at(&self, end: u32) -> Option<LiveBlock> {
        self.last_before(end, |p| &p.live, |l| l.address).filter(|live| live.end() == end).or_else(|| {
            let before = end.checked_sub(1)?;
            self.last_before(before, |p| &p.live, |l| l.address).filter(|live| live.end() == end)
        })
    }

    /// The end of the gap behind a block: that of the granule in which the first byte behind the block is, or
    /// `end` if another block begins there. Blocks that are not aligned to 8 bytes have no gap.
    fn free_up_to(&self, address: u32, end: u32) -> u32 {
        let gap_end = end.saturating_add(GRANULE) / GRANULE * GRANULE;
        if !address.is_multiple_of(GRANULE) {
            return end;
        }
        let follows = |live: &LiveBlock| (end..gap_end).contains(&live.address) && live.address != address;
        // All of the gap lies in one granule.
        let taken = self.page(end).is_some_and(|page| {
            let next = page.live.partition_point(|live| live.address < end);
            page.live[next..].iter().take(2).any(follows)
        });
        if taken { end } else { gap_end }
    }

    /// The end of a block's gap, or of the block if it has none or another block was allocated there since.
    fn painted_end(&self, block: LiveBlock) -> u32 {
        let end = block.end();
        let valid = (end % GRANULE) as u8;
        let taken = valid == 0 && end != block.address && self.at(end).is_some();
        let expected = if valid == 0 { GAP } else { valid };
        if self.state(end / GRANULE) == expected && !taken && block.address.is_multiple_of(GRANULE) {
            (end / GRANULE + 1).saturating_mul(GRANULE)
        } else {
            end
        }
    }

    fn remove_live(&mut self, address: u32) -> Option<LiveBlock> {
        let page = self.page_mut(address);
        let at = page.live.binary_search_by_key(&address, |l| l.address).ok()?;
        let block = page.live.remove(at);
        self.digest = self.digest.wrapping_sub(hash(block.address, block.bytes, 0));
        Some(block)
    }

    fn add_freed(&mut self, freed: Freed) {
        self.digest = self.digest.wrapping_add(hash(freed.start, freed.end, freed.block.address | 1));
        let page = self.page_mut(freed.start);
        let at = page.freed.partition_point(|f| f.start < freed.start);
        page.freed.insert(at, freed);
    }

    /// Removes a range from the freed memory, since it is in use again.
    fn take_back(&mut self, start: u32, end: u32) {
        let mut overlapping = Vec::new();
        if self.state(start / GRANULE) == FREED
            && let Some(before) = self.last_before(start, |p| &p.freed, |f| f.start)
            && before.end > start
        {
            overlapping.push(before);
        }
        for index in self.pages_of(start, end) {
            let Some(page) = &self.pages[index] else { continue };
            overlapping.extend(page.freed.iter().filter(|f| start < f.start && f.start < end));
        }
        for freed in overlapping {
            let page = self.page_mut(freed.start);
            page.freed.retain(|f| f.start != freed.start);
            self.digest = self.digest.wrapping_sub(hash(freed.start, freed.end, freed.block.address | 1));
            if freed.start < start {
                self.add_freed(Freed { end: start, ..freed });
            }
            if freed.end > end {
                self.add_freed(Freed { start: end, ..freed });
            }
        }
    }
}

fn hash(a: u32, b: u32, c: u32) -> u64 {
    let mixed = mix(u64::from(a) | u64::from(b) << 32);
    mix(mixed.wrapping_add(u64::from(c)))
}
