//! The last accesses of each byte of memory, as far as later ones can be in a race with them.
//!
//! After FastTrack (Flanagan, Freund, PLDI 2009): an access that happened after all those before it makes them
//! superfluous, for who is in a race with one of them is in a race with it or the one before was reported. So a byte
//! mostly has one access. Different from there, bytes are kept in groups of eight, an access with the mask of the
//! bytes that it concerns, and atomic accesses are kept beside plain ones: they are in no race with each other.

use super::clock::Clock;
use coyote_strategies::WorkerId;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An access of a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub worker: WorkerId,
    /// The worker's epoch.
    pub epoch: u32,
    pub how: How,
    /// Which of the eight bytes.
    mask: u8,
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
    pub fn name(self) -> &'static str {
        match (self.atomic, self.writes) {
            (false, false) => "read",
            (false, true) => "write",
            (true, false) => "atomic read",
            (true, true) => "atomic write",
        }
    }

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

/// What a report says of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    pub address: u32,
    pub bytes: u32,
    pub site: u32,
    /// The number of its step, from 1.
    pub step: u32,
}

/// Eight bytes.
type Group = SmallVec<[Kept; 2]>;

const GROUP: u64 = 8;
/// Groups in a page.
const PAGE: u64 = 64;
const PAGE_BYTES: u64 = GROUP * PAGE;

/// See the module's documentation. Copies share what is not changed.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    pages: BTreeMap<u64, Arc<[Group; PAGE as usize]>>,
}

/// Of what is kept, that which decides what later accesses are in a race with: not the places for reports.
impl Hash for Shadow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (page, groups) in &self.pages {
            for (number, group) in groups.iter().enumerate() {
                for Kept { worker, epoch, how, mask, what: _ } in group {
                    (page, number, worker, epoch, how, mask).hash(state);
                }
            }
        }
    }
}

impl Shadow {
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// The worker makes an access, before which `now` happened. Returns an earlier one that it is in a race with.
    pub fn access(&mut self, worker: WorkerId, now: &Clock, how: How, what: What) -> Option<Kept> {
        let mut race = None;
        let epoch = now.of(worker);
        for (group, mask) in masks(what.address.into(), what.bytes.into()) {
            let page = self
                .pages
                .entry(group / PAGE)
                .or_insert_with(|| Arc::new([const { Group::new_const() }; PAGE as usize]));
            let kept = &mut Arc::make_mut(page)[(group % PAGE) as usize];
            let mut rest = mask;
            kept.retain(|old| {
                if old.mask & mask == 0 {
                    return true;
                }
                let before = old.epoch <= now.of(old.worker);
                if !before && race.is_none() && how.conflicts(old.how) {
                    race = Some(*old);
                }
                if old.worker == worker && old.epoch == epoch && old.how.covers(how) {
                    // It tells as much as the new one would.
                    rest &= !old.mask;
                } else if before && how.covers(old.how) {
                    old.mask &= !mask;
                }
                old.mask != 0
            });
            if rest != 0 {
                kept.push(Kept { worker, epoch, how, mask: rest, what });
            }
        }
        race
    }

    /// What is there now has nothing to do with what was there: memory was handed out or taken back.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (first, last) = (address / PAGE_BYTES, (address + bytes - 1) / PAGE_BYTES);
        let known: Vec<u64> = self.pages.range(first..=last).map(|(page, _)| *page).collect();
        for page in known {
            let start = page * PAGE_BYTES;
            if address <= start && start + PAGE_BYTES <= address + bytes {
                self.pages.remove(&page);
                continue;
            }
            let (from, to) = (address.max(start), (address + bytes).min(start + PAGE_BYTES));
            let groups = Arc::make_mut(self.pages.get_mut(&page).expect("it is known"));
            for (group, mask) in masks(from, to - from) {
                groups[(group % PAGE) as usize].retain(|old| {
                    old.mask &= !mask;
                    old.mask != 0
                });
            }
        }
    }
}

/// The groups of a range of bytes, each with the mask of those that are in it.
fn masks(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u8)> {
    let end = address + bytes;
    let groups = address / GROUP..end.div_ceil(GROUP);
    groups.map(move |group| {
        let first = address.saturating_sub(group * GROUP);
        let last = (end - group * GROUP).min(GROUP);
        (group, ((0xff_u16 << first) & (0xff >> (GROUP - last))) as u8)
    })
}
