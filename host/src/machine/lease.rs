//! Leases: steps that the running worker makes without a call of the host.
//!
//! When an access was executed on the spot, the strategy is asked for how many steps it is certain to pick the running
//! worker again ([`coyote_strategies::Strategy::quiet`]). For these, a gate in the guest (`instrumenter/src/suspend/gate.rs`) lets
//! accesses pass and writes them down. Whatever the guest calls next, the first thing that the host does is to *settle*:
//! what was written down becomes steps, which the strategy picks and which are recorded and counted
//! ([`Scheduler::leased_steps`]). So a lease changes nothing but when that is done: the
//! same seed makes the same choices, with leases, without, and with some of them refused. A strategy that then picks
//! another worker than it promised is a bug in this tool, and ends in a panic.
//!
//! What an access is checked for is not left out: the gate lets pass only what the *table* has open, a copy of what
//! [`is_plain`](crate::observe::is_plain) says: not the null page, nothing beyond the end of memory, no freed memory, no gap
//! behind a block, and not the word that is each worker's own. The rest asks, as do accesses of *watched* memory, on
//! which the strategy's next choice may depend. Observers that want to know of every access get no lease.
//!
//! The table is brought up to date when a lease is given, by what allocators did since: within an iteration that is a
//! list of ranges, and going back to the beginning of one is the same list again.

use super::host::Host;
use super::scheduler::Scheduler;
use crate::observe::{MemoryBounds, is_plain};
use crate::runtime::heap::{Change, Heap, Shadow};
use coyote_abi::rt::lease::{AT, BYTES, END, GRANULE, NEVER, PAGE, PAGES, SITES, STEPS_MAX};
use coyote_instrumenter::SiteTable;
use coyote_strategies::{Operation, mix};
use std::ops::Range;
use wasmtime::{Caller, Memory};

const PER_PAGE: u32 = PAGE / GRANULE;
/// Ranges that are worth a list: with more, the whole table is made anew.
const CHANGED_MAX: usize = 1 << 12;

/// How many of them are looked at for the same one.
const RECENT: usize = 8;

/// Which leases are given: all that can be, or fewer, so that tests can compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leases {
    #[default]
    Given,
    Refused,
    /// About every second one, and shorter ones than could be.
    SomeRefused,
}

/// A planted bug, so that tests can show that they would notice it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// What allocators do changes nothing in the table.
    TableNotUpdated,
    /// Going back to the start leaves the table as it is.
    TableNotReset,
    /// A lease has one step more than promised.
    OneTooMany,
    /// Watched memory stays open.
    NothingWatched,
    /// Steps that were made under the lease are forgotten.
    StepsForgotten,
}

/// What the granules of a page in the table say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Granules {
    /// Nothing yet: all are closed.
    #[default]
    Closed,
    /// All are open.
    Open,
    /// Those of the heap's page, which has open ones and others.
    Mixed,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Lease {
    /// The memory that the gate reads; none in modules without a gate.
    memory: Option<Memory>,
    /// Steps of the lease that is out; 0 if none is.
    steps: u32,
    /// Granules that are closed as long as it is.
    watched: Vec<u32>,
    /// Those of the lease that was settled last; keeps its room.
    operations: Vec<Operation>,
    pages: Vec<Granules>,
    /// Size of guest memory, as the table says it.
    bytes: Option<u64>,
    /// Granules that changed since the table was brought up to date.
    changed: Vec<Range<u32>>,
    /// All that changed since the iteration began.
    to_undo: Vec<Range<u32>>,
    /// The table has to be made anew: now, and when the next iteration begins.
    stale: bool,
    stale_at_begin: bool,
    own_word: Option<u32>,
    pub leases: Leases,
    /// Steps that were made under leases.
    pub steps_made: u64,
    /// How many were asked for: decides which are refused.
    asked: u64,
    #[doc(hidden)]
    pub mutant: Option<Mutant>,
}

impl Lease {
    /// Another instance: nothing stands in its table.
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

