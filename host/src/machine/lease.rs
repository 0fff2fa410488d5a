//! Leases: what the running worker may access without a call of the host. Holds the lease that is out, and the table
//! that the gate reads.
//!
//! In the table, granules are open that `observe::is_plain` allows: not the null page, no freed memory, no gap behind a
//! block. The worker-local word is closed too. Accesses of closed granules ask the host, as do accesses behind the end
//! of memory, and accesses of *watched* memory, on which the strategy's next choice may depend.
//!
//! When a lease is given, the table is brought up to date with what allocators did since the last one. Within an
//! iteration, that is a list of ranges; a return to the beginning of the iteration applies the same list again.
//! `machine::gate` gives leases and settles them.

use crate::observe::{MemoryBounds, is_plain};
use crate::runtime::heap::{Change, Heap, Shadow};
use coyote_abi::rt::lease::{AT, BYTES, END, GRANULE, NEVER, PAGE, PAGES, SITES, STEPS_MAX};
use coyote_instrumenter::SiteTable;
use coyote_strategies::{Operation, mix};
use std::ops::Range;
use wasmtime::Memory;

const PER_PAGE: u32 = PAGE / GRANULE;
/// Maximum length of a list of changed ranges: with more, the whole table is made anew.
const CHANGED_MAX: usize = 1 << 12;

/// Number of the latest ranges among which an equal one is searched for.
const RECENT: usize = 8;

/// Which leases are given: all that are possible, or fewer, so that tests can compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leases {
    #[default]
    Given,
    Refused,
    /// About every second lease is refused, and others are shorter than possible.
    SomeRefused,
}

/// A planted bug, so that tests can show that they would notice it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Calls of allocators do not change the table.
    TableNotUpdated,
    /// A return to the start does not change the table.
    TableNotReset,
    /// A lease has one step more than promised.
    OneTooMany,
    /// Watched memory stays open.
    NothingWatched,
    /// Steps that were made under the lease are forgotten.
    StepsForgotten,
}

/// The state that accesses are checked against.
pub struct Checks<'a> {
    pub heap: &'a Heap,
    pub bounds: MemoryBounds,
    pub own_word: Option<u32>,
}

/// The state of a page's granules in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Granules {
    /// All are closed: nothing was copied yet.
    #[default]
    Closed,
    /// All are open.
    Open,
    /// Copied from the heap's page, of which some are open and others are not.
    Mixed,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Lease {
    /// The memory that the gate reads; none in modules without a gate.
    pub memory: Option<Memory>,
    /// Steps of the lease that is out; 0 if none is.
    steps: u32,
    /// Granules that are closed while this lease is out.
    watched: Vec<u32>,
    /// Operations of the lease that was settled last; kept to reuse its allocation.
    pub operations: Vec<Operation>,
    pages: Vec<Granules>,
    /// Size of guest memory that the table holds.
    bytes: Option<u64>,
    /// Granules that changed since the table was brought up to date.
    changed: Vec<Range<u32>>,
    /// Granules that changed since the iteration began.
    to_undo: Vec<Range<u32>>,
    /// The table has to be made anew: now, and when the next iteration begins.
    stale: bool,
    stale_at_begin: bool,
    own_word: Option<u32>,
    pub leases: Leases,
    /// Steps that were made under leases.
    pub steps_made: u64,
    /// Number of leases that were asked for: decides which ones are refused.
    asked: u64,
    #[doc(hidden)]
    pub mutant: Option<Mutant>,
}

impl Lease {
    /// Begins with another instance, whose table is empty.
    pub fn begin_instance(&mut self, memory: Option<(Memory, &mut [u8])>, sites: &SiteTable) {
        let Lease { leases, mutant, asked, steps_made, .. } = *self;
        *self = Lease { leases, mutant, asked, steps_made, ..Lease::default() };
        self.begin_elsewhere();
        let Some((memory, table)) = memory else { return };
        self.memory = Some(memory);
        put(table, AT, END);
        put(table, BYTES, 0);
        for (number, site) in sites.sites.iter().enumerate() {
            let may_pass = site.kind().accesses_memory() && (1..=8).contains(&site.size);
            let at = SITES + 8 * number as u32;
            let (offset, last) = match u32::try_from(site.memory_offset) {
                Ok(offset) if may_pass => (offset, u32::from(site.size) - 1),
                _ => (0, NEVER),
            };
            put(table, at, offset);
            put(table, at + 4, last);
        }
    }

    /// Begins an iteration: the heap is as it was at the start.
    pub fn begin_iteration(&mut self) {
        if self.mutant == Some(Mutant::TableNotReset) {
            return;
        }
        self.changed.append(&mut self.to_undo);
        self.stale |= std::mem::take(&mut self.stale_at_begin);
        self.shorten();
    }

    /// Has the whole table made anew, since the heap may be any other.
    pub fn begin_elsewhere(&mut self) {
        self.stale = true;
        self.stale_at_begin = true;
    }

