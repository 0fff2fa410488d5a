//! The set of states that a search has seen, by fingerprint, in bounded memory. Each has a mark in the lower
//! 32 bits, so fingerprints are compared by their upper 96 bits.

/// Maximal number of fingerprints, 16 bytes each; memory is at most twice that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// None: every state is new.
    Nothing,
    /// This many, the first ones.
    First(usize),
    /// This many; beyond that, most new ones replace an old one.
    Replacing(usize),
    /// All of them.
    Unlimited,
}

/// Whether a state is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is new, or it was not stored, or it was replaced.
    Never,
    /// It is in the set, with the mark that it got when it was added.
    Before(u32),
}

/// The bits of a slot that contain the mark.
const MARK: u128 = u32::MAX as u128;

/// A hash table with linear probing; the fingerprints themselves are the hashes. 0 is a free slot.
#[derive(Clone, Debug)]
pub struct Fingerprints {
    slots: Vec<u128>,
    filled: usize,
    capacity: Capacity,
}

impl Fingerprints {
    /// An empty set.
    pub fn new(capacity: Capacity) -> Fingerprints {
        Fingerprints { slots: vec![0; 16], filled: 0, capacity }
    }

    /// How many fingerprints are kept.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Whether the fingerprint was there. If not, adds it with this mark, if the capacity allows.
    pub fn insert(&mut self, fingerprint: u128, mark: u32) -> Seen {
        let fingerprint = (fingerprint & !MARK).max(MARK + 1) | u128::from(mark);
        let (full, replaces) = match self.capacity {
            Capacity::Nothing => return Seen::Never,
            Capacity::First(n) => (self.filled >= n, false),
            Capacity::Replacing(n) => (self.filled >= n, true),
            Capacity::Unlimited => (false, false),
        };
        let at = self.find(fingerprint);
        if self.slots[at] != 0 {
            return Seen::Before((self.slots[at] & MARK) as u32);
        }
        if !full {
            self.slots[at] = fingerprint;
            self.filled += 1;
            if self.filled * 4 > self.slots.len() * 3 {
                self.grow();
            }
        } else if replaces {
            // Replacing the slot at which the probing begins breaks no chain. If it is free, a chain would
            // grow instead; then the new one is not stored.
            let home = self.home(fingerprint);
            if self.slots[home] != 0 {
                self.slots[home] = fingerprint;
            }
        }
        Seen::Never
    }

    fn home(&self, fingerprint: u128) -> usize {
        (fingerprint >> 64) as usize & (self.slots.len() - 1)
    }

    /// The slot of the fingerprint, or the free slot for it.
    fn find(&self, fingerprint: u128) -> usize {
        let mut at = self.home(fingerprint);
        while self.slots[at] != 0 && self.slots[at] & !MARK != fingerprint & !MARK {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    fn grow(&mut self) {
        let larger = vec![0; self.slots.len() * 2];
        for fingerprint in std::mem::replace(&mut self.slots, larger) {
            if fingerprint != 0 {
                let at = self.find(fingerprint);
                self.slots[at] = fingerprint;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;
    use std::collections::BTreeSet;

    /// 20,000 of 3,000 different fingerprints, with frequent collisions: 64 different first slots.
    fn stream() -> impl Iterator<Item = u128> {
        let mut rng = ChoiceRng::new(Iteration { seed: 3, index: 0 });
        (0..20_000).map(move |_| {
            let n = u128::from(rng.below(3_000));
            (n % 64) << 64 | n << 32
        })
    }

    #[test]
    fn unlimited_is_a_set() {
        let (mut set, mut oracle) = (Fingerprints::new(Capacity::Unlimited), BTreeSet::new());
        for fingerprint in stream() {
            let new = set.insert(fingerprint, 7) == Seen::Never;
            assert_eq!(new, oracle.insert(fingerprint.max(MARK + 1)));
        }
        assert_eq!(set.len(), oracle.len());
    }

    #[test]
    fn bounded_never_invents_a_state_and_keeps_its_bound() {
        for (capacity, max) in [(Capacity::First(100), 100), (Capacity::Replacing(100), 100)] {
            let (mut set, mut oracle) = (Fingerprints::new(capacity), BTreeSet::new());
            let mut hits = 0;
            for fingerprint in stream() {
                let new = set.insert(fingerprint, 7) == Seen::Never;
                // Forgetting is allowed; a false hit would lose states.
                assert!(new || oracle.contains(&fingerprint.max(MARK + 1)));
                oracle.insert(fingerprint.max(MARK + 1));
                hits += u32::from(!new);
            }
            assert!(hits > 200, "{capacity:?} has {hits} hits");
            assert_eq!(set.len(), max);
            assert_eq!(set.slots.iter().filter(|s| **s != 0).count(), max);
        }
        let mut nothing = Fingerprints::new(Capacity::Nothing);
        assert!(stream().all(|f| nothing.insert(f, 7) == Seen::Never));
    }

    #[test]
    fn the_first_mark_stays() {
        let mut set = Fingerprints::new(Capacity::Unlimited);
        for round in 1..4 {
            for fingerprint in 0..1_000u128 {
                let seen = set.insert(fingerprint << 40, round * 1_000 + fingerprint as u32);
                let first = Seen::Before(1_000 + fingerprint as u32);
                assert_eq!(seen == Seen::Never, round == 1);
                assert!(round == 1 || seen == first, "{seen:?}");
            }
        }
    }
}
