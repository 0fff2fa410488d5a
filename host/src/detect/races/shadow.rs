//! The last accesses of each byte of memory, as far as later ones can be in a race with them.
//!
//! After FastTrack (Flanagan, Freund, PLDI 2009): an access that happened after all earlier ones makes them
//! superfluous, since an access that is in a race with one of them is in a race with it, or a race was reported before.
//! So a byte mostly has one access. Different from there, bytes are kept in groups of eight, an access with the mask of
//! the bytes that it concerns, and atomic accesses are kept beside plain ones: they are in no race with each other.

use crate::detect::clock::Clock;
use crate::object_id::UseKind;
use coyote_abi::Ordering;
use coyote_strategies::{Class, WorkerId};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An access of a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub worker: WorkerId,
    /// The worker's epoch.
    pub epoch: u32,
    pub how: How,
    /// The bytes of its group that it concerns, as bits.
    pub(super) mask: u8,
    pub what: What,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct How {
    pub writes: bool,
    pub atomic: bool,
    /// Within an atomic function or section, of which one is executed at a time.
    pub in_section: bool,
}

impl How {
    /// Whether two unordered accesses are a data race.
    fn conflicts(self, other: How) -> bool {
        (self.writes || other.writes)
            && !(self.atomic && other.atomic)
            && !(self.in_section && other.in_section)
    }

    /// Whether each access that is in a race with `other` is in one with this.
    fn covers(self, other: How) -> bool {
        (self.writes || !other.writes)
            && (!self.atomic || other.atomic)
            && (!self.in_section || other.in_section)
    }
}

/// The data about an access for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    pub address: u32,
    pub bytes: u32,
    pub site: u32,
    /// The number of its step, from 1.
    pub step: u32,
    /// The ordering of an atomic access.
    pub ordering: Option<Ordering>,
    /// What it is if it is no load or store.
    pub special: Option<Special>,
}

/// What counts as an access besides loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// An operation on a sync object of this class.
    Use(Class, UseKind),
    /// An allocator hands out a block.
    Allocation,
    /// An allocator takes back a block.
    Free,
}

/// The accesses that an access is in a race with.
pub type Found = SmallVec<[Kept; 1]>;

/// What is known of the bytes of an access.
pub struct Looked {
    /// The earlier accesses that it is in a race with.
    pub races: Found,
    /// Whether an earlier access of each byte happened before it.
    pub known: bool,
}

/// The accesses of eight bytes.
type Group = SmallVec<[Kept; 2]>;

const GROUP: u64 = 8;
/// Number of groups in a page.
const PAGE: u64 = 64;
const PAGE_BYTES: u64 = GROUP * PAGE;

/// Groups that are next to each other.
#[derive(Clone, Debug)]
struct Page {
    /// The groups that have accesses, as bits.
    used: u64,
    groups: [Group; PAGE as usize],
}

impl Page {
    const EMPTY: Page = Page { used: 0, groups: [const { Group::new_const() }; PAGE as usize] };

    fn clear(&mut self) {
        while self.used != 0 {
            self.groups[self.used.trailing_zeros() as usize].clear();
            self.used &= self.used - 1;
        }
    }

    fn set_used(&mut self, group: usize) {
        let used = u64::from(!self.groups[group].is_empty());
        self.used = self.used & !(1 << group) | used << group;
    }
}

/// See the module's documentation. Copies share pages that are not changed.
#[derive(Debug, Default)]
pub struct Shadow {
    /// For each page of memory one more than its index in `pages`, or 0.
    index: Vec<u32>,
    pages: Vec<Arc<Page>>,
    /// Empty pages, to be used again.
    spare: Vec<Arc<Page>>,
}

impl Clone for Shadow {
    fn clone(&self) -> Shadow {
        Shadow { index: self.index.clone(), pages: self.pages.clone(), spare: Vec::new() }
    }
}

/// Hashes what decides with which accesses later ones are in a race, without the data for reports.
impl Hash for Shadow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (number, index) in self.index.iter().enumerate().filter(|(_, index)| **index > 0) {
            for (group, kept) in self.pages[*index as usize - 1].groups.iter().enumerate() {
                for Kept { worker, epoch, how, mask, what: _ } in kept {
                    (number, group, worker, epoch, how, mask).hash(state);
                }
            }
        }
    }
}

impl Shadow {
    /// Whether it has no access.
    pub fn is_empty(&self) -> bool {
        self.pages.iter().all(|page| page.used == 0)
    }

    pub fn clear(&mut self) {
        self.index.clear();
        for mut page in self.pages.drain(..) {
            // A page that a copy shares is left to the copy.
            if let Some(own) = Arc::get_mut(&mut page) {
                own.clear();
                self.spare.push(page);
            }
        }
    }

    /// The page of this number, to be changed.
    #[inline]
    fn page(&mut self, number: usize) -> &mut Page {
        let index = match self.index.get(number) {
            Some(index) if *index > 0 => *index,
            _ => self.add_page(number),
        };
        Arc::make_mut(&mut self.pages[index as usize - 1])
    }

