//! Data races: two accesses of the same byte by different workers, one of them a write and one of them not atomic,
//! of which neither happens before the other.
//!
//! Races are found by happens-before, after FastTrack (Flanagan, Freund, PLDI 2009): in every execution in which two
//! accesses are in a race, at the second one, whichever came first. The iteration ends there.
//!
//! An allocator that hands out or takes back a block counts as a plain write of it, as in LLVM's ThreadSanitizer and in
//! Miri: an access that nothing orders with the `free` may come after it in another execution. That can be turned off
//! (`block-races`). Taking a block back counts as a write of the sync objects in it, too. The stack of a worker may be
//! taken back before its last accesses.
//!
//! The operations on a sync object count as atomic reads, its initialisation and destruction as plain writes, of one byte
//! that is apart from memory. (LLVM's ThreadSanitizer takes the first byte of the object instead.)
//!
//! - `order`: what orders accesses, with the memory orderings of atomics as the program's source
//!   has them ([`crate::orderings`]); `shadow`: the accesses that a later one may be in a race with; `births`: who
//!   allocated each block; `memory`: all three, to judge accesses.
//!
//! # What is not found
//! - Accesses of which it is not known whether they are atomic, and orderings that are not known, which count as
//!   sequentially consistent: some races are missed, none is invented. If no access is known to be plain, no race can
//!   be found, and the verdict says so.
//! - Accesses that are no scheduling points, and those that are in no event: see [`crate::runtime::stream`]. Of a copy
//!   or fill, the part behind the first MiB.
//! - Accesses within atomic functions and sections are in no race with each other: one section is executed at a time.
//!   Sections and the library's atomic functions order nothing, so that a call of `malloc` hides no race. In functions
//!   that the user left out, atomic accesses and fences count as sequentially consistent.
//! - A block that is handed out is new memory. Accesses of freed memory are reported by `memory-errors`.
//! - Plain accesses of a sync object's own memory that nothing orders with a use of the object, such as the stores of a
//!   static initialiser: any number may name an object, also the address of what it protects.
//! - If the allocator is not known, memory may have been reused unnoticed, and nothing is reported.
//!
//! Cost: docs/races.md; all accesses become events.

mod births;
mod memory;
mod order;
mod rules;
mod shadow;
#[cfg(test)]
mod tests;

use crate::artifact::Artifact;
use crate::evidence::{Evidence, RaceRemark, RacingAccess, RacingAct};
use crate::object_id::UseKind;
use crate::observe::{
    ADDRESS_BYTES, AccessSource, Detector, Event, Finding, GuestState, Interest, MemoryAccess, ObjectId,
    ObjectUse, SavedState,
};
use crate::orderings::{Atomicity, Order as Orders, Ordering};
use crate::outcome::{Bug, BugKind};
use crate::runtime::heap::{BlockRef, Change};
use coyote_instrumenter::Points;
use coyote_strategies::{OpKind, Operation, WorkerId};
use memory::{Memory, OF_BLOCK};
use order::Atomic;
use rules::Remarks;
pub use rules::{Rules, Suppression, Watched};
use shadow::{Found, How, Special, What};
use std::hash::Hash;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Maximum number of bytes of an access that are checked; the rest is left out.
const BYTES_MAX: u32 = 1 << 20;

/// See the module's documentation.
#[derive(Clone, Default)]
pub struct Races {
    memory: Memory,
    exchange: Option<Exchange>,
    stronger: Option<Stronger>,
    rules: Arc<Rules>,
    /// Whether to allocate a block, and to free it, counts as an access of it.
    blocks: bool,
    /// Remarks of all iterations.
    remarks: Remarks,
}

/// Accesses that count as stronger than they are, to test whether that prevents a race.
#[derive(Clone, Copy, Debug)]
pub struct Stronger {
    /// The site of a write that releases.
    pub release: u32,
    /// The site of a read that acquires.
    pub acquire: u32,
}