    /// Records that an allocator took back or handed out blocks.
    pub fn heap_changed(&mut self, change: &Change) {
        if self.memory.is_none() || self.mutant == Some(Mutant::TableNotUpdated) {
            return;
        }
        let old = change.old.map(|(address, bytes)| (address, bytes.unwrap_or(0)));
        for (address, bytes) in [old, change.new].into_iter().flatten() {
            // The block with the gap behind it.
            let end = u64::from(address) + u64::from(bytes) + u64::from(GRANULE);
            let range = address / GRANULE..(end / u64::from(GRANULE)) as u32 + 1;
            for list in [&mut self.changed, &mut self.to_undo] {
                // A block is mostly freed with the range with which it was handed out.
                if !list.iter().rev().take(RECENT).any(|known| *known == range) {
                    list.push(range.clone());
                }
            }
        }
        self.shorten();
    }

    fn shorten(&mut self) {
        if self.changed.len().max(self.to_undo.len()) > CHANGED_MAX {
            self.begin_elsewhere();
            self.changed.clear();
            self.to_undo.clear();
        }
    }

    /// Whether a lease is out.
    #[inline]
    pub fn is_out(&self) -> bool {
        self.steps > 0
    }

    /// Gives a lease of `steps` steps, in which `watched` memory must not be accessed.
    pub fn give(&mut self, table: &mut [u8], steps: u32, watched: &[(u64, u32)], of: &Checks) {
        self.update(table, of);
        self.watch(table, watched);
        let more = u32::from(self.mutant == Some(Mutant::OneTooMany) && steps < STEPS_MAX);
        self.steps = steps + more;
        put(table, AT, END - 8 * self.steps);
    }

    /// Ends the lease that is out. Returns the range of the table that holds the steps made under it.
    pub fn take_back(&mut self, table: &mut [u8]) -> Range<usize> {
        let first = (END - 8 * std::mem::take(&mut self.steps)) as usize;
        let end = get(table, AT) as usize;
        put(table, AT, END);
        while let Some(granule) = self.watched.pop() {
            table[granule as usize] = 1;
        }
        let end = if self.mutant == Some(Mutant::StepsForgotten) { first } else { end };
        self.steps_made += (end - first) as u64 / 8;
        first..end
    }

    /// The number of steps to give, of `steps` that could be given.
    pub fn given(&mut self, steps: u32) -> u32 {
        match self.leases {
            Leases::Given => steps,
            Leases::Refused => 0,
            Leases::SomeRefused => {
                self.asked += 1;
                let drawn = mix(self.asked);
                if drawn & 1 == 0 { 0 } else { steps.min(1 + (drawn >> 1) as u32 % STEPS_MAX) }
            }
        }
    }

    /// Brings the table up to date.
    fn update(&mut self, table: &mut [u8], of: &Checks) {
        let Checks { bounds, own_word, .. } = *of;
        let bytes = bounds.memory_bytes;
        if self.bytes == Some(bytes) && !self.stale && self.own_word == own_word && self.changed.is_empty() {
            return;
        }
        if self.bytes != Some(bytes) {
            self.bytes = Some(bytes);
            put(table, BYTES, bytes.saturating_sub(1) as u32);
        }
        let count = (bytes / u64::from(PAGE)) as u32;
        if self.stale || self.own_word != own_word {
            self.stale = false;
            self.changed.clear();
            self.own_word = own_word;
            return self.copy_pages(table, of, 0..count.max(self.pages.len() as u32), None);
        }
        self.copy_pages(table, of, self.pages.len() as u32..count, None);
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable_by_key(|range| range.start);
        let mut ranges = changed.drain(..).peekable();
        while let Some(mut range) = ranges.next() {
            // Neighbouring blocks, and blocks that were handed out again.
            while let Some(next) = ranges.next_if(|next| next.start <= range.end) {
                range.end = range.end.max(next.end);
            }
            if !self.copy_granules(table, of, &range) {
                let pages = range.start / PER_PAGE..range.end.div_ceil(PER_PAGE);
                self.copy_pages(table, of, pages, Some(range));
            }
        }
        drop(ranges);
        self.changed = changed;
    }

    /// Brings granules of one page up to date, if that changes nothing of the page: which is so of nearly all ranges.
    /// Returns whether it is.
    fn copy_granules(&self, table: &mut [u8], of: &Checks, range: &Range<u32>) -> bool {
        let page = range.start / PER_PAGE;
        let (first, place) = (page * PER_PAGE, (PAGES + page) as usize);
        let null = of.bounds.null_bytes.div_ceil(u64::from(PAGE));
        let is_mixed = self.pages.get(page as usize) == Some(&Granules::Mixed) && table[place] == 1;
        if u64::from(page) < null || range.end > first + PER_PAGE || !is_mixed {
            return false;
        }
        let Shadow::Mixed(states) = of.heap.shadow(page) else { return false };
        copy(states, table, first, range);
        if let Some(own) = self.own_word.map(|word| word / GRANULE)
            && range.contains(&own)
        {
            table[own as usize] = 0;
        }
        true
    }

