//! Weak memory: which stores an atomic load may read, and which place in modification order a store may take.
//!
//! The model is RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) without load buffering, made operational by
//! views, after the promising semantics without promises (Kang, Hur, Lahav, Vafeiadis, Dreyer, POPL 2017), with C++20's
//! release sequences: a release store is continued by read-modify-writes alone.
//!
//! For each location the last stores are kept in modification order, and for each worker how far it has come in that
//! order. A load may read any store that is not behind that; a store may take any place after it; a read-modify-write
//! may read any store that no other one has read, and takes the place right behind it. Which of these it is, is a
//! *choice* (0: the newest), made before the access. Memory always holds the newest store. If an older one is chosen,
//! memory gets its value for the access ([`Weak::take_put`]), and the newest value again right after it
//! ([`Weak::done`]).
//!
//! # What exactly is allowed
//! - *Coherence*: an access reads no store, and takes no place, before the last store that its worker has read or made,
//!   or that happens before it. Happens-before comes from releases and acquires, fences, and all sync objects.
//! - *Atomicity*: see `Location::behind`.
//! - *SC accesses and fences*: no SC access reads a store, or takes a place, before a store that an earlier SC access
//!   has read or made, or that was seen before an earlier SC fence. What was seen before an SC fence, and what SC
//!   accesses before it have read or made, is seen after it.
//!
//! Together that is RC11 with two exceptions:
//! - C++20 orders two SC accesses also if one is coherence-ordered before the other through accesses that are not SC
//!   (`scb` with `eco`; [atomics.order] 3 and 4). RC11, which demands that of fences alone, allows IRIW with relaxed
//!   stores and SC loads. No known compilation to hardware shows that.
//! - The order of SC accesses and fences is the one in which they are executed. So `po ∪ rf ∪ psc` has no cycle, where
//!   RC11 demands that of `po ∪ rf` and of `psc` alone. The outcome of Z6.U (PLDI 2017, section 2), which RC11 allows
//!   for the sake of Power, is therefore never seen.
//!
//! `tests` compares all of it with the axioms (`naive`).
//!
//! An ordering that is not known to be weaker counts as sequentially consistent.

mod location;
#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;
mod view;

use super::heap::Change;
use super::released::{Join, Released};
use super::reuse::{ADDRESS_BYTES, Reuse};
use super::stream::{HbObject, SyncEvent};
use coyote_abi::Ordering;
use coyote_strategies::{OpKind, WorkerId};
use location::{Location, Message};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use view::View;

/// A worker's knowledge of stores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Knowledge {
    now: View,
    /// The view that an acquire fence would add: from the stores that relaxed loads have read.
    read: View,
    /// The view at its last release fence, which its relaxed stores pass on.
    fenced: View,
}

/// The orderings of an access, or twice that of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Orders {
    /// The ordering of a compare-exchange that stores, or of any other access.
    pub success: Ordering,
    /// The ordering of a compare-exchange that does not store.
    pub failure: Ordering,
    /// Whether the access reads the newest store in any case.
    pub newest: bool,
}

impl Orders {
    /// Orderings of an access that cannot fail.
    pub const fn always(ordering: Ordering) -> Orders {
        Orders { success: ordering, failure: ordering, newest: false }
    }
}

/// An atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicAccess {
    pub worker: WorkerId,
    /// A load, store, read-modify-write or compare-exchange.
    pub kind: OpKind,
    pub address: u32,
    /// At most 8, and the address is a multiple of it.
    pub bytes: u32,
    /// The value that a compare-exchange compares with.
    pub expected: u64,
    pub orders: Orders,
    /// The number of its step, from 1 on.
    pub step: u64,
}

/// An access between its choice and its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Plan {
    access: AtomicAccess,
    /// The place of the store that it reads; of a plain atomic store, the one it comes right behind.
    chosen: u32,
    /// Whether that is the newest one.
    newest: bool,
    /// Whether it stores.
    stores: bool,
}