/// Checks that the detector can see anything in this module.
///
/// # Errors
/// The reason why it cannot, and what to do.
pub(super) fn check(artifact: &Artifact) -> Result<(), String> {
    if !artifact.options.memory_errors {
        return Err("the detector races needs what is known of blocks: leave --no-memory-errors out".into());
    }
    if artifact.options.points != Points::Heap {
        return Err(
            "the detector races watches accesses of memory that are scheduling points: leave --points out"
                .into(),
        );
    }
    if !artifact.options.tells_exchanges() {
        return Err("the detector races needs a module that is instrumented with Options::edges".into());
    }
    if !artifact.orderings().knows_plain() && artifact.orderings().has_unknown() {
        return Err("the detector races finds nothing in this module: of no access is known that it is plain. Build it \
                    with line tables (Rust: debug = \"line-tables-only\", C: -g) or with atomic instructions"
            .into());
    }
    Ok(())
}

/// Whether accesses that are scheduling points may be data races, as far as is known of this module.
pub(super) fn may_be(artifact: &Artifact) -> bool {
    let orderings = artifact.orderings();
    artifact.options.points == Points::Heap
        && orderings.is_of_languages_with_races()
        && (orderings.knows_plain() || !orderings.has_unknown())
}

/// The assumptions of a proof that there is no race. The last one: if blocks do not count.
const ASSUMPTIONS: &[&str] =
    &["races only of accesses that are known to be plain", "no races with allocations and frees of blocks"];

impl Detector for Races {
    fn interest(&self) -> Interest {
        Interest::FENCES | Interest::ACCESSES | Interest::SYNC | Interest::USES | Interest::HEAP
    }

    fn begin(&mut self, _: &GuestState<'_>) {
        self.clear();
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        match event {
            Event::Access(access) => self.access(state, access),
            Event::Sync(sync) => {
                self.memory.order.synchronise(sync);
                None
            }
            Event::Use(using) => self.using(state, using),
            Event::Fence { worker, site } => {
                let known = (*site != Operation::NO_SITE).then(|| state.ordered_site(*worker, *site));
                if let Atomicity::Fence(ordering) =
                    known.map_or(Atomicity::Fence(None), |site| state.orderings().of(site))
                {
                    self.memory.order.fence(*worker, ordering.unwrap_or(Ordering::SeqCst));
                }
                None
            }
            Event::Heap { worker, change } => self.heap(state, *worker, change),
            _ => None,
        }
    }

    fn save(&self) -> SavedState {
        SavedState::new(self.clone())
    }

    fn restore(&mut self, saved: &SavedState) {
        match saved.get::<Races>() {
            Some(Races { memory, exchange, .. }) => {
                self.memory.clone_from(memory);
                self.exchange = *exchange;
            }
            None => self.clear(),
        }
    }

    /// Two orders of steps that lead to the same state of the program may have different races ahead of them.
    fn digest(&self) -> Option<u128> {
        let Races { memory, exchange: _, stronger: _, rules: _, blocks: _, remarks: _ } = self;
        let mut hasher = Xxh3::new();
        memory.hash(&mut hasher);
        Some(hasher.digest128())
    }

    fn remarks(&self) -> Vec<RaceRemark> {
        self.remarks.all()
    }

    fn assumptions(&self) -> &'static [&'static str] {
        if self.blocks { &ASSUMPTIONS[..1] } else { ASSUMPTIONS }
    }
}

/// A compare-exchange, until it is known whether it wrote.
#[derive(Clone, Copy)]
struct Exchange {
    worker: WorkerId,
    what: What,
    orders: Orders,
}

impl Races {
    /// A detector that treats races by these rules. `blocks`: to allocate a block, and to free it, counts as an access
    /// of it.
    pub fn new(rules: Rules, blocks: bool) -> Races {
        Races { rules: Arc::new(rules), blocks, ..Races::default() }
    }

    /// A detector that searches for races as if these accesses were stronger.
    pub fn with(stronger: Stronger, blocks: bool) -> Races {
        Races { stronger: Some(stronger), blocks, ..Races::default() }
    }

    /// Forgets the iteration.
    fn clear(&mut self) {
        let Races { memory, exchange, stronger: _, rules: _, blocks: _, remarks: _ } = self;
        memory.clear();
        *exchange = None;
    }

    /// The orderings of a site, strengthened if it is one of [`Stronger`].
    fn strengthened(&self, site: u32, mut orders: Orders) -> Orders {
        let Some(Stronger { release, acquire }) = self.stronger else { return orders };
        if site == release {
            orders.success = orders.success.join(Ordering::Release);
        }
        if site == acquire {
            orders.success = orders.success.join(Ordering::Acquire);
            orders.failure = orders.failure.join(Ordering::Acquire);
        }
        orders
    }

