//! The accesses of memory and of sync objects and their order: which earlier ones a new one is in a race with.

use super::births::{Birth, Births};
use super::order::{Atomic, Order};
use super::shadow::{Found, How, Kept, Looked, Shadow, Special, What};
use coyote_strategies::{Class, Operation, WorkerId};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub order: Order,
    shadow: Shadow,
    /// The uses of sync objects, by the objects' addresses.
    objects: BTreeMap<Class, Shadow>,
    births: Births,
}

impl Hash for Memory {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Memory { order, shadow, objects, births } = self;
        (order, shadow, births).hash(state);
        // Earlier iterations leave empty shadows.
        objects.iter().filter(|(_, uses)| !uses.is_empty()).for_each(|uses| uses.hash(state));
    }
}

impl Memory {
    pub fn clear(&mut self) {
        let Memory { order, shadow, objects, births } = self;
        order.clear();
        shadow.clear();
        objects.values_mut().for_each(Shadow::clear);
        births.clear();
    }

    /// The earlier accesses that a worker's access is in a race with. The access gets the knowledge that it reads, by
    /// its ordering, before the check, and passes knowledge on after it.
    pub fn access(&mut self, worker: WorkerId, how: How, what: What, atomic: Option<Atomic>) -> Found {
        if let Some(atomic) = &atomic {
            self.order.read(worker, atomic);
        }
        let now = self.order.now(worker);
        let Looked { mut races, known } = self.shadow.access(worker, now, how, what);
        if !known && let Some((address, birth)) = self.births.unordered(now, what.address, what.bytes) {
            races.push(allocation(address, birth));
        }
        match &atomic {
            Some(atomic) => self.order.write(worker, atomic),
            // A plain store ends what an atomic one has passed on.
            None if how.writes => self.order.forget(what.address.into(), what.bytes.into()),
            None => {}
        }
        races
    }

    /// The earlier uses of a sync object that an operation on it is in a race with.
    pub fn use_object(&mut self, worker: WorkerId, class: Class, how: How, what: What) -> Found {
        let now = self.order.now(worker);
        self.objects.entry(class).or_default().access(worker, now, how, what).races
    }

    /// Records that a worker is about to read an address from this place.
    pub fn read_address(&mut self, worker: WorkerId, place: u32, address: u32) {
        self.order.read_address(worker, address, |now| self.shadow.is_written_before(now, place.into()));
    }

    /// Records that an allocator hands out a block to a worker in this step. `counts`: as a write of it.
    pub fn allocate(&mut self, worker: WorkerId, counts: bool, (address, bytes): (u32, u32), step: u32) {
        self.forget(address, bytes);
        self.order.allocate(worker, address, bytes);
        if counts {
            let epoch = self.order.now(worker).of(worker);
            self.births.add(address, Birth { bytes, worker, epoch, step });
        }
    }

    /// Records that a worker gives back a block. `counts`: as a write of it and of the sync objects in it. Returns the
    /// accesses that it is in a race with.
    pub fn free(&mut self, worker: WorkerId, counts: bool, (address, bytes): (u32, u32)) -> Found {
        let mut races = Found::new();
        if counts {
            let now = self.order.now(worker);
            races = self.shadow.unordered(now, address.into(), bytes.into());
            let born = self.births.unordered(now, address, bytes);
            races.extend(born.map(|(address, birth)| allocation(address, birth)));
            let uses = self.objects.values();
            races.extend(uses.flat_map(|uses| uses.unordered(now, address.into(), bytes.into())));
        }
        self.order.free(worker, address, bytes);
        self.forget(address, bytes);
        races
    }

    /// Forgets a block that was handed out or taken back: it is new memory.
    pub fn forget(&mut self, address: u32, bytes: u32) {
        self.shadow.forget(address.into(), bytes.into());
        self.objects.values_mut().for_each(|uses| uses.forget(address.into(), bytes.into()));
        self.births.remove(address);
        self.order.forget(address.into(), bytes.into());
        self.order.forget_annotations(address, bytes);
    }
}

/// How an allocation, and a free, accesses its block.
pub const OF_BLOCK: How = How { writes: true, atomic: false, in_section: false };

fn allocation(address: u32, birth: Birth) -> Kept {
    let Birth { bytes, worker, epoch, step } = birth;
    let special = Some(Special::Allocation);
    let what = What { address, bytes, site: Operation::NO_SITE, step, ordering: None, special };
    Kept { worker, epoch, how: OF_BLOCK, mask: !0, what }
}
