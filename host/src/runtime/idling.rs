//! What a worker has done since it last changed anything that others could see, by which it counts as idle.
//!
//! A worker that polls has nothing to do until another one changes what it looks at: then steps that it made before its
//! last look do not count any more. They would be the same in all orders of independent steps.

use coyote_strategies::{Class, OpKind, Operation};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Steps without a change after which a worker is idle. Loops that wait make a handful of steps in each round.
pub const IDLE_STEPS: u32 = 1_000;

/// The number of last looks that are known. Loops that wait look at less.
const LOOKS_MAX: usize = 8;

/// Whether operations of this kind only look, or try what may change nothing.
pub fn looks_or_tries(kind: OpKind) -> bool {
    use OpKind::*;
    let looks = matches!(
        kind,
        Load | AtomicLoad | Fence | Yield | Interleave | ReadPoint | Loop | SemaphoreValue | Clock
    );
    let tries = matches!(kind, CompareExchange | TryLock | TryReadLock | TryWriteLock | SemaphoreTryWait);
    looks || tries
}

/// A range of memory, or a sync object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thing {
    class: Class,
    address: u64,
    bytes: u32,
}

impl Thing {
    fn of(operation: Operation) -> Option<Thing> {
        let Operation { kind, object: address, size, .. } = operation;
        if kind.accesses_memory() {
            return Some(Thing { class: Class::Memory, address, bytes: size.max(1) });
        }
        Class::of_sync_object(kind).map(|class| Thing { class, address, bytes: 1 })
    }

    /// What an operation changes for certain.
    pub fn changed(operation: Operation) -> Option<Thing> {
        if looks_or_tries(operation.kind) { None } else { Thing::of(operation) }
    }

    fn overlaps(&self, other: &Thing) -> bool {
        self.class == other.class
            && self.address < other.address + u64::from(other.bytes)
            && other.address < self.address + u64::from(self.bytes)
    }
}

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Idling {
    /// Number of its steps.
    steps: u32,
    /// Number of these steps that do not count.
    before: u32,
    /// What it looked at, with the value of `steps` since its last look, in this order.
    looks: SmallVec<[(Thing, u32); 2]>,
}

impl Idling {
    pub fn is_idle(&self) -> bool {
        self.steps_to_idle() == 0
    }

    /// The number of steps after which it will be idle.
    pub fn steps_to_idle(&self) -> u32 {
        IDLE_STEPS.saturating_sub(self.steps - self.before)
    }

    /// Whether it looked at anything.
    pub fn looks(&self) -> bool {
        !self.looks.is_empty()
    }

    pub fn clear(&mut self) {
        let Idling { steps, before, looks } = self;
        (*steps, *before) = (0, 0);
        looks.clear();
    }

    /// Counts a step in which it changed nothing.
    pub fn step(&mut self, operation: Operation) {
        self.steps = self.steps.saturating_add(1);
        let Some(thing) = Thing::of(operation) else { return };
        if let Some(at) = self.looks.iter().position(|(known, _)| *known == thing) {
            self.looks.remove(at);
        } else if self.looks.len() == LOOKS_MAX {
            self.looks.remove(0);
        }
        self.looks.push((thing, self.steps));
    }

    /// Another worker changes something.
    pub fn change(&mut self, thing: &Thing) {
        let Some(last) = self.looks.iter().rposition(|(seen, _)| seen.overlaps(thing)) else { return };
        self.before = self.looks[last].1;
        self.looks.drain(..=last);
    }
}

/// Hashes what decides when it is idle.
impl Hash for Idling {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Idling { steps, before: _, looks } = self;
        self.steps_to_idle().hash(state);
        for (thing, at) in looks {
            (thing, (steps - at).min(IDLE_STEPS)).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(kind: OpKind, object: u64) -> Operation {
        Operation { kind, object, size: 4, ..Operation::START }
    }

    fn polls(idling: &mut Idling, rounds: u32) {
        for _ in 0..rounds {
            idling.step(operation(OpKind::AtomicLoad, 16));
            idling.step(operation(OpKind::Yield, 0));
        }
    }

    #[test]
    fn a_change_of_what_is_polled_ends_idleness() {
        let change = |kind, address| Thing::changed(operation(kind, address));
        let mut idling = Idling::default();
        polls(&mut idling, IDLE_STEPS / 2);
        assert!(idling.is_idle());
        idling.change(&change(OpKind::Store, 32).unwrap());
        assert!(idling.is_idle(), "of something else");
        assert!(change(OpKind::CompareExchange, 16).is_none());
        idling.change(&change(OpKind::AtomicStore, 18).unwrap());
        assert_eq!(idling.steps_to_idle(), IDLE_STEPS - 1, "one step after the last look");
        idling.change(&change(OpKind::AtomicStore, 18).unwrap());
        assert_eq!(idling.steps_to_idle(), IDLE_STEPS - 1, "it has not looked since");
        polls(&mut idling, IDLE_STEPS / 2);
        assert!(idling.is_idle());
    }

    /// A change is counted from the last look, wherever it comes among steps that are independent of it.
    #[test]
    fn the_order_of_independent_steps_does_not_matter() {
        let change = Thing::changed(operation(OpKind::Store, 16)).unwrap();
        let after = |position: usize| {
            let mut idling = Idling::default();
            idling.step(operation(OpKind::Load, 16));
            for step in 0..4 {
                if step == position {
                    idling.change(&change);
                }
                idling.step(operation(OpKind::Load, 64 + 8 * step as u64));
            }
            (idling.steps_to_idle(), idling.looks.len())
        };
        let first = after(0);
        assert!((1..4).all(|position| after(position).0 == first.0));
    }
}