    /// Whether an access of the worker can be in a race.
    fn may_race(state: &GuestState<'_>, worker: WorkerId) -> bool {
        let runtime = state.runtime;
        // What a worker does before there is a second one happens before everything that others do. All other workers
        // are suspended while an invariant is evaluated.
        runtime.workers().len() > 1 && runtime.heap.is_known() && !runtime.worker(worker).watches
    }

    fn access(&mut self, state: &GuestState<'_>, access: &MemoryAccess) -> Option<Finding> {
        let exchange = self.exchange.take();
        let MemoryAccess { worker, address, bytes, writes, in_section, .. } = *access;
        if !Races::may_race(state, worker) {
            return None;
        }
        let what = What {
            address: address as u32,
            bytes: bytes.min(BYTES_MAX),
            site: access.site,
            step: state.runtime.steps() as u32,
            ordering: None,
            special: None,
        };
        let ordering = match access.source {
            AccessSource::Operation(_) if access.site == Operation::NO_SITE => return None,
            AccessSource::Operation(kind) => {
                let site = state.ordered_site(worker, access.site);
                let orders = match state.orderings().of(site) {
                    Atomicity::Plain => None,
                    Atomicity::Unknown | Atomicity::Atomic(None) => Some(Orders::always(Ordering::SeqCst)),
                    Atomicity::Atomic(Some(orders)) => Some(self.strengthened(site, orders)),
                    Atomicity::Fence(_) | Atomicity::None => return None,
                };
                // The guest reports afterwards whether it has written.
                let told = kind == OpKind::CompareExchange && !writes;
                self.exchange = orders.filter(|_| told).map(|orders| Exchange { worker, what, orders });
                orders.map(|orders| if told { orders.failure } else { orders.success })
            }
            // An access by the host within a section is left out.
            AccessSource::Host if in_section => return None,
            AccessSource::Host if access.atomic => Some(Ordering::SeqCst),
            AccessSource::Host => None,
            // Such an access is in no race, but may order others.
            AccessSource::LeftOut => {
                if access.atomic || state.orderings().fences_are_lost() {
                    let atomic = atomic(access, Ordering::SeqCst, state);
                    self.memory.order.read(worker, &atomic);
                    self.memory.order.write(worker, &atomic);
                }
                return None;
            }
            AccessSource::Told => {
                let exchange = exchange.filter(|e| (e.worker, e.what.address) == (worker, what.address))?;
                let ordering = exchange.orders.success;
                let exchanged = Atomic { reads: true, writes: true, ..atomic(access, ordering, state) };
                let how = How { writes: true, atomic: true, in_section };
                return self.look(state, worker, how, exchange.what, Some(exchanged));
            }
        };
        if access.reads
            && what.bytes == ADDRESS_BYTES
            && self.memory.order.has_reused_memory()
            && let Some(value) = state.number(address, ADDRESS_BYTES)
        {
            self.memory.read_address(worker, what.address, value as u32);
        }
        let how = How { writes, atomic: ordering.is_some(), in_section };
        self.look(state, worker, how, what, ordering.map(|ordering| atomic(access, ordering, state)))
    }

    /// The finding at an access.
    fn look(
        &mut self,
        state: &GuestState<'_>,
        worker: WorkerId,
        how: How,
        what: What,
        atomic: Option<Atomic>,
    ) -> Option<Finding> {
        let what = What { ordering: atomic.as_ref().map(|atomic| atomic.ordering), ..what };
        let found = self.memory.access(worker, how, what, atomic);
        self.finding(state, found, worker, how, what)
    }

    /// The finding at an operation on a sync object.
    fn using(&mut self, state: &GuestState<'_>, using: &ObjectUse) -> Option<Finding> {
        let ObjectUse { worker, object: ObjectId { class, address }, kind, in_section, site } = *using;
        if !Races::may_race(state, worker) {
            return None;
        }
        let step = state.runtime.steps() as u32;
        let special = Some(Special::Use(class, kind));
        let what = What { address, bytes: 1, site, step, ordering: None, special };
        let uses = kind == UseKind::Uses;
        let how = How { writes: !uses, atomic: uses, in_section };
        let found = self.memory.use_object(worker, class, how, what);
        self.finding(state, found, worker, how, what)
    }