    #[cold]
    fn add_page(&mut self, number: usize) -> u32 {
        if self.index.len() <= number {
            self.index.resize(number + 1, 0);
        }
        self.pages.push(self.spare.pop().unwrap_or_else(|| Arc::new(Page::EMPTY)));
        self.index[number] = self.pages.len() as u32;
        self.index[number]
    }

    /// Records an access of the worker, before which `now` happened.
    pub fn access(&mut self, worker: WorkerId, now: &Clock, how: How, what: What) -> Looked {
        let mut looked = Looked { races: Found::new(), known: true };
        let epoch = now.of(worker);
        for (group, mask) in masks(what.address.into(), what.bytes.into()) {
            let page = self.page((group / PAGE) as usize);
            let number = (group % PAGE) as usize;
            let kept = &mut page.groups[number];
            // An access of the same epoch says as much: races with this one were found at that one, or will be found
            // with it.
            let told = |old: &Kept| {
                old.worker == worker && old.epoch == epoch && old.mask & mask == mask && old.how.covers(how)
            };
            if kept.iter().any(told) {
                continue;
            }
            let (mut rest, mut happened) = (mask, 0);
            kept.retain(|old| {
                if old.mask & mask == 0 {
                    return true;
                }
                let before = old.epoch <= now.of(old.worker);
                if before {
                    happened |= old.mask;
                } else if how.conflicts(old.how) {
                    looked.races.push(*old);
                }
                if old.worker == worker && old.epoch == epoch && old.how.covers(how) {
                    // It says as much as the new one would.
                    rest &= !old.mask;
                } else if before && how.covers(old.how) {
                    old.mask &= !mask;
                }
                old.mask != 0
            });
            if rest != 0 {
                kept.push(Kept { worker, epoch, how, mask: rest, what });
            }
            looked.known &= happened & mask == mask;
            page.used |= 1 << number;
        }
        looked
    }

    /// The accesses of these bytes that did not happen before `now`.
    pub fn unordered(&self, now: &Clock, address: u64, bytes: u64) -> Found {
        let mut found = Found::new();
        for number in address / PAGE_BYTES..(address + bytes).div_ceil(PAGE_BYTES) {
            let Some(page) = self.page_at(number) else { continue };
            let start = number * PAGE_BYTES;
            let (from, to) = (address.max(start), (address + bytes).min(start + PAGE_BYTES));
            for (group, mask) in masks(from, to - from) {
                for old in &page.groups[(group % PAGE) as usize] {
                    let unordered = old.mask & mask != 0 && old.epoch > now.of(old.worker);
                    // A long access is in several groups.
                    if unordered && found.last().is_none_or(|last| last.what != old.what) {
                        found.push(*old);
                    }
                }
            }
        }
        found
    }

    /// Whether there are known writes of a byte, which all happened before `now`.
    pub fn is_written_before(&self, now: &Clock, address: u64) -> bool {
        let Some(page) = self.page_at(address / PAGE_BYTES) else { return false };
        let (group, bit) = (address / GROUP % PAGE, 1 << (address % GROUP));
        let kept = page.groups[group as usize].iter();
        let mut writes = kept.filter(|kept| kept.how.writes && kept.mask & bit != 0).peekable();
        writes.peek().is_some() && writes.all(|kept| kept.epoch <= now.of(kept.worker))
    }

    /// The page of this number, if it has accesses.
    fn page_at(&self, number: u64) -> Option<&Page> {
        let index = self.index.get(number as usize).filter(|index| **index > 0)?;
        Some(&*self.pages[*index as usize - 1]).filter(|page| page.used != 0)
    }

    /// Forgets the accesses of memory that was handed out or taken back.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (first, last) = (address / PAGE_BYTES, (address + bytes - 1) / PAGE_BYTES);
        for number in first..=last.min(self.index.len() as u64) {
            let Some(index) = self.index.get(number as usize).filter(|index| **index > 0) else { continue };
            let page = &mut self.pages[*index as usize - 1];
            if page.used == 0 {
                continue;
            }
            let start = number * PAGE_BYTES;
            let page = Arc::make_mut(page);
            if address <= start && start + PAGE_BYTES <= address + bytes {
                page.clear();
                continue;
            }
            let (from, to) = (address.max(start), (address + bytes).min(start + PAGE_BYTES));
            for (group, mask) in masks(from, to - from) {
                let group = (group % PAGE) as usize;
                page.groups[group].retain(|old| {
                    old.mask &= !mask;
                    old.mask != 0
                });
                page.set_used(group);
            }
        }
    }
}

/// The groups of a range of bytes, each with the mask of its bytes in the range.
fn masks(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address + bytes;
    let groups = address / GROUP..end.div_ceil(GROUP);
    groups.map(move |group| {
        let first = address.saturating_sub(group * GROUP);
        let last = (end - group * GROUP).min(GROUP);
        (group, ((0xff_u16 << first) & (0xff >> (GROUP - last))) as u8)
    })
}
