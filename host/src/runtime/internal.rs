//! What steps share and the guest's memory does not contain, as objects of the relation.

use super::faults::BudgetId;
use coyote_strategies::{Access, Class, Effect};

/// An object of [`Class::Other`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Internal {
    /// What the sync object at an address is, whoever holds it.
    Identity(u32),
    /// What the program annotates with this address.
    Annotation(u32),
    /// What is left of a budget of faults.
    Budget(BudgetId),
    /// What a crash would leave.
    Disk,
    /// Who wakes drivers of sockets.
    Drivers,
    /// The monitor with this hash of its name.
    Monitor(u32),
    /// What wakes the worker with this key that waits for sockets.
    Wait(u64),
    /// Whether the predicate has changed for which the worker with this key waits.
    Predicate(u64),
    /// Whether the worker with this key is idle.
    Idleness(u64),
}

impl Internal {
    /// The object's number. Keys are hashes; of those that share their bits with the mark of what they mean, the lowest
    /// are left out.
    fn object(self) -> u64 {
        match self {
            Internal::Identity(address) => 1 << 32 | u64::from(address),
            Internal::Annotation(address) => 1 << 40 | u64::from(address),
            Internal::Budget(BudgetId::Class(class)) => 1 << 41 | class as u64,
            Internal::Budget(BudgetId::Point(index)) => 1 << 41 | 1 << 16 | u64::from(index),
            Internal::Monitor(name) => 1 << 42 | u64::from(name),
            Internal::Disk => 1 << 43,
            Internal::Drivers => 1 << 44,
            Internal::Wait(key) => 1 << 61 | key >> 3,
            Internal::Predicate(key) => 1 << 62 | key >> 2,
            Internal::Idleness(key) => 1 << 63 | key >> 1,
        }
    }

    pub fn access(self, effect: Effect) -> Access {
        Access::new(Class::Other, effect, self.object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::faults::FAULTS;

    #[test]
    fn no_two_are_one_object() {
        let classes = FAULTS.iter().map(|row| Internal::Budget(BudgetId::Class(row.class)).object());
        let (first, last) = (classes.clone().min().unwrap(), classes.max().unwrap());
        let mut ranges = vec![(first, last)];
        let mut range = |of: &dyn Fn(u64) -> Internal, most: u64| {
            ranges.push((of(0).object(), of(most).object()));
        };
        let address = u64::from(u32::MAX);
        range(&|address| Internal::Identity(address as u32), address);
        range(&|address| Internal::Annotation(address as u32), address);
        range(&|index| Internal::Budget(BudgetId::Point(index as _)), 0xffff);
        range(&|_| Internal::Disk, 0);
        range(&|_| Internal::Drivers, 0);
        range(&|name| Internal::Monitor(name as u32), address);
        range(&|key| Internal::Wait(key), u64::MAX);
        range(&|key| Internal::Predicate(key), u64::MAX);
        range(&|key| Internal::Idleness(key), u64::MAX);
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:x?}");
        // Nor the address of a sync object.
        assert!(ranges[0].0 > address);
    }
}
