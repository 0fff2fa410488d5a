//! Collects the content of the report of a data race, whose schedule is executed once more with this
//! observer.

use super::heap_probe::ProbeHit;
use super::{AccessSource, Event, GuestState, HbObject, Interest, MemoryAccess, ObjectUse, Observer};
use crate::evidence::{RacingAccess, RacingAct};
use crate::orderings::{Atomicity, Order};
use crate::runtime::ObjectId;
use crate::runtime::heap::Change;
use coyote_instrumenter::Location;
use coyote_strategies::{Class, OpKind, WorkerId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// See the module's documentation.
pub struct RaceProbe {
    accesses: [RacingAccess; 2],
    /// Locks that workers hold, each as often as it was taken.
    held: BTreeMap<WorkerId, Vec<ObjectId>>,
    /// Whether the first access wrote; the value shows at the next event.
    wrote: bool,
    /// The last access: its worker, address and site.
    last: Option<(WorkerId, u64, u32)>,
    seen: Seen,
}

/// The findings of the probe.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<RaceSeen>>);

/// See the module's documentation.
#[derive(Clone, Default)]
pub struct RaceSeen {
    /// The first access and the second one.
    pub accesses: [Option<SeenAccess>; 2],
    /// Where workers were created.
    pub spawned: BTreeMap<WorkerId, ProbeHit>,
    /// Atomic writes by the worker of the first access after it, and reads by that of the second.
    pub writes: Vec<SeenAtomic>,
    pub reads: Vec<SeenAtomic>,
}

/// One of the two accesses.
#[derive(Clone, Default)]
pub struct SeenAccess {
    /// The stack, innermost first; empty if it cannot be known.
    pub stack: Vec<Location>,
    /// The value that was read or written, of up to eight bytes.
    pub value: Option<u64>,
    /// The mutexes and rwlocks that its worker held.
    pub locks: Vec<ObjectId>,
}

/// An atomic access whose ordering is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenAtomic {
    pub address: u64,
    /// The site that has its ordering.
    pub site: u32,
    pub order: Order,
    /// Its place among all atomic accesses that were recorded.
    pub number: usize,
}

impl Seen {
    pub fn take(&self) -> RaceSeen {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RaceProbe {
    /// A probe of the race between these accesses, the first one first, and the place where it puts its
    /// findings.
    pub fn new(accesses: [RacingAccess; 2]) -> (RaceProbe, Seen) {
        let seen = Seen::default();
        (RaceProbe { accesses, held: BTreeMap::new(), wrote: false, last: None, seen: seen.clone() }, seen)
    }

    /// Those of the two accesses that are this one.
    fn racing<F: Fn(&RacingAct) -> bool>(
        &self,
        seen: &RaceSeen,
        state: &GuestState<'_>,
        worker: WorkerId,
        address: u64,
        is_act: F,
    ) -> impl Iterator<Item = usize> + use<F> {
        let is = |racing: &RacingAccess| {
            (racing.step, racing.worker) == (state.runtime.steps(), worker)
                && u64::from(racing.address) == address
                && is_act(&racing.act)
        };
        let both = [0, 1].map(|number| seen.accesses[number].is_none() && is(&self.accesses[number]));
        (0..2).filter(move |number| both[*number])
    }

    fn heap(&mut self, seen: &mut RaceSeen, state: &GuestState<'_>, worker: WorkerId, change: &Change) {
        let freed = change.old.map(|(address, _)| (address, RacingAct::Free));
        let allocated = change.new.map(|(address, _)| (address, RacingAct::Allocation));
        for (address, act) in [freed, allocated].into_iter().flatten() {
            for number in self.racing(seen, state, worker, address.into(), |other| *other == act) {
                self.take(seen, number, state, None);
                let access = &mut seen.accesses[number];
                access.iter_mut().for_each(|access| access.stack = state.caller_of_allocator(worker));
            }
        }
    }

    /// Keeps what is known when an access is made.
    fn take(&self, seen: &mut RaceSeen, number: usize, state: &GuestState<'_>, value: Option<u64>) {
        let worker = self.accesses[number].worker;
        seen.accesses[number] = Some(SeenAccess {
            stack: state.stack(worker).unwrap_or_default(),
            value,
            locks: self.held.get(&worker).cloned().unwrap_or_default(),
        });
    }

    fn access(&mut self, seen: &mut RaceSeen, state: &GuestState<'_>, access: &MemoryAccess) {
        let (worker, address) = (access.worker, access.address);
        for number in self.racing(seen, state, worker, address, |act| matches!(act, RacingAct::Access { .. }))
        {
            let value = state.number(address, access.bytes).filter(|_| access.reads && !access.writes);
            self.wrote = number == 0 && access.writes;
            self.take(seen, number, state, value);
        }
        let last = self.last.take();
        let site = match access.source {
            // That a compare-exchange wrote is told afterwards, without its site.
            AccessSource::Told => match last {
                Some((by, at, site)) if (by, at) == (worker, address) => site,
                _ => return,
            },
            _ => state.ordered_site(worker, access.site),
        };
        self.last = Some((worker, address, site));
        let Some(Atomicity::Atomic(Some(order))) = state.atomicity(site) else { return };
        let number = seen.writes.len() + seen.reads.len();
        let atomic = SeenAtomic { address: access.address, site, order, number };
        let [first, second] = &self.accesses;
        if access.worker == first.worker && seen.accesses[0].is_some() && access.writes {
            seen.writes.push(atomic);
        } else if access.worker == second.worker && seen.accesses[1].is_none() && access.reads {
            seen.reads.push(atomic);
        }
    }
}

impl Observer for RaceProbe {
    fn interest(&self) -> Interest {
        let stacks = Interest::STEPS | Interest::STACKS;
        stacks | Interest::ACCESSES | Interest::SYNC | Interest::USES | Interest::HEAP | Interest::WORKERS
    }

    fn wants_stack(&self, step: u64, operation: OpKind) -> bool {
        operation == OpKind::Spawn || self.accesses.iter().any(|access| access.step == step)
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let shared = self.seen.clone();
        let mut seen = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut self.wrote) {
            let first = &self.accesses[0];
            let value = state.number(first.address.into(), first.bytes);
            seen.accesses[0].iter_mut().for_each(|access| access.value = value);
        }
        match event {
            Event::Access(access) => self.access(&mut seen, state, access),
            Event::Use(using) => {
                let ObjectUse { worker, object, .. } = *using;
                for number in self.racing(
                    &seen,
                    state,
                    worker,
                    object.address.into(),
                    |act| matches!(act, RacingAct::Use(of, _) if *of == object),
                ) {
                    self.take(&mut seen, number, state, None);
                }
            }
            Event::Heap { worker, change } => self.heap(&mut seen, state, *worker, change),
            Event::Sync(sync) => {
                let HbObject::Object(object) = sync.object else { return };
                if !matches!(object.class, Class::Mutex | Class::Rwlock) {
                    return;
                }
                let held = self.held.entry(sync.worker).or_default();
                if sync.kind.acquires() {
                    held.push(object);
                } else if let Some(at) = held.iter().rposition(|other| *other == object) {
                    held.remove(at);
                }
            }
            Event::Spawned { parent, child } => {
                let (step, stack) = (state.runtime.steps(), state.stack(*parent).unwrap_or_default());
                seen.spawned.insert(*child, ProbeHit { worker: *parent, step, stack });
            }
            _ => {}
        }
    }
}