/// A choice of a store that is not the newest, for reports. Steps count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The step that chose it.
    pub step: u64,
    /// Whether a store took a place before newer ones, without reading.
    pub places: bool,
    /// The step of the store that was read, or that it comes right behind; `None` if its value was there
    /// before.
    pub chosen: Option<u64>,
    /// The step of the newest store.
    pub newest: Option<u64>,
}

impl std::fmt::Display for Stale {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let newest = self.newest.map_or("another one".into(), |step| format!("step {step}"));
        match (self.places, self.chosen) {
            (true, None) => write!(f, "stores before what {newest} stored"),
            (true, Some(step)) => write!(f, "stores behind step {step}, though before what {newest} stored"),
            (false, None) => write!(f, "reads the value of the beginning, though {newest} is newer"),
            (false, Some(step)) => write!(f, "reads the value of step {step}, though {newest} is newer"),
        }
    }
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Weak {
    workers: Vec<Knowledge>,
    objects: BTreeMap<HbObject, Released<View>>,
    reuse: Reuse<View>,
    /// Locations by address; no two overlap.
    locations: BTreeMap<u32, Location>,
    /// Number of locations that have got a number so far.
    numbers: u32,
    /// What SC accesses have read and made so far, and what was seen before SC fences.
    sc: View,
    plan: Option<Plan>,
    /// The value that memory must hold for the access: an address, a size and a value.
    put: Option<(u32, u32, u64)>,
    /// The last stale choice.
    stale: Option<Stale>,
    /// The last store that is not in memory: its step, its address and its value. For reports.
    hidden: Option<(u64, u32, u64)>,
}

impl Hash for Weak {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        let Weak { workers, objects, reuse, locations, numbers, sc, plan, put, stale: _, hidden: _ } = self;
        (workers, objects, reuse, locations, numbers, sc, plan, put).hash(hasher);
    }
}

impl Weak {
    fn worker(&mut self, worker: WorkerId) -> &mut Knowledge {
        while self.workers.len() <= worker.index() {
            self.workers.push(Knowledge::default());
        }
        &mut self.workers[worker.index()]
    }

    /// Records that a worker acquires or releases a sync object.
    pub fn synchronise(&mut self, event: &SyncEvent) {
        let SyncEvent { worker, object, kind, .. } = *event;
        self.worker(worker);
        let own = &mut self.workers[worker.index()].now;
        self.objects.entry(object).or_default().exchange(own, kind);
    }

    /// Performs a fence of a worker.
    pub fn fence(&mut self, worker: WorkerId, ordering: Ordering) {
        self.worker(worker);
        let Weak { workers, sc, .. } = self;
        let Knowledge { now, read, fenced } = &mut workers[worker.index()];
        if ordering.acquires() {
            now.join(read);
        }
        if ordering == Ordering::SeqCst {
            now.join(sc);
            sc.join(now);
        }
        if ordering.releases() {
            fenced.clone_from(now);
        }
    }

    /// Records that the host read the newest value of a location on the worker's behalf.
    pub fn host_read(&mut self, worker: WorkerId, address: u32) {
        self.worker(worker);
        let Weak { workers, locations, .. } = self;
        if let Some(location) = locations.get(&address)
            && let Some(newest) = location.newest()
        {
            workers[worker.index()].now.see(location.number, newest.at);
        }
    }

    /// Records that an allocator changes blocks on the worker's behalf. What it takes back and hands out is new memory.
    pub fn heap(&mut self, worker: WorkerId, change: &Change) {
        self.worker(worker);
        if let Some((address, bytes)) = change.old {
            let bytes = bytes.unwrap_or(0);
            self.reuse.free(address, bytes, &self.workers[worker.index()].now);
            self.forget(address, bytes);
        }
        if let Some((address, bytes)) = change.new {
            self.reuse.allocate(worker, address, bytes);
            self.forget(address, bytes);
        }
    }

