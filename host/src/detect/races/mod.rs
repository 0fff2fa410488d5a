//! Data races: two accesses of the same byte by different workers, one of them a write and one of them not atomic,
//! of which neither happens before the other.
//!
//! Found by happens-before, after FastTrack (Flanagan, Freund, PLDI 2009): in every execution in which two accesses are
//! in a race, whichever came first, at the second one. The iteration ends there.
//!
//! - `clock`: vector clocks; `order`: what orders accesses, with the memory orderings of atomics as the program's source
//!   has them ([`crate::orderings`]); `shadow`: the accesses that a later one may be in a race with.
//!
//! # What is not found
//! - Accesses of which is not known whether they are atomic, and orderings that are not known, which count as
//!   sequentially consistent: some races are missed, none is invented. If no access is known to be plain, no race can
//!   be found, and the verdict says so.
//! - Accesses that are no scheduling points, and those that are in no event: see [`crate::runtime::stream`]. Of a copy or
//!   fill, what is behind the first MiB.
//! - Accesses within atomic functions and sections are in no race with each other: one section is executed at a time.
//!   They order nothing, so that a call of `malloc` hides no race.
//! - A block that is handed out or taken back is new memory. What is wrong with accesses of freed memory, `memory-errors`
//!   says.
//! - Where the allocator is not known, memory may have changed hands unseen, and nothing is said.
//!
//! Cost: docs/races.md; all accesses become events.

mod clock;
mod order;
mod shadow;
#[cfg(test)]
mod tests;

use crate::evidence::{Evidence, RacingAccess};
use crate::observe::{
    AccessSource, Detector, Event, Finding, GuestState, Interest, MemoryAccess, SavedState, Step,
};
use crate::orderings::{Atomicity, Order as Orders, Ordering};
use crate::outcome::{Bug, BugKind};
use coyote_strategies::{OpKind, Operation, Pick, WorkerId};
use order::{Atomic, Order};
use shadow::{How, Kept, Shadow, What};
use std::hash::Hash;
use xxhash_rust::xxh3::Xxh3;

/// Of an access of more, the rest is not looked at.
const BYTES_MAX: u32 = 1 << 20;

/// See the module's documentation.
#[derive(Clone, Default)]
pub struct Races {
    order: Order,
    shadow: Shadow,
    exchange: Option<Exchange>,
}

/// What a proof that there is no race takes for granted.
const ASSUMPTIONS: &[&str] = &["races only of accesses that are known to be plain"];

impl Detector for Races {
    fn interest(&self) -> Interest {
        Interest::STEPS | Interest::ACCESSES | Interest::SYNC | Interest::HEAP
    }

    fn begin(&mut self, _: &GuestState<'_>) {
        let Races { order, shadow, exchange } = self;
        order.clear();
        shadow.clear();
        *exchange = None;
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        match event {
            Event::Access(access) => self.access(state, access),
            Event::Sync(sync) => {
                self.order.synchronise(sync);
                None
            }
            Event::Step(Step { pick: Pick::Step(worker), operation, .. })
                if operation.kind == OpKind::Fence =>
            {
                if let Atomicity::Fence(ordering) = state.orderings().of(operation.site) {
                    self.order.fence(*worker, ordering.unwrap_or(Ordering::SeqCst));
                }
                None
            }
            Event::Heap { change, .. } => {
                let old = change.old.map(|(address, bytes)| (address, bytes.unwrap_or(0)));
                for (address, bytes) in [old, change.new].into_iter().flatten() {
                    self.shadow.forget(address.into(), bytes.into());
                    self.order.forget(address.into(), bytes.into());
                }
                None
            }
            _ => None,
        }
    }

    fn save(&self) -> SavedState {
        SavedState::new(self.clone())
    }

    fn restore(&mut self, saved: &SavedState) {
        match saved.get::<Races>() {
            Some(saved) => self.clone_from(saved),
            None => *self = Races::default(),
        }
    }

    /// Two orders that lead to the same state may have different races ahead of them.
    fn digest(&self) -> Option<u128> {
        let Races { order, shadow, exchange: _ } = self;
        let mut hasher = Xxh3::new();
        (order, shadow).hash(&mut hasher);
        Some(hasher.digest128())
    }

    fn assumptions(&self) -> &'static [&'static str] {
        ASSUMPTIONS
    }
}

