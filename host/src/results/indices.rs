//! A set of iteration numbers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Ranges with inclusive ends, ascending, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indices(Vec<(u64, u64)>);

impl Indices {
    /// The number of elements.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// The element with index `nth` in ascending order.
    pub fn nth(&self, mut nth: u64) -> Option<u64> {
        for (first, last) in &self.0 {
            match nth.checked_sub(last - first + 1) {
                None => return Some(first + nth),
                Some(rest) => nth = rest,
            }
        }
        None
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest common element of both sets.
    pub fn first_common(&self, other: &Indices) -> Option<u64> {
        let common = |(a, b): (&(u64, u64), &(u64, u64))| {
            let (first, last) = (a.0.max(b.0), a.1.min(b.1));
            (first <= last).then_some(first)
        };
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| (a, b)));
        pairs.filter_map(common).min()
    }

    /// Whether all elements are in a range.
    pub fn are_in(&self, range: Range<u64>) -> bool {
        self.0.iter().all(|(first, last)| first <= last && range.contains(first) && range.contains(last))
    }

    /// Adds a range.
    pub fn add(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            self.unite(&Indices(vec![(range.start, range.end - 1)]));
        }
    }

    /// Adds all elements of another set.
    pub fn unite(&mut self, other: &Indices) {
        self.0.extend(&other.0);
        self.0.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (first, last) in self.0.drain(..) {
            match ranges.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        self.0 = ranges;
    }
}

/// The maximum number of ranges that are printed.
const SHOWN: usize = 5;

/// Prints the ranges, such as `0 to 99, 200 to 299`.
impl fmt::Display for Indices {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (number, (first, last)) in self.0.iter().take(SHOWN).enumerate() {
            f.write_str(if number > 0 { ", " } else { "" })?;
            match first == last {
                true => write!(f, "{first}")?,
                false => write!(f, "{first} to {last}")?,
            }
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            1 => f.write_str(", and 1 more range"),
            more => write!(f, ", and {more} more ranges"),
        }
    }
}

impl Extend<u64> for Indices {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, indices: I) {
        for index in indices {
            match self.0.last_mut() {
                // In most cases numbers are added in ascending order.
                Some(last) if last.1.checked_add(1) == Some(index) => last.1 = index,
                _ => self.unite(&Indices(vec![(index, index)])),
            }
        }
    }
}

impl FromIterator<u64> for Indices {
    fn from_iter<I: IntoIterator<Item = u64>>(indices: I) -> Indices {
        let mut set = Indices::default();
        set.extend(indices);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A comparison with plain sets: all pairs of subsets of seven numbers, at both ends of the range of numbers.
    #[test]
    fn they_are_sets() {
        let of = |bits: u32, base: u64| (0..7).filter(move |i| bits >> i & 1 == 1).map(move |i| base + i);
        for base in [0, u64::MAX - 6] {
            for (a, b) in (0..128).flat_map(|a| (0..128).map(move |b| (a, b))) {
                let (one, other): (BTreeSet<u64>, BTreeSet<u64>) =
                    (of(a, base).collect(), of(b, base).collect());
                let mut set: Indices = of(a, base).collect();
                let second: Indices = of(b, base).collect::<Vec<_>>().into_iter().rev().collect();
                assert_eq!(set.first_common(&second), one.intersection(&other).next().copied());
                set.unite(&second);
                assert_eq!(set, one.union(&other).copied().collect());
                assert_eq!(set.len(), one.union(&other).count() as u64);
                let all: Vec<u64> = one.union(&other).copied().collect();
                (0..9).for_each(|n| assert_eq!(set.nth(n), all.get(n as usize).copied()));
                assert!(set.0.windows(2).all(|w| w[0].1 + 1 < w[1].0), "{set:?}");
            }
        }
    }

    #[test]
    fn they_are_written_as_ranges() {
        let mut set = Indices::default();
        assert!(set.to_string().is_empty() && set.are_in(0..0));
        set.add(3..3);
        set.add(0..100);
        set.add(200..201);
        assert_eq!(set.to_string(), "0 to 99, 200");
        assert!(set.are_in(0..201) && !set.are_in(0..200) && !set.are_in(1..300));
        (0..8).for_each(|n| set.add(300 + 10 * n..305 + 10 * n));
        assert!(set.to_string().ends_with("310 to 314, 320 to 324, and 5 more ranges"), "{set}");
    }
}