    /// Forgets the stores to these bytes, which have become other memory.
    fn forget(&mut self, address: u32, bytes: u32) {
        let end = u64::from(address) + u64::from(bytes);
        for (at, location) in self.locations.range_mut(address.saturating_sub(7)..) {
            if u64::from(*at) >= end {
                break;
            }
            if u64::from(*at) + u64::from(location.bytes) > u64::from(address) {
                location.messages.clear();
            }
        }
    }

    /// Number of possibilities of an access, at least 1. `value`: the value in memory.
    pub fn ways(&mut self, access: &AtomicAccess, value: u64) -> u64 {
        self.know(access, value);
        self.options(access).len() as u64
    }

    /// Makes sure that the location of an access is known, and that its newest store has the value in memory.
    fn know(&mut self, access: &AtomicAccess, value: u64) {
        let AtomicAccess { address, bytes, .. } = *access;
        self.worker(access.worker);
        if self.locations.get(&address).is_none_or(|location| location.bytes != bytes) {
            let overlaps = |(at, location): (&u32, &Location)| {
                let end = u64::from(*at) + u64::from(location.bytes);
                (end > u64::from(address)).then_some(*at)
            };
            let near = address.saturating_sub(7)..address.saturating_add(bytes);
            let hidden: SmallVec<[u32; 4]> = self.locations.range(near).filter_map(overlaps).collect();
            let mut location = Location::new(bytes, self.numbers);
            self.numbers += 1;
            let mut view = View::default();
            for newest in hidden.iter().filter_map(|at| self.locations.remove(at)?.messages.pop()) {
                view.join(&newest.view);
            }
            location.restart(value, view);
            self.locations.insert(address, location);
        }
        let Weak { workers, locations, .. } = self;
        let location = locations.get_mut(&address).expect("it was just put there");
        match location.newest() {
            None => location.restart(value, View::default()),
            Some(newest) if newest.value == value => {}
            // Memory was changed by other means than a known store.
            Some(_) => {
                let mut view = View::default();
                workers.iter().for_each(|worker| view.join(&worker.now));
                location.restart(value, view);
            }
        }
    }

    /// The first store that an access of this ordering may read.
    fn bound(&self, worker: WorkerId, location: &Location, ordering: Ordering) -> u32 {
        let seen = self.workers[worker.index()].now.seen(location.number);
        if ordering == Ordering::SeqCst { seen.max(self.sc.seen(location.number)) } else { seen }
    }

    /// The indices of stores that an access may read, or come right behind, the newest first.
    fn options(&self, access: &AtomicAccess) -> SmallVec<[usize; 8]> {
        let location = &self.locations[&access.address];
        let success = self.bound(access.worker, location, access.orders.success);
        let failure = self.bound(access.worker, location, access.orders.failure);
        let newest = location.messages.len() - 1;
        let older = if access.orders.newest { 0..0 } else { 0..newest };
        let is_option = |index: &usize| {
            let message = &location.messages[*index];
            // Who reads the address of a freed block whose memory it has knows what was known then.
            let known = self.known_by(access, message);
            if known.is_some_and(|known| message.at < known.seen(location.number)) {
                return false;
            }
            let has_place = || location.behind(*index).is_some();
            match access.kind {
                OpKind::AtomicLoad => message.at >= success,
                OpKind::CompareExchange if message.value != access.expected => message.at >= failure,
                _ => message.at >= success && has_place(),
            }
        };
        std::iter::once(newest).chain(older.rev().filter(is_option)).collect()
    }

    /// What a worker learns by reading a store, if that is an address: see [`Reuse`].
    fn known_by(&self, access: &AtomicAccess, message: &Message) -> Option<&View> {
        let is_address = access.kind != OpKind::AtomicStore && access.bytes == ADDRESS_BYTES;
        let address = u32::try_from(message.value).ok().filter(|_| is_address)?;
        let location = &self.locations[&access.address];
        self.reuse.known_of(access.worker, address).filter(|known| message.at <= known.seen(location.number))
    }

