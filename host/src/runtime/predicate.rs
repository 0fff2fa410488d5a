//! What a worker's last evaluation of its predicate accessed: see [`super::predicates`].

use coyote_strategies::{Access, Class};
use std::collections::{BTreeMap, BTreeSet};

/// The last evaluation of a worker's predicate.
#[derive(Clone, Debug, Default)]
pub struct Predicate {
    /// The worker evaluates it now.
    pub evaluating: bool,
    /// The bytes of memory that the evaluation accessed, with their present values: `None` in the step of the access.
    pub bytes: BTreeMap<u32, Option<u8>>,
    /// The objects of its read points.
    pub objects: BTreeSet<u32>,
    /// Whether another worker changed any of this after the evaluation accessed it.
    pub changed: bool,
}

impl Predicate {
    /// What decides how the worker goes on. The values are those of memory.
    pub fn state(&self) -> (bool, bool, Vec<u32>, &BTreeSet<u32>) {
        (self.evaluating, self.changed, self.bytes.keys().copied().collect(), &self.objects)
    }

    /// Whether an access is of one of the bytes.
    pub fn overlaps(&self, access: &Access) -> bool {
        let clamp = |n: u64| n.min(u64::from(u32::MAX)) as u32;
        let (first, end) = (clamp(access.object), clamp(access.object + u64::from(access.size)));
        access.class == Class::Memory && first < end && self.bytes.range(first..end).next().is_some()
    }

    /// Compares the bytes with memory. Returns whether any has changed.
    pub fn compare(&mut self, memory: &[u8]) -> bool {
        let mut differs = false;
        for (address, value) in &mut self.bytes {
            let now = memory.get(*address as usize).copied();
            differs |= value.is_some() && *value != now;
            *value = now;
        }
        differs
    }
}