    /// Brings pages up to date: only the granules `only` if given, else all.
    fn copy_pages(&mut self, table: &mut [u8], of: &Checks, pages: Range<u32>, only: Option<Range<u32>>) {
        for page in pages.clone() {
            let (first, end) = (page * PER_PAGE, (page + 1) * PER_PAGE);
            let only = only.as_ref().map(|only| only.start.max(first)..only.end.min(end));
            self.copy_page(table, of, page, only);
        }
        // An access that begins in an open page and ends in a closed one must ask: see the gate.
        for page in pages.start.max(1)..(pages.end + 1).min(self.pages.len() as u32) {
            let (place, first) = ((PAGES + page) as usize, (page * PER_PAGE) as usize);
            if table[place] == 0 && table[place - 1] == 1 && table[first] == 1 {
                self.pages[page as usize] = Granules::Mixed;
                table[first] = 0;
            }
        }
    }

    /// Brings a page up to date: only the granules `only` if given, else all.
    fn copy_page(&mut self, table: &mut [u8], of: &Checks, page: u32, only: Option<Range<u32>>) {
        if self.pages.len() <= page as usize {
            self.pages.resize(page as usize + 1, Granules::Closed);
        }
        let (place, first) = ((PAGES + page) as usize, page * PER_PAGE);
        let known = &mut self.pages[page as usize];
        let all = first..first + PER_PAGE;
        match of.heap.shadow(page) {
            Shadow::Freed => {
                table[place] = 0;
                return;
            }
            Shadow::Clean if *known == Granules::Open => {}
            Shadow::Clean => {
                *known = Granules::Open;
                table[first as usize..all.end as usize].fill(1);
            }
            Shadow::Mixed(states) => {
                let range = only.filter(|_| table[place] == 1 && *known == Granules::Mixed).unwrap_or(all);
                *known = Granules::Mixed;
                copy(states, table, first, &range);
            }
        }
        table[place] = 1;
        let null = (of.bounds.null_bytes.div_ceil(u64::from(GRANULE)) as u32).saturating_sub(first);
        if null > 0 {
            *known = Granules::Mixed;
            table[first as usize..][..null.min(PER_PAGE) as usize].fill(0);
        }
        if let Some(word) = self.own_word
            && word / PAGE == page
        {
            *known = Granules::Mixed;
            table[(word / GRANULE) as usize] = 0;
        }
    }

    /// Brings the table up to date, and returns the first granule for which it disagrees with the checks.
    pub fn differs_at(&mut self, table: &mut [u8], of: &Checks) -> Option<u32> {
        self.update(table, of);
        let last = get(table, BYTES);
        // Includes granules behind the end of memory.
        (0..last / GRANULE + PER_PAGE).find(|granule| {
            let first = granule * GRANULE;
            let is_open = |page: u32| table[(PAGES + page) as usize] == 1;
            let (page, open) = (first / PAGE, table[*granule as usize] == 1);
            // The gate only looks at the page of an access's first byte.
            let reached = first.is_multiple_of(PAGE) && page > 0 && is_open(page - 1);
            if reached && open && !is_open(page) {
                return true;
            }
            let passes = open && is_open(page) && first + GRANULE - 1 <= last;
            let own = of.own_word.is_some_and(|word| word / GRANULE == *granule);
            passes != (!own && is_plain(of.heap, of.bounds, first.into(), GRANULE))
        })
    }

    /// Closes memory until the lease is taken back.
    fn watch(&mut self, table: &mut [u8], watched: &[(u64, u32)]) {
        if self.mutant == Some(Mutant::NothingWatched) {
            return;
        }
        for (address, bytes) in watched {
            let last = address.saturating_add(u64::from((*bytes).max(1)) - 1);
            for granule in address / u64::from(GRANULE)..=last / u64::from(GRANULE) {
                let Some(open) = table[..AT as usize].get_mut(granule as usize) else { break };
                if std::mem::take(open) == 1 {
                    self.watched.push(granule as u32);
                }
            }
        }
    }
}

/// Opens granules whose states allow it, and closes the others. `states` are those of the page with this first granule.
fn copy(states: &[u8], table: &mut [u8], first: u32, range: &Range<u32>) {
    let from = &states[(range.start - first) as usize..(range.end - first) as usize];
    let to = &mut table[range.start as usize..range.end as usize];
    for (to, state) in to.iter_mut().zip(from) {
        *to = u8::from(*state == 0);
    }
}

fn put(table: &mut [u8], at: u32, number: u32) {
    table[at as usize..at as usize + 4].copy_from_slice(&number.to_le_bytes());
}

pub fn get(table: &[u8], at: u32) -> u32 {
    u32::from_le_bytes(table[at as usize..at as usize + 4].try_into().expect("4 bytes"))
}