    /// The finding when an allocator takes back a block or hands one out.
    fn heap(&mut self, state: &GuestState<'_>, worker: WorkerId, change: &Change) -> Option<Finding> {
        let old = change.old.map(|(address, bytes)| (address, bytes.unwrap_or(0)));
        if state.runtime.workers().len() == 1 {
            [old, change.new]
                .into_iter()
                .flatten()
                .for_each(|(address, bytes)| self.memory.forget(address, bytes));
            return None;
        }
        // A block of an atomic function is the library's own matter, like the accesses there.
        let in_section = state.runtime.worker(worker).atomic_depth > 0;
        let counts = self.blocks && !in_section && Races::may_race(state, worker);
        let step = state.runtime.steps() as u32;
        let mut finding = None;
        if let Some((address, bytes)) = old {
            let counts = counts && !is_stack(state, address, bytes);
            let races = self.memory.free(worker, counts, (address, bytes));
            let special = Some(Special::Free);
            let what = What { address, bytes, site: Operation::NO_SITE, step, ordering: None, special };
            finding = self.finding(state, races, worker, OF_BLOCK, what);
        }
        if let Some(block) = change.new {
            self.memory.allocate(worker, counts, block, step);
        }
        finding
    }

    /// The first race of an access with one of the accesses in `found` that is a bug by the rules.
    fn finding(
        &mut self,
        state: &GuestState<'_>,
        found: Found,
        worker: WorkerId,
        how: How,
        what: What,
    ) -> Option<Finding> {
        if found.is_empty() {
            return None;
        }
        let mut second = described(state, worker, how, what);
        // A free has no site, and who decides on it may be far from the call.
        let frees = second.act == RacingAct::Free;
        let callers = if frees { state.caller_of_allocator(worker) } else { Vec::new() };
        second.location = second.location.or(callers.first().copied());
        let mut earlier =
            found.into_iter().map(|first| described(state, first.worker, first.how, first.what));
        let first =
            earlier.find(|first| !self.remarks.take(&self.rules, state, [first, &second], &callers))?;
        let evidence = Evidence::Race { first, second };
        let bug = Bug { kind: BugKind::DataRace, evidence, worker: Some(worker) };
        let block = state.runtime.heap.block_around(what.address);
        let block = block.map(|block| BlockRef::new(BugKind::DataRace, block, None));
        Some(Finding { bug, block })
    }
}

/// Whether a block holds a worker's stack.
fn is_stack(state: &GuestState<'_>, address: u32, bytes: u32) -> bool {
    let block = address..=address.saturating_add(bytes);
    let stacks = state.runtime.workers().iter().filter_map(|worker| worker.start.stack);
    stacks.into_iter().any(|(_, high)| block.contains(&high))
}

/// An atomic access of this ordering. If fences left no instructions, every access may have a fence before and after
/// it.
fn atomic(access: &MemoryAccess, ordering: Ordering, state: &GuestState<'_>) -> Atomic {
    let MemoryAccess { address, bytes, reads, writes, .. } = *access;
    let lost = state.orderings().fences_are_lost();
    Atomic { address, bytes, reads, writes, ordering: if lost { Ordering::SeqCst } else { ordering } }
}

fn described(state: &GuestState<'_>, worker: WorkerId, how: How, what: What) -> RacingAccess {
    let What { address, bytes, site, step, ordering, special } = what;
    // An access that only counts as atomic since it may be one is not called so.
    let is_known = site == Operation::NO_SITE || state.orderings().of(site) != Atomicity::Unknown;
    let How { writes, atomic, .. } = How { atomic: how.atomic && is_known, ..how };
    let ordering = ordering.filter(|_| atomic).map(|ordering| ordering.name().into());
    let act = match special {
        None => RacingAct::Access { writes, atomic, ordering },
        Some(Special::Use(class, kind)) => RacingAct::Use(ObjectId { class, address }, kind),
        Some(Special::Allocation) => RacingAct::Allocation,
        Some(Special::Free) => RacingAct::Free,
    };
    let title = state.runtime.title(worker);
    RacingAccess { act, address, bytes, worker, title, step: step.into(), location: state.location(site) }
}