    /// Begins an access, which reads, or comes behind, the store of this number among its possibilities. [`Weak::ways`]
    /// must have been called for it.
    pub fn begin(&mut self, access: AtomicAccess, choice: u64) {
        let chosen = self.options(&access)[choice as usize];
        let known = self.known_by(&access, &self.locations[&access.address].messages[chosen]).cloned();
        let Weak { workers, locations, sc, .. } = self;
        let location = &locations[&access.address];
        let message = &location.messages[chosen];
        let newest = location.newest().expect("there is the chosen one");
        let reads = access.kind != OpKind::AtomicStore;
        let fails = access.kind == OpKind::CompareExchange && message.value != access.expected;
        let ordering = if fails { access.orders.failure } else { access.orders.success };
        if reads {
            let Knowledge { now, read, .. } = &mut workers[access.worker.index()];
            now.see(location.number, message.at);
            known.iter().for_each(|known| now.join(known));
            read.join(&message.view);
            if ordering.acquires() {
                now.join(&message.view);
            }
            if ordering == Ordering::SeqCst {
                sc.see(location.number, message.at);
            }
        }
        let is_newest = message.at == newest.at;
        let step = |message: &Message| message.origin.map(|(step, _)| step);
        if !is_newest {
            let (chosen, newest) = (step(message), step(newest));
            self.stale = Some(Stale { step: access.step, places: !reads, chosen, newest });
        }
        self.put = (reads && !is_newest).then_some((access.address, access.bytes, message.value));
        let stores_value = access.kind != OpKind::AtomicLoad && !fails;
        self.plan = Some(Plan { access, chosen: message.at, newest: is_newest, stores: stores_value });
    }

    /// Takes the value that memory must hold while the access is executed: an address, a size and a value.
    pub fn take_put(&mut self) -> Option<(u32, u32, u64)> {
        self.put.take()
    }

    /// The address and size of the access that is being executed.
    pub fn planned(&self) -> Option<(u32, u32)> {
        self.plan.as_ref().map(|plan| (plan.access.address, plan.access.bytes))
    }

    /// Ends the access, which was executed and left this value in memory. Returns the value that memory must hold
    /// instead, if it is another one.
    pub fn done(&mut self, value: u64) -> Option<u64> {
        let Plan { access, chosen, newest, stores } = self.plan.take()?;
        let location = self.locations.get_mut(&access.address)?;
        let before = location.newest()?.value;
        if !stores {
            return (!newest).then_some(before);
        }
        let index = location.index(chosen)?;
        let place = if newest { None } else { location.behind(index) };
        let at = place.unwrap_or_else(|| location.next());
        let modifies = access.kind != OpKind::AtomicStore;
        let Knowledge { now, fenced, .. } = &mut self.workers[access.worker.index()];
        now.see(location.number, at);
        let mut view = if access.orders.success.releases() { now.clone() } else { fenced.clone() };
        view.see(location.number, at);
        if modifies {
            view.join(&location.messages[index].view);
        }
        if access.orders.success == Ordering::SeqCst {
            self.sc.see(location.number, at);
        }
        let origin = Some((access.step, access.worker));
        if place.is_some() {
            self.hidden = Some((access.step, access.address, value));
        }
        location.insert(Message { at, value, modifies, view: Arc::new(view), origin });
        place.map(|_| before)
    }

    /// The choice of a step's access, if that was not the newest store. Only the last such choice is known.
    pub fn stale(&self, step: u64) -> Option<Stale> {
        self.stale.filter(|stale| stale.step == step)
    }

    /// The value that a step has stored at an address, if the store came before newer ones, so that memory has another
    /// value. Only the last such store is known.
    pub fn hidden(&self, step: u64, address: u64) -> Option<u64> {
        let hidden = self.hidden.filter(|(by, at, _)| (*by, u64::from(*at)) == (step, address));
        hidden.map(|(.., value)| value)
    }
}