/// A compare-exchange, until it is known whether it wrote.
#[derive(Clone, Copy)]
struct Exchange {
    worker: WorkerId,
    what: What,
    orders: Orders,
    in_section: bool,
}

impl Races {
    fn access(&mut self, state: &GuestState<'_>, access: &MemoryAccess) -> Option<Finding> {
        let exchange = self.exchange.take();
        if !state.runtime.heap.is_known() {
            return None;
        }
        let MemoryAccess { worker, address, bytes, writes, in_section, .. } = *access;
        let what = What {
            address: address as u32,
            bytes: bytes.min(BYTES_MAX),
            site: access.site,
            step: state.runtime.steps() as u32,
        };
        let ordering = match access.source {
            AccessSource::Operation(_) if access.site == Operation::NO_SITE => return None,
            AccessSource::Operation(kind) => {
                let orders = match state.orderings().of(access.site) {
                    Atomicity::Plain => None,
                    Atomicity::Unknown | Atomicity::Atomic(None) => Some(Orders::always(Ordering::SeqCst)),
                    Atomicity::Atomic(orders) => orders,
                    Atomicity::Fence(_) | Atomicity::None => return None,
                };
                // Whether it has written, it tells afterwards.
                let told = kind == OpKind::CompareExchange && !writes;
                self.exchange =
                    orders.filter(|_| told).map(|orders| Exchange { worker, what, orders, in_section });
                orders.map(|orders| if told { orders.failure } else { orders.success })
            }
            AccessSource::Host if access.atomic => Some(Ordering::SeqCst),
            AccessSource::Host => None,
            AccessSource::Told => {
                let exchange = exchange.filter(|e| (e.worker, e.what.address) == (worker, what.address))?;
                let ordering = exchange.orders.success;
                let exchanged = Atomic { reads: true, writes: true, ..atomic(access, ordering, state) };
                let how = How { writes: true, atomic: true, in_section: exchange.in_section };
                return self.look(state, worker, how, exchange.what, Some(exchanged));
            }
        };
        let how = How { writes, atomic: ordering.is_some(), in_section };
        self.look(state, worker, how, what, ordering.map(|ordering| atomic(access, ordering, state)))
    }

    /// What is found at an access.
    fn look(
        &mut self,
        state: &GuestState<'_>,
        worker: WorkerId,
        how: How,
        what: What,
        atomic: Option<Atomic>,
    ) -> Option<Finding> {
        let first = look(&mut self.order, &mut self.shadow, worker, how, what, atomic)?;
        let evidence = Evidence::Race {
            first: described(state, first.worker, first.how, first.what),
            second: described(state, worker, how, what),
        };
        Some(Bug { kind: BugKind::DataRace, evidence, worker: Some(worker) }.into())
    }
}

/// An earlier access that a worker's access is in a race with. It comes after what it reads by its ordering, and
/// before what others read of it.
fn look(
    order: &mut Order,
    shadow: &mut Shadow,
    worker: WorkerId,
    how: How,
    what: What,
    atomic: Option<Atomic>,
) -> Option<Kept> {
    if let Some(atomic) = &atomic {
        order.read(worker, atomic);
    }
    let first = shadow.access(worker, order.now(worker), how, what);
    match &atomic {
        Some(atomic) => order.write(worker, atomic),
        // A plain store ends what an atomic one has passed on.
        None if how.writes => order.forget(what.address.into(), what.bytes.into()),
        None => {}
    }
    first
}

/// An atomic access of this ordering. Where fences left nothing, every access may have one before and after it.
fn atomic(access: &MemoryAccess, ordering: Ordering, state: &GuestState<'_>) -> Atomic {
    let MemoryAccess { address, bytes, reads, writes, .. } = *access;
    let lost = state.orderings().fences_are_lost();
    Atomic { address, bytes, reads, writes, ordering: if lost { Ordering::SeqCst } else { ordering } }
}

fn described(state: &GuestState<'_>, worker: WorkerId, how: How, what: What) -> RacingAccess {
    let What { address, bytes, site, step } = what;
    RacingAccess {
        how: how.name().into(),
        address,
        bytes,
        worker,
        title: state.runtime.title(worker),
        step: step.into(),
        location: state.location(site),
    }
}