    /// An iteration begins: the heap is as it was at the start.
    pub fn begin_iteration(&mut self) {
        if self.mutant == Some(Mutant::TableNotReset) {
            return;
        }
        self.changed.append(&mut self.to_undo);
        self.stale |= std::mem::take(&mut self.stale_at_begin);
        self.shorten();
    }

    /// The heap is any other.
    pub fn begin_elsewhere(&mut self) {
        self.stale = true;
        self.stale_at_begin = true;
    }

    /// An allocator took back or handed out blocks.
    pub fn heap_changed(&mut self, change: &Change) {
        if self.memory.is_none() || self.mutant == Some(Mutant::TableNotUpdated) {
            return;
        }
        let old = change.old.map(|(address, bytes)| (address, bytes.unwrap_or(0)));
        for (address, bytes) in [old, change.new].into_iter().flatten() {
            // With the gap behind it.
            let end = u64::from(address) + u64::from(bytes) + u64::from(GRANULE);
            let range = address / GRANULE..(end / u64::from(GRANULE)) as u32 + 1;
            for list in [&mut self.changed, &mut self.to_undo] {
                // Blocks are mostly freed as they were handed out.
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

    /// How many of the steps that could be given are.
    fn given(&mut self, steps: u32) -> u32 {
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
    fn update(&mut self, table: &mut [u8], heap: &Heap, bounds: MemoryBounds, own_word: Option<u32>) {
        let bytes = bounds.memory_bytes;
        if self.bytes != Some(bytes) {
            self.bytes = Some(bytes);
            put(table, BYTES, bytes.saturating_sub(1) as u32);
        }
        let count = (bytes / u64::from(PAGE)) as u32;
        if self.stale || self.own_word != own_word {
            self.stale = false;
            self.changed.clear();
            self.own_word = own_word;
            for page in 0..count.max(self.pages.len() as u32) {
                self.copy_page(table, heap, bounds, page, None);
            }
            return;
        }
        for page in self.pages.len() as u32..count {
            self.copy_page(table, heap, bounds, page, None);
        }
        let mut changed = std::mem::take(&mut self.changed);
        for range in changed.drain(..) {
            for page in range.start / PER_PAGE..range.end.div_ceil(PER_PAGE) {
                let first = range.start.max(page * PER_PAGE);
                let end = range.end.min((page + 1) * PER_PAGE);
                self.copy_page(table, heap, bounds, page, Some(first..end));
            }
        }
        self.changed = changed;
    }

    /// Brings a page up to date, of which only these granules changed if any are given.
    fn copy_page(
        &mut self,
        table: &mut [u8],
        heap: &Heap,
        bounds: MemoryBounds,
        page: u32,
        only: Option<Range<u32>>,
    ) {
        if self.pages.len() <= page as usize {
            self.pages.resize(page as usize + 1, Granules::Closed);
        }
        let (place, first) = ((PAGES + page) as usize, page * PER_PAGE);
        let known = &mut self.pages[page as usize];
        let all = first..first + PER_PAGE;
        match heap.shadow(page) {
            Shadow::Freed => {
                table[place] = 0;
                if page > 0 && table[place - 1] == 1 {
                    self.close_first(table, page);
                }
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
                let from = &states[(range.start - first) as usize..(range.end - first) as usize];
                let to = &mut table[range.start as usize..range.end as usize];
                for (to, state) in to.iter_mut().zip(from) {
                    *to = u8::from(*state == 0);
                }
            }
        }
        table[place] = 1;
        let null = (bounds.null_bytes.div_ceil(u64::from(GRANULE)) as u32).saturating_sub(first);
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
        if table[place + 1] == 0 && self.pages.len() > page as usize + 1 {
            self.close_first(table, page + 1);
        }
    }

    /// The page before this one, which is closed, is open: an access that begins there and ends here must ask.
    fn close_first(&mut self, table: &mut [u8], page: u32) {
        self.pages[page as usize] = Granules::Mixed;
        table[(page * PER_PAGE) as usize] = 0;
    }

    /// Closes memory until the lease is settled. Whether all of it is closed.
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

/// The host, after what was made under the lease has become steps: the first thing that an import asks for.
#[inline]
pub fn settled<'a>(caller: &'a mut Caller<'_, Host>) -> &'a mut Host {
    settle(caller);
    caller.data_mut()
}

/// See [`settled`].
#[inline]
pub fn settle(caller: &mut Caller<'_, Host>) {
    if caller.data().lease.steps > 0
        && let Some(memory) = caller.data().lease.memory
    {
        let (table, host) = memory.data_and_store_mut(caller);
        host.settle(table);
    }
}

/// Gives the running worker, which has just executed an access, a lease if it can have one.
#[inline]
pub fn grant(caller: &mut Caller<'_, Host>) {
    let Some(memory) = caller.data().lease.memory else { return };
    let host = caller.data_mut();
    let Some(steps) = host.scheduler.lease(STEPS_MAX) else { return };
    let steps = host.lease.given(steps);
    if steps > 0 {
        let (table, host) = memory.data_and_store_mut(caller);
        host.give(table, steps);
    }
}

impl Host {
    /// See [`super::Machine::lease_differs_at`].
    pub fn table_differs_at(&mut self, table: &mut [u8]) -> Option<u32> {
        let Host { lease, scheduler, .. } = self;
        let (runtime, bounds) = (&scheduler.runtime, scheduler.bounds);
        lease.update(table, &runtime.heap, bounds, runtime.worker_local_word());
        let last = get(table, BYTES);
        // And some behind the end of memory.
        (0..last / GRANULE + PER_PAGE).find(|granule| {
            let first = granule * GRANULE;
            let opened = table[*granule as usize] & table[(PAGES + first / PAGE) as usize] == 1;
            let passes = opened && first + GRANULE - 1 <= last;
            // The gate looks at the page of an access's first byte alone.
            let reached = first.is_multiple_of(PAGE) && first > 0 && table[(PAGES + first / PAGE - 1) as usize] == 1;
            if reached && !opened && table[*granule as usize] == 1 {
                return true;
            }
            let own = runtime.worker_local_word().is_some_and(|word| word / GRANULE == *granule);
            passes != (!own && is_plain(&runtime.heap, bounds, first.into(), GRANULE))
        })
    }

    fn give(&mut self, table: &mut [u8], steps: u32) {
        let Host { lease, scheduler, .. } = self;
        let Scheduler { runtime, bounds, watched, .. } = scheduler;
        lease.update(table, &runtime.heap, *bounds, runtime.worker_local_word());
        lease.watch(table, watched);
        let more = u32::from(lease.mutant == Some(Mutant::OneTooMany) && steps < STEPS_MAX);
        lease.steps = steps + more;
        put(table, AT, END - 8 * lease.steps);
    }

    /// What was made under the lease becomes steps.
    pub fn settle(&mut self, table: &mut [u8]) {
        let first = (END - 8 * std::mem::take(&mut self.lease.steps)) as usize;
        let end = get(table, AT) as usize;
        put(table, AT, END);
        while let Some(granule) = self.lease.watched.pop() {
            table[granule as usize] = 1;
        }
        if self.lease.mutant == Some(Mutant::StepsForgotten) {
            return;
        }
        if first == end {
            return;
        }
        let mut operations = std::mem::take(&mut self.lease.operations);
        operations.clear();
        for step in table[first..end].chunks_exact(8) {
            let (site, address) = (get(step, 0), get(step, 4));
            self.order_site(site);
            operations.push(self.operation(site, address.into()));
        }
        self.lease.steps_made += operations.len() as u64;
        self.scheduler.leased_steps(&operations);
        self.lease.operations = operations;
    }
}

fn put(table: &mut [u8], at: u32, number: u32) {
    table[at as usize..at as usize + 4].copy_from_slice(&number.to_le_bytes());
}

fn get(table: &[u8], at: u32) -> u32 {
    u32::from_le_bytes(table[at as usize..at as usize + 4].try_into().expect("4 bytes"))
}
